"""Cutting and assembling messages, without a network."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parties.link.frames import CHUNK_BYTES, MAX_FRAME_BYTES, FrameReader, FrameWriter, assemble
from smc.errors import ProtocolError

pytestmark = pytest.mark.slow

edges = st.sampled_from([0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
messages = st.lists(st.tuples(st.text(st.characters(codec="ascii", categories=["L", "N"])), edges), max_size=4)


def through(frames):
    """A function that hands out the frames one by one, as the channel does."""
    reader = FrameReader()
    waiting = iter(frames)
    return lambda: reader.read(next(waiting))


@given(messages)
@example([("x", 3 * CHUNK_BYTES)])
def test_what_is_cut_is_assembled_again(sent):
    writer = FrameWriter()
    payloads = [bytes([i + 1]) * size for i, (_, size) in enumerate(sent)]
    frames = [f for (step, _), payload in zip(sent, payloads, strict=True) for f in writer.cut(step, payload)]
    assert all(len(frame) < MAX_FRAME_BYTES for frame in frames)
    assert len(frames) == sum(max(1, -(-size // CHUNK_BYTES)) for _, size in sent)
    next_frame = through(frames)
    for (step, size), payload in zip(sent, payloads, strict=True):
        assert assemble(step, size, next_frame) == payload


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_or_a_well_formed_frame(noise):
    try:
        frame = FrameReader().read(noise)
    except ProtocolError:
        return
    assert frame.sequence == 0
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
