"""Engine interface: one program, many interpreters.

A protocol is written once against `Engine`. It runs on garbled circuits (Yao), on XOR shares (GMW), on circuits with
arithmetic shares (mixed), and in the clear (the ideal functionality, for tests). Both parties run one program; for a
private input the other party passes None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.circuit import Netlist
from smc.engines.bits import Bits
from smc.engines.inner import Inner
from smc.engines.words import Words
from smc.primitives.bits import BitMatrix, pack, unpack
from smc.recipes import Form
from smc.session import Session


class Pieces(Protocol):
    """Executor of a batch's pieces for an engine, see `smc.engines.shards`.

    `count` is the greatest number of pieces of a batch.
    """

    count: int

    def joined(self, engine: Engine, work: Any, pieces: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        """Compute the pieces of a batch, and join their results.

        Args:
            engine: Engine of the arguments and of the results.
            work: Module-level function of an engine and the arguments of one piece; it returns a tuple.
            pieces: The arguments of each piece, in the order of the batch.

        Returns:
            One entry for each result of `work`: the instances of all pieces, in the order of `pieces`.
        """


class Engine(ABC):
    """Interpreter of a program on secret bits: secret bits in, secret bits out.

    Attributes:
        words: Arithmetic on secret integers.
        inner: Inner products of a party's bits and the peer's vectors.
        form: Form of the circuits that protocols build for this engine.
        comfortable: Most bits of a batch that takes up to some hundred MB; larger batches should be cut.
        shards: Executor of pieces of a batch; None for the engine itself.
        masked_numbers: Whether a party's numbers are shares of joint ones, see `protocols.inputs`; public.
    """

    words: Words
    inner: Inner
    form: Form
    comfortable = 1 << 24
    shards: Pieces | None = None
    masked_numbers = False

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def party(self) -> int:
        """Number of this party, 0 or 1."""
        return self.session.party

    def input(self, owner: int, bits: BitMatrix | None, width: int, batch: int) -> Bits:
        """Enter secret bits of one party. Both parties call this method, with the same owner and sizes.

        Args:
            owner: Party that owns the bits, 0 or 1.
            bits: At the owner uint8[width, batch] of 0 and 1, least bit first; at the other party None.
            width: Bits of one instance; public.
            batch: Number of instances; public.

        Returns:
            The secret bits.

        Raises:
            ValueError: The owner passes None, or the other party passes bits; or the array has another shape, or values
                other than 0 and 1.
        """
        if (bits is not None) != (owner == self.party):
            raise ValueError(f"party {self.party} must pass bits for its own inputs, and only for those")
        if bits is not None:
            _check(bits, (width, batch))
        self.session.note("input", owner=owner, width=width, batch=batch)
        return self._input(owner, bits, width, batch)

    def both(self, bits: BitMatrix) -> tuple[Bits, Bits]:
        """Enter secret bits of both parties; each party passes its own.

        Args:
            bits: This party's bits, uint8[width, batch] of 0 and 1; the shape is public and equal at both parties.

        Returns:
            The bits of party 0, and the bits of party 1.

        Raises:
            ValueError: The array holds values other than 0 and 1.
        """
        width, batch = bits.shape
        _check(bits, (width, batch))
        self.session.note("inputs of both", width=width, batch=batch)
        left, right = (self._input(owner, bits if owner == self.party else None, width, batch) for owner in (0, 1))
        return left, right

    def random(self, width: int, batch: int) -> Bits:
        """Draw secret uniform bits that neither party knows or can bias: the XOR of bits drawn by each party.

        The cost is that of the inputs: nothing on XOR shares; garbled, one correlated OT for each bit of the evaluator.
        Each party's bits come from `Session.contributions`, so they are inputs, not random results of the OT.

        Args:
            width: Bits of one instance; public, equal at both parties.
            batch: Number of instances; public, equal at both parties.
        """
        left, right = self.both(self.session.contributions.bits(width, batch))
        return left ^ right

    def expect(self, bits: int) -> None:
        """Announce the number of secret bits that each party will still enter, random bits included.

        This is a hint before the first of them: on garbled circuits few bits are entered at less cost than many.
        Without the hint the engine assumes many.

        Args:
            bits: Number of bits; public, equal at both parties.
        """
        self.session.note("announced inputs", bits=bits)
        self._expect(bits)

    def _expect(self, bits: int) -> None:
        """Use the hint, see `expect`."""
        del bits

    def prepare(self, netlist: Netlist, batch: int) -> None:
        """Exchange the material of a later run of a netlist in advance; both parties make equal calls.

        Call it before the inputs are known: the run then sends only messages that depend on them. Several calls add up.
        On XOR shares the material is triples, which are stored until used, 3 bits a gate. Other engines can prepare
        nothing. A run without preparation makes its own material; its bytes then differ by a digest only.

        Args:
            netlist: The circuit of the later run.
            batch: Number of instances of the later run.
        """
        del netlist, batch

    @abstractmethod
    def _input(self, owner: int, bits: BitMatrix | None, width: int, batch: int) -> Bits:
        """Enter bits whose arguments `input` has checked."""

    def constant(self, bits: BitMatrix) -> Bits:
        """Enter public bits, uint8[width, batch], equal at both parties."""
        self.session.note("constant", bits.tobytes, width=bits.shape[0], batch=bits.shape[1])
        return self._constant(bits)

    @abstractmethod
    def _constant(self, bits: BitMatrix) -> Bits:
        """See `constant`."""

    @abstractmethod
    def _execute(self, netlist: Netlist, inputs: Sequence[NDArray[Any]], batch: int) -> NDArray[Any]:
        """Run the circuit on inputs [width, batch, ...] each; return all outputs [sum of widths, batch, ...]."""

    def run(self, netlist: Netlist, *inputs: Bits) -> list[Bits]:
        """Evaluate the netlist on every instance of the batch.

        Args:
            netlist: The circuit; equal at both parties.
            inputs: Secret bits for each input argument of the netlist, all of one batch size.

        Returns:
            The secret bits of each output argument. The batch is 1 if the netlist has no inputs.

        Raises:
            ValueError: The widths are not those of the netlist, or the batch sizes differ.
        """
        widths = tuple(part.width for part in inputs)
        if widths != netlist.input_widths:
            raise ValueError(f"the netlist takes inputs of widths {netlist.input_widths}, got {widths}")
        batches = {part.batch for part in inputs} or {1}
        if len(batches) > 1:
            raise ValueError(f"the inputs have batches of different sizes: {sorted(batches)}")
        (batch,) = batches
        self.session.note(
            "circuit",
            lambda: netlist.digest().encode(),
            inputs=netlist.input_widths,
            outputs=netlist.output_widths,
            batch=batch,
        )
        self.session.meter.gates(netlist.and_count * batch)
        outputs = self._execute(netlist, [part.data for part in inputs], batch)
        bounds = np.cumsum((0, *netlist.output_widths))
        return [Bits(outputs[low:high]) for low, high in pairwise(bounds)]

    @abstractmethod
    def shares(self, bits: Bits) -> BitMatrix:
        """Return this party's XOR share of each bit, uint8[width, batch]; local."""

    def reveal(self, *secrets: Bits) -> list[BitMatrix]:
        """Open secret bits to both parties; each result is uint8[width, batch] of 0 and 1."""
        widths, batches = [secret.width for secret in secrets], [secret.batch for secret in secrets]
        self.session.note("opening", widths=widths, batches=batches)
        return self._reveal(*secrets)

    @abstractmethod
    def _reveal(self, *secrets: Bits) -> list[BitMatrix]:
        """See `reveal`."""


class XorSharedEngine(Engine):
    """Engine that protects the bits: additive shares and openings are made from the XOR shares of its cells."""

    @override
    def _reveal(self, *secrets: Bits) -> list[BitMatrix]:
        """Open bits by one message each way, one bit each."""
        shares = [self.shares(secret) for secret in secrets]
        flat = np.concatenate([share.reshape(-1) for share in shares]) if shares else np.zeros(0, np.uint8)
        if flat.size:
            self.session.meter.opened(flat.size)
            flat = unpack(self.session.openings.open(self.session, pack(flat)), flat.size)
        bounds = np.cumsum([0, *(share.size for share in shares)])
        return [flat[bounds[i] : bounds[i + 1]].reshape(share.shape) for i, share in enumerate(shares)]


def _check(bits: BitMatrix, shape: tuple[int, int]) -> None:
    """Raise ValueError unless the array holds 0 and 1 in this shape (width, batch)."""
    if bits.shape != shape or bits.dtype.kind not in "biu" or (bits.size and (bits.min() < 0 or bits.max() > 1)):
        raise ValueError(f"an input must be 0 and 1 in the shape {shape}, got {bits.dtype} in the shape {bits.shape}")
