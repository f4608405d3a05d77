"""A job: what the parties agree to compute, in public terms, and how it is run over a link.

The specification holds everything both sides must have the same; its digest is compared in the handshake before
a secret is touched. Files, private values and addresses are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from parties import config
from parties.console import Progress
from parties.identity import Identity, load_certificate, load_identity, short_fingerprint
from parties.schema import Schema
from parties.trees import MAX_DEPTH, Leaf, Node, Split
from protocols import id3
from smc.circuit import Netlist
from smc.engines import Engine, make_engine
from smc.errors import InputError

Result = TypeVar("Result")
Report = dict[str, Any]


def id3_specification(settings: config.Id3Settings, schema: Schema, target: str) -> Report:
    """The public job of `smc id3`."""
    return {
        "protocol": "id3",
        "schema": schema.public(),
        "target": target,
        "delta": settings.delta,
        "min_rows": settings.min_rows,
        "max_depth": settings.max_depth,
        "max_rows": settings.max_rows,
        "engine": settings.engine,
        "ot": settings.ot,
    }


def millionaires_specification(settings: config.MillionairesSettings) -> Report:
    """The public job of `smc millionaires`."""
    return {"protocol": "millionaires", "bits": settings.bits, "engine": settings.engine, "ot": settings.ot}


def circuit_specification(settings: config.CircuitSettings, netlist: Netlist) -> Report:
    """The public job of `smc circuit`."""
    return {"protocol": "circuit", "circuit": netlist.digest(), "engine": settings.engine, "ot": settings.ot}


def problem(settings: config.Id3Settings, schema: Schema, target: str) -> id3.Problem:
    """The protocol's view of an ID3 job. `InputError` if delta and bound do not fit the word size.

    So it is for a tree that could be deeper than `MAX_DEPTH`: it could be written but not be read back.
    """
    deepest = len(schema.features(target)) if settings.max_depth is None else settings.max_depth
    if deepest > MAX_DEPTH:
        raise InputError(f"the tree could have {deepest} levels: give --max-depth N with at most {MAX_DEPTH}")
    found = id3.Problem(
        domains=tuple(len(schema.attributes[name]) for name in schema.features(target)),
        classes=len(schema.attributes[target]),
        max_rows=settings.max_rows,
        delta=settings.delta,
        min_rows=settings.min_rows,
        max_depth=settings.max_depth,
    )
    _ = found.precision  # refused here rather than in the middle of the run
    return found


def named(tree: id3.Tree, schema: Schema, target: str) -> Node:
    """The protocol's tree of indices with the schema's names."""
    if isinstance(tree, id3.Leaf):
        return Leaf(schema.attributes[target][tree.label])
    attribute = schema.features(target)[tree.attribute]
    values = schema.attributes[attribute]
    return Split(attribute, {v: named(child, schema, target) for v, child in zip(values, tree.children, strict=True)})


class Connection:
    """A checked way to the peer: files read, nothing dialled yet."""

    def __init__(self, settings: config.LinkSettings) -> None:
        self._link = config.require_link(settings)
        self._identity: Identity = load_identity(self._link.identity, self._link.certificate)
        self._peer = load_certificate(self._link.peer)

    @property
    def party(self) -> int:
        """0 if this party listens, 1 if it connects."""
        return 0 if self._link.listen is not None else 1

    def run(
        self,
        specification: Mapping[str, Any],
        program: Callable[[Engine], Result],
        progress: Progress,
    ) -> tuple[Result, Report]:
        """Reach the peer, agree on the job, run the program on its engine; the result and the cost report.

        The specification names engine and ot. Raises `LinkError`, `JobMismatchError`.
        """
        from parties.link import LinkOptions, open_link  # gRPC takes its time to load

        options = LinkOptions(
            self._identity,
            self._peer,
            listen=self._link.listen,
            connect=self._link.connect,
            wait=self._link.wait,
            timeout=self._link.timeout,
            on_listening=lambda address: progress.say(f"listening on {address}"),
        )
        progress.doing(f"waiting for the peer with certificate {short_fingerprint(self._peer)}")
        with open_link(options, specification) as link:
            progress.doing("computing")
            session = link.session()
            result = program(make_engine(session, specification["engine"], specification["ot"]))
            report = session.meter.report()
        return result, report
