"""Settings of a matching of dirty keys: comparisons with their weights, and blocking rules, as texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from parties.base.text import quoted
from parties.jobs.align.settings import AlignSettings
from parties.jobs.settings import MAX_ROWS, Columns, ManyGatesSettings, RowBound, public
from protocols.alignment.forms import Form, normal_column
from protocols.alignment.fuzzy import Linkage
from protocols.alignment.weights import UNIT, Comparison, Level, match_weight
from smc.errors import InputError

PLACES_A_ROW = 2  # half of the places are free, so that most bins hold all their rows
MOST_WEIGHT = 64
MOST_COMPARISONS = 12
MOST_LEVELS = 4
MOST_RULES = 4
LEVEL = "LEVEL:M:U or LEVEL:WEIGHT with exact, dice@0.9 or else as level, such as exact:0.8:0.001"


class FuzzySettings(ManyGatesSettings, AlignSettings):
    """Settings of `smc align fuzzy`."""

    comparisons: Columns | None = public(
        None,
        "Comparisons",
        "Columns and levels of agreement, each with its chance in true pairs and in others, or with a match weight: "
        "name=exact:0.7:0.001+dice@0.8:0.2:0.01+else:0.1:0.989",
    )
    blocking_rules: Columns | None = public(
        None,
        "Blocking rules",
        "Rows are compared if they agree in a rule: name:soundex+born:year. A later rule is for unmatched rows",
    )
    threshold_match_weight: Annotated[float, Field(strict=True, allow_inf_nan=False)] | None = public(
        None, "Threshold", "Least match weight of a pair: the sum of log2(m/u), m and u being the two chances"
    )
    keys: RowBound = public(
        MAX_ROWS,
        "Keys entered",
        "Twice the public upper bound on a party's rows. If a node's job leaves it out, it follows from max_rows of "
        "the table",
    )
    bin_rows: Annotated[int, Field(strict=True, ge=1, le=256)] = public(
        32, "Rows of a bin", "Places of a bin. More have room for larger blocks, and cost more", advanced=True
    )


@dataclass(frozen=True)
class Rule:
    """A blocking rule: columns, and the steps that follow the column's normal form."""

    parts: tuple[tuple[str, Form | None], ...]

    def blocks(self, columns: dict[str, list[str | None]]) -> list[str | None]:
        """Return the block of each row; None if a part is missing or unreadable.

        Args:
            columns: The normal forms of the columns.
        """
        parts = [columns[name] if form is None else normal_column(form, columns[name])[0] for name, form in self.parts]
        return [None if None in row else "\0".join(map(str, row)) for row in zip(*parts, strict=True)]


def rules_of(texts: Sequence[str]) -> list[Rule]:
    """Return the blocking rules. Raise InputError if a rule is not made of columns and steps."""
    if len(texts) > MOST_RULES:
        raise InputError(f"blocking_rules: names {len(texts)} rules; name at most {MOST_RULES}")
    return [Rule(tuple(_part(text, part) for part in text.split("+"))) for text in texts]


def _part(text: str, part: str) -> tuple[str, Form | None]:
    name, colon, step = (one.strip() for one in part.partition(":"))
    if not name or (colon and not step):
        raise InputError(f"blocking_rules: {quoted(text)} must be COLUMN or COLUMN:STEP, joined by +: name:soundex")
    try:
        return name, Form.of(step) if step else None
    except InputError as error:
        raise InputError(f"blocking_rules: {quoted(text)}: {str(error).removeprefix('forms: ')}") from None


def compared(comparisons: Iterable[str], rules: Sequence[Rule]) -> list[tuple[str, ...]]:
    """Return the columns of comparisons and rules, as keys of one column each.

    Args:
        comparisons: Names of the compared columns.
        rules: The blocking rules.
    """
    return [(name,) for name in dict.fromkeys([*comparisons, *(name for rule in rules for name, _ in rule.parts)])]


