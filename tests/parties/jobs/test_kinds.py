"""Which kinds there are: ours, and those of other packages."""

from __future__ import annotations

import importlib

import pytest

from examples.overlap import Overlap
from parties.base import plugins
from parties.cli import run
from parties.jobs import kinds
from parties.jobs.kind import Kind
from parties.node.proposal import read_job
from smc.errors import InputError
from tests.support.registry import registered
from tests.support.specified import peers

OVERLAP = ("overlap", "examples.overlap:Overlap")


def test_a_kind_of_another_package_stands_behind_ours() -> None:
    with registered(OVERLAP, ("coins", "tests.support.coins:Coins")):
        assert kinds.names() == (*kinds.BUILT_IN, "coins", "overlap")
        assert kinds.find("overlap") is Overlap
        assert kinds.line("overlap") == "How many elements do both have? Both learn the number, and nothing else."
    assert kinds.names() == tuple(kinds.BUILT_IN)
    assert not kinds.is_known("overlap")


@pytest.mark.parametrize("name", ["milionaires", "Millionaires"])
def test_an_unknown_kind_is_told_with_the_nearest_name(name: str) -> None:
    with pytest.raises(InputError) as failed:
        kinds.find(name)
    assert str(failed.value) == f"there is no kind of job {name!r} (did you mean 'millionaires'?)"
    with pytest.raises(InputError, match=r"^protocol: there is no kind of job .*did you mean 'millionaires'"):
        read_job({"protocol": name})


def test_an_unknown_kind_of_the_peer_is_a_line() -> None:
    told = peers({"protocol": "x\n\x1b[2J" + "y" * 10_000})
    assert told.isprintable()
    assert len(told) < 400


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no_such_package.kinds:Kind", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'"),
        ("examples.overlap:Underlap", "cannot be loaded: AttributeError: .*Underlap"),
        ("tests.support.broken_kind:Kind", r"cannot be loaded: ZeroDivisionError: two\\nlines"),
        ("examples.overlap:overlap", "is no kind of job: it must be a class made from parties.jobs.kind.Kind"),
        ("examples.overlap:OverlapSettings", "is no kind of job"),
        ("parties.jobs.kind:Kind", "lacks .*disclosure.*document.*run"),
        (
            "parties.jobs.kinds.millionaires:Millionaires",
            "is named 'millionaires', and its entry point 'theirs'",
        ),
    ],
)
def test_an_entry_point_that_is_no_kind(place: str, message: str) -> None:
    with registered(("theirs", place)):
        with pytest.raises(InputError, match=message) as failed:
            kinds.find("theirs")
        assert str(failed.value).isprintable()
        assert place in str(failed.value)


def test_a_broken_package_hides_no_other_kind(capsys: pytest.CaptureFixture[str]) -> None:
    with registered(("theirs", "no_such_package:Kind"), OVERLAP):
        for command in (["--help-all"], ["estimate", "--help"]):
            assert run(command) == 0
            shown = " ".join(capsys.readouterr().out.split())
            assert "millionaires Compare two numbers" in shown
            assert "overlap How many elements" in shown
            assert "theirs the kind of job 'theirs' (no_such_package:Kind) cannot be loaded" in shown
        assert run(["theirs"]) == 2
        assert capsys.readouterr().err.startswith("smc: the kind of job 'theirs'")


def test_a_name_of_ours_stays_ours() -> None:
    with registered(("id3", "examples.overlap:Overlap")):
        assert kinds.find("id3").__module__ == "parties.jobs.kinds.id3"
        assert kinds.names() == tuple(kinds.BUILT_IN)


def test_a_name_that_two_packages_give_is_refused() -> None:
    with registered(OVERLAP, ("overlap", "other.package:Overlap")):
        assert kinds.names().count("overlap") == 1
        with pytest.raises(InputError, match=r"overlap.: examples\.overlap:Overlap, other\.package:Overlap"):
            kinds.find("overlap")
    with registered(OVERLAP, OVERLAP):  # seen twice on the path is no contradiction
        assert kinds.find("overlap") is Overlap


@pytest.mark.parametrize("name", [*kinds.names(), *kinds.GROUPS])
def test_the_line_of_a_kind_is_one_sentence(name: str) -> None:
    line = kinds.line(name)
    assert line.endswith((".", "?"))
    assert line == importlib.import_module(kinds.place(name)).__doc__.partition("\n")[0]


@pytest.mark.parametrize("name", kinds.BUILT_IN)
def test_a_kind_is_the_one_class_of_its_file_with_its_name(name: str) -> None:
    module = importlib.import_module(kinds.place(name))
    (kind,) = [kind for kind in plugins.made_in(module, Kind) if kind.name == name]
    assert kinds.find(name) is kind
    assert " ".join(module.__name__.split(".")[3:]).replace("_", "-") == name


def test_a_file_without_its_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.BUILT_IN, "survive", kinds.GROUPS["survive"])
    with pytest.raises(InputError, match=r"survive/__init__\.py: no class in it is the kind of job 'survive'"):
        kinds.find("survive")
