"""The form that proposes a job: what was typed becomes the content of a job file.

Its fields are the settings of the kind of job that is chosen; a field that is wrong is named by the node.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from parties.jobs import kinds
from parties.jobs.settings import Parameter, private_parameters, public_parameters
from parties.operator.interface import JobView, Operator
from parties.settings import problems
from parties.text import quoted
from parties.web.render import Renderer
from parties.web.visits import Visit
from smc.errors import InputError

HEAD = ("peer", "table", "peer_table", "purpose")
PICKED = "column:"  # before the name of a column that is ticked
LONGEST_NUMBER = 40  # digits: Python refuses numbers that are much longer with words of its own


class Proposals:
    """Shows the form and takes what it sends."""

    def __init__(self, operator: Operator, renderer: Renderer) -> None:
        self._operator, self._renderer = operator, renderer

    def form(self, visit: Visit) -> Response:
        """An empty form for a kind of job and a table, or one filled in like the job that `like` names."""
        like, kind, table = (visit.request.query_params.get(name) for name in ("like", "kind", "table"))
        try:
            new = {"protocol": kind or kinds.DEFAULT, "table": table or ""}
            typed = _like(self._operator.job(like)) if like else new
            kinds.find(typed["protocol"])
            return self._show(visit, typed)
        except InputError as error:
            return self._show(visit, {}, str(error))

    def submit(self, visit: Visit) -> Response:
        """Propose the job and go to its page; if it will not do, the form says why and still has all of it."""
        try:
            visit.check()
            job = self._operator.submit(_job(_typed(visit.form)))
        except InputError as error:
            return self._show(visit, _typed(visit.form), str(error))
        return RedirectResponse(f"/jobs/{job.id}", 303)

    def _show(self, visit: Visit, typed: Mapping[str, str], problem: str = "") -> Response:
        protocol = typed.get("protocol", kinds.DEFAULT)
        if not kinds.is_known(protocol):
            protocol = kinds.DEFAULT
        found = _fields(protocol)
        values = {name: typed.get(name, "") for name in (*HEAD, *(one.key for one in found))}
        columns = self._operator.node().columns
        wrong = _wrong(problem, ("protocol", *values))
        context = {
            "typed": values,
            "problem": problem,
            "wrong": wrong,
            "columns": columns,
            "picked": set(read_list(values.get("columns", ""))),
            "chosen": protocol,
            "kinds": [(name, kinds.find(name).title) for name in kinds.names()],
            "line": kinds.line(protocol),
            "typed_here": bool(private_parameters(kinds.find(protocol).Settings)),  # it can do without a table
            "what": [one for one in found if not one.is_engine],
            "how": [one for one in found if one.is_engine],
            "how_given": any(values[one.key] or one.key in wrong for one in found if one.is_engine),
        }
        return self._renderer.page(visit, "propose.html", context, 400 if problem else 200)


def read_field(one: Parameter, text: str) -> Any:
    """What was typed into a field, as a job file has it. `InputError` if it cannot be."""
    if one.type is tuple:
        return read_list(text)
    if one.type is bool:
        return text == "yes"
    if one.type not in (int, float):
        return text
    try:
        if len(text) > LONGEST_NUMBER:
            raise ValueError
        return one.type(text)
    except ValueError:
        what = "a whole number" if one.type is int else "a number, with a point as in 0.001"
        raise InputError(f"{one.key}: must be {what}, not {quoted(text)}") from None


def read_list(text: str) -> list[str]:
    """Names with commas or line ends between them."""
    return [part.strip() for part in re.split(r"[,\n]", text) if part.strip()]


def _typed(form: Mapping[str, str]) -> dict[str, str]:
    """A form with the columns that are ticked as if they had been typed; those that are no ticks come first."""
    picked = [name.removeprefix(PICKED) for name in form if name.startswith(PICKED)]
    fields = {name: text for name, text in form.items() if not name.startswith(PICKED)}
    columns = dict.fromkeys([*read_list(form.get("columns", "")), *picked])
    return fields | ({"columns": ", ".join(columns)} if columns else {})


def _wrong(problem: str, known: Collection[str]) -> dict[str, str]:
    """What is wrong with which fields.

    Messages begin with the field's key, one behind the other with semicolons, which may stand inside of one as well.
    One that begins with no key is about those that it names; if it names none, the form as a whole is wrong.
    """
    found: dict[str, str] = {}
    key = ""
    for part in problem.split("; "):
        name, _, text = part.partition(": ")
        if name in known and text:
            key, found[name] = name, text
        elif key:
            found[key] += f"; {part}"
    return found or {name: problem for name in known if re.search(rf"\b{re.escape(name)}\b", problem)}


def _fields(protocol: str) -> list[Parameter]:
    """The settings that a form for this kind asks for."""
    settings = kinds.find(protocol).Settings
    return [*public_parameters(settings), *private_parameters(settings)]


def _job(form: dict[str, str]) -> dict[str, Any]:
    """The content of a job file: the fields that are not empty. `InputError` for what is no number."""
    protocol = form.get("protocol") or kinds.DEFAULT
    job: dict[str, Any] = {name: form[name].strip() for name in HEAD if form.get(name, "").strip()}
    given = {one: form.get(one.key, "").strip() for one in _fields(protocol)}
    read: dict[str, Any] = {}
    wrong: list[str] = []
    for one, text in given.items():
        try:
            read |= {one.key: read_field(one, text)} if text else {}
        except InputError as error:  # every field that is wrong is told of at once
            wrong.append(str(error))
    unread = {one.key for one, text in given.items() if text and one.key not in read}
    wrong += [f"{key}: {text}" for key, text in _unfit(protocol, read).items() if key not in unread]
    if wrong:
        raise InputError("; ".join(wrong))
    return {"protocol": protocol} | job | read


def _unfit(protocol: str, read: dict[str, Any]) -> dict[str, str]:
    """What is wrong with single fields, as far as it can be said without the node's tables."""
    settings = kinds.find(protocol).Settings
    try:
        settings.model_validate(read)
    except ValidationError as error:
        return {key.partition(".")[0]: text for key, text in problems(error, settings).items() if key}
    return {}


def _like(job: JobView) -> dict[str, str]:
    """What to type for a job like this one."""
    names = {one.key for one in public_parameters(kinds.find(job.protocol).Settings)}
    given = {name: value for name, value in job.parameters.items() if name in names and value is not None}
    features = [column for column in job.columns if column != job.target]
    about: dict[str, object] = {"target": job.target, "columns": ", ".join(features)}
    told = {name: value for name, value in {**about, **given}.items() if name in names and value}
    texts = {name: _text(value) for name, value in told.items()}
    head = {
        "protocol": job.protocol,
        "peer": job.peer,
        "table": job.table,
        "peer_table": job.peer_table,
        "purpose": job.purpose,
    }
    zeros = {name: _text(value) for name, value in given.items() if value == 0}
    return {**head, **texts, **zeros}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
