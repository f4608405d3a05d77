"""Private key in a token (PKCS#11): an HSM, a smart card, SoftHSM. The token signs; the key never leaves it.

Instead of the name of a key's file you can use a URI (RFC 7512), of one EC P-256 key and of the token's module:

    pkcs11:token=smc;object=clinic-a?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=/etc/smc/smc.pin

The PIN is read from the first of these sources:

1. in systemd's credential of the name that `pin-source` has, or else TOKEN.pin,
2. in the file that `pin-source` names, for its owner only,
3. at the terminal, once a process.

A PIN that the token refuses is not tried again, because the token locks itself after a few wrong PINs.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import unquote_to_bytes

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from typing_extensions import Buffer, override

from parties.base import console, extras, files, keyfile
from parties.base.text import listed, quoted
from smc.errors import InputError

_TOKEN = {"token": "label", "serial": "serial", "manufacturer": "manufacturer_id", "model": "model"}
_KEY = {"object": "LABEL", "id": "ID"}
_KINDS = {"type": "private"}
_MODULE, _PIN = "module-path", "pin-source"
_P256 = bytes.fromhex("06082a8648ce3d030107")  # object identifier of P-256 in DER, the value of CKA_EC_PARAMS
Answer = TypeVar("Answer")


class TokenError(InputError, sqlite3.OperationalError):
    """Failure of a token that may be temporary: the signature waits, as for a full disk."""


class Place(NamedTuple):
    """Parts of a URI: `name` is the text before the question mark; `token` and `key` are the attributes of either."""

    name: str
    token: dict[str, bytes]
    key: dict[str, bytes]
    module: str
    pin_source: Path | None


class _Session(NamedTuple):
    """Open session with the token, and both halves of the key."""

    session: Any
    private: Any
    public: ec.EllipticCurvePublicKey


def parse(uri: Path) -> Place:
    """Return the parts of a URI; raise InputError in one line for a missing or unknown part."""
    if re.search("[;&?:]pin(?!-source)[^=;&?]*=", str(uri), re.IGNORECASE):  # no message repeats the PIN
        raise InputError("pkcs11: leave the PIN out of the key's name; pin-source names a file, for its owner only")
    name, _, query = str(uri).partition("?")
    here = _attributes(name, name.removeprefix(files.IN_TOKEN), ";", (*_TOKEN, *_KEY, *_KINDS))
    there = _attributes(name, query, "&", (_MODULE, _PIN))
    if here.get("type", b"private") != b"private":
        raise InputError(f"{name}: type: must be private, not {quoted(here['type'].decode(errors='replace'))}")
    token, key = ({ours: here[ours] for ours in names if ours in here} for names in (_TOKEN, _KEY))
    if not token or not key:
        raise InputError(f"{name}: names no {'token' if not token else 'key'}: pkcs11:token=...;object=...")
    places = {key: there[key].decode(errors="replace") for key in there}
    if _PIN in places:
        places[_PIN] = re.sub("^file:(//)?(?=/)", "", places[_PIN])
    if missing := [key for key, value in {_MODULE: "", **places}.items() if not Path(value).is_absolute()]:
        raise InputError(
            f"{name}: give {missing[0]} as an absolute path behind a question mark: ...?{missing[0]}=/PATH"
        )
    return Place(name, token, key, places[_MODULE], Path(places[_PIN]) if _PIN in places else None)


def _attributes(name: str, text: str, separator: str, known: Sequence[str]) -> dict[str, bytes]:
    fields: dict[str, bytes] = {}
    for part in filter(None, text.split(separator)):
        key, equals, value = part.partition("=")
        if key not in known or not equals or key in fields:
            why = "stands there twice" if key in fields else f"is not understood; there are {listed(known)}"
            raise InputError(f"{name}: {quoted(key)} {why}")
        if re.search("%(?![0-9a-fA-F]{2})", value):
            raise InputError(f"{name}: {quoted(key)} has a % without two hexadecimal digits; % itself is %25")
        fields[key] = unquote_to_bytes(value)
    return fields


class TokenKey(ec.EllipticCurvePrivateKey):
    """Private key in a token, with the methods of keys of `cryptography` except export; methods raise `TokenError`.

    Several threads may use it, one at a time. `trouble` is the error of the last attempt, empty after a success.
    """

    def __init__(self, place: Place, pin: str) -> None:
        self.place, self.trouble = place, ""
        self._pin = pin
        self._refused = ""
        self._known: ec.EllipticCurvePublicKey | None = None
        self._open: _Session | None = None

    @override
    def public_key(self) -> ec.EllipticCurvePublicKey:
        """Return the public half, which the token stores under the same name."""
        return self._using(lambda session: session.public)

    @override
    def sign(self, data: Buffer, signature_algorithm: ec.EllipticCurveSignatureAlgorithm) -> bytes:
        """Return a signature by ECDSA with SHA-256, in DER. It is verified before it is returned.

        Args:
            data: The content to sign.
            signature_algorithm: ECDSA with SHA-256; no other algorithm is possible.
        """
        assert isinstance(signature_algorithm, ec.ECDSA)
        assert isinstance(signature_algorithm.algorithm, SHA256)
        content = bytes(data)
        digest = sha256(content).digest()

        def signed(session: _Session) -> bytes:
            numbers: bytes = session.private.sign(digest, mechanism=_pkcs11().Mechanism.ECDSA)
            half = len(numbers) // 2
            signature = encode_dss_signature(int.from_bytes(numbers[:half]), int.from_bytes(numbers[half:]))
            try:
                session.public.verify(signature, content, signature_algorithm)
            except InvalidSignature:
                raise TokenError(
                    f"{self.place.name}: the token's public key does not belong to its private key"
                ) from None
            self._known = session.public
            return signature

        return self._using(signed)

    @override
    def exchange(self, algorithm: ec.ECDH, peer_public_key: ec.EllipticCurvePublicKey) -> bytes:
        """Return the shared secret of this key and another's public key, 32 bytes.

        Args:
            algorithm: ECDH; not used.
            peer_public_key: The other's public key.
        """
        pkcs11 = _pkcs11()
        point = peer_public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        readable = {pkcs11.Attribute.SENSITIVE: False, pkcs11.Attribute.EXTRACTABLE: True}

        def derived(session: _Session) -> bytes:
            way = (pkcs11.KDF.NULL, None, point)
            secret = session.private.derive_key(
                pkcs11.KeyType.GENERIC_SECRET, 256, mechanism_param=way, template=readable
            )
            value = bytes(secret[pkcs11.Attribute.VALUE])
            if len(value) != 32:
                raise TokenError(f"{self.place.name}: what the token derives is {len(value)} bytes, not 32")
            return value

        return self._using(derived)

    @cached_property
    def secret(self) -> bytes:
        """32 bytes derived from the key: its exchange with a point whose logarithm is unknown."""
        return sha256(b"smc token key 1\0" + self.exchange(ec.ECDH(), _nobodys_point())).digest()

    @property
    @override
    def curve(self) -> ec.EllipticCurve:
        return ec.SECP256R1()

    @property
    @override
    def key_size(self) -> int:
        return self.curve.key_size

    @override
    def private_numbers(self) -> NoReturn:
        raise InputError(f"{self.place.name} cannot leave its token; name a key file instead")

    @override
    def private_bytes(self, *_: object) -> NoReturn:
        self.private_numbers()

    @override
    def __copy__(self) -> TokenKey:
        return self

    @override
    def __deepcopy__(self, memo: object) -> TokenKey:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenKey, (self.place, self._pin)

    def check(self) -> None:
        """Raise TokenError unless the key exists and both its halves belong together, tested by a signature."""
        if self._known is None:
            self.sign(b"", ec.ECDSA(SHA256()))

    def make(self) -> bool:
        """Create the key if the token lacks it; return whether it was created. Raise TokenError if it cannot be."""
        pkcs11 = _pkcs11()
        with _LOCK:
            try:
                with closing(self._logged_in(rw=True)) as session:
                    names = {pkcs11.Attribute[_KEY[key]]: _value(key, value) for key, value in self.place.key.items()}
                    if list(session.get_objects({pkcs11.Attribute.CLASS: pkcs11.ObjectClass.PRIVATE_KEY, **names})):
                        return False
                    curve = {pkcs11.Attribute.EC_PARAMS: _P256}
                    flags = pkcs11.MechanismFlag
                    session.create_domain_parameters(pkcs11.KeyType.EC, curve, local=True).generate_keypair(
                        id=self.place.key.get("id", sha256(self.place.name.encode()).digest()[:8]),
                        label=self.place.key.get("object", b"smc").decode(errors="replace"),
                        store=True,
                        capabilities=flags.SIGN | flags.VERIFY | flags.DERIVE,
                    )
            except pkcs11.PKCS11Error as error:
                raise TokenError(f"{self.place.name}: the token cannot make this key: {_words(error)}") from None
        return True

    def _using(self, work: Callable[[_Session], Answer]) -> Answer:
        """Return the result of work in the open session, or in a new one if that has failed."""
        pkcs11 = _pkcs11()
        with _LOCK:
            try:
                was_open = self._open is not None
                try:
                    answer = work(self._opened())
                except pkcs11.PKCS11Error:
                    if not was_open:
                        raise
                    self.forget()
                    answer = work(self._opened())
            except (pkcs11.PKCS11Error, TokenError) as error:
                self.forget()
                what = str(error) if isinstance(error, TokenError) else f"{self.place.name}: {_words(error)}"
                self.trouble = what
                raise TokenError(what) from None
            self.trouble = ""
            return answer

    def _opened(self) -> _Session:
        if self._open is None:
            session = self._logged_in()
            try:
                self._open = self._looked_up(session)
            except BaseException:
                session.close()
                raise
        return self._open

    def _logged_in(self, rw: bool = False) -> Any:
        """Open a session as the token's user; after a refused PIN, raise TokenError now and at every later call."""
        pkcs11 = _pkcs11()
        if self._refused:
            raise TokenError(self._refused)
        token = _token(self.place)
        try:
            return token.open(rw=rw, user_pin=self._pin)
        except (pkcs11.PinIncorrect, pkcs11.PinInvalid, pkcs11.PinLenRange, pkcs11.PinLocked) as error:
            self._refused = f"{self.place.name}: the token refuses the PIN ({_words(error)}); it is not tried again"
            raise TokenError(self._refused) from None
        except pkcs11.UserAlreadyLoggedIn:  # by another key of this process
            return token.open(rw=rw)

    def _looked_up(self, session: Any) -> _Session:
        pkcs11 = _pkcs11()
        names = {pkcs11.Attribute[_KEY[key]]: _value(key, value) for key, value in self.place.key.items()}
        halves = []
        for half in (pkcs11.ObjectClass.PRIVATE_KEY, pkcs11.ObjectClass.PUBLIC_KEY):
            keys = list(session.get_objects({pkcs11.Attribute.CLASS: half, **names}))
            if len(keys) != 1:
                what = half.name.lower().replace("_", " ")
                raise TokenError(f"{self.place.name}: the token has {len(keys) or 'no'} such {what}{'s' * bool(keys)}")
            halves.append(keys[0])
        private, public = halves
        if private.key_type != pkcs11.KeyType.EC or public[pkcs11.Attribute.EC_PARAMS] != _P256:
            raise TokenError(f"{self.place.name}: the key is not EC P-256, as smc identity create --token makes it")
        point = public[pkcs11.Attribute.EC_POINT][-65:]  # content of an octet string in DER
        try:
            known = ec.EllipticCurvePublicKey.from_encoded_point(self.curve, point)
        except ValueError:
            raise TokenError(f"{self.place.name}: its public key in the token is not valid; make a new key") from None
        if self._known not in (None, known):  # it would sign with a key that others do not expect
            raise TokenError(f"{self.place.name}: the token has another key of this name than before")
        return _Session(session, private, known)

    def forget(self) -> None:
        """Close the session with the token; the next use opens another one."""
        if self._open is not None:
            with suppress(Exception):  # the token may be gone
                self._open.session.close()
        self._open = None


