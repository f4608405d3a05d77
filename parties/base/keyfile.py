"""Private key in a file, which may be encrypted, and the sources of its passphrase.

The passphrase of `a.key` is read from the first of these sources:

1. in systemd's credential `a.passphrase` ($CREDENTIALS_DIRECTORY, which a unit's `LoadCredentialEncrypted=` fills),
2. in the file `a.passphrase` beside the key, for its owner only: best a link to where secrets are mounted,
3. at the terminal, once a process.

The file is PKCS#8 (RFC 5958) with PBES2 (RFC 8018): AES-256-CBC under a key by scrypt (RFC 7914), which `openssl pkey`
reads, too. Other PKCS#8 files that OpenSSL has encrypted are read as well.
"""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.padding import PKCS7
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from parties.base import console, files
from smc.errors import InputError

ENDING = ".passphrase"
CREDENTIALS = "CREDENTIALS_DIRECTORY"  # see systemd.exec(5)
COST, BLOCK, PARALLEL = (
    1 << 14,
    8,
    5,
)  # parameters of scrypt: OWASP's for 16 MiB, the most that OpenSSL allows a file to request

_PBES2, _SCRYPT, _AES = "2a864886f70d01050d", "2b06010401da47040b", "60864801650304012a"  # object identifiers


class _Opened(NamedTuple):
    file: bytes
    plain: bytes
    passphrase: str


_opened: dict[Path, _Opened] = {}  # keys opened by this process


def read(path: Path) -> bytes:
    """Return the private key of a file as unencrypted PEM; raise InputError in one line if it cannot be read."""
    return _read(path).plain


def passphrase(path: Path) -> str:
    """Return the passphrase of a key file, for libraries that read it themselves; empty if it is not encrypted."""
    return _read(path).passphrase


def _read(path: Path) -> _Opened:
    pem = files.read_bytes(path)
    if not is_encrypted(pem):
        return _Opened(pem, pem, "")
    if (known := _opened.get(path)) is None or known.file != pem:
        _opened[path] = known = _Opened(pem, *_decrypted(path, pem))
    return known


def is_encrypted(pem: bytes) -> bool:
    """Return whether a file holds an encrypted key."""
    return b"BEGIN ENCRYPTED PRIVATE KEY" in pem or b"Proc-Type: 4,ENCRYPTED" in pem


def as_written(pem: bytes, word: str | None = None) -> bytes:
    """Return the key of a PEM file in this program's format, unencrypted PKCS#8; raises the errors of loading a key.

    Args:
        pem: Content of the file.
        word: Passphrase; None if the key is not encrypted.
    """
    key = load_pem_private_key(pem, None if word is None else word.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def encrypt(pem: bytes, word: str) -> bytes:
    """Return the content of an encrypted key file.

    Args:
        pem: The unencrypted key.
        word: The passphrase.

    Raises:
        InputError: The passphrase is empty.
    """
    if not word:
        raise InputError("the passphrase is empty; give one of 12 characters or more")
    plain = load_pem_private_key(pem, None).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    salt, vector, padder = secrets.token_bytes(16), secrets.token_bytes(16), PKCS7(128).padder()
    key = Scrypt(salt, 32, COST, BLOCK, PARALLEL).derive(word.encode())
    cipher = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor()
    encrypted = cipher.update(padder.update(plain) + padder.finalize()) + cipher.finalize()
    derivation = _sequence(_oid(_SCRYPT), _sequence(_octets(salt), *map(_integer, (COST, BLOCK, PARALLEL))))
    scheme = _sequence(_oid(_AES), _octets(vector))
    text = base64.encodebytes(
        _sequence(_sequence(_oid(_PBES2), _sequence(derivation, scheme)), _octets(encrypted))
    ).replace(b"\n", b"")
    lines = b"\n".join(text[start : start + 64] for start in range(0, len(text), 64))
    return b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n" + lines + b"\n-----END ENCRYPTED PRIVATE KEY-----\n"


def _decrypted(path: Path, pem: bytes) -> tuple[bytes, str]:
    word, place = sought(path)
    try:
        plain = as_written(pem, word)
    except Exception:  # the library raises many kinds of errors, and different ones for a wrong passphrase
        raise InputError(f"{path}: the passphrase {place} does not open it; give the right one") from None
    return plain, word


def sought(path: Path) -> tuple[str, str]:
    """Return the passphrase of a file and a description of its source; raise InputError if there is none."""
    beside = path.with_suffix(ENDING)
    if (line := first_line(beside)) is not None:
        return line
    if console.is_asked():
        return console.typed_secret(f"Passphrase of {path}"), "that was typed"
    raise InputError(
        f"{path} is encrypted, and nothing has its passphrase: there is no systemd credential {beside.name}, no file "
        f"{beside}, and no terminal to ask at"
    )


def first_line(path: Path) -> tuple[str, str] | None:
    """Return the first line of systemd's credential with a file's name, or of the file, and its source as text.

    Return None if neither exists; raise InputError if others than its owner may read the file.
    """
    if (line := credential(path.name)) is not None:
        return line
    return (_line(files.read_private(path)), f"in {path}") if path.exists() else None


def secret_line(path: Path, key: str) -> str:
    """Return the first line of a secret from systemd's credential with the file's name, or from the file.

    Args:
        path: The file, whose name is also that of systemd's credential.
        key: The setting that needs the secret, for the message.

    Raises:
        InputError: Neither the file nor the credential exists, or others than its owner may read the file.
    """
    if (line := first_line(path)) is None:
        raise InputError(f"{key}: there is neither {path} nor a systemd credential {path.name}")
    return line[0]


def credential(name: str) -> tuple[str, str] | None:
    """Return the first line of systemd's credential of this name and its source as text; None if there is none."""
    folder = os.environ.get(CREDENTIALS)
    if folder is None or not (path := Path(folder) / Path(name).name).is_file():
        return None
    return _line(files.read_bytes(path)), f"in systemd's credential {path.name}"


def _line(content: bytes) -> str:
    return content.decode(errors="replace").partition("\n")[0].rstrip("\r")


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, b"".join(parts))


def _oid(body: str) -> bytes:
    return _tagged(0x06, bytes.fromhex(body))


def _octets(body: bytes) -> bytes:
    return _tagged(0x04, body)


def _integer(value: int) -> bytes:
    return _tagged(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def _tagged(tag: int, body: bytes) -> bytes:
    """Return a value in DER: its tag, the length of its content `body`, and the content."""
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(size)]) + size + body
