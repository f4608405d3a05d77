"""Settings of the link: addresses, and what must not be missing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import tomli_w

from parties.base.settings import merge
from parties.link.settings import LinkSettings, port_range, require_link
from parties.party_file import load
from smc.errors import InputError
from smc.link_shape import LinkShape
from tests.support.party_files import FULL, write

pytestmark = pytest.mark.slow


def test_a_connect_flag_displaces_listen_in_the_file(tmp_path: Path) -> None:
    settings = load(write(tmp_path, FULL)).link
    merged = merge(settings, {"connect": "example.org:7001", "listen": None})
    assert (merged.listen, merged.connect) == (None, "example.org:7001")
    with pytest.raises(InputError, match="listen and connect exclude each other"):
        merge(settings, {"connect": "example.org:7001", "listen": "0.0.0.0:7001"})


@pytest.mark.parametrize("address", ["h:1", "192.0.2.7:65535", "[2001:db8::7]:7001", "a-b.example:0"])
def test_good_addresses(address: str) -> None:
    assert merge(LinkSettings(), {"listen": address}).listen == address


@pytest.mark.parametrize("address", ["", "h", ":7001", "h:", "h:65536", "::1:70", "http://h:1", "h:-1", "[x]:1"])
def test_bad_addresses(address: str) -> None:
    with pytest.raises(InputError, match=r"^--listen: .*address"):
        merge(LinkSettings(), {"listen": address})
    with pytest.raises(InputError, match=r"^--connect: .*address"):
        merge(LinkSettings(), {"connect": address})


@pytest.mark.parametrize(("text", "ports"), [("7735", range(7735, 7736)), ("7200-7203", range(7200, 7204))])
def test_one_port_is_a_range_of_one(text: str, ports: range) -> None:
    assert merge(LinkSettings(), {"data_ports": text}).data_ports == text
    assert port_range(text) == ports


@pytest.mark.parametrize("text", ["", "0", "65536", "-7200", "7200-", "7203-7200", "7200-7203-7205", "any"])
def test_what_is_no_range_of_ports(text: str) -> None:
    with pytest.raises(InputError, match=r"--data-ports: must be a port or a range of ports such as 7100-7163, not"):
        merge(LinkSettings(), {"data_ports": text})


def test_data_connections_do_not_use_the_port_of_the_link() -> None:
    with pytest.raises(InputError, match="data_ports 7000-7003 has the port of listen, 7001; name other ports"):
        merge(LinkSettings(), {"listen": "[::1]:7001", "data_ports": "7000-7003"})
    for ports in ("7000", "7002-7003"):
        assert merge(LinkSettings(), {"listen": "[::1]:7001", "data_ports": ports}).data_ports == ports


def test_nobody_can_be_dialled_on_port_0() -> None:
    with pytest.raises(InputError, match="--connect: the port"):
        merge(LinkSettings(), {"connect": "example.org:0"})


def test_hosts_and_networks_where_shards_may_be_met(tmp_path: Path) -> None:
    named = ["10.0.0.8", "10.1.0.0/16", "2001:db8::/32", "fd00::1", "a-b.example"]
    text = FULL.replace("[link]", f"[link]\nshards_at = {named}")
    link = require_link(load(write(tmp_path, text)).link)
    assert link.shards_at == ("10.0.0.8/32", "10.1.0.0/16", "2001:db8::/32", "fd00::1/128", "a-b.example")
    assert require_link(load(write(tmp_path, FULL)).link).shards_at == ()


@pytest.mark.parametrize("place", ["", "10.0.0.8/16", "10.0.0.0/33", "::ffff:10.0.0.8", "a:7000", "http://a", "a b"])
def test_what_is_no_host_and_no_network(tmp_path: Path, place: str) -> None:
    with pytest.raises(InputError, match=r"party\.toml: link\.shards_at"):
        load(write(tmp_path, FULL.replace("[link]", f'[link]\nshards_at = ["{place}"]')))


def test_a_complete_link(tmp_path: Path) -> None:
    link = require_link(load(write(tmp_path, FULL)).link)
    assert (link.identity, link.listen, link.connect) == (tmp_path / "keys/a.key", "[::1]:7001", None)
    assert (link.wait, link.timeout) == (5.0, 2.5)
    assert (link.shard_ports, link.data_ports, link.emulate) == (None, None, None)
    text = 'shard_ports = "7100-7163"\ndata_ports = "7200-7200"\nemulate = "100mbit,40ms"'
    link = require_link(load(write(tmp_path, FULL.replace("[link]", f"[link]\n{text}"))).link)
    assert (link.shard_ports, link.data_ports) == (range(7100, 7164), range(7200, 7201))
    assert link.emulate == LinkShape.parse("100mbit,40ms")


@pytest.mark.parametrize("missing", ["identity", "certificate", "peer", "listen"])
def test_an_incomplete_link_says_what_is_missing(tmp_path: Path, missing: str) -> None:
    fields = tomllib.loads(FULL)
    del fields["link"][missing]
    with pytest.raises(InputError) as caught:
        require_link(load(write(tmp_path, tomli_w.dumps(fields))).link)
    assert f"--{missing}" in str(caught.value)
    assert "[link]" in str(caught.value)
