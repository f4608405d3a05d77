"""Number of triangles of a graph whose edges two parties hold, with noise scaled to the graph.

Ideal functionality. Inputs: from each party a set of edges between n public vertices. The graph has the edges of both.
Let T be its number of triangles, and LS the greatest number of common neighbours of two vertices. One edge more or less
makes or breaks at most LS triangles. Without a delta, output to both: T + Y, nothing else. Y has the law of
`protocols.release.ladder`; or, if public numbers favour it there, the discrete Laplace law of scale (n - 2) / epsilon.
The proof is there.

With a delta, output to both: a private bound v, which is LS + X, shifted and clamped to 1..n - 2; and T + Y. X is
discrete Laplace noise of scale 2 / epsilon, Y of scale 2 v / epsilon. Leakage: n, epsilon, delta. T and LS are not
opened. Security is that of the engine; the noise comes from `Engine.random`.

Privacy: (epsilon, delta) for an edge added or removed, for all opened values. One more edge gives some pairs of
vertices one more common neighbour. So LS changes by at most 1, and v costs epsilon / 2. The shift is t - 1, where X >=
t has a probability of at most delta (`protocols.release.tails`): v < LS would take X <= -t. Otherwise T changes by at
most LS <= v, and T + Y costs epsilon / 2 more. (The lecture notes, "private bound of LS", charge only one of the two
halves; Karwa, Raskhodnikova, Smith, Yaroslavtsev, "Private analysis of graph structure", VLDB 2011.) A replaced edge is
one removed, then one added. LS still changes by at most 1, T by 2 LS: Y has twice the scale. The global sensitivity is
n - 2 for every graph.

The m edges of a person together change LS by at most m, so X has m times the scale. One after the other, m more edges
make at most LS + (LS + 1) + ... + (LS + m - 1) <= m (LS + m // 2) triangles, and m fewer edges break at most m LS. So v
is shifted by m // 2 more, and Y has m times the scale. If m edges are replaced, m are removed and then m added, which
changes T by at most 2 m v. m (n - 2) is a bound for every graph.

Method. The edges are ORed. For each of the n (n - 1) / 2 pairs of vertices, the neighbour bits of both are ANDed and
the ones are counted by full adders. The greatest count is LS. The counts of the pairs with an edge add up to 3 T. The
protocol opens 3 T + 3 Y. Pairs are processed in batches, so memory does not grow with n^3.

Cost: about 2 n ANDs a pair, n^3 in all: 10^6 for 100 vertices, 10^9 for 1,000.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.release.ladder import Ladder, is_worth_it, ladder, plain
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law, security_for
from protocols.release.quality import sums
from protocols.release.tails import tail
from smc.circuit import Builder, Form, Netlist, select
from smc.circuit.carry_save import sum_rows
from smc.engines import Bits, Engine
from smc.errors import InputError, ProtocolError
from smc.primitives import bits as bitpack

LEAST_VERTICES, MOST_VERTICES = 3, 1000
Edges = NDArray[np.uint8]


def pairs(vertices: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the ends of every possible edge, the lesser first, in the order of `Edges`: int[pairs] both.

    Raises:
        InputError: The number of vertices is not from 3 to 1,000.
    """
    if not LEAST_VERTICES <= vertices <= MOST_VERTICES:
        raise InputError(f"there are {vertices:,} vertices, must be from {LEAST_VERTICES} to {MOST_VERTICES:,}")
    first, second = np.triu_indices(vertices, 1)
    return first, second


def noisy_triangles(
    engine: Engine,
    own: Edges,
    vertices: int,
    epsilon: Fraction,
    delta: Fraction,
    replaced: bool = False,
    together: int = 1,
) -> tuple[int, int]:
    """Open the private bound v of LS, and the number of triangles with noise; return both.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        own: This party's edges, uint8[pairs]: 1 for an edge, in the order of `pairs`; private.
        vertices: Number of vertices, from 3 to 1,000; public.
        epsilon: Epsilon of the answer; public.
        delta: Delta of the answer; public.
        replaced: True if neighbouring graphs differ by a replaced edge, False by an added or removed edge.
        together: Number of edges that are hidden together, such as those of a person.

    Raises:
        InputError: The number of vertices or of pairs is wrong, or epsilon is too small.
        ProtocolError: The opened number is not a multiple of 3.
    """
    most_common, thrice = _counted(engine, own, vertices)
    with engine.session.phase("noise"):
        noisy = _opened(engine, most_common, bound_law(epsilon, together), 1)
        bound = bounded(noisy, vertices, epsilon, delta, together)
        return bound, _thirds(_opened(engine, thrice, answer_law(bound, epsilon, replaced, together), 3))


