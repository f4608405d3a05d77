"""Find the class that most rows have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from typing_extensions import override

from parties.base.settings import AtMost, merge
from parties.base.text import listed, quoted
from parties.jobs.kind import (
    Bits,
    Description,
    Disclosure,
    Document,
    Inputs,
    KindSettings,
    OnStep,
    Opened,
    State,
    Step,
    nothing_else,
    typed_value,
)
from parties.jobs.settings import BooleanSettings, of_people, private, public
from parties.jobs.small.amounts import Batched, BatchExtra
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.counting import Program
    from smc.engines import Engine

Classes = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(min_length=1, max_length=4096)
]


class MajoritySettings(BooleanSettings):
    """Settings of `smc majority`."""

    counts: str | None = private(
        "Counts", "Your count of each class, separated by commas", metavar="N,N,...", unless="table"
    )
    classes: Classes | None = public(
        None,
        "Classes",
        "Classes in order, separated by commas",
        none="required without a table; else the classes of its target",
    )
    target: str | None = public(
        None, "Target", "Column whose values are counted", none="target in the schema", node=True, column=True
    )
    bits: Annotated[int, Field(strict=True, ge=1, le=62)] = public(
        32, "Width in bits", "Number of bits of each count, public. 32 bits hold counts up to 4,294,967,295"
    )
    at_most: AtMost | None = of_people(node=True)


class Majority(Batched):
    """Find the class that most rows of both parties have. Both learn the class, and nothing else. Among equal
    classes the first wins.
    """

    name = "majority"
    about = Description("Majority", example="--classes yes,no --counts -", extra=BatchExtra)
    Settings = MajoritySettings
    settings: MajoritySettings

    @classmethod
    @override
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> Majority:
        """Use the classes of the table's column, unless the settings give classes without a target."""
        assert isinstance(settings, MajoritySettings)
        if inputs.schema is None or (settings.classes is not None and settings.target is None):
            return cls.agreed(cls(settings).specification())
        target = inputs.schema.choose_target(settings.target)
        if settings.classes is not None:
            raise InputError(
                "classes: cannot be combined with target, whose values are the classes; remove one of them"
            )
        chosen = {"target": target, "classes": inputs.schema.attributes[target]}
        return cls(merge(settings, chosen))

    @classmethod
    @override
    def agreed(cls, specification: Mapping[str, Any]) -> Majority:
        task = cls(cls._settings_in(specification))
        classes = task.settings.classes
        if classes is None:
            raise InputError("classes: is missing: name them, with commas between them")
        if len(classes) < 2:
            raise InputError("classes: name at least two")
        if len(set(classes)) < len(classes):
            raise InputError("classes: name each class once")
        if task.settings.target is not None:
            Schema.from_public({"attributes": [{"name": task.settings.target, "values": list(classes)}]})
        return task

    @classmethod
    @override
    def planned(cls, settings: KindSettings) -> Majority:
        return cls.agreed(cls(settings).specification())

    @override
    def specification(self) -> Document:
        about = {"target": self.settings.target, "classes": list(self.classes) or None}
        return {**super().specification(), **{name: value for name, value in about.items() if value is not None}}

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes in the agreed order."""
        return self.settings.classes or ()

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return (self.settings.target,) if self.settings.target is not None else ()

    @property
    @override
    def reads_table(self) -> bool:
        return self.settings.target is not None

    @override
    def parameters(self) -> dict[str, Any]:
        """Return the public settings without the target, the job's subject. Classes without a target are one text."""
        others = {name: value for name, value in super().parameters().items() if name not in ("target", "classes")}
        return others if self.reads_table else {"classes": ", ".join(self.classes) or None, **others}

    @property
    @override
    def disclosure(self) -> Disclosure:
        where = f" of {self.settings.target}" if self.settings.target else ""
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn which class is the most frequent in both parties' counts together.",
                *nothing_else(peer, "counts", f"each has at most {self.settings.bits} bits"),
            ],
            lambda state, step=None: {"class of the majority": 0 if state is None or len(self.classes) == 1 else 1},
            Bits.once((len(self.classes) - 1).bit_length() if self.reads_table else 0),
            question=f"which class{where} most rows of both parties have: {listed(self.classes)}",
            subject=self.settings.target or "",
        )

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        if not self.reads_table:
            return None
        table, schema = inputs.required()
        assert self.settings.target is not None
        if table.max_rows >> self.settings.bits:
            return f"bits of the job must hold {table.max_rows}, the public bound of the table here"
        return schema.misfit(Schema({self.settings.target: self.classes}))

    @override
    def batch_program(self, batch: int, inputs: Inputs) -> Program:
        import numpy as np

        from protocols.majority import majority

        return lambda engine: majority(engine, np.zeros((len(self.classes), batch), dtype=np.int64), self.settings.bits)

    def own(self, typed: Mapping[str, Any]) -> list[int]:
        """Return this party's typed count of each class. Raise InputError if they do not fit the job."""
        text = str(typed_value(type(self), typed, "counts"))
        parts = [part.strip() for part in text.split(",")]
        if not all(re.fullmatch("[0-9]{1,19}", part) for part in parts):
            raise InputError("--counts: must be whole numbers from 0 up, with commas between them")
        if len(parts) != len(self.classes):
            raise InputError(f"--counts: {len(parts)} counts; give {len(self.classes)}, one for each class")
        if any(int(part) >> self.settings.bits for part in parts):
            raise InputError(f"--counts: a count does not fit {self.settings.bits} bits; raise --bits at both parties")
        return [int(part) for part in parts]

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        if not self.reads_table:
            yield Opened(self.own(inputs.typed))
            return
        assert self.settings.target is not None
        with inputs.value_counts(self.settings.target) as counts:
            yield replace(counts, data=counts.data.tolist())

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Return the index of the most frequent class. `data` are this party's counts of the classes."""
        import numpy as np

        from protocols.majority import majority

        on_step(Step(0, 1, start, "comparing"))
        return int(majority(engine, np.array(data, dtype=np.int64)[:, None], self.settings.bits)[0])

    @override
    def document(self, state: State) -> Document:
        return {"result": self.classes[state]}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return f"{quoted(document['result'])[1:-1]}\n"