_LOCK = threading.RLock()  # a module is loaded once a process, and may not support several threads
_keys: dict[Path, TokenKey] = {}  # keys of this process


def opened(uri: Path) -> TokenKey:
    """Return the key that a URI names, after a test signature. Raise InputError if the token or the key cannot be
    used."""
    key = of(uri)
    key.check()
    return key


def secret(path: Path) -> bytes:
    """Return a secret that follows from a private key: the content of a key file, or a token's derived secret.

    Raise InputError in one line if there is none.
    """
    return opened(path).secret if files.is_in_token(path) else keyfile.read(path)


def of(uri: Path) -> TokenKey:
    """Return the key of a URI, which may not exist yet. Raise InputError without a PIN, TokenError without a module."""
    with _LOCK:
        if uri not in _keys:
            place = parse(uri)
            with extras.needing(place.name, "pkcs11"):
                _pkcs11()
            if not Path(place.module).is_file():  # before the operator types a PIN for it
                raise TokenError(f"{place.name}: the module {place.module} cannot be used: there is no such file")
            _keys[uri] = TokenKey(place, _pin(place))
        return _keys[uri]


def _pin(place: Place) -> str:
    name = f"{place.token.get('token', b'').decode(errors='replace') or 'token'}.pin"
    if place.pin_source is not None:
        line = keyfile.first_line(place.pin_source)
        name = place.pin_source.name
    else:
        line = keyfile.credential(name)
    if line is not None:
        return line[0]
    if console.is_asked():
        return console.typed_secret(f"PIN of {place.name}")
    source = "" if place.pin_source is None else f", no file {place.pin_source}"
    raise InputError(
        f"{place.name}: nothing has the PIN: there is no systemd credential {name}{source}, and no terminal to ask at"
    )


