"""Any program written against the engine, named as module:function, with arguments as texts."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from parties.base.text import did_you_mean, quoted
from smc.errors import InputError, SmcError

Found = Callable[..., Any]


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

    def guarded(*given: Any) -> Any:
        try:
            return function(*given)
        except SmcError:
            raise
        except Exception as error:  # it is not ours, so neither is the mistake
            raise InputError(f"{text} failed: {type(error).__name__}: {error}") from error

    return guarded


def arguments_of(texts: Sequence[str]) -> list[Any]:
    """Arguments as Python reads them: 5 a number, 1,2,3 a list of numbers, anything else a text."""
    return [_argument(text) for text in texts]


def _argument(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return list(value) if isinstance(value, tuple) else value
