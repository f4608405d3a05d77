"""A provider of identities as it is (oidc-provider-mock, on Authlib's server), which can be made to forge its tokens.

That server does not look at PKCE, so it is checked here, as RFC 7636 says.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask
import httpx
import oidc_provider_mock
from joserfc import jwt
from joserfc.jwk import ECKey, Key, RSAKey
from joserfc.jws import JWSRegistry
from joserfc.registry import HeaderParameter
from oidc_provider_mock._storage import storage
from werkzeug.serving import make_server

from parties.operator.oidc import OidcSettings
from tests.support.fake_node import ORIGIN, Browser

SECRET = "the client's secret"
Claims = dict[str, Any]


class Provider:
    """A running provider: `forge` makes another ID token of the claims, `publish` other keys, `answers` others."""

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.forge: Callable[[Provider, Claims], str] | None = None
        self.publish: list[Key] | None = None
        self.answers: dict[str, Any] = {}
        self.claims: Claims = {}  # of the last token
        self.exchanges: list[dict[str, str]] = []  # forms that asked for a token
        self.key: RSAKey | None = None
        self._challenges: dict[str, str] = {}
        self._http = httpx.Client(verify=False)

    def settings(self, folder: Path, **more: Any) -> OidcSettings:
        """Return what a node's file says of this provider."""
        path = folder / "oidc.secret"
        path.write_text(SECRET + "\n")
        path.chmod(0o600)
        return OidcSettings(issuer=self.issuer, client_id="smc", client_secret_file=path, **more)

    def user(self, sub: str, **claims: Any) -> None:
        """Make a person known."""
        assert self._http.put(f"{self.issuer}/users/{sub}", json=claims).status_code == 204

    def approve(self, url: str, sub: str) -> str:
        """Sign somebody in there; return where the browser is sent."""
        answer = self._http.post(url, data={"sub": sub} if sub else {"action": "deny"})
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    def sign(self, claims: Claims, key: Key | None = None, **header: Any) -> str:
        """Return a token of this provider's key, or another."""
        key = key or self.key
        algorithm = "ES256" if isinstance(key, ECKey) else "RS256"
        unknown = {"zz": HeaderParameter("of nobody", "str")}
        registry = JWSRegistry(unknown, algorithms=[header.get("alg", algorithm)])
        return jwt.encode({"alg": algorithm, "kid": key.kid} | header, claims, key, registry=registry)

    def before(self) -> Any:
        """Answer other documents; check PKCE and the client's secret."""
        if self.key is None:
            self.key = RSAKey.import_key(storage.jwk.as_dict(is_private=True))
            self.key.ensure_kid()
        path, form = flask.request.path, flask.request.form.to_dict()
        if path in self.answers:
            return self.answers[path]() if callable(self.answers[path]) else flask.jsonify(self.answers[path])
        if path == "/jwks" and self.publish is not None:
            return flask.jsonify({"keys": [key.as_dict(private=False) for key in self.publish]})
        if path == "/oauth2/token":
            self.exchanges.append(form)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self._challenges.pop(form["code"])
            authorization = flask.request.authorization
            assert authorization is not None
            assert (authorization.username, authorization.password) == ("smc", SECRET)
        return None

    def after(self, answer: flask.Response) -> flask.Response:
        """Keep the challenge of a code; put a forged token in place of the one that was made."""
        if flask.request.path == "/oauth2/authorize" and "code=" in answer.headers.get("Location", ""):
            query, asked = parse_qs(urlsplit(answer.headers["Location"]).query), flask.request.args
            assert asked["code_challenge_method"] == "S256"
            self._challenges[query["code"][0]] = asked["code_challenge"]
        if flask.request.path == "/oauth2/token" and (found := answer.get_json(silent=True)) and "id_token" in found:
            self.claims = jwt.decode(found["id_token"], self.key).claims
            if self.forge is not None:
                answer.set_data(json.dumps(found | {"id_token": self.forge(self, self.claims)}))
        return answer


@contextmanager
def running() -> Iterator[Provider]:
    """Run a provider at a port of its own; `anna` is known to it, her address verified."""
    app = oidc_provider_mock.app(require_nonce=True)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    provider = Provider(server.server_port)
    app.before_request(provider.before)
    app.after_request(provider.after)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        provider.user("anna", email="anna@example.org", email_verified=True)
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def away(browser: Browser) -> str:
    """Begin a log-in; return where the browser is sent."""
    answer = browser.get("/login/oidc")
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def back(browser: Browser, url: str) -> Any:
    """Bring the provider's answer to the page."""
    assert url.startswith(f"{ORIGIN}/login/oidc/back?")
    return browser.get(url.removeprefix(ORIGIN))
