"""Matching of rows with typing errors, against the rule in plain Python; what the opened bits show."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from protocols.alignment import fuzzy
from protocols.alignment.fuzzy import Linkage, LinkRows, link
from protocols.alignment.weights import Comparison, Level
from smc.engines import make_engine
from smc.errors import ProtocolError
from smc.local import run_local
from smc.primitives.prg import Prg
from smc.recipes import EngineName
from smc.session import Openings, Session
from tests.support.linkage import Texts, matched

COMPARED = (
    Comparison((Level(None, 80), Level(Fraction("0.8"), 50), Level(Fraction("0.5"), 21)), -60),
    Comparison((Level(None, 64), Level(Fraction("0.7"), 27)), -41),
)
TERMS = Linkage(4, (6, 7), COMPARED, 30, rules=2)
Table = Sequence[Texts]


def people(chance: random.Random, rows: int) -> tuple[list[list[str | None]], list[list[str | None]]]:
    """Two tables of names and towns; half of the second table's rows are those of the first with errors."""

    def text() -> str:
        return "".join(chance.choices("abcd", k=chance.randint(3, 7)))

    def dirty(cell: str | None) -> str | None:
        at, kind = chance.randrange(3), chance.random()
        return cell if kind < 0.6 else None if kind < 0.7 or cell is None else cell[:at] + "x" + cell[at + 1 :]

    left: list[list[str | None]] = [[text(), text()] for _ in range(rows)]
    right: list[list[str | None]] = [[dirty(cell) for cell in row] for row in left[: rows // 2]]
    right += [[text(), text()] for _ in range(rows - rows // 2)]
    chance.shuffle(right)
    return left, right


def blocks(rows: Table) -> list[list[str | None]]:
    """Two rules: the first letter of the town, then that of the name."""
    return [[None if row[column] is None else str(row[column])[0] for row in rows] for column in (1, 0)]


def linked(tables: tuple[Table, Table], terms: Linkage = TERMS, engine: EngineName = "clear") -> list[Any]:
    """The rows that each party learns."""
    own = [LinkRows.of(COMPARED, list(zip(*rows, strict=True)), blocks(rows)) for rows in tables]

    def program(session: Session) -> Any:
        found = link(make_engine(session, engine), terms, own[session.party])
        return None if found is None else found.tolist()

    return list(run_local(program))


def best(tables: tuple[Table, Table], rules: int = 2) -> list[Any]:
    by_party = [blocks(rows)[:rules] for rows in tables]
    return matched(COMPARED, TERMS.threshold, tables, (by_party[0], by_party[1]))


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(1, 14))
def test_pairs_are_those_of_the_rule(seed: int, rows: int) -> None:
    """By both rules. Among equal weights a row has one of its best partners."""
    tables = people(random.Random(seed), rows)
    left, right = linked(tables, replace(TERMS, places=(16, 16)))
    pairs = list(zip(left, right, strict=True))
    assert len(set(left)) == len(set(right)) == len(pairs)
    allowed = best(tables)
    one_to_one = all(len({pair[side] for pair in some}) == len(some) for some in allowed for side in (0, 1))
    if one_to_one:
        assert set(pairs) == set().union(*allowed)
    else:
        assert set(pairs[: len(allowed[0])]) & set(allowed[0])


@pytest.mark.parametrize("learns", ["listener", "dialler"])
def test_one_party_learns_its_rows(learns: Any) -> None:
    tables = people(random.Random(7), 9)
    pairs = best(tables, 1)[0]
    found = linked(tables, replace(TERMS, places=(16, 12), learns=learns, rules=1))
    learner = int(learns == "dialler")
    assert sorted(found[learner]) == sorted(pair[learner] for pair in pairs) != []
    assert found[1 - learner] is None


@pytest.mark.parametrize("engine", ["gmw", "yao"])
@pytest.mark.parametrize("learns", ["both", "dialler"])
def test_on_secrets(engine: EngineName, learns: Any) -> None:
    tables = people(random.Random(3), 5)
    terms = replace(TERMS, bins=1, places=(5, 5), learns=learns, rules=1)
    found = linked(tables, terms, engine)
    assert found[1] is not None
    pairs = best(tables, 1)[0]
    assert sorted(found[1]) == sorted(j for _, j in pairs) != []


@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (1, 1)])
def test_tables_that_are_empty_or_of_one_row(sizes: tuple[int, int]) -> None:
    tables = tuple([["abc", "abc"]] * size for size in sizes)
    own = [LinkRows.of(COMPARED, [[row[i] for row in rows] for i in (0, 1)], blocks(rows)) for rows in tables]
    found = run_local(lambda session: link(make_engine(session, "clear"), TERMS, own[session.party]))
    assert [len(rows) for rows in found if rows is not None] == [min(sizes)] * 2


def test_rows_beyond_the_places_of_their_bin_are_left_out() -> None:
    tables = ([["abc", "abc"]] * 5, [["abc", "abc"]] * 5)
    left, right = linked(tables, replace(TERMS, places=(3, 2), rules=1))
    assert len(left) == len(right) == 1  # one to one: all are equal, so the first row and column are the best
    assert left[0] < 3
    assert right[0] < 2


def test_parts_of_the_bins_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = people(random.Random(5), 12)
    whole = linked(tables, replace(TERMS, places=(16, 16)))
    monkeypatch.setattr(fuzzy, "_parts", lambda engine, terms: (slice(i, i + 1) for i in range(terms.bins)))
    in_parts = linked(tables, replace(TERMS, places=(16, 16)))
    assert {*zip(*in_parts, strict=True)} == {*zip(*whole, strict=True)}


def opened_bits(learns: Any, other: Texts, runs: int) -> Any:
    """The opened bits of many runs, uint8[bits, runs]; party 0 has one row, party 1 another."""
    seen = []

    class Seeing(Openings):
        def open(self, session: Session, share: Any) -> Any:
            value = super().open(session, share)
            if session.party == 0:
                seen.append(np.unpackbits(value, bitorder="little"))
            return value

    terms = Linkage(1, (4, 4), COMPARED, 30, learns)
    tables: list[Table] = [[["abcd", "abc"]], [other]]
    own = [LinkRows.of(COMPARED, list(zip(*rows, strict=True)), blocks(rows)) for rows in tables]

    def program(session: Session) -> Any:
        session.openings = Seeing()
        return link(make_engine(session, "gmw"), terms, own[session.party])

    for _ in range(runs):
        run_local(program)
    return np.stack(seen, axis=1)


def test_opened_bits_of_one_learner_are_uniform_to_the_other() -> None:
    """Whether the row matches or not. Each bit is 1 in at least one of 30 runs, and in less than all: else 2^-26."""
    for other in (["abcd", "abc"], ["dddd", "abc"]):
        bits = opened_bits("dialler", other, 30)[:4]
        assert ((bits.sum(axis=1) > 0) & (bits.sum(axis=1) < 30)).all()


def test_the_place_of_a_partner_is_uniform() -> None:
    """The chi-square p-value of place and partner's place is below 10^-9 once in 10^9 runs."""
    bits = opened_bits("both", ["abcd", "abc"], 80).reshape(-1, 80)
    flags, places = bits[:4], bits[4:8] + 2 * bits[8:12]
    assert (flags.sum(axis=0) == 1).all()
    assert chisquare(np.bincount(flags.argmax(axis=0), minlength=4)).pvalue > 1e-9
    assert chisquare(np.bincount((flags * places).sum(axis=0), minlength=4)).pvalue > 1e-9


def test_a_repeated_session_opens_the_same() -> None:
    """Places and masks follow from the contributions, which a node keeps with its shares."""
    tables = people(random.Random(7), 9)
    own = [LinkRows.of(COMPARED, list(zip(*rows, strict=True)), blocks(rows)) for rows in tables]

    class Kept(Openings):
        def __init__(self, shares: list[Any], repeats: bool) -> None:
            self._shares, self._repeats, self._at = shares, repeats, 0

        def open(self, session: Session, share: Any) -> Any:
            if self._repeats:
                share = self._shares[self._at]
                self._at += 1
            else:
                self._shares.append(share)
            session.send("kept", share)
            return share ^ session.receive("kept", np.uint8, share.shape)

    for learns, rules in (("both", 2), ("dialler", 1)):
        kept: tuple[list[Any], list[Any]] = ([], [])
        found = []
        for repeats in (False, True):
            terms = Linkage(1, (12, 12), COMPARED, 30, learns, rules)  # type: ignore[arg-type]

            def program(session: Session, terms: Linkage = terms, repeats: bool = repeats, kept: Any = kept) -> Any:
                session.contributions = Prg(bytes([session.party]) * 16)
                session.openings = Kept(kept[session.party], repeats)
                rows = link(make_engine(session, "gmw"), terms, own[session.party])
                return None if rows is None else rows.tolist()

            found.append(run_local(program))
        assert found[0] == found[1]
        assert found[0][1]


def test_an_impossible_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bin has five places; three bits name up to eight."""
    terms = Linkage(1, (1, 5), COMPARED, 30)

    def program(session: Session) -> Any:
        engine = make_engine(session, "clear")
        monkeypatch.setattr(engine, "reveal", lambda secret: [np.ones((4, 1), dtype=np.uint8)])
        return link(engine, terms, LinkRows.of(COMPARED, [["abc"], ["abc"]], [["a"]]))

    with pytest.raises(ProtocolError, match="a place that a bin does not have"):
        run_local(program)
