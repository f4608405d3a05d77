"""Errors of single answers: Gaussian noise, means, medians, quantiles, triangles, beside OpenDP, diffprivlib, theory.

    [SMC_DIFFPRIVLIB=interpreter] python -m benchmarks.answers --out benchmarks/results     (or: make bench-answers)

The jobs of `smc release mean`, `release median` and `smc quantile` set only the column, epsilon, and the row bound that
`smc prepare` writes. The rows are 1,000 artificial whole numbers from 0 to 1,000. numpy draws the noise, from the law
of the circuit up to 2^-40. The error is the root of the mean square, with its own standard error beside it. Laws and
scales are computed:

- The *limit* of sigma is that of the analytic Gaussian mechanism (Balle, Wang 2018). OpenDP finds its sigma by its own
  search.
- The *least* error of a mean is the least worst error of any mechanism (Kulesza, Suresh, Wang 2023). It is that of the
  staircase (Geng, Viswanath 2014), as if the number of rows were known. The *worst* is the error of `release mean` if
  all numbers are low.
- Triangles are counted in graphs of 100 vertices. The columns are the law that the command uses, *plain* noise by the
  global sensitivity, and *narrow*, a ladder of which every second rung is one number wider than the one before. No
  ladder of Zhang and others (SIGMOD 2015) has narrower rungs.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.peers.programs import answered
from parties.alone.preparing.writing import row_bound
from parties.base import files
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.jobs.kinds.quantile import Quantile
from parties.jobs.kinds.release.mean import Mean
from parties.jobs.kinds.release.median import Median
from parties.jobs.release.noise import gauss, laplace
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from protocols.release import ladder
from protocols.release.median import weighed

EPSILONS, DELTAS = ("0.1", "0.5", "1", "2"), ("1e-6", "1e-9")
ROWS, HIGH, AT = 1000, 1000, 0.9
VERTICES, COMMON = 100, (1, 10)
QUESTIONS = ("mean", "median", "quantile")
Row = dict[str, Any]


def numbers() -> Any:
    """Return the rows, int64[ROWS] from 0 to HIGH.

    They are normal: the median lies where rows are dense, and the quantile `AT` where they are sparse.
    """
    return np.clip(np.rint(np.random.default_rng(1).normal(300, 100, ROWS)), 0, HIGH).astype(np.int64)


def truth() -> dict[str, tuple[float, float]]:
    """Return the least and the greatest correct answer of each question, without noise."""
    rows, mean = np.sort(numbers()), float(numbers().mean())
    places = {"median": ROWS // 2, "quantile": round(AT * ROWS)}
    return {"mean": (mean, mean), **{name: (float(rows[at - 1]), float(rows[at])) for name, at in places.items()}}


def task_of(question: str, epsilon: str) -> Any:
    """Return the job of the command with its defaults."""
    kind: Any = {"mean": Mean, "median": Median, "quantile": Quantile}[question]
    asked = {"column": "x", "epsilon": float(epsilon), "max_rows": row_bound(-(-ROWS // 2))}
    asked |= {"at": AT} if question == "quantile" else {}
    return kind.canonical(kind.Settings.model_validate(asked), Schema({"x": tuple(map(str, range(HIGH + 1)))}))


def answers(question: str, epsilon: str, draws: int) -> Any:
    """Return `draws` answers of the command; medians and quantiles are drawn from the law of the choice."""
    task, draw = task_of(question, epsilon), np.random.default_rng([ROWS, QUESTIONS.index(question)])
    scale = float(task.query.mechanisms[0].scale)
    if question == "mean":
        none = np.zeros((ROWS, 0), dtype=np.int64)
        exact, chance = task.own_rows(RowCounts([], HIGH + 1, none, numbers())), -math.expm1(-1 / scale)
        noise = draw.geometric(chance, (draws, 2)) - draw.geometric(chance, (draws, 2))
        return [float(task.document((exact + one).tolist())["numbers"][0]["value"]) for one in noise]
    share = Fraction(str(AT)) if question == "quantile" else Fraction(1, 2)
    scores = -np.maximum(*weighed(np.bincount(numbers(), minlength=HIGH + 1)[:, None], share))[:, 0]
    noise = np.floor(draw.exponential(scale, (draws, len(scores))))
    return (scores + noise).argmax(axis=1).astype(float)


def of_opendp(question: str, epsilon: str, draws: int) -> list[float]:
    """Return OpenDP's answers.

    A mean is a noisy sum divided by a noisy count, each with half of epsilon. A median or quantile is a noisy choice
    among all numbers. As in ours, neighbouring tables differ by one row added or removed.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rows: list[int] = numbers().tolist()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    if question == "mean":
        bounded = dp.t.make_clamp(*space, bounds=(0, HIGH))
        sums, counts = bounded >> dp.t.then_sum(), dp.t.make_count(*space)

        def half(transformation: Any) -> Any:
            return dp.binary_search_chain(lambda s: transformation >> dp.m.then_laplace(s), 1, float(epsilon) / 2)

        total, many = half(sums), half(counts)
        return [total(rows) / max(many(rows), 1) for _ in range(draws)]
    alpha = 0.5 if question == "median" else AT
    scores = dp.t.make_quantile_score_candidates(*space, candidates=list(range(HIGH + 1)), alpha=alpha)
    chosen = dp.binary_search_chain(
        lambda s: scores >> dp.m.then_noisy_max(dp.max_divergence(), scale=s, negate=True), 1, float(epsilon)
    )
    return [float(chosen(rows)) for _ in range(draws)]


def of_diffprivlib(python: str, draws: int) -> dict[str, dict[str, list[float]]]:
    """Return diffprivlib's answers by epsilon and question."""
    asked = {"numbers": numbers().tolist(), "low": 0, "high": HIGH, "at": AT, "epsilons": EPSILONS, "draws": draws}
    program = Path(__file__).parent / "peers" / "diffprivlib_answers.py"
    answer: dict[str, dict[str, list[float]]] = answered(python, program, asked)
    return answer


