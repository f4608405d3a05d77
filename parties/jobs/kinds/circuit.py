"""Evaluate a Bristol circuit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from typing_extensions import override

from parties.base.files import refuse_device
from parties.base.settings import LocalPath
from parties.base.text import instead, quoted
from parties.jobs.kind import (
    NO_BITS,
    Counted,
    Description,
    Disclosure,
    Document,
    Inputs,
    KindSettings,
    OnStep,
    Opened,
    State,
    Step,
    typed_value,
)
from parties.jobs.settings import BooleanSettings, own_file, private, public
from parties.jobs.small.amounts import Batched, BatchExtra
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.circuit import Netlist
    from smc.counting import Program
    from smc.engines import Engine
    from smc.primitives.bits import BitMatrix


class CircuitSettings(BooleanSettings):
    """Settings of `smc circuit`."""

    file: LocalPath | None = own_file("Circuit", "A circuit in Bristol format.", argument=True)
    input: str | None = private("Input", "Your input, private: binary digits or 0xHEX", metavar="BITS|0xHEX")
    circuit: str | None = public(None, "Circuit", "Name of the circuit, as in [circuits] of party.toml", node=True)


class Circuit(Batched):
    """Evaluate a circuit from FILE, in the Bristol format. Party 0 gives the circuit's first input, party 1 the
    second. Both learn the outputs.

    Bit i of a hexadecimal number is wire i. BITS is this number in binary, one digit for each wire.
    """

    name = "circuit"
    about = Description(
        "Circuit",
        example="adder64.txt --input -",
        estimate_example="aes_128.txt",
        job_example="--circuit adder64 --input -",
        extra=BatchExtra,
    )
    Settings = CircuitSettings
    settings: CircuitSettings

    def __init__(self, settings: KindSettings, digest: str, netlist: Netlist | None = None) -> None:
        super().__init__(settings)
        self._digest, self._netlist = digest, netlist

    @classmethod
    @override
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> Circuit:
        assert isinstance(settings, CircuitSettings)
        if settings.circuit is None:
            raise InputError("circuit: name one of those under [circuits] in party.toml")
        if settings.circuit not in inputs.circuits:
            there = instead(settings.circuit, inputs.circuits)
            raise InputError(f"circuit: there is no {quoted(settings.circuit)} under [circuits] in party.toml{there}")
        netlist = _load(inputs.circuits[settings.circuit])
        return cls(settings, netlist.digest(), netlist)

    @classmethod
    @override
    def agreed(cls, specification: Mapping[str, Any]) -> Circuit:
        digest = specification.get("circuit")
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
            raise ValueError("circuit: the job must name the circuit by its digest; propose the job with smc submit")
        return cls(cls._settings_in({name: v for name, v in specification.items() if name != "circuit"}), digest)

    @classmethod
    @override
    def planned(cls, settings: KindSettings) -> Circuit:
        assert isinstance(settings, CircuitSettings)
        if settings.file is None:
            raise InputError("FILE is missing: name a circuit file, or set file under [circuit] in --config")
        netlist = _load(settings.file)
        return cls(settings, netlist.digest(), netlist)

    @override
    def specification(self) -> Document:
        return {"protocol": self.name, "circuit": self._digest, **self._engine_fields()}

    @override
    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "circuit": self._digest}

    @property
    @override
    def disclosure(self) -> Disclosure:
        learnt = "all outputs of the circuit: what follows from them and one's own input is told"
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn {learnt}.",
                f"{peer} learns nothing else of our input, and we nothing else of {peer}'s.",
            ],
            lambda state, step=None: {"outputs of the circuit": 0 if state is None else len(state)},
            NO_BITS,
            question=f"the outputs of the circuit {self._digest[:16]} on an input of each party",
        )

    def netlist(self, inputs: Inputs) -> Netlist:
        """Return the circuit. Raise InputError if this party does not have it."""
        if self._netlist is None:
            loaded = [netlist for netlist in map(_load, inputs.circuits.values()) if netlist.digest() == self._digest]
            if not loaded:
                raise InputError(
                    f"the circuit {self._digest[:16]} is unknown to this node; name its file under [circuits] in "
                    f"party.toml"
                )
            self._netlist = loaded[0]
        return self._netlist

    @override
    def missing(self, inputs: Inputs) -> list[str]:
        """Return the inputs that this party must still type; party 1 has none if the circuit has a single input."""
        return super().missing(inputs) if inputs.party < len(self.netlist(inputs).input_widths) else []

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        try:
            arity = len(self.netlist(inputs).input_widths)
        except InputError as error:
            return str(error)
        return (
            None
            if 1 <= arity <= 2
            else f"the circuit has {arity} inputs; give a circuit with one or two, for the two parties"
        )

    @override
    def batch_program(self, batch: int, inputs: Inputs) -> Program:
        import numpy as np

        from protocols.circuit import evaluate

        def program(engine: Any) -> object:
            netlist = self.netlist(inputs)
            if not 1 <= len(netlist.input_widths) <= 2:
                raise InputError(f"the circuit has {len(netlist.input_widths)} inputs; give one with one or two")
            width = netlist.input_widths[engine.party] if engine.party < len(netlist.input_widths) else None
            zeros = None if width is None else np.zeros((width, batch), dtype=np.uint8)
            return evaluate(engine, netlist, zeros)

        return program

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        return replace(super().cost(inputs, extra), is_countable=self._netlist is not None)

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        text = typed_value(type(self), inputs.typed, "input") if "input" in inputs.typed else None
        yield Opened(parse_bits(text, self.netlist(inputs).input_widths, inputs.party))

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Return the circuit's outputs as hexadecimal texts; `data` is this party's input, uint8[width, 1], or None."""
        from protocols.circuit import evaluate
        from smc.primitives import bits as bitpack

        assert self._netlist is not None
        on_step(Step(0, 1, start, "evaluating"))
        outputs = evaluate(engine, self._netlist, data)
        return [f"0x{bitpack.to_integers(output)[0]:0{(len(output) + 3) // 4}x}" for output in outputs]

    @override
    def document(self, state: State) -> Document:
        return {"outputs": state}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return "".join(f"{output}\n" for output in document["outputs"])


