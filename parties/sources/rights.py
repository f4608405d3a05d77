"""Settings on the rights of the people in a table: legal basis, terms of storage, and contact.

    [tables.patients.rights]
    contact = "privacy@clinic-a.example"
    legal_basis = "public task"
    purposes = ["DrugEffect", "quality"]
    subjects = ["patients treated since 2020"]
    categories = ["age", "therapies", "outcomes"]
    special = "research in the public interest (art. 9(2)(j))"
    retention_days = 3650
    access = "on request"
    erasure = "rows removed"
    objection = "rows left out"

Articles are those of the General Data Protection Regulation, (EU) 2016/679.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from parties.base.settings import Settings
from parties.base.text import printable, quoted

MAX_LINE = 300  # characters

Basis: TypeAlias = Literal[
    "consent", "contract", "legal obligation", "vital interests", "public task", "legitimate interests"
]
Access: TypeAlias = Literal["on request", "not identifiable"]
Erasure: TypeAlias = Literal["rows removed", "key destroyed", "excluded by law"]
Objection: TypeAlias = Literal["rows left out", "not applicable"]
OBJECTABLE: tuple[Basis, ...] = ("public task", "legitimate interests")  # art. 21(1)


def line(value: str) -> str:
    """Return the text. Raise ValueError unless it is one printable line."""
    if not value.strip() or value != printable(value) or len(value) > MAX_LINE:
        raise ValueError(f"must be a line of 1 to {MAX_LINE} characters")
    return value


Line: TypeAlias = Annotated[str, AfterValidator(line)]
RetentionDays: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=36525)] | None


class RightsSettings(Settings):
    """Rights of the people in a table, and the terms of its storage. A missing field means unknown.

    `purposes` are the purposes that people were informed of; a job's stated purpose is compared with them. `special` is
    the exception that permits data of art. 9. `access`, `erasure` and `objection` are the answers to requests by
    articles 15, 17 and 21. "not identifiable" refers to art. 11.
    """

    contact: Line
    legal_basis: Basis | None = None
    purposes: tuple[Line, ...] = ()
    subjects: tuple[Line, ...] = ()
    categories: tuple[Line, ...] = ()
    special: Line | None = None
    retention_days: RetentionDays = None
    access: Access | None = None
    erasure: Erasure | None = None
    objection: Objection | None = None

    @model_validator(mode="after")
    def _objections_are_heard(self) -> RightsSettings:
        if self.objection == "not applicable" and self.legal_basis in OBJECTABLE:
            raise ValueError(f"people may object where the legal basis is {quoted(self.legal_basis)}: objection")
        return self
