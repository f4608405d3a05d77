"""Find one level of public hierarchies for each column."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from typing_extensions import override

from parties.base.settings import Count, LocalPath
from parties.base.text import listed, quoted
from parties.jobs.kind import Bits, Counted, Disclosure, Document, OnStep, State, States, Step, nothing_else_of_rows
from parties.jobs.publish.recoded import Recoded, RecodedSettings, recoded
from parties.jobs.settings import Columns, own_file, public
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.hierarchy import Hierarchy
    from protocols.publish.lattice import FullDomain
    from protocols.publish.lattice_search import Found, Node
    from smc.counting import Program
    from smc.engines import Engine

MAX_CLASSES = 1 << 14
COUNTABLE = 1 << 22  # maximum possible classes of all nodes: counting such a run takes a few seconds


class LatticeSettings(RecodedSettings):
    """Settings of `smc publish lattice`."""

    recode: Columns | None = recoded(unless="plan")
    plan: LocalPath | None = own_file("Plan", "Take hierarchies and columns from a plan, publish.toml.")
    rules: Annotated[str, Field(min_length=1, max_length=200_000)] | None = public(
        None,
        "Hierarchies",
        "Hierarchy of each column, fine to coarse, such as: age ranges 5 10 20; zip prefixes 4 "
        "3; sex tree m < *, f < *",
        none="every value of the column becomes *",
        joined="; ",
        examples=["age ranges 5 10 20; zip prefixes 4 3"],
    )
    max_suppressed_rows: Count = public(
        0, "Left out", "Maximum rows of both parties left out for k-anonymity, l-diversity (l) and t-closeness (t)"
    )
    max_classes: Annotated[int, Field(strict=True, ge=1, le=1 << 24)] = public(
        MAX_CLASSES,
        "Possible classes",
        "With against public: levels with more possible classes than this are not tried",
        advanced=True,
    )


class PublishLattice(Recoded):
    """Find one level of a public hierarchy (coarser values) for each column, so that each class of equal rows of both
    parties has k rows or more.

    Both learn the levels; with --against public also which classes have k rows. First they learn whether all rows
    as one class satisfy the rules, and for each column whether the two tables have a value in common. Each party then
    recodes and writes its own rows with smc publish apply.
    """

    name = "publish lattice"
    about = replace(
        Recoded.about,
        title="Joint levels",
        example="--plan publish.toml --k 10 --max-suppressed-rows 500",
        job_example="--recode age,zip --rules 'age ranges 5 10 20; zip prefixes 4 3' --k 10",
    )
    Settings = LatticeSettings
    settings: LatticeSettings
    # Making a task.

    @classmethod
    @override
    def planned(cls, settings: Any) -> PublishLattice:
        return super().planned(settings if settings.plan is None else _with_plan(settings, settings.plan))

    @classmethod
    @override
    def canonical(cls, settings: LatticeSettings, schema: Schema) -> PublishLattice:
        from parties.alone.publish import rule_text

        ordered, used = cls.ordered(settings, schema)
        rules = {} if ordered.rules is None else rule_text.parse(ordered.rules)
        if more := [name for name in rules if name not in ordered.recode]:
            raise InputError(f"rules: {quoted(more[0])} is not a column to recode; these are {listed(ordered.recode)}")
        values = used.attributes
        wanted = {}
        for name in ordered.recode:
            if name in rules:
                rule, hierarchy = rules[name], rule_text.made(name, rules[name], values[name])
                wanted[name] = rule_text.paths_of(hierarchy) if isinstance(rule, list) else rule
        task = cls(ordered.model_copy(update={"rules": rule_text.text_of(wanted)}), used)
        task.full_domain  # noqa: B018 (its checks)
        return task

    @cached_property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """Hierarchies of the columns to recode, cut to the schema's values."""
        from parties.alone.publish import rule_text
        from parties.alone.publish.rules import Rule

        rules = {} if self.settings.rules is None else rule_text.parse(self.settings.rules)
        return tuple(
            rule_text.made(name, rules.get(name, Rule()), self.schema.attributes[name])
            for name in self.settings.recode or ()
        )

    @cached_property
    def full_domain(self) -> FullDomain:
        """Public parameters of the search: columns and rules, the lattice of hierarchies, and the bound on suppressed
        rows."""
        from protocols.publish.lattice import FullDomain
        from protocols.publish.lattice_search import Lattice

        groups = tuple(tuple(tuple(map(int, level)) for level in h.groups) for h in self.hierarchies)
        most = self.settings.max_classes if self.settings.against == "public" else None
        return FullDomain(self.problem, Lattice(groups, most), self.settings.max_suppressed_rows)

    # Disclosure.

    @property
    @override
    def disclosure(self) -> Disclosure:
        from protocols.publish.lattice_search import opened

        return Disclosure(
            self._reveals,
            lambda state, step=None: opened(len(self.columns), state, step),
            Bits(self._bits_of_step, self._bits_at_most),
            question=self.question,
        )

    def _reveals(self, peer: str) -> list[str]:
        columns = listed(self.settings.recode or ())
        sentences = [
            f"We and {peer} both learn one level of the public hierarchies of {columns} for both tables' rows: the "
            f"first of the lowest at which at most {self.settings.max_suppressed_rows:,} rows must be left out."
        ]
        if self.settings.against == "public":
            sentences.append(
                f"Both learn which classes have {self.settings.k:,} rows there; the rows of others are left out."
            )
        return [*sentences, *nothing_else_of_rows(peer, self.settings.max_rows), *self.promises(peer)]

    def _bits_of_step(self, step: Step) -> int:
        if step.state.node is not None:
            return self.full_domain.lattice.possible(step.state.node)
        begun = 0 if step.number else 1 + len(self.columns)
        return begun + max(1, (step.size - 1).bit_length())

    @cached_property
    def _bits_at_most(self) -> int:
        """Return the maximum bits of a binary search over heights and of the chosen levels."""
        lattice = self.full_domain.lattice
        heights = [nodes for nodes in lattice.heights if nodes]
        answers = (len(lattice.heights) - 1).bit_length()
        index = max(1, *((len(nodes) - 1).bit_length() for nodes in heights))
        public = self.settings.against == "public"
        classes = max(lattice.possible(node) for nodes in heights for node in nodes) if public else 0
        return 1 + len(self.columns) + (answers + 1) * index + classes

    # Cost.

    @cached_property
    @override
    def typical_cost(self) -> Counted:
        from protocols.publish import cost_model

        lattice = self.full_domain.lattice
        return Counted(
            lambda engine: cost_model.with_node(engine, self.full_domain, cost_model.costliest(lattice)),
            "typical",
            "the levels that take most to find",
            lambda profile: cost_model.most_bytes_of_levels(self.full_domain, profile),
            lattice.most is None or sum(map(lattice.possible, chain(*lattice.heights))) <= COUNTABLE,
        )

    @override
    def with_recoding(self, path: Path) -> Program:
        from protocols.publish import cost_model

        node = self._node_in(path)
        return lambda engine: cost_model.with_node(engine, self.full_domain, node)

    def _node_in(self, path: Path) -> Node:
        from parties.jobs.publish.recoding import joint_in

        try:
            joint = joint_in(path, self.schema, self.settings.recode or (), "lattice")
            state = self.states.decode(joint["found"])
            if state.node not in self.full_domain.lattice.heights[sum(state.node or ())]:
                raise InputError(
                    f"{path}: the recoding is for other hierarchies than these; "
                    "give the recoding of an earlier run with these"
                )
        except (KeyError, TypeError, ValueError, IndexError):
            raise InputError(f"{path}: not a recoding that smc publish lattice wrote; give one") from None
        node: Node = state.node
        return node

    # Run.

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Run the search, and return its final state. `data` are this party's distinct rows."""
        from protocols.publish.lattice import Asking, levels
        from protocols.publish.lattice_search import bounds

        def tell(now: Asking) -> None:
            low, high = bounds(self.full_domain.lattice, now.search)
            words = f"height {low} to {high}: {now.nodes:,} nodes" if now.search.node is None else "published classes"
            on_step(Step(now.search.steps, now.nodes, now.search, words))

        return levels(engine, self.full_domain, data, tell, start, self.columns)

    @property
    @override
    def states(self) -> States:
        """Checkpoints: the answers, then the levels, then which classes are published."""
        from protocols.publish.lattice_search import NOTHING, decode, encode

        return States(
            NOTHING,
            lambda state: state.steps,
            lambda state: (state.node if self.settings.against == "peer" else state.published) is not None,
            lambda state, steps: state.first(steps),
            lambda state: encode(state) if state.steps else None,
            lambda value: NOTHING if value is None else decode(value),
        )

    # Result.

    @override
    def document(self, state: Found) -> Document:
        from parties.alone.publish.rule_text import paths_of
        from parties.jobs.publish import recoding

        assert state.node is not None
        paths = {h.column: paths_of(h) for h in self.hierarchies}
        about = {"levels": list(state.node), "found": self.states.encode(state)}
        if state.published is None:
            return recoding.document(self, about, levels=state.node, paths=paths, max_left_out=1.0)
        boxes = recoding.published_boxes(self.hierarchies, state.node, state.published)
        return recoding.document(self, about, boxes=boxes, paths=paths, max_left_out=1.0)

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        from parties.jobs.publish.recoding import promise

        joint = document["joint"]
        heights = [
            len(about["paths"][0]) - 1 for about in document["columns"].values() if about["role"] == "quasi-identifier"
        ]
        lines = [f"classes at these levels, {promise(document)}; rows of others are left out"]
        for name, level, height in zip(document["columns"], joint["levels"], heights, strict=False):
            example = document["columns"][name]["paths"][0]
            words = "as it is" if level == 0 else f"{example[0]} becomes {example[level]}"
            lines.append(f"  {name}: level {level} of {height} ({words})")
        if document["boxes"] is not None:
            possible = len(joint["found"]["published"])
            lines.append(f"{len(document['boxes']):,} classes of {possible:,} possible ones are published")
        return "\n".join(lines) + "\n"


def _with_plan(settings: LatticeSettings, path: Path) -> LatticeSettings:
    from parties.alone.publish import rule_text
    from parties.alone.publish.rules import Rule
    from parties.alone.publish.settings import read

    plan = read(path)
    recode = settings.recode or tuple(plan.named("quasi-identifier")) or None
    rules = {} if settings.rules is None else rule_text.parse(settings.rules)
    for name in recode or ():
        column = plan.columns.get(name)
        if name not in rules and column is not None and any(getattr(column, key) for key in Rule.model_fields):
            rules[name] = rule_text.plain(column)
    sensitive, keep = settings.sensitive, settings.keep
    asks = settings.l > 1 or settings.t < 1
    named = plan.named("sensitive")
    if sensitive is None and asks and len(named) == 1:
        sensitive = named[0]
    if keep is None:
        keep = tuple(name for name in (*plan.named("other"), *named) if name != sensitive) or None
    update = {"recode": recode, "keep": keep, "sensitive": sensitive, "rules": rule_text.text_of(rules)}
    return settings.model_copy(update=update)
