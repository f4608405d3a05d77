"""Classes found by name: in the modules of a folder of this project, and as entry points of other packages.

    [project.entry-points."smc.kinds"]
    overlap = "their_package.overlap:Overlap"

A name of this project always means this project's class. A name that two other packages offer is refused, because its
owner is unclear.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from parties.base.text import did_you_mean, listed, printable, quoted
from smc.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Base = TypeVar("Base")


@cache
def offered(group: str) -> Mapping[str, Mapping[str, EntryPoint]]:
    """Return the entry points of a group, by name and by the object that they refer to."""
    # this import takes as long as everything else that a command's --help needs
    from importlib.metadata import entry_points

    points: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=group):
        points.setdefault(point.name, {})[point.value] = point
    return points


def loaded(group: str, name: str, base: type[Base], what: str) -> type[Base]:
    """Return the class that another package offers by a name.

    Args:
        group: Group of entry points.
        name: Name of the entry point.
        base: Required base class.
        what: Kind of the class, for messages.

    Raises:
        InputError: Several packages offer the name, or it cannot be loaded, or it is not a complete class of the kind.
    """
    place, *more = offered(group)[name]
    if more:
        raise InputError(
            f"several packages offer the {what} {quoted(name)}: {', '.join([place, *more])}; uninstall all but one"
        )
    try:
        kind = offered(group)[name][place].load()
    except Exception as error:  # any error of the other package while it is loaded
        why = printable(f"{type(error).__name__}: {error}")
        raise InputError(f"the {what} {quoted(name)} ({place}) cannot be loaded: {why}") from None
    return checked(kind, name, place, base, what)


def checked(kind: object, name: str, place: str, base: type[Base], what: str) -> type[Base]:
    """Return an object after checking that it is a complete class made from `base`.

    Args:
        kind: The object.
        name: Name that the class must have.
        place: Reference of its entry point, for messages.
        base: Required base class.
        what: Kind of the class, for messages.

    Raises:
        InputError: The object is not a class of this kind, lacks methods, or has another name.
    """
    if not isinstance(kind, type) or not issubclass(kind, base):
        raise InputError(f"{place} is no {what}: it must be a class made from {base.__module__}.{base.__qualname__}")
    if lacking := sorted(getattr(kind, "__abstractmethods__", ())):
        raise InputError(f"{place}: the {what} {quoted(name)} lacks {', '.join(lacking)}")
    if getattr(kind, "name", None) != name:
        named = getattr(kind, "name", None)
        raise InputError(f"{place}: the {what} is named {named!r}, and its entry point {name!r}; make the two equal")
    return kind


def made_in(module: ModuleType, base: type[Base]) -> list[type[Base]]:
    """Return the classes that a module itself defines.

    Args:
        module: The module.
        base: Base class of the classes to return.
    """
    here = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    return [one for one in here if issubclass(one, base)]


@dataclass(frozen=True)
class Family(Generic[Base]):
    """Classes made from `base`: those in the modules of the package `folder`, and the entry points of `group`."""

    base: type[Base]
    what: str  # kind of a member, for messages
    folder: str
    group: str

    def names(self) -> tuple[str, ...]:
        """Return all names, those of this project first."""
        ours = self._ours()
        return (*ours, *sorted(offered(self.group).keys() - ours.keys()))

    def find(self, name: str) -> type[Base]:
        """Return the class of a name; raise InputError if none or several have the name, or if it cannot be loaded."""
        ours = self._ours()
        if name in ours:
            return ours[name]
        if name not in offered(self.group):
            hint = did_you_mean(name, self.names())
            raise InputError(f"there is no {self.what} {quoted(name)}{hint}; there are {listed(self.names())}")
        return loaded(self.group, name, self.base, self.what)

    def _ours(self) -> Mapping[str, type[Base]]:
        base: Any = self.base  # mypy takes no class for hashable
        return _of_folder(self.folder, base)


@cache
def _of_folder(folder: str, base: type[Any]) -> Mapping[str, type[Any]]:
    """Return the complete classes made from `base` that the modules of a package define, by `name`."""
    classes: dict[str, type[Any]] = {}
    for module_info in pkgutil.iter_modules(importlib.import_module(folder).__path__, f"{folder}."):
        module = importlib.import_module(module_info.name)
        for kind in made_in(module, base):
            if not inspect.isabstract(kind):
                if kind.name in classes:
                    raise TypeError(f"{kind.name}: both {classes[kind.name]} and {kind}")
                classes[kind.name] = kind
    return dict(sorted(classes.items()))