_loaded: WeakValueDictionary[str, Netlist] = WeakValueDictionary()


def _load(path: Path) -> Netlist:
    """Load a circuit. Jobs with the same circuit share it, because a node keeps the task of every job."""
    from smc.circuit import load

    refuse_device(path)
    netlist = load(path)
    return _loaded.setdefault(netlist.digest(), netlist)


def parse_bits(text: str | None, widths: tuple[int, ...], party: int) -> BitMatrix | None:
    """Return a party's input uint8[width, 1], None if the circuit has none for it. Raise InputError if it does not fit.

    Args:
        text: Binary digits, or 0x and a hexadecimal number.
        widths: Bits of each input of the circuit, at most two.
        party: Number of the party, 0 or 1.
    """
    from smc.primitives import bits as bitpack

    if len(widths) > 2:
        raise InputError(f"the circuit has {len(widths)} inputs; give one with one or two")
    if party >= len(widths):
        if text is not None:
            raise InputError(f"--input: the circuit has no input for party {party}")
        return None
    width = widths[party]
    if text is None:
        raise InputError(f"--input is missing: party {party}'s input of the circuit has {width} bits")
    if re.fullmatch("0[xX][0-9a-fA-F]+", text):
        value = int(text, 16)
        if value >> width:
            raise InputError(f"--input: {value.bit_length()} bits, but party {party}'s input has {width}; give fewer")
    elif re.fullmatch("[01]*", text):
        if len(text) != width:
            raise InputError(
                f"--input: {len(text)} binary digits, but party {party}'s input has {width}; give one digit a bit"
            )
        value = int(text or "0", 2)
    else:
        raise InputError("--input: must be binary digits or a hexadecimal number 0x...")
    return bitpack.from_integers([value], width)
