"""Cells' ciphers: the vectors of their RFCs, any text there and back, nothing changed unnoticed."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.keywrap import aes_key_unwrap, aes_key_wrap
from hypothesis import given
from hypothesis import strategies as st

from parties.alone.publish.keys.ciphers import (
    CHANGED,
    KEY_BYTES,
    Deterministic,
    Mode,
    Randomised,
    cell_cipher,
    derived,
    pad,
    read,
    spell,
)
from parties.alone.publish.keys.ciphers import unpad as unpadded

MODES: list[Mode] = ["deterministic", "randomised"]


def test_siv_of_rfc_5297() -> None:
    """Appendix A.1."""
    cipher = Deterministic(bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"))
    associated = bytes.fromhex("101112131415161718191a1b1c1d1e1f2021222324252627")
    sealed = cipher.seal(bytes.fromhex("112233445566778899aabbccddee"), associated)
    assert sealed.hex() == "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c"


@pytest.mark.parametrize(
    ("plain", "sealed"),
    [
        ("", "07f5f4169bbf55a8400cd47ea6fd400f"),
        ("0100000000000000", "c2ef328e5c71c83b843122130f7364b761e0b97427e3df28"),
    ],
)
def test_gcm_siv_of_rfc_8452(plain: str, sealed: str) -> None:
    """Appendix C.2: AEAD_AES_256_GCM_SIV."""
    nonce = bytes.fromhex("030000000000000000000000")
    cipher = Randomised(bytes.fromhex("01" + 31 * "00"))
    assert cipher.seal(bytes.fromhex(plain), b"", nonce) == nonce + bytes.fromhex(sealed)


def test_key_wrap_of_rfc_3394() -> None:
    """Section 4.6: 256 bits of key by 256 bits."""
    wrapping, key = bytes(range(32)), bytes.fromhex("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f")
    wrapped = "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
    assert aes_key_wrap(wrapping, key).hex() == wrapped
    assert aes_key_unwrap(wrapping, bytes.fromhex(wrapped)) == key


@given(st.sampled_from(MODES), st.text(), st.integers(0, 65535), st.data())
def test_there_and_back(mode: Mode, text: str, version: int, data: st.DataObject) -> None:
    cipher, associated = cell_cipher(mode, bytes(range(KEY_BYTES[mode]))), b"column"
    padded = pad(text)
    assert len(padded) % 16 == 0 < len(padded) <= len(text.encode()) + 16
    token = spell(version, cipher.seal(padded, associated))
    assert (spell(version, cipher.seal(padded, associated)) == token) == (mode == "deterministic")
    found, sealed = read(token)
    assert (found, unpadded(cipher.open(sealed, associated))) == (version, text)
    changed = bytearray(sealed)
    changed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ValueError, match=CHANGED):
        cipher.open(bytes(changed), associated)
    with pytest.raises(ValueError, match=CHANGED):
        cipher.open(sealed, b"another column")


@pytest.mark.parametrize("mode", MODES)
def test_derived_keys_are_their_purposes(mode: Mode) -> None:
    sealed = derived(bytes(32), mode, b"a").seal(pad("x"), b"")
    assert unpadded(derived(bytes(32), mode, b"a").open(sealed, b"")) == "x"
    for other in (derived(bytes(32), mode, b"b"), derived(b"\1" * 32, mode, b"a")):
        with pytest.raises(ValueError, match=CHANGED):
            other.open(sealed, b"")


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_other_text_is_no_pseudonym(text: str) -> None:
    """Only one spelling of a pseudonym is read; padding, spaces or other letters make none."""
    try:
        version, sealed = read(text)
    except ValueError:
        return
    assert spell(version, sealed) == text


@pytest.mark.parametrize("padded", [b"", b"abc", b"abc\x80\x01", bytes(16)])
def test_what_is_not_padded(padded: bytes) -> None:
    with pytest.raises(ValueError, match="not padded"):
        unpadded(padded)


@given(st.sampled_from(MODES), st.binary(max_size=60))
def test_other_bytes_are_no_cell(mode: Mode, sealed: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the library's own, if there is not even a whole nonce)
        cell_cipher(mode, bytes(KEY_BYTES[mode])).open(sealed, b"")
