"""docs/omop.md, word for word: three commands a side, and a joint table that a plain count confirms."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.support import omop
from tests.support.places import ROOT
from tests.support.walkthrough import Walk, blocks, free_ports

PAGE = ROOT / "docs" / "omop.md"


def test_from_the_tables_to_an_answer(tmp_path: Path) -> None:
    text = PAGE.read_text().replace("--epsilon 1 ", "--exact --out answer.json ")
    for port, other in free_ports(text).items():
        text = text.replace(port, other)
    counted: Counter[tuple[str, ...]] = Counter()
    for seed, party in enumerate(("anna", "bert")):
        model = omop.made(seed)
        omop.write(model, tmp_path / party / "cdm")
        counted.update((sex, treated, ill) for _, sex, ill, treated, _ in omop.columns(model))
    with Walk(tmp_path) as walk:
        commands = Counter[str]()
        for block in blocks(text):
            walk.follow(block)
            if block.kind == "console" and block.place != ".":
                commands[block.place] += len(block.commands)
        walk.end()
    assert commands == {"anna": 3, "bert": 3}
    for party in ("anna", "bert"):
        answer = json.loads((tmp_path / party / "answer.json").read_text())
        assert {tuple(cell["cell"].values()): cell["value"] for cell in answer["numbers"]} == counted
