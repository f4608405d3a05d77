"""A real server for the API of a node that only pretends."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from parties.web import api
from tests.support.fake_node import FakeNode
from tests.support.waiting import PATIENCE

KEY = "a-key-that-nobody-guesses"
LINK = "http://127.0.0.1:7080/login?token=once"


def write_access(state: Path, url: str, key: str = KEY) -> None:
    (state / "api.json").write_text(json.dumps({"url": url, "key": key}))


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """An ASGI application on a free port of this machine; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 10
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


def application(node: FakeNode) -> Starlette:
    """The node's API, and nothing else."""
    return Starlette(routes=api.routes(node, KEY, lambda: LINK))
