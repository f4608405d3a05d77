"""docs/errors.md is what the kept results say, and these are of the settings that commands take by themselves today."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import answers, clusters, errors, local
from benchmarks.private_trees import ways
from benchmarks.private_trees.tables import load
from benchmarks.regression.simulation import task
from benchmarks.synthesis import marginals
from parties.jobs.release.noise import laplace


def rows(name: str, key: str = "rows") -> list[dict[str, Any]]:
    found = errors.results(name)[key]
    assert found
    return found  # type: ignore[no-any-return]


def test_the_page_is_made_of_the_results() -> None:
    assert errors.TARGET.read_text(encoding="utf-8") == errors.document(), "run: make errors"


def test_what_is_behind_is_bold_and_must_be_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell as good as the peer's mean and spread is not behind; one above is, and so is one over 1.15 of theory."""
    assert not errors.Cell(1.1, 1.0, 0.1).is_behind
    assert errors.Cell(1.11, 1.0, 0.1).text("{:.2f}".format) == "**1.11 (1.11)**"
    assert not errors.Cell(1.15, least=1.0).is_behind
    assert errors.Cell(1.16, least=1.0).text("{:.2f}".format) == "**1.16**"
    known = errors.WHY
    for key, text in (("sigma", "nothing of it is behind"), ("tree", "")):
        said = {why: words for why, words in {**known, key: text}.items() if words}
        monkeypatch.setattr(errors, "WHY", said)
        with pytest.raises(LookupError, match=f"{key}: WHY"):
            errors.document()


@pytest.mark.parametrize("name", ways.NAMES)
def test_trees_and_naive_bayes_have_the_defaults(shared: Path, name: str) -> None:
    table, ordered = ways.typed(shared / "data", name)
    found = [row for row in rows("private_ways") if row["table"] == name]
    assert [row["epsilon"] for row in found] == list(ways.EPSILONS)
    for row in found:
        task_ = ways.tree_task(table, ordered, row["epsilon"])
        cell = ways.cell_of(task_)
        assert task_.questions.domains == ways.by_edges(table, ordered).domains
        assert [row[key] for key in ("depth", "quality", "stop")] == [cell.depth, cell.quality, cell.stop]
        (noise,) = ways.bayes_task(table, row["epsilon"]).query.mechanisms
        assert (row["noise"], row["scale"]) == (noise.family, round(float(noise.scale), 4)), "run: make bench-private"
    peers = [row["epsilon"] for row in rows("private_peers") if row["table"] == name]
    assert peers == list(ways.EPSILONS)


def test_a_line_of_naive_bayes_is_measured_again(shared: Path) -> None:
    table, _ = ways.typed(shared / "data", "wisconsin")
    (kept,) = [row for row in rows("private_ways") if (row["table"], row["epsilon"]) == ("wisconsin", "0.5")]
    assert {key: kept[key] for key in ("bayes", "doubted", "noise", "scale")} == ways.bayes(table, "0.5")


def test_clusters_have_the_default_method() -> None:
    for row in rows("clusters", "inertia"):
        task_ = clusters.task_of(None, row["rows"], row["columns"], row["epsilon"], ("0", "1"))
        assert row["default"] == task_.settings.method, "run: make bench-clusters"


def test_linear_models_have_the_default_settings(shared: Path) -> None:
    adult = load(shared / "data", "adult")
    for epsilon, row in errors.results("regression")["epsilon"].items():
        assert row["gradient"]["chosen"] == task(adult, epsilon, "gradient").chosen, "run: make bench-regress"


def test_single_answers_have_the_defaults_and_what_is_computed_is_so_still() -> None:
    assert rows("answers", "sigma") == list(answers.sigmas())
    assert rows("answers", "triangles") == list(answers.triangles())
    for row in rows("answers", "answers"):
        scale = answers.task_of(row["question"], row["epsilon"]).query.mechanisms[0].scale
        assert row["scale"] == str(scale), "run: make bench-answers"


def test_the_error_of_a_mean_is_that_of_its_law() -> None:
    """Of the whole noises X and Y of both numbers it is (1 - p) X - p Y over n; within six standard errors."""
    mean, _ = answers.truth()["mean"]
    p = mean / answers.HIGH
    for row in rows("answers", "answers"):
        if row["question"] == "mean":
            noise = laplace(Fraction(row["epsilon"]), answers.HIGH, "add-remove")
            law = math.sqrt(noise.variance * (p**2 + (1 - p) ** 2)) / answers.ROWS
            assert abs(row["smc"]["error"] - law) < 6 * row["smc"]["sure"]


def test_the_limit_of_sigma_is_the_published_one() -> None:
    """Balle and Wang's curve at its sigma, by sums over the normal law; half the deviation breaks it."""
    for epsilon, delta in ((1.0, 1e-6), (0.1, 1e-6)):
        sigma = answers.limit(epsilon, delta)
        x = np.linspace(-40 * sigma, 40 * sigma, 2_000_001)
        densities = [np.exp(-((x - at) ** 2) / 2 / sigma**2) / sigma / math.sqrt(2 * math.pi) for at in (0, 1)]
        lost = np.maximum(densities[1] - math.exp(epsilon) * densities[0], 0).sum() * (x[1] - x[0])
        assert lost == pytest.approx(delta, rel=1e-3)


def test_local_answers_have_the_mechanisms_of_today() -> None:
    for row in rows("local", "errors"):
        if "closed form" in row:
            made = local.ways(row["epsilon"])
            assert row["closed form"] == pytest.approx(made[row["what"]].variance / local.PEOPLE)
            assert row["least"] == pytest.approx(made["subset"].variance / local.PEOPLE)


def test_synthetic_rows_have_the_default_settings(shared: Path) -> None:
    tables = {name: load(shared / "data", name) for name in marginals.TABLES}
    for row in rows("synthesis_errors"):
        if row["way"] in marginals.WAYS:
            table = tables[row["table"]]
            task_ = marginals.task_of((*table.domains, table.classes), len(table.labels), row["epsilon"], row["way"])
            assert row["rho"] == round(float(task_.work.rho), 6), "run: make bench-marginals"
            assert (task_.settings.select, task_.settings.ways) == (row["way"].lower(), 2)
