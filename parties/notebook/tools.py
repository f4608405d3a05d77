"""The tools for your own rows alone as functions, made from the options of their commands.

    blur(plan="blur.toml", data=frame).frame()
    attack.link(published=frame, known=other, columns="zip,age", row="id").document
    publish.check(plan="publish.toml", data=frame).document

An argument is an option of the command, without `--` and with `_` for `-`. A data frame stands for a file of rows.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import narwhals.stable.v2 as nw

from parties.base.text import instead
from parties.cli import cli
from parties.tables import categories
from smc.errors import InputError


@dataclass(frozen=True)
class Outcome:
    """The result of a tool: what the command prints, as JSON if it can, and the file that it writes without `out`."""

    document: dict[str, Any] | None
    text: str
    output: str | None
    _backend: Any = None

    def frame(self) -> Any:
        """Return the rows of `output` as a frame of the library of the given frame.

        Raises:
            InputError: The tool has no `output`.
        """
        if self.output is None:
            raise InputError("frame: there is none; give rows as a data frame, and no out")
        return nw.read_csv(io.StringIO(self.output), backend=self._backend).to_native()

    def __repr__(self) -> str:
        return self.text


class Tool:
    """A command for your own rows as a function; a group of commands has them as attributes."""

    def __init__(self, name: str, command: click.Command) -> None:
        self._name, self._command = name, command
        options = [each for each in command.params if isinstance(each, click.Option | click.Argument)]
        named = {max(each.opts, key=len).lstrip("-").replace("-", "_"): each for each in options}
        self._options = {key: each for key, each in named.items() if key not in ("json", "help_all")}
        needed, keyword = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(key, keyword, default=needed if each.required else None)
                for key, each in self._options.items()
            ]
        )
        helps = [f"    {key}: {getattr(each, 'help', None) or 'see above.'}" for key, each in self._options.items()]
        self.__doc__ = "\n".join([command.help or "", "", "Args:", *helps])

    def __dir__(self) -> list[str]:
        names = self._command.commands if isinstance(self._command, click.Group) else ()
        return sorted(name.replace("-", "_") for name in names)

    def __getattr__(self, word: str) -> Tool:
        if word.startswith("_") or word not in dir(self):
            raise AttributeError(f"{self._name} has no {word!r}{instead(word, dir(self))}")
        name = word.replace("_", "-")
        return Tool(f"{self._name} {name}", self._command.commands[name])  # type: ignore[attr-defined]

    def __call__(self, **given: Any) -> Outcome:
        """Run the command in this process, and return its result.

        Raises:
            InputError: An option is unknown, missing or wrong.
        """
        with TemporaryDirectory() as folder:
            files, backend, words = Path(folder), None, list[str]()
            for key, value in given.items():
                if key not in self._options:
                    raise InputError(f"{key}: is no argument of {self._name}{instead(key, self._options)}")
                for each in value if isinstance(value, list | tuple) else [value]:
                    if (frame := categories.frame(each)) is not None:
                        backend = frame.implementation
                        _spelled(frame).write_csv(each := files / f"{key}{len(words)}.csv")
                    option = self._options[key]
                    if each is True and not getattr(option, "is_flag", False):
                        raise InputError(f"{key}: needs a value, not True")
                    flag = [] if isinstance(option, click.Argument) else [max(option.opts, key=len)]
                    words += [] if each is None or each is False else flag if each is True else [*flag, str(each)]
            out = files / "out.csv"
            if backend is not None and "out" in self._options and given.get("out") is None:
                words += ["--out", str(out)]
            has_json = any(each.name == "as_json" for each in self._command.params)
            words += ["--json"] if has_json else []
            try:
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    self._command.main(words, f"smc {self._name}", standalone_mode=False)
            except click.ClickException as error:
                raise InputError(f"{self._name}: {error.format_message()}") from None
            text = printed.getvalue()
            document = json.loads(text) if has_json and text else None
            return Outcome(document, text, out.read_text(encoding="utf-8") if out.exists() else None, backend)


def _spelled(frame: categories.Frame) -> categories.Frame:
    """Return a frame whose whole fractions and truth values have the spelling of a file: a gap made 3 to 3.0."""
    kinds = (nw.Float64, nw.Float32, nw.Boolean, nw.Object)
    changed = [
        nw.new_series(each.name, list(map(categories.spell, each.to_list())), nw.String, backend=frame.implementation)
        for each in frame.iter_columns()
        if each.dtype in kinds
    ]
    return frame.with_columns(*changed) if changed else frame


def _tool(name: str) -> Tool:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return Tool(name, command)


attack, blur, local, publish = map(_tool, ("attack", "blur", "local", "publish"))
