"""Rules, survival, judging and tests refuse what makes no sense in one line, before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parties import cli

WIDE = ", ".join(f'"{value}"' for value in range(300))
SCHEMA = """
target = "ill"
[attributes]
arm = ["a", "b"]
stage = ["1", "2", "3"]
ill = ["no", "yes"]
same = ["x"]
fine = { type = "integer", low = 0, high = 999 }
score = { type = "real", low = 0.0, high = 1.0, step = 0.1 }
logit = { type = "real", low = -3.0, high = 8.0, step = 0.5 }
"""
ROWS = "arm,stage,ill,same,fine,score,logit\na,1,no,x,7,0.3,1\nb,2,yes,x,70,0.9,2\n"
TREE = {
    "schema_digest": "0" * 64, "target": "ill", "tolerance": 0.1,
    "tree": {"attribute": "wind", "branches": {"weak": {"class": "yes"}, "strong": {"class": "no"}}},
}  # fmt: skip
BAD = [
    ("rules --support 0", "--support: must be > 0, not 0"),
    ("rules --support 1.5", "--support: must be <= 1, not 1.5"),
    (
        "rules --schema wide.toml",
        "columns: their values make 70,200,000 pairs, at most 1,048,576 are decided: name fewer",
    ),
    ("boost --bins 300 --epsilon 1", "--bins: must be <= 256, not 300"),
    (
        "survive curve --time fine --event ill --epsilon 1",
        "--time: 'fine' has 1000 bins, more than 256; give the column",
    ),
    ("survive compare --time score --event stage --arm arm", "--event: 'stage' has 3 values ('1', '2', '3'), an event"),
    ("id3 --target same", "--target: 'same' has one value, 'x'; choose another target"),
    ("forest --target same", "--target: 'same' has one value, 'x'; choose another target"),
    ("boost --target same --epsilon 1", "--target: 'same' has 1 class; softmax is for 2 to 64"),
    ("rank --target same", "--target: no two values of 'same' remain to compare; change where or the schema"),
    (
        "scorecard --target same --epsilon 1",
        "--target: no two classes of 'same' remain to compare; change where or the schema",
    ),
    ("test trend --target same --by arm", "--target: needs at least two values"),
    (
        "evaluate report --scores score --target same --epsilon 1",
        "--target: 'same' has 1 value ('x'), a target needs two values, yes and no",
    ),
    (
        "evaluate report --scores logit --target ill --epsilon 1",
        "--scores: 'logit' goes from -3 to 8.5 in the schema, not from 0",
    ),
    (
        "evaluate report --model tree.json --epsilon 1",
        "--model: the model is for another schema: there is no column 'wind'",
    ),
    ("quantile --column stage --at 1.5 --epsilon 1", "--at: must be <= 1, not 1.5"),
]


@pytest.mark.parametrize(("words", "line"), BAD)
def test_one_line_says_what_is_wrong(
    words: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And where: there is no way to a peer, so who is refused has not looked for it."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(ROWS)
    Path("schema.toml").write_text(SCHEMA)
    Path("wide.toml").write_text('target = "v0"\n[attributes]\n' + "".join(f"v{i} = [{WIDE}]\n" for i in range(40)))
    Path("tree.json").write_text(json.dumps(TREE))
    before = sorted(tmp_path.iterdir())
    schema = [] if "--schema" in words else ["--schema", "schema.toml"]
    assert cli.run([*words.split(), "--data", "rows.csv", *schema]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"smc: {line}"), err
    assert sorted(tmp_path.iterdir()) == before
