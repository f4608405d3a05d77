"""Which rows of two parties are about one person, if their keys have typing errors?

    both      put their rows in bins by a public hash of the block, fill up with dummies (`bins`)
    circuit   compares all pairs of a bin: the weight of Fellegi and Sunter, 0 below the threshold or in another block
              (`weights`); keeps the pairs that are each other's best partner (`partners`)
    both      open for each place of party 0 whether its row stays, and the place of the partner in the bin; or one
              party learns which of its places stay
    again     with the next blocking rule, for the rows without a partner

Ideal functionality. Inputs: the rows of each party, by rule a block or none. Rows beyond the places of their bin are
left out. Output to both: which of the own rows have a partner, in one order, and by which rule. Or output to one party:
which of its own rows have a partner. A pair matches if both rows have one block, their weight reaches the threshold,
and neither has a better partner in its block. Equal weights are ordered at random. Leakage: none beyond the public
sizes. No block leaves, neither in the clear nor under a key, and no number of rows of a block.

Security: that of the engine, semi-honest. A place is random, so the opened place of a partner tells nothing. A party
that learns alone masks the opened bits by random bits of its own. Places and masks are contributions to joint
randomness, so a session that goes on repeats them with its stored shares.

Errors: two blocks or two values have equal tags with a probability below 2^-40 for 2^22 pairs of four columns.

Related work: Stammler et al., "Mainzelliste SecureEpiLinker (MainSEL)", Bioinformatics 38 (2022), compares Dice
coefficients of Bloom filters in circuits, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from protocols.alignment.bins import EMPTY, block_tags, placed
from protocols.alignment.grams import TAG
from protocols.alignment.keys import Rows
from protocols.alignment.matching import Learns
from protocols.alignment.partners import partners
from protocols.alignment.weights import Comparison, pair_weight, width_of
from smc.circuit import Builder, Netlist, parity
from smc.circuit.kept import kept
from smc.engines import Bits, Engine
from smc.errors import ProtocolError
from smc.primitives.bits import BitMatrix, to_words


@dataclass(frozen=True)
class Linkage:
    """The public terms.

    Attributes:
        bins: Number of bins.
        places: Places of a bin, of party 0 and of party 1.
        comparisons: The comparisons of columns.
        threshold: Least weight of a match, in sixteenths.
        learns: Who learns the result: both, or the party that listens (0) or dials (1).
        rules: Number of blocking rules, tried in order. Several need `learns` = both.
    """

    bins: int
    places: tuple[int, int]
    comparisons: tuple[Comparison, ...]
    threshold: int
    learns: Learns = "both"
    rules: int = 1

    @property
    def pairs(self) -> int:
        """Number of compared pairs of a rule."""
        return self.bins * self.places[0] * self.places[1]

    @property
    def index_width(self) -> int:
        """Bits of the place of a partner."""
        return (self.places[1] - 1).bit_length()

    @property
    def opened_bits(self) -> int:
        """Number of opened bits."""
        if self.learns == "both":
            return self.rules * self.bins * self.places[0] * (1 + self.index_width)
        return self.bins * self.places[self.learns == "dialler"]

    def learns_it(self, party: int) -> bool:
        """Return whether a party learns the result."""
        return self.learns == "both" or party == (self.learns == "dialler")


@dataclass(frozen=True)
class LinkRows:
    """A party's rows: the encoded columns of each row, uint8[width, rows], and by rule the block of each row."""

    columns: BitMatrix
    blocks: Sequence[Sequence[str | None]]

    @classmethod
    def of(
        cls,
        comparisons: Sequence[Comparison],
        texts: Sequence[Sequence[str | None]],
        blocks: Sequence[Sequence[str | None]],
    ) -> LinkRows:
        """Return the rows of texts.

        Args:
            comparisons: The comparisons.
            texts: For each comparison the texts of its column; None if one is missing.
            blocks: For each blocking rule the block of each row; None for a row without one.
        """
        encoded = [comparison.encoded(column) for comparison, column in zip(comparisons, texts, strict=True)]
        return cls(np.concatenate(encoded), blocks)


def link(
    engine: Engine, terms: Linkage, rows: LinkRows, on_rule: Callable[[int], object] = lambda rule: None
) -> Rows | None:
    """Return the own matched rows, in an order that both parties share; None for a party that learns nothing.

    Args:
        engine: The engine of this session.
        terms: The public terms, equal at both parties.
        rows: Own rows.
        on_rule: Called before each rule with its number.

    Raises:
        ProtocolError: The opened place of a partner is not one of its bin.
    """
    free = np.ones(rows.columns.shape[1], dtype=bool)
    found = []
    for rule in range(terms.rules):
        on_rule(rule)
        blocks = [block if is_free else None for block, is_free in zip(rows.blocks[rule], free, strict=True)]
        with engine.session.phase(f"rule {rule}"):
            matched = _by_rule(engine, terms, rows.columns, blocks)
        if matched is not None:
            free[matched] = False
            found.append(matched)
    return np.concatenate(found) if found else None


