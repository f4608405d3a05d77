"""`smc prepare` as a page: the content of a table, the proposed schema, and changes to it."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from parties.alone.preparing import writing
from parties.alone.preparing.columns import TableProfile
from parties.alone.preparing.fitting import fit, peer_schema
from parties.alone.preparing.overruling import MEANS, TYPES, Wish, overruled
from parties.alone.preparing.proposing import ColumnPair, TableProposal, propose
from parties.base.text import listed
from parties.web.own_tables import OwnTables, UndecidedError
from parties.web.render import Renderer
from parties.web.visits import Visit
from smc.errors import InputError

READING = "reading:"  # begins the names of the fields of chosen readings
FIELDS = {"type": 20, "low": 40, "high": 40, "width": 40, "values": 4000}  # characters at most


class Wizard:
    """Handlers of the form that prepares a table, and of its submission."""

    def __init__(self, tables: OwnTables, renderer: Renderer) -> None:
        self._tables, self._renderer = tables, renderer

    def form(self, visit: Visit) -> Response:
        """Show the content of the table's columns, and the proposal for each."""
        visit.session.person.check("administer")
        return self._show(visit, visit.request.query_params.get("target", ""), {})

    def submit(self, visit: Visit) -> Response:
        """Show the changed proposal, send one of its files, or write both."""
        visit.session.person.check("administer")
        form, name = visit.form, self._name(visit)
        target = form.get("target", "")
        try:
            visit.check()
            table, before = self._proposal(visit, target)
        except InputError as error:
            return self._show(visit, target, {}, str(error))
        wishes = {
            column.name: Wish(*(form.get(f"{field}:{index}", "").strip()[:limit] for field, limit in FIELDS.items()))
            for index, column in enumerate(before.columns)
        }
        try:
            if unknown := [wish.type for wish in wishes.values() if wish.type not in TYPES]:
                raise InputError(f"there is no type {unknown[0]!r}")
            after = overruled(table, before, wishes)
            action = form.get("action", "show")
            if action in ("schema", "mapping"):
                return _file(f"{action}.toml", self._text(name, action, table, after))
            if action in ("compare", "fitted"):
                fitted = fit(table, peer_schema(form.get("theirs", ""), self._tables.settings(name).schema_file))
                if action == "fitted":
                    return _file("mapping.toml", self._text(name, "mapping", table, fitted))
                return self._show(visit, target, wishes, pairs=fitted.pairs)
            done = self._write(name, table, after, form) if action == "write" else ""
            return self._show(visit, target, wishes, said=done)
        except InputError as error:
            return self._show(visit, target, wishes, str(error))

    def _write(self, name: str, table: TableProfile, proposal: TableProposal, form: dict[str, str]) -> str:
        replace = form.get("replace") == "yes"
        texts = {what: self._text(name, what, table, proposal) for what in ("schema", "mapping")}
        names = self._tables.write(name, texts, replace)
        return f"Written: {listed(names)}, beside the table’s schema. Nothing else has changed."

    def _text(self, name: str, what: str, table: TableProfile, proposal: TableProposal) -> str:
        if what == "schema":
            return proposal.schema.text()
        return writing.mapping_text(name, table, proposal).lstrip("\n")

    def _name(self, visit: Visit) -> str:
        name = str(visit.request.path_params["table"])
        if name not in self._tables:
            raise HTTPException(404, "there is no such table in party.toml")
        return name

    def _proposal(self, visit: Visit, target: str) -> tuple[TableProfile, TableProposal]:
        table = self._tables.profile(self._name(visit), target or None, _readings(visit))
        return table, propose(table, target or None)

    def _show(
        self,
        visit: Visit,
        target: str,
        wishes: dict[str, Wish],
        problem: str = "",
        said: str = "",
        pairs: tuple[ColumnPair, ...] = (),
    ) -> Response:
        name = self._name(visit)
        context: dict[str, object] = {
            "table": name,
            "problem": problem,
            "said": said,
            "types": TYPES,
            "target": target,
            "means": MEANS,
            "readings": _readings(visit),
            "question": None,
            "pairs": pairs,
            "theirs": visit.form.get("theirs", ""),
        }
        none = {"lines": [], "rows": 0, "remarks": [], "tells": "", "names": []}
        try:
            table, before = self._proposal(visit, target)
        except UndecidedError as error:
            code = 400 if problem else 200
            return self._renderer.page(visit, "wizard.html", {**context, **none, "question": error.question}, code)
        except InputError as error:
            return self._renderer.page(visit, "wizard.html", {**context, **none, "problem": problem or str(error)}, 400)
        after = before
        if not problem:
            after = overruled(table, before, wishes)
        missing = {column.name: table.rows - column.rows for column in table.columns}
        lines = [
            (
                index,
                was.name,
                was.holds,
                missing.get(was.name, 0),
                writing.becomes(now),
                now.remarks,
                wishes.get(was.name, Wish()),
            )
            for index, (was, now) in enumerate(zip(before.columns, after.columns, strict=True))
        ]
        context |= {"lines": lines, "rows": table.rows, "remarks": before.remarks, "tells": writing.TELLS}
        context |= {"names": [column.name for column in table.columns]}
        return self._renderer.page(visit, "wizard.html", context, 400 if problem else 200)


def _readings(visit: Visit) -> list[str]:
    """Return the readings that were chosen, such as `born=day-first`."""
    fields = visit.form or visit.request.query_params
    return [text for name, text in fields.items() if name.startswith(READING)]


def _file(name: str, text: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, headers=headers, media_type="application/toml")
