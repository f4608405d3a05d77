"""`smc compare`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from parties.cli import run


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text('[attributes]\na = ["x", "y"]\nb = ["x", "y"]\nc = ["x", "y"]\n')
    rng = random.Random(1)
    for name in ("own.csv", "synthetic.csv"):
        Path(name).write_text("a,b,c\n" + "".join(",".join(rng.choices("xy", k=3)) + "\n" for _ in range(60)))
    return tmp_path


WORDS = ["compare", "--data", "own.csv", "--synthetic", "synthetic.csv", "--schema", "schema.toml"]


@pytest.mark.usefixtures("files")
def test_all_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*WORDS, "--target", "c", "--report", "r.json", "--page", "r.html", "--svg", "r.svg", "--json"]) == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert json.loads(Path("r.json").read_text()) == report
    assert report["rows"] == {"own": 60, "synthetic": 60}
    assert {one["model"] for one in report["models"]["accuracy"]} >= {"tree (ID3)", "naive Bayes"}
    assert "synthetic.csv beside own rows" in Path("r.html").read_text()
    assert Path("r.svg").read_text().startswith("<?xml")
    assert shown.err.endswith("written: r.json, r.html, r.svg\n")


@pytest.mark.usefixtures("files")
def test_text_and_no_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(WORDS) == 0
    shown = capsys.readouterr().out
    assert "error of marginals of 3 columns" in shown
    assert "accuracy" not in shown


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--target", "d"], "target 'd' is not an attribute of the schema"),
        (["--page", "own.csv"], "--page"),
        (["--svg", "nowhere/r.svg"], "nowhere"),
    ],
)
def test_one_line_for_what_is_wrong(more: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*WORDS, *more]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1


@pytest.mark.usefixtures("files")
def test_too_few_rows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text("a,b,c\nx,y,x\n")
    assert run(WORDS) == 2
    assert capsys.readouterr().err == "smc: a comparison takes at least 5 rows, the own table has 1\n"
