"""smc local: a device's key, one answer and many, tallies of two collectors, estimates with a page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parties import cli
from smc.errors import InputError
from tests.support import chance

TOWNS = ("Padua", "Trent", "Verona")
DIRECT = 'question = "home <town>"\nmechanism = "direct"\nvalues = ["Padua", "Trent", "Verona"]\nepsilon = 2.0\n'
SKETCH = 'question = "town"\nmechanism = "sketch"\nrows = 8\nbits = 64\nepsilon = 4.0\n'
MEAN = 'question = "age"\nmechanism = "mean"\nlow = 0\nhigh = 100\nepsilon = 2.0\nmemoise = false\nreports = 1\n'
PEOPLE = 4000


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Persons and plans, and a device's key. Keys and coins are the same at every run: bounds are 5 deviations."""
    monkeypatch.chdir(tmp_path)
    chance.fix(monkeypatch)
    rng = np.random.default_rng(1)
    rows = {
        "town": rng.choice(TOWNS, PEOPLE, p=[0.6, 0.3, 0.1]),
        "age": rng.integers(20, 60, PEOPLE),
        "who": [f"p{i}" for i in range(PEOPLE)],
    }
    pd.DataFrame(rows).to_csv("rows.csv", index=False)
    for name, content in (("direct", DIRECT), ("sketch", SKETCH), ("mean", MEAN)):
        Path(f"{name}.toml").write_text(content)
    assert smc(capsys, "key", "--out", "device.key")[0] == 0
    return tmp_path


