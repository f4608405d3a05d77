"""Base class of association rules of both parties' rows, exact or with noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.base.text import listed, quoted, visible
from parties.jobs.kind import SVG, Description, Document, File, exact
from parties.jobs.release import presenting
from parties.jobs.release.missing_values import LEAVE_OUT, missing_clause, missing_fields, with_gaps
from parties.jobs.rules.drawing import draw_svg
from parties.jobs.rules.settings import RulesSettings
from parties.jobs.settings import check_names
from parties.jobs.tabular import BySchema
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from protocols import association
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.joint_counts import JointCounts
    from smc.counting import CountingEngine

Items = tuple[int, ...]


class OwnSets:
    """Counts how many own rows, or baskets, have all items of a set; a source as in `protocols.shares.Sums`."""

    def __init__(self, count: Callable[[Sequence[Items]], Numbers], total: Callable[[], int]) -> None:
        """Store two functions: own row counts of sets, int64[sets], and the number of all own rows (or baskets)."""
        self._count, self._total = count, total

    def sums(self, question: list[Any]) -> Numbers:
        """Return own row counts of sets of items; the question [] asks for the number of all own rows."""
        sets = [tuple(items) for items in question]
        if not sets:
            return np.array([self._total()], dtype=np.int64)
        if not all(items and min(items) >= 0 for items in sets):
            raise ValueError("a set has no item, or an item that the job does not have")
        return self._count(sets)


class SetsApart(OwnSets):
    """Shares of the joint numbers of sets of items, of rows whose columns lie apart."""

    def __init__(self, source: JointCounts, items: Sequence[tuple[int, NDArray[np.bool_]]]) -> None:
        """Store the source, and for each item the number of its column and whether each value is the item."""
        self.source = source
        super().__init__(
            lambda sets: source.sums([dict(items[item] for item in items_of) for items_of in sets])[:, 0],
            lambda: int(source.sums([{}])[0, 0]),
        )


class RulesOfBoth(BySchema):
    """Association rules of both parties' rows: values that occur together, and rules that follow."""

    name, Settings = "rules", RulesSettings
    about = Description(
        "Association rules",
        "rules",
        example="--support 0.1 --confidence 0.8",
        afterwards="The rules are public to both: each party applies them to its own rows.",
    )
    settings: RulesSettings
    runs_alone = True
    takes_holders = True

    @property
    @override
    def streamed(self) -> bool:
        return not self.is_grouped

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> RulesOfBoth:
        names = settings.columns or tuple(schema.attributes)
        check_names("columns", names, schema.attributes)
        if (key := settings.transaction) in schema.attributes:
            raise InputError(f"transaction: {quoted(key)} is an attribute of the schema: give it the type key there")
        if key is None and len(names) < 2:
            raise InputError("columns: name at least two, or give --transaction for baskets")
        if unclear := [name for name in names if "=" in name]:
            raise InputError(
                f"columns: {quoted(unclear[0])} has an = in its name, which rules use as column=value; "
                f"rename the column"
            )
        used_schema = schema.only([name for name in schema.attributes if name in names])
        task = cls.of(settings.model_copy(update={"columns": tuple(used_schema.attributes)}), used_schema)
        task.check()
        if task.apart is not None:
            task.check_apart()
            if key is not None:
                raise InputError(f"transaction cannot be combined with {task.apart_setting}; remove one of them")
        return task

    @classmethod
    def of(cls, settings: RulesSettings, schema: Schema) -> RulesOfBoth:
        """Return the task of these settings.

        Args:
            settings: Complete settings.
            schema: The agreed schema.
        """
        return cls(settings, schema)

    def check(self) -> None:
        """Raise InputError if the settings are inconsistent."""
        _ = self.problem

    @cached_property
    def items(self) -> tuple[tuple[str, str], ...]:
        """Column and value of every item."""
        return tuple(pair for pair in self._pairs if self._is_item(pair[1]))

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        return [(name, value) for name, values in self.schema.attributes.items() for value in values]

    def _is_item(self, value: str) -> bool:
        return value != MISSING or self.settings.missing != LEAVE_OUT

    @property
    def with_gaps(self) -> tuple[str, ...]:
        """The columns that list a missing value in the schema."""
        return with_gaps(self.schema, [*self.schema.attributes])

    @property
    def exclusive(self) -> list[int]:
        """Sizes of the runs of items that exclude each other: the items of a column, or one item in baskets."""
        sizes = [sum(map(self._is_item, values)) for values in self.schema.attributes.values()]
        return sizes if self.settings.transaction is None else [1] * sum(sizes)

    @property
    def things(self) -> str:
        """Name of the counted things, for sentences."""
        return "rows" if self.settings.transaction is None else "baskets"

    @property
    def pairs(self) -> int:
        """Number of pairs of values that can occur together."""
        sizes = self.exclusive
        return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2

    @cached_property
    def sets(self) -> list[int]:
        """Number of sets of one item, of two, and so on up to the longest."""
        from protocols.association_costs import sets

        return sets(self.problem)

    @cached_property
    def problem(self) -> association.Problem:
        """Public parameters of the search for rules, on which both parties must agree."""
        from protocols.association import Problem

        settings = self.settings
        columns = tuple(place for place, size in enumerate(self.exclusive) for _ in range(size))
        return Problem(
            columns, self.rows_each, exact(settings.support), settings.k * settings.together,
            exact(settings.confidence), exact(settings.lift), min(settings.max_length, len(self.exclusive)),
            settings.most,
        )  # fmt: skip

    # Description.

    @property
    def question(self) -> str:
        """Question of the disclosure, a phrase."""
        where = "rows" if self.settings.transaction is None else f"baskets by {self.settings.transaction}"
        gaps, values = missing_clause(self.settings.missing, self.with_gaps), listed(self.columns)
        return f"which values of {values} go together in the {where} of both tables, and which rules follow{gaps}"

    def count_sets(self, engine: CountingEngine, numbers: Iterable[int]) -> None:
        """Count the messages by which sets are counted if columns lie apart.

        Args:
            engine: The engine that counts.
            numbers: Number of sets that each step counts.
        """
        if (own := self.sent_counts(engine)) is not None:
            for number in filter(None, numbers):
                own.source.distinct_boxes(number, self.problem.max_length)

    # Execution.

    @override
    def own_rows(self, source: Any) -> Any:
        """Return the `OwnSets` of this party's rows, or of its baskets if the settings name a `transaction`."""
        from protocols.association import counted
        from protocols.baskets import Baskets

        order = [*self.schema.features(self.target), self.target]
        if self.apart is not None:
            attributes = self.schema.attributes
            return SetsApart(
                source, [(order.index(name), np.array(attributes[name]) == value) for name, value in self.items]
            )
        if (key := self.settings.transaction) is not None:
            lines = source.baskets(key)[:, [0, *(1 + order.index(name) for name in self.schema.attributes)]]
            baskets = Baskets.of(lines, [len(domain) for domain in self.schema.attributes.values()])
            full = [number for number, (_, value) in enumerate(self._pairs) if self._is_item(value)]
            return OwnSets(
                lambda sets: baskets.count([tuple(full[i] for i in items) for items in sets]), lambda: baskets.number
            )
        values = [len(self.schema.attributes[name]) for name in order]
        places = np.array(
            [
                (order.index(name), at)
                for name, domain in self.schema.attributes.items()
                for at, value in enumerate(domain)
                if self._is_item(value)
            ]
        )
        return OwnSets(
            lambda sets: counted(source.batches(), values, places, sets),
            lambda: sum(int(piece[:, -1].sum()) for piece in source.batches()),
        )

    @override
    def of_nobody(self) -> OwnSets:
        return OwnSets(lambda sets: np.zeros(len(sets), dtype=np.int64), lambda: 0)

    @property
    @override
    def is_grouped(self) -> bool:
        return self.settings.transaction is not None

    @property
    @override
    def columns_read(self) -> tuple[str, ...]:
        key = self.settings.transaction
        return self.columns if key is None else (*self.columns, key)

    @override
    def fingerprint(self, source: Any, data: Any) -> Callable[[bytes], bytes]:
        if (key := self.settings.transaction) is None:
            return super().fingerprint(source, data)
        return partial(source.fingerprint_of_baskets, key)

    # Results.

    def named(self, items: Sequence[int]) -> list[str]:
        """Return items as texts `column=value`."""
        return [f"{column}={value}" for column, value in (self.items[item] for item in items)]

    @property
    def question_settings(self) -> Document:
        """Settings of the question, for a result."""
        names = ("transaction", "support", "confidence", "lift", "k", "show", "at_most")
        asked = {name: value for name in names if (value := getattr(self.settings, name)) is not None}
        return asked | missing_fields(self.settings.missing, self.with_gaps)

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        lines = [
            f"{presenting.amount(count['value'])} ({presenting.amount(count['low'])} to "
            f"{presenting.amount(count['high'])}): {visible(' and '.join(items))}"
            for items, count in zip(document["sets"], document.get("counts", ()), strict=False)
        ]  # counts of noisy rules, in the order of the choice
        lines += [_sentence(rule) for rule in document["rules"]]
        summary = f"{len(document['sets']):,} frequent sets, {document['of']:,} rules"
        if document["of"] != len(document["rules"]):
            summary += f", {len(document['rules']):,} of them {document['show']}"
        summary += (
            f" (support {document['support']:g}, confidence {document['confidence']:g}, lift {document['lift']:g})"
        )
        summary += missing_clause(document.get("missing", LEAVE_OUT), document.get("with_gaps", ()))
        noise = []
        if "rows" in document:
            rows = [presenting.amount(document["rows"][name]) for name in ("value", "low", "high")]
            things = "baskets" if "transaction" in document else "rows"
            noise = [f"all {things}: {rows[0]} ({rows[1]} to {rows[2]})", *presenting.about(document)]
        return "\n".join([*lines, summary, *map(presenting.shown, noise)]) + "\n"

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        return (*super().files(), File("rules.svg", SVG, draw_svg, "svg"))


