"""Secret decision whether each possible split keeps the rules for leaves (`protocols.rules`); nothing is opened.

Ideal functionality. Inputs: both parties' counts by class of every group into which a remaining attribute would split
an open node; for the root also the root's own counts. Output, secret: for every open node and remaining attribute,
whether all these groups keep the rules, and whether the root does. Leakage: the numbers of nodes, attributes and their
values, bound, classes, rules.

Against the peer each party decides alone for its own rows, and one AND joins both verdicts. With further holders of
rows, k against the peer is decided for the rows that are left when any one party subtracts its own: they are none or at
least k. Each party knows whether it has k rows in a group itself. So it gives two numbers (`Grouped`): its rows if they
are fewer than k, else 0; and 1 if it has k or more. With s and b their sums over all parties, a group is kept if

* b >= 2, since some other party has k rows, whoever subtracts;
* b = 1, and s = 0 or s >= k: the party with k rows is left with s, and every other with k or more;
* b = 0, and s = 0 or s >= 2 k - 1: the largest own number is k - 1, so each party is left with k or more.

With two parties this is what they decide alone: s >= k needs two parties with fewer rows than k if b = 1, and two of
them have at most 2 k - 2. With b = 0 a group of k to 2 k - 2 rows may be refused though each party would be left with k
rows: a circuit that finds the largest number of N parties costs N times as much. Against the public circuits add the
counts and decide:

* k and distinct l with comparisons;
* t in cross-multiplied integers: with n rows in the group, N in all, n(c) and N(c) of class c, t = a / b and d(c) = b
  (n(c) N - n N(c)), the variational distance asks whether sum |d(c)| <= 2 a n N. As all d(c) sum to 0, d of the last
  class is minus the sum of the others. The ordered distance of m classes asks whether sum |d(1) + ... + d(i)| over i <
  m is at most (m - 1) a n N; for two classes both distances are equal, and this form is shorter. sum |g| <= h is
  computed as 2 sum max(0, g) <= h + sum g;
* entropy l from n H = n ln n - sum n(c) ln n(c), computed with an error of at most 2 n e, where e is the proven error
  of a logarithm (`Precision.error`): the rule is kept if the computed n H is n (ln l + 2 e) or more. So a kept rule
  implies H >= ln l, and H >= ln l + delta implies a kept rule, for 4 e <= delta (apart from a far smaller rounding).

Cost of g groups of m classes, counts of N bits, against the public: for k N g input bits from each party and 3 N ANDs
a group, for distinct l m N g bits and (2 m + 1) N ANDs; t takes 2 m - 1 products of N by 2 N bits a group, and circuits
of m numbers of 2 N bits and those of b; entropy l takes m + 1 x ln x a group and a product by N bits. These x ln x are
those of the attributes' scores, but for all nodes rather than those that split. Against the peer: a bit from each party
and an AND for each node and attribute; with further holders 2 N input bits and about 4 N ANDs a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gmpy2
import numpy as np

from protocols.counts import Indices, LevelCounts
from protocols.edges import padded
from protocols.entropies import BATCH, group_entropies
from protocols.inputs import Sums
from protocols.majority import count_inputs
from protocols.pieces import in_shards
from protocols.precision import Precision
from protocols.problem import Problem
from protocols.tree import Forest, Tree
from smc.circuit import Builder, Form, Integer, Netlist, all_of, any_of, total
from smc.circuit.kept import kept
from smc.engines import Bits, Choice, Engine, Word
from smc.primitives.bits import BitMatrix


@dataclass(frozen=True)
class Ruling:
    """Secret verdicts of the rules for a level, bits [1, nodes].

    Attributes:
        feasible: Whether each split keeps the rules, by position among a node's remaining attributes; see `rule`.
        root_feasible: Whether each root keeps the rules; None below the root.
        scores: |T| H(class | attribute), node by node, attribute by attribute; None if not computed yet.
        askable: Without rules: whether each node has a remaining attribute, public; None if not needed.
    """

    feasible: tuple[Bits, ...]
    root_feasible: Bits | None
    scores: Word | None
    askable: Bits | None = None

    @property
    def bits(self) -> tuple[Bits, ...]:
        """Verdicts that the leaf circuit reads: those of `candidates`, then that on the root, if there is one."""
        return (*self.candidates, *([] if self.root_feasible is None else [self.root_feasible]))

    @property
    def candidates(self) -> tuple[Bits, ...]:
        """Bits [1, nodes]; a node is a leaf unless at least one of its bits is 1."""
        return self.feasible if self.askable is None else (self.askable,)


NO_RULING = Ruling((), None, None)


class Grouped:
    """Source of counts for the rule k against the peer.

    Its `shared` source also has the two numbers of each group from whose sums a circuit decides the rule: own rows if
    they are fewer than k, and whether there are k or more.
    """

    def __init__(self, source: Any, k: int, groups: bool = False) -> None:
        """Wrap a source.

        Args:
            source: This party's `Counts` or `ForestCounts`.
            k: Least number of rows; public.
            groups: True to add `LevelCounts.groups`.
        """
        self._source, self._k, self._groups = source, k, groups

    @property
    def shared(self) -> Grouped:
        """Source with `LevelCounts.groups`: own rows if fewer than k, and whether there are k or more."""
        return Grouped(self._source, self._k, groups=True)

    def level(self, trees: Tree | Forest, attributes: bool) -> LevelCounts:
        """Count own rows in the open nodes; see `Counts.level` and `ForestCounts.level`.

        Args:
            trees: The tree or the forest so far; public.
            attributes: True to count by each attribute's values too.
        """
        tables = self._source.level(trees, attributes)
        if not self._groups:
            return tables
        rows = tables.distinct or tables
        groups = LevelCounts(self._numbers(rows.classes), tuple(map(self._numbers, rows.values)))
        return replace(tables, groups=groups)

    def _numbers(self, counts: Indices) -> Indices:
        rows = counts.sum(axis=-1)
        enough = rows >= self._k
        return np.stack([np.where(enough, 0, rows), enough], axis=-1)


def rule(
    engine: Engine, problem: Problem, splits: Sequence[Sequence[Indices]], root: Indices | None, whole: Indices
) -> Ruling:
    """Decide in secret which splits of a level keep the rules.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        splits: This party's counts, int64[values, classes] for every node and attribute left; private. For k against
            the peer on shares they are those of `LevelCounts.groups`.
        root: This party's counts in the roots, int64[trees, classes]; private. None below the root.
        whole: All rows of this party by class, int64[classes]; private.

    Returns:
        The secret verdicts. A node with fewer attributes left than another repeats the verdict on its first one. A node
        without attributes left may not be split.
    """
    candidates = [groups for node in splits for groups in node]
    groups = candidates if root is None else [*candidates, *root[:, None]]
    if problem.rules.against == "peer" and not engine.masked_numbers:
        feasible, entropies = _kept_by_each(engine, problem, groups, whole), None
    else:
        feasible, entropies = kept_by_both(engine, problem, groups, whole)
    return Ruling(
        by_place(engine, feasible.take(slice(len(candidates))), np.array([len(node) for node in splits])),
        None if root is None else feasible.take(slice(len(candidates), None)),
        entropies,
    )


def by_place(engine: Engine, feasible: Bits, lengths: Indices) -> tuple[Bits, ...]:
    """Return the verdicts on splits by the attribute's position among the node's remaining attributes.

    Args:
        engine: The engine of this session.
        feasible: Secret verdicts on all splits, node by node, [1, splits].
        lengths: Number of attributes left of each node, int64[nodes]; public.

    Returns:
        Secret bits [1, nodes] for each position. A missing attribute repeats the node's first; a node without any has
        0.
    """
    places = padded(lengths, np.cumsum(lengths) - lengths, int(lengths.max()))
    if places.size and not lengths.all():
        places[lengths == 0] = feasible.batch
        feasible = Bits.join([feasible, engine.constant(np.zeros((1, 1), dtype=np.uint8))])
    return tuple(feasible.take(column) for column in places.T)


def batches(groups: Sequence[Indices], classes: int) -> list[list[Indices]]:
    """Cut groups into batches of bounded memory, in order; each row of counts takes one cell a class and one more.

    Args:
        groups: Tables of counts, int64[rows, classes] each, at least one.
        classes: Number of classes.
    """
    ends = np.cumsum([len(part) * (classes + 1) for part in groups])
    cuts = np.flatnonzero(np.diff((ends - 1) // BATCH)) + 1
    return [[groups[i] for i in part] for part in np.split(np.arange(len(groups)), cuts)]


@kept
def all_netlist(inputs: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether all of some bits are 1.

    Args:
        inputs: Number of bits, each an input of its own.
        form: "size" for few gates, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output(all_of([builder.input(1)[0] for _ in range(inputs)]))
    return builder.build()


def _kept_by_each(engine: Engine, problem: Problem, splits: list[Indices], whole: Indices) -> Bits:
    """Return whether both parties' own rows keep the rules in all groups of each split, [1, splits].

    `splits` has this party's counts of each split's groups by class, `whole` those of all its rows.
    """
    feasible = problem.rules.keeps(np.concatenate(splits), whole)
    starts = np.cumsum([0, *(len(groups) for groups in splits[:-1])])
    of_splits = np.logical_and.reduceat(feasible, starts).astype(np.uint8)
    return engine.run(all_netlist(2, engine.form), *engine.both(of_splits[None]))[0]


def kept_by_both(
    engine: Engine, problem: Problem, splits: Sequence[Indices], whole: Indices
) -> tuple[Bits, Word | None]:
    """Decide in secret whether the union of both parties' rows keeps the rules in all groups of each split.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        splits: This party's counts, int64[groups, classes] for each split; private.
        whole: All rows of this party by class, int64[classes]; private.

    Returns:
        Secret verdicts [1, splits]. With entropy l-diversity also the sum of n H over the groups: the conditional
        entropy of the split; else None.

    Raises:
        InputError: A count does not fit the bits of a count of the union.
    """
    lengths = np.array([len(part) for part in splits])
    verdicts, *scores = in_shards(engine, _kept, lengths, lambda part: (problem, splits[part], whole), 1)
    return verdicts, scores[0] if scores else None


def _kept(engine: Engine, problem: Problem, splits: Sequence[Indices], whole: Indices) -> tuple[Bits | Word, ...]:
    """Return the results of `kept_by_both` without None, computed a few splits at a time."""
    parts = [_kept_in_batch(engine, problem, part, whole) for part in batches(splits, problem.classes)]
    sums = [word for _, word in parts if word is not None]
    return (Bits.join([bits for bits, _ in parts]), *([engine.words.join(sums)] if sums else []))


def _kept_in_batch(engine: Engine, problem: Problem, splits: list[Indices], whole: Indices) -> tuple[Bits, Word | None]:
    """Return the verdicts on a batch of splits, and for entropies the sum of n H over the groups of each, else None."""
    rules, words = problem.rules, engine.words
    counts = np.concatenate(splits)
    with engine.session.phase("counts"):
        if rules.against == "peer":
            feasible = _left_to_each(engine, problem, counts)
        else:
            feasible, rows, classes = _sums(engine, problem, counts)
    conditions, scores = [feasible], None
    lengths = np.array([len(groups) for groups in splits])
    places = (np.cumsum(lengths) - lengths)[:, None] + np.arange(lengths.max())
    members = np.where(np.arange(lengths.max()) < lengths[:, None], places, -1)
    if rules.close:
        with engine.session.phase("closeness"):
            conditions.append(_close(engine, problem, rows, classes, whole))
    if rules.diversity == "entropy":
        with engine.session.phase("diversity"):
            entropies = group_entropies(engine, problem, counts)
            conditions.append(_diverse(engine, problem, rows, entropies))
            scores = words.total(entropies, members, entropies.width)
    always = engine.constant(np.ones((1, 1), dtype=np.uint8))  # fills up a split with fewer groups
    padded = [Bits.join([condition, always]) for condition in conditions]
    columns = [condition.take(column) for condition in padded for column in members.T]
    return engine.run(all_netlist(len(columns), engine.form), *columns)[0], scores


# Numbers of rows.


@kept
def left_netlist(width: int, k: int, form: Form = "size") -> Netlist:
    """Build the decision on k for the rows that are left to each party; see the module's docstring.

    The inputs are two numbers of party 0, then of party 1, of `Grouped`, added modulo 2^width.

    Args:
        width: Bits of a number; the sums over all parties fit.
        k: Least number of rows.
        form: "size" for few gates, "depth" for few levels.
    """
    builder = Builder(form)
    left, right = ([builder.input(width) for _ in range(2)] for _ in range(2))
    few, many = (total(pair, width) for pair in zip(left, right, strict=True))
    one = many.wires[0]
    reached = (few >= 2 * k - 1) | (one & (few >= k))
    builder.output(any_of(many.wires[1:]) | (few == 0) | reached)
    return builder.build()


def _left_to_each(engine: Engine, problem: Problem, numbers: Indices) -> Bits:
    """Return whether each group is kept by the sums of `Grouped`, [1, groups], from shares int64[groups, 2]."""
    width, size = problem.count_width, max(1, engine.comfortable // (2 * problem.count_width))
    netlist = left_netlist(width, problem.rules.k, engine.form)
    starts = range(0, len(numbers), size)
    sides = (count_inputs(engine, numbers[i : i + size].T, width, "modular") for i in starts)
    return Bits.join([engine.run(netlist, *inputs)[0] for inputs in sides])


@kept
def sums_netlist(classes: int, width: int, k: int, diversity: int, form: Form = "size") -> Netlist:
    """Build the circuit that adds both parties' class counts and decides k and distinct l.

    Args:
        classes: Number of classes.
        width: Bits of a count; the sum of all counts must fit.
        k: Least number of rows; 1 for no rule.
        diversity: Least number of classes with a row; 1 for no rule.
        form: "size" for few gates, "depth" for few levels.

    Returns:
        The circuit. Its inputs are the class counts of party 0, then of party 1. Its first output is the verdict: 1 for
        no row, or for at least `k` rows of at least `diversity` classes. The number of rows follows, then the rows of
        each class but the last.
    """
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    counts = [a + b for a, b in zip(left, right, strict=True)]
    if form == "size":
        rows, present = total(counts, width), [any_of(count.wires) for count in counts]
    else:  # the sum is compared without carrying it out
        rows, present = total([*left, *right], width), [any_of([*a, *b]) for a, b in zip(left, right, strict=True)]
    conditions = [rows >= k] if k > 1 else []
    if diversity > 1:
        conditions.append(total([builder.integer([occurs]) for occurs in present], classes.bit_length()) >= diversity)
    empty = rows == 0 if form == "size" else ~any_of(present)
    builder.output(all_of(conditions) | empty if conditions else builder.constant(1)[0])
    builder.output(rows)
    for count in counts[:-1]:
        builder.output(count)
    return builder.build()


def _sums(engine: Engine, problem: Problem, counts: Indices) -> tuple[Bits, Bits, list[Bits]]:
    """Return whether each group keeps k and distinct l, its rows, and with t its rows of each class but the last."""
    rules, width = problem.rules, problem.count_width
    distinct = int(rules.l) if rules.diversity == "distinct" else 1
    if distinct == 1 and not rules.close:
        counts = counts.sum(axis=1, keepdims=True)  # one class for all rows
    netlist = sums_netlist(counts.shape[1], width, rules.k, distinct, engine.form)
    sums: Sums = "modular" if engine.form == "size" else "whole"  # the other form looks at each number by itself
    feasible, rows, *classes = engine.run(netlist, *count_inputs(engine, counts.T, width, sums))
    return feasible, rows, classes


# Closeness.


@kept
def close_netlist(terms: int, width: int, limit_width: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether twice the sum of the positive integers is at most a limit.

    Args:
        terms: Number of signed integers.
        width: Bits of each integer, the sign included.
        limit_width: Bits of the signed limit, the last input.
        form: "size" for few gates, "depth" for few levels.
    """
    builder = Builder(form)
    values: list[Integer] = [builder.input(width, signed=True) for _ in range(terms)]
    limit = builder.input(limit_width, signed=True)
    positive = [builder.integer([wire & ~value[-1] for wire in value[:-1]]) for value in values]
    twice = total(positive, width + terms.bit_length()) << 1
    builder.output(twice <= limit)
    return builder.build()