def ladder_triangles(engine: Engine, own: Edges, vertices: int, epsilon: Fraction, changes: int = 1) -> int:
    """Open the number of triangles with noise of the ladder mechanism or Laplace noise, which need no delta.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        own: This party's edges, uint8[pairs]: 1 for an edge, in the order of `pairs`; private.
        vertices: Number of vertices, from 3 to 1,000; public.
        epsilon: Epsilon of the answer; public.
        changes: Number of edges by which neighbouring graphs differ; public.

    Raises:
        InputError: The number of vertices or of pairs is wrong, or epsilon is too small.
        ProtocolError: The opened number is not a multiple of 3.
    """
    most_common, thrice = _counted(engine, own, vertices)
    with engine.session.phase("noise"):
        if not is_worth_it(vertices, epsilon, changes):
            return _thirds(_opened(engine, thrice, plain(vertices, epsilon, changes), 3))
        law = ladder(vertices, epsilon, changes)
        (opened,) = engine.reveal(with_ladder(engine, law, most_common, thrice))
        return _thirds(bitpack.to_integers(opened, signed=True)[0])


def with_ladder(engine: Engine, law: Ladder, most_common: Bits, thrice: Bits) -> Bits:
    """Return secret numbers, each plus three times a sample of the ladder's law: secret, signed.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        law: Law of the ladder; public.
        most_common: Secret LS of each graph, [bits, batch].
        thrice: Secret numbers from 0 up, [bits, batch]: three times the triangles of each graph.
    """
    netlist = _ladder_netlist(most_common.width, thrice.width, law, engine.form)
    (noisy,) = engine.run(netlist, most_common, thrice, engine.random(law.bits, thrice.batch))
    return noisy


def foreseen(
    engine: Engine, vertices: int, epsilon: Fraction, replaced: bool = False, together: int = 1, times: int = 1
) -> None:
    """Count the cost of a run of `noisy_triangles` with the greatest bound v.

    The noise of a smaller bound takes a few gates less or more. Noise counted twice takes more than that of any bound.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        vertices: Number of vertices, from 3 to 1,000.
        epsilon: Epsilon of the answer.
        replaced: True if neighbouring graphs differ by a replaced edge, False by an added or removed edge.
        together: Number of edges that are hidden together, such as those of a person.
        times: Number of draws of the answer's noise. Take 2 for an upper bound.

    Raises:
        InputError: The number of vertices is out of range, or epsilon is too small.
    """
    most_common, thrice = _counted(engine, np.zeros(len(pairs(vertices)[0]), dtype=np.uint8), vertices)
    with engine.session.phase("noise"):
        _opened(engine, most_common, bound_law(epsilon, together), 1)
        for _ in range(times):
            _opened(engine, thrice, answer_law(vertices - 2, epsilon, replaced, together), 3)


def exact_triangles(engine: Engine, own: Edges, vertices: int) -> int:
    """Open the number of triangles without noise, which reveals facts about each party's edges to the other.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        own: This party's edges, uint8[pairs]: 1 for an edge, in the order of `pairs`; private.
        vertices: Number of vertices, from 3 to 1,000; public.

    Raises:
        InputError: The number of vertices or of pairs is wrong.
        ProtocolError: The opened number is not a multiple of 3.
    """
    _, thrice = _counted(engine, own, vertices)
    (opened,) = engine.reveal(thrice)
    return _thirds(bitpack.to_integers(opened)[0])


