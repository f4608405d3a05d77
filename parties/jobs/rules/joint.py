"""Association rules of both parties' rows: what exact ones and those with noise have in common."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.base.text import listed, quoted, visible
from parties.jobs.kind import Document, File, KindSettings
from parties.jobs.release import presenting
from parties.jobs.rules.drawing import draw_svg
from parties.jobs.rules.settings import RulesSettings
from parties.jobs.spending import KEPT_BY_NODES, exact
from parties.jobs.tabular import BySchema
from parties.jobs.tabular_settings import check_names
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols import association
    from protocols.counts import Rows

Items = tuple[int, ...]


class RulesOfBoth(BySchema):
    """Which values go together, and which rules follow, in the rows of both parties?"""

    name, title, noun, Settings = "rules", "Association rules", "rules", RulesSettings
    example = "--data mine.csv --schema schema.toml --support 0.1 --confidence 0.8 --config party.toml"
    estimate_example = "--schema schema.toml "
    afterwards = "The rules are public to both: each party applies them to its own rows."
    settings: RulesSettings
    streamed = True

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> RulesOfBoth:
        names = settings.columns or tuple(schema.attributes)
        check_names("columns", names, schema.attributes)
        if len(names) < 2:
            raise InputError("columns: rules are of two columns at least")
        if unclear := [name for name in names if "=" in name]:
            raise InputError(f"columns: {quoted(unclear[0])} has a =, and rules say column=value: give it another name")
        used = schema.only([name for name in schema.attributes if name in names])
        task = cls.of(settings.model_copy(update={"columns": tuple(used.attributes)}), used)
        task.check()
        return task

    @classmethod
    def of(cls, settings: RulesSettings, schema: Schema) -> RulesOfBoth:
        """Return the task of these settings."""
        return cls(settings, schema)

    def check(self) -> None:
        """`InputError` if the settings make no sense together."""
        _ = self.problem

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[RulesOfBoth, Any, list[str]]:
        """See `Kind.alone`: a word of what it spends."""
        task, data, remarks = super().alone(settings, party)
        return task, data, [*remarks, *([KEPT_BY_NODES] if task.spends else [])]

    @cached_property
    def items(self) -> tuple[tuple[str, str], ...]:
        """The column and value of every item."""
        return tuple((name, value) for name, values in self.schema.attributes.items() for value in values)

    @property
    def pairs(self) -> int:
        """How many pairs of values of different columns there are."""
        sizes = [len(values) for values in self.schema.attributes.values()]
        return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2

    @cached_property
    def sets(self) -> list[int]:
        """How many sets of one item there are, of two, and so on to the longest."""
        ways = [1, *[0] * self.problem.max_length]
        for values in self.schema.attributes.values():
            ways = [1, *(more + len(values) * fewer for fewer, more in pairwise(ways))]
        return ways[1:]

    @cached_property
    def problem(self) -> association.Problem:
        """What the protocol is asked."""
        from protocols.association import Problem

        settings = self.settings
        columns = tuple(place for place, values in enumerate(self.schema.attributes.values()) for _ in values)
        return Problem(
            columns, settings.max_rows, exact(settings.support), settings.k * settings.together,
            exact(settings.confidence), exact(settings.lift), min(settings.max_length, len(self.schema.attributes)),
            settings.most,
        )  # fmt: skip

    # What is said of it.

    @property
    @override
    def question(self) -> str:
        return f"which values of {listed(self.columns)} go together in the rows of both tables, and which rules follow"

    # How it is run.

    @override
    def own_rows(self, source: Rows) -> Any:
        """See `BySchema.own_rows`: what counts the rows with all items of each set, and how many there are."""
        from protocols.association import counted

        order = [*self.schema.features(self.target), self.target]
        values = [len(self.schema.attributes[name]) for name in order]
        places = np.array(
            [(order.index(name), at) for name, domain in self.schema.attributes.items() for at in range(len(domain))]
        )

        def count(sets: Sequence[tuple[int, ...]]) -> Any:
            return counted(source.batches(), values, places, sets)

        return count, sum(int(piece[:, -1].sum()) for piece in source.batches())

    # What it brings.

    def named(self, items: Sequence[int]) -> list[str]:
        """Return items as results have them."""
        return [f"{column}={value}" for column, value in (self.items[item] for item in items)]

    @property
    def about(self) -> Document:
        """What was asked, for a result."""
        about = {name: getattr(self.settings, name) for name in ("support", "confidence", "lift", "k", "show")}
        return about if self.at_most is None else about | {"at_most": self.at_most}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        lines = [_sentence(rule) for rule in document["rules"]]
        about = f"{len(document['sets']):,} frequent sets, {document['of']:,} rules"
        if document["of"] != len(document["rules"]):
            about += f", {len(document['rules']):,} of them {document['show']}"
        about += f" (support {document['support']:g}, confidence {document['confidence']:g}, lift {document['lift']:g})"
        noise = []
        if "rows" in document:
            rows = (presenting.amount(document["rows"][name]) for name in ("value", "low", "high"))
            noise = ["all rows: {} ({} to {})".format(*rows), *presenting.about(document)]
        return "\n".join([*lines, about, *map(presenting.shown, noise)]) + "\n"

    @classmethod
    @override
    def picture(cls, document: Document) -> str | None:
        return draw_svg(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        drawn = File("rules.svg", "image/svg+xml", lambda result: draw_svg(result), "svg")
        return (*super().files(), drawn)


def _sentence(rule: Document) -> str:
    sentence = f"if {visible(' and '.join(rule['if']))} then {visible(' and '.join(rule['then']))}"
    if "confidence" in rule:
        sentence += f" (support {rule['support']:.3g}, confidence {rule['confidence']:.3g}, lift {rule['lift']:.3g})"
    return sentence


def shown(
    sets: Sequence[tuple[int, ...]], rules: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], which: str
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return some of the rules; nothing but what is opened decides on it.

    "maximal": of sets that no frequent set contains. "non-redundant": no rule with fewer conditions says the same or
    more. (Whether a set is closed would tell of equal counts, which are not opened.)
    """
    ordered = sorted(rules, key=lambda rule: (len(rule[0]), -len(rule[1]), rule))
    if which == "all":
        return ordered
    everything = [frozenset(items) for items in sets]
    if which == "maximal":
        maximal = {items for items in everything if not any(items < other for other in everything)}
        return [rule for rule in ordered if frozenset((*rule[0], *rule[1])) in maximal]
    wider: list[tuple[frozenset[int], frozenset[int]]] = []
    result = []
    for items_if, then in ordered:
        wide = frozenset(items_if), frozenset(then)
        if not any(a <= wide[0] and wide[1] <= b for a, b in wider):
            wider.append(wide)
            result.append((items_if, then))
    return result
