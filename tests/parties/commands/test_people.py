"""`smc operator`, and as whom the other commands act."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from parties.base.console import _screen
from parties.cli import run
from parties.commands.log_writing import accounts_of
from parties.commands.serving import Page
from parties.link.identity import Identity, create
from parties.node.events import Events
from parties.node.records import database
from parties.node.settings import NodeSettings
from parties.operator.accounts import Accounts, is_unix_user, unix_user
from smc.errors import InputError
from tests.support.ledgers import Pair, paired
from tests.support.people import desk, password, people, quick

Smc = Callable[..., tuple[int, str, str]]
PARTY = """
[link]
identity = "a.key"
certificate = "a.crt"
[node]
approvals = 2
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def smc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Smc:
    """smc(words, typed): run a command with standard input; its exit code, output and messages."""
    create("a", (), tmp_path)
    (tmp_path / "party.toml").write_text(PARTY)

    def command(words: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        _screen.cache_clear()
        code = run([*words.split(), "--config", str(tmp_path / "party.toml")])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return command


def added(smc: Smc, name: str, *options: str) -> tuple[int, str, str]:
    return smc(f"operator add {name} --password-file - {' '.join(options)}", password(name) + "\n")


def test_a_life_of_accounts(smc: Smc, tmp_path: Path) -> None:
    assert "there are no operators" in smc("operator list")[2]
    code, _, hint = added(smc, "anna", "--role propose,approve")
    assert code == 0
    assert "approvals = 2" in hint
    assert "1 may approve" in hint
    assert added(smc, "bert", "--role approve")[::2] == (0, "")
    code, _, hint = smc("operator add bert --unix smc --json")  # as he is, with a Unix user
    assert code == 0
    assert ("this machine has no user 'smc' now, so no command acts as bert" in hint) == (not is_unix_user("smc"))
    assert json.loads(smc("operator list --json")[1]) == [
        {"name": "anna", "roles": ["propose", "approve"], "unix": "", "oidc": ""},
        {"name": "bert", "roles": ["approve"], "unix": "smc", "oidc": ""},
    ]
    assert smc("operator add carl --role see --oidc carl@example.org")[0] == 0  # no password is asked for
    code, _, problem = smc("operator add anna --oidc carl@example.org")
    assert (code, "the provider's person 'carl@example.org' is another operator's already" in problem) == (2, True)
    assert smc("operator remove carl")[0] == 0
    known = Accounts(tmp_path / "state")
    assert known.signed_in("bert", password("bert")) is not None
    assert smc("operator password bert --password-file -", "another password\n")[0] == 0
    assert known.signed_in("bert", password("bert")) is None
    assert known.signed_in("bert", "another password") is not None
    assert smc("operator remove anna")[0] == 0
    assert list(known.all()) == ["bert"]
    log = [entry["fields"] for entry in json.loads(smc("audit show --json")[1])]
    assert [(fields["what"], fields["name"]) for fields in log] == [
        ("added", "anna"), ("added", "bert"), ("changed", "bert"), ("added", "carl"), ("removed", "carl"),
        ("password", "bert"), ("removed", "anna"),
    ]  # fmt: skip
    assert [fields["oidc"] for fields in log[3:5]] == ["carl@example.org", ""]
    assert smc("audit verify")[0] == 0
    assert "password" not in json.dumps([{**fields, "what": ""} for fields in log])


@pytest.mark.parametrize(
    ("words", "typed", "message"),
    [
        ("add Anna --role see --password-file -", "", "begins with a letter"),
        ("add ../x --role see --password-file -", "", "begins with a letter"),
        ("add anna --role king --password-file -", "", "no role 'king'"),
        ("add anna --password-file -", "long enough it is\n", "give the roles of anna"),
        ("add anna --role see --password-file -", "short\n", "from 12 to"),
        ("add anna --role see --password-file -", "", "standard input is empty"),
        ("add anna --role see", "long enough it is\n", "no terminal to ask"),
        ("remove zoe", "", "no operator 'zoe'"),
        ("password zoe --password-file -", "long enough it is\n", "no operator 'zoe'"),
    ],
)
def test_what_is_wrong_is_one_line_and_changes_nothing(
    smc: Smc, tmp_path: Path, words: str, typed: str, message: str
) -> None:
    code, out, err = smc(f"operator {words}", typed)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert Accounts(tmp_path / "state").all() == {}


def test_where_others_administer_their_role_is_needed(smc: Smc, tmp_path: Path) -> None:
    assert "no user" not in added(smc, "anna", "--role approve", "--unix", unix_user())[2]
    added(smc, "dora", "--role administer")  # nobody has it yet: whoever can write the directory may
    before = (tmp_path / "state" / "operators.json").read_text()
    for words in ("remove dora", "password anna --password-file -", "add anna --role administer", "add eve --role see"):
        code, _, err = smc(f"operator {words} {'--password-file -' if 'eve' in words else ''}", "long enough it is\n")
        assert (code, "anna may not do this: it needs the role administer" in err) == (2, True)
    assert (tmp_path / "state" / "operators.json").read_text() == before


def test_another_unix_user_leaves_no_file_that_the_node_cannot_read(
    smc: Smc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(smc, "anna", "--role approve")
    monkeypatch.setattr("os.geteuid", lambda: 54321)
    code, _, err = added(smc, "bert", "--role see")
    assert (code, "belongs to another Unix user" in err) == (2, True)
    assert list(Accounts(tmp_path / "state").all()) == ["anna"]


def test_accounts_that_were_taken_away_are_missed(smc: Smc, tmp_path: Path) -> None:
    """Else who can remove a file would have a node without operators. The log says that there were some."""
    state = tmp_path / "state"
    idle = accounts_of(state)
    assert idle.all() == {}  # nobody was ever added
    added(smc, "anna", "--role administer")
    added(smc, "bert", "--role approve")
    assert smc("operator remove bert")[0] == 0
    running = accounts_of(state)
    assert [*running.all()] == ["anna"]
    (state / "operators.json").unlink()
    why = f"{state / 'operators.json'} is not there, and people have names by entry 3 of the log"
    advice = "; put it back, or write it anew by smc operator add"
    page = Page(NodeSettings(state=state, web="127.0.0.1:0", metrics="127.0.0.1:0"))
    started = partial(page.start, None, None, None)  # type: ignore[arg-type]
    for used in (running.all, running.all, idle.all, accounts_of(state).all, started):
        with pytest.raises(InputError) as refused:
            used()
        assert str(refused.value) == why + advice
    assert smc("rights done erasure --table days --case 1") == (2, "", f"smc: {why}{advice}\n")
    for words in ("operator list", "operator list --json"):
        assert smc(words) == (2, "", f"smc: {why}{advice}\n")
    found = {one["check"]: (one["ok"], one["text"]) for one in json.loads(smc("check --json --wait 0.1")[1])}
    assert found["state"] == (False, why + advice)
    assert found["identity"][0]
    code, _, said = added(smc, "bert", "--role administer")
    assert (code, said.count(why)) == (0, 1)
    assert [*running.all()] == [*accounts_of(state).all()] == ["bert"]
    assert smc("operator remove bert")[0] == 0
    (state / "operators.json").unlink()  # there is nobody in it
    assert running.all() == accounts_of(state).all() == {}


def test_of_a_log_that_has_grown_only_what_is_new_is_read(
    smc: Smc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node asks at every call of its operator's; a log put back, which has other entries, is read anew."""
    running, read, rows_of = accounts_of(tmp_path / "state"), list[int](), database.rows_of

    def counted(*words: Any, **more: Any) -> list[database.Row]:
        rows = list(rows_of(*words, **more))
        read.append(len(rows))
        return rows

    added(smc, "anna", "--role administer")
    added(smc, "bert", "--role approve")
    older = shutil.copytree(tmp_path / "state", tmp_path / "older")
    (tmp_path / "state" / "operators.json").unlink()
    monkeypatch.setattr(database, "rows_of", counted)
    for new in (2, 0, 1):
        if new == 1:
            assert added(smc, "carl", "--role see")[0] == 0
            (tmp_path / "state" / "operators.json").unlink()
            read.clear()
        with pytest.raises(InputError, match="entry 3" if new == 1 else "entry 2"):
            running.all()
        assert read.pop() == new
    shutil.rmtree(tmp_path / "state")
    older.rename(tmp_path / "state")
    (tmp_path / "state" / "operators.json").unlink()
    with pytest.raises(InputError, match="entry 2"):
        running.all()


@pytest.mark.parametrize("words", ["password anna --password-file -", "add anna --role see", "remove anna"])
def test_what_is_odd_of_the_accounts_is_said_once(smc: Smc, tmp_path: Path, words: str) -> None:
    added(smc, "anna", "--role approve")
    path = tmp_path / "state" / "operators.json"
    path.write_text(path.read_text().replace('"approve"', '"administer"'))
    code, _, said = smc(f"operator {words}", "another password\n")
    assert (code, said.count("an older copy, or changed by hand")) == (0, 1)


@contextmanager
def served(state: Path, pair: Pair) -> Iterator[Page]:
    free: Any = dict.fromkeys(("web", "metrics", "health"), "127.0.0.1:0")
    page = Page(NodeSettings(state=state, **free))
    page.start(desk(pair.parties[1]), Events(), lambda name, why: None)
    try:
        yield page
    finally:
        page.stop()


def test_commands_act_as_the_person_of_the_nodes_unix_user(
    tmp_path: Path, identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    with paired(tmp_path, identities) as pair, served(state, pair):
        job = pair.parties[0].ledger.decisions.propose({"table": "days", "plain": True}).id
        pair.deliver()

        def smc(*words: str) -> tuple[int, str]:
            code = run([*words, "--state", str(state)])
            shown = capsys.readouterr()
            return code, shown.out + shown.err

        assert smc("jobs")[0] == 0  # nobody has a name
        people(state, anna="approve", bert="see")
        for words in (["jobs"], ["approve", job, "--yes"], ["web"]):
            code, text = smc(*words)
            assert (code, text.count("\n")) == (2, 1)
            assert f"smc operator add NAME --unix {unix_user()}" in text
        people(state, bert=f"see unix:{unix_user()}", anna="approve")
        assert smc("jobs")[0] == 0
        code, text = smc("approve", job, "--yes")
        assert (code, "bert may not do this: it needs the role approve" in text) == (2, True)
        assert smc("web")[0] == 0
        people(state, anna=f"approve unix:{unix_user()}")
        assert smc("approve", job, "--yes")[0] == 0
        assert "approved by operator anna" in smc("show", job)[1]
        assert [entry.fields.get("person") for entry in pair.parties[1].ledger.log.entries(1, None)] == ["anna"]
    assert os.listdir(state) == ["operators.json"]