def smc(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(["local", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def report(capsys: pytest.CaptureFixture[str], plan: str, column: str, out: str, *more: str) -> None:
    key = () if plan == "mean.toml" else ("--key", "device.key")
    code, _, told = smc(
        capsys, "report", "--plan", plan, *key, "--data", "rows.csv", "--column", column, "--out", out, *more
    )
    assert code == 0, told
    assert f"{PEOPLE:,} reports" in told


def test_one_answer_is_the_same_each_time(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("report", "--plan", "direct.toml", "--key", "device.key", "--value", "Padua")
    first, second = smc(capsys, *words), smc(capsys, *words)
    assert first[0] == 0
    assert first == second
    assert len(first[1].splitlines()) == 2


def test_printed_reports_are_a_file_however_many(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.DataFrame({"town": np.repeat(TOWNS, 2000)}).to_csv("rows.csv", index=False)  # more than are made at once
    words = ("report", "--plan", "direct.toml", "--key", "device.key", "--data", "rows.csv", "--column", "town")
    code, printed, _ = smc(capsys, *words)
    assert code == 0
    assert smc(capsys, *words, "--out", "reports.txt")[0] == 0
    assert printed == Path("reports.txt").read_text()


def test_two_collectors_decode_together(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(capsys, "direct.toml", "town", "a.txt", "--person", "who")
    report(capsys, "direct.toml", "town", "b.txt", "--person", "who")
    assert Path("a.txt").read_bytes() == Path("b.txt").read_bytes()  # the same persons under the same key
    assert smc(capsys, "key", "--out", "other.key")[0] == 0
    code, _, _ = smc(
        capsys,
        *("report", "--plan", "direct.toml", "--key", "other.key"),
        *("--data", "rows.csv", "--column", "town", "--out", "b.txt", "--force"),
    )
    assert code == 0
    assert smc(capsys, "tally", "--plan", "direct.toml", "--reports", "b.txt", "--out", "b.json")[0] == 0
    code, out, told = smc(
        capsys,
        "decode",
        "--plan",
        "direct.toml",
        "--reports",
        "a.txt",
        "--reports",
        "b.json",
        "--json",
        "--page",
        "p.html",
    )
    assert code == 0, told
    found = json.loads(out)
    assert found["reports"] == 2 * PEOPLE
    true = pd.read_csv("rows.csv")["town"].value_counts(normalize=True)
    for row in found["estimates"]:
        assert abs(row["value"] - true[row["name"]]) < 5 * row["deviation"] < 0.1
    page = Path("p.html").read_text()
    assert "home &lt;town&gt;" in page
    assert all(page.count(town) >= 2 for town in TOWNS)  # table and picture


def test_numbers_and_texts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(capsys, "mean.toml", "age", "m.txt")
    code, out, _ = smc(capsys, "decode", "--plan", "mean.toml", "--reports", "m.txt", "--json")
    row = json.loads(out)["estimates"][0]
    assert code == 0
    assert abs(row["value"] - pd.read_csv("rows.csv")["age"].mean()) < 5 * row["deviation"]
    report(capsys, "sketch.toml", "town", "s.txt")
    Path("towns.txt").write_text("Padua\nRome\n\nPadua\n")
    code, out, _ = smc(capsys, "decode", "--plan", "sketch.toml", "--reports", "s.txt", "--candidates", "towns.txt")
    assert code == 0
    assert "Padua" in out
    assert out.count("Padua") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("report", "--plan", "direct.toml", "--value", "Padua"), "--key is missing"),
        (("report", "--plan", "direct.toml", "--key", "device.key"), "give exactly one of --value"),
        (
            ("report", "--plan", "direct.toml", "--key", "device.key", "--value", "Rome"),
            "'Rome' is not among the plan's",
        ),
        (("report", "--plan", "direct.toml", "--key", "device.key", "--data", "rows.csv"), "--column is missing"),
        (
            ("report", "--plan", "direct.toml", "--key", "device.key", "--data", "rows.csv", "--column", "twon"),
            "no column 'twon' (did you mean 'town'?)",
        ),
        (("report", "--plan", "mean.toml", "--value", "old"), "'old' is not a number; correct it"),
        (("report", "--plan", "mean.toml", "--value", ""), "a value is missing"),
        (("report", "--plan", "direct.toml", "--key", "rows.csv", "--value", "Padua"), "rows.csv"),
        (("key", "--out", "device.key"), "device.key"),
        (("decode", "--plan", "sketch.toml", "--reports", "rows.csv"), "--candidates is missing"),
        (("decode", "--plan", "direct.toml", "--reports", "rows.csv"), "neither a file of reports nor a tally"),
        (("decode", "--plan", "direct.toml", "--reports", "none.txt"), "none.txt"),
    ],
)
def test_wrong_inputs_get_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    before = Path("device.key").read_bytes()
    code, out, told = smc(capsys, *words)
    assert code == 2
    assert message in told
    assert len(told.splitlines()) == 1
    assert not out
    assert Path("device.key").read_bytes() == before


def test_a_total_for_all_answers(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, told = smc(capsys, "key", "--total", "5", "--out", "one.key")
    assert (code, told) == (0, "written: one.key and one.key.account\n")
    words = ("report", "--plan", "direct.toml", "--key", "one.key", "--value")
    first, again = smc(capsys, *words, "Padua"), smc(capsys, *words, "Padua")
    assert first == again
    assert first[2] == "epsilon: 2 of 5 spent, 3 left\n"
    assert smc(capsys, "report", "--plan", "mean.toml", "--key", "one.key", "--value", "40")[0] == 0
    code, out, _ = smc(capsys, "spent", "--key", "one.key", "--json")
    shown = json.loads(out)
    assert (code, shown["spent"], shown["left"]) == (0, 4.0, 1.0)
    assert [row["question"] for row in shown["questions"]] == ["home <town>", "age"]
    code, out, _ = smc(capsys, "spent", "--key", "one.key")
    assert out == (
        "epsilon: 4 of 5 spent, 1 left\n"
        "home <town>: 2, reports: 2, different values: 1\nage: 2, reports: 1, each drawn afresh\n"
    )
    before = Path("one.key.account").read_bytes()
    for refused, message in (
        ((*words, "Trent"), "would spend epsilon 2, and 1 of 5 remains"),
        ((*words, "Rome"), "not among the plan's values"),
        (("report", "--plan", "mean.toml", "--key", "one.key", "--value", "40"), "has sent all 1 reports"),
        (
            ("report", "--plan", "direct.toml", "--key", "one.key", "--data", "rows.csv", "--column", "town"),
            "a key with a total belongs to one person",
        ),
        ((*words, "Padua", "--out", "one.key.account"), "would be overwritten"),
        (("key", "--total", "0", "--out", "two.key"), "--total must be a number above 0"),
        (("key", "--total", "nan", "--out", "two.key"), "--total must be a number above 0"),
        (("key", "--total-delta", "1e-6", "--out", "two.key"), "--total-delta needs --total"),
        (("key", "--total", "1", "--total-delta", "1", "--out", "two.key"), "above 0 and below 1"),
        (("spent", "--key", "device.key"), "the key has no total"),
    ):
        code, out, told = smc(capsys, *refused)
        assert (code, out, len(told.splitlines())) == (2, "", 1)
        assert message in told
    assert Path("one.key.account").read_bytes() == before
    assert not Path("two.key").exists()


def test_answers_with_a_delta(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("gauss.toml").write_text(
        'question = "age"\nmechanism = "gauss"\nlow = 0\nhigh = 100\nepsilon = 4.0\ndelta = 1e-6\n'
    )
    assert smc(capsys, "key", "--total", "8", "--total-delta", "1e-6", "--out", "one.key")[0] == 0
    words = ("report", "--plan", "gauss.toml", "--key", "one.key", "--value")
    first, again = smc(capsys, *words, "40"), smc(capsys, *words, "40")
    assert first == again
    assert first[2].startswith("epsilon: 4 of 8 spent, 4 left; delta: 9.99")
    code, _, told = smc(capsys, *words, "41")
    assert (code, "would spend delta" in told) == (2, True)
    report(capsys, "gauss.toml", "age", "g.txt")
    decode = ("decode", "--plan", "gauss.toml", "--reports", "g.txt")
    code, out, _ = smc(capsys, *decode, "--json")
    shown = json.loads(out)
    row = shown["estimates"][0]
    assert abs(row["value"] - pd.read_csv("rows.csv")["age"].mean()) < 5 * row["deviation"]
    assert shown["delta"] == shown["lasting_delta"] <= 1e-6
    assert "a report: epsilon 4, delta 9.99" in smc(capsys, *decode)[1]
    code, _, told = smc(capsys, *decode, "--shuffled", "1e-6")
    assert (code, "have a delta; remove --shuffled" in told) == (2, True)


def test_advice_before_a_plan(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = smc(capsys, "plan", "--values", "1000", "--epsilon", "1", "--reports", "100000", "--json")
    assert (code, json.loads(out)["mechanisms"][0]["mechanism"]) == (0, "subset")
    code, out, _ = smc(capsys, "plan", "--low", "0", "--high", "1", "--epsilon", "1", "--reports", "100")
    assert (code, "mean has the least error" in out) == (0, True)
    for words, message in (
        (("--epsilon", "1"), "either --values"),
        (("--values", "3", "--low", "0", "--high", "1", "--epsilon", "1"), "either --values"),
        (("--low", "0", "--epsilon", "1"), "either --values"),
        (("--texts", "30", "--epsilon", "1", "--delta", "0.1"), "--delta: goes with numbers"),
        (("--values", "3", "--epsilon", "99"), "epsilon must be <= 15"),
        (("--texts", "3", "--epsilon", "nan"), "epsilon must be a"),
        (("--low", "nan", "--high", "1", "--epsilon", "1"), "low must be a"),
        (("--low", "1", "--high", "1", "--epsilon", "1"), "low must be below high"),
        (("--low", "0", "--high", "1", "--epsilon", "1", "--delta", "1"), "delta must be <= 0.01"),
    ):
        code, out, told = smc(capsys, "plan", *words, "--reports", "100")
        assert (code, out, len(told.splitlines())) == (2, "", 1)
        assert message in told


def test_a_charge_is_written_before_its_answer(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends the program after the charge, the answer is counted; and what cannot be charged is not told."""
    assert smc(capsys, "key", "--total", "5", "--out", "one.key")[0] == 0
    words = ("report", "--plan", "direct.toml", "--key", "one.key", "--value", "Padua")

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("parties.commands.local.click.echo", crash)
        assert smc(capsys, *words)[:2] != (0, "")
    assert json.loads(smc(capsys, "spent", "--key", "one.key", "--json")[1])["spent"] == 2.0
    before = Path("one.key.account").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise InputError("cannot write: no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("parties.alone.local.account.files.write_bytes", full)
        code, out, told = smc(capsys, *words[:-1], "Trent")
    assert (code, out) == (2, "")
    assert "no space left" in told
    assert Path("one.key.account").read_bytes() == before


def test_a_key_without_its_account_is_not_left(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.key.account").write_text("of before")
    code, _, told = smc(capsys, "key", "--total", "5", "--out", "two.key")
    assert code == 2
    assert "two.key.account" in told
    assert not Path("two.key").exists()
    assert Path("two.key.account").read_text() == "of before"
