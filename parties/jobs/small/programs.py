"""Any program written against the engine, named as module:function, with arguments as texts."""

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

Found = Callable[..., Any]
LONGEST = 1000  # characters of an argument that are compared as they are


def load_program(text: str) -> Found:
    """Return the function `text` names, of an installed module or one beside us. `InputError` says what is wrong.

    What it raises when it is run is an `InputError` too, unless it comes from the link or the protocol.
    """
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise InputError(f"the program {quoted(text)} must be MODULE:FUNCTION, such as protocols.equality:equal")
    if "" not in sys.path:
        sys.path.insert(0, "")  # what lies in this directory, as for python -m
    try:
        loaded = importlib.import_module(module)
    except Exception as error:  # whatever the module does when it is loaded
        raise InputError(f"{module} cannot be loaded: {type(error).__name__}: {error}") from None
    function = getattr(loaded, name, None)
    if not callable(function):
        known = [other for other in vars(loaded) if callable(vars(loaded)[other])]
        raise InputError(f"{module} has no function {quoted(name)}{did_you_mean(name, known)}")

    @wraps(function)
    def guarded(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except SmcError:
            raise
        except Exception as error:  # it is not ours, so neither is the mistake
            single = isinstance(error, TypeError) and "is not iterable" in str(error)
            remedy = "; a list of one value needs a comma: 5," if single else ""
            raise InputError(f"{text} failed: {type(error).__name__}: {error}{remedy}") from error

    return guarded


def check_arguments(function: Found, values: Sequence[Any]) -> None:
    """Check arguments against a program's signature, and against its hints where these say a list.

    Args:
        function: A program; its first parameter is the engine.
        values: The arguments after the engine.

    Raises:
        InputError: There are too few or too many, or a list is hinted and a single value given.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # of a function that is not Python's there is no signature
        return
    try:
        bound = signature.bind(None, *values)
    except TypeError as error:
        wanted = " ".join(str(p.replace(annotation=p.empty)) for p in list(signature.parameters.values())[1:])
        raise InputError(f"the program's arguments: {error}; it takes {wanted or 'none'}") from None
    try:
        hints = get_type_hints(inspect.unwrap(function))
    except Exception:  # a hint may name what is there for type checkers only
        return
    for name, value in bound.arguments.items():
        if _is_list(hints.get(name)) and (value is None or isinstance(value, str | int | float | complex)):
            kind = signature.parameters[name].kind
            if kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise InputError(
                    f"argument {name}: {value!r} is one value, and the program takes a list: give {value},"
                )


def _is_list(hint: Any) -> bool:
    """Return whether a type hint stands for lists alone."""
    if get_origin(hint) in (Union, UnionType):
        return all(map(_is_list, get_args(hint)))
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and kind is not str and issubclass(kind, Iterable) and not issubclass(kind, Mapping)


def public_arguments(function: Found, values: Sequence[Any], own_names: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that both parties must give alike, by their names, in JSON's types.

    Args:
        function: A program; its first parameter is the engine.
        values: The arguments after the engine.
        own_names: Further arguments of this party alone. The first argument is, and so are those of `*args`.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())[1:]
    except ValueError:  # of a function that is not Python's there is no signature
        return {}
    single = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for name in own_names:
        if name not in single:
            raise InputError(f"--own: the program has no argument {quoted(name)}{did_you_mean(name, single)}")
    by_name = dict(list(zip(single, values, strict=False))[1:])
    return {name: _as_json(value) for name, value in by_name.items() if name not in own_names}


def _as_json(value: Any) -> Any:
    """Return a number, a short text or None as it is, anything else as Python writes it, in a digest if it is long."""
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= LONGEST:
        return text
    return f"{len(text)} characters of SHA-256 {sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def arguments_of(texts: Sequence[str]) -> list[Any]:
    """Arguments as Python reads them: 5 a number, 1,2,3 a list of numbers, anything else a text."""
    return [_argument(text) for text in texts]


def _argument(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return list(value) if isinstance(value, tuple) else value
