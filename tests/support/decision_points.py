"""An outside decision point: a real HTTPS server that answers as it is told, and one in its place without a server."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from parties.link.identity import Identity
from parties.node.point import xacml
from parties.node.point.xacml import DecisionPointAnswer
from parties.node.policy.request import Request


def response(decision: str, **more: Any) -> bytes:
    """An answer of the JSON profile."""
    return json.dumps({"Response": [{"Decision": decision, **more}]}).encode()


class PointServer(ThreadingHTTPServer):
    """It answers `status` and `body`, after `before`; of what it `got` it keeps bodies and headers."""

    daemon_threads = True

    def __init__(self, identity: Identity, client: Identity | None = None) -> None:
        self.got: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.status, self.body = 200, response("Permit")
        self.before: Callable[[], object] = lambda: None
        self.drips = 0.0  # seconds between two bytes of an answer
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                server.got.append((json.loads(body), {name.lower(): value for name, value in self.headers.items()}))
                with suppress(OSError):
                    server.before()
                    self.send_response(server.status)
                    self.send_header("Content-Length", str(len(server.body)))
                    self.end_headers()
                    for byte in server.body if server.drips else ():
                        self.wfile.write(bytes([byte]))
                        time.sleep(server.drips)
                    self.wfile.write(b"" if server.drips else server.body)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(identity.certificate_path, identity.key_path)
        if client is not None:
            context.load_verify_locations(client.certificate_path)
            context.verify_mode = ssl.CERT_REQUIRED
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://localhost:{self.server_port}/authorize"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """A client that hangs up."""

    def close(self) -> None:
        """Nobody answers any more; may be called twice."""
        self.shutdown()
        self.server_close()


class Says:
    """In the place of a decision point: says `decision` (None: there is no answer) to all it is `asked`."""

    def __init__(self, decision: xacml.Decision | None, reason: str = "") -> None:
        self.decision, self.reason = decision, reason
        self.asked: list[Request] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def ask(self, request: Request) -> DecisionPointAnswer:
        self.asked.append(request)
        self.meanwhile()
        return DecisionPointAnswer(xacml.about(request), self.decision, self.reason)