def bounded(noisy: int, vertices: int, epsilon: Fraction, delta: Fraction, together: int = 1) -> int:
    """Return the private bound v: the noisy LS, shifted, and clamped to 1..vertices - 2.

    Args:
        noisy: Opened LS with its noise.
        vertices: Number of vertices.
        epsilon: Epsilon of the whole answer.
        delta: Delta of the whole answer.
        together: Number of edges that are hidden together.
    """
    return min(max(noisy + tail(2 * together / epsilon, delta) - 1 + together // 2, 1), vertices - 2)


def bound_law(epsilon: Fraction, together: int = 1) -> DiscreteLaplace:
    """Return the law of the noise on LS. It takes half of epsilon, and is one of the answer's two samples.

    Args:
        epsilon: Epsilon of the whole answer.
        together: Number of edges that are hidden together.

    Raises:
        InputError: Epsilon is too small.
    """
    return DiscreteLaplace(2 * together / epsilon, security_for(epsilon / 2, 2))


def answer_law(bound: int, epsilon: Fraction, replaced: bool = False, together: int = 1) -> DiscreteLaplace:
    """Return the law of the noise on the number of triangles.

    Args:
        bound: The opened bound v on the local sensitivity, at least 1.
        epsilon: Epsilon of v and the answer together; this noise takes half of it.
        replaced: True if neighbouring graphs differ by a replaced edge, False by an added or removed edge.
        together: Number of edges that are hidden together.

    Raises:
        InputError: Epsilon is too small.
    """
    return DiscreteLaplace(2 * together * bound * (2 if replaced else 1) / epsilon, security_for(epsilon / 2, 2))


def _thirds(thrice: int) -> int:
    found, rest = divmod(thrice, 3)
    if rest:
        raise ProtocolError(
            f"three times the triangles was opened as {thrice}, not a multiple of 3: the peer's messages are wrong"
        )
    return found


def _counted(engine: Engine, own: Edges, vertices: int) -> tuple[Bits, Bits]:
    """Return LS and three times the number of triangles of the joint graph, both secret, one instance each.

    `own` tells which pairs of vertices have an edge at this party.
    """
    first, second = pairs(vertices)
    if own.shape != first.shape:
        raise InputError(f"{len(own)} pairs of vertices, must be {len(first)}")
    with engine.session.phase("edges"):
        edges = _union(engine, own)
        rows = _rows(engine, edges, vertices)
    netlist = common_netlist(vertices, engine.form)
    size = max(1, engine.comfortable // (2 * vertices))
    common, on_edges = [], []
    with engine.session.phase("pairs"):
        for start in range(0, len(first), size):
            part = slice(start, start + size)
            found, kept = engine.run(netlist, rows.take(first[part]), rows.take(second[part]), edges.take(part))
            common.append(found)
            on_edges.append(kept)
    with engine.session.phase("sums"):
        width = (3 * vertices * (vertices - 1) * (vertices - 2) // 6).bit_length()
        thrice = sums(engine, _wider(engine, Bits.join(on_edges), width), np.array([len(first)]))
        return _greatest(engine, Bits.join(common)), thrice


def _union(engine: Engine, own: Edges) -> Bits:
    """Return which pairs have an edge in the joint graph, secret bits [1, pairs]."""
    left, right = engine.both(own[None])
    (found,) = engine.run(_or_netlist(engine.form), left, right)
    return found


def _rows(engine: Engine, edges: Bits, vertices: int) -> Bits:
    """Return the secret adjacency matrix, bits [vertices, vertices], zeros on the diagonal, from the bits of pairs."""
    nothing = engine.constant(np.zeros((1, 1), dtype=np.uint8))
    place = np.full((vertices, vertices), edges.batch, dtype=np.intp)
    first, second = pairs(vertices)
    place[first, second] = place[second, first] = np.arange(edges.batch)
    return Bits(Bits.join([edges, nothing]).data[0][place])


def _wider(engine: Engine, values: Bits, width: int) -> Bits:
    """Return unsigned numbers extended by zeros to `width` bits."""
    zeros = engine.constant(np.zeros((width - values.width, values.batch), dtype=np.uint8))
    return Bits(np.concatenate([values.data, zeros.data]))


def _greatest(engine: Engine, values: Bits) -> Bits:
    """Return the greatest of a batch, by a tournament."""
    netlist = _greater_netlist(values.width, engine.form)
    while values.batch > 1:
        half = values.batch // 2
        (best,) = engine.run(netlist, values.take(slice(half)), values.take(slice(half, 2 * half)))
        values = Bits.join([best, values.take(slice(2 * half, None))])
    return values


def _opened(engine: Engine, secret: Bits, law: Law, times: int) -> int:
    """Open a secret number plus `times` times one sample."""
    netlist = _noisy_netlist(secret.width, law, times, engine.form)
    (opened,) = engine.reveal(*engine.run(netlist, secret, engine.random(law.bits, 1)))
    return bitpack.to_integers(opened, signed=True)[0]


@lru_cache(maxsize=8)
def _or_netlist(form: Form) -> Netlist:
    builder = Builder(form)
    builder.output(builder.input(1) | builder.input(1))
    return builder.build()


@lru_cache(maxsize=8)
def common_netlist(vertices: int, form: Form = "size") -> Netlist:
    """Build the number of common neighbours of two vertices; then that number again, or 0 if they have no edge.

    The inputs are the neighbours of each vertex, one bit for every vertex, and a bit "the two have an edge".

    Args:
        vertices: Number of vertices.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    shared = builder.input(vertices) & builder.input(vertices)
    one, other = sum_rows(shared.graph, [shared[i : i + 1] for i in range(vertices)], (), (vertices - 2).bit_length())
    number = builder.integer(one) + builder.integer(other)
    edge = builder.input(1)
    builder.output(number)
    builder.output(select(edge[0], number, 0))
    return builder.build()


@lru_cache(maxsize=32)
def _greater_netlist(width: int, form: Form) -> Netlist:
    builder = Builder(form)
    one, other = builder.input(width), builder.input(width)
    builder.output(select(one < other, other, one))
    return builder.build()


@lru_cache(maxsize=32)
def _noisy_netlist(width: int, law: Law, times: int, form: Form) -> Netlist:
    """Build a number plus `times` times one sample, signed. Inputs: the number, the law's uniform bits."""
    builder = Builder(form)
    number, noise = builder.input(width), law.draw(builder.input(law.bits))
    for _ in range(times):
        number = number.wide_add(noise)
    builder.output(number)
    return builder.build()


@lru_cache(maxsize=8)
def _ladder_netlist(common: int, width: int, law: Ladder, form: Form) -> Netlist:
    """Build thrice the triangles plus thrice a sample, signed. Inputs: LS, thrice the triangles, uniform bits."""
    builder = Builder(form)
    most_common, thrice = builder.input(common), builder.input(width)
    noise = law.draw(most_common, builder.input(law.bits))
    builder.output(thrice.wide_add(noise.wide_add(noise).wide_add(noise)))
    return builder.build()
