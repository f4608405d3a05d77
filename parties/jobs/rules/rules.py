"""Which values go together in the rows of both parties? Frequent sets and association rules, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.settings import LocalPath
from parties.base.text import listed, quoted, visible
from parties.jobs.inputs import Inputs
from parties.jobs.kind import Document, Estimate, File, OnStep, State, Step
from parties.jobs.rules.drawing import draw_svg
from parties.jobs.sentences import nothing_else_of_rows
from parties.jobs.settings import ManyGatesSettings, output, public
from parties.jobs.spending import exact
from parties.jobs.tabular import BySchema
from parties.jobs.tabular_settings import Columns, RowBound, TabularSettings, check_names, of_people, row_bound
from parties.sources.settings import AtMost
from parties.tables.schema import Schema
from smc.errors import InputError, JointRefusalError

if TYPE_CHECKING:
    from protocols import association
    from protocols.counts import Rows
    from smc.counting import Program
    from smc.engines import Engine

Share = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]


class RulesSettings(ManyGatesSettings, TabularSettings):
    """`smc rules`."""

    columns: Columns | None = public(
        None, "Columns", "The columns whose values may stand in rules", none="all of the schema", column=True
    )
    support: Share = public(0.1, "Support", "A set of values is frequent if this share of all rows has all of them")
    confidence: Share = public(0.8, "Confidence", "A rule holds if this share of the rows that it speaks of agrees")
    lift: Annotated[float, Field(strict=True, ge=0, le=1000, allow_inf_nan=False)] = public(
        1.0, "Lift", "And if they agree so many times as often as all rows do; 0 for any"
    )
    max_length: Annotated[int, Field(strict=True, ge=2, le=8)] = public(4, "Longest", "Of so many values at most")
    k: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = public(
        5, "Least rows", "A set of values that fewer rows have is never told"
    )
    show: Literal["non-redundant", "maximal", "all"] = public(
        "non-redundant",
        "Shown",
        "Rules that a shorter one does not say already, or those of maximal sets, or all",
    )
    max_rows: RowBound = row_bound()
    at_most: AtMost | None = of_people()
    svg: LocalPath | None = output("Draw the rules as a graph.")


@dataclass(frozen=True)
class Found:
    """What is decided: which bound of a set is the larger, the frequent sets of each length, in the end the rules."""

    by_support: bool | None = None
    levels: tuple[tuple[tuple[int, ...], ...], ...] = ()
    rules: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] | None = None


class AssociationRules(BySchema):
    """Which values go together, and which rules follow, in the rows of both parties? Both learn the rules, no numbers.

    Which sets of values are frequent, and which rules hold, is decided in secret, length by length (Apriori).
    """

    name, title, noun, Settings = "rules", "Association rules", "rules", RulesSettings
    example = "--data mine.csv --schema schema.toml --support 0.1 --confidence 0.8 --config party.toml"
    estimate_example = "--schema schema.toml "
    afterwards = "The rules are public to both: each party applies them to its own rows."
    settings: RulesSettings
    streamed = True

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> AssociationRules:
        names = settings.columns or tuple(schema.attributes)
        check_names("columns", names, schema.attributes)
        if len(names) < 2:
            raise InputError("columns: rules are of two columns at least")
        if unclear := [name for name in names if "=" in name]:
            raise InputError(f"columns: {quoted(unclear[0])} has a =, and rules say column=value: give it another name")
        used = schema.only([name for name in schema.attributes if name in names])
        task = cls(settings.model_copy(update={"columns": tuple(used.attributes)}), used)
        from protocols.association import MOST_CANDIDATES

        pairs = task.pairs
        _ = task.problem  # refused here if it makes no sense
        if pairs > MOST_CANDIDATES:
            most = f"at most {MOST_CANDIDATES:,} are decided"
            raise InputError(f"columns: their values make {pairs:,} pairs, {most}: name fewer columns")
        return task

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
    def problem(self) -> association.Problem:
        """What the protocol is asked."""
        from protocols.association import Problem

        settings = self.settings
        columns = tuple(place for place, values in enumerate(self.schema.attributes.values()) for _ in values)
        return Problem(
            columns, settings.max_rows, exact(settings.support), settings.k, exact(settings.confidence),
            exact(settings.lift), min(settings.max_length, len(self.schema.attributes)),
        )  # fmt: skip

    # What is said of it.

    @property
    @override
    def question(self) -> str:
        return f"which values of {listed(self.columns)} go together in the rows of both tables, and which rules follow"

    @override
    def reveals(self, peer: str) -> list[str]:
        settings = self.settings
        return [
            f"We and {peer} both learn which sets of at most {self.problem.max_length} values at least "
            f"{settings.support:.3g} of all rows of both have, and at least {settings.k:,} rows (first whether that "
            f"share is {settings.k:,} rows), and which rules "
            f"of them hold with a confidence of {settings.confidence:.3g}"
            + (f" and a lift of {settings.lift:g}." if settings.lift else "."),
            "No number of rows is told. A rule of confidence 1 says that no row of either is an exception.",
            *nothing_else_of_rows(peer, settings.max_rows),
        ]

    @override
    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        """See `Kind.opened`: a bit for each candidate, and first which bound is the larger."""
        steps = range(self.steps(state)) if step is None else [step]
        return {"decision": sum(len(self._asked(self.cut(state, at))) + (at == 0) for at in steps)}

    @override
    def bits(self, step: Step) -> int:
        """See `Kind.bits`: a bit for each candidate."""
        return step.size + (step.number == 0)

    def _asked(self, state: Found) -> Sequence[Any]:
        """Return the candidates of the step that begins at this state."""
        from protocols.association import rules_of

        return self.problem.candidates(state.levels) or rules_of(state.levels)

    # What it costs.

    @override
    def program(self, inputs: Inputs) -> Program:
        """See `Kind.program`: all values frequent, no pair, no rules."""
        from protocols.association import by_support, frequent

        def conversation(engine: Engine) -> None:
            singles = self.problem.candidates(())
            pairs = self.problem.candidates((tuple(singles),))
            for candidates in (singles, pairs):
                with engine.session.phase(f"sets of {len(candidates[0])}"):
                    if candidates is singles:
                        by_support(engine, self.problem, 0)
                    frequent(engine, self.problem, candidates, np.zeros(len(candidates), dtype=np.int64), 0)

        return conversation

    @property
    @override
    def estimate(self) -> Estimate:
        return "typical"

    @property
    @override
    def assumed(self) -> str:
        return f"{len(self.items):,} frequent values and their {self.pairs:,} pairs, none of them frequent"

    @property
    @override
    def is_countable(self) -> bool:
        return self.pairs <= 1 << 18

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

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`; `data` is what `own_rows` returns."""
        from protocols import association

        count, rows = data
        state: Found = start
        while not self.is_done(state):
            try:
                candidates = self.problem.candidates(state.levels)
            except InputError as error:  # both know: the candidates follow from what is opened
                raise JointRefusalError(str(error)) from None
            if candidates:
                length = len(state.levels) + 1
                on_step(Step(self.steps(state), len(candidates), state, f"{len(candidates):,} sets of {length}"))
                with engine.session.phase(f"sets of {length}"):
                    if state.by_support is None:
                        state = replace(state, by_support=association.by_support(engine, self.problem, rows))
                    compared = rows if state.by_support else None
                    level = association.frequent(engine, self.problem, candidates, count(candidates), compared)
                state = replace(state, levels=(*state.levels, tuple(level)))
                continue
            rules = association.rules_of(state.levels)
            on_step(Step(self.steps(state), len(rules), state, f"{len(rules):,} rules"))
            with engine.session.phase("rules"):
                held = association.holding(engine, self.problem, rules, count, rows) if rules else []
            state = replace(state, rules=tuple(held))
        return state

    # Its states.

    @property
    @override
    def beginning(self) -> State:
        return Found()

    @override
    def steps(self, state: Found) -> int:
        return len(state.levels) + (state.rules is not None)

    @override
    def is_done(self, state: Found) -> bool:
        return state.rules is not None

    @override
    def cut(self, state: Found, steps: int) -> State:
        if steps > len(state.levels):
            return state
        return Found(state.by_support, state.levels[:steps]) if steps else Found()

    @override
    def encode(self, state: Found) -> Any:
        if not self.steps(state):
            return None
        return {"by_support": state.by_support, "levels": state.levels, "rules": state.rules}

    @override
    def decode(self, value: Any) -> State:
        if value is None:
            return Found()
        levels = tuple(tuple(tuple(items) for items in level) for level in value["levels"])
        rules = value["rules"]
        return Found(
            value["by_support"], levels, None if rules is None else tuple((tuple(a), tuple(b)) for a, b in rules)
        )

    # What it brings.

    @override
    def document(self, state: Found) -> Document:
        words = [f"{column}={value}" for column, value in self.items]

        def told(items: Sequence[int]) -> list[str]:
            return [words[item] for item in items]

        sets = [items for level in state.levels for items in level]
        rules = shown(sets, state.rules or (), self.settings.show)
        settings = self.settings
        return {
            "sets": [told(items) for items in sets],
            "rules": [{"if": told(items_if), "then": told(then)} for items_if, then in rules],
            "of": len(state.rules or ()),
            **{name: getattr(settings, name) for name in ("support", "confidence", "lift", "k", "show")},
            **({} if self.at_most is None else {"at_most": self.at_most}),
        }

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        lines = [
            f"if {visible(' and '.join(rule['if']))} then {visible(' and '.join(rule['then']))}"
            for rule in document["rules"]
        ]
        about = f"{len(document['sets']):,} frequent sets, {document['of']:,} rules"
        if document["of"] != len(document["rules"]):
            about += f", {len(document['rules']):,} of them {document['show']}"
        about += f" (support {document['support']:g}, confidence {document['confidence']:g}, lift {document['lift']:g})"
        return "\n".join([*lines, about]) + "\n"

    @classmethod
    @override
    def picture(cls, document: Document) -> str | None:
        return draw_svg(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        drawn = File("rules.svg", "image/svg+xml", lambda result: draw_svg(result), "svg")
        return (*super().files(), drawn)


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
