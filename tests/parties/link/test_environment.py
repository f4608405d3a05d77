"""The environment of gRPC: what it would abort over is refused first."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext

import pytest

from parties.link.environment import STRATEGY, require_usable
from smc.errors import InputError

CALL = """
import grpc
with grpc.insecure_channel("127.0.0.1:1") as channel:
    try:
        channel.unary_unary("/a/b")(b"", timeout=5)
    except grpc.RpcError:
        pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "value", ["epoll1", "poll", "all", "x,poll", "none", "epollex", "", "POLL", " poll", "none,poll"]
)
def test_what_grpc_aborts_over_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(STRATEGY, value)
    aborts = subprocess.run([sys.executable, "-c", CALL], capture_output=True, check=False).returncode != 0
    refusal = pytest.raises(InputError, match=f"^{STRATEGY}={value}: gRPC knows") if aborts else nullcontext()
    with refusal:
        require_usable()


def test_every_door_to_grpc_refuses_it() -> None:
    for module in ("transport", "listening"):
        code = (
            f"from smc.errors import InputError\ntry:\n    import parties.link.{module}\n"
            "except InputError as error:\n    print(error)\nimport sys; print('grpc' in sys.modules)"
        )
        environment = {**os.environ, STRATEGY: "epollex"}
        said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        line, loaded = said.stdout.splitlines()
        assert line.startswith(f"{STRATEGY}=epollex: ")
        assert loaded == "False"
