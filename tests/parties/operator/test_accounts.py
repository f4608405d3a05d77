"""Accounts: the file, its passwords, whose a session and a Unix user is."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from typing_extensions import override

from parties.operator import accounts
from parties.operator.accounts import FILE_NAME, Accounts, protected
from parties.operator.people import UNNAMED, NotAllowedError
from smc.errors import InputError
from tests.support.people import password, people, quick


def test_the_file_is_for_its_owner_and_holds_no_password(tmp_path: Path) -> None:
    people(tmp_path, anna="approve")
    file = tmp_path / FILE_NAME
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]
    known = json.loads(file.read_text())["anna"]
    assert password("anna") not in file.read_text()
    # OWASP's parameters, asked of the library itself.
    function = Argon2id(salt=bytes.fromhex(known["salt"]), length=32, iterations=2, lanes=1, memory_cost=19456)
    function.verify(password("anna").encode(), bytes.fromhex(known["hash"]))


def test_two_of_one_password_have_other_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    one, two = protected("a" * 12), protected("a" * 12)
    assert one[0] != two[0]
    assert one[1] != two[1]


@pytest.mark.parametrize("text", ["", "a" * 11, "a" * 1025])
def test_a_password_has_a_length(text: str) -> None:
    with pytest.raises(InputError, match="from 12 to 1,024"):
        protected(text)


def test_letters_that_look_alike_are_one_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    known = people(tmp_path, anna="see")
    salt, digest = protected("Schlüsselbrett")
    known.write({"anna": known.all()["anna"].model_copy(update={"salt": salt, "hash": digest})})
    assert known.signed_in("anna", "Schlu\u0308sselbrett") is not None


def test_only_the_right_password_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    known = people(tmp_path, anna="approve", bert="see")
    person = known.signed_in("anna", password("anna"))
    assert person is not None
    assert (person.name, person.roles) == ("anna", {"approve"})
    wrong = [("anna", password("bert")), ("bert", password("anna")), ("anna", ""), ("", ""), ("zoe", password("anna"))]
    wrong += [("Anna", password("anna")), ("anna\0", password("anna")), ("anna", password("anna") + "\ud800")]
    assert [known.signed_in(*pair) for pair in wrong] == [None] * len(wrong)


def test_an_unknown_name_costs_one_computation_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    known = people(tmp_path, anna="approve")
    asked: list[tuple[str, bool]] = []
    verified = accounts.verified

    def counted(text: str, account: accounts.Account) -> bool:
        asked.append((text, len(account.hash) == 64))
        return verified(text, account)

    monkeypatch.setattr(accounts, "verified", counted)
    for name in ("anna", "zoe"):
        assert known.signed_in(name, "wrong") is None
    assert asked == [("wrong", True)] * 2


def test_changes_are_seen_at_once_and_end_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    known = people(tmp_path, anna="approve")
    person = known.signed_in("anna", password("anna"))
    assert person is not None
    people(tmp_path, anna="see")  # anew, by another process
    assert known.now(person) is None
    person = known.signed_in("anna", password("anna"))
    assert person is not None
    again = known.all()["anna"].model_copy(update={"roles": ("audit",)})
    known.write({"anna": again})
    changed = known.now(person)
    assert changed is not None
    assert changed.roles == {"audit"}
    assert known.now(UNNAMED) is None
    known.write({})
    assert known.now(person) is None
    assert known.now(UNNAMED) is UNNAMED


def test_a_unix_user_is_one_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    assert Accounts(tmp_path).on_terminal("smc") is UNNAMED
    known = people(tmp_path, anna="approve unix:smc", bert="see")
    assert known.on_terminal("smc").name == "anna"
    with pytest.raises(NotAllowedError, match="smc operator add NAME --unix root"):
        known.on_terminal("root")
    with pytest.raises(InputError, match="another operator's already"):
        known.write({name: account.model_copy(update={"unix": "smc"}) for name, account in known.all().items()})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"anna": {}}', '{"Anna": null}', '{"anna": {"roles": ["king"]}}'])
def test_a_damaged_file_lets_nobody_in(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    known = Accounts(tmp_path)
    for call in (known.all, lambda: known.now(UNNAMED), lambda: known.on_terminal("smc")):
        with pytest.raises(InputError, match="not of smc operator"):
            call()


def test_a_file_that_goes_while_it_is_read_lets_nobody_in(tmp_path: Path) -> None:
    """Whoever takes it away at that moment would have no name else, and so may do all."""

    class Going(Accounts):
        @override
        def check_present(self) -> bool:
            is_there = super().check_present()
            (tmp_path / FILE_NAME).unlink()
            return is_there

    (tmp_path / FILE_NAME).touch()
    with pytest.raises(InputError, match="cannot be read"):
        Going(tmp_path).all()
