"""The steps of `examples/two_machines` by the core: keys, a check of each party, and one tree of two CSV files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.places import ROOT
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE

NAMES = ("anna", "bert")


def learn_a_tree(smc: Sequence[object], folder: Path, environment: dict[str, str] | None = None) -> list[str]:
    """Return what each of the two parties prints.

    Args:
        smc: The command, with its first arguments.
        folder: Empty folder for both parties.
        environment: Environment of the processes; None for that of this process.
    """
    shutil.copytree(ROOT / "examples" / "two_machines", folder, dirs_exist_ok=True)
    port = str(free_port())

    def start(name: str, *words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*map(str, smc), *map(str, words)], cwd=folder / name, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def ran(*lines: tuple[object, ...]) -> list[str]:
        running = [start(name, *words) for name, words in zip(NAMES, lines, strict=False)]
        said = [one.communicate(timeout=PATIENCE)[0] for one in running]
        assert [one.returncode for one in running] == [0] * len(running), said
        return said

    ran(*(("identity", "create", name, "--out", ".") for name in NAMES))
    for name, peer in zip(NAMES, reversed(NAMES), strict=True):
        shutil.copy(folder / name / f"{name}.crt", folder / peer)
        party = folder / name / "party.toml"
        party.write_text(party.read_text().replace("7001", port, 1))
    ran(("check", "--config", "party.toml"))  # the listening party's, which needs no answer of the peer
    return ran(*(("id3", "--config", "party.toml") for _ in NAMES))
