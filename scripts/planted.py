"""Plants bugs that privacy or secrecy would not survive, each in a copy of the tree, and sees the tests fail.

    python -m scripts.planted              # all of them
    python -m scripts.planted aim top      # those whose file, or whose line, has one of the words

A bug is one line of the source, `old`, that says something else, `new`, and the tests that have to notice. It is caught
if a test fails; a bug that all tests live with asks for another test. What a bug leaves of the source must still be
imported, or nothing is said about the tests.
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
OUTCOMES: dict[int, Outcome] = {0: "LIVES", 1: "caught"}  # by how pytest ends
PATIENCE = 600  # seconds


@dataclass(frozen=True)
class Bug:
    """In `file`, the one place with `old` says `new`; `tests` fail, paths or parts of files as pytest names them."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split()) or 'nothing'}"

    def fits(self, root: Path) -> bool:
        """Whether the source has that line, once, and the tests are there."""
        paths = [root / test.partition("::")[0] for test in self.tests]
        return (root / self.file).read_text().count(self.old) == 1 and all(path.exists() for path in paths)

    def plant(self, root: Path) -> None:
        """Put it into the source."""
        path = root / self.file
        path.write_text(path.read_text().replace(self.old, self.new))


def bugs() -> tuple[Bug, ...]:
    """All that are planted."""
    from scripts.planted_bugs import BUGS

    return tuple(Bug(file, old, new, tests) for file, tests, lines in BUGS for old, new in lines)


def tried(bug: Bug) -> tuple[Outcome, str]:
    """What becomes of a bug, and what pytest said last."""
    if not bug.fits(ROOT):
        return "not planted", "the source has no such line, or has it twice, or a test is gone"
    with copied() as copy:
        bug.plant(copy)
        return outcome(copy, bug.tests)


@contextmanager
def copied() -> Iterator[Path]:
    """Copy the tree to where a bug may be planted."""
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        yield copy


def outcome(copy: Path, tests: Sequence[str], patience: float = PATIENCE) -> tuple[Outcome, str]:
    """Run tests in a copy of the tree for so many seconds at most: what they say of it, and what pytest said last."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *tests]
    # Not the examples of a campaign: those that everybody's tests have.
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
    """Plant them, say what became of each; 1 if one was not caught."""
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
