"""`smc release check`, with the same samples at every run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner, Result

from parties.checking import mechanisms
from parties.checking.cases import CASES, Case
from parties.checking.mechanisms import MECHANISMS, UNCHECKED
from parties.checking.promise import Promise
from parties.commands import release_check
from parties.commands.release_check import check_command
from parties.jobs.release.kind import Release
from smc.errors import InputError
from tests.support import chance

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def same_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    chance.fix(monkeypatch)


def run(*words: str) -> Result:
    return CliRunner().invoke(check_command, words, standalone_mode=False)


@pytest.mark.parametrize(
    "cases",
    [
        [case for case in CASES if case.kind in ("rules", "release histogram")],
        pytest.param(CASES, marks=pytest.mark.campaign),  # tests/parties/checking/test_contract.py has them all
    ],
    ids=["some", "all"],
)
def test_every_mechanism_by_default(monkeypatch: pytest.MonkeyPatch, cases: Sequence[Case]) -> None:
    monkeypatch.setattr(release_check, "CASES", cases)
    result = run("--samples", "1000")
    assert result.return_value == 0
    lines = result.output.splitlines()
    table = lines[1 : 1 + len(MECHANISMS)]
    assert [line.split()[0] for line in table] == list(MECHANISMS)
    assert all("kept" in line for line in table)
    told = " ".join(lines[1 + len(MECHANISMS) :])
    assert told.startswith("Samples are the answers")
    assert "1 - 1e-09" in told
    assert all(f"{name} ({why})" in told for name, why in UNCHECKED.items())


def test_one_document() -> None:
    result = run("top", "count", "top", "--epsilon", "0.5", "--samples", "20000", "--adjacency", "replace", "--json")
    assert result.return_value == 0
    top, count = json.loads(result.output)
    assert (top["mechanism"], count["mechanism"]) == ("top", "count")
    assert top["kept"] is True
    assert top["tables"] == "scores (0, 2), or (1, 1)"
    assert (count["epsilon"], count["delta"], count["samples"]) == (0.5, 0.0, 20_000)
    assert 0.2 < count["loss_at_least"] <= 0.5
    assert count["attacker"]["sum_at_least"] <= count["attacker"]["sum_allowed"] == pytest.approx(1.2449187)


def test_the_contract_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole in a line each; with half the noise of histograms, theirs is broken, and so is the command's."""
    monkeypatch.setattr(release_check, "CASES", [case for case in CASES if case.kind in ("rules", "release histogram")])
    result = run("contract", "--json", "--epsilon", "0.5", "--adjacency", "replace")
    assert result.return_value == 0
    documents = json.loads(result.output)
    assert {(of["kind"], of["at_most"]) for of in documents} == {
        (kind, at_most) for kind in ("rules", "release histogram") for at_most in (None, 2)
    }
    assert all(of["kept"] and of["booked"]["replace"] == 0.5 >= of["lost"]["replace"] for of in documents)
    noise = Release.noise
    monkeypatch.setattr(Release, "noise", lambda self, *of: replace(noise(self, *of), scale=noise(self, *of).scale / 2))
    result = run("contract")
    assert result.return_value == 1
    lines = result.output.splitlines()
    assert all(
        "BROKEN" in line and "under add-remove is epsilon 2" in line for line in lines if "release histogram" in line
    )
    assert all("kept" in line for line in lines if "rules" in line)


def test_a_broken_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    def louder(promise: Promise) -> mechanisms.Mechanism:
        return replace(mechanisms.count(Promise(2 * promise.epsilon)), epsilon=float(promise.epsilon))

    monkeypatch.setitem(MECHANISMS, "count", louder)
    result = run("count", "top", "--samples", "20000")
    assert result.return_value == 1
    count, top = result.output.splitlines()[1:3]
    assert "BROKEN" in count
    assert "kept" in top


def test_noise_of_the_local_sensitivity_is_found_out() -> None:
    result = run("smooth", "fixed-local", "local", "--samples", "200000")
    assert result.return_value == 1
    smooth, fixed, local = result.output.splitlines()[1:4]
    assert "kept" in smooth
    assert "BROKEN" in fixed
    assert "BROKEN" in local


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--epsilon", "0", "epsilon is 0, must be from 2^-20 to 16"),
        ("--epsilon", "0.0000001", "epsilon is 0.0000001, must be from 2^-20"),
        ("--epsilon", "1000", "must be from 2^-20 to 16"),
        ("--epsilon", "-1", "must be a decimal number"),
        ("--epsilon", "nan", "must be a decimal number"),
        ("--epsilon", "1/3", "must be a decimal number"),
        ("--delta", "0", "delta is 0, must be above 0 and below 1"),
        ("--delta", "1", "must be above 0 and below 1"),
    ],
)
def test_what_is_no_promise(option: str, value: str, said: str) -> None:
    result = run("count", option, value)
    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)


def test_epsilon_is_the_number_that_was_written() -> None:
    assert Promise.read("0.1", "1e-5", "replace").epsilon == Fraction(1, 10)


def test_an_unknown_mechanism_is_named() -> None:
    result = run("medean")
    assert "'medean'" in str(result.exception)
