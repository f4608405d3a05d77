"""What gRPC's health protocol says of a node, on this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from parties.base.address import Address
from parties.link.transport import SERVICE
from parties.node.health import Health
from smc.errors import InputError
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.slow

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def health() -> Iterator[Health]:
    made = Health()
    made.stop()  # before a start, too
    yield made
    made.stop()


def said(address: Address, service: str) -> Any:
    with grpc.insecure_channel(str(address)) as channel:
        asked = health_pb2.HealthCheckRequest(service=service)
        return health_pb2_grpc.HealthStub(channel).Check(asked, timeout=PATIENCE).status


def listens(address: Address) -> bool:
    with suppress(ConnectionRefusedError), socket.create_connection((address.host, address.port), PATIENCE):
        return True
    return False


def test_it_says_so_until_it_is_told_otherwise(health: Health) -> None:
    address = health.serve(Address("127.0.0.1", 0))
    assert address.port
    assert [said(address, service) for service in ("", SERVICE)] == [SERVING, SERVING]
    health.set(serving=False)
    assert [said(address, service) for service in ("", SERVICE)] == [NOT_SERVING, NOT_SERVING]
    with pytest.raises(grpc.RpcError):
        said(address, "else")
    other = Health()
    with pytest.raises(InputError, match=f"cannot serve health on {address}: it is taken or not allowed"):
        other.serve(address)
    health.stop()
    eventually(lambda: not listens(address))