def _by_rule(engine: Engine, terms: Linkage, columns: BitMatrix, blocks: Sequence[str | None]) -> Rows | None:
    own = placed(blocks, terms.bins, terms.places[engine.party], engine.session.contributions)
    tags = block_tags(blocks, engine.party)
    columns = np.concatenate([columns, np.zeros((len(columns), 1), dtype=np.uint8)], axis=1)
    weights = Bits.join(
        [
            _weights(engine, terms, own[part].reshape(-1), tags, columns, part.stop - part.start)
            for part in _parts(engine, terms)
        ]
    )
    stays = partners(engine, weights, *terms.places)
    if terms.learns == "both":
        return _of_both(engine, terms, stays, own)
    return _of_one(engine, terms, stays, own)


def _parts(engine: Engine, terms: Linkage) -> Iterator[slice]:
    """Yield the bins that are compared at once."""
    pair = 2 * (TAG + width_of(terms.comparisons)) * terms.places[0] * terms.places[1]
    size = max(1, 4 * engine.comfortable // pair)
    return (slice(start, min(start + size, terms.bins)) for start in range(0, terms.bins, size))


def _weights(engine: Engine, terms: Linkage, own: Rows, tags: BitMatrix, columns: BitMatrix, bins: int) -> Bits:
    """Return the weights of all pairs of some bins."""
    sides = []
    for party, places in enumerate(terms.places):
        shape = (bins, 1, places) if party else (bins, places, 1)
        at = np.broadcast_to(np.arange(bins * places).reshape(shape), (bins, *terms.places)).reshape(-1)
        for bits in (tags, columns):
            mine = np.ascontiguousarray(bits[:, own]) if party == engine.party else None
            sides.append(engine.input(party, mine, len(bits), bins * places).take(at))
    (weights,) = engine.run(pair_weight(terms.comparisons, terms.threshold), *sides)
    return weights


def _lines(stays: Bits, terms: Linkage, party: int) -> list[Bits]:
    """Return the flags of the pairs of each place of a party: one batch for each place of the other party."""
    at = np.arange(terms.pairs).reshape(terms.bins, *terms.places)
    return [
        stays.take((at[:, :, other] if party == 0 else at[:, other]).reshape(-1))
        for other in range(terms.places[1 - party])
    ]


@kept
def _partner(members: int, width: int) -> Netlist:
    """Build the circuit of a place: whether one of its pairs stays, and the number of that pair. At most one stays."""
    builder = Builder()
    stays = [builder.input(1)[0] for _ in range(members)]
    nothing = builder.constant(0, 1)[0]
    builder.output(
        [
            parity(stays),
            *(parity([nothing, *(stay for i, stay in enumerate(stays) if i >> bit & 1)]) for bit in range(width)),
        ]
    )
    return builder.build()


def _of_both(engine: Engine, terms: Linkage, stays: Bits, own: Rows) -> Rows:
    (found,) = engine.run(_partner(terms.places[1], terms.index_width), *_lines(stays, terms, 0))
    (opened,) = engine.reveal(found)
    matched = np.flatnonzero(opened[0])
    if engine.party == 0:
        return _rows(own.reshape(-1)[matched])
    places = to_words(opened[1:, matched]).astype(np.int64)
    if (places >= terms.places[1]).any():
        raise ProtocolError("the peer opened a place that a bin does not have in the matching of rows")
    return _rows(own[matched // terms.places[0], places])


def _of_one(engine: Engine, terms: Linkage, stays: Bits, own: Rows) -> Rows | None:
    learner = int(terms.learns == "dialler")
    count = terms.bins * terms.places[learner]
    mask = engine.session.contributions.bits(1, count) if engine.party == learner else None
    (found,) = engine.run(_partner(terms.places[1 - learner], 0), *_lines(stays, terms, learner))
    (opened,) = engine.reveal(found ^ engine.input(learner, mask, 1, count))
    if mask is None:
        return None
    return _rows(own.reshape(-1)[np.flatnonzero(opened ^ mask)])


def _rows(found: Rows) -> Rows:
    """Return the rows without dummies: a peer that cheats may claim them."""
    return found[found != EMPTY]
