"""Mutants: each place is changed as is said, what is no program's is left alone, and survivors are listed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts import mutants as made_by
from scripts.equivalent_mutants import EQUIVALENT
from scripts.mutants import PACKAGES, main, mirror_of, mutants, survivors
from tests.support.places import ROOT

SOURCE = '''"""A docstring, é."""

def f(a: int | None, b: str = "x - y") -> int | None:
    """Another."""
    a += 1
    if (a) < 2 and b not in c:  # < is not <=
        d[0] = -a
    g(f"{a + 1}", True)
    return (a  # +
            * b)
'''
CHANGES = [
    ("a += 1", "pass"),
    ("a += 1", "a += (1 + 1)"),
    ("if (a) < 2 and b not in c: # < is not <=", "if (not ((a) < 2 and b not in c)): # < is not <="),
    ("if (a) < 2 and b not in c: # < is not <=", "if (a) <= 2 and b not in c: # < is not <="),
    ("if (a) < 2 and b not in c: # < is not <=", "if (a) < (2 + 1) and b not in c: # < is not <="),
    ("if (a) < 2 and b not in c: # < is not <=", "if (a) < 2 or b not in c: # < is not <="),
    ("if (a) < 2 and b not in c: # < is not <=", "if (a) < 2 and b in c: # < is not <="),
    ("d[0] = -a", "pass"),
    ("d[0] = -a", "d[(0 + 1)] = -a"),
    ("d[0] = -a", "d[0] = a"),
    ('g(f"{a + 1}", True)', "pass"),
    ('g(f"{a + 1}", True)', 'g(f"{a + 1}", False)'),
    ("* b)", "+ b)"),
]


def test_each_place_is_changed_as_is_said() -> None:
    source = SOURCE.encode()
    found = mutants(source)
    assert [one.told(source) for one in found] == CHANGES
    assert [one.line for one in found] == [5] * 2 + [6] * 5 + [7] * 3 + [8] * 2 + [10]


@pytest.mark.parametrize(
    "file", ["parties/node/records/chain.py", "smc/ot/lpn.py", "protocols/release/tails.py", *EQUIVALENT]
)
def test_a_mutant_is_another_program(file: str) -> None:
    """And what is called equivalent is a mutant: a line that was changed is to be changed there, too."""
    source = (ROOT / file).read_bytes()
    program = ast.dump(ast.parse(source))
    found = mutants(source)
    assert len(found) > 10
    for mutant in found[:: 1 + len(found) // 40]:
        assert ast.dump(ast.parse(mutant.of(source))) != program, mutant.told(source)
    told = {mutant.told(source) for mutant in found}
    assert all((old, new) in told and reason for old, new, reason in EQUIVALENT.get(file, ()))


def test_a_module_has_its_mirror_and_what_the_planted_bugs_name_and_then_its_folder() -> None:
    folder = "tests/parties/node/policy"
    assert mirror_of("parties/node/policy/decisions.py") == [(f"{folder}/test_decisions.py",), (folder,)]
    assert "tests/protocols/release/test_tails.py" in mirror_of("protocols/release/tails.py")[0]
    assert mirror_of("parties/node/records/marker.py") == [("tests/parties/node/records",)]
    assert all((ROOT / package).is_dir() for package in PACKAGES)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A tree with one module, of which the tests only see whether 3 is less than 4."""

    @contextmanager
    def copied() -> Iterator[Path]:
        yield tmp_path

    def outcome(copy: Path, tests: Sequence[str], patience: float = 0) -> tuple[str, str]:
        scope: dict[str, object] = {}
        exec((copy / "less.py").read_text(), scope)
        return ("LIVES" if scope["less"](3, 4) else "caught"), "what pytest said"  # type: ignore[operator]

    (tmp_path / "less.py").write_text("def less(a, b):\n    return a < b\n")
    for name, value in (("ROOT", tmp_path), ("copied", copied), ("outcome", outcome)):
        monkeypatch.setattr(made_by, name, value)
    return "less.py"


def test_what_the_tests_live_with_is_listed(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert survivors(module, sample=5, seed=1) == (1, 0, ["less.py:2: return a < b -> return a <= b"])
    assert main([module]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "less.py: 1 tried, 0 killed, 0 equivalent",
        "0 of 1 killed",
    ]


def test_one_that_is_equivalent_is_not_tried(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EQUIVALENT, module, (("return a < b", "return a <= b", "never equal"),))
    assert survivors(module, sample=5, seed=1) == (0, 1, [])


def test_tests_that_fail_anyhow_say_nothing(module: str) -> None:
    (made_by.ROOT / module).write_text("def less(a, b):\n    return a > b\n")
    with pytest.raises(RuntimeError, match=r"less.py: its tests fail as it is, tests: what pytest said"):
        survivors(module, sample=5, seed=1)
