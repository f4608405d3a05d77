"""What is sealed to a key: the RFC's numbers, another library's sealed bytes, and what is changed."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from parties.alone.publish.sealing.sealing import derived, seal, unseal
from smc.errors import InputError

# RFC 9180, A.3.1: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, sequence number 0
SEED = bytes.fromhex("4270e54ffd08d79d5928020af4686d8f6b7d35dbe470265f1f5aa22816ce860e")
RECIPIENT = bytes.fromhex("668b37171f1072f3cf12ea8a236a45df23fc13b82af3609ad1e354f6ef817550")
RECIPIENT_KEY = 0xF3CE7FDAE57E1A310D87F1EBBDE6F328BE0A99CDBCADF4D6589CF29DE4B8FFD2
INFO, DATA, ASSOCIATED = b"Ode on a Grecian Urn", b"Beauty is truth, truth beauty", b"Count-0"
POINT = (
    "04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac9"
    "8536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4"
)
CIPHERTEXT = "5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434"


def test_the_rfcs_vector() -> None:
    recipient = derived(RECIPIENT)
    assert recipient.private_numbers().private_value == RECIPIENT_KEY
    sealed = seal(recipient.public_key(), INFO, DATA, SEED, ASSOCIATED)
    assert sealed.hex() == POINT + CIPHERTEXT
    assert unseal(recipient, INFO, sealed, ASSOCIATED) == DATA


def test_another_implementation_opens_it_and_is_opened() -> None:
    hpke = pytest.importorskip("cryptography.hazmat.primitives.hpke", reason="this version has no HPKE of its own")
    if not hasattr(hpke.KEM, "P256"):
        pytest.skip("its HPKE has no P-256")
    suite = hpke.Suite(hpke.KEM.P256, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
    key = generate_private_key(SECP256R1())
    assert suite.decrypt(seal(key.public_key(), INFO, DATA, SEED), key, INFO) == DATA
    assert unseal(key, INFO, suite.encrypt(DATA, key.public_key(), INFO)) == DATA


def test_what_is_changed_is_refused() -> None:
    key, other = derived(SEED), derived(RECIPIENT)
    sealed = seal(key.public_key(), INFO, DATA, bytes(32))
    assert len(sealed) == len(DATA) + 65 + 16  # a point and a tag
    assert sealed[:65] == derived(bytes(32)).public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    assert unseal(key, INFO, sealed) == DATA
    flipped = [bytes([*sealed[:i], sealed[i] ^ 1, *sealed[i + 1 :]]) for i in (0, 1, 64, 65, len(sealed) - 1)]
    cases = [(key, INFO, bad) for bad in (*flipped, b"", sealed[:40], sealed[:70], sealed + b"\0")]
    for opener, info, bad in [*cases, (key, b"another", sealed), (other, INFO, sealed)]:
        with pytest.raises(InputError, match="changed, or sealed for another job or key"):
            unseal(opener, info, bad)
