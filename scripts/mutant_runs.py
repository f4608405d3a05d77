"""Run tests in forks of a process that has loaded everything unchanged: find which code they reach, and which fail.

A new process needs some seconds to load the libraries. A fork has them already. It also has all modules of this
repository that do not import the changed one. If only functions get other code, it has all modules and the tests.
The tests run once without a mutant, which shows the functions that each of them reaches.
"""

from __future__ import annotations

import ast
import ctypes
import gc
import importlib
import inspect
import multiprocessing
import os
import resource
import signal
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Generic, TypeVar

import pytest
from _pytest.main import pytest_runtestloop as runs

FORK = multiprocessing.get_context("fork")
OWN = ("smc", "protocols", "parties")
WITHOUT = ("tests", "scripts", "conftest", "pytest", "_pytest", "__main__")  # pytest must rewrite their asserts
PARENT_ENDS = 1  # PR_SET_PDEATHSIG of prctl(2)
MEMORY = 8 << 30  # bytes: a mutant may ask for more than there is
Outcome = TypeVar("Outcome")
Failing = Callable[..., list[str]]  # arguments: tests, and the number of failures after which it returns
Function = tuple[str, int]  # a file, and the first line of a function in it; 0 stands for any of the file's


class StuckError(Exception):
    """A call in a fork took too long, or its process died."""


def forked(act: Callable[[], Outcome], seconds: float) -> Outcome:
    """Return the result of `act`, called in a fork.

    StuckError is raised after `seconds` of its processor time, or after ten times as long in all.
    """
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_bounded, args=(act, sender, seconds))
    process.start()
    sender.close()
    try:
        if not receiver.poll(10 * seconds):
            raise StuckError
        return receiver.recv()
    except EOFError:
        raise StuckError from None
    finally:
        receiver.close()
        with suppress(ProcessLookupError):  # and every process that the tests have started
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()


def _bounded(act: Callable[[], object], sender: Connection, seconds: float) -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(PARENT_ENDS, signal.SIGKILL)
    for what, most in ((resource.RLIMIT_CPU, int(seconds) + 1), (resource.RLIMIT_DATA, MEMORY)):
        resource.setrlimit(what, (most, most))
    sender.send(act())


