"""Write docs/errors.md: the errors of noisy answers, beside those of the best other programs and the limits of theory.

    python -m benchmarks.errors            (or: make errors)

Every figure was kept by a benchmark in `benchmarks/results`. A cell is *behind* if its error exceeds the best peer's
mean by more than the spread of the peer's draws, or 1.15 times the limit of theory. It is then bold, and `WHY` must
explain it, otherwise the page is not written. A test compares the page with the output of this module, and the settings
in the results with the present defaults of the commands.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parties.base import files

RESULTS = Path(__file__).parent / "results"
TARGET = RESULTS.parents[1] / "docs" / "errors.md"
EPSILONS = ("0.1", "0.5", "1", "2")
PEER = "mbi 2, AIM"
ALLOWED = 1.15  # times the limit of theory
AS_GOOD = "†"  # marks an error no less than that of a constant answer

Row = dict[str, Any]
Behind = dict[str, list[str]]  # descriptions of cells, by their key in `WHY`

INTRODUCTION = """# How far off noisy answers are

`make errors` writes this page from the figures that the benchmarks keep ([how each is
made](../benchmarks/README.md)). It compares the commands **with their defaults** to the best of
other programs at the same epsilon. Where the theoretical limit is known, it stands there too. Tests
fail if a figure is not one of those kept. They also fail if its settings are no longer the defaults
of the command. The row bound (`max_rows`, the public limit on the rows of a table) is the one that
`smc prepare` writes for a party's half.

You read a cell like this:

- **In brackets**: the error divided by the error of the best other program. Other programs see all
  rows in one place, and their best settings are chosen afterwards. Ours follow from public numbers.
  For local privacy the divisor is the error of the program that the row names. For triangles it is
  the error of the global sensitivity's noise. In the rows *the limit* and *the least possible on
  the worst rows*, the brackets have our error divided by this limit.
