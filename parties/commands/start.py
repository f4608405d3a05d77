"""`smc start`: the steps from a raw file to the first joint answer. Each is a command, printed before it runs.

The files that the commands write are the only state: a step is done if its file is there.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from parties.base import console, files
from parties.base.address import parse_address
from parties.base.report import Report
from parties.base.settings import MOST_OF_A_PERSON, merge
from parties.base.text import quoted, visible
from parties.commands.init import ANYWHERE, LINK_PORT
from parties.commands.kinds import read_flags
from parties.commands.options import FOLDER, PARTY_FILE, names_of
from parties.commands.own_table import by_table
from parties.commands.readings import ReadingOptions
from parties.commands.rows import place
from parties.commands.signature import argument, command, option
from parties.jobs import kinds
from parties.jobs.settings import Parameter, parameters
from parties.jobs.tabular import TabularSettings
from parties.link.identity import fingerprint, load_certificate
from parties.party_file import PartyFile, load
from parties.sources.settings import TableSettings
from parties.tables import schema as schemas
from parties.tables.toml_text import toml_key
from smc.errors import InputError, SmcError

AGREED, THEIRS, ANSWER = "agreed.toml", "theirs.toml", "answer.json"  # in the folder
KEEP, MAP = "keep my schema: they map their table to it", "map my table to their schema"
WAYS = ("merge both schemas: keep the columns of equal names", MAP, KEEP)
MENU = ("id3", "release count", "release mean", "rank", "test chi2")
USUAL = {"epsilon": "1"}


@dataclass(frozen=True)
class Step:
    """Step of `smc start`: name, words of its command, whether it is done, a function that asks and runs it."""

    name: str
    words: Sequence[str]
    done: bool
    run: Callable[[], None]

    @property
    def line(self) -> str:
        """The command line."""
        return shlex.join(self.words)


@command("start", "smc start patients.csv --out clinic")
def start(
    raw: str | None = argument(metavar="[FILE]"),
    out: Path = option("Directory for your files  [.]", FOLDER, default=Path()),
) -> Report:
    """Go step by step from a raw file to the first joint answer.

    A terminal asks you one thing at a time. Each step is a command of smc. It is printed before it runs, so that you
    can repeat it yourself. Stop at any time: the next smc start in the same directory goes on from there. Your peer
    does the same. Without a terminal, or with --json, the steps are only listed.
    """
    way = Way(out, raw)
    steps = way.steps()
    report = Report([{"step": step.name, "command": step.line, "done": step.done} for step in steps])
    if not console.is_asked() or click.get_current_context().params["as_json"]:
        report.table({"": "", "step": "", "command": ""}, _marked(steps))
        return report
    try:
        while (number := next((i for i, step in enumerate(steps, 1) if not step.done), None)) is not None:
            console.err.print(f"\nStep {number} of {len(steps)}: {steps[number - 1].name}")
            way.take(steps[number - 1])
            steps = way.steps()
    except (SmcError, KeyboardInterrupt, click.Abort):
        again = ["smc", "start", *([raw] if raw is not None else []), *(["--out", str(out)] if out != Path() else [])]
        console.err.print(f"\n{shlex.join(again)} goes on from here")
        raise
    report.line(f"all steps are done; the answer is in {out / ANSWER}")
    rows = ["smc", "predict", "--tree", str(out / ANSWER), "--data", "NEW.csv", "--config", str(out / PARTY_FILE)]
    classify = f"; classes of new rows: {shlex.join(rows)}" if _is_tree(out / ANSWER) else ""
    report.note(f"next: another question, such as smc release --help{classify}")
    return report


def _is_tree(answer: Path) -> bool:
    from parties.models.load import load_trees  # loads the arithmetic of models

    try:
        load_trees(answer)
    except InputError:
        return False
    return True


def _marked(steps: Iterable[Step]) -> list[tuple[str, str, str]]:
    next_ = next((step for step in steps if not step.done), None)
    return [("done" if step.done else "next" if step is next_ else "", step.name, step.line) for step in steps]


class Way:
    """Steps of one party, from its raw file to the first joint answer, in its folder."""

    def __init__(self, out: Path, raw: str | None) -> None:
        self._out, self._raw, self._asked, self._is_alike = out, raw, 0, False
        self._party = out / PARTY_FILE
        if raw is not None and ("://" in raw or not Path(raw).is_file()):
            raise InputError(f"FILE: {raw} is not a file here; for a database, run smc prepare first, see its --help")

    def steps(self) -> list[Step]:
        """Return the steps, with their state by the present files. Raise InputError for several tables or peers."""
        file = load(self._party if self._party.exists() else None)
        if len(file.tables) > 1 or (self._party.exists() and "peers" in files.read_toml(self._party)):
            raise InputError(f"{self._party}: has several tables or peers; smc start is for one, give another --out")
        own = next(iter(file.tables.values()), None)
        if own is None and self._raw is None:
            raise InputError(f"FILE: is missing, and {self._party} has no table; give your raw file")
        if own is not None and self._raw is not None and os.path.realpath(own.source) != os.path.realpath(self._raw):
            raise InputError(f"FILE: {self._party} has a table of {own.source}; remove FILE, or give another --out")
        raw = self._raw or (own.source if own is not None else "")
        schema = self._out / "schema.toml" if own is None else own.schema_file
        agreed, answer, config = self._out / AGREED, self._out / ANSWER, ["--config", str(self._party)]
        peer = file.link.peer or self._out / "PEER.crt"
        theirs, folder = self._out / THEIRS, ["--out", str(self._out)]
        names = ["--name", "NAME", "--peer-name", "PEER", "--listen", f"{ANYWHERE}:{LINK_PORT}"]
        merging = ["smc", "schema", "--schema", str(schema), "--merge"]
        is_agreed = agreed.exists() and schema.exists() and files.read_bytes(agreed) == files.read_bytes(schema)
        question = ["smc", "id3", *config, "--out", str(answer)]
        return [
            Step("look", ["smc", "prepare", raw, "--target", "COLUMN", *folder], own is not None, self._look),
            Step("link", ["smc", "init", *folder, *names], file.link.peer is not None, self._link),
            Step(
                "certificate",
                ["smc", "identity", "show", str(peer)],
                file.link.peer is not None and peer.exists(),
                lambda: self._certificate(file, schema),
            ),
            Step(
                "their schema",
                [*merging, str(theirs), "--out", str(agreed)],
                agreed.exists(),
                lambda: self._merge(file, merging, theirs, agreed),
            ),
            Step("agree", ["cp", str(agreed), str(schema)], is_agreed, lambda: self._copy(agreed, schema)),
            Step("question", question, answer.exists(), lambda: self._question(file, schema, answer)),
        ]

    def take(self, step: Step) -> None:
        """Run a step. After a wrong answer print the error, for the caller to repeat; raise it if nothing was asked."""
        before = self._asked
        try:
            step.run()
        except (InputError, click.UsageError) as error:
            if self._asked == before:
                raise
            console.err.print(f"smc: {visible(str(error))}")

    def _look(self) -> None:
        raw = self._raw or ""
        with console.progress(f"reading {raw}") as status:
            columns, encoding = _columns(raw, ReadingOptions((), False).choices(status))
        console.err.print(f"columns: {', '.join(map(visible, columns))}")
        named, one = names_of(columns), _one_name(columns)
        target = self._ask("Class column that a tree predicts; the peer learns all its values (empty: none)", "", one)
        out = self._ask(
            "Columns to leave out, with commas (empty: none; keys and free text go by themselves)", "", named
        )
        person = self._ask("Column that names the person, if one has several rows (empty: none)", "", one)
        words = ["prepare", raw, *(["--target", target[0]] if target else [])]
        words += [word for column in out for word in ("--exclude", column)]
        if person:
            most = self._ask("How many rows of a person count, as your peer has it too", "1", _number)
            words += ["--person", f"{person[0]}={most}"]
        words += ["--reading", f"*={encoding}"] if encoding != "utf-8" else []
        words += ["--out", str(self._out)]
        _run(words)
        console.err.print("Read the schema: it is for your peer. To change it, repeat the command with --force.")

    def _link(self) -> None:
        own = self._ask("Name of your party", None)
        peer = self._ask("Name of the peer", None)
        words = ["init", "--out", str(self._out), "--name", own, "--peer-name", peer]
        if click.confirm(f"One of you listens. Does {peer} dial you?", default=True, err=True):
            listen = self._ask("Listen on HOST:PORT; open this port for the peer", f"{ANYWHERE}:{LINK_PORT}", _address)
            words += ["--listen", listen]
        else:
            words += ["--connect", self._ask(f"Address of {peer}, HOST:PORT", None, _address)]
        _run(words)

    def _certificate(self, file: PartyFile, schema: Path) -> None:
        own, peer = file.link.certificate, file.link.peer
        assert own is not None
        assert peer is not None
        console.err.print(f"Send {own} and {schema} to {peer.stem}. Never send {file.link.identity}.")
        theirs = self._ask(f"Certificate that {peer.stem} sent you", str(peer), _path(load_certificate, own))
        _run(["identity", "show", theirs])
        self._copy(Path(theirs), peer)

    def _merge(self, file: PartyFile, merging: Sequence[str], theirs: Path, agreed: Path) -> None:
        assert file.link.peer is not None
        peer, schema = file.link.peer.stem, Path(merging[3])
        alike = f". If {peer}'s has the same text, stop and run {shlex.join(['cp', str(schema), str(agreed)])}"
        got = self._ask(f"Schema that {peer} sent you", str(theirs), _path(schemas.load, schema, alike))
        ours, other = schemas.load(schema), schemas.load(Path(got))
        common = [name for name in ours.attributes if name in other.attributes]
        way = WAYS[0]
        if 2 * len(common) < min(len(ours.attributes), len(other.attributes)):
            console.err.print(f"Only {len(common)} of your columns have the name of one of {peer}'s.")
            for number, text in enumerate(WAYS, 1):
                console.err.print(f"{number}  {text}")
            usual = WAYS.index(MAP if file.link.connect else KEEP) + 1
            way = self._ask("One of you chooses 2, the other 3. Number", str(usual), _one_of(WAYS))
        if way == MAP:
            _run(["prepare", "--config", str(self._party), "--schema", got, "--force"])
        if way != WAYS[0]:
            self._copy(Path(got) if way == MAP else schema, agreed)
            return
        words, targets = [*merging[1:], got], [ours.target, other.target]
        if common and None not in targets and targets[0] != targets[1]:
            text = f"Your target is {targets[0]}, and {peer}'s is {targets[1]}. Target that both of you take"
            words += ["--target", *self._ask(text, None, _one_name(common))]
        _run([*words, "--out", str(agreed)])

    def _copy(self, source: Path, target: Path) -> None:
        if source.resolve() != target.resolve():
            console.err.print(f"$ {shlex.join(['cp', str(source), str(target)])}")
            files.write_bytes(target, files.read_bytes(source))

    def _question(self, file: PartyFile, schema: Path, answer: Path) -> None:
        from parties.web import questions  # loads what reads keys

        own, peer, agreed = file.link.certificate, file.link.peer, schemas.load(schema)
        assert own is not None
        assert peer is not None
        if _run(["check", "--config", str(self._party), "--wait", "1"]):
            console.err.print(
                f"It is normal that {peer.stem} does not answer before {peer.stem} asks the question too."
            )
        self._compare(file, own, peer, agreed)
        for number, kind in enumerate(MENU, 1):
            console.err.print(f"{number}  {questions.question(kind)}  smc {kind}")
        chosen = self._ask("Both of you ask the same question. Number", "1", _one_of(MENU))
        words, answers = [*chosen.split(), "--config", str(self._party)], dict[str, str]()
        check = _checked(chosen, next(iter(file.tables.values())), answers)
        for parameter in parameters(kinds.find(chosen).Settings):
            words += self._setting(parameter, agreed, check)
        _run([*words, "--out", str(answer)])

    def _compare(self, file: PartyFile, own: Path, peer: Path, agreed: schemas.Schema) -> None:
        """Ask whether both sides have the same certificates, schema, target, person and link; once in a run."""
        if self._is_alike:
            return
        ((table_name, table),) = file.tables.items()
        listens, dials = (peer.stem, own.stem) if file.link.connect else (own.stem, peer.stem)
        for name, text in (
            (f"{own.stem}, you", fingerprint(load_certificate(own))),
            (peer.stem, fingerprint(load_certificate(peer))),
            ("schema", agreed.digest()),
            ("target", agreed.target or "none"),
            ("person", f"at most {table.at_most} rows of each" if table.at_most else "none, each row counts by itself"),
            ("link", f"{dials} dials {listens}"),
        ):
            console.err.print(f"{name}: {visible(text)}")
        question = f"Telephone {peer.stem} and read these to each other. Are all six alike on both sides?"
        self._asked += 1
        if not click.confirm(question, default=False, err=True):
            raise InputError(
                f"both sides must have the same files: if a certificate differs, remove {peer}; if the schema or the "
                f"target, remove {self._out / AGREED}; if the person, set person and at_most of "
                f"[tables.{toml_key(table_name)}] in {self._party} at both of you, or at neither; if the link, "
                "set listen there at one of you and connect at the other; then start again"
            )
        self._is_alike = True

    def _setting(
        self, parameter: Parameter, agreed: schemas.Schema, check: Callable[[Parameter, str], str]
    ) -> list[str]:
        """Ask for a setting that the question needs; return its flag and value, empty if it is not needed."""
        is_target = parameter.key == "target" and agreed.target is None
        if parameter.role != "public" or not (parameter.is_needed or is_target or parameter.key == "where"):
            return []
        default = USUAL.get(parameter.key, "" if parameter.key == "where" else None)
        named = names_of(list(agreed.attributes))

        def checked(text: str) -> str:
            return check(parameter, ",".join(named(text)) if parameter.column else text.strip())

        text = self._ask(parameter.help + (" (empty: all rows)" if default == "" else ""), default, checked)
        return [parameter.flag, text] if text else []

    def _ask(self, question: str, default: str | None, check: Callable[[str], Any] = str.strip) -> Any:
        """Ask until an answer passes the check, and return it; an empty answer means `default`."""

        def checked(text: str) -> Any:
            try:
                return check(text)
            except InputError as error:
                raise click.UsageError(str(error)) from None

        self._asked += 1
        return click.prompt(question, default, value_proc=checked, show_default=bool(default), err=True)


def _run(words: Sequence[str]) -> Any:
    """Print a command of smc, and run it in this process; return its exit code."""
    root = click.get_current_context().find_root()
    console.err.print(f"$ {shlex.join(['smc', *words])}")
    group: Any = root.command
    context, rest = root, [*words]
    while isinstance(group, click.Group):
        name, group, rest = group.resolve_command(context, rest)
        assert group is not None
        if isinstance(group, click.Group):
            context = click.Context(group, parent=context, info_name=name)
    with group.make_context(name, rest, parent=context) as inner:
        return group.invoke(inner)


def _columns(raw: str, choices: Any) -> tuple[list[str], str]:
    from parties.alone.preparing.spelling import spelling_of
    from parties.sources.opening import open_rows

    where = place(raw, None)
    spelling, _ = spelling_of(where, choices)
    with open_rows(where.model_copy(update={"format": spelling})) as rows:
        return [name for name in rows.types if name], spelling.encoding


def _checked(kind: str, table: TableSettings, answers: dict[str, str]) -> Callable[[Parameter, str], str]:
    """Return a function that checks an answer, with the earlier ones, as the kind's command checks its flags."""
    found = kinds.find(kind)
    options = [option for option in parameters(found.Settings) if option.role == "public"]

    def check(parameter: Parameter, text: str) -> str:
        flags: dict[str, Any] = {**answers, parameter.variable: text or None}
        numbers = {one.variable: one for one in options if one.is_number}
        flags |= {key: _typed(numbers[key], text) for key, text in flags.items() if key in numbers and text}
        settings = merge(found.Settings(), read_flags(options, flags))
        assert isinstance(settings, TabularSettings)
        try:
            found.planned(by_table(settings, table))
        except InputError as error:
            if "is missing" not in str(error):  # of a later question
                raise
        answers[parameter.variable] = text
        return text

    return check


def _typed(option: Parameter, text: str) -> Any:
    try:
        return option.type(text)
    except ValueError:
        raise InputError(f"type a number, not {quoted(text)}") from None


def _one_name(columns: Sequence[str]) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        if len(names := names_of(columns)(text)) > 1:
            raise InputError("type the name of one column")
        return names

    return check


def _one_of(names: Sequence[str]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in [str(number) for number in range(1, len(names) + 1)]:
            raise InputError(f"type a number from 1 to {len(names)}")
        return names[int(text) - 1]

    return check


def _path(read: Callable[[Path], Any], own: Path, alike: str = "") -> Callable[[str], str]:
    """Return a function that checks a file from the peer: `read` reads it, and it is neither `own` nor a copy."""

    def check(text: str) -> str:
        path = Path(text.strip()).expanduser()
        content = read(path)
        if content == read(own) or files.read_bytes(path) == files.read_bytes(own):
            raise InputError(f"{path} is your own file, or a copy; give the peer's{alike}")
        return str(path)

    return check


def _address(text: str) -> str:
    return str(parse_address(text.strip()))


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_OF_A_PERSON:
        raise InputError(f"type a number from 1 to {MOST_OF_A_PERSON:,}")
    return int(text)
