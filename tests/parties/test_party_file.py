"""party.toml: every setting arrives, and what is wrong is one line with file and key."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from parties.link.settings import LinkSettings
from parties.node.settings import NodeFile
from parties.node.settings import load as load_node
from parties.party_file import PartyFile, load, state_directory
from smc.errors import InputError
from tests.support.party_files import FULL, write

ENGINES = "'auto', 'yao', 'gmw', 'mixed' or 'lean'"
KINDS = "'extension', 'trapdoor', 'iknp', 'softspoken2', 'softspoken4', 'softspoken8' or 'ferret'"


def test_every_setting_of_a_file_arrives(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, FULL))
    assert loaded.link == LinkSettings(
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
    for loaded in (load(None), load(write(tmp_path, "")), load(write(tmp_path, "[id3]"))):
        tree, more, circuit = (loaded.of_kind(name) for name in ("id3", "millionaires", "circuit"))
        assert (tree.tolerance, tree.min_rows, tree.max_depth) == (0.001, 0, None)
        assert (tree.max_rows, tree.engine, tree.ot) == (65535, "auto", "extension")
        assert (more.bits, more.engine, circuit.engine) == (32, "auto", "auto")
        assert (loaded.link.wait, loaded.link.timeout, loaded.link.listen) == (180.0, 120.0, None)


@pytest.mark.parametrize("text", ["", "[node]", "[node]\nstate = 'state'"])
def test_the_state_is_beside_the_file_whether_it_is_named_or_not(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    assert load_node(path).node.state == state_directory(path) == tmp_path / "state"


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
        ("[id3]\ntolerance = 0", "id3.tolerance: must be > 0, not 0"),
        ("[id3]\ntolerance = 1.5", "id3.tolerance: must be <= 1, not 1.5"),
        ("[id3]\ntolerance = nan", "id3.tolerance: must be a finite number, not nan"),
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
        load(path)
    assert str(caught.value) == f"{path}: {message}"


def test_syntax_errors_and_absent_files_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"party\.toml: not valid TOML: .*line 3") as caught:
        load(write(tmp_path, "[link]\nwait = 1\nwait ==\n"))
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"cannot read .*none.toml: there is no such file"):
        load(tmp_path / "none.toml")
    with pytest.raises(InputError, match="nested too deeply"):
        load(write(tmp_path, "x = " + "[" * 5000))


def test_commands_read_every_table_of_a_node_s_file() -> None:
    """Or all but the node would refuse the file."""
    assert set(NodeFile.model_fields) <= set(PartyFile.model_fields)


def test_a_path_is_shown_without_detours_unless_it_follows_a_link(tmp_path: Path) -> None:
    for folder in ("h/w", "far/away"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "link").symlink_to("far/away")
    for folder, expected in (("h/w", "rows.csv"), ("link", "link/../../rows.csv")):
        path = tmp_path / folder / "party.toml"
        path.write_text('[tables.t]\nsource = "../../rows.csv"\nschema = "s.toml"\n')
        assert load(path).tables["t"].source == str(tmp_path / expected)
