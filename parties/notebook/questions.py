"""Every joint question as a function and as an estimator, both made from the settings of its kind of job.

    joint.release.mean(frame, "income", by="education", epsilon=0.5, schema="schema.toml", peer="party.toml")
    joint.quantile(frame, "age", at=0.9, epsilon=1, schema="schema.toml")      alone: your own rows only
    joint.test.chi2(table="patients", columns=["arm", "ill"], peer=node)       by your node
    joint.equality(value=1200, peer="party.toml")                              of two numbers, no rows

`study("release mean")` is the estimator behind a function. It has scikit-learn's conventions, see `study`. Kinds of
other packages (`parties.jobs.kinds`) have functions too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from parties.base.settings import validated
from parties.base.text import instead
from parties.jobs import kinds
from parties.jobs.execution.running import Connection, declining
from parties.jobs.kind import Kind
from parties.jobs.tabular import BySchema
from parties.notebook import coded
from parties.notebook.fitting import Log
from parties.notebook.parameters import of_kind
from parties.notebook.study import JointStudy
from smc.errors import InputError

FIT = ("table", "peer_table", "purpose", "job", "deadline")  # arguments of `JointStudy.fit` for a node


@cache
def study(name: str) -> type[JointStudy]:
    """Return the estimator of a kind of job on rows, such as "release mean"; its parameters are the kind's settings."""
    kind: Any = kinds.find(name)
    title = "Joint" + "".join(word.capitalize() for word in name.replace("-", " ").split())
    head = {"kind": kind, "__doc__": inspect.getdoc(kind), "__module__": __name__, "__qualname__": title}
    made: type[JointStudy] = type(title, (JointStudy,), head)
    return of_kind(kind)(made)


def __getattr__(name: str) -> Any:
    made = {study(kind).__name__: kind for kind in kinds.names() if issubclass(kinds.find(kind), BySchema)}
    if name not in made:
        raise AttributeError(name)
    return study(made[name])


class Questions:
    """The questions of a group, such as `joint.release`, as functions; `joint` has all."""

    def __init__(self, group: str = "") -> None:
        self._group = group

    def __dir__(self) -> list[str]:
        start = f"{self._group} " if self._group else ""
        below = (name.removeprefix(start).split()[0] for name in kinds.names() if name.startswith(start))
        return sorted({word.replace("-", "_") for word in below})

    def __getattr__(self, word: str) -> Any:
        name = f"{self._group} {word}".strip().replace("_", "-")
        if word not in dir(self):
            raise AttributeError(f"there is no question {word!r}{instead(word, dir(self))}")
        return _function(name) if kinds.is_known(name) else Questions(name)


@cache
def _function(name: str) -> Callable[..., Any]:
    kind = kinds.find(name)
    return _of_rows(study(name)) if issubclass(kind, BySchema) else _of_values(kind)


def _of_rows(estimator: type[JointStudy]) -> Callable[..., JointStudy]:
    schema, *others = [*inspect.signature(estimator).parameters.values()]
    first = [one.name for one in others if one.kind is one.POSITIONAL_OR_KEYWORD]
    fit = {one.name: one for one in inspect.signature(JointStudy.fit).parameters.values()}
    named = [one for one in others if one.kind is one.KEYWORD_ONLY]
    signature = inspect.Signature(
        [fit["X"], *others[: len(first)], schema.replace(kind=schema.KEYWORD_ONLY), *named, *(fit[one] for one in FIT)]
    )

    def ask(*values: Any, **settings: Any) -> JointStudy:
        given = signature.bind(*values, **settings).arguments
        of_fit = {one: given.pop(one) for one in ("X", *FIT) if one in given}
        return estimator(**given).fit(**of_fit)

    ask.__signature__ = signature  # type: ignore[attr-defined]
    ask.__doc__ = f"{estimator.__doc__}\n\nX, table and the others: see `JointStudy.fit`. Returns the fitted estimator."
    return ask


def _of_values(kind: type[Kind]) -> Callable[..., dict[str, Any]]:
    """Return the function of a kind without rows: it takes the settings and private values, and returns the result."""

    def ask(*, peer: Any, purpose: str | None = None, deadline: float | None = None, **settings: Any) -> dict[str, Any]:
        if hasattr(peer, "submit"):
            fields = {"protocol": kind.name, "purpose": purpose, **settings}
            document: dict[str, Any] = coded.by_node(peer, fields, None, deadline)[1].document
            return document
        if (link := coded.link_to(peer)) is None:
            raise InputError(f"peer: is missing; {kind.name} needs two parties: give a party.toml or your node")
        connection = Connection(link)
        with declining(link):
            task, data, _ = kind.alone(validated(kind.Settings, settings), connection.party)
        return task.document(connection.run_task(task, data, Log())[0])

    ask.__doc__ = f"{inspect.getdoc(kind)}\n\nTakes the settings of `smc {kind.name}` and `peer`. Returns the result."
    return ask


joint = Questions()
