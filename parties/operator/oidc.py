"""A provider of identities, by OpenID Connect: it states who a person is, never what that person may do here.

    [node.oidc]
    issuer = "https://login.example.org/realms/clinic"
    client_id = "smc"
    client_secret_file = "keys/oidc.secret"   # or systemd's credential oidc.secret; left out: a public client
    claim = "email"                           # what `smc operator add --oidc` compares; counts if email_verified

The authorization code flow (OpenID Connect Core 1.0, 3.1) with PKCE (RFC 7636, S256), state and nonce. The ID token
comes from the token endpoint and is verified nevertheless: signature, issuer, audience, expiry, nonce. Authlib and
joserfc implement the standards for URLs, claims and signatures. Requests are made here: each has a deadline and a size
limit. The environment's proxies are used for https:// alone, where they see nothing.
"""

from __future__ import annotations

import hmac
import json
import secrets
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeGuard
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from parties.base import keyfile
from parties.base.address import is_port
from parties.base.exchange import exchange
from parties.base.extras import require
from parties.base.settings import LocalPath, Settings
from parties.base.text import quoted
from smc.errors import InputError

ALGORITHMS = ("RS256", "ES256")  # of signatures: neither none nor a MAC, whose key would be the client secret
DEADLINE = 5.0  # seconds, for one request
# until the provider's metadata is fetched again; or until it is tried again after a failure
KNOWN_SECONDS, AWAY_SECONDS = 300.0, 5.0
MOST = 256 * 1024  # bytes of an answer
LEEWAY = 60  # seconds by which clocks may differ
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _issuer(value: str) -> str:
    """Return the provider's address; raise ValueError unless it is https, or http of this machine.

    Otherwise a third party on the network could answer for the provider.
    """
    if not _is_safe(value) or any(part in value for part in "?#"):
        raise ValueError("must be an https:// address without ? and #, or http:// of this machine")
    return value


def _is_https(url: str) -> bool:
    return urlsplit(url).scheme == "https"


def _is_safe(url: object) -> TypeGuard[str]:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return False
    if parts is None or not parts.hostname or "@" in parts.netloc or not is_port(parts):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


Word = Annotated[str, Field(min_length=1, max_length=256)]


class OidcSettings(Settings):
    """The table [node.oidc] of `party.toml`: log-in by an outside provider."""

    issuer: Annotated[str, AfterValidator(_issuer)]
    client_id: Word
    client_secret_file: LocalPath | None = None
    claim: Word = "email"


@dataclass(frozen=True)
class Request:
    """A log-in for which a browser was redirected: the target, and the values expected back."""

    url: str = field(repr=False)
    back: str  # the address to which the browser returns
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)


