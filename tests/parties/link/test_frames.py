"""Cutting and assembling messages, without a network."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st

from parties.link.exchange_pb2 import DATA, Frame
from parties.link.frames import (
    CHUNK_BYTES,
    MAX_FRAME_BYTES,
    SHORT_BYTES,
    FrameReader,
    FrameWriter,
    assemble,
)
from smc.errors import ProtocolError

pytestmark = pytest.mark.slow

BOUNDS = (SHORT_BYTES, CHUNK_BYTES, CHUNK_BYTES + SHORT_BYTES)
edges = st.sampled_from([0, 1, 3 * CHUNK_BYTES, *(bound + beyond for bound in BOUNDS for beyond in (-1, 0, 1))])
messages = st.lists(st.tuples(st.text(st.characters(codec="ascii", categories=["L", "N"])), edges), max_size=4)


def through(frames):
    """A function that hands out the frames one by one, as the channel does."""
    reader = FrameReader()
    waiting = iter(frames)
    return lambda step, left: reader.read(next(waiting), step, left)


@given(messages)
@example([("x", 3 * CHUNK_BYTES)])
def test_what_is_cut_is_assembled_again(sent):
    writer = FrameWriter()
    payloads = [bytes([i + 1]) * size for i, (_, size) in enumerate(sent)]
    frames = [f for (step, _), payload in zip(sent, payloads, strict=True) for f in writer.cut(step, payload)]
    assert all(len(frame) < MAX_FRAME_BYTES for frame in frames)
    assert len(frames) == sum(max(1, -(-(size - SHORT_BYTES) // CHUNK_BYTES)) for _, size in sent)
    next_frame = through(frames)
    for (step, size), payload in zip(sent, payloads, strict=True):
        assert assemble(step, size, next_frame) == payload


def read(data, number, *expected):
    """What a reader makes of bytes where frame `number` is due: the frame, or its reason to refuse them."""
    reader = FrameReader()
    reader._sequence = number
    try:
        kind, step, payload, more = reader.read(data, *expected)
    except ProtocolError as error:
        return str(error)
    return kind, step, bytes(payload), more, reader._sequence


@given(messages, st.integers(0, 2), st.sampled_from([b"", b"\x28\x01", b"x"]))
def test_an_expected_frame_is_read_as_any_other(sent, first, junk):
    writer = FrameWriter(first)
    for label, size in sent:
        left = size
        for frame in writer.cut(label, bytes(size)):
            number = writer._sequence - 1
            plain = read(frame + junk, number)
            for expected in ((label, left), (label + "z", left), (label, left + 1), (label, max(0, left - 1))):
                assert read(frame + junk, number, *expected) == plain
                assert read(frame + junk, number + 1, *expected) == read(frame + junk, number + 1)
            left = max(0, left - CHUNK_BYTES)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_or_a_well_formed_frame(noise):
    try:
        frame = FrameReader().read(noise)
    except ProtocolError:
        return
    assert frame.kind in (1, 2, 3, 4)
    assert frame.step.isprintable()


@given(st.integers(0, 3 * CHUNK_BYTES), st.sampled_from([0, 5, CHUNK_BYTES, CHUNK_BYTES + 5]))
def test_another_size_than_expected_is_refused(size, expected):
    if size == expected:
        return
    with pytest.raises(ProtocolError, match="at step 'x'"):
        assemble("x", expected, through(FrameWriter().cut("x", bytes(size))))


def test_large_messages_are_read_only():
    message = assemble("x", 2 * CHUNK_BYTES, through(FrameWriter().cut("x", bytes(2 * CHUNK_BYTES))))
    assert memoryview(message).readonly


FIELDS = st.one_of(
    st.builds(lambda number: Frame(sequence=number), st.sampled_from([0, 1, 300])),
    st.builds(lambda kind: Frame(kind=kind), st.sampled_from([DATA, 7])),
    st.builds(lambda step: Frame(step=step), st.sampled_from(["reveal", "x" * 250, "\n"])),
    st.builds(lambda more: Frame(more=more), st.booleans()),
    st.builds(lambda size: Frame(payload=bytes(range(250)) * size), st.sampled_from([0, 1, 65, 66, 500])),
).map(lambda frame: frame.SerializeToString())
STRANGE = st.sampled_from([b"\x22\xff\xff\xff\xff\x0f", b"\x3a\x03abc", b"\x45", b"\xff" * 12, b"\x00"])


@given(parts=st.lists(st.one_of(FIELDS, FIELDS, STRANGE), max_size=6), cut=st.integers(0, 3))
def test_whatever_comes_is_read_as_protocol_buffers_read_it(parts: list[bytes], cut: int) -> None:
    """Fields in any order, repeated, unknown or broken off."""
    data = b"".join([Frame(kind=DATA).SerializeToString(), *parts])
    data = data[: len(data) - cut] if cut < len(data) else data
    try:
        expected = Frame.FromString(data)
    except DecodeError:
        expected = None
    try:
        frame = FrameReader().read(data)
    except ProtocolError:
        refused = expected is None or expected.kind != DATA or expected.sequence != 0
        assert refused or len(expected.step) > 200 or not expected.step.isprintable()
        return
    assert expected is not None
    assert (frame.kind, frame.step, bytes(frame.payload), frame.more) == (
        expected.kind,
        expected.step,
        expected.payload,
        expected.more,
    )


def test_a_large_payload_is_not_copied() -> None:
    (data,) = FrameWriter().cut("tables", bytes(CHUNK_BYTES))
    payload = FrameReader().read(data, "tables", CHUNK_BYTES).payload
    assert isinstance(payload, memoryview)
    assert payload.obj is data
    assert payload.readonly


@given(
    number=st.sampled_from([1, 127, 128, 300, 2**32]),
    step=st.text(st.characters(codec="utf-8"), max_size=20),
    payload=st.binary(max_size=300) | st.just(bytes(SHORT_BYTES)) | st.just(bytes(SHORT_BYTES + 1)),
)
def test_a_short_frame_is_what_protocol_buffers_write(number: int, step: str, payload: bytes) -> None:
    (frame,) = FrameWriter(number).cut(step, payload)
    written = Frame.FromString(frame)
    assert written == Frame(sequence=number, kind=DATA, step=step, payload=payload)
    assert len(frame) - written.ByteSize() in ((0, 2) if not payload else (0,))  # which leave an empty one out
