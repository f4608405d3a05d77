"""The form that proposes a job: its input becomes the content of a job file.

Its fields are the settings of the chosen kind of job; the node names a wrong field.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from parties.base.settings import problems
from parties.base.text import is_marked, quoted
from parties.jobs import kinds
from parties.jobs.settings import Parameter, check_names, private_parameters, public_parameters
from parties.operator.interface import MAX_PURPOSE, JobView, Operator
from parties.web import questions
from parties.web.own_tables import OwnTables
from parties.web.render import Renderer
from parties.web.visits import Visit
from smc.errors import InputError

HEAD = {  # fields for every kind
    "protocol": "Question",
    "purpose": "Purpose",
    "permit": "Permit",
    "peer": "Peer",
    "table": "Our table",
    "peer_table": "The peer’s table",
    "holders": "Holders of rows",
    "to": "Holders that get the result",
    "compute_only": "Only the holders give rows",
    "holder_table": "The holders’ table",
    "wait_hours": "Hours until the job ends",
}
TICK = ":"  # between a setting and the name of a ticked column
LONGEST_NUMBER = 40  # digits: Python refuses much longer numbers with a text of its own


class Proposals:
    """Handlers of the form for a proposal, and of its submission."""

    def __init__(self, renderer: Renderer, own: OwnTables) -> None:
        self._renderer, self._own = renderer, own

    def form(self, visit: Visit) -> Response:
        """Show the questions to choose from, or the form for one: empty, or filled from the job that `like` names."""
        visit.session.person.check("propose")
        query = visit.request.query_params
        like = query.get("like")
        if not like and "kind" not in query:
            return self._questions(visit)
        try:
            new = {name: query.get(name, "") for name in HEAD} | {"protocol": query.get("kind") or kinds.DEFAULT}
            typed = _like(visit.operator.job(like)) if like else new
            kinds.find(typed["protocol"])
            return self._show(visit, typed)
        except InputError as error:
            return self._show(visit, {}, str(error))

    def submit(self, visit: Visit) -> Response:
        """Propose the job and go to its page; if that fails, show the reason and the filled form."""
        visit.session.person.check("propose")  # the form reveals facts about our rows
        typed = _typed(visit.form)
        try:
            visit.check()
            fields, wrong = _job(typed)
            if wrong:
                raise InputError(_listed(_further(visit.operator, fields, wrong)))
            return RedirectResponse(f"/jobs/{visit.operator.submit(fields).id}", 303)
        except InputError as error:
            return self._show(visit, typed, str(error))

    def _questions(self, visit: Visit) -> Response:
        """Show the questions; known fields of the job are passed on with each."""
        fields = {name: text for name in HEAD if name != "protocol" and (text := visit.request.query_params.get(name))}
        return self._renderer.page(visit, "questions.html", {"groups": list(questions.grouped()), "known": fields})

    def _show(self, visit: Visit, typed: Mapping[str, str], problem: str = "") -> Response:
        protocol = typed.get("protocol", kinds.DEFAULT)
        if not kinds.is_known(protocol):
            protocol = kinds.DEFAULT
        fields = _fields(protocol)
        values = {name: typed.get(name, "") for name in (*HEAD, *(field.key for field in fields))}
        columns = visit.operator.node().columns
        wrong = _wrong(problem, values)
        asked = sorted((field for field in fields if not field.is_engine), key=_urgency)
        more = [field for field in asked if not questions.is_first(field)]
        context = {
            "typed": values,
            "problem": problem,
            "wrong": wrong,
            "titles": HEAD | {field.key: field.title for field in fields},
            "longest_purpose": MAX_PURPOSE,
            "by_field": bool(_by_field(problem, values)),
            "focus": next((name for name in (*HEAD, *(field.key for field in asked), *values) if name in wrong), ""),
            "columns": columns,
            "own": [(name, self._own.quality(name)) for name in columns if name in self._own],
            "ticked": {
                field.key: _ticked(values[field.key], values["table"], columns) for field in fields if field.column
            },
            "chosen": protocol,
            "groups": list(questions.grouped()),
            "question": questions.question(protocol),
            "listed": {name: read_list(values[name]) for name in ("holders", "to")},
            "line": kinds.line(protocol),
            "means": questions.MEANS,
            "typed_here": bool(private_parameters(kinds.find(protocol).Settings)),  # it needs no table
            "what": [field for field in asked if questions.is_first(field)],
            "more": more,
            "more_given": any(values[name] or name in wrong for name in ("peer_table", *(field.key for field in more))),
            "how": [field for field in fields if field.is_engine],
            "how_given": any(values[field.key] or field.key in wrong for field in fields if field.is_engine),
        }
        return self._renderer.page(visit, "propose.html", context, 400 if problem else 200)


def _further(operator: Operator, fields: dict[str, Any], wrong: dict[str, str]) -> dict[str, str]:
    """Return all faults by field: those in `wrong`, wrong columns, and the node's remarks on the other fields.

    Nothing is proposed.
    """
    columns = operator.node().columns.get(fields.get("table", ""), [])
    wrong = (_misnamed(fields, columns) if columns else {}) | wrong
    while True:
        rest = {name: value for name, value in fields.items() if name not in wrong}
        try:
            operator.simulate(rest)
            return wrong
        except InputError as error:
            more = _by_field(str(error), rest)
        if not more:
            return wrong
        wrong = wrong | more


def read_field(field: Parameter, text: str) -> Any:
    """Return the text of a field as a value for a job file.

    Args:
        field: The setting.
        text: The text.

    Raises:
        InputError: The text is invalid.
    """
    if field.type is tuple:
        return read_list(text)
    if field.type is bool:
        return text == "yes"
    if field.type not in (int, float):
        return text
    try:
        if len(text) > LONGEST_NUMBER:
            raise ValueError
        return field.type(text)
    except ValueError:
        what = "a whole number" if field.type is int else "a number, with a point as in 0.001"
        raise InputError(f"{field.key}: must be {what}, not {quoted(text)}") from None


def read_list(text: str) -> list[str]:
    """Return the names in a text, which commas or line ends separate."""
    return [part.strip() for part in re.split(r"[,\n]", text) if part.strip()]


def _typed(form: Mapping[str, str]) -> dict[str, str]:
    fields = {name: text for name, text in form.items() if TICK not in name}
    for name in form:
        key, mark, column = name.partition(TICK)
        if mark and column not in (typed := read_list(fields.get(key, ""))):
            fields[key] = ", ".join([*typed, column])
    return fields


def _ticked(text: str, table: str, columns: Mapping[str, list[str]]) -> tuple[set[str], str]:
    """Return the columns of a field: those to tick, and the others as text.

    All are text if their order differs from the table's: related values may follow that order.
    """
    names = read_list(text)
    table_columns = columns.get(table, [name for some in columns.values() for name in some])
    ticks = [name for name in names if name in table_columns]
    if table in columns and ticks != [name for name in table_columns if name in ticks]:
        return set(), text
    return set(ticks), ", ".join(name for name in names if name not in table_columns)


def _urgency(field: Parameter) -> int:
    """Return the rank of a field on the form: required fields come first, columns before others."""
    if field.is_needed:
        return 0 if field.column else 1
    return 2 if field.role == "private" else 3


def _wrong(problem: str, known: Collection[str]) -> dict[str, str]:
    """Return the faults by field, from the node's error message.

    A message without a key at its beginning belongs to the fields that it names. If it names none, the result is empty:
    the whole form is wrong.
    """
    named = {name: problem for name in known if re.search(rf"\b{re.escape(name)}\b", problem)}
    return _by_field(problem, known) or named


def _listed(wrong: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in wrong.items())


def _by_field(problem: str, known: Collection[str]) -> dict[str, str]:
    """Return the faults by field, from messages that begin with a field's key.

    The messages are joined by semicolons; a message may contain semicolons as well.
    """
    problems: dict[str, str] = {}
    key = ""
    for part in problem.split("; "):
        name, _, text = part.partition(": ")
        if name in known and text:
            key, problems[name] = name, text
        elif key:
            problems[key] += f"; {part}"
    return problems


def _fields(protocol: str) -> list[Parameter]:
    settings = kinds.find(protocol).Settings
    return [*public_parameters(settings), *private_parameters(settings)]


def _job(form: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the content of a job file from the non-empty fields, and the faults by field."""
    protocol = form.get("protocol") or kinds.DEFAULT
    job: dict[str, Any] = {name: form[name].strip() for name in HEAD if form.get(name, "").strip()}
    job |= {name: read_list(job[name]) for name in ("holders", "to") if name in job}
    if "compute_only" in job:
        job["compute_only"] = job["compute_only"] == "yes"
    if job.get("wait_hours", "").isdecimal():
        job["wait_hours"] = int(job["wait_hours"][:LONGEST_NUMBER])
    fields = _fields(protocol)
    read: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for field in fields:
        text = form.get(field.key, "").strip()
        try:
            read |= {field.key: read_field(field, text)} if text else {}
        except InputError as error:
            wrong |= _by_field(str(error), (field.key,))
    wrong |= _unfit(protocol, read)
    missing = {field.key: "is missing" for field in fields if field.is_missing(read)}
    return {"protocol": protocol} | job | read, missing | wrong