class Provider:
    """A provider, called when a person signs in. Any thread may call it; every failure is an InputError."""

    def __init__(self, settings: OidcSettings) -> None:
        require("[node.oidc]", "authlib", "joserfc", "httpx")
        self._settings, self._lock, self._tls = settings, threading.Lock(), ssl.create_default_context()
        self._cached: tuple[float, Mapping[str, Any] | InputError] = (0.0, {})
        self._secret()  # a node without a readable secret fails at its start

    @property
    def name(self) -> str:
        """The provider's name for people: its host."""
        return urlsplit(self._settings.issuer).netloc

    def metadata(self) -> Mapping[str, Any]:
        """Return the provider's metadata (OpenID Connect Discovery 1.0, 4), cached for some minutes."""
        with self._lock:  # threads that wait here get the same result
            until, cached = self._cached
            if time.monotonic() >= until:
                try:
                    cached = self._discovered()
                except InputError as error:
                    cached = error
                seconds = AWAY_SECONDS if isinstance(cached, InputError) else KNOWN_SECONDS
                self._cached = time.monotonic() + seconds, cached
        if isinstance(cached, InputError):
            raise InputError(str(cached))
        return cached

    def _discovered(self) -> Mapping[str, Any]:
        issuer, is_local = self._settings.issuer, not _is_https(self._settings.issuer)
        metadata = self._asked("GET", issuer.rstrip("/") + "/.well-known/openid-configuration")
        if metadata.get("issuer") != issuer:
            raise InputError(f"the log-in provider at {issuer} calls itself {quoted(str(metadata.get('issuer')))}")
        for key in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            # otherwise it could redirect requests to this machine
            if not _is_safe(url := metadata.get(key)) or not (is_local or _is_https(url)):
                raise InputError(f"the log-in provider {self.name} has no {key} that is an https:// address")
        return metadata

    def begin(self, back: str) -> Request:
        """Return the redirection to the log-in provider, for a browser that will return to the address `back`."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        url = prepare_grant_uri(
            self.metadata()["authorization_endpoint"],
            self._settings.client_id,
            "code",
            redirect_uri=back,
            scope="openid profile email",
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return Request(url, back, state, nonce, verifier)

    def identity(self, request: Request, answer: Mapping[str, str]) -> str:
        """Return the identity of a person who has returned: the value of the claim.

        Args:
            request: The redirection.
            answer: The query of the browser's return.
        """
        if not hmac.compare_digest(request.state.encode(), answer.get("state", "").encode()):
            raise InputError(
                "the log-in provider's answer belongs to a request of another browser; begin the log-in again here"
            )
        says_who = self.metadata().get("authorization_response_iss_parameter_supported") is True  # RFC 9207
        if answer.get("iss", "" if says_who else self._settings.issuer) != self._settings.issuer:
            raise InputError(
                "this answer comes from a log-in provider that party.toml does not name; begin the log-in again"
            )
        if "error" in answer or "code" not in answer:
            raise InputError(f"the log-in provider reports {quoted(answer.get('error', 'nothing'))}; begin again")
        return self._named(self._claims(self._token(request, answer["code"]), request.nonce))

    def _token(self, request: Request, code: str) -> str:
        """Exchange a code for an ID token, not yet verified."""
        metadata, settings = self.metadata(), self._settings
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": request.back}
        fields |= {"code_verifier": request.verifier, "client_id": settings.client_id}
        secret = self._secret()
        ways = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        by_form = secret is not None and "client_secret_basic" not in ways
        if secret is not None and by_form:
            fields["client_secret"] = secret
        pair = None if secret is None or by_form else (settings.client_id, secret)
        response = self._asked("POST", metadata["token_endpoint"], fields, pair)
        token = response.get("id_token")
        if not isinstance(token, str):
            raise InputError("the log-in provider gives no ID token")
        return token

    def _claims(self, token: str, nonce: str) -> Mapping[str, Any]:
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet
        from joserfc.jws import JWSRegistry

        settings = self._settings
        options: Any = {key: {"essential": True} for key in ("sub", "exp", "iat", "nonce")}
        options |= {"iss": {"essential": True, "value": settings.issuer}}
        options |= {"aud": {"essential": True, "value": settings.client_id}}
        keys: Any = self._asked("GET", self.metadata()["jwks_uri"])
        try:
            registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
            signed = jwt.decode(token, KeySet.import_key_set(keys), registry=registry)
            bound = {"nonce": nonce, "client_id": settings.client_id}
            claims = CodeIDToken(signed.claims, signed.header, options, bound)
            claims.validate(leeway=LEEWAY)
        except JoseError as error:
            raise InputError(f"the log-in provider's ID token is not valid: {quoted(str(error))}") from None
        except (ValueError, TypeError, KeyError, AttributeError):  # keys, headers and claims of a wrong shape
            raise InputError("the log-in provider's ID token is not valid: it cannot be read") from None
        return claims

    def _named(self, claims: Mapping[str, Any]) -> str:
        key = self._settings.claim
        value = claims.get(key)
        if not isinstance(value, str) or not value:
            raise InputError(
                f"the log-in provider's ID token has no claim {quoted(key)} as text; name another claim in [node.oidc]"
            )
        if key == "email" and claims.get("email_verified") is not True:
            raise InputError(
                "the log-in provider has not verified this e-mail address (email_verified); "
                "set claim to sub in [node.oidc], or ask the provider"
            )
        return value

    def _secret(self) -> str | None:
        path = self._settings.client_secret_file
        return None if path is None else keyfile.secret_line(path, "client_secret_file")

    def _asked(
        self, method: str, url: str, fields: Mapping[str, str] | None = None, pair: tuple[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the JSON object that the provider answers; a redirection is an error."""
        import httpx

        headers = {"Accept": "application/json"}
        try:
            status, content = exchange(
                method, url, self._tls, DEADLINE, MOST, _is_https(url), data=fields, auth=pair, headers=headers
            )
        except (TimeoutError, httpx.TimeoutException):
            raise InputError(
                f"the log-in provider {self.name} does not answer; try again later, or use a password"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:  # the last for an invalid name
            raise InputError(f"the log-in provider {self.name} cannot be reached: {quoted(str(error))}") from None
        if len(content) > MOST:
            raise InputError(f"the log-in provider {self.name} sends too long an answer")
        try:
            document = json.loads(content) if status == 200 else None
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise InputError(f"the log-in provider {self.name} refuses, or answers no JSON (HTTP {status})")
        return document
