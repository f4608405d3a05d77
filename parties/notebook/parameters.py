"""The parameters of a class for notebooks, from the settings of its kind of job.

    @parameters(CurveSettings, "time", "event", "arm", then=("epsilon", "max_rows"))
    class JointSurvival(JointStudy): ...

The decorator makes the signature of `__init__`, and adds the description of each parameter to the docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from parties.base.settings import Settings
from parties.jobs.kind import Kind
from parties.jobs.settings import public_parameters

Class = TypeVar("Class", bound=type)
KINDS = inspect.Parameter
REQUIRED: Any = KINDS.empty
SCHEMA = (
    'the public schema, a file or a `Schema`; a node has its own. "own rows" takes values and bounds from your rows, '
    "for a trial alone: noise does not hide those."
)
HOLDERS = "None; further holders of rows, `Holders`, with a `peer` that lists the same."
PEER = "None; the way to the other party, a `party.toml` or a `LinkSettings`; or your own node, a `NodeClient`."


def parameters(
    settings: type[Settings],
    *first: str,
    then: Sequence[str] = (),
    fixed: Mapping[str, Any] | None = None,
    defaults: bool = False,
    renamed: Mapping[str, str] | None = None,
    described: Mapping[str, str] | None = None,
    joint: bool = True,
) -> Callable[[Class], Class]:
    """Give a class its parameters: `schema`, settings of a kind of job or a plan, `peer` and `holders`.

    Args:
        settings: Class of the kind's settings; for several kinds, a class with the settings of all.
        first: Names of parameters that may be positional, after the schema if there is one.
        then: Names of keyword-only parameters.
        fixed: Default values, in place of the settings' own; `REQUIRED` for none.
        defaults: True takes a default from the settings. False takes None, which leaves a setting out.
        renamed: For parameters with another name in the settings: that name, by parameter.
        described: Description of a parameter, in place of the settings' help.
        joint: True adds schema, peer and holders. A class without them learns from its own rows alone.

    Returns:
        A decorator. It sets `__init__`, which keeps each parameter under its name for scikit-learn. It adds a
        description of every parameter to the docstring.
    """
    names, fixed = (*first, *then), {"max_rows": None, **(fixed or {})}
    about = {name: _help(settings, (renamed or {}).get(name, name)) for name in names}
    if joint:
        about = {"schema": SCHEMA, **about, "peer": PEER, "holders": HOLDERS}
    about |= described or {}

    def default(name: str) -> Any:
        if name in fixed:
            return fixed[name]
        field = settings.model_fields.get((renamed or {}).get(name, name))
        return field.get_default() if defaults and field is not None else None

    signature = inspect.Signature(
        [
            KINDS("self", KINDS.POSITIONAL_OR_KEYWORD),
            *([KINDS("schema", KINDS.POSITIONAL_OR_KEYWORD, default=None)] if joint else []),
            *(KINDS(name, KINDS.POSITIONAL_OR_KEYWORD, default=default(name)) for name in first),
            *(
                KINDS(name, KINDS.KEYWORD_ONLY, default=default(name))
                for name in (*then, *(["peer", "holders"] if joint else []))
            ),
        ]
    )

    def decorated(estimator: Class) -> Class:
        def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807 (it becomes that of the class)
            bound = signature.bind(self, *values, **named)
            bound.apply_defaults()
            for name, value in [*bound.arguments.items()][1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        __init__.__qualname__ = f"{estimator.__qualname__}.__init__"
        estimator.__init__ = __init__  # type: ignore[misc]
        listed = [f"    {name}: {text[:1].upper()}{text[1:].rstrip('.')}." for name, text in about.items()]
        estimator.__doc__ = "\n".join([inspect.cleandoc(estimator.__doc__ or ""), "", "Args:", *listed])
        return estimator

    return decorated


def of_kind(kind: type[Kind], **fixed: Any) -> Callable[[Class], Class]:
    """Give a class all public settings of a kind of job as parameters. Columns that the kind needs may be positional.

    Args:
        kind: The kind of job.
        fixed: Default values, in place of None, which leaves a setting out.

    Returns:
        A decorator, see `parameters`.
    """
    chosen = [one for one in public_parameters(kind.Settings) if not one.is_engine and one.key != "classifier"]
    first = [one.field for one in chosen if one.column and one.is_needed]
    models = ["model"] if "classifier" in kind.Settings.model_fields else []
    then = [*(one.field for one in chosen if one.field not in first), *models, "engine"]
    described = {one.field: one.help for one in chosen} | dict.fromkeys(models, "the JSON file of a model")
    return parameters(kind.Settings, *first, then=then, fixed=fixed, described=described)


def _help(settings: type[Settings], name: str) -> str:
    field = settings.model_fields.get(name)
    return (field.description if field is not None else "") or "see the command."
