"""Digest of the code of a function or a kind of job, so that two parties can compare their code.

Comments, docstrings, layout and type hints are ignored. An import counts, even if only hints need it. The digest and
the imports of each module are cached under the digest of its source, because parsing takes longer than a small job.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from contextlib import suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

PROTOCOLS = "protocols"  # this project's package whose code decides the result
JOBS = "parties.jobs"  # this project's package whose imports are followed to the protocols
SHOWN = 12  # hexadecimal digits of a digest
IGNORED = {"annotation", "returns", "ctx", "kind", "type_comment", "type_params"}
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields of a statement with statements
CACHE = "code-digests.json"
MOST_CACHED = 1000  # modules
ONE_PARSER = Lock()  # CPython 3.11 fails if two threads make syntax trees at once


@lru_cache(maxsize=64)
def code_digest(*modules: str) -> str:
    """Return a digest of the code of modules and of their imports.

    An import counts if it is from `protocols`, or from the folder of one of the modules. The code of `parties` and
    `smc` never counts. But imports within `parties.jobs` are followed, and the protocols behind them count. A module
    without a source file is ignored.

    Examples:
        >>> len(code_digest("protocols.equality"))
        12
    """
    from smc.kernels.native import keep  # loads numpy

    homes = {home for name in modules if (home := _home(name)) is not None}
    digests: dict[str, str] = {}
    waiting, known = list(modules), _cache()
    size = len(known)
    while waiting:
        name = waiting.pop()
        source = _source(name)
        if name in digests or source is None:
            continue
        text = source.read_bytes()
        key = hashlib.sha256(b"\0".join((_own_version(), name.encode(), text))).hexdigest()
        if key not in known:
            known[key] = _read(text, name)
        digests[name], imported = known[key]
        waiting += [other for other in imported if _counts(other, homes)]
    if len(known) > size:
        keep(CACHE, json.dumps(dict([*known.items()][-MOST_CACHED:])).encode())
    whole = "\0".join(part for name in sorted(digests) for part in (name, digests[name]) if digests[name])
    return hashlib.sha256(whole.encode()).hexdigest()[:SHOWN]


def _cache() -> dict[str, tuple[str, list[str]]]:
    """Return digest and imports of modules by their keys, from the cache; empty if there is none."""
    from smc.kernels.native import cached

    for content in cached(CACHE):
        with suppress(ValueError):  # a damaged file
            found: dict[str, tuple[str, list[str]]] = json.loads(content)
            return found
    return {}


@cache
def _own_version() -> bytes:
    """Return the source of this module and the version of Python: both decide how a source is read."""
    return Path(__file__).read_bytes() + sys.version.encode()


def _read(text: bytes, name: str) -> tuple[str, list[str]]:
    """Return the digest of a module's code, empty for a module of ours, and the modules that it imports."""
    with ONE_PARSER:
        tree = ast.parse(text)
    plain = b"" if _is_ours(name) else _plain(tree).encode(errors="surrogatepass")
    return hashlib.sha256(plain).hexdigest() if plain else "", _imported(tree, name)


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