def _token(place: Place) -> Any:
    """Return the token of a URI; raise TokenError if its module does not load, or unless exactly one token fits."""
    pkcs11 = _pkcs11()
    try:
        module = pkcs11.lib(place.module)
        try:
            tokens = _fitting(module, place)
        except pkcs11.PKCS11Error:
            tokens = []
        if not tokens:  # SoftHSM lists its tokens once: reinitialise it after they were absent
            for key in _keys.values():
                key.forget()
            module.reinitialize()
            tokens = _fitting(module, place)
    except (pkcs11.PKCS11Error, RuntimeError, OSError) as error:
        raise TokenError(f"{place.name}: the module {place.module} cannot be used: {_words(error)}") from None
    if len(tokens) != 1:
        raise TokenError(
            f"{place.name}: there {'are several such tokens' if tokens else 'is no such token'}; check token="
        )
    return tokens[0]


def _fitting(module: Any, place: Place) -> list[Any]:
    return [t for t in module.get_tokens() if all(_bytes(t, key) == value for key, value in place.token.items())]


def _bytes(token: Any, key: str) -> bytes:
    value = getattr(token, _TOKEN[key])
    return (value if isinstance(value, bytes) else str(value).encode()).rstrip(b" \0")


def _value(key: str, value: bytes) -> bytes | str:
    return value if key == "id" else value.decode(errors="replace")


def _words(error: Exception) -> str:
    """Return an error as text: these exceptions have names such as TokenNotPresent, and rarely a message."""
    return str(error) or re.sub("(?<!^)(?=[A-Z])", " ", type(error).__name__).lower()


def _nobodys_point() -> ec.EllipticCurvePublicKey:
    """Return a point of P-256 from a hash: the first valid candidate; each is valid with probability 1/2."""
    for counter in range(256):
        with suppress(ValueError):
            x = sha256(b"smc token key, a point\0" + bytes([counter])).digest()
            return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\2" + x)
    raise AssertionError("no candidate is a point")


def _pkcs11() -> Any:
    import pkcs11

    return pkcs11
