"""Addresses as they are written."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from parties.base import address
from parties.base.address import owners, parse_address, require_free
from smc.errors import InputError


@pytest.mark.parametrize(
    "bad",
    ["", "7000", "host", "host:", ":7000", "host:x", "host:70000", "host:-1", "::1:7000", "[::g]:1", "http://h:1"],
)
def test_bad_addresses(bad):
    with pytest.raises(InputError, match="address"):
        parse_address(bad)


def test_an_address_of_another_machine_is_not_said_to_be_in_use() -> None:
    with pytest.raises(InputError) as refused:
        require_free("192.0.2.77:7000")  # RFC 5737: of documents, of no machine
    what = "192.0.2.77 is not one of this machine's addresses; name one that is"
    assert str(refused.value) == f"cannot listen on 192.0.2.77:7000: {what}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match="in use; end what uses it, or name another port"):
            require_free(f"127.0.0.1:{port}")


def test_good_addresses():
    assert parse_address("192.0.2.7:7000") == ("192.0.2.7", 7000)
    assert parse_address("[2001:db8::1]:65535") == ("2001:db8::1", 65535)
    assert str(parse_address("[::1]:80")) == "[::1]:80"
    assert str(parse_address("bücher.example:80")) == "xn--bcher-kva.example:80"
    assert parse_address("h:0", lowest_port=0).port == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
@pytest.mark.parametrize("accepts", [False, True])
@pytest.mark.parametrize(("own", "called"), [("127.0.0.1", None), ("", None), ("::1", None), ("::", "127.0.0.1")])
def test_who_is_at_the_other_end(
    own: str, called: str | None, accepts: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the listening socket, of all addresses or one; and by what it has accepted, if it has gone."""
    options: dict[str, Any] = {"family": socket.AF_INET6} if ":" in own else {}
    try:
        listener = socket.create_server((own, 0), dualstack_ipv6=own == "::", **options)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listener, socket.create_connection((called or own or "127.0.0.1", listener.getsockname()[1])) as connection:
        if accepts:
            accepted, _ = listener.accept()
            listener.close()
        assert owners(connection) <= {0, os.geteuid()}  # what waits to be accepted is nobody's, which is root's
        assert os.geteuid() in owners(connection)
        if accepts:
            accepted.close()
        monkeypatch.setattr(address, "_TABLES", (tmp_path / "none",))
        assert owners(connection) == set()


def test_sockets_of_others_at_other_places_do_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as connection,
    ):
        port, ours = (f"{end[1]:04X}" for end in (listener.getsockname(), connection.getsockname()))
        home = "0100007F" if sys.byteorder == "little" else "7F000001"
        rows = [
            (f"{home}:{port}", "00000000:0000", "0A", 1),
            (f"{home}:{port}", f"{home}:{ours}", "01", 2),
            (f"{home}:{port}", f"{home}:0001", "01", 3),  # somebody else's connection
            (f"{home}:0001", "00000000:0000", "0A", 4),
            (f"0200007F:{port}", "00000000:0000", "0A", 5),
            (f"00000000:{port}", "00000000:0000", "0A", 6),
            (f"{'0' * 32}:{port}", f"{'0' * 32}:0000", "0A", 7),
        ]
        lines = [f"0: {local} {remote} {state} 0:0 0:0 0 {user} 0 1" for local, remote, state, user in rows]
        (tmp_path / "tcp").write_text("\n".join(["head", *lines]))
        monkeypatch.setattr(address, "_TABLES", (tmp_path / "tcp",))
        assert owners(connection) == {1, 2, 6, 7}
