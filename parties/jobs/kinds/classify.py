"""Classify people by a public tree whose columns lie apart, for one party."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.settings import LocalPath, required
from parties.base.text import csv_text
from parties.jobs.align.settings import LEARNERS
from parties.jobs.hidden_rows import LISTENS
from parties.jobs.kind import Bits, Counted, Description, Disclosure, File, Inputs, Opened, State, Step
from parties.jobs.release.evaluate import models
from parties.jobs.release.evaluate.scored import MOST_MODEL, with_model
from parties.jobs.release.settings import ApartSettings
from parties.jobs.settings import BooleanSettings, Name, RowBound, output, own_file, public, row_bound
from parties.jobs.tabular import BySchema
from parties.models.load import columns_of
from parties.models.trees.reading import asking
from parties.models.trees.tree import Leaf, TreeFile
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.classification import PublicTree
    from smc.engines import Engine

COUNTABLE = 1 << 27  # bits of a party whose cost is counted: a second or two


class ClassifySettings(BooleanSettings, ApartSettings):
    """Settings of `smc classify`."""

    model_file: LocalPath | None = own_file("Tree", "Public tree that classifies: a file of smc id3.", alias="model")
    classifier: Annotated[str, Field(max_length=MOST_MODEL)] | None = public(
        None, "Tree", "Tree that classifies: the text of its JSON file", node=True
    )
    learns: Literal["listener", "dialler"] | None = public(
        None, "Asks", "Which party learns the classes: the one that listens or dials"
    )
    alignment: Name | None = public(
        None, "Alignment", "Job that matched the people of the two tables: its identifier, or latest", node=True
    )
    max_rows: RowBound = row_bound()
    classes: LocalPath | None = output("At the party that learns: write the class of each row, with its key, as CSV.")


def _tree(text: str) -> TreeFile:
    model = models.read(text)
    if not isinstance(model, TreeFile) or model.others or isinstance(asking(model).tree, Leaf):
        raise InputError("model: is not a single tree with splits; give a file of smc id3")
    return asking(model)


class Classify(BySchema):
    """Classify the people in both tables by a public tree of both parties' columns. One party learns the classes.

    Each party follows the splits on its own columns, and a circuit combines the two. No party learns the path of a
    person.
    """

    name = "classify"
    about = Description(
        "Classes of people in both tables",
        "classes",
        "--model tree.json --aligned aligned.csv --listener-columns income,employed --learns listener "
        "--classes classes.csv",
        "--model tree.json --listener-columns income,employed --learns listener --max-rows 1000",
        '--classifier "$(<tree.json)" --learns listener --alignment latest',
    )
    Settings = ClassifySettings
    private_fields = ("own",)
    _own: str | None = None  # classes as CSV, after a run of a command that learns them

    @classmethod
    @override
    def planned(cls, settings: Any) -> Self:
        return super().planned(with_model(settings))

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        if settings.classifier is None:
            raise InputError("classifier: is missing; give a tree (--model; classifier in a job)")
        if settings.listener_columns is None:
            raise InputError("alignment: is missing; give matched rows (--aligned; alignment in a job)")
        if settings.hidden_rows is not None:
            raise InputError("alignment: the classes would show who is in both tables; use rows of align exact")
        required(settings.learns, f"{cls.name}.learns")
        tree = _tree(settings.classifier)
        task = cls(settings, schema.only(columns_of(tree)))
        task.on_shares = False  # no numbers enter
        task.check_apart()
        models.check_tree(tree.tree, schema)
        return task

    @cached_property
    def model(self) -> TreeFile:
        """The tree with its question."""
        return _tree(self.settings.classifier)

    @cached_property
    def terms(self) -> PublicTree:
        """The public terms of the protocol."""
        from protocols.classification import PublicTree

        party_of = {name: party for party in (0, 1) for name in self.own_columns(party)}
        leaves = tuple(models.leaves(self.model.tree, self.schema))
        return PublicTree(leaves, party_of, LISTENS.index(self.settings.learns))

    @property
    @override
    def disclosure(self) -> Disclosure:
        bits, target = self.settings.max_rows * self.terms.width, self.model.target
        return Disclosure(
            self._reveals,
            lambda state, step=None: {"bit of a class": 0 if state is None else bits},
            Bits.once(bits),
            question=f"the class, {target}, of each person in both tables, by a public tree",
            subject=target,
        )

    def _reveals(self, peer: str) -> list[str]:
        terms, digest = self.terms, hashlib.sha256(self.settings.classifier.encode()).hexdigest()[:16]
        return [
            f"{LEARNERS[self.settings.learns]} the class, {self.model.target}, of each person.",
            "The other party learns no result.",
            f"The classes are those of a public tree of {len(terms.leaves)} leaves; its SHA-256 begins with {digest}.",
            *self.nothing_else(peer),
            "A class can disclose the other party's values on the tree's paths. The bits about a person in each job "
            f"are at most {terms.width}.",
        ]

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        rows, terms = self.settings.max_rows, self.terms

        def program(engine: Engine) -> None:
            from protocols.classification import classify

            classify(engine, terms, np.zeros((rows, len(self.own_columns(engine.party))), dtype=np.int64))

        return Counted(program, is_countable=rows * (len(terms.shared) + terms.width) <= COUNTABLE)

    @classmethod
    @override
    def alone(cls, settings: Any, party: int) -> tuple[Self, Any, list[str]]:
        task, cells, remarks = super().alone(settings, party)
        if (settings.classes is not None) != (party == task.terms.asks):
            raise InputError("--classes: give it at the party that learns the classes, and only there")
        return task, (cells, task.settings.own_aligned, None), remarks

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        rows = self.matched_keys(inputs)
        opened = self.opened_apart(inputs, rows)
        yield replace(opened, data=(opened.data, rows, inputs.keep))

    @override
    def with_engine(self, engine: Engine, data: Any) -> Any:
        return data

    @override
    def own_rows(self, source: Any) -> Any:
        return source

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: Any) -> State:
        """Classify the rows. The result is their number; the classes are kept apart, for the party that learns them."""
        from protocols.classification import classify

        (cells, last), aligned, keep = data
        on_step(Step(0, len(cells), start, "classifying"))
        found = classify(engine, self.terms, cells if last is None else np.column_stack([cells, last]))
        if found is not None:
            classes = self.terms.classes_of(found)
            table = [(*key, label) for key, label in zip(aligned.keys, classes, strict=True)]
            text = csv_text([(*aligned.columns, self.model.target), *table])
            if keep is None:
                self._own = text  # a command writes it
            else:
                keep(text)
        learnt = LEARNERS[self.settings.learns].lower()
        return {"classified": len(cells), "target": self.model.target, "learnt": learnt}

    @override
    def document(self, state: State) -> dict[str, Any]:
        return {**state, **({} if self._own is None else {"own": self._own})}

    @classmethod
    @override
    def text(cls, document: dict[str, Any], party: int) -> str:
        return f"{document['target']} of {document['classified']:,} people: {document['learnt']} it\n"

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        own = File("classes.csv", "text/csv", lambda document: document.get("own", ""), "classes", private=True)
        return (*super().files(), own)
