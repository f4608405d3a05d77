"""Plant bugs that break privacy or secrecy, each in its own copy of the tree, and check that tests fail.

    python -m scripts.planted              # all of them
    python -m scripts.planted aim top      # those with one of the words in the file or the line

A bug replaces a piece of the source, `old`, by `new`, and names the tests that must notice. It is caught if a test
fails. If all tests pass, another test is needed. The source with the bug must still be importable, otherwise the run
says nothing about the tests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

ROOT = Path(__file__).resolve().parents[1]
Outcome: TypeAlias = Literal["caught", "LIVES", "not planted", "hangs"]
LEFT_OUT = (".*", "build", "*.egg-info", "docs", "deploy", ".hypothesis")
OUTCOMES: dict[int, Outcome] = {0: "LIVES", 1: "caught"}  # by exit code of pytest
PATIENCE = 600  # seconds


@dataclass(frozen=True)
class Bug:
    """A bug in `file`: its only place with `old` becomes `new`. `tests`, in pytest's notation, must then fail."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split()) or 'nothing'}"

    def fits(self, root: Path) -> bool:
        """Return whether the source has `old` exactly once, and the files of the tests exist."""
        paths = [root / test.partition("::")[0] for test in self.tests]
        return (root / self.file).read_text().count(self.old) == 1 and all(path.exists() for path in paths)

    def plant(self, root: Path) -> None:
        """Put the bug into the source."""
        path = root / self.file
        path.write_text(path.read_text().replace(self.old, self.new))


def bugs() -> tuple[Bug, ...]:
    """Return all bugs."""
    from scripts.planted_bugs import BUGS

    return tuple(Bug(file, old, new, tests) for file, tests, lines in BUGS for old, new in lines)


def tried(bug: Bug) -> tuple[Outcome, str]:
    """Plant a bug in a copy, and return its outcome and the last line of pytest's output."""
    if not bug.fits(ROOT):
        return "not planted", "the source has no such line, or has it twice, or a test is gone"
    with copied() as copy:
        bug.plant(copy)
        return outcome(copy, bug.tests)


@contextmanager
def copied() -> Iterator[Path]:
    """Yield a temporary copy of the tree."""
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        yield copy


def outcome(copy: Path, tests: Sequence[str], patience: float = PATIENCE) -> tuple[Outcome, str]:
    """Run tests in a copy of the tree for at most `patience` seconds; return outcome and pytest's last line."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *tests]
    # Use the usual number of examples of property tests, not the larger one of a campaign.
    environment = {key: value for key, value in os.environ.items() if key != "SMC_CAMPAIGN"}
    environment |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return "hangs", ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    last = (failed or done.stdout.splitlines() or done.stderr.splitlines() or [""])[-1]
    if any(line.startswith("ERROR") for line in failed):
        return "not planted", last
    return OUTCOMES.get(done.returncode, "not planted"), last


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant the bugs and print each outcome; return 1 if one was not caught."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only bugs of which the text has one of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    options = parser.parse_args(arguments)
    chosen = [bug for bug in bugs() if not options.words or any(word in str(bug) for word in options.words)]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = []
        for bug, (became, said) in zip(chosen, pool.map(tried, chosen), strict=True):
            print(f"{became:12}{bug}\n{'':12}{said}", flush=True)
            found.append(became)
    caught = found.count("caught")
    print(f"{caught} of {len(found)} caught")
    return 0 if caught == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