def _misnamed(fields: Mapping[str, Any], columns: list[str]) -> dict[str, str]:
    wrong: dict[str, str] = {}
    for field in _fields(fields["protocol"]):
        if field.column and field.key in fields:
            names = fields[field.key]
            try:
                check_names(field.key, [names] if isinstance(names, str) else names, columns)
            except InputError as error:
                wrong |= _by_field(str(error), (field.key,))
    return wrong


def _unfit(protocol: str, read: dict[str, Any]) -> dict[str, str]:
    """Return the faults of single fields that can be found without the node's tables."""
    settings = kinds.find(protocol).Settings
    try:
        settings.model_validate(read)
    except ValidationError as error:
        return {key.partition(".")[0]: text for key, text in problems(error, settings).items() if key}
    return {}


def _like(job: JobView) -> dict[str, str]:
    """Return the form's input for a job like this one."""
    names = {field.key for field in public_parameters(kinds.find(job.protocol).Settings)}
    parameters = {name: value for name, value in job.parameters.items() if name in names and value is not None}
    features = [column for column in job.columns if column != job.target]
    subject: dict[str, object] = {"target": job.target, "columns": ", ".join(features)}
    fields = {name: value for name, value in {**subject, **parameters}.items() if name in names and value}
    texts = {name: _text(value) for name, value in fields.items()}
    head = {
        "protocol": job.protocol,
        "peer": job.peer,
        "table": job.table,
        "peer_table": job.peer_table,
        "permit": job.permit,
        "purpose": "" if is_marked(job.purpose) else job.purpose,  # hidden text must not be passed on unseen
    }
    zeros = {name: _text(value) for name, value in parameters.items() if value == 0}
    return {**head, **{name: _text(value) for name, value in job.holding.items()}, **texts, **zeros}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