@dataclass
class Reached:
    """Result of a run of tests without a mutant.

    It has the tests that reach each function, the processor seconds of each test, and the names of loaded modules.
    """

    tests: dict[Function, set[str]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    sound: set[str] = field(default_factory=set)  # tests that also passed in a fork

    def leave_out(self, failed: Sequence[str]) -> None:
        """Print and remove these tests, which fail without a mutant."""
        for test in failed:
            print(f"LEFT OUT, for it fails as it is: {test}", flush=True)
            self.seconds.pop(test, None)
        for tests in self.tests.values():
            tests.difference_update(failed)

    def of(self, function: Function, mirror: str, most: float) -> list[str]:
        """Return tests that reach a function, at most `most` seconds of them, but at least one if there is any.

        The tests of the module's own file, `mirror`, come first, and within both groups the quick ones. For code
        outside functions, all tests of that file count too.
        """
        own = set() if function[1] else {test for test in self.seconds if mirror in test}
        found = own | self.tests.get(function, set())
        chosen: list[str] = []
        total = 0.0
        for test in sorted(found, key=lambda test: (mirror not in test, self.seconds[test], test)):
            total += self.seconds[test]
            if chosen and total > most:
                break
            chosen.append(test)
        return chosen


class _Reaching:
    """A plugin of pytest that records the functions that tests call.

    Functions called by a fixture or an import count for all tests of the file, which may share it. Caches of
    `functools` are cleared before each test, so that each runs as if it were the only one.
    """

    def __init__(self, root: Path) -> None:
        self.reached = Reached()
        self._root = f"{root}/"
        self._shared: dict[Path, set[Function]] = defaultdict(set)
        self._present: set[Function] = set()
        self._of: dict[str, tuple[Path, set[Function]]] = {}

    def _seen(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(self._root):  # code of a function
            self._present.add((code.co_filename[len(self._root) :], code.co_firstlineno))

    @contextmanager
    def noting(self, place: set[Function]) -> Iterator[None]:
        """Add the functions called in the block to `place`: in this thread, and in threads that start meanwhile."""
        self._present = place
        threading.settrace(self._seen)
        sys.settrace(self._seen)
        try:
            yield
        finally:
            sys.settrace(None)

    @contextmanager
    def _timing(self, item: pytest.Item) -> Iterator[None]:
        begun = sum(os.times()[:4])
        try:
            yield
        finally:
            self.reached.seconds[item.nodeid] += sum(os.times()[:4]) - begun

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        with self.noting(self._shared[collector.path]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Any:
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in OWN:
                for value in list(vars(module).values()):
                    if hasattr(value, "cache_clear"):
                        value.cache_clear()
        with self.noting(self._shared[item.path]), self._timing(item):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        own: set[Function] = set()
        self._of[item.nodeid] = item.path, own
        with self.noting(own), self._timing(item):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.reached.failed.append(report.nodeid)

    def result(self) -> Reached:
        """Return the record."""
        for test, (path, own) in self._of.items():
            for file, line in own | self._shared[path]:
                if file.startswith(OWN):
                    self.reached.tests[file, line].add(test)
                    self.reached.tests[file, 0].add(test)
        self.reached.modules = [name for name in sys.modules if name.partition(".")[0] not in WITHOUT]
        return self.reached


def reached(root: Path, tests: Sequence[str]) -> Reached:
    """Run tests of the tree at `root`, the current directory, and return the functions that they reach."""
    plugin = _Reaching(root)
    _pytest(tests, plugin)
    return plugin.result()


class _Failing:
    """A plugin of pytest that records the tests that fail."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def failing(tests: Sequence[str], most: int = 1) -> list[str]:
    """Run tests until `most` have failed, and return those that failed; all tests if they cannot be run."""
    plugin = _Failing()
    if _pytest([*tests, f"--maxfail={most}"], plugin) == pytest.ExitCode.OK:
        return []
    return plugin.failed or list(tests)


class _Collected(Generic[Outcome]):
    """A plugin of pytest that collects tests once, then calls `act` with a function that runs some of them."""

    def __init__(self, act: Callable[[Failing], Outcome]) -> None:
        self._act = act
        self.outcomes: list[Outcome] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}

        def failing(tests: Sequence[str], most: int = 1) -> list[str]:
            plugin = _Failing()
            session.config.pluginmanager.register(plugin)
            session.config.option.maxfail = most
            session.items = [items[test] for test in tests]
            with suppress(pytest.Session.Failed, pytest.Session.Interrupted):
                runs(session)
            return plugin.failed

        self.outcomes.append(self._act(failing))
        return True


def collected(tests: Sequence[str], act: Callable[[Failing], Outcome]) -> Outcome | None:
    """Return the result of `act`, called with a function like `failing` for some of the collected tests.

    That function may be called once in each fork. The result is None if the tests cannot be collected.
    """
    plugin = _Collected(act)
    _pytest(tests, plugin)
    return plugin.outcomes[0] if plugin.outcomes else None


def swap(file: str, old: bytes, new: bytes) -> None:
    """Give the functions of a loaded module the code that they have in a new source of it.

    Values that were computed from them while the module was loaded stay as they are. So does a function whose number
    of variables from the enclosing function differs.
    """
    before, after = (dict(_codes(compile(source, file, "exec", dont_inherit=True))) for source in (old, new))
    of_lines = {(code.co_qualname, code.co_firstlineno): after.get(name) for name, code in before.items()}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename == file:
            code = of_lines.get((each.__code__.co_qualname, each.__code__.co_firstlineno))
            if code is not None and len(code.co_freevars) == len(each.__code__.co_freevars):
                each.__code__ = code


def _codes(module: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """Yield the code objects in a module, each with its name and its number among those of this name."""
    numbers = Counter[str]()
    left = [module]
    while left:
        code = left.pop()
        yield (code.co_qualname, numbers[code.co_qualname]), code
        numbers[code.co_qualname] += 1
        left += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _pytest(arguments: Sequence[str], *plugins: object) -> int:
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        return int(pytest.main(["-q", "-n0", "-p", "no:cacheprovider", *arguments], plugins))


def load(modules: Sequence[str], without: str = "") -> None:
    """Import modules, except the one in the file `without` and those that import it."""
    blocked = without.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    class Block:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            if name == blocked:
                raise ImportError(name)
            return None

    sys.meta_path.insert(0, Block)
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)
    sys.meta_path.remove(Block)


def function_of(source: bytes, line: int) -> int:
    """Return the first line, decorators included, of the innermost function around a line; 0 if there is none."""
    first = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            inside = node.body[0].lineno <= line <= (node.end_lineno or 0)  # default values belong to the code outside
            first = max(first, start) if inside else first
    return first