- **Bold**: we are behind; [why](#where-we-are-behind). The error exceeds the divisor by more than
  the divisor's spread. In the tables of Gaussian noise and means, bold also marks an error over
  1.15 times the limit of theory.
- **Spread**: the standard deviation of the other program's draws (classifiers, local privacy). For
  means and quantiles it is twice the sum of both standard errors. For Gaussian noise it is 0.1 %.
  The other tables have no spread, so any larger error is bold.
- **†**: no better than the trivial answer, which is the commonest class or one centroid.
- **Warned**: percentage of runs whose result itself warns that a constant answer may be as good.
  For clusters it is the mean over the four epsilons.
"""

WHY = {
    "tree": """
**Trees.** On car no column by itself changes the majority. The default quality of
a split is `max`, the number of rows that the majorities of the parts predict correctly. It needs the
least noise, but finds no reason to split here. On wisconsin and balance-scale many columns contribute a little each.
Their sum decides, and one tree of few levels does not add it up. On these three tables naive Bayes
is the better answer from epsilon 0.5 on. With epsilon 0.1 on few rows of many classes, a choice
among columns is mostly noise. diffprivlib's forests split without looking at rows and spend
all of epsilon on their leaves. They lose less in this case.""",
    "bayes": """
**Naive Bayes** counts a row once in each column, so its noise grows with the columns. At epsilon
0.1 on a few hundred rows, the noise is as large as the counts. A tree of one or two levels is then
the better answer.""",
    "answers": """
**The ninth decile.** Counted in rows, the answers of both programs are equally far off. Of the
rows that equal a candidate, OpenDP counts nine tenths as below the candidate. This favours lower numbers where rows
above are rare, as here. Where many rows have one number, OpenDP may miss the quantile even without
noise. `smc` does not.""",
}


@dataclass(frozen=True)
class Cell:
    """An error of ours, beside the best peer's and its spread, the limit of theory, and a constant answer's."""

    error: float
    peer: float | None = None
    spread: float = 0.0
    least: float | None = None
    constant: float = math.inf

    @property
    def is_behind(self) -> bool:
        """Whether a peer is ahead by more than its spread, or theory by more than `ALLOWED`."""
        by_peer = self.peer is not None and self.error > self.peer + self.spread
        return by_peer or (self.least is not None and self.error > ALLOWED * self.least)

    def text(self, shown: Callable[[float], str]) -> str:
        """Return the error with its ratio to the peer's: bold if behind, marked if a constant is as good."""
        ratio = f" ({self.error / self.peer:.2f})" if self.peer else ""
        text = f"{shown(self.error)}{AS_GOOD if self.error >= self.constant else ''}{ratio}"
        return f"**{text}**" if self.is_behind else text


def results(name: str) -> Any:
    """Return the results that a benchmark has kept."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def table(head: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


def compared(behind: Behind, why: str, name: str, cells: dict[str, Cell], shown: Callable[[float], str]) -> list[str]:
    """Return the texts of a line's cells, and add the cells that are behind to `behind`.

    Args:
        behind: Descriptions of cells that are behind, by their key in `WHY`.
        why: The key for this line.
        name: Name of the line.
        cells: The cells by column, such as an epsilon.
        shown: Formats an error.
    """
    places = [of for of, cell in cells.items() if cell.is_behind]
    behind.setdefault(why, []).extend([f"{name} at {', '.join(places)}"] if places else [])
    return [cell.text(shown) for cell in cells.values()]


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.1f}"


def classifiers(behind: Behind) -> str:
    """Return the table of trees, naive Bayes and diffprivlib's best, by data set."""
    ours = {(row["table"], row["epsilon"]): row for row in results("private_ways")["rows"]}
    theirs = {(row["table"], row["epsilon"]): row for row in results("private_peers")["rows"]}

    def lines() -> Iterator[list[str]]:
        for name in dict.fromkeys(name for name, _ in ours):
            rows, constant = f"{name}, {ours[name, '1']['rows']:,} rows", 1 - ours[name, "1"]["majority"]
            for way, key, why in (("`smc id3`", "ordered", "tree"), ("`smc release naive-bayes`", "bayes", "bayes")):
                cells = {
                    epsilon: Cell(
                        1 - ours[name, epsilon][key],
                        1 - theirs[name, epsilon]["accuracy"],
                        theirs[name, epsilon]["spread"],
                        constant=constant,
                    )
                    for epsilon in EPSILONS
                }
                yield [rows, way, *compared(behind, why, name, cells, percent)]
                rows = ""
            yield ["", "naive Bayes warned, %", *(f"{100 * ours[name, e]['doubted']:.0f}" for e in EPSILONS)]
            peers = [theirs[name, epsilon] for epsilon in EPSILONS]
            yield ["", "diffprivlib's best", *(f"{percent(1 - p['accuracy'])} ± {percent(p['spread'])}" for p in peers)]
            yield ["", "the commonest class", *[percent(constant)] * len(EPSILONS)]

    return table(("% of unseen rows wrong, by table", "method; epsilon:", *EPSILONS), lines())


def regression(behind: Behind) -> str:
    """Return the table of logistic regression, on Adult and on smaller data sets."""
    found = results("regression")
    best = {e: max(share for epsilon, _, share in found["diffprivlib"] if epsilon == e) for e in EPSILONS}
    adult = {e: found["epsilon"][e]["gradient"]["accuracy"] for e in EPSILONS}
    tables = {"adult": {"rows": found["rows"], "majority": found["majority"], "gradient": adult, "diffprivlib": best}}

    def lines() -> Iterator[list[str]]:
        for name, kept in (tables | found["tables"]).items():
            constant, theirs = 1 - kept["majority"], kept["diffprivlib"]
            cells = {e: Cell(1 - kept["gradient"][e], 1 - theirs[e], constant=constant) for e in EPSILONS}
            ours = compared(behind, "regression", name, cells, percent)
            yield [f"{name}, {kept['rows']:,} rows", "`smc regress joint`", *ours]
            yield ["", "diffprivlib's best C", *(percent(1 - theirs[e]) for e in EPSILONS)]
            yield ["", "the commonest class", *[percent(constant)] * len(EPSILONS)]

    return table(("% of unseen rows wrong, by table", "method; epsilon:", *EPSILONS), lines())


def clusters(behind: Behind) -> str:
    """Return the table of inertia by the default method."""
    found = results("clusters")["inertia"]

    def lines() -> Iterator[list[str]]:
        for columns, rows in dict.fromkeys((row["columns"], row["rows"]) for row in found):
            here = {f"{row['epsilon']:g}": row for row in found if (row["columns"], row["rows"]) == (columns, rows)}
            cells = {e: Cell(row[row["default"]], row["diffprivlib"], constant=row["one"]) for e, row in here.items()}
            texts = compared(behind, "clusters", f"{columns} columns", cells, "{:.2f}".format)
            yield [
                f"{columns} columns, {rows:,} rows",
                f"{next(iter(here.values()))['one']:.2f}",
                *(f"{text} {row['default']}" for text, row in zip(texts, here.values(), strict=True)),
                f"{100 * sum(row['doubted'] for row in here.values()) / len(here):.0f}",
            ]

    return table(("inertia, 1 = without noise", "one centroid; epsilon:", *EPSILONS, "warned, %"), lines())


def sigma(behind: Behind) -> str:
    """Return the table of Gaussian noise."""
    found = results("answers")["sigma"]

    def lines() -> Iterator[list[str]]:
        for delta in dict.fromkeys(row["delta"] for row in found):
            rows = {row["epsilon"]: row for row in found if row["delta"] == delta}
            cells = {e: Cell(r["smc"], r["OpenDP"], 1e-3 * r["OpenDP"], r["limit"]) for e, r in rows.items()}
            yield [f"delta {delta}", "smc", *compared(behind, "sigma", f"delta {delta}", cells, "{:.3g}".format)]
            yield ["", "OpenDP 0.16", *(f"{row['OpenDP']:.3g}" for row in rows.values())]
            limits = (f"{r['limit']:.3g} ({r['smc'] / r['limit']:.2f})" for r in rows.values())
            yield ["", "the limit (ours / it)", *limits]

    return table(("sigma for a number", "epsilon", *EPSILONS), lines())


def answers(behind: Behind) -> str:
    """Return the table of means, medians and quantiles."""
    found = results("answers")["answers"]
    names = {"mean": "`smc release mean`", "median": "`smc release median`", "quantile": "`smc quantile --at 0.9`"}
    peers = ("OpenDP", "diffprivlib")

    def lines() -> Iterator[list[str]]:
        for question, name in names.items():
            rows = {row["epsilon"]: row for row in found if row["question"] == question}
            cells = {}
            for epsilon, row in rows.items():
                best = min((row[peer] for peer in peers), key=lambda one: one["error"])
                cells[epsilon] = Cell(row["smc"]["error"], best["error"], 2 * (best["sure"] + row["smc"]["sure"]))
            yield [name, *compared(behind, "answers", question, cells, "{:.3g}".format)]
            for peer in peers:
                yield [peer, *(f"{row[peer]['error']:.3g}" for row in rows.values())]
            if question == "mean":
                worst = {e: Cell(row["worst"], least=row["least"]) for e, row in rows.items()}
                texts = compared(behind, "answers", "the worst mean", worst, "{:.3g}".format)
                yield ["`smc release mean` on its worst rows, by theory", *texts]
                yield [
                    "the least possible on the worst rows (ours / it)",
                    *(f"{r['least']:.3g} ({r['worst'] / r['least']:.2f})" for r in rows.values()),
                ]

    return table(("root mean square error; epsilon", *EPSILONS), lines())


def triangles(behind: Behind) -> str:
    """Return the table of triangles: the ladder and the ways it is compared with."""
    found = results("answers")["triangles"]

    def lines() -> Iterator[list[str]]:
        for common in dict.fromkeys(row["common"] for row in found):
            rows = {row["epsilon"]: row for row in found if row["common"] == common}
            cells = {e: Cell(row["smc"], row["plain"]) for e, row in rows.items()}
            texts = compared(behind, "answers", f"triangles, {common}", cells, "{:.3g}".format)
            yield [f"`smc release triangles`, {common} in common", *texts]
            yield ["noise of the global sensitivity", *(f"{row['plain']:.3g}" for row in rows.values())]
            yield ["the narrowest possible ladder", *(f"{row['narrow']:.3g}" for row in rows.values())]

    return table(("mean error, 100 vertices; epsilon", *EPSILONS), lines())


def local(behind: Behind) -> str:
    """Return the table of shares of 32 categories: each way beside the same way in other libraries."""
    found = results("local")["errors"]

    def lines() -> Iterator[list[str]]:
        for what, beside in dict.fromkeys((row["what"], row["beside"]) for row in found):
            rows = {f"{row['epsilon']:g}": row for row in found if (row["what"], row["beside"]) == (what, beside)}
            cells = {e: Cell(1e6 * row["ours"], 1e6 * row["theirs"], 1e6 * row["spread"]) for e, row in rows.items()}
            yield [what, beside, *compared(behind, "local", f"{what} beside {beside}", cells, "{:,.0f}".format)]
        least = [next(row for row in found if row["epsilon"] == e and "least" in row) for e in (0.5, 1.0, 3.0)]
        yield ["the least possible without a cut at 0", "", *(f"{1e6 * row['least']:,.0f}" for row in least)]

    return table(("mean square error of shares, millionths", "compared with; epsilon:", "0.5", "1", "3"), lines())


def synthesis(behind: Behind) -> str:
    """Return the table of pairs of columns of synthetic rows; `--select mst` always asks a tree of pairs."""
    kept = {(row["table"], row["way"], row.get("epsilon")): row for row in results("synthesis_errors")["rows"]}

    def off(row: Row, key: str = "pairs") -> float:
        return float(100 * row[key])

    def lines() -> Iterator[list[str]]:
        for name in dict.fromkeys(name for name, _, _ in kept):
            theirs = {e: kept[name, PEER, e] for e in EPSILONS if (name, PEER, e) in kept}
            cells = {e: Cell(off(kept[name, "AIM", e])) for e in EPSILONS}
            cells |= {e: Cell(cells[e].error, off(row), off(row, "spread")) for e, row in theirs.items()}
            yield [name, "`smc synthesise`", *compared(behind, "synthesis", name, cells, "{:.1f}".format)]
            yield ["", "`--select mst`", *(f"{off(kept[name, 'MST', e]):.1f}" for e in EPSILONS)]
            if theirs:
                yield ["", PEER, *(f"{off(row):.1f}" for row in theirs.values())]
            floor = f"{off(kept[name, 'rows drawn anew', None]):.1f}"
            yield ["", "as many of the true rows, drawn with replacement", *[floor] * len(EPSILONS)]

    return table(("total variation distance, %", "epsilon, delta 1e-9", *EPSILONS), lines())


SECTIONS: tuple[tuple[str, Callable[[Behind], str], str], ...] = (
    (
        "Classifiers",
        classifiers,
        "Five stratified folds. diffprivlib's best is of nine forests and its naive Bayes."
        " `make bench-private` measures them.",
    ),
    (
        "Linear models",
        regression,
        "The folds are those of the classifiers. The row bound is the exact number of rows. C is the inverse"
        " strength of regularisation; here"
        " the best C is chosen afterwards. `make bench-regress` measures them.",
    ),
    (
        "Clusters",
        clusters,
        "Inertia is the sum of the squared distances of rows to their centroid. Each cell names the"
        " [method](clusters.md#methods) that the command chose. The other program is diffprivlib's k-means. The"
        " figures are medians of five tables with two noises each."
        " `make bench-clusters` measures them.",
    ),
    (
        "Gaussian noise",
        sigma,
        "The limit is the least sigma for one release alone (Balle, Wang 2018). `smc` and OpenDP use zero-concentrated"
        " privacy, in which several releases together cost less. `make bench-answers` computes them.",
    ),
    (
        "Means, medians, quantiles",
        answers,
        "The rows are 1,000 numbers from 0 to 1,000, around 300. diffprivlib takes the number of rows as known."
        " No mechanism has a smaller error on its worst rows than the least possible (Kulesza, Suresh, Wang"
        " 2023). `make bench-answers` measures them.",
    ),
    (
        "Triangles",
        triangles,
        "A ladder fits the noise to the graph; the global sensitivity is that of the worst graph."
        " The narrowest possible ladder is a lower bound for such noise: every second rung is one number wider"
        " than the one before, and no ladder has narrower rungs (Zhang and others, SIGMOD 2015)."
        " No two vertices of these graphs have more neighbours in common than the row states."
        " No library known to us counts triangles. `make bench-answers` measures the errors.",
    ),
    (
        "Answers at the source (local differential privacy)",
        local,
        "There are 32 categories among 20,000 people. Our reports have the distributions of the other library's"
        " reports. Only rappor is decoded differently: pure-ldp fits all candidates, and ours reports those alone"
        " that a"
        " test proves. multi-freq-ldpy's shares, and ours beside them, are cut at 0. Without this cut, no mechanism has"
        " a smaller error than `subset`."
        " `make bench-local` measures them.",
    ),
    (
        "Synthetic rows",
        synthesis,
        "Each figure is the mean over all pairs of columns: how far the pair's joint distribution in the"
        " synthetic rows is"
        " from that in the true rows. The figures are means of 3 runs, mbi's of one."
        " `make bench-marginals` measures them.",
    ),
)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def document() -> str:
    """Return the page.

    Raises:
        LookupError: `WHY` does not explain a cell that is behind, or has an explanation without such a cell.
    """
    behind: Behind = {}
    parts = [INTRODUCTION]
    for title, made, about in SECTIONS:
        parts.append(f"## {title}\n\n{made(behind)}\n\n{_wrapped(about)}\n")
    parts.append("## Where we are behind\n")
    for why, cells in behind.items():
        if bool(cells) != (why in WHY):
            raise LookupError(f"{why}: WHY must explain {', '.join(cells) or 'nothing'}")
        if cells:
            parts.append(_wrapped(f"{WHY[why].strip()} We are behind here: {'; '.join(cells)}.") + "\n")
    return "\n".join(parts)


def main() -> None:
    """Write the page."""
    files.write_text(TARGET, document())


if __name__ == "__main__":
    main()
