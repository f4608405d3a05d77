from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_args

import pytest
import tomli_w

from parties import config
from smc.circuit import Form
from smc.errors import InputError
from smc.ot import Kind
from smc.recipes import EngineName, Garbling

FULL = """
[link]
identity = "keys/a.key"
certificate = "/etc/smc/a.crt"
peer = "~/b.crt"
listen = "[::1]:7001"
wait = 5
timeout = 2.5

[id3]
data = "mine.csv"
schema = "../schema.toml"
target = "play"
delta = 0.01
min_rows = 3
max_depth = 4
max_rows = 1000
engine = "gmw"
ot = "trapdoor"
out = "tree.json"
report = "cost.json"
dot = "tree.dot"
svg = "tree.svg"

[millionaires]
value = 5
bits = 8
engine = "gmw"
ot = "extension"

[circuit]
file = "adder.txt"
input = "0101"
engine = "yao"
ot = "extension"
"""

ENGINES = "'auto', 'yao', 'gmw', 'mixed' or 'lean'"
KINDS = "'extension', 'trapdoor', 'iknp', 'softspoken2', 'softspoken4', 'softspoken8' or 'ferret'"


def write(directory: Path, text: str) -> Path:
    path = directory / "party.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_setting_of_a_file_arrives(tmp_path: Path) -> None:
    loaded = config.load(write(tmp_path, FULL))
    assert loaded.link == config.LinkSettings(
        identity=tmp_path / "keys/a.key",
        certificate=Path("/etc/smc/a.crt"),
        peer=Path.home() / "b.crt",
        listen="[::1]:7001",
        wait=5.0,
        timeout=2.5,
    )
    assert loaded.id3.data == tmp_path / "mine.csv"
    assert loaded.id3.schema_file == tmp_path / "../schema.toml"
    plain = loaded.model_dump(mode="json", by_alias=True)
    for table, fields in tomllib.loads(FULL).items():
        for key, value in fields.items():
            got = plain[table][key]
            assert got == value or str(got).endswith(str(value).removeprefix("~")), (table, key)


def test_defaults_stand_when_nothing_is_given(tmp_path: Path) -> None:
    for loaded in (config.load(None), config.load(write(tmp_path, "")), config.load(write(tmp_path, "[id3]"))):
        assert (loaded.id3.delta, loaded.id3.min_rows, loaded.id3.max_depth) == (0.001, 0, None)
        assert (loaded.id3.max_rows, loaded.id3.engine, loaded.id3.ot) == (65535, "mixed", "extension")
        assert (loaded.millionaires.bits, loaded.millionaires.engine, loaded.circuit.engine) == (32, "yao", "yao")
        assert (loaded.link.wait, loaded.link.timeout, loaded.link.listen) == (60.0, 120.0, None)


def test_flags_win_over_the_file_and_absent_flags_do_not(tmp_path: Path) -> None:
    settings = config.load(write(tmp_path, FULL)).id3
    merged = config.merge(settings, {"delta": 0.5, "engine": None, "schema": Path("here.toml"), "max_depth": 0})
    assert (merged.delta, merged.engine, merged.max_depth) == (0.5, "gmw", 0)
    assert merged.schema_file == Path("here.toml")  # a flag is relative to where the command runs
    assert merged.data == tmp_path / "mine.csv"
    assert config.merge(settings, {}) == settings


