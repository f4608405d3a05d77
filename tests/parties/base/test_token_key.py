"""A private key that stays in a token: real SoftHSM, `cryptography` as reference, and one line for what is wrong."""

from __future__ import annotations

import copy
import pickle
import threading
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.base import keyfile, token_key
from parties.base.token_key import TokenError, TokenKey
from smc.errors import InputError
from tests.support.tokens import PIN, SoftHsm

ECDSA = ec.ECDSA(SHA256())
MODULE = "?module-path=/m.so"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"object=a{MODULE}", "names no token"),
        (f"token=a{MODULE}", "names no key"),
        ("token=a;object=b", "give module-path as an absolute path"),
        ("token=a;object=b?module-path=m.so", "give module-path as an absolute path"),
        (f"token=a;object=b{MODULE}&pin-source=|cat", "give pin-source as an absolute path"),
        (f"token=a;object=b{MODULE}&pin-value=1234", "leave the PIN out"),
        (f"token=a;object=b;pin-value=1234{MODULE}", "leave the PIN out"),
        (f"token=a;pin=1234;object=b{MODULE}", "leave the PIN out"),
        (f"token=a;object=b;PIN%2Dvalue=1234{MODULE}", "leave the PIN out"),
        (f"token=a;object=b;type=cert{MODULE}", "type: must be private, not 'cert'"),
        (f"token=a;token=b;object=b{MODULE}", "'token' stands there twice"),
        (f"token=%zz;object=b{MODULE}", "'token' has a % without two hexadecimal digits"),
        ("token=a;object=b?module-path=/no/such.so", "the module /no/such.so cannot be used: there is no such file"),
        (f"tokens=a;object=b{MODULE}", "'tokens' is not understood; there are 'token', 'serial'"),
    ],
)
def test_a_name_that_is_not_understood(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as error:
        token_key.opened(Path(f"pkcs11:{text}"))
    assert "1234" not in str(error.value)


def test_a_name_in_parts() -> None:
    """Values are percent-encoded, an identifier is any bytes, and a PIN's file may have the form of a URI."""
    uri = "pkcs11:token=the%20token;serial=00ff;id=%00%01%ff;type=private?pin-source=file:///etc/pin&module-path=/m.so"
    place = token_key.parse(Path(uri))
    assert (place.token, place.key) == ({"token": b"the token", "serial": b"00ff"}, {"id": b"\0\1\xff"})
    assert (place.module, place.pin_source) == ("/m.so", Path("/etc/pin"))


@pytest.fixture(scope="module")
def key(hsm: SoftHsm) -> TokenKey:
    key = token_key.of(hsm.uri("a"))
    assert key.make()
    return key


def test_what_it_signs(key: TokenKey) -> None:
    assert not key.make()  # it is there
    for size in (0, 1, 31, 32, 64, 1000):
        data = b"x" * size
        signature = key.sign(data, ECDSA)
        key.public_key().verify(signature, data, ECDSA)
        with pytest.raises(InvalidSignature):
            key.public_key().verify(signature, data + b"y", ECDSA)


@settings(max_examples=10, deadline=None)
@given(number=st.integers(1, 2**255))
def test_what_it_has_in_common_with_another(key: TokenKey, number: int) -> None:
    other = ec.derive_private_key(number, ec.SECP256R1())
    assert key.exchange(ec.ECDH(), other.public_key()) == other.exchange(ec.ECDH(), key.public_key())


def test_its_secret_follows_from_the_private_key(hsm: SoftHsm) -> None:
    """That of a key that was put into the token: as `cryptography` computes it, and nobody from what is public."""
    import pkcs11
    from pkcs11.util.ec import decode_ec_private_key, decode_ec_public_key

    ours = ec.derive_private_key(int.from_bytes(sha256(b"a test").digest()), ec.SECP256R1())
    with _session(hsm) as session:
        pem = ours.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        public = ours.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for fields, derive in ((decode_ec_private_key(pem), True), (decode_ec_public_key(public), True)):
            more = {pkcs11.Attribute.LABEL: "put", pkcs11.Attribute.TOKEN: True, pkcs11.Attribute.DERIVE: derive}
            session.create_object({**fields, **more})
    key = token_key.opened(hsm.uri("put"))
    point = token_key._nobodys_point()
    assert key.public_key() == ours.public_key()
    assert key.secret == sha256(b"smc token key 1\0" + ours.exchange(ec.ECDH(), point)).digest()
    assert token_key.secret(hsm.uri("put")) == key.secret
    assert key.secret != token_key.opened(hsm.uri("a")).secret


def _session(hsm: SoftHsm):
    import pkcs11

    (token,) = (token for token in pkcs11.lib(str(hsm.module)).get_tokens() if token.label == "smc")
    try:
        return token.open(rw=True, user_pin=PIN)
    except pkcs11.UserAlreadyLoggedIn:
        return token.open(rw=True)


def test_it_does_not_show_itself(key: TokenKey, hsm: SoftHsm) -> None:
    import pkcs11

    for shown in (key.private_numbers, lambda: key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())):
        with pytest.raises(InputError, match="cannot leave its token"):
            shown()
    with _session(hsm) as session:
        private = session.get_key(pkcs11.ObjectClass.PRIVATE_KEY, label="a")
        assert private[pkcs11.Attribute.SENSITIVE]
        assert not private[pkcs11.Attribute.EXTRACTABLE]
        with pytest.raises(pkcs11.AttributeSensitive):
            private[pkcs11.Attribute.VALUE]
    assert copy.copy(key) is copy.deepcopy(key) is key
    assert PIN not in repr(key)
    again = pickle.loads(pickle.dumps(key))  # noqa: S301 (as a process of our own has it)
    again.public_key().verify(key.sign(b"x", ECDSA), b"x", ECDSA)


