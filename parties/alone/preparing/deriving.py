"""Declarations of a raw table's derived columns: from `--derive`, with the spelling of their inputs, and as TOML."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Mapping, Sequence
from datetime import date
from itertools import chain, count, pairwise
from typing import Any

from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.base.settings import at_key, validated
from parties.base.text import quoted
from parties.sources.forms import in_order, parsed
from parties.sources.settings import SPELLED, DerivedSettings, FormatSettings, SourceSettings
from parties.tables.toml_text import toml_lines
from smc.errors import InputError

BIRTH = re.compile(r"geb|birth|born|dob|nasc|naiss", re.IGNORECASE)  # names of columns with dates of birth
DAY_NAME = re.compile(rf"date|datum|(^|_)(day|tag|dt|jour|giorno|fecha)(_|$)|time|zeit|{BIRTH.pattern}", re.IGNORECASE)
SPANS, OLDEST = ("days", "months", "years", "age"), 120  # forms of times between days; greatest age in years
READS = {"date": ("date",), "number": ("integer", "real")}  # what a column must hold for each kind
SPELLED_KEYS = {"date": ("dates", "last_year"), "number": ("decimal", "thousands", "negative", "drop")}


def declared(
    where: str, texts: Sequence[str], present: Mapping[str, DerivedSettings] | None = None, replace: bool = False
) -> dict[str, DerivedSettings]:
    """Return the present declarations, and the declarations in texts such as `age=age born 2026-01-01`.

    Args:
        where: Flag or parameter of the texts, for messages.
        texts: The declarations.
        present: Declarations by name that exist already.
        replace: Whether a text may replace a present declaration.

    Raises:
        InputError: A text is not NAME=FORM, a name is declared twice, or columns read each other in a circle.
    """
    present, found = present or {}, dict[str, DerivedSettings]()
    for text in texts:
        with at_key(f"{where} {text}"):
            name, form = parsed(text)
            if name in found or (name in present and not replace):
                raise InputError(f"{name!r} is declared already; give another name")
            found[name] = validated(DerivedSettings, form)
    try:
        in_order({name: column.reads for name, column in {**present, **found}.items()})
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    return {**present, **found}


def spelled_out(derived: Mapping[str, DerivedSettings], source: TableProfile) -> dict[str, DerivedSettings]:
    """Return the declarations, completed by the full spelling of each input column from the table's profile.

    Args:
        derived: The declarations; spellings that they already have stay.
        source: Profile of the table without derived columns.

    Raises:
        InputError: A column is not of the kind that a form takes.
    """
    found = {column.name: column for column in source.columns}
    spelled = {}
    for name, settings in derived.items():
        columns = dict(settings.columns)
        for column, kind in settings.reads.items():
            if column in found and column not in columns:
                _require(name, kind, found[column], source)
                columns[column] = _spelling(found[column], source)
        spelled[name] = settings.model_copy(update={"columns": columns})
    return spelled


def _require(name: str, kind: str, column: ColumnProfile, source: TableProfile) -> None:
    if column.distinct and column.reads not in READS.get(kind, (column.reads,)):
        raise InputError(
            f"{source.place.label}: derived.{name}: column {quoted(column.name)} holds {column.reads}, "
            f"not {kind}s; name a column of {kind}s"
        )


def _spelling(column: ColumnProfile, source: TableProfile) -> SourceSettings:
    own = column.spelling.model_dump(include={*SPELLED})
    own["dates"] = column.form or source.spelling.dates
    own["thousands"] = column.spelling.thousands if column.parted else ""
    return SourceSettings(**own, missing=(*dict.fromkeys((*column.odd, *source.spelling.missing)),))


def spelled_briefly(derived: Mapping[str, DerivedSettings], table: FormatSettings) -> dict[str, DerivedSettings]:
    """Return the declarations without the settings that equal the table's spelling.

    Args:
        derived: The declarations with full spellings.
        table: The table's spelling.
    """
    brief = {}
    for name, settings in derived.items():
        columns = {}
        for column, kind in settings.reads.items():
            if (own := settings.columns.get(column)) is None:
                continue
            keys = SPELLED_KEYS.get(kind, ())
            fields = {key: value for key in keys if (value := getattr(own, key)) not in (None, getattr(table, key))}
            if missing := tuple(text for text in own.missing if text not in table.missing):
                fields["missing"] = missing
            if fields:
                columns[column] = SourceSettings(**fields)
        brief[name] = settings.model_copy(update={"columns": columns})
    return brief


def offers(table: TableProfile) -> dict[str, str]:
    """Return remarks by date column: each suggests the `--derive` flag for an age or a duration from its dates."""
    days = sorted((c for c in table.columns if c.reads == "date" and c.rows), key=lambda column: column.inner)
    births = [column for column in days if is_birth(column)]
    others = [column for column in days if not is_birth(column)]
    read = {column for settings in table.derived.values() for column in settings.reads}
    taken = {column.name.casefold() for column in table.columns}
    remarks = {}
    for column in births:
        if column.name not in read:
            at = others[0].name if others else f"{date.today().year}-01-01"
            remarks[column.name] = f"ages as numbers: {option_text(_free('age', taken), 'age', column.name, at)}"
    for first, last in pairwise(others):
        if last.name not in read:
            name = _free(f"{first.name}_to_{last.name}", taken)
            remarks[last.name] = f"days between: {option_text(name, 'days', first.name, last.name)}"
    return remarks


def is_birth(column: ColumnProfile) -> bool:
    """Return True if a column seems to hold dates of birth: by its name, and by a span of over 50 years."""
    return column.reads == "date" and column.high - column.low > 50 * 365 and BIRTH.search(column.name) is not None


def _free(name: str, taken: Container[str]) -> str:
    """Return the name, with _ in place of other characters than letters and digits; with a number if it is taken."""
    name = re.sub(r"\W+", "_", name)
    names = chain([name], (f"{name}_{i}" for i in count(2)))
    return next(free for free in names if free.casefold() not in taken)


def declaration(settings: DerivedSettings) -> str:
    """Return a form and its arguments as `--derive` takes them."""
    return shlex.join([settings.form, *map(str, settings.arguments)])


def backwards(column: ColumnProfile, settings: DerivedSettings) -> list[str]:
    """Return a remark if a computed duration is negative, or if an age exceeds 120 years.

    Args:
        column: Profile of the computed column.
        settings: Its declaration.
    """
    if settings.form not in SPANS or column.reads not in READS["number"]:
        return []
    first, last = map(str, settings.arguments)
    is_old = settings.form == "age" and column.high > OLDEST
    what = "some are below zero" if column.low < 0 else f"some are over {OLDEST} years" if is_old else ""
    why = f"is {quoted(last)} before {quoted(first)}, are days and months swapped, or is a century wrong?"
    return [f"{what}: {why}"] if what else []


def derived_text(head: str, derived: Mapping[str, DerivedSettings]) -> str:
    """Return the declarations as TOML for a `party.toml`.

    Args:
        head: The table's key, `tables.NAME`.
        derived: The declarations.
    """
    if not derived:
        return ""
    fields: dict[str, Any] = {}
    for name, settings in derived.items():
        values = settings.arguments
        fields[name] = {settings.form: values[0] if len(values) == 1 else [*values]}
        columns = {column: of.model_dump(exclude_unset=True) for column, of in settings.columns.items()}
        fields[name] |= {"columns": columns} if columns else {}
    return f"\n[{head}.derived]\n{toml_lines(fields)}"


def option_text(name: str, *words: str) -> str:
    """Return a `--derive` option as typed in a shell.

    Args:
        name: The name of the column.
        words: The form and its arguments.
    """
    return f"--derive {shlex.quote(f'{name}={shlex.join(words)}')}"
