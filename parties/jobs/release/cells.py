"""Rows told apart by columns: what histograms, tables and answers by groups have in common."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from typing_extensions import override

from parties.base.settings import required
from parties.jobs.release.kind import Release
from parties.jobs.release.reading import Question
from parties.jobs.release.settings import ReleaseSettings
from parties.jobs.settings import public
from parties.jobs.tabular_settings import Columns
from parties.tables.schema import Schema


class GroupSettings(ReleaseSettings):
    """Those of a question that may be answered for each of several groups of rows."""

    by: Columns | None = public(
        None, "Groups", "A group for each value of these columns", none="all rows are one group", column=True
    )


class OfColumn(Release):
    """A question on the values of one column, `of`, for all rows or for each group."""

    settings: Any

    @classmethod
    @override
    def named(cls, settings: Any) -> tuple[str, ...]:
        return (*by_columns(settings), required(settings.of, f"{cls.name}.of"))

    @property
    @override
    def subject(self) -> str:
        of: str = self.settings.of
        return of

    @property
    @override
    def target(self) -> str:
        return self.subject

    @property
    def groups(self) -> Question:
        """The groups of rows."""
        return Question(self.where, by_columns(self.settings))

    @property
    def group_count(self) -> int:
        """The number of groups."""
        return math.prod(map(len, self.groups.domains(self.schema)))

    @property
    def group_labels(self) -> list[dict[str, str]]:
        """What each group says of its rows."""
        return labels(self.groups, self.schema)


def by_columns(settings: ReleaseSettings) -> tuple[str, ...]:
    """Return the columns of groups."""
    found: tuple[str, ...] | None = getattr(settings, "by", None)
    return found or ()


def labels(question: Question, schema: Schema) -> list[dict[str, str]]:
    """Return what each cell says of its rows, in the order of the counts."""
    return [dict(zip(question.by, values, strict=True)) for values in product(*question.domains(schema))]


def words(question: Question, schema: Schema) -> str:
    """Return the groups as part of a sentence; nothing for all rows."""
    if not question.by:
        return question.where.words()
    each = " and ".join(f"{column} ({', '.join(question.where.values(column, schema))})" for column in question.by)
    return f", for each value of {each}" + (f", of rows{question.where.words()}" if question.where.wanted else "")
