"""Publish plan of a table, `publish.toml`: roles of columns, models of privacy, and the algorithm.

source = "patients.csv"          # or Parquet, a DuckDB file, postgresql://, spark://, as for [tables.NAME]
max_suppressed = 0.02            # largest share of suppressed rows
algorithm = "flash"              # or samarati, incognito, mondrian, mondrian-relaxed, top-down; default: flash, or
                                 # mondrian if there are too many quasi-identifiers for it
utility = "discernibility"       # or ncp, class-size, entropy: loss minimised by flash, samarati and incognito
subject = "patient"              # column of a row's person, whose own key for pseudonyms can be destroyed
local = false                    # true: smallest box for each class, instead of one level for all

[columns.name]
role = "identifier"              # dropped
[columns.patient]
role = "identifier"
pseudonym = "deterministic"      # or randomised: encrypted by `smc publish pseudonyms`, dropped elsewhere
key = "patient"                  # columns of one key can be joined; default: the column's name
[columns.card]
role = "identifier"              # masked, not dropped, in all rows that are written (see `masks`)
mask = { kind = "custom", padding = "xxxx-xxxx-xxxx-x", last = 3 }
unmask = ["cashier"]             # roles whose views show it in clear
[columns.zip]
role = "quasi-identifier"        # generalised, by a rule (see `rules`)
prefixes = [4, 3]
[columns.age]
role = "quasi-identifier"
tree = "age.csv"
numeric = true                   # mondrian and top-down cut it as numbers
[columns.disease]
role = "sensitive"               # published in clear; models protect it
[columns.visit]
role = "other"                   # published in clear; a column that is not named is dropped
[columns.visit.format]           # spelling of its cells: days become 2024-01-31, `missing` texts become empty
dates = "%d.%m.%y"
last_year = 2026                 # of two-digit years
missing = ["01.01.00"]

[[models]]
model = "k-anonymity"
k = 5
[[models]]
model = "l-diversity"
column = "disease"
l = 2

[[methods]]                      # instead of models: steps of `smc publish protect`, in this order (see `protecting`)
method = "rank-swapping"
columns = ["income"]
p = 5

[public]                         # for presence: a table of all people who could be in this one
source = "register.csv"

[history]                        # every publication is recorded here, and checked against earlier ones
file = "patients.history"
row = "visit"                    # column that identifies rows
person = "patient"               # column of a row's person; default: each row is another person's
m = 3                            # for `smc publish invariant`: least number of possible sensitive values
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator
from typing_extensions import override

from parties.alone.publish.keys.ciphers import Mode
from parties.alone.publish.masks import Mask
from parties.alone.publish.models.model import MODELS, PrivacyModel
from parties.alone.publish.rules import Rule
from parties.base import files
from parties.base.settings import LocalPath, Settings, at_key, explained
from parties.base.text import quoted
from parties.sources import PlaceSettings
from parties.sources.settings import Name, SourceSettings
from smc.errors import InputError

Role = Literal["identifier", "quasi-identifier", "sensitive", "other"]
Algorithm = Literal["flash", "samarati", "incognito", "mondrian", "mondrian-relaxed", "top-down"]
UtilityName = Literal["discernibility", "ncp", "class-size", "entropy"]


class ColumnPlan(Rule):
    """Role of a column, and its generalisation."""

    role: Role
    numeric: bool = False
    format: SourceSettings | None = None
    pseudonym: Mode | None = None
    key: Name | None = None
    mask: Mask | None = None
    unmask: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _pseudonyms_and_masks_fit(self) -> ColumnPlan:
        if self.pseudonym is not None and self.role != "identifier":
            raise ValueError(f"only an identifier can have a pseudonym; the role of this column is {self.role}")
        if self.key is not None and self.pseudonym is None:
            raise ValueError("a key needs a pseudonym; set pseudonym to deterministic or randomised")
        if self.mask is not None and self.pseudonym is not None:
            raise ValueError("a column has a mask or a pseudonym, not both")
        if self.unmask and self.mask is None:
            raise ValueError("unmask is for a column with a mask; add a mask, or remove unmask")
        return self

    @property
    def shown(self) -> bool:
        """Whether recoded rows have the column: every one except unmasked identifiers."""
        return self.role != "identifier" or self.mask is not None


class ModelPlan(Settings):
    """An entry of `models`: the name of a privacy model, and settings that the class of this model declares."""

    model_config = ConfigDict(extra="allow")
    model: str

    def made(self) -> PrivacyModel:
        """Return the model; raise InputError if the name is unknown or the settings do not fit it."""
        with at_key("models"):
            return MODELS.find(self.model).of(self.model_extra or {})


class MethodPlan(Settings):
    """An entry of `methods`: the name of a method, and settings that the class of this method declares."""

    model_config = ConfigDict(extra="allow")
    method: str


class HistoryPlan(Settings):
    """Settings of the record of earlier publications: its file, and the columns that identify rows and persons."""

    file: LocalPath
    row: Name
    person: Name | None = None
    m: Annotated[int, Field(strict=True, ge=2)] | None = None


class PublishPlan(PlaceSettings):
    """Publish plan of a table; `load` returns a checked one."""

    max_suppressed: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.0
    algorithm: Algorithm | None = None
    utility: UtilityName = "discernibility"
    local: bool = False
    columns: dict[str, ColumnPlan]
    models: tuple[ModelPlan, ...] = ()
    methods: tuple[MethodPlan, ...] = ()
    subject: Name | None = None
    public: PlaceSettings | None = None
    history: HistoryPlan | None = None

    @model_validator(mode="after")
    def _public_is_spelled_alike(self) -> PublishPlan:
        if self.public is not None:
            self.public.read_columns_as(self.formats)
        return self

    @property
    @override
    def formats(self) -> Mapping[str, SourceSettings]:
        return {name: column.format for name, column in self.columns.items() if column.format is not None}

    def named(self, role: Role) -> list[str]:
        """Return the columns with a role."""
        return [name for name, column in self.columns.items() if column.role == role]

    def check(self) -> list[PrivacyModel]:
        """Return the models; raise InputError if there are none, or methods, or the columns do not suit them."""
        models = [model.made() for model in self.models]
        if self.methods:
            raise InputError("methods: are for smc publish protect; write a separate plan for them")
        if not models:
            raise InputError("models: give at least one, such as k-anonymity")
        if not self.named("quasi-identifier"):
            raise InputError(
                "columns: none is a quasi-identifier, so there is nothing to generalise; give this role to a column"
            )
        for name, column in self.columns.items():
            if column.mask is not None and column.role in ("quasi-identifier", "sensitive"):
                raise InputError(
                    f"column {quoted(name)}: it is {column.role}, and a column that models use cannot "
                    f"be masked; remove the mask"
                )
        for model in models:
            if model.column is not None and model.column not in self.named("sensitive"):
                known = self.columns.get(model.column)
                role = "not in the plan" if known is None else f"a column of the role {known.role}"
                raise InputError(f"models: {model.words}: needs a sensitive column, but the named one is {role}")
            if model.needs_public and self.public is None:
                raise InputError(f"models: {model.words}: needs a public table; name it under [public]")
        return models


def load(path: Path) -> PublishPlan:
    """Read a plan and check it for anonymisation; the InputError names the file and the key."""
    plan = read(path)
    with at_key(str(path)):
        plan.check()
    return plan


def read(path: Path) -> PublishPlan:
    """Read a plan, which need not generalise anything; the InputError names the file and the key."""
    content = files.read_toml(path)
    try:
        return PublishPlan.model_validate(content, context={"directory": path.parent})
    except ValidationError as error:
        raise InputError(f"{path}: {explained(error, PublishPlan)}") from None


def unrecorded(path: Path) -> PublishPlan:
    """Read a plan for rows without classes; raise InputError if it is invalid, or has a history."""
    plan = read(path)
    if plan.history is not None:
        raise InputError(
            f"{path}: history: only smc publish anonymise, apply and invariant can publish with a history; for this "
            f"command, use a plan without [history]"
        )
    return plan