def test_many_threads(key: TokenKey) -> None:
    wrong: list[Exception] = []

    def sign(data: bytes) -> None:
        try:
            for _ in range(10):
                key.public_key().verify(key.sign(data, ECDSA), data, ECDSA)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=sign, args=(bytes([number]),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_wrong_pin_is_tried_once(hsm: SoftHsm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the token would lock itself, and nobody could use it any more."""
    uri = hsm.uri("a", "other", hsm.file("wrong", "12345"))
    tried: list[str] = []
    token = token_key._token

    class Counting:
        def __init__(self, place: token_key.Place) -> None:
            self.token = token(place)

        def open(self, rw: bool, user_pin: str) -> object:
            tried.append(user_pin)
            return self.token.open(rw=rw, user_pin=user_pin)

    monkeypatch.setattr(token_key, "_token", Counting)
    for _ in range(5):
        with pytest.raises(TokenError, match=r"a: the token refuses the PIN \(pin incorrect\); it is not tried again"):
            token_key.opened(uri)
    assert tried == ["12345"]


def test_where_the_pin_is_from(hsm: SoftHsm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Path(str(hsm.uri("a")).partition("&")[0])
    with pytest.raises(InputError, match=r"nothing has the PIN: there is no systemd credential smc\.pin, and no term"):
        token_key.opened(bare)
    monkeypatch.setenv(keyfile.CREDENTIALS, str(tmp_path))
    (tmp_path / "smc.pin").write_text(PIN)
    token_key.opened(bare)
    gone = hsm.uri("a", pin=tmp_path / "gone")
    with pytest.raises(InputError, match=r"no systemd credential gone, no file .*/gone, and no terminal"):
        token_key.opened(gone)
    loose = hsm.uri("a", pin=hsm.file("loose", PIN))
    (hsm.folder / "loose").chmod(0o644)
    with pytest.raises(InputError, match="loose can be read by other users"):
        token_key.opened(loose)


@pytest.mark.parametrize(
    ("key", "token", "problem"),
    [
        ("none", "smc", "the token has no such private key"),
        ("a", "none", "there is no such token"),
        ("rsa", "smc", "the key is not EC P-256"),
        ("p384", "smc", "the key is not EC P-256"),
        ("half", "smc", "the token has no such public key"),
        ("other half", "smc", "the token's public key does not belong to its private key"),
    ],
)
def test_keys_of_another_type(hsm: SoftHsm, key: str, token: str, problem: str) -> None:
    import pkcs11
    from pkcs11.util.ec import encode_named_curve_parameters

    with _session(hsm) as session:
        match key:
            case "rsa":
                session.generate_keypair(pkcs11.KeyType.RSA, 2048, label=key, store=True)
            case "p384" | "half" | "other half":
                curve = encode_named_curve_parameters("secp384r1" if key == "p384" else "secp256r1")
                parameters = {pkcs11.Attribute.EC_PARAMS: curve}
                domain = session.create_domain_parameters(pkcs11.KeyType.EC, parameters, local=True)
                public, _ = domain.generate_keypair(label=key, store=True)
                if "half" in key:
                    public.destroy()
                if "other" in key:
                    _, private = domain.generate_keypair(label=key, store=True)
                    private.destroy()
    with pytest.raises(TokenError, match=problem):
        token_key.opened(hsm.uri(key, token))


def test_another_key_of_the_same_name(hsm: SoftHsm) -> None:
    """A card that was put in for it, say: nothing is signed with that, and no other secret follows."""
    key = token_key.of(hsm.uri("again"))
    key.make()
    key.check()
    first = key.public_key()
    import pkcs11

    with _session(hsm) as session:
        for half in list(session.get_objects({pkcs11.Attribute.LABEL: "again"})):
            half.destroy()
        key.make()
    key.forget()
    with pytest.raises(TokenError, match="again: the token has another key of this name than before"):
        key.sign(b"x", ECDSA)
    assert token_key.TokenKey(key.place, PIN).public_key() != first


@pytest.mark.parametrize("form", ["raw", "short", "elsewhere"])
def test_points_as_tokens_write_them(hsm: SoftHsm, form: str) -> None:
    """In DER or as it is, which some do; what is no point of the curve is one line."""
    import pkcs11

    key = token_key.of(hsm.uri(form))
    key.make()
    with _session(hsm) as session:
        public = session.get_key(pkcs11.ObjectClass.PUBLIC_KEY, label=form)
        point = public[pkcs11.Attribute.EC_POINT]
        fields = {pkcs11.Attribute.CLASS: pkcs11.ObjectClass.PUBLIC_KEY, pkcs11.Attribute.KEY_TYPE: pkcs11.KeyType.EC}
        fields |= {pkcs11.Attribute.EC_PARAMS: public[pkcs11.Attribute.EC_PARAMS], pkcs11.Attribute.TOKEN: True}
        public.destroy()
        other = {"raw": point[2:], "short": point[:9], "elsewhere": point[:-1] + bytes([point[-1] ^ 1])}[form]
        session.create_object({**fields, pkcs11.Attribute.EC_POINT: other, pkcs11.Attribute.LABEL: form})
    if form == "raw":
        key.check()
        return
    with pytest.raises(TokenError, match=f"{form}: its public key in the token is not valid"):
        key.check()


def test_what_is_derived_is_whole(key: TokenKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that gives nothing would make the secret one that everybody knows."""
    import pkcs11

    class Private:
        def derive_key(self, *_: object, **__: object) -> dict[object, bytes]:
            return {pkcs11.Attribute.VALUE: b""}

    other = TokenKey(key.place, PIN)
    other._open = token_key._Session(None, Private(), key.public_key())
    monkeypatch.setattr(other, "forget", lambda: None)
    with pytest.raises(TokenError, match="what the token derives is 0 bytes, not 32"):
        _ = other.secret


def test_a_token_that_nobody_has_set_up(hsm: SoftHsm, monkeypatch: pytest.MonkeyPatch) -> None:
    import pkcs11

    class Token:
        def open(self, **_: object) -> object:
            raise pkcs11.UserPinNotInitialized

    monkeypatch.setattr(token_key, "_token", lambda _: Token())
    key = TokenKey(token_key.parse(hsm.uri("none")), PIN)
    with pytest.raises(TokenError, match="the token cannot make this key: user pin not initialized"):
        key.make()
    with pytest.raises(TokenError, match="none: user pin not initialized"):
        key.check()


def test_a_module_that_is_none(hsm: SoftHsm, tmp_path: Path) -> None:
    other = str(hsm.uri("a")).replace(str(hsm.module), str(tmp_path / "none.so"))
    with pytest.raises(TokenError, match=r"the module .*none\.so cannot be used"):
        token_key.opened(Path(other))


def test_a_token_that_is_taken_out_and_put_back(hsm: SoftHsm) -> None:
    uri = hsm.uri("b", "away")
    key = token_key.of(uri)
    key.make()
    key.sign(b"x", ECDSA)
    with hsm.away("away"):
        with pytest.raises(TokenError, match=r"^pkcs11:token=away;object=b: "):
            key.sign(b"x", ECDSA)
        assert key.trouble.startswith("pkcs11:token=away;object=b: ")
    key.public_key().verify(key.sign(b"x", ECDSA), b"x", ECDSA)
    assert key.trouble == ""
