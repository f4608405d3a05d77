"""Fuzz targets: the parsers of input from a peer, a file or a browser, each as a function of bytes, with seeds.

A target may refuse its input by an error of this program whose text is one printable line. Any other exception is a
flaw. It is also a flaw if a result is not the same after it is written and read again.
"""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from parties.base.address import parse_address
from parties.jobs.inputs import Inputs
from parties.jobs.release.evaluate import models
from parties.link.exchange_pb2 import Hello
from parties.link.frames import FrameReader, FrameWriter, assemble
from parties.link.handshake import agree, make_hello
from parties.models.load import load_any
from parties.node import settings
from parties.node.log import heads
from parties.node.log.statement import Statement
from parties.node.proposal import propose, read_job
from parties.node.records import export
from parties.node.records.chain import Row
from parties.party_file import load as load_party
from parties.sources.delimited import csv_columns
from parties.tables import schema
from parties.web.api import _object
from smc.circuit import bristol
from smc.errors import SmcError
from smc.session import Session

PLACE = Path(tempfile.mkdtemp(prefix="smc-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
UNSEEN, JOINERS = (
    ("Cc", "Cf", "Cn", "Cs", "Zl", "Zp"),
    "\u200c\u200d",
)  # Unicode categories; some scripts need the joiners
OURS = make_hello(0, {"protocol": "equality", "bits": 8})


class Target(NamedTuple):
    """A function that is called with any bytes, and a few well-formed inputs."""

    run: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def refused_well(run: Callable[[bytes], object], data: bytes) -> bool:
    """Return whether the input was refused with one printable line. Other exceptions pass through."""
    try:
        run(data)
    except SmcError as error:
        text = str(error)
        if not text or any(unicodedata.category(c) in UNSEEN and c not in JOINERS for c in text):
            raise AssertionError(f"not one printable line: {text!r}") from error
        return True
    return False


def _frames(data: bytes) -> None:
    """Read frames, each after its length in two bytes, as messages of 3 bytes."""
    reader, pieces = FrameReader(), []
    while data:
        size = int.from_bytes(data[:2], "big")
        pieces.append(data[2 : 2 + size])
        data = data[2 + size :]
    arrived = iter(pieces)
    for _ in range(len(pieces)):
        message = assemble("step", 3, lambda step, left: reader.read(next(arrived), step, left))
        assert len(message) == 3


def _framed(*messages: bytes) -> bytes:
    writer = FrameWriter()
    frames = [frame for message in messages for frame in writer.cut("step", message)]
    return b"".join(len(frame).to_bytes(2, "big") + frame for frame in frames)


def _hello(data: bytes) -> None:
    from google.protobuf.message import DecodeError

    try:
        theirs = Hello.FromString(data)
    except DecodeError:
        return
    agree(OURS, theirs)


def _statement(data: bytes) -> None:
    read = Statement.from_bytes(data)
    assert Statement.from_bytes(read.to_bytes()) == read


def _heads(data: bytes) -> None:
    """Read the heads of logs that a peer shows."""

    class Said:
        def receive(self, step: str, dtype: Any, shape: tuple[int, ...]) -> Any:
            return np.array([len(data)]) if step == "heads.size" else np.frombuffer(data, np.uint8)

    heads.receive(cast("Session", Said()), heads.Shown)


def _schema(path: Path) -> None:
    read = schema.load(path)
    path.write_text(read.text())
    assert schema.load(path).digest() == read.digest()


def _circuit(data: bytes) -> None:
    netlist = bristol.parse(data.decode("latin-1"), "it")
    again = bristol.parse(bristol.dump(netlist), "it")
    assert (again.and_count, again.input_widths) == (netlist.and_count, netlist.input_widths)


def _of_file(suffix: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Return a function that writes its bytes to a file and calls `read` with the path."""
    path = PLACE / f"input{suffix}"

    def run(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return run


_SCHEMA = b"""target = "play"\n[attributes]\nplay = ["yes", "no"]
age = { type = "integer", low = 0, high = 99, edges = [30, 50] }\n"""
_PARTY = b"""[link]\nidentity = "a.key"\ncertificate = "a.crt"\npeer = "b.crt"\nlisten = "127.0.0.1:7001"\n
[tables.t]\nsource = "x.csv"\nschema = "s.toml"\nwhere = "a > 1"\nconsent = "c"\nperson = "p"\nat_most = 4
[tables.t.budget]\nepsilon = 4\ndelta = 1e-7\nper = "year"\n
[[policy]]\nname = "n"\neffect = "permit"\nmax_depth.at_most = 4\ntime = "08:00-18:00"\nnetwork = "192.0.2.0/24"
"""
_TREE = (
    b'{"schema_digest": "' + b"0" * 64 + b'", "target": "play", "tolerance": 0.001, '
    b'"tree": {"attribute": "wind", "branches": {"weak": {"class": "yes"}, "strong": {"class": "no"}}}}'
)
_HEADS = b'{"head": {"number": 3, "hash": "' + b"a" * 64 + b'"}, "fingerprint": "' + b":".join([b"AB"] * 32)
_HEADS += b'", "signature": "' + b"0" * 128 + b'"}'


def _said() -> Statement:
    job = propose(read_job({"protocol": "millionaires", "bits": 8}), Inputs())
    return Statement(proposal=job, verdict="approved", by="operator", at="2026-11-01T12:00:00Z")


_ENTRY = Row(1, "2026-11-01T12:00:00.000+00:00", "node stopped", None, '{"why":""}', "0" * 64, "a" * 64)

TARGETS: Mapping[str, Target] = {
    "frames": Target(_frames, (_framed(b"abc", b"xyz"), _framed(b"abc") + bytes(40))),
    "hello": Target(_hello, (make_hello(1, {"protocol": "equality", "bits": 8}).SerializeToString(),)),
    "statement": Target(_statement, (_said().to_bytes(),)),
    "heads": Target(
        _heads, (b'{"own": ' + _HEADS + b', "held": null}', b'{"own": ' + _HEADS + b', "held": ' + _HEADS + b"}")
    ),
    "request": Target(_object, (b'{"protocol": "id3", "table": "t"}', b'{"why": "\\ud800"}')),
    "job": Target(
        lambda data: read_job(_object(data)),
        (
            b'{"protocol": "id3", "table": "t", "target": "play", "max_depth": 3, "epsilon": 1.0}',
            b'{"protocol": "release count", "table": "t", "where": "a = b; c in d", "epsilon": 0.5}',
            b'{"protocol": "millionaires", "bits": 8, "value": 7}',
            b'{"r\316\213toco~": 6}',  # a code point without a character, in a key
        ),
    ),
    "classifier": Target(lambda data: models.read(data.decode("latin-1")), (_TREE, b'{"target": "a", "classes": {}}')),
    "address": Target(lambda data: parse_address(data.decode("latin-1")), (b"localhost:7001", b"[::1]:80")),
    "csv": Target(_of_file(".csv", csv_columns), (b'a,b\n1,"x ""y"""\n?,\n', "ä;b\n1;2\n".encode())),
    "schema": Target(_of_file(".toml", _schema), (_SCHEMA,)),
    "party": Target(_of_file(".toml", settings.load), (_PARTY,)),
    "commands": Target(_of_file(".toml", load_party), (_PARTY + b"[id3]\nmax_depth = 3\n",)),
    "model": Target(_of_file(".json", load_any), (_TREE,)),
    "circuit": Target(
        _circuit, (b"1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n", b"2 4\n2 1 1\n1 1\n2 1 0 1 2 XOR\n1 1 2 3 INV\n")
    ),
    "log": Target(
        _of_file(".jsonl", export.read_lines),
        (export.to_lines([_ENTRY], None).encode(),),
    ),
}