def error(question: str, given: list[float]) -> dict[str, float]:
    """Return the root of the mean square error, and its own standard error, `sure`."""
    least, greatest = truth()[question]
    squares = (np.array(given) - np.clip(given, least, greatest)) ** 2
    root = math.sqrt(squares.mean())
    sure = float(squares.std(ddof=1)) / math.sqrt(len(given)) / (2 * root) if root else 0.0
    return {"error": round(root, 3), "sure": round(sure, 3)}


def sigmas() -> Iterator[Row]:
    """Yield the sigmas of Gaussian noise on one number that a row changes by 1."""
    for epsilon, delta in ((epsilon, delta) for delta in DELTAS for epsilon in EPSILONS):
        ours = float(gauss(Fraction(epsilon), Fraction(delta), 1, "add-remove").scale)
        found = {"smc": ours, "OpenDP": sigma_of_opendp(float(epsilon), float(delta))}
        found["limit"] = limit(float(epsilon), float(delta))
        yield {"epsilon": epsilon, "delta": delta} | {name: round(value, 4) for name, value in found.items()}


def sigma_of_opendp(epsilon: float, delta: float) -> float:
    """Return the least sigma that OpenDP accepts for epsilon and delta."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T="i32"), dp.absolute_distance(T="i32")

    def noisy(scale: float) -> Any:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta)

    return float(dp.binary_search_param(noisy, d_in=1, d_out=(epsilon, delta)))


def limit(epsilon: float, delta: float) -> float:
    """Return the least sigma of continuous Gaussian noise (Balle, Wang 2018, Theorem 8)."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    def excess(sigma: float) -> float:
        near, far = norm.cdf(0.5 / sigma - epsilon * sigma), norm.logcdf(-0.5 / sigma - epsilon * sigma)
        return float(near - math.exp(epsilon + far) - delta)

    return float(brentq(excess, 1e-3, 1e6))


def worst_mean(epsilon: str) -> tuple[float, float]:
    """Return the error of a mean if all `ROWS` numbers are low, and the least possible worst error."""
    noise, e = laplace(Fraction(epsilon), HIGH, "add-remove"), float(epsilon)
    staircase = (2 ** (-2 / 3) * math.exp(-2 * e / 3) * (1 + math.exp(-e)) ** (2 / 3) + math.exp(-e)) / (
        1 - math.exp(-e)
    ) ** 2
    return math.sqrt(noise.variance) / ROWS, HIGH * math.sqrt(staircase) / ROWS


def triangles() -> Iterator[Row]:
    """Yield mean errors of counts of triangles, by the largest number of common neighbours of two vertices."""
    for common in COMMON:
        for epsilon in EPSILONS:
            taken, e = ladder.is_worth_it(VERTICES, Fraction(epsilon)), float(epsilon)
            plain = 1 / math.sinh(e / (VERTICES - 2))
            found = {
                "smc": ladder.ladder(VERTICES, Fraction(epsilon)).error(common) if taken else plain,
                "plain": plain, "narrow": narrow(common, e),
            }  # fmt: skip
            about = {"common": common, "epsilon": epsilon, "law": "ladder" if taken else "plain"}
            yield about | {name: round(value, 2) for name, value in found.items()}


def narrow(common: int, epsilon: float) -> float:
    """Return the mean error of a ladder whose rung t + 1 has common + t // 2 numbers on each side."""
    q, weight, error, reached, rung = math.exp(-epsilon / 2), 1.0, 0.0, 0, 0
    while q**rung > 1e-15:
        wide = common + rung // 2
        chance = q ** (rung + 1)
        weight += 2 * wide * chance
        error += 2 * chance * (wide * reached + wide * (wide + 1) / 2)
        reached, rung = reached + wide, rung + 1
    return error / weight


def asked(draws: int) -> list[Row]:
    """Return a row of errors for each question and epsilon."""
    python = os.environ.get("SMC_DIFFPRIVLIB")
    others = of_diffprivlib(python, draws) if python else {}
    rows: list[Row] = []
    for question in QUESTIONS:
        for epsilon in EPSILONS:
            ways: dict[str, Callable[[], list[float]]] = {
                "smc": lambda: answers(question, epsilon, draws),  # noqa: B023
                "OpenDP": lambda: of_opendp(question, epsilon, draws),  # noqa: B023
            }
            if python:
                ways["diffprivlib"] = lambda: others[epsilon][question]  # noqa: B023
            row: Row = {"question": question, "epsilon": epsilon}
            row["scale"] = str(task_of(question, epsilon).query.mechanisms[0].scale)
            row |= {name: error(question, way()) for name, way in ways.items()}
            if question == "mean":
                row |= {
                    name: round(value, 3) for name, value in zip(("worst", "least"), worst_mean(epsilon), strict=True)
                }
            click.echo(json.dumps(row))
            rows.append(row)
    return rows


@click.command(help=__doc__)
@click.option("--draws", type=click.IntRange(2), default=1000, show_default=True, help="Answers of each question.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Where to write answers.json.")
def main(draws: int, out: Path | None) -> None:
    document: Row = {
        "machine": machine.facts(("numpy", "opendp")),
        "rows": ROWS,
        "draws": draws,
        "answers": asked(draws),
    }
    document |= {"sigma": list(sigmas()), "vertices": VERTICES, "triangles": list(triangles())}
    click.echo(json_rows({key: document[key] for key in ("sigma", "triangles")}))
    if out is not None:
        files.write_text(out / "answers.json", json_rows(document) + "\n")


if __name__ == "__main__":
    main()
