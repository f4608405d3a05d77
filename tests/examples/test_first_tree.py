"""The README's first joint tree, word for word on loopback, from two raw files."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from tests.support.places import ENVIRONMENT, ROOT
from tests.support.ports import free_port
from tests.support.walkthrough import PROGRAM

TYPED = re.compile(r"^    (anna|bert|anna and bert)\$ smc (.*)$", re.MULTILINE)
PATIENCE = 120.0


def raw_table(seed: int, separator: str) -> str:
    """Two hundred patients, whose outcome follows from age and smoking."""
    draw = random.Random(seed)
    rows = [(draw.randint(20, 89), draw.choice(["yes", "no"])) for _ in range(200)]
    lines = [separator.join(("age", "smoker", "outcome"))]
    for age, smoker in rows:
        lines.append(separator.join((str(age), smoker, "ill" if age >= 50 and smoker == "yes" else "well")))
    return "\n".join(lines) + "\n"


def test_the_first_joint_tree(tmp_path: Path) -> None:
    anna, bert = tmp_path / "anna", tmp_path / "bert"
    for folder in (anna, bert):
        folder.mkdir()
    (anna / "patients.csv").write_text(raw_table(1, ","))
    (bert / "patienten.csv").write_text(raw_table(2, ";"))
    (anna / "new-patients.csv").write_text("age,smoker\n70,yes\n70,no\n30,yes\n")
    port = free_port()

    def start(party: str, command: str) -> subprocess.Popen[str]:
        command = re.sub(r"(0\.0\.0\.0|anna\.example\.org):7001", f"127.0.0.1:{port}", command)
        command = re.sub(r"\w+\.example\.org", "127.0.0.1", command)
        words = [*PROGRAM, *shlex.split(command)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(words, cwd=tmp_path / party, env=ENVIRONMENT, text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def end(process: subprocess.Popen[str]) -> str:
        out, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        return out

    lines = TYPED.findall((ROOT / "README.md").read_text())
    typed = [(party, command) for both, command in lines for party in both.split(" and ")]
    verbs = [command.split()[0] for _, command in typed]
    assert verbs == ["prepare"] * 2 + ["init"] * 2 + ["identity"] * 4 + ["schema"] + ["id3"] * 2 + ["predict"]
    for party, command in typed[:4]:
        end(start(party, command))
    for mine, theirs, name in ((anna, bert, "bert"), (bert, anna, "anna")):
        shutil.copy(theirs / "clinic" / f"{name}.crt", mine / "clinic")
    shutil.copy(bert / "clinic" / "schema.toml", anna / "berts.toml")
    shown = [end(start(party, command)) for party, command in typed[4:8]]
    assert shown[0] == shown[1] != shown[2] == shown[3]
    end(start(*typed[8]))
    for folder in (anna, bert):
        shutil.copy(anna / "agreed.toml", folder / "clinic" / "schema.toml")
    running = [start(party, command) for party, command in typed[9:11]]
    trees = [end(process) for process in running]
    assert trees[0] == trees[1]
    assert "ill" in trees[0]
    assert end(start(*typed[11])).split() == ["ill", "well", "well"]
