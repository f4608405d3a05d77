"""Base class of the kinds that find one recoding of both parties' rows: columns, rules and a party's rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.alone.publish.models.model import missing_rule
from parties.base.settings import AtMost, LocalPath, Settings, required, validated
from parties.base.text import listed, quoted
from parties.jobs import settings as fields
from parties.jobs.kind import Counted, Description, Document, Inputs
from parties.jobs.settings import (
    AnyField,
    Columns,
    ManyGatesSettings,
    Name,
    RowBound,
    check_names,
    output,
    own_file,
    public,
)
from parties.jobs.tabular import BySchema, TabularSettings
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Indices, Rows
    from protocols.publish.problem import Problem
    from smc.counting import Program


def recoded(unless: str = "") -> AnyField:
    """Return the field `recode`: columns to recode. `unless` names the setting that may replace it."""
    help_text = "Columns to recode, by which a reader could recognise people (quasi-identifiers), separated by commas"
    return public(None, "Recoded columns", help_text, column=True, unless=unless)


class RecodedSettings(ManyGatesSettings, TabularSettings):
    """Settings that both recoding methods share."""

    recode: Columns | None = recoded()
    keep: Columns | None = public(None, "Kept columns", "Columns published unchanged", none="none", column=True)
    sensitive: Name | None = public(
        None,
        "Sensitive column",
        "Column that l-diversity (l) and t-closeness (t) protect; published unchanged",
        none="none",
        column=True,
    )
    k: fields.K | None = fields.fewest_rows(
        None,
        "each party has at least k rows in each class (rows equal in the recoded columns), or none; with against "
        "public, both together",
    )
    l: fields.L = fields.diverse("each class has at least l values of the sensitive column; 1 = no rule")  # noqa: E741
    diversity: fields.Diversity = fields.diversity("values")
    t: fields.T = fields.close(
        "maximum distance between the sensitive values of a class and those of all rows; 1 = no rule"
    )
    distance: fields.Distance = fields.distance("values")
    against: fields.Against = fields.against(
        "k, l and t hold for each party's rows of a class", "only for the rows of both together"
    )
    max_rows: RowBound = fields.row_bound()
    at_most: AtMost | None = fields.of_people()
    out: LocalPath | None = output("Write the recoding, for smc publish apply.")


class RecodedExtra(Settings):
    """Settings of `smc estimate` for a joint recoding: `recoding` is the file of an earlier run."""

    recoding: LocalPath | None = own_file("Recoding", "The recoding of an earlier run: then the costs are exact.")


class Recoded(BySchema):
    """One recoding of both parties' rows. Columns: those to recode, those to leave unchanged, and the sensitive one."""

    about = Description(
        "",
        "recoding",
        afterwards="Each party recodes its own rows with smc publish apply --recoding.",
        phases=True,
        extra=RecodedExtra,
    )
    unread = "not published"
    settings: RecodedSettings
    # Creation of a task.

    @classmethod
    def ordered(cls, settings: Any, schema: Schema) -> tuple[Any, Schema]:
        """Return the settings with their columns in the schema's order, and the schema of these columns.

        Args:
            settings: The settings.
            schema: The full schema.

        Raises:
            InputError: A column or a rule is missing or inconsistent.
        """
        recode, keep = required(settings.recode, f"{cls.name}.recode"), settings.keep or ()
        sensitive = () if settings.sensitive is None else (settings.sensitive,)
        for key, names in (("recode", recode), ("keep", keep), ("sensitive", sensitive)):
            check_names(key, names, schema.attributes)
        for key, names in (("keep", keep), ("sensitive", sensitive)):
            if overlap := [name for name in names if name in recode]:
                raise InputError(
                    f"{key}: {quoted(overlap[0])} is recoded, so it cannot also be kept unchanged; "
                    f"remove it from one of them"
                )
        if sensitive and sensitive[0] in keep:
            raise InputError(
                f"keep: {quoted(sensitive[0])} is the sensitive column, which is always kept; remove it from keep"
            )
        if settings.k is None:
            raise InputError("k: is missing: give the fewest rows of a class, 10 for example")
        if (settings.l > 1 or settings.t < 1) != bool(sensitive):
            raise InputError(
                f"sensitive: {quoted(sensitive[0])} needs l or t; or name it in keep"
                if sensitive
                else "sensitive: is missing; name the column that l-diversity (l) and t-closeness (t) protect"
            )
        used_schema = Schema(schema.only([*recode, *keep, *sensitive]).attributes)
        columns = {
            "recode": tuple(name for name in used_schema.attributes if name in recode),
            "keep": tuple(name for name in used_schema.attributes if name in keep) or None,
        }
        return settings.model_copy(update=columns), used_schema

    @cached_property
    def problem(self) -> Problem:
        """Public parameters of the search: columns, bound on rows, and rules for classes."""
        return self._problem()

    def _problem(self) -> Problem:
        from protocols.publish.problem import Problem
        from protocols.rules import Rules

        settings = self.settings
        assert settings.recode is not None
        assert settings.k is not None
        models = Rules(l=settings.l, diversity=settings.diversity, t=settings.t, distance=settings.distance)
        if models.any:
            models = replace(models, against=settings.against)
        sensitive = () if settings.sensitive is None else self.schema.attributes[settings.sensitive]
        sizes = {name: len(values) for name, values in self.schema.attributes.items()}
        return Problem(
            domains=tuple(sizes[name] for name in settings.recode),
            max_rows=settings.max_rows,
            k=settings.k,
            against=settings.against,
            others=tuple(sizes[name] for name in self.columns[len(settings.recode) :]),
            models=models,
            missing=sensitive.index(MISSING) if MISSING in sensitive else None,
        )

    # Description.

    @property
    def question(self) -> str:
        """Question of the disclosure, a phrase."""
        return (
            f"one recoding of {listed(self.settings.recode or ())}, by which each party publishes its own rows "
            f"({', '.join(self.models_in_words)})"
        )

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        """Columns to recode, columns to leave unchanged, sensitive column."""
        sensitive = () if self.settings.sensitive is None else (self.settings.sensitive,)
        return (*(self.settings.recode or ()), *(self.settings.keep or ()), *sensitive)

    @property
    @override
    def target(self) -> str:
        """The last of `columns`: a source puts its target last, so rows are read in the order of `columns`."""
        return self.columns[-1]

    @property
    def models(self) -> list[Document]:
        """Privacy models, as a plan holds them."""
        settings = self.settings
        models: list[Document] = [{"model": "k-anonymity", "k": settings.k}]
        if settings.l > 1:
            exact = settings.diversity == "distinct"
            name = "l-diversity" if exact else "entropy-l-diversity"
            models.append({"model": name, "column": settings.sensitive, "l": int(settings.l) if exact else settings.l})
        if settings.t < 1:
            closeness = {"column": settings.sensitive, "t": settings.t, "distance": settings.distance}
            models.append({"model": "t-closeness", **closeness})
        return models

    @property
    def models_in_words(self) -> list[str]:
        """Descriptions of the privacy models."""
        from parties.alone.publish.settings import ModelPlan

        return [validated(ModelPlan, model).made().words for model in self.models]

    def promises(self, peer: str) -> list[str]:
        """Return the promises of the rules, a sentence each."""
        against = self.settings.against
        admitted = (
            "First, both learn whether all rows as one class satisfy the rules, and for each column whether the two "
            "tables have a value in common. If the rules fail, or a column has no common value, nothing is published."
        )
        whose = (
            f"of {peer} or of us alone, unless it has none of them" if against == "peer" else "of both parties together"
        )
        lines = [admitted, f"No class has fewer than {self.settings.k:,} rows {whose}."]
        for description in self.models_in_words[1:]:
            lines.append(f"Every class has {description}, for the rows {whose}.")
        if self.problem.missing is not None:
            lines.append(f"In every class, {missing_rule([str(self.settings.sensitive)])}.")
        if against == "public":
            lines.append(
                "A party can subtract its own rows from a class: nothing is promised for the other's rows alone."
            )
        return lines

    # Cost.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        if extra is None or extra.recoding is None:
            return self.typical_cost
        return Counted(self.with_recoding(extra.recoding), "exact", "this recoding")

    @property
    @abstractmethod
    def typical_cost(self) -> Counted:
        """Cost of a typical recoding, since the real recoding is unknown."""

    @abstractmethod
    def with_recoding(self, path: Path) -> Program:
        """Return the program of a run that ends with a file's recoding. Raise InputError if the file does not fit."""

    # Execution.

    @property
    @override
    def without_holders(self) -> str | None:
        return "the check that no column reveals the owner of a row compares the values that two parties have"

    @override
    def own_rows(self, source: Rows) -> Indices:
        return source.distinct()
