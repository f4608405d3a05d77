"""Texts as bits: tags, and sets of q-grams."""

from __future__ import annotations

import hashlib

import numpy as np

from protocols.alignment.grams import SET, TAG, gram_sets, grams, tags


def test_a_tag_is_the_beginning_of_a_digest() -> None:
    found = tags(["ann", None, "Zoë"])
    assert found.shape == (TAG, 3)
    octets = [np.packbits(found[:, i], bitorder="little").tobytes() for i in range(3)]
    assert octets == [hashlib.sha256(b"ann").digest()[:8], bytes(8), hashlib.sha256("Zoë".encode()).digest()[:8]]


def test_a_set_has_a_bit_for_each_pair_of_letters() -> None:
    found = gram_sets(["ann", None, "a"])
    bits = [hashlib.sha256(gram).digest()[0] % SET for gram in (b" a", b"an", b"nn", b"n ")]
    assert set(np.flatnonzero(found[:, 0]).tolist()) == set(bits)
    assert not found[:, 1].any()
    assert grams("a") == [" a", "a "]
