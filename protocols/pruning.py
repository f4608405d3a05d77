"""Pruning while a tree grows: decides in secret which splits are worth their leaves, before anything is opened.

Ideal functionality. Inputs: both parties' counts by value and class of every open node and remaining attribute. Output,
secret: whether each split gains more than a public penalty. A node without such a split is a leaf. Only such splits are
compared. Leakage: the numbers of nodes, attributes and their values, bound, classes, and the tree above.

A node of n rows has a remaining attributes; an attribute has v values:

* `mdl`, the minimum description length (Quinlan, Rivest 1989; Rissanen 1996). The gain is n (H(class) - H(class |
  attribute)): the nats that the split saves in a description of the rows' classes. The penalty is ln a, to name the
  attribute, and v C(m / v) - C(m) for the distributions of the classes, C(m) being the logarithm of the parametric
  complexity of a multinomial of m rows (Kontkanen, Myllymaki 2007). A node's number of rows is secret. So m is a public
  number: the bound on all rows, divided by the numbers of values of the attributes that split above the node.
* `chi2`. The gain is the same; twice of it is the likelihood-ratio statistic of the table of values and classes, which
  is distributed as chi-square with (v - 1) (classes - 1) degrees of freedom if they are independent. The penalty is
  half of the value that it exceeds then with probability `LEVEL` / a, because a attributes are tried (Bonferroni).
* `pessimistic` (Quinlan 1987). The gain is the number of rows in the majorities of the parts, less those in the node's
  majority. The penalty is half a row for every part but one.

Error. `pessimistic` is exact. The others compare fixed-point numbers. The four sums of x ln x in a gain are of counts
that add up to n each, so the gain is wrong by at most 4 n e <= n delta, where e is the proven error of a logarithm. So
a split is judged rightly if gain / n and penalty / n differ by at least delta; ID3-delta takes entropies within delta
for equal. Penalties are rounded up to the last bit; correctly rounded arithmetic gives both parties equal integers.

Cost of n nodes with a attributes left each. `mdl` and `chi2`: the scores of all n nodes, where a tree that is not
pruned has them of those it splits; n (classes + 1) x ln x for the nodes; a n comparisons. `pessimistic`: both parties'
inputs of N bits and about 3 N ANDs for every count of N bits, and no logarithm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import gmpy2
import numpy as np

from protocols.counts import Indices, LevelCounts
from protocols.entropies import conditional_entropies, entropies, groups
from protocols.feasibility import Ruling, all_netlist, batches, by_place
from protocols.majority import count_inputs
from protocols.pieces import in_shards
from protocols.problem import Problem
from protocols.tree import Forest, Open, Split, Tree
from smc.circuit import Builder, Form, Netlist, maximum, total
from smc.circuit.kept import kept
from smc.engines import Bits, Engine, Word
from smc.engines.words import MAX_WIDTH
from smc.primitives import bits as bitpack

LEVEL = 0.05  # significance level of the test of a node
DIGITS = 128  # binary digits of penalties, before they are rounded to far fewer


def pruned(
    engine: Engine,
    problem: Problem,
    forest: Forest,
    left: Sequence[tuple[int, ...]],
    tables: LevelCounts,
    ruling: Ruling,
) -> Ruling:
    """Add the verdict of pruning to the verdicts of the rules on a level, in secret: 1 if both allow the split.

    Args:
        engine: The engine of this session.
        problem: The public parameters, `prune` among them; both parties must agree.
        forest: The trees so far, whose open nodes are the nodes of the level; public.
        left: Attributes that each node chooses from, node by node; public.
        tables: This party's counts in the open nodes, by each attribute's values too; private.
        ruling: The secret verdicts of the rules.

    Returns:
        The secret verdicts, with the scores if they were computed.
    """
    lengths = np.array([len(line) for line in left])
    scores = ruling.scores
    with engine.session.phase("pruning"):
        if problem.prune == "pessimistic":
            worth = _right_more(engine, problem, left, tables)
        else:
            if scores is None:
                scores = conditional_entropies(engine, problem, left, tables.values)
            worth = _gains_more(engine, problem, forest, left, tables.classes, scores)
        verdicts = by_place(engine, worth, lengths)
        if ruling.feasible:
            netlist = all_netlist(2, engine.form)
            (both,) = engine.run(netlist, Bits.join(verdicts), Bits.join(ruling.feasible))
            verdicts = tuple(both.take(slice(at, at + len(left))) for at in range(0, both.batch, len(left)))
    return Ruling(verdicts, ruling.root_feasible, scores)


# By entropy.


@kept
def exceeds_netlist(width: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether the first of two signed integers is the greater one.

    Args:
        width: Bits of an integer, the sign included.
        form: "size" for few gates, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output(builder.input(width, signed=True) > builder.input(width, signed=True))
    return builder.build()


def _gains_more(
    engine: Engine, problem: Problem, forest: Forest, left: Sequence[tuple[int, ...]], classes: Indices, scores: Word
) -> Bits:
    """Return whether each split gains more than its penalty, [1, splits], from |T| H(class | attribute) of each.

    `left` has the attributes left of each node, `classes` this party's counts by class of each node, `scores` the
    entropies.
    """
    words = engine.words
    of_nodes = np.repeat(np.arange(len(left)), [len(line) for line in left])
    alone = [*np.column_stack([classes.sum(axis=1), classes])]  # a split into one part: the node itself
    of_node = entropies(engine, problem, alone, np.ones(len(alone), dtype=np.int64))
    width = min(scores.width + 1, MAX_WIDTH)  # one more bit helps if there are hardly more rows than classes
    of_node = words.total(of_node, of_nodes[:, None], scores.width)
    scores = words.total(scores, np.arange(len(of_nodes))[:, None], scores.width)  # drop the root's own at the end
    gains = words.bits(words.subtract(of_node, scores, width))
    unit = problem.precision(words.prices).fraction
    most = (1 << (width - 1)) - 1  # no gain is greater
    penalties = [min(most, _units(penalty, unit)) for penalty in _penalties(problem, forest, left)]
    limits = engine.constant(bitpack.from_integers(penalties, width))
    return engine.run(exceeds_netlist(width, engine.form), gains, limits)[0]


def _units(value: gmpy2.mpfr, fraction: int) -> int:
    with gmpy2.context(precision=DIGITS):
        return int(gmpy2.ceil(value * gmpy2.exp2(fraction)))


def _penalties(problem: Problem, forest: Forest, left: Sequence[tuple[int, ...]]) -> Iterator[gmpy2.mpfr]:
    """Yield the penalty of every split in nats, node by node, attribute by attribute."""
    cells_of_nodes = (cells for tree in forest for cells in _cells(problem, tree))
    for cells, line in zip(cells_of_nodes, left, strict=True):
        for attribute in line:
            values = problem.domains[attribute]
            if problem.prune == "mdl":
                yield description(values, problem.classes, len(line), max(1, 2 * problem.max_rows // cells))
            else:
                yield half_quantile((values - 1) * (problem.classes - 1), len(line))


def _cells(problem: Problem, tree: Tree, above: int = 1) -> Iterator[int]:
    """Yield for every open node the product of the numbers of values of the attributes that split above it."""
    if isinstance(tree, Open):
        yield above
    elif isinstance(tree, Split):
        for child in tree.children:
            yield from _cells(problem, child, above * problem.domains[tree.attribute])


@lru_cache(maxsize=4096)
def description(values: int, classes: int, attributes: int, rows: int) -> gmpy2.mpfr:
    """Return the description length of a split in nats, the penalty of pruning by `mdl`.

    Args:
        values: Number of values of the attribute.
        classes: Number of classes.
        attributes: Number of attributes that the node chooses from.
        rows: Public number in place of the node's secret number of rows, 1 or more; m in the module's first lines.

    Examples:
        >>> round(float(description(values=3, classes=2, attributes=8, rows=1500)), 2)
        8.25
    """
    with gmpy2.context(precision=DIGITS):
        parts = values * complexity(classes, max(1, rows // values))
        return gmpy2.log(attributes) + max(parts - complexity(classes, rows), gmpy2.mpfr(0))


@lru_cache(maxsize=4096)
def complexity(classes: int, rows: int) -> gmpy2.mpfr:
    """Return the logarithm of the parametric complexity of a multinomial, C(rows) of the module's first lines.

    The complexity sums the greatest likelihood over all counts by class that add up to `rows`. For two classes
    Szpankowski's approximation is used; its error is below 1 / rows. The complexity for c + 2 classes is that for c + 1
    classes plus rows / c times that for c classes.

    Args:
        classes: Number of classes.
        rows: Number of rows, 1 or more.
    """
    with gmpy2.context(precision=DIGITS):
        pi, fewer, now = gmpy2.const_pi(), gmpy2.mpfr(1), gmpy2.mpfr(1)
        if classes > 1:
            now = gmpy2.sqrt(pi * rows / 2) + gmpy2.mpfr(2) / 3 + gmpy2.sqrt(2 * pi / rows) / 24
        for number in range(1, classes - 1):
            fewer, now = now, now + fewer * rows / number
        return gmpy2.log(now)


@lru_cache(maxsize=4096)
def half_quantile(freedom: int, tests: int) -> gmpy2.mpfr:
    """Return half of the value that chi-square exceeds with probability `LEVEL` / tests.

    Args:
        freedom: Degrees of freedom; 0 gives 0.
        tests: Number of attributes that are tried, 1 or more.

    Examples:
        >>> round(float(half_quantile(freedom=1, tests=1)), 4)  # 3.8415 / 2
        1.9207
    """
    with gmpy2.context(precision=DIGITS):
        if not freedom:
            return gmpy2.mpfr(0)  # one value, or one class: no gain either
        shape, wanted = gmpy2.mpfr(freedom) / 2, gmpy2.mpfr(LEVEL) / tests
        low, high = gmpy2.mpfr(0), gmpy2.mpfr(1)
        scale = gmpy2.gamma(shape)
        while gmpy2.gamma_inc(shape, high) > wanted * scale:
            low, high = high, 2 * high
        for _ in range(DIGITS // 2):
            middle = (low + high) / 2
            low, high = (middle, high) if gmpy2.gamma_inc(shape, middle) > wanted * scale else (low, middle)
        return high


# By errors.


@kept
def most_netlist(classes: int, width: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns the greatest number of rows of a class.

    Args:
        classes: Number of classes.
        width: Bits of a count.
        form: "size" for few gates, "depth" for few levels.

    Returns:
        The circuit. Its inputs are the counts by class of party 0, then of party 1.
    """
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    builder.output(maximum([a + b for a, b in zip(left, right, strict=True)])[0])
    return builder.build()


