"""Programs for the engine, named as MODULE:FUNCTION, with arguments given as texts."""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from hashlib import sha256
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from parties.base.text import did_you_mean, quoted
from smc.errors import InputError, SmcError

ProgramFunction = Callable[..., Any]
LONGEST = 1000  # longest argument that is compared as it is, in characters


def load_program(text: str) -> ProgramFunction:
    """Return the function that `text` names, of an installed module or one in the working directory.

    An error of the function, unless it comes from the link or the protocol, is raised as an InputError when it runs.
    Raise InputError if the name is invalid or the module cannot be loaded.
    """
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise InputError(f"the program {quoted(text)} must be MODULE:FUNCTION, such as protocols.equality:equal")
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules in this directory, as with python -m
    try:
        loaded = importlib.import_module(module)
    except Exception as error:  # loading a module may raise anything
        raise InputError(f"{module} cannot be loaded: {type(error).__name__}: {error}") from None
    function = getattr(loaded, name, None)
    if not callable(function):
        functions = [other for other in vars(loaded) if callable(vars(loaded)[other])]
        raise InputError(f"{module} has no function {quoted(name)}{did_you_mean(name, functions)}")

    @wraps(function)
    def guarded(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except SmcError:
            raise
        except Exception as error:  # the program's mistake, not the framework's
            single = isinstance(error, TypeError) and "is not iterable" in str(error)
            remedy = "; a list of one value needs a comma: 5," if single else ""
            raise InputError(f"{text} failed: {type(error).__name__}: {error}{remedy}") from error

    return guarded


def check_arguments(function: ProgramFunction, values: Sequence[Any]) -> None:
    """Check arguments against a program's signature, and against its type hints where these require a list.

    Args:
        function: A program; its first parameter is the engine.
        values: The arguments after the engine.

    Raises:
        InputError: There are too few or too many arguments, or a list is hinted and a single value given.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # functions that are not Python's have no signature
        return
    try:
        bound = signature.bind(None, *values)
    except TypeError as error:
        parameters = ", ".join(str(p.replace(annotation=p.empty)) for p in list(signature.parameters.values())[1:])
        raise InputError(f"the program's arguments: {error}; its parameters: {parameters or 'none'}") from None
    try:
        hints = get_type_hints(inspect.unwrap(function))
    except Exception:  # a hint may name an object that exists for type checkers only
        return
    for name, value in bound.arguments.items():
        if _is_list(hints.get(name)) and (value is None or isinstance(value, str | int | float | complex)):
            kind = signature.parameters[name].kind
            if kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise InputError(
                    f"argument {name}: {value!r} is one value, but the program takes a list; add a comma: {value},"
                )


def _is_list(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return all(map(_is_list, get_args(hint)))
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and kind is not str and issubclass(kind, Iterable) and not issubclass(kind, Mapping)


def public_arguments(function: ProgramFunction, values: Sequence[Any], own_names: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that must be equal at both parties, as JSON by name. Raise InputError for a wrong own name.

    Args:
        function: A program; its first parameter is the engine.
        values: The arguments after the engine.
        own_names: Names of further private arguments. The first argument and those of `*args` are always private.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())[1:]
    except ValueError:  # functions that are not Python's have no signature
        return {}
    single = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for name in own_names:
        if name not in single:
            raise InputError(f"--own: the program has no argument {quoted(name)}{did_you_mean(name, single)}")
    by_name = dict(list(zip(single, values, strict=False))[1:])
    return {name: _as_json(value) for name, value in by_name.items() if name not in own_names}


def _as_json(value: Any) -> Any:
    """Return a number, a short text or None unchanged; any other value as its Python text, or a digest if that is
    long."""
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= LONGEST:
        return text
    return f"{len(text)} characters of SHA-256 {sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def arguments_of(texts: Sequence[str]) -> list[Any]:
    """Parse arguments as Python literals: 5 is a number, 1,2,3 a list of numbers; other texts stay texts."""
    return [_argument(text) for text in texts]


def _argument(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return list(value) if isinstance(value, tuple) else value
