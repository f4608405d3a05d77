"""Standard gRPC health protocol, for this machine alone: a peer that watches would hold a stream for each call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from parties.base import bounds
from parties.base.address import Address
from parties.link.transport import SERVICE, grpc
from smc.errors import InputError


class Health:
    """The health answer of the node and of the service `smc.exchange.v1.Party`; SERVING until `set`."""

    def __init__(self) -> None:
        from grpc_health.v1 import health, health_pb2, health_pb2_grpc

        self._register = health_pb2_grpc.add_HealthServicer_to_server
        self._states = health_pb2.HealthCheckResponse
        self._servicer = health.HealthServicer()
        self._server: Any = None
        self.set(serving=True)

    def set(self, serving: bool) -> None:
        """Set the health answer: SERVING or NOT_SERVING."""
        for service in ("", SERVICE):
            self._servicer.set(service, self._states.SERVING if serving else self._states.NOT_SERVING)

    def serve(self, address: Address) -> Address:
        """Serve this machine without TLS; return the address with its actual port. Raise InputError if it is taken."""
        threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="smc-health")
        alone = ("grpc.so_reuseport", 0)  # without it two nodes could share the port
        self._server = grpc.server(threads, options=[alone, *bounds.server_options(bounds.local_connections())])
        self._register(self._servicer, self._server)
        try:
            port = self._server.add_insecure_port(str(address))
        except RuntimeError:
            raise InputError(f"cannot serve health on {address}: it is taken or not allowed; choose another") from None
        self._server.start()
        return Address(address.host, port)

    def stop(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.stop(None)