def _close(engine: Engine, problem: Problem, rows: Bits, classes: list[Bits], whole: Indices) -> Bits:
    """Return whether each group is t-close, [1, groups]; see the module's docstring."""
    words, rules, last, batch = engine.words, problem.rules, problem.classes - 1, rows.batch
    a, b = rules.fraction
    most = 2 * problem.max_rows
    width, wide = (b * most**2).bit_length() + 1, rules.largest(problem.classes, most).bit_length() + 1
    if rules.distance == "ordered" or last == 1:
        factor, terms = a * last, [list(range(c + 1)) for c in range(last)]
    else:
        factor, terms = 2 * a, [*([c] for c in range(last)), list(range(last))]
    # b n(c) N and b n N(c) for every class but the last, then the limit.
    factors = Bits.join([*classes, *[rows] * (last + 1)])
    scales = np.repeat([*[last] * last, *range(last), last + 1], batch)[:, None]
    everyone = _all_rows(engine, problem, whole, b, factor)
    products = words.multiply(factors, 0, words.total(everyone, scales, everyone.width), wide)

    def sums(word: Word, blocks: Sequence[Sequence[int]], width: int) -> Word:
        """Return the sum of each list of blocks, for each group.

        Args:
            word: The addends, block by block.
            blocks: Indices of the blocks that each sum adds up.
            width: Bits of a sum.
        """
        longest = max(len(line) for line in blocks)
        index = np.array([[*line, *[-1] * (longest - len(line))] for line in blocks])[:, None]
        members = np.where(index < 0, -1, index * batch + np.arange(batch)[:, None])
        return words.total(word, members.reshape(-1, longest), width)

    plus, minus, limit = (
        sums(products, [[c] for c in part], wide) for part in (range(last), range(last, 2 * last), [2 * last])
    )
    differences = words.subtract(plus, minus, width)
    values = sums(differences, terms, width)
    raised = words.add(limit, sums(values, [range(len(terms))], wide), wide)
    netlist = close_netlist(len(terms), width, wide, engine.form)
    bits = words.bits(values)
    inputs = [bits.take(slice(i * batch, (i + 1) * batch)) for i in range(len(terms))]
    return engine.run(netlist, *inputs, words.bits(raised))[0]


