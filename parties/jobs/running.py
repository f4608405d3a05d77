"""A job: what the parties agree to compute, in public terms, and how it is run over a link.

The specification holds everything both sides must have the same; its digest is compared in the handshake before
a secret is touched. Files, private values and addresses are not part of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from parties.console import StatusLine
from parties.identity import Identity, load_certificate, load_identity, short_fingerprint
from parties.jobs.settings import CircuitSettings, EngineSettings, Id3Settings, MillionairesSettings
from parties.link.settings import LinkSettings, require_link
from smc.errors import InputError, ProtocolError

if TYPE_CHECKING:  # what takes its time to load is loaded where it is used: at best while the peer is on its way
    from parties.link.opening import Link
    from parties.tables.schema import Schema
    from parties.trees.tree import Node
    from protocols import id3
    from smc.circuit import Netlist
    from smc.counting import Program
    from smc.engines import Engine, Profile

Result = TypeVar("Result")
Report = dict[str, Any]

PROFILE = ("engine", "ot", "garbling", "form")  # what of a specification makes the profile


def id3_specification(settings: Id3Settings, schema: Schema, target: str) -> Report:
    """The public job of `smc id3`."""
    return {
        "protocol": "id3",
        "schema": schema.public(),
        "target": target,
        "delta": settings.delta,
        "min_rows": settings.min_rows,
        "max_depth": settings.max_depth,
        "max_rows": settings.max_rows,
        **_engine(settings),
    }


def millionaires_specification(settings: MillionairesSettings) -> Report:
    """The public job of `smc millionaires`."""
    return {"protocol": "millionaires", "bits": settings.bits, **_engine(settings)}


def circuit_specification(settings: CircuitSettings, netlist: Netlist) -> Report:
    """The public job of `smc circuit`."""
    return {"protocol": "circuit", "circuit": netlist.digest(), **_engine(settings)}


def _engine(settings: EngineSettings) -> Report:
    """What of the profile is agreed on beforehand; all of it is chosen later if the engine is "auto"."""
    if settings.engine == "auto":
        return {"engine": "auto"}
    fields = {name: getattr(settings, name) for name in PROFILE}
    return {name: value for name, value in fields.items() if value is not None}


def problem(settings: Id3Settings, schema: Schema, target: str) -> id3.Problem:
    """The protocol's view of an ID3 job. `InputError` if delta and bound do not fit the word size.

    So it is for a tree that could be deeper than `MAX_DEPTH`: it could be written but not be read back.
    """
    from parties.trees.tree import MAX_DEPTH
    from protocols import id3

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
    found.precision()  # refused here rather than in the middle of the run
    return found


def named(tree: id3.Tree, schema: Schema, target: str) -> Node:
    """The protocol's tree of indices with the schema's names."""
    from parties.trees.tree import Leaf, Split
    from protocols import id3

    if isinstance(tree, id3.Leaf):
        return Leaf(schema.attributes[target][tree.label])
    if isinstance(tree, id3.Open):
        raise ValueError("the tree is not finished")
    attribute = schema.features(target)[tree.attribute]
    values = schema.attributes[attribute]
    return Split(attribute, {v: named(child, schema, target) for v, child in zip(values, tree.children, strict=True)})


def indexed(tree: Node, schema: Schema, target: str) -> id3.Tree:
    """The inverse of `named`. `InputError` for a name that the schema does not have."""
    from parties.trees.tree import Leaf
    from protocols import id3

    features = schema.features(target)
    try:
        if isinstance(tree, Leaf):
            return id3.Leaf(schema.attributes[target].index(tree.label))
        values = schema.attributes[tree.attribute]
        children = tuple(indexed(tree.branches[value], schema, target) for value in values)
        return id3.Split(features.index(tree.attribute), children)
    except (ValueError, KeyError):
        raise InputError("the tree does not fit the schema") from None


class Connection:
    """A checked way to the peer: files read, nothing dialled yet."""

    def __init__(self, settings: LinkSettings) -> None:
        self._link = require_link(settings)
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
        progress: StatusLine,
        forecast: Callable[[], Program],
    ) -> tuple[Result, Report]:
        """Reach the peer, agree on the job, run the program on its engine; the result and the cost report.

        The specification names the profile, or the engine "auto"; then the link is measured, and the quickest profile
        for what `forecast` counts is taken. Raises `LinkError`, `JobMismatchError`.
        """
        from parties.link.opening import open_link
        from parties.link.options import LinkOptions

        auto = specification["engine"] == "auto"
        options = LinkOptions(
            self._identity,
            self._peer,
            listen=self._link.listen,
            connect=self._link.connect,
            wait=self._link.wait,
            timeout=self._link.timeout,
            window=self._link.window,
            shape=self._link.emulate,
            measure=auto,
            on_listening=lambda address: progress.say(f"listening on {address}"),
            meanwhile=lambda: importlib.import_module("smc.engines"),
        )
        progress.doing(f"waiting for the peer with certificate {short_fingerprint(self._peer)}")
        with open_link(options, specification) as link:
            from smc.engines import engine_of

            if auto:
                progress.doing("choosing the engine")
            profile = profile_for(link, specification, forecast)
            if auto:
                progress.say(f"engine auto, on {link.measured}: {profile}")
            progress.doing("computing")
            session = link.session()
            result = program(engine_of(session, profile))
            report = {"profile": str(profile), **session.meter.report()}
        return result, report


def profile_for(link: Link, specification: Mapping[str, Any], forecast: Callable[[], Program]) -> Profile:
    """The profile that the specification names, or for the engine "auto" the one that both parties choose."""
    from smc.engines import Profile

    if specification["engine"] == "auto":
        return _agree_on_profile(link, forecast(), specification["protocol"] == "id3")
    return Profile(**{name: specification[name] for name in PROFILE if name in specification})


def _agree_on_profile(link: Link, program: Program, integers: bool) -> Profile:
    """The quickest profile on the measured link. Both parties count for themselves and compare what they chose."""
    from parties.jobs import planner

    assert link.measured is not None
    contenders = planner.contenders(integers)
    chosen = planner.choose(program, contenders, link.measured)
    own = contenders.index(chosen)
    link.channel.send("profile", bytes([own]))
    peers = bytes(link.channel.receive("profile", 1))[0]
    if peers != own:
        theirs = contenders[peers] if peers < len(contenders) else "another"
        raise ProtocolError(f"engine auto: ours chose {chosen}, the peer's {theirs}; name an engine on both sides")
    return chosen
