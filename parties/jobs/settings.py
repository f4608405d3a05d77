"""The settings of jobs: what may be chosen, and every default."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import (
    Field,
    model_validator,
)

from parties.settings import Count, LocalPath, Settings

BooleanEngine: TypeAlias = Literal["auto", "yao", "gmw"]
AnyEngine: TypeAlias = Literal["auto", "yao", "gmw", "mixed", "lean"]
Ot: TypeAlias = Literal["extension", "trapdoor", "iknp", "softspoken2", "softspoken4", "softspoken8", "ferret"]
Garbling: TypeAlias = Literal["half", "three-halves"]
Form: TypeAlias = Literal["size", "depth"]


class EngineSettings(Settings):
    """How circuits and integers are computed; `auto` measures the link and chooses all of it."""

    engine: AnyEngine
    ot: Ot = "extension"
    garbling: Garbling = "half"
    form: Form | None = None

    @model_validator(mode="after")
    def _auto_chooses(self) -> EngineSettings:
        given = self.model_fields_set & {"ot", "garbling", "form"}
        if self.engine == "auto" and given:
            raise ValueError(f"engine auto chooses {' and '.join(sorted(given))} by itself: leave it out")
        return self


class Id3Settings(EngineSettings):
    """`smc id3`. `max_rows` is public: no party has more rows than that."""

    data: LocalPath | None = None
    schema_file: LocalPath | None = Field(default=None, alias="schema")  # a model's `schema` is pydantic's
    target: str | None = None
    delta: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = 0.001
    min_rows: Count = 0
    max_depth: Count | None = None
    max_rows: Annotated[int, Field(strict=True, ge=1, le=2**31)] = 65535
    engine: AnyEngine = "mixed"
    out: LocalPath | None = None
    report: LocalPath | None = None
    dot: LocalPath | None = None
    svg: LocalPath | None = None


class MillionairesSettings(EngineSettings):
    """`smc millionaires`: a private number of at most `bits` bits."""

    value: Count | None = None
    bits: Annotated[int, Field(strict=True, ge=1, le=64)] = 32
    engine: BooleanEngine = "yao"


class CircuitSettings(EngineSettings):
    """`smc circuit`: a circuit file in Bristol format and this party's input to it."""

    file: LocalPath | None = None
    input: str | None = None
    engine: BooleanEngine = "yao"
