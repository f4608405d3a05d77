"""The form that proposes a job: what was typed becomes the content of a job file."""

from __future__ import annotations

import re
from typing import Any

from starlette.responses import RedirectResponse, Response

from parties.operator.interface import JobView, Operator
from parties.text import quoted
from parties.web.render import Renderer
from parties.web.visits import Visit
from parties.web.words import features
from smc.errors import InputError

TEXTS = ("table", "peer_table", "purpose", "target")
NUMBERS: dict[str, type[int] | type[float]] = {"delta": float, "min_rows": int, "max_depth": int, "max_rows": int}
FIELDS = (*TEXTS, "columns", *NUMBERS)


class Proposals:
    """Shows the form and takes what it sends."""

    def __init__(self, operator: Operator, renderer: Renderer) -> None:
        self._operator, self._renderer = operator, renderer

    def form(self, visit: Visit) -> Response:
        """An empty form, or one filled in like the job that `like` names."""
        like = visit.request.query_params.get("like")
        try:
            return self._show(visit, _like(self._operator.job(like)) if like else {})
        except InputError as error:
            return self._show(visit, {}, str(error))

    def submit(self, visit: Visit) -> Response:
        """Propose the job and go to its page; if it will not do, the form says why and still has all of it."""
        try:
            visit.check()
            job = self._operator.submit(_job(visit.form))
        except InputError as error:
            return self._show(visit, visit.form, str(error))
        return RedirectResponse(f"/jobs/{job.id}", 303)

    def _show(self, visit: Visit, typed: dict[str, str], problem: str = "") -> Response:
        values = {name: typed.get(name, "") for name in FIELDS}
        context = {"typed": values, "problem": problem}
        return self._renderer.page(visit, "propose.html", context, 400 if problem else 200)


def _job(form: dict[str, str]) -> dict[str, Any]:
    """The content of a job file: the fields that are not empty. `InputError` for what is no number."""
    given = {name: form[name].strip() for name in FIELDS if form.get(name, "").strip()}
    job: dict[str, Any] = {name: given[name] for name in TEXTS if name in given}
    if "columns" in given:
        job["columns"] = [name.strip() for name in re.split(r"[,\n]", given["columns"]) if name.strip()]
    return job | {name: _number(name, given[name]) for name in NUMBERS if name in given}


def _number(name: str, text: str) -> int | float:
    kind = NUMBERS[name]
    try:
        if len(text) > 40:  # Python refuses numbers that are much longer with words of its own
            raise ValueError
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number, with a point as in 0.001"
        raise InputError(f"{name}: must be {what}, not {quoted(text)}") from None


def _like(job: JobView) -> dict[str, str]:
    """What to type for a job like this one."""
    numbers = {name: job.parameters.get(name) for name in NUMBERS}
    typed = {name: str(value) for name, value in numbers.items() if value is not None}
    texts = {"table": job.table, "peer_table": job.peer_table, "purpose": job.purpose, "target": job.target}
    return {**texts, "columns": ", ".join(features(job)), **typed}