def m_probabilities(text: str) -> dict[str, float]:
    """Return the m probability of each level of a comparison. Raise InputError if a level has a match weight."""
    levels = [level.split(":") for level in text.partition("=")[2].split("+")]
    if any(len(level) != 3 for level in levels):
        raise InputError(f"comparisons: {quoted(text)} must give each level as LEVEL:M:U, such as exact:0.8:0.001")
    return {kind.strip(): float(m) for kind, m, _ in levels}


def comparisons_of(texts: Sequence[str]) -> dict[str, Comparison]:
    """Return the comparison of each column. Raise InputError if a text is no comparison."""
    if len(texts) > MOST_COMPARISONS:
        raise InputError(f"comparisons: names {len(texts)} columns; name at most {MOST_COMPARISONS}")
    found: dict[str, Comparison] = {}
    for text in texts:
        name, sign, levels = (part.strip() for part in text.partition("="))
        if not name or not sign:
            raise InputError(
                f"comparisons: {quoted(text)} must be COLUMN=LEVELS, such as name=exact:0.8:0.01+else:0.2:0.99"
            )
        if name in found:
            raise InputError(f"comparisons: {quoted(name)} has two comparisons; join their levels by +")
        found[name] = _comparison(name, [_level(name, level) for level in levels.split("+")])
    return found


def _comparison(name: str, levels: list[tuple[str, Level]]) -> Comparison:
    kinds, found = zip(*levels, strict=True)
    least = [Fraction(1) if level.least is None else level.least for level in found[:-1]]
    if kinds[-1] != "else" or "else" in kinds[:-1] or not 2 <= len(levels) <= MOST_LEVELS + 1:
        raise InputError(f"comparisons: {quoted(name)} needs one to {MOST_LEVELS} levels, and else as the last one")
    if any(after >= before for before, after in pairwise(least)):
        raise InputError(
            f"comparisons: {quoted(name)} must have its strictest level first: exact, dice@0.9, dice@0.7, else"
        )
    return Comparison(found[:-1], found[-1].weight)


def _level(name: str, text: str) -> tuple[str, Level]:
    kind, *parts = (part.strip() for part in text.split(":"))
    try:
        least = Fraction(kind.removeprefix("dice@")) if kind.startswith("dice@") else None
        numbers = [float(part) for part in parts]
        weight = match_weight(*numbers) if len(numbers) == 2 and max(numbers) <= 1 else float(*parts)
        is_level = kind in ("exact", "else") or (least is not None and 0 < least < 1 and least.denominator <= 100)
        if not (is_level and parts and abs(weight) <= MOST_WEIGHT):
            raise ValueError
    except (ValueError, TypeError, ZeroDivisionError):
        raise InputError(f"comparisons: {quoted(name)}: {quoted(text)} must be {LEVEL}") from None
    return kind, Level(least, round(UNIT * weight))


def linkage_of(settings: FuzzySettings, comparisons: Sequence[Comparison], rules: int) -> Linkage:
    """Return the terms of the protocol.

    Args:
        settings: Settings of the job.
        comparisons: The comparisons.
        rules: Number of blocking rules.

    Raises:
        InputError: The threshold cannot decide, or several rules are tried and not both parties learn their rows.
    """
    threshold = settings.threshold_match_weight
    least, most = (sum(of(one.weights) for one in comparisons) / UNIT for of in (min, max))
    if threshold is None or not least < round(threshold * UNIT) / UNIT <= most:
        raise InputError(
            f"threshold_match_weight: the comparisons give {least:g} to {most:g}; name a number above "
            f"{least:g}, and at most {most:g}"
        )
    if rules > 1 and settings.learns != "both":
        raise InputError("blocking_rules: several rules need learns = both; name one rule, or change this setting")
    bins = -(-settings.keys // settings.bin_rows)
    places = -(-(settings.listener_keys or settings.keys) // bins)
    both = places, -(-settings.keys // bins)
    return Linkage(bins, both, tuple(comparisons), round(threshold * UNIT), settings.learns, rules)