def _all_rows(engine: Engine, problem: Problem, whole: Indices, b: int, factor: int) -> Word:
    """Return b N(c) for each class but the last, b N and factor N, for all N rows of both parties.

    `whole` are the counts by class of all rows of this party.
    """
    words = engine.words
    _, rows, classes = _sums(engine, problem, whole[None])
    onehot: BitMatrix = np.zeros((2, len(classes) + 2), dtype=np.uint8)
    onehot[0, :-1] = onehot[1, -1] = 1
    width = max(b, factor).bit_length() + 1
    ((constants,),) = words.select([Choice(engine.constant(onehot), [[b, factor]])], width)
    wide = (max(b, factor) * 2 * problem.max_rows).bit_length() + 1
    return words.multiply(Bits.join([*classes, rows, rows]), 0, constants, wide)


# Entropy l-diversity.


def least_entropy(problem: Problem, precision: Precision) -> int:
    """Return the least entropy that entropy l-diversity allows, ln l + 2 e, in units of the logarithm's last bit.

    It is rounded up.

    Args:
        problem: The public parameters; its rules give l.
        precision: Parameters of the logarithm; its `error` is e.
    """
    with gmpy2.context(precision=128):
        logarithm = gmpy2.log(gmpy2.mpfr(str(problem.rules.l))) + gmpy2.mpfr(2 * precision.error) + gmpy2.exp2(-100)
        return int(gmpy2.ceil(logarithm * gmpy2.exp2(precision.fraction)))


def _diverse(engine: Engine, problem: Problem, rows: Bits, entropies: Word) -> Bits:
    """Return whether each group is entropy l-diverse, [1, groups], from its number of rows and n H."""
    words = engine.words
    least = least_entropy(problem, problem.precision(words.prices))
    ones = engine.constant(np.ones((1, rows.batch), dtype=np.uint8))
    ((constant,),) = words.select([Choice(ones, [[least]])], least.bit_length() + 1)
    gap = words.subtract(entropies, words.multiply(rows, 0, constant, entropies.width), entropies.width)
    return words.bits(gap)[entropies.width - 1 :] ^ ones