def _sentence(rule: Document) -> str:
    sentence = f"if {visible(' and '.join(rule['if']))} then {visible(' and '.join(rule['then']))}"
    if "confidence" in rule:
        sentence += f" (support {rule['support']:.3g}, confidence {rule['confidence']:.3g}, lift {rule['lift']:.3g})"
    return sentence


def shown(
    sets: Sequence[tuple[int, ...]], rules: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], which: str
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the rules to show; the selection depends on opened values only.

    Args:
        sets: The frequent sets.
        rules: The rules that hold, as conditions and consequences.
        which: "maximal" for rules of sets that no other frequent set contains; "non-redundant" for rules that no other
            implies by having at most their conditions and at least their consequences; "all" for all rules. Closed sets
            are not offered, since they would reveal equal counts.
    """
    ordered = sorted(rules, key=lambda rule: (len(rule[0]), -len(rule[1]), rule))
    if which == "all":
        return ordered
    all_sets = [frozenset(items) for items in sets]
    if which == "maximal":
        maximal = {items for items in all_sets if not any(items < other for other in all_sets)}
        return [rule for rule in ordered if frozenset((*rule[0], *rule[1])) in maximal]
    wider: list[tuple[frozenset[int], frozenset[int]]] = []
    result = []
    for items_if, then in ordered:
        candidate = frozenset(items_if), frozenset(then)
        if not any(a <= candidate[0] and candidate[1] <= b for a, b in wider):
            wider.append(candidate)
            result.append((items_if, then))
    return result
