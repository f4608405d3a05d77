"""Share of the public functions with two or more arguments whose docstring explains them under `Args:`.

An override counts as documented by its base class if the base's docstring has `Args:`. The options of a command have
their help in place of `Args:`, so commands are left out. Usage: python -m scripts.documented
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Documented:
    """The classes and public functions of the three packages."""

    def __init__(self) -> None:
        self._classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
        self._public: list[tuple[str, str, Function, ast.ClassDef | None]] = []
        for package in ("smc", "protocols", "parties"):
            for path in sorted((ROOT / package).rglob("*.py")):
                self._read(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text()), None, True)

    def _read(self, path: str, body: ast.Module | ast.ClassDef, owner: ast.ClassDef | None, is_public: bool) -> None:
        for item in body.body:
            shown = is_public and not item.name.startswith("_") if isinstance(item, Function | ast.ClassDef) else False
            if isinstance(item, ast.ClassDef):
                self._classes[item.name].append(item)
                self._read(path, item, item, shown)
            elif isinstance(item, Function) and shown and _arguments(item) > 1 and not _is_command(path, item):
                self._public.append((path, f"{owner.name}.{item.name}" if owner else item.name, item, owner))

    def _overridden(self, owner: ast.ClassDef, name: str, seen: frozenset[str] = frozenset()) -> Iterator[Function]:
        for base in {ast.unparse(node).split("[")[0].split(".")[-1] for node in owner.bases}:
            for known in self._classes[base] if base not in seen else ():
                yield from (item for item in known.body if isinstance(item, Function) and item.name == name)
                yield from self._overridden(known, name, seen | {base})

    def missing(self) -> dict[str, tuple[int, list[str]]]:
        """Return, for each room, the number of functions, and those without `Args:` as "file:line name"."""
        rooms: dict[str, tuple[int, list[str]]] = {}
        for path, name, item, owner in self._public:
            versions = [item, *(self._overridden(owner, item.name) if owner else ())]
            has_args = any("Args:" in (ast.get_docstring(version) or "") for version in versions)
            number, names = rooms.get(room := _room(path), (0, []))
            rooms[room] = number + 1, names + [f"{path}:{item.lineno} {name}"] * (not has_args)
        return rooms


def _arguments(item: Function) -> int:
    given = item.args
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg) if arg]
    return len([name for name in names if name not in ("self", "cls")])


def _is_command(path: str, item: Function) -> bool:
    defaults = [*item.args.defaults, *filter(None, item.args.kw_defaults)]
    return path.startswith("parties/commands/") and any(isinstance(each, ast.Call | ast.Name) for each in defaults)


def _room(path: str) -> str:
    first, second, *_ = Path(path).with_suffix("").parts
    if path == "parties/jobs/kind.py":
        return "parties.jobs.kind"
    return first if first != "parties" else "parties.notebook" if second == "notebook" else "parties, the rest"


def main() -> None:
    """Print the share of each room, and the functions without `Args:`."""
    for room, (number, names) in Documented().missing().items():
        print(f"{room}: {number - len(names)} of {number}, {1 - len(names) / number:.1%}", *names, sep="\n  ")


if __name__ == "__main__":
    main()
