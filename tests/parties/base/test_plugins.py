"""Classes that are found: a file in a folder suffices, another package takes no name, what is broken says so."""

from __future__ import annotations

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.alone.local.mechanism import MECHANISMS
from parties.alone.publish.models.model import MODELS
from parties.base.plugins import Family
from smc.errors import InputError
from tests.support.registry import registered

HERE = "tests.parties.base.test_plugins"
GROUP = "smc.animals"


class Animal(ABC):
    name: str

    @abstractmethod
    def say(self) -> str: ...


class Cow(Animal):
    name = "cow"

    def say(self) -> str:
        return "moo"


class Mute(Animal):
    name = "mute"


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Family[Animal]]:
    folder = tmp_path / "zoo_of_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    head = f"from {HERE} import Animal, Cow\n"
    (folder / "dog.py").write_text(head + "class Dog(Animal):\n    name = 'dog'\n    def say(self): return 'wow'\n")
    (folder / "cat.py").write_text(head + "class Cat(Animal):\n    name = 'cat'\n    def say(self): return 'miau'\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield Family(Animal, "animal", "zoo_of_tests", GROUP)  # type: ignore[type-abstract]
    for name in [name for name in sys.modules if name.startswith("zoo_of_tests")]:
        del sys.modules[name]


def test_a_file_in_the_folder_is_found(family: Family[Animal]) -> None:
    assert family.names() == ("cat", "dog")  # not what a module has imported, nor what is not complete
    assert family.find("dog")().say() == "wow"
    with pytest.raises(InputError, match=r"there is no animal 'dig' \(did you mean 'dog'\?\); there are 'cat', 'dog'"):
        family.find("dig")


def test_another_package_adds_and_takes_no_name(family: Family[Animal]) -> None:
    with registered(("cow", f"{HERE}:Cow"), ("cat", f"{HERE}:Cow"), group=GROUP):
        assert family.names() == ("cat", "dog", "cow")
        assert family.find("cow") is Cow
        assert family.find("cat")().say() == "miau"


@pytest.mark.parametrize(
    ("points", "problem"),
    [
        ([("cow", "no.such:Cow")], r"the animal 'cow' \(no.such:Cow\) cannot be loaded: ModuleNotFoundError"),
        ([("cow", f"{HERE}:GROUP")], "is no animal: it must be a class made from .*Animal"),
        ([("mute", f"{HERE}:Mute")], "the animal 'mute' lacks say"),
        ([("bull", f"{HERE}:Cow")], "the animal is named 'cow', and its entry point 'bull'; make the two equal"),
        ([("cow", f"{HERE}:Cow"), ("cow", f"{HERE}:Mute")], "several packages offer the animal 'cow'"),
    ],
)
def test_what_is_broken_says_so_when_it_is_asked_for(
    family: Family[Animal], points: list[tuple[str, str]], problem: str
) -> None:
    with registered(*points, group=GROUP):
        assert family.find("cat")
        with pytest.raises(InputError, match=problem):
            family.find(points[0][0])


def test_ours_are_all_there() -> None:
    assert MECHANISMS.names() == (
        "direct",
        "gauss",
        "hadamard",
        "histogram",
        "laplace",
        "mean",
        "piecewise",
        "rappor",
        "sketch",
        "subset",
        "unary",
    )
    assert MODELS.names() == (
        *("entropy-l-diversity", "k-anonymity", "l-diversity", "negative-disclosure", "positive-disclosure"),
        *("presence", "recursive-l-diversity", "t-closeness"),
    )
