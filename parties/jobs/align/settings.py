"""Settings of an alignment, and its public terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from parties.base.settings import LocalPath
from parties.base.text import listed, quoted
from parties.jobs import settings as fields
from parties.jobs.settings import MAX_ROWS, BooleanSettings, Columns, PartyColumns, RowBound, output, own_file, public
from parties.jobs.tabular import TabularSettings, schema_file
from protocols.alignment.forms import AS_WRITTEN, Form
from protocols.alignment.keys import MOST_KEYS, tokens_per_row
from protocols.alignment.matching import FAST_KEYS, Learns, Matching
from smc.errors import InputError

LEARNERS = {
    "both": "Both parties learn",
    "listener": "The listening party learns",
    "dialler": "The dialling party learns",
}


class AlignSettings(TabularSettings):
    """Settings of every alignment."""

    schema_file: LocalPath | None = None  # a table of party.toml has one; keys are not in it

    forms: Columns | None = public(
        None,
        "Normal forms",
        "Normal form of key columns, such as name=accents+case,born=date:dmy. Steps: accents, case, spaces, letters, "
        "digits, zeros, initials, soundex, year, date:dmy, date:mdy, date:ymd, phone:COUNTRY",
        none="keys as written",
    )
    learns: Learns = public(
        "both", "Learns it", "Who learns the result: both parties, or the one that listens or dials", advanced=True
    )
    keys: RowBound = public(
        MAX_ROWS,
        "Keys entered",
        "Public upper bound on a party's keys: 1 for any row; in align exact 2 or 4 for 2 or 3 keys in by. If a node's "
        "job leaves it out, it follows from max_rows of the table",
    )
    listener_keys: RowBound | None = public(
        None,
        "Keys of the listening party",
        "Upper bound on the keys of the party that listens, if its table is much smaller or larger",
        none="that of both parties",
        advanced=True,
    )

    aligned: LocalPath | None = output("Write keys of own matched rows as CSV, in an order both share.")


class KeySettings(BooleanSettings, AlignSettings):
    """Settings of kinds that compare whole keys."""

    by: Columns | None = public(
        None, "Keys", "Key columns; + joins those of one key: name+born. Align exact takes several: tax,name+born"
    )
    duplicates: Literal["refuse", "first"] = public(
        "refuse", "Doubles", "If several own rows have one key: refuse the table, or take the first row", advanced=True
    )


class ExactSettings(KeySettings):
    """Settings of `smc align exact`."""

    opens: Literal["rows", "number", "at-least"] = public(
        "rows",
        "Opened",
        "What is learnt: rows = which own rows are matched, number = only how many, at-least = only whether at_least "
        "rows are matched",
    )
    at_least: RowBound | None = public(
        None, "Threshold", "With opens at-least: the number of matched rows", none="none", advanced=True
    )
    method: Literal["dh", "fast", "auto"] = public(
        "dh",
        "Method",
        "dh = Diffie-Hellman; fast = oblivious PRF, for rows only: a cheating peer can test 20 % more keys and 128; "
        "auto = fast for rows if the bounds of both parties add up to 32,768 keys or more",
    )
    unmatched: LocalPath | None = output("Write the keys of own rows without a partner as CSV.", advanced=True)


class HiddenSettings(KeySettings):
    """Settings of `smc align hidden`."""

    learns: Literal["both"] = "both"  # each party its part; it has no flag
    schema_file: LocalPath | None = schema_file()
    listener_columns: PartyColumns | None = fields.listener_columns(advanced=False)
    joint: Any = None  # the schema of both parties' columns; it has no flag
    aligned: LocalPath | None = output("Write own part of the joined rows, for later commands; private.")


class LookupSettings(KeySettings):
    """Settings of `smc align lookup`. The party that `learns` asks; the keys of the other party are the list."""

    learns: Literal["listener", "dialler"] | None = public(  # type: ignore[assignment]
        None, "Asks", "Which party looks its keys up in the list of the other: the one that listens or dials"
    )
    list_: Literal["sent", "kept"] = public(
        "sent", "List", "sent = make the list anew, and send it; kept = use that of an earlier run", alias="list"
    )
    kept: LocalPath | None = own_file(
        "Kept list", "File that keeps the list for later runs, and at its owner the list's secret key; private."
    )


def key_columns(by: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the columns of each key. Raise InputError if a key is not made of columns."""
    keys = [tuple(part.strip() for part in key.split("+")) for key in by]
    if len(keys) > MOST_KEYS:
        raise InputError(f"by: names {len(keys)} keys; name at most {MOST_KEYS}")
    for key in keys:
        if "" in key or len(set(key)) < len(key):
            raise InputError(f"by: {quoted('+'.join(key))} is no list of columns; write it as name+born")
    if len(set(keys)) < len(keys):
        raise InputError(f"by: name each key once, not {listed(list(by))}")
    return keys


def columns_of(keys: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the columns of some keys, each once."""
    return tuple(dict.fromkeys(name for key in keys for name in key))


def forms_of(settings: AlignSettings, columns: Sequence[str]) -> dict[str, Form]:
    """Return the normal form of each key column. Raise InputError if a form is wrong.

    Args:
        settings: Settings of the job.
        columns: All key columns.
    """
    forms = dict.fromkeys(columns, AS_WRITTEN)
    for text in settings.forms or ():
        name, sign, form = (part.strip() for part in text.partition("="))
        if not sign:
            raise InputError(f"forms: {quoted(text)} must be COLUMN=FORM, such as name=accents+case")
        if name not in forms:
            raise InputError(f"forms: {quoted(name)} is no key column; by has {listed(list(columns))}: correct one")
        if forms[name] is not AS_WRITTEN:
            raise InputError(f"forms: {quoted(name)} has two forms; join their steps by +")
        forms[name] = Form.of(form)
    return forms


def bounds(settings: AlignSettings, per_row: int) -> tuple[int, int]:
    """Return the maximum rows of party 0, which listens, and of party 1: agreed keys divided by those of a row.

    Args:
        settings: Settings of the job.
        per_row: Number of its `keys` that a row takes.
    """
    return (settings.listener_keys or settings.keys) // per_row, settings.keys // per_row


def terms_of(settings: ExactSettings, keys: int) -> Matching:
    """Return the terms of the protocol.

    Args:
        settings: Settings of the job.
        keys: Number of keys that are tried.

    Raises:
        InputError: Several keys, and not both parties learn their rows. A row that matches by several keys would count
            several times. Or the number alone is learnt by the fast method. Or a threshold is missing, or not asked.
    """
    if keys > 1 and (settings.opens != "rows" or settings.learns != "both"):
        raise InputError("by: several keys need opens = rows and learns = both; name one key, or change these settings")
    each = tokens_per_row(keys)
    left, right = (each * most for most in bounds(settings, each))
    number = settings.opens != "rows"
    if number and settings.method == "fast":
        raise InputError(
            f"method: fast shows one party its matched rows; for opens = {settings.opens}, set method = dh"
        )
    asks = settings.opens == "at-least"
    if asks != (settings.at_least is not None) or (asks and settings.learns != "both"):
        raise InputError("at_least: goes with opens = at-least and learns = both; set all three, or remove them")
    if (least := settings.at_least or 0) > min(left, right):
        raise InputError(f"at_least: {least:,} rows never match, with at most {min(left, right):,} keys; lower it")
    fast = settings.method == "fast" or (settings.method == "auto" and not number and left + right >= FAST_KEYS)
    return Matching((left, right), settings.learns, number, keys, fast)