def test_a_connect_flag_displaces_listen_in_the_file(tmp_path: Path) -> None:
    settings = config.load(write(tmp_path, FULL)).link
    merged = config.merge(settings, {"connect": "example.org:7001", "listen": None})
    assert (merged.listen, merged.connect) == (None, "example.org:7001")
    with pytest.raises(InputError, match="listen and connect exclude each other"):
        config.merge(settings, {"connect": "example.org:7001", "listen": "0.0.0.0:7001"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[link]\nwait = 0", "link.wait: must be > 0, not 0"),
        ("[link]\nwait = inf", "link.wait: must be a finite number, not inf"),
        ("[link]\ntimeout = '3'", "link.timeout: must be a number, not '3'"),
        ("[link]\nidenity = 'x'", "link.idenity: unknown key (did you mean 'identity'?)"),
        ("[lnik]", "lnik: unknown key (did you mean 'link'?)"),
        ("[zzzzzz]", "zzzzzz: unknown key"),
        ('"a\\u001b\\n" = 1', r"a\x1b\n: unknown key"),
        ("[id3]\ndata = '~no-such-user/x'", "id3.data: there is no home directory for '~no-such-user/x'"),
        ("[id3]\nschema_file = 'x'", "id3.schema_file: unknown key (did you mean 'schema'?)"),
        ("link = 3", "link: must be a table, not 3"),
        ("[link]\npeer = ''", "link.peer: must not be empty"),
        ("[link]\npeer = 7", "link.peer: must be a path in quotes, not 7"),
        ("[link]\nlisten = 'a:1'\nconnect = 'b:2'", "link: listen and connect exclude each other: one party listens,"
         " the other connects"),
        ("[id3]\ndelta = 0", "id3.delta: must be > 0, not 0"),
        ("[id3]\ndelta = 1.5", "id3.delta: must be <= 1, not 1.5"),
        ("[id3]\ndelta = nan", "id3.delta: must be a finite number, not nan"),
        ("[id3]\nmax_rows = 2147483649", "id3.max_rows: must be <= 2147483648, not 2147483649"),
        ("[id3]\nmax_rows = true", "id3.max_rows: must be a whole number, not True"),
        ("[id3]\nmin_rows = -1", "id3.min_rows: must be >= 0, not -1"),
        ("[id3]\ntarget = 1", "id3.target: must be text in quotes, not 1"),
        ("[id3]\nengine = 'mixd'", f"id3.engine: must be {ENGINES}, not 'mixd' (did you mean 'mixed'?)"),
        ("[millionaires]\nengine = 'mixed'", "millionaires.engine: must be 'auto', 'yao' or 'gmw', not 'mixed'"),
        ("[millionaires]\nbits = 65", "millionaires.bits: must be <= 64, not 65"),
        ("[circuit]\not = 'silent'", f"circuit.ot: must be {KINDS}, not 'silent'"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_line_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        config.load(path)
    assert str(caught.value) == f"{path}: {message}"


def test_syntax_errors_and_absent_files_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"party\.toml: not valid TOML: .*line 3") as caught:
        config.load(write(tmp_path, "[link]\nwait = 1\nwait ==\n"))
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"cannot read .*none.toml: there is no such file"):
        config.load(tmp_path / "none.toml")
    with pytest.raises(InputError, match="nested too deeply"):
        config.load(write(tmp_path, "x = " + "[" * 5000))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"max_rows": 0}, "--max-rows: must be >= 1, not 0"),
        ({"engine": "yoa"}, f"--engine: must be {ENGINES}, not 'yoa' (did you mean 'yao'?)"),
    ],
)
def test_a_bad_flag_is_named_as_a_flag(flags: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        config.merge(config.Id3Settings(), flags)
    assert str(caught.value) == message


@pytest.mark.parametrize("address", ["h:1", "192.0.2.7:65535", "[2001:db8::7]:7001", "a-b.example:0"])
def test_good_addresses(address: str) -> None:
    assert config.merge(config.LinkSettings(), {"listen": address}).listen == address


@pytest.mark.parametrize("address", ["", "h", ":7001", "h:", "h:65536", "::1:70", "http://h:1", "h:-1", "[x]:1"])
def test_bad_addresses(address: str) -> None:
    with pytest.raises(InputError, match=r"^--listen: .*address"):
        config.merge(config.LinkSettings(), {"listen": address})
    with pytest.raises(InputError, match=r"^--connect: .*address"):
        config.merge(config.LinkSettings(), {"connect": address})


def test_nobody_can_be_dialled_on_port_0() -> None:
    with pytest.raises(InputError, match="--connect: the port"):
        config.merge(config.LinkSettings(), {"connect": "example.org:0"})


def test_a_complete_link(tmp_path: Path) -> None:
    link = config.require_link(config.load(write(tmp_path, FULL)).link)
    assert (link.identity, link.listen, link.connect) == (tmp_path / "keys/a.key", "[::1]:7001", None)
    assert (link.wait, link.timeout) == (5.0, 2.5)


@pytest.mark.parametrize("missing", ["identity", "certificate", "peer", "listen"])
def test_an_incomplete_link_says_what_is_missing(tmp_path: Path, missing: str) -> None:
    fields = tomllib.loads(FULL)
    del fields["link"][missing]
    with pytest.raises(InputError) as caught:
        config.require_link(config.load(write(tmp_path, tomli_w.dumps(fields))).link)
    assert f"--{missing}" in str(caught.value)
    assert "[link]" in str(caught.value)


def test_required_returns_the_value_or_names_flag_and_key() -> None:
    assert config.required(0, "id3.min_rows") == 0
    with pytest.raises(InputError, match=r"--min-rows is missing: .*min_rows under \[id3\]"):
        config.required(None, "id3.min_rows")


def test_the_settings_know_every_choice_of_the_engine() -> None:
    """They are written twice so that settings load without the engine; here they are compared."""
    assert set(get_args(config.Ot)) == set(get_args(Kind))
    assert set(get_args(config.Garbling)) == set(get_args(Garbling))
    assert set(get_args(config.Form)) == set(get_args(Form))
    assert set(get_args(config.AnyEngine)) == {"auto", *get_args(EngineName)} - {"clear"}
