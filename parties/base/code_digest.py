"""Digest of the code of a function or a kind of job, so that two parties can compare their code.

Comments, docstrings, layout and type hints are ignored. An import counts, even if only hints need it.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

PROTOCOLS = "protocols"  # this project's package whose code decides the result
JOBS = "parties.jobs"  # this project's package whose imports are followed to the protocols
SHOWN = 12  # hexadecimal digits of a digest
IGNORED = {"annotation", "returns", "ctx", "kind", "type_comment", "type_params"}
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields of a statement with statements
ONE_PARSER = Lock()  # CPython 3.11 fails if two threads make syntax trees at once


@lru_cache(maxsize=64)
def code_digest(*modules: str) -> str:
    """Return a digest of the code of modules, and of their imports from their own folders or from `protocols`.

    The code of `parties` and `smc` is not included. Imports within `parties.jobs` are followed to the protocols behind
    them. A module without a source file is ignored.

    Examples:
        >>> len(code_digest("protocols.equality"))
        12
    """
    homes = {home for name in modules if (home := _home(name)) is not None}
    texts: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        source = _source(name)
        if name in texts or source is None:
            continue
        with ONE_PARSER:
            tree = ast.parse(source.read_bytes())
        texts[name] = "" if _is_ours(name) else _plain(tree)
        waiting += [other for other in _imported(tree, name) if _counts(other, homes)]
    whole = "\0".join(part for name in sorted(texts) for part in (name, texts[name]) if texts[name])
    return hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()[:SHOWN]


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in ("parties", "smc")


def _home(name: str) -> Path | None:
    """Return the folder of a module's source file; None without one, or for a module of `parties` or `smc`."""
    source = None if _is_ours(name) else _source(name)
    return None if source is None else source.parent


def _counts(name: str, homes: set[Path]) -> bool:
    if name.partition(".")[0] == PROTOCOLS or name.startswith(f"{JOBS}."):
        return True
    source = None if _is_ours(name) else _source(name)
    return source is not None and source.parent in homes


@lru_cache(maxsize=1024)
def _source(name: str) -> Path | None:
    top, *below = name.split(".")
    try:
        spec = find_spec(top)  # for a submodule, find_spec would load the package
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None:
        return None
    files = [Path(spec.origin)] if spec.origin is not None else []
    if below:
        places = [Path(place, *below) for place in spec.submodule_search_locations or ()]
        files = [file for place in places for file in (place / "__init__.py", place.with_suffix(".py"))]
    return next((file for file in files if file.suffix == ".py" and file.is_file()), None)


def _imported(tree: ast.AST, name: str) -> list[str]:
    """Return the modules that a module may import; `from a import b` counts as both a and a.b."""
    names: list[str] = []
    waiting = [tree]
    while waiting:  # visits statements only: expressions, most of a tree, import nothing
        node = waiting.pop()
        for block in BLOCKS:
            waiting += getattr(node, block, ())
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(name.split(".")[: -node.level]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return [imported for imported in dict.fromkeys(names) if imported]


def _plain(node: Any) -> str:
    """Return a syntax tree as text that is equal on every version of Python."""
    if isinstance(node, list):
        return f"[{' '.join([_plain(part) for part in node])}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for name in node._fields:
        if name in IGNORED or (value := getattr(node, name, None)) is None or value == []:
            continue
        if name == "body" and isinstance(value, list):
            value = [
                line for line in value if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            ]
        fields.append(f"{name}={_plain(value)}")
    return f"({type(node).__name__} {' '.join(fields)})"


def code_of_kind(kind: type) -> str:
    """Return the digest of the protocols of a kind of job, and of its class if another package defines it."""
    return code_digest(*dict.fromkeys(base.__module__ for base in kind.__mro__ if base is not object))
