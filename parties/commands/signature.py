"""Commands from functions: the default of a parameter is the option or argument that fills it.

    @command("apply", "smc publish apply --recoding recoding.json --out out.csv", group)
    def apply_command(
        recoding: Path = option("The recoding, a JSON file."),
        force: bool = FORCE,
    ) -> None: ...

The flag is the parameter's name without `_file`. The annotation gives the type: a `bool` is a flag, a `Path` is a file,
a `tuple[..., ...]` is a repeatable option. An option is required unless it has a default, or may be None. A command
that returns a `Report` also has --json, and the report is printed.

Options that belong together are the fields of a class, or the parameters of a function, declared in the same way:

    @dataclass(frozen=True)
    class Keys:
        master: Path = option("The master key.")
        keys: Path = option("The file of keys.")

    def rotate(keys: Keys = settings(Keys)) -> Report: ...
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import click

from parties.commands.options import FILE, json_option

TYPES = {"Path": FILE, "int": int, "float": float}


class _Waiting:
    """Option or argument in place of a parameter's default; the parameter later gives its name and type."""

    def __init__(self, flag: str | None, fields: dict[str, Any], is_argument: bool = False) -> None:
        self.flag, self.fields, self.is_argument = flag, fields, is_argument

    def of(self, parameter: inspect.Parameter) -> Callable[[Any], Any]:
        """Return a decorator that adds the parameter to a click command, as an option or argument."""
        plain, _, other = parameter.annotation.partition(" | ")
        item = plain.removeprefix("tuple[").removesuffix(", ...]") if plain.endswith(", ...]") else plain
        fields: dict[str, Any] = {"type": TYPES[item]} if item in TYPES else {}
        if self.is_argument:
            fields |= {"nargs": -1} if item != plain else {"required": not other}
            return click.argument(parameter.name, **{**fields, **self.fields})
        if item != plain:
            fields["multiple"] = True
        elif plain == "bool" and not other:
            fields["is_flag"] = True
        elif not other and "default" not in self.fields:
            fields["required"] = True
        flag = self.flag or f"--{parameter.name.removesuffix('_file').replace('_', '-')}"
        return click.option(flag, parameter.name, **{**fields, **self.fields})


def option(text: str, kind: Any = None, /, flag: str | None = None, **fields: Any) -> Any:
    """Return an option as the default of a parameter.

    Args:
        text: Help of the option.
        kind: Click type, or a text: the metavar. Default: the type of the parameter's annotation.
        flag: Flag and, after a space, its metavar. Default: the flag from the parameter's name.
        fields: Further arguments of `click.option`.
    """
    name, _, metavar = (flag or "").partition(" ")
    if isinstance(kind, str):
        kind, metavar = None, kind
    more = {key: value for key, value in (("type", kind), ("metavar", metavar)) if value}
    return _Waiting(name or None, {"help": text, **more, **fields})


def argument(kind: Any = None, /, **fields: Any) -> Any:
    """Return an argument as the default of a parameter.

    Args:
        kind: Click type. Default: the type of the parameter's annotation.
        fields: Further arguments of `click.argument`.
    """
    return _Waiting(None, fields if kind is None else {"type": kind, **fields}, is_argument=True)


class _Settings:
    """Several options in place of one parameter's default; `make` builds the parameter's value from them."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make = make
        self.parameters = [*inspect.signature(make).parameters.values()]

    def filling(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose parameter of this name is built from these options.

        Args:
            name: Name of the parameter.
            function: Function of the command.
        """

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            mine = {parameter.name: given.pop(parameter.name) for parameter in self.parameters}
            return function(*args, **given, **{name: self.make(**mine)})

        return call


def settings(make: Callable[..., Any]) -> Any:
    """Return the default of a parameter whose value is built from several options.

    Args:
        make: A class or function. Its parameters are the options, and its result is the value of the parameter.
    """
    return _Settings(make)


def by_signature(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options and arguments that are the defaults of a function's parameters, in their order."""
    parameters = [*inspect.signature(function).parameters.values()]
    if function.__annotations__.get("return") == "Report":
        function = reporting(function)
    for parameter in parameters[::-1]:
        default, alone = parameter.default, [parameter]
        if isinstance(default, _Settings):
            function, alone = default.filling(parameter.name, function), default.parameters
        for each in alone[::-1]:
            add = each.default.of(each) if isinstance(each.default, _Waiting) else each.default
            if callable(add) and add is not each.empty:
                function = add(function)
    return function


def reporting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that prints the report of the given function; its new option --json prints JSON."""

    @functools.wraps(function)
    def call(*args: Any, as_json: bool, **others: Any) -> int:
        code: int = function(*args, **others).show(as_json)
        return code

    added: Callable[..., Any] = json_option(call)
    return added


def command(
    name: str | None = None, example: str = "", of: click.Group | None = None, **fields: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a function a click command; see the module's first lines.

    Args:
        name: Name of the command. None: the function's name.
        example: Command line at the end of the help.
        of: Group of the command, if it is in the same module.
        fields: Further arguments of `click.command`.
    """
    make: Callable[..., Any] = click.command if of is None else of.command
    return lambda function: make(name, **{"epilog": f"Example:  {example}", **fields})(by_signature(function))