@kept
def more_netlist(parts: int, width: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether the sum of `parts` unsigned integers exceeds the sum of two further ones.

    Args:
        parts: Number of integers in the first sum.
        width: Bits of an integer.
        form: "size" for few gates, "depth" for few levels.
    """
    builder = Builder(form)
    terms = [builder.input(width) for _ in range(parts + 2)]
    wide = width + parts.bit_length() + 1
    builder.output(total(terms[:parts], wide) > total(terms[parts:], wide))
    return builder.build()


def _right(engine: Engine, problem: Problem, each: Sequence[Indices]) -> tuple[Bits]:
    """Return the secret number of rows of each group's majority, from own int64[groups, classes] of each split."""
    netlist = most_netlist(problem.classes, problem.count_width, engine.form)
    parts = [
        count_inputs(engine, np.concatenate(part).T, problem.count_width, sums="modular")
        for part in batches(each, problem.classes)
    ]
    return (Bits.join([engine.run(netlist, *part)[0] for part in parts]),)


def _right_more(engine: Engine, problem: Problem, left: Sequence[tuple[int, ...]], tables: LevelCounts) -> Bits:
    """Return whether each split's gain is above its penalty by the rule "pessimistic", secret bits [1, splits]."""
    splits = [tables.values[attribute][node] for node, line in enumerate(left) for attribute in line]
    each = [*splits, *tables.classes[:, None]]  # then the nodes themselves, as one group each
    weights = np.array([len(part) for part in each])
    (right,) = in_shards(engine, _right, weights, lambda part: (problem, each[part]), 1)
    lengths = weights[: len(splits)]
    starts, of_nodes = np.cumsum(lengths) - lengths, np.repeat(np.arange(len(left)), [len(line) for line in left])
    none = engine.constant(np.zeros((right.width, 1), dtype=np.uint8))  # fills up a split with fewer parts
    parts = [Bits.join([right, none]).take(column) for column in groups(starts, lengths).T]
    penalties = engine.constant(bitpack.from_integers(((lengths - 1) // 2).tolist(), right.width))
    netlist = more_netlist(len(parts), right.width, engine.form)
    return engine.run(netlist, *parts, right.take(lengths.sum() + of_nodes), penalties)[0]
