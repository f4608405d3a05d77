"""Mutants: each place is changed as is said, what is no program's is left alone, and survivors are listed."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from scripts import mutant_runs
from scripts import mutants as made_by
from scripts.equivalent_mutants import EQUIVALENT
from scripts.mutant_runs import Reached, StuckError, failing, forked, function_of, load, reached, swap
from scripts.mutants import BEGIN, END, PACKAGES, PAGE, Known, Plan, main, markdown, mirror_of, mutants, sample
from tests.support.places import ROOT
from tests.support.waiting import eventually

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


@pytest.mark.one_of(3)
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


def test_the_tests_are_those_of_the_folder_that_mirrors_the_package() -> None:
    assert all((ROOT / package).is_dir() and mirror_of(package) for package in PACKAGES)
    assert "tests/smc/engines/test_gmw.py" in mirror_of("smc/arithmetic")
    assert "tests/parties/node/records/test_chain.py" in mirror_of("parties/node/records")
    near = mirror_of("parties/node")
    assert "tests/parties/node/acts/test_ledger.py" in near
    assert "tests/parties/node/test_node_process.py" not in near, "it is slow, and of no module"
    assert {"tests/parties/node/test_peers.py", "tests/parties/node/point/test_consulted.py"} <= set(near)
    assert "tests/parties/node/records/test_chain.py" not in near


def test_a_larger_sample_has_the_smaller_one() -> None:
    file = "protocols/release/tails.py"
    few, more = (set(sample(file, most, seed=1)) for most in (5, 12))
    assert few < more
    assert (len(few), len(more)) == (5, 12)
    assert few != set(sample(file, 5, seed=2))


def test_a_function_is_found_by_its_lines() -> None:
    """Decorators belong to it, as its code object has it; defaults to what is around."""
    source = b"a = 1\n\n@b\ndef f(\n    c=1\n):\n    def g(): return 2\n    return 3\n"
    assert [function_of(source, line) for line in range(1, 9)] == [0, 0, 0, 0, 0, 0, 7, 3]


def test_the_modules_own_tests_come_first_and_then_quick_ones() -> None:
    tests = {("a/b.py", 3): {"t/test_b.py::slow", "t/test_b.py::quick", "t/test_c.py::quickest"}}
    found = Reached(tests, {"t/test_b.py::slow": 5.0, "t/test_b.py::quick": 2.0, "t/test_c.py::quickest": 1.0})
    assert found.of(("a/b.py", 3), "b.py::", 10) == [
        "t/test_b.py::quick",
        "t/test_b.py::slow",
        "t/test_c.py::quickest",
    ]
    assert found.of(("a/b.py", 3), "b.py::", 6) == ["t/test_b.py::quick"]
    assert found.of(("a/b.py", 3), "b.py::", 1) == ["t/test_b.py::quick"], "one at least"
    assert found.of(("a/b.py", 0), "b.py::", 10) == ["t/test_b.py::quick", "t/test_b.py::slow"], (
        "they may use a constant"
    )
    assert found.of(("a/b.py", 7), "b.py::", 10) == []


def _spin() -> None:
    while True:
        pass


def test_what_takes_too_long_or_dies_is_stuck() -> None:
    assert forked(lambda: 3, 5) == 3
    for act, seconds in ((_spin, 0.1), (partial(time.sleep, 60), 0.05), (partial(os._exit, 0), 5)):
        with pytest.raises(StuckError):
            forked(act, seconds)


def _say(place: Path) -> None:
    place.write_text(str(os.getpid()))
    time.sleep(60)


def test_who_is_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "pid"
    process = mutant_runs.FORK.Process(target=forked, args=(partial(_say, place), 60))
    process.start()
    eventually(lambda: place.exists() and place.read_text())
    process.kill()
    process.join()
    number = int(place.read_text())
    eventually(lambda: not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE)


def test_functions_that_are_held_already_have_other_code(tmp_path: Path) -> None:
    """Those of classes, decorated ones, generators and inner ones that were made before; what sees more stays."""
    old = (
        "from functools import cache\n\n"
        "class A:\n    @property\n    def f(self):\n        return 1\n"
        "    @f.setter\n    def f(self, a):\n        self.a = 1\n\n"
        "def outer(a):\n    def inner():\n        return a + 1\n    return inner\n\n"
        "@cache\ndef kept():\n    return 1\n\n"
        "def some():\n    yield 1\n\n"
        "CONSTANT = kept() + 1\n"
    )
    path = tmp_path / "swapped.py"
    path.write_text(old)
    spec = importlib.util.spec_from_file_location("swapped", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    a, inner, some = module.A(), module.outer(2), module.some
    module.kept.cache_clear()
    swap(str(path), old.encode(), old.replace("1", "5").encode())
    a.f = 3
    assert (a.f, a.a, inner(), module.outer(2)(), module.kept(), list(some())) == (5, 5, 7, 7, 5, [5])
    assert module.CONSTANT == 2, "what was made as it was loaded stays"
    swap(str(path), old.encode(), old.replace("a + 1", "9").encode())
    assert (inner(), module.outer(2)()) == (7, 9)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with three modules, of which the tests only see whether 3 is less than 4."""
    for name, text in {
        "orders/less.py": "LEAST = 0\n\ndef less(a, b):\n    return a < b\n\ndef unseen(a):\n    return a + 1\n",
        "orders/more.py": "from orders.less import less\n\ndef more(a, b):\n    return less(b, a)\n",
        "orders/apart.py": "",
        "tests/orders/test_more.py": "import orders.apart\nfrom orders.more import more\n\n"
        "def test_4_is_more_than_3():\n    assert more(4, 3)\n\ndef test_nothing():\n    pass\n\n"
        "def test_that_fails():\n    assert more(3, 3)\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "page.md").write_text(f"Above\n{BEGIN}{END}Below\n")

    @contextmanager
    def copied() -> Iterator[Path]:
        yield tmp_path

    for module in (made_by, mutant_runs):
        monkeypatch.setattr(module, "OWN", ("orders",))
    for name, value in (("ROOT", tmp_path), ("KNOWN", tmp_path / "build/known"), ("PAGE", tmp_path / "page.md")):
        monkeypatch.setattr(made_by, name, value)
    monkeypatch.setattr(made_by, "copied", copied)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


TEST = "tests/orders/test_more.py::test_4_is_more_than_3"


def test_what_tests_reach_is_seen_and_what_does_not_change_is_loaded_once(tree: Path) -> None:
    near = forked(partial(reached, tree, ["tests/orders"]), 60)
    assert near.failed == [TEST.replace("4_is_more_than_3", "that_fails")]
    near.leave_out(near.failed)
    assert near.of(("orders/less.py", 3), "", 60) == near.of(("orders/less.py", 0), "less.py::", 60) == [TEST]
    assert near.of(("orders/less.py", 6), "", 60) == []

    def loaded() -> list[str]:
        load([name for name in near.modules if name.startswith("orders")], without="orders/less.py")
        return sorted(name for name in sys.modules if name.startswith("orders."))

    assert forked(loaded, 60) == ["orders.apart"]
    assert forked(partial(failing, [TEST]), 60) == []
    (tree / "orders/less.py").write_text("def less(a, b):\n    return a >= b\n")
    assert forked(partial(failing, [TEST]), 60) == [TEST]


def test_what_the_tests_live_with_is_listed_and_what_is_equivalent_is_not_tried(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["orders/less.py"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "LEFT OUT, for it fails as it is: tests/orders/test_more.py::test_that_fails"
    assert lines[2] == "LIVES      orders/less.py:4: return a < b -> return a <= b"
    assert lines[3] == "UNREACHED  orders/less.py:7: return a + 1 -> return a - 1"
    assert lines[-1] == "orders/less.py: 4 tried, 0 killed"
    monkeypatch.setitem(EQUIVALENT, "orders/less.py", (("return a < b", "return a <= b", "never equal"),))
    assert main(["orders/less.py"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "orders/less.py: 3 tried, 0 killed"
    page = (tree / "page.md").read_text()
    assert page.startswith("Above\n")
    assert page.endswith("Below\n")
    assert "| `orders/less.py` | 4 | 2 | 0 | 1 | 1 |\n" in page
    assert "- `orders/less.py`: `return a < b` is `return a <= b`: never equal\n" in page
    again = page.partition(BEGIN)[2].partition(END)[0]
    assert markdown(Known(tree / "nothing"), again) in page, "rows of modules that were not tried stay"


def test_tests_that_fail_anyhow_say_nothing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are left out, of this module and those that come after it."""
    other = TEST.replace("4_is_more_than_3", "nothing")
    near = Reached({("orders/less.py", 3): {TEST, other}}, {TEST: 0.1, other: 0.1})
    mutants = sample("orders/less.py", 9, 1)
    (tree / "tests/orders/test_more.py").write_text(
        "import orders.less\n\ndef test_4_is_more_than_3():\n    raise ValueError\n\ndef test_nothing():\n    pass\n"
    )
    plan = Plan.of("orders/less.py", near, mutants, 9)
    found, failed = forked(partial(plan.tried, tree, [], time.monotonic() + 60), made_by.LONGEST)
    assert failed == [TEST]
    assert all(found.values())
    near.leave_out(failed)
    assert near.of(("orders/less.py", 3), "", 9) == [other]
    assert capsys.readouterr().out == f"LEFT OUT, for it fails as it is: {TEST}\n"


def test_the_page_adds_up_and_has_the_reasons() -> None:
    text = PAGE.read_text()
    rows = [
        list(map(int, row[1].split(" | "))) for row in re.finditer(r"^\| `.+` \| ([\d |]+) \|$", text, re.MULTILINE)
    ]
    assert all(tried == killed + equivalent + alive for _, tried, killed, equivalent, alive in rows)
    sums = " | ".join(str(sum(column)) for column in zip(*rows, strict=True))
    assert f"| **all** | {sums} |\n" in text
    for file, changes in EQUIVALENT.items():
        assert all(f"- `{file}`: `{old}` is `{new}`: {reason}\n" in text for old, new, reason in changes)
