"""Find one recoding for the rows of both parties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import override

from parties.base.text import listed
from parties.jobs.kind import Bits, Counted, Disclosure, Document, OnStep, State, States, Step, nothing_else_of_rows
from parties.jobs.publish.recoded import Recoded, RecodedSettings
from parties.jobs.settings import MostBytes, most_bytes_field, public
from parties.jobs.tabular import StoppingKind
from parties.tables.schema import Schema

if TYPE_CHECKING:
    from protocols.publish.problem import Problem
    from smc.counting import Program
    from smc.engines import Engine

TYPICAL_CLASSES = 1000  # classes assumed in an estimate, as the recoding is unknown
COUNTABLE = 1000  # maximum sum of values of the columns: counting such a run takes a few seconds
SHOWN = 20  # classes on a terminal


class JointSettings(RecodedSettings):
    """Settings of `smc publish joint`."""

    score: Literal["balance", "ncp"] = public(
        "balance",
        "Score",
        "How a class is cut: balance = into parts of similar size; ncp = least information loss (certainty penalty)",
        advanced=True,
    )
    most_bytes: MostBytes | None = most_bytes_field("the next level of classes")


class PublishJoint(Recoded, StoppingKind):
    """Find one recoding (coarser values) for the rows of both parties: each class of equal rows then has at least k
    rows.

    Both learn the recoding. First they learn whether all rows as one class satisfy the rules, and for each column
    whether the two tables have a value in common. Each party then recodes and writes its own rows with smc publish
    apply.
    """

    name = "publish joint"
    about = replace(Recoded.about, title="Joint recoding", example="--recode age,sex,zip --keep disease --k 10")
    Settings = JointSettings
    settings: JointSettings
    enlarged, smaller = "the recoding is", "raise --k"
    # Making a task.

    @classmethod
    @override
    def canonical(cls, settings: JointSettings, schema: Schema) -> PublishJoint:
        task = cls(*cls.ordered(settings, schema))
        task.problem  # noqa: B018 (its checks)
        return task

    @override
    def _problem(self) -> Problem:
        return replace(super()._problem(), score=self.settings.score)

    # Disclosure.

    @property
    @override
    def disclosure(self) -> Disclosure:
        from protocols.publish.openings import Asked, opened

        settings, domains = self.settings, self.problem.domains
        begun, of_class = 1 + len(self.columns), min(2, len(domains)) * (1 + sum(Asked(domains, (), ()).widths))
        classes = math.prod(domains)
        if settings.against == "public":
            classes = min(classes, 2 * settings.max_rows // (settings.k or 1))
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn one recoding of {listed(settings.recode or ())} for both tables' rows: "
                "the ranges of values of every class.",
                *nothing_else_of_rows(peer, settings.max_rows),
                *self.promises(peer),
            ],
            lambda state, step=None: opened(len(self.columns), state, step),
            # for each class: whether it is cut, in which column and where; before, whether any column can be cut
            Bits(
                lambda step: (0 if step.number else begun) + step.size * of_class,
                begun + max(1, 2 * classes - 1) * of_class,  # for the maximum classes of values or rows
            ),
            question=self.question,
        )

    # Cost.

    @cached_property
    @override
    def typical_cost(self) -> Counted:
        """Return the cost of a recoding with `TYPICAL_CLASSES` classes, or fewer if max_rows and k allow no more."""
        from protocols.publish import cost_model

        weight = 1
        if self.settings.against == "public" and self.problem.models.any:  # decided by circuits, edge by edge
            weight = 20 if self.settings.t < 1 or self.settings.diversity == "entropy" else 4
        return Counted(
            lambda engine: cost_model.with_classes(engine, self.problem, TYPICAL_CLASSES),
            "typical",
            f"a recoding with {TYPICAL_CLASSES:,} classes, or as many as the rows allow",
            lambda profile: cost_model.most_bytes(self.problem, profile),
            sum(self.problem.domains) * weight <= COUNTABLE,  # a measured limit
        )

    @override
    def with_recoding(self, path: Path) -> Program:
        from parties.jobs.publish import recoding
        from protocols.publish import cost_model

        cuts = recoding.cuts_in(path, self.schema, self.settings.recode or ())
        return lambda engine: cost_model.with_cuts(engine, self.problem, cuts)

    # Run.

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Run the search, and return the opened cuts. `data` are this party's distinct rows."""
        from protocols.publish.mondrian import Progress, mondrian

        watched = self.stopping(engine, on_step)

        def tell(now: Progress) -> None:
            classes = "class" if now.boxes == 1 else "classes"
            watched(Step(len(now.cuts), now.boxes, now.cuts, f"level {len(now.cuts)}: {now.boxes:,} {classes} to cut"))

        return mondrian(engine, self.problem, data, tell, start, self.columns)

    @property
    @override
    def states(self) -> States:
        """Checkpoints: the cuts, level by level. The last level cuts nothing."""
        from protocols.publish.cuts import decode, encode

        return States(
            (),
            len,
            lambda state: bool(state) and all(cut is None for cut in state[-1]),
            lambda state, steps: state[:steps],
            encode,
            lambda value: decode(value or ()),
        )

    # Result.

    @override
    def document(self, state: State) -> Document:
        from parties.jobs.publish import recoding
        from protocols.publish.cuts import encode

        boxes = recoding.boxes(state, self.schema, self.settings.recode or ())
        return recoding.document(self, {"cuts": encode(state)}, boxes=boxes)

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        from parties.jobs.publish import recoding

        columns = [name for name, about in document["columns"].items() if about["role"] == "quasi-identifier"]
        boxes: Sequence[Any] = document["boxes"]
        lines = [f"{len(boxes):,} classes, {recoding.promise(document)}"]
        for box in boxes[:SHOWN]:
            lines.append("  " + ", ".join(f"{name} {span['label']}" for name, span in zip(columns, box, strict=True)))
        if len(boxes) > SHOWN:
            lines.append(f"  and {len(boxes) - SHOWN:,} more")
        return "\n".join(lines) + "\n"
