"""Exported logs: the same entries, checked without the database, and no byte of them can be changed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.link.identity import Identity
from parties.node.records import reading
from parties.node.records.chain import check
from parties.node.records.database import rows, signed_head
from parties.node.records.export import read_lines, to_csv, to_lines
from smc.errors import InputError


@pytest.fixture(scope="session")
def exported(kept: Path) -> str:
    with reading(kept) as connection:
        return to_lines(rows(connection), signed_head(connection))


def problems(path: Path, owner: Identity) -> list[str]:
    return check(*read_lines(path), owner.certificate).problems


def test_an_export_is_read_back_and_whole(
    kept: Path, exported: str, tmp_path: Path, identities: dict[str, Identity]
) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text(exported)
    with reading(kept) as connection:
        assert read_lines(path) == (list(rows(connection)), signed_head(connection))
    assert problems(path, identities["alice"]) == []
    assert "names the certificate" in problems(path, identities["bob"])[0]


def test_lines_are_json_for_other_programs(exported: str) -> None:
    *entries, head = (json.loads(line) for line in exported.splitlines())
    assert [entry["number"] for entry in entries] == list(range(1, 10))
    assert entries[1]["fields"]["purpose"] == "research — Fälle"
    assert entries[1]["previous"] == entries[0]["hash"]
    assert (head["head"]["number"], head["head"]["hash"]) == (9, entries[-1]["hash"])
    assert exported.isascii()


LINES = {
    "drop the first": (lambda lines: lines[1:], "entry 1 is missing"),
    "drop one": (lambda lines: lines[:3] + lines[4:], "entry 4 is missing"),
    "drop the last": (lambda lines: lines[:8] + lines[9:], "entry 9 is missing at the end"),
    "drop the head": (lambda lines: lines[:-1], "the signed head after entry 9 is missing"),
    "drop the last and the head": (lambda lines: lines[:-2], "the signed head after entry 8 is missing"),
    "drop all entries": (lambda lines: lines[-1:], "entries 1 to 9 are missing at the end"),
    "drop all": (lambda lines: [], "there is no entry"),
    "swap": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "entry 2 is missing"),
    "double": (lambda lines: [lines[0], *lines], "entry 1 is there twice"),
    "edit": (lambda lines: [lines[0], lines[1].replace("patients", "patienten"), *lines[2:]], "entry 2 was changed"),
}


@pytest.mark.parametrize("name", LINES)
def test_changed_lines_are_found(name: str, exported: str, tmp_path: Path, identities: dict[str, Identity]) -> None:
    change, expected = LINES[name]
    path = tmp_path / "audit.jsonl"
    path.write_text("".join(f"{line}\n" for line in change(exported.splitlines())))
    assert problems(path, identities["alice"])[0] == expected or problems(path, identities["alice"])[0].startswith(
        f"{expected}: "
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"at"', ' "at"', 1),  # the same to a JSON parser
        lambda text: text.replace('"job":null', '"job":null,"job":null', 1),
        lambda text: text.replace('"job":null', '"job":null,"note":"x"', 1),
        lambda text: text.replace('"job":null,', "", 1),
        lambda text: text.replace("\n", "\r\n", 1),
        lambda text: text[:-132] + text[-132:-4].upper() + text[-4:],  # the head's signature
        lambda text: "\n" + text,
        lambda text: text + "x",
        lambda text: text + text.splitlines()[0] + "\n",  # after the head
        lambda text: "[]\n" + text,
        lambda text: "[" * 100_000 + "\n" + text,
        lambda text: "9" * 5_000 + "\n" + text,
        lambda text: '{"head":{}}\n',
        lambda text: '{"head":{"fingerprint":"","hash":"","number":true,"signature":""}}\n',
        lambda text: '{"head":5}\n',
    ],
)
def test_what_is_no_export_is_refused_with_its_line(change: object, exported: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text(change(exported), newline="")  # type: ignore[operator]
    with pytest.raises(InputError, match=r"audit\.jsonl, line \d+: not a line of an export, or changed"):
        read_lines(path)


@settings(max_examples=80)
@given(st.data())
def test_no_byte_can_be_changed(
    kept: Path, exported: str, identities: dict[str, Identity], data: st.DataObject
) -> None:
    original = exported.encode()
    place = data.draw(st.integers(0, len(original) - 1))
    other = data.draw(st.binary(max_size=2).filter(lambda piece: piece != original[place : place + 1]))
    path = kept.with_name("changed.jsonl")
    path.write_bytes(original[:place] + other + original[place + 1 :])
    try:
        found = problems(path, identities["alice"])
    except InputError as error:
        found = [str(error)]
    if path.read_bytes() == original[:-1]:  # the last line feed says nothing
        assert found == []
    else:
        assert found


def test_csv_has_all_entries(kept: Path) -> None:
    with reading(kept) as connection:
        text, entries = to_csv(rows(connection)), list(rows(connection))
    header, *lines = csv.reader(io.StringIO(text))
    assert header == ["number", "at", "kind", "job", "fields", "previous", "hash"]
    assert [[str(value or "") for value in row] for row in entries] == lines
