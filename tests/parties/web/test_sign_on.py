"""Log-ins by a provider of identities that runs: end to end, and attacks on tokens, answers and browsers."""

from __future__ import annotations

import base64
import html
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey

from parties.operator import oidc as module
from parties.operator.oidc import LEEWAY, OidcSettings
from parties.operator.oidc import Provider as Known
from parties.web import login, sign_on
from parties.web.app import make_app
from parties.web.login import Login, Logins
from parties.web.sign_on import SignOn
from smc.errors import InputError
from tests.support import oidc
from tests.support.dripping import dripping
from tests.support.fake_node import ORIGIN, FakeNode
from tests.support.oidc import SECRET, Browser, Claims, Provider, away, back
from tests.support.people import password, people, quick
from tests.support.ports import free_port
from tests.support.waiting import eventually

SESSION = "smc-session-7080"
pytestmark = pytest.mark.slow


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def served() -> Iterator[Provider]:
    with oidc.running() as provider:
        yield provider


@pytest.fixture
def provider(served: Provider) -> Provider:
    served.forge, served.publish, served.answers, served.exchanges = None, None, {}, []
    return served


class Place:
    """A page with people, a provider, and what was recorded."""

    def __init__(self, folder: Path, node: FakeNode, settings: OidcSettings, **oidc: str) -> None:
        self.clock, self.failures, self.node, self.folder = Clock(), list[tuple[str, str]](), node, folder
        self.accounts = people(folder, anna="approve", bert="propose")
        self.accounts.write(
            {
                name: account.model_copy(update={"oidc": oidc.get(name, "")})
                for name, account in self.accounts.all().items()
            }
        )
        self.logins = Logins(self.clock, self.accounts, lambda name, why: self.failures.append((name, why)))
        self.sign_on = SignOn(Known(settings), self.logins, self.accounts, self.clock)

    def browser(self) -> Browser:
        browser = Browser(self.node, self.logins, signed_in=False)
        browser.app = make_app(self.node, self.logins, sign_on=self.sign_on)
        browser._transport.app = browser.app  # type: ignore[attr-defined]
        return browser

    def sign_in(self, provider: Provider, sub: str = "anna") -> Login:
        """Sign somebody in without a page between."""
        url, cookie = self.sign_on.begin(f"{ORIGIN}/login/oidc/back")
        answer = urlsplit(provider.approve(url, sub)).query
        return self.sign_on.finish(cookie, dict(parse_qsl(answer)))

    def refused(self, browser: Browser, answer: Any, words: str) -> None:
        """Check that a log-in failed in one line, is recorded if one was begun, and opened nothing."""
        lines = re.findall(r'<p class="problem" role="alert">(.*?)</p>', answer.text)
        assert answer.status_code == 401
        assert len(lines) == 1
        assert re.search(words, html.unescape(lines[0]), re.IGNORECASE), lines
        if "not started" in lines[0]:
            assert self.failures == []
        else:
            assert len(self.failures) == 1, self.failures
            name, why = self.failures.pop()
            assert name == ""
            assert why.lower() == html.unescape(lines[0]).rstrip(".").lower()
        assert not any(line.startswith(SESSION + "=") for line in answer.headers.get_list("set-cookie"))
        assert browser.get("/").status_code == 401


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def place(tmp_path: Path, node: FakeNode, provider: Provider) -> Place:
    return Place(tmp_path, node, provider.settings(tmp_path), anna="anna@example.org")


def test_a_log_in_from_end_to_end(place: Place, provider: Provider) -> None:
    provider.user("anna", email="anna@example.org", email_verified=True, roles=["administer"], groups=["audit"])
    browser = place.browser()
    shown = browser.get("/").text
    assert 'href="/login/oidc"' in shown
    assert 'type="password"' in shown
    url = away(browser)
    asked = {key: value[0] for key, value in parse_qs(urlsplit(url).query).items()}
    assert url.startswith(provider.issuer + "/oauth2/authorize?")
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    answer = back(browser, provider.approve(url, "anna"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    session, sent = answer.headers.get_list("set-cookie")
    assert session.endswith("; HttpOnly; Path=/; SameSite=strict")
    assert sent.startswith(SESSION + '-oidc=""; ')
    assert '<bdi id="person">anna</bdi>' in browser.get("/").text
    assert browser.get("/propose").status_code == 403  # claims give no rights
    assert len(provider.exchanges) == 1  # whose verifier and secret were right
    assert place.failures == []


def test_each_log_in_has_its_own_secrets(place: Place) -> None:
    queries = [parse_qs(urlsplit(away(place.browser())).query) for _ in range(2)]
    for key in ("state", "nonce", "code_challenge"):
        assert queries[0][key] != queries[1][key]


STRANGE = RSAKey.generate_key(2048)
STRANGE.ensure_kid()
CURVE = ECKey.generate_key("P-256")
CURVE.ensure_kid()


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def mac(provider: Provider, claims: Claims, secret: str | bytes) -> str:
    import hashlib
    import hmac

    text = f"{part({'alg': 'HS256', 'kid': provider.key.kid})}.{part(claims)}"
    digest = hmac.digest(secret if isinstance(secret, bytes) else secret.encode(), text.encode(), hashlib.sha256)
    return f"{text}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def changed(**fields: Any) -> Callable[[Provider, Claims], str]:
    """A token of the right key with other claims; None leaves one out."""

    def forge(provider: Provider, claims: Claims) -> str:
        now = int(time.time())
        new = {
            key: now + value if key in ("exp", "iat", "nbf") and value is not None else value
            for key, value in fields.items()
        }
        return provider.sign({key: value for key, value in (claims | new).items() if value is not None})

    return forge


GOOD = {
    "as it is": changed(),
    "expired within what clocks differ": changed(exp=-LEEWAY + 20),
    "an audience of two": changed(aud=["smc", "other"], azp="smc"),
    "a header nobody knows": lambda p, c: p.sign(c, typ="JWT"),
}
FORGED: dict[str, tuple[Callable[[Provider, Claims], str], str]] = {
    "nonce": (changed(nonce="another"), "nonce"),
    "no nonce": (changed(nonce=None), "nonce"),
    "audience": (changed(aud="other"), "aud"),
    "audience, though for us": (changed(aud="other", azp="smc"), "aud"),
    "audiences": (changed(aud=["other", "third"], azp="smc"), "aud"),
    "no audience": (changed(aud=None), "aud"),
    "another's of two": (changed(aud=["smc", "other"], azp="other"), "azp"),
    "issuer": (changed(iss="https://evil.example"), "iss"),
    "no issuer": (changed(iss=None), "iss"),
    "expired": (changed(exp=-LEEWAY - 5), "expired"),
    "no expiry": (changed(exp=None), "exp"),
    "of the future": (changed(iat=LEEWAY + 60), "in the future"),
    "not yet": (changed(nbf=LEEWAY + 60), "not yet valid"),
    "no subject": (changed(sub=None), "sub"),
    "no signature": (lambda p, c: f"{part({'alg': 'none'})}.{part(c)}.", "none"),
    "no signature, a key": (lambda p, c: f"{part({'alg': 'none', 'kid': p.key.kid})}.{part(c)}.", "none"),
    "signature taken away": (lambda p, c: p.sign(c).rpartition(".")[0] + ".", "signature"),
    "mac with the client's secret": (lambda p, c: mac(p, c, SECRET), "HS256"),
    "mac with the public key": (lambda p, c: mac(p, c, p.key.as_pem(private=False)), "HS256"),
    "mac with the key's JSON": (lambda p, c: mac(p, c, json.dumps(p.key.as_dict(private=False))), "HS256"),
    "another key by that name": (lambda p, c: p.sign(c, STRANGE, kid=p.key.kid), "signature"),
    "another key": (lambda p, c: p.sign(c, STRANGE), "kid"),
    "a key it brings": (lambda p, c: p.sign(c, STRANGE, jwk=STRANGE.as_dict(private=False), kid=p.key.kid), ""),
    "a curve's key by an RSA key's name": (lambda p, c: p.sign(c, CURVE, kid=p.key.kid), "not valid"),
    "another algorithm": (lambda p, c: p.sign(c, alg="RS384"), "RS384"),
    "what it must understand": (lambda p, c: p.sign(c, crit=["zz"], zz="x"), "zz"),
    "claims changed": (lambda p, c: p.sign(c).replace(".", f".{part(c)}~", 1).partition("~")[0] + p.sign(c)[-343:], ""),
    "no claim": (changed(email=None), "no claim 'email'|no claim \"email\""),
    "a claim of no text": (changed(email=["anna@example.org"]), "as text"),
    "not verified": (changed(email_verified=False), "verified"),
    "not said to be verified": (changed(email_verified=None), "verified"),
    "verified in words": (changed(email_verified="true"), "verified"),
    "no token": (lambda p, c: "garbage", "not valid"),
    "nothing": (lambda p, c: "", "not valid"),
    "a number": (lambda p, c: 7, "no ID token"),  # type: ignore[arg-type,return-value]
    "deep": (lambda p, c: "..".join(["e30"] * 3), "not valid"),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_tokens_that_are_good(place: Place, provider: Provider, case: str) -> None:
    provider.forge = GOOD[case]
    assert place.sign_in(provider).person.name == "anna"
    assert place.failures == []


def test_a_key_on_a_curve_and_one_that_is_new(place: Place, provider: Provider) -> None:
    for keys in ([CURVE], [provider.key, CURVE]):  # rotated: they are asked for at each log-in
        provider.publish, provider.forge = keys, lambda p, c: p.sign(c, CURVE)
        assert place.sign_in(provider).person.name == "anna"


@pytest.mark.parametrize("case", FORGED)
def test_tokens_that_are_not(place: Place, provider: Provider, case: str) -> None:
    provider.forge, words = FORGED[case]
    with pytest.raises(InputError, match=f"(?i){words}") as error:
        place.sign_in(provider)
    assert place.failures == [("", str(error.value))]
    assert place.logins._sessions == []


@pytest.mark.parametrize("case", ["nonce", "audience", "expired", "no signature", "mac with the public key"])
def test_the_page_says_what_is_wrong_with_one(place: Place, provider: Provider, case: str) -> None:
    provider.forge, words = FORGED[case]
    browser = place.browser()
    place.refused(browser, back(browser, provider.approve(away(browser), "anna")), words)


def test_a_secret_key_that_is_published_signs_nothing(place: Place, provider: Provider) -> None:
    key = OctKey.import_key(SECRET)
    key.ensure_kid()
    provider.publish, provider.forge = [key], lambda p, c: mac(p, c, SECRET)
    with pytest.raises(InputError, match="HS256"):
        place.sign_in(provider)


def test_an_answer_counts_in_its_browser_once(place: Place, provider: Provider) -> None:
    """Whoever begins a log-in cannot finish it in somebody else's browser, nor use an answer again."""
    attacker, victim, nobody = place.browser(), place.browser(), place.browser()
    answer = provider.approve(away(attacker), "anna")
    place.refused(nobody, back(nobody, answer), "not started in this browser")
    away(victim)
    place.refused(victim, back(victim, answer), "a request of another browser")
    assert provider.exchanges == []  # the code is not even asked for
    assert attacker.request("HEAD", answer.removeprefix(ORIGIN)).status_code == 200  # uses nothing up
    planted = attacker.cookies[f"{SESSION}-oidc"]
    assert back(attacker, answer).status_code == 303
    again = place.browser()
    again.cookies.set(f"{SESSION}-oidc", planted, domain="127.0.0.1", path="/login/oidc")
    place.refused(again, back(again, answer), "not started in this browser")


def test_an_answer_comes_too_late(place: Place, provider: Provider) -> None:
    browser = place.browser()
    answer = provider.approve(away(browser), "anna")
    place.clock.now += login.LINK_SECONDS
    place.refused(browser, back(browser, answer), "too long")


def test_an_answer_of_another_provider(place: Place, provider: Provider) -> None:
    browser = place.browser()
    answer = provider.approve(away(browser), "anna") + "&iss=https%3A%2F%2Fevil.example"
    place.refused(browser, back(browser, answer), "a log-in provider that party.toml does not name")


def test_an_answer_of_nobody_where_the_provider_says_who_it_is(place: Place, provider: Provider) -> None:
    """RFC 9207, 2.4: what such a provider sends has its name."""
    known = dict(Known(provider.settings(place.folder)).metadata())
    provider.answers = {DOCUMENT: known | {"authorization_response_iss_parameter_supported": True}}
    browser = place.browser()
    answer = provider.approve(away(browser), "anna").partition("&iss=")[0]
    place.refused(browser, back(browser, answer), "a log-in provider that party.toml does not name")
    browser = place.browser()
    answer = provider.approve(away(browser), "anna").partition("&iss=")[0]
    assert back(browser, f"{answer}&iss={quote(provider.issuer, safe='')}").status_code == 303


def test_browsers_that_are_away_are_bounded(place: Place, provider: Provider) -> None:
    first, *_, last = browsers = [place.browser() for _ in range(sign_on.MAX_AWAY + 1)]
    urls = [away(browser) for browser in browsers]
    place.refused(first, back(first, provider.approve(urls[0], "anna")), "not started")
    assert back(last, provider.approve(urls[-1], "anna")).status_code == 303


def test_a_session_is_never_one_that_was_there_before(place: Place, provider: Provider) -> None:
    planter, victim = place.browser(), place.browser()
    planted = place.logins.log_in("bert", password("bert")).secret
    for browser in (planter, victim):
        browser.cookies.set(SESSION, planted, domain="127.0.0.1", path="/")
    assert back(victim, provider.approve(away(victim), "anna")).status_code == 303
    assert [cookie.value for cookie in victim.cookies.jar if cookie.name == SESSION] != [planted]
    assert "anna" in victim.get("/").text
    assert planter.get("/").status_code == 401


def test_who_has_no_account(place: Place, provider: Provider) -> None:
    provider.user("zoe", email="zoe@example.org", email_verified=True)
    provider.user("bert", email="bert", email_verified=True)  # our name of him is not what counts
    for sub in ("zoe", "bert"):
        browser = place.browser()
        place.refused(browser, back(browser, provider.approve(away(browser), sub)), "no account here")


@pytest.mark.parametrize("update", [None, {"oidc": "anna@example.com"}, {"oidc": ""}])
def test_an_account_that_has_gone(place: Place, provider: Provider, update: dict[str, str] | None) -> None:
    """Also between both ends of a log-in; a session that it began ends."""
    early, late = place.browser(), place.browser()
    assert back(early, provider.approve(away(early), "anna")).status_code == 303
    answer = provider.approve(away(late), "anna")
    known = dict(place.accounts.all())
    anna = known.pop("anna")
    place.accounts.write(known | ({} if update is None else {"anna": anna.model_copy(update=update)}))
    assert early.get("/").status_code == 401
    place.refused(late, back(late, answer), "no account here")


def test_who_is_not_let_in_there(place: Place, provider: Provider) -> None:
    browser = place.browser()
    url = away(browser)
    answer = provider.approve(url, "") + "&state=" + parse_qs(urlsplit(url).query)["state"][0]  # which it leaves out
    place.refused(browser, back(browser, answer), "access_denied")


def test_another_claim(tmp_path: Path, node: FakeNode, provider: Provider) -> None:
    place = Place(tmp_path, node, provider.settings(tmp_path, claim="preferred_username"), anna="a.rossi")
    provider.user("ar", preferred_username="a.rossi", email="bert@example.org")
    browser = place.browser()
    assert back(browser, provider.approve(away(browser), "ar")).status_code == 303
    assert "anna" in browser.get("/").text


def test_failed_ones_are_slowed(place: Place) -> None:
    for _ in range(login.ALL_FAILURES):
        browser = place.browser()
        away(browser)
        place.refused(browser, browser.get("/login/oidc/back?code=x&state=y"), "another browser")
    away(browser)
    assert "Too many log-ins have failed" in browser.get("/login/oidc/back").text
    assert place.failures == [("", "too many have failed")]


def test_wrong_passwords_lock_nobody_out_of_the_provider(place: Place, provider: Provider) -> None:
    """And the other way round: they are counted apart."""
    for number in range(login.ALL_FAILURES + 1):
        with pytest.raises(InputError):
            place.logins.log_in(f"name{number}", "wrong")
    browser = place.browser()
    assert back(browser, provider.approve(away(browser), "anna")).status_code == 303


def test_a_page_elsewhere_keeps_nobody_out(place: Place, provider: Provider) -> None:
    """It can make browsers ask for any address here, as often as it likes: that begins no log-in, and none fails."""
    begun = place.browser()
    answer = provider.approve(away(begun), "anna")
    browser = place.browser()
    for number in range(max(login.ALL_FAILURES, sign_on.MAX_AWAY) + 1):
        site = {"sec-fetch-site": ("cross-site", "same-site")[number % 2]}
        shown = browser.get("/login/oidc", headers=site)
        assert (shown.status_code, "location" in shown.headers) == (401, False)
        assert browser.get("/login/oidc/back?code=x&state=y", headers=site).status_code == 401
    assert place.failures == []
    assert back(begun, answer).status_code == 303
    typed = {"name": "bert", "password": password("bert")}
    assert place.browser().post("/login", data=typed).status_code == 303


def test_who_waits_for_a_slow_provider_leaves_room_for_others(place: Place, provider: Provider) -> None:
    let_go, asked = threading.Event(), threading.Event()

    def slow() -> Any:
        asked.set()
        let_go.wait(60)
        return "", 503

    def ask() -> None:
        with pytest.raises(InputError, match="HTTP 503"):
            place.sign_on.begin(ORIGIN)
        told.append(1)

    provider.answers, told = {DOCUMENT: slow}, list[int]()
    threads = [threading.Thread(target=ask) for _ in range(sign_on.MAX_ASKING)]
    try:
        for thread in threads:
            thread.start()
        asked.wait(60)
        eventually(lambda: place.sign_on._asking._value == 0)
        assert "keeps others waiting" in place.browser().get("/login/oidc").text
    finally:
        let_go.set()
        for thread in threads:
            thread.join()
    assert len(told) == sign_on.MAX_ASKING
    assert place.sign_on._asking._value == sign_on.MAX_ASKING


DOCUMENT = "/.well-known/openid-configuration"


def huge() -> Any:
    return "x" * (module.MOST + 1)


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        (DOCUMENT, {"issuer": "https://evil.example"}, "calls itself"),
        (DOCUMENT, lambda: ({}, 302, {"Location": "/elsewhere"}), "HTTP 302"),
        (DOCUMENT, lambda: ("", 503), "HTTP 503"),
        (DOCUMENT, lambda: "no JSON", "no JSON"),
        (DOCUMENT, lambda: "[" * 100_000, "no JSON"),
        (DOCUMENT, huge, "too long"),
        (DOCUMENT, lambda: time.sleep(0.6) or {}, "does not answer"),
        ("authorization_endpoint", "http://evil.example/authorize", "no authorization_endpoint"),
        ("token_endpoint", "http://127.0.0.1@evil.example/token", "no token_endpoint"),
        ("jwks_uri", None, "no jwks_uri"),
    ],
)
def test_a_provider_that_is_none(
    place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch, path: str, answer: Any, words: str
) -> None:
    known = dict(Known(provider.settings(place.folder)).metadata())
    monkeypatch.setattr(module, "DEADLINE", 0.3 if words == "does not answer" else 60.0)
    provider.answers = {path: answer} if path == DOCUMENT else {DOCUMENT: known | {path: answer}}
    shown = place.browser().get("/login/oidc")
    assert shown.status_code == 401
    assert re.search(words, shown.text)
    assert "location" not in shown.headers


def test_a_provider_that_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of the header in time: who waits for it is told at the deadline, and so is who comes behind."""
    monkeypatch.setattr(module, "DEADLINE", 0.3)
    with dripping(0.001) as server:
        document = {"issuer": server.url, **dict.fromkeys(ENDPOINTS, server.url)}
        server.body = json.dumps(document).encode()
        provider = Known(OidcSettings(issuer=server.url, client_id="smc"))
        for _ in range(2):
            with pytest.raises(InputError, match="does not answer"):
                provider.metadata()
        assert len(server.got) == 1


ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@pytest.mark.parametrize("key", ENDPOINTS)
def test_a_provider_elsewhere_sends_nobody_to_this_machine(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """Nor us to what answers there to whoever is on it."""
    issuer = "https://login.example"
    found = {"issuer": issuer, **dict.fromkeys(ENDPOINTS, f"{issuer}/x")}
    monkeypatch.setattr(Known, "_asked", lambda *_: found)
    provider = Known(OidcSettings(issuer=issuer, client_id="smc"))
    assert provider.metadata() == found
    found[key] = "http://127.0.0.1:7090/x"
    with pytest.raises(InputError, match=f"no {key} that is an https:// address"):
        Known(OidcSettings(issuer=issuer, client_id="smc")).metadata()


def test_a_name_that_is_none() -> None:
    provider = Known(OidcSettings(issuer=f"https://{'a' * 64}.example", client_id="smc"))
    with pytest.raises(InputError, match="cannot be reached"):
        provider.metadata()


@pytest.mark.parametrize("path", ["/oauth2/token", "/jwks"])
def test_a_provider_that_fails_meanwhile(place: Place, provider: Provider, path: str) -> None:
    browser = place.browser()
    answer = provider.approve(away(browser), "anna")
    provider.answers = {path: lambda: ("", 500)}
    place.refused(browser, back(browser, answer), "HTTP 500")


def test_a_provider_that_is_away(tmp_path: Path, node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a line on the page, told again without asking; a password does as ever; then the provider is back."""
    place = Place(tmp_path, node, OidcSettings(issuer=f"http://127.0.0.1:{free_port()}", client_id="smc"), anna="a@b")
    browser = place.browser()
    shown = browser.get("/login/oidc")
    assert shown.status_code == 401
    assert "cannot be reached" in shown.text
    monkeypatch.setattr(Known, "_discovered", lambda _: pytest.fail("asked again"))
    assert "cannot be reached" in browser.get("/login/oidc").text
    answer = browser.post("/login", data={"name": "anna", "password": password("anna")})
    assert answer.status_code == 303
    assert "anna" in browser.get("/").text


def test_without_people_nobody_is_sent_away(place: Place) -> None:
    place.accounts.write({})
    browser = place.browser()
    assert browser.get("/login/oidc").status_code == 401
    assert "/login/oidc" not in browser.get("/").text


def test_who_has_no_password_has_none(place: Place) -> None:
    known = place.accounts.all()
    place.accounts.write({**known, "anna": known["anna"].model_copy(update={"hash": ""})})
    for text in ("", password("anna"), "0" * 64):
        with pytest.raises(InputError, match="no account has this name and password"):
            place.logins.log_in("anna", text)


@pytest.mark.parametrize(
    "issuer",
    ["http://login.example.org", "https://login.example.org?x=1", "https://login.example.org#x", "login.example.org",
     "ftp://login.example.org", "https://", "http://127.0.0.1@evil.example", "http://[::1", "https://a.example:0", ""],
)  # fmt: skip
def test_issuers_that_anybody_could_be(issuer: str) -> None:
    with pytest.raises(ValueError, match="must be an https:// address"):
        OidcSettings(issuer=issuer, client_id="smc")


def test_a_secret_by_systemd_or_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = OidcSettings(
        issuer="https://login.example", client_id="smc", client_secret_file=tmp_path / "oidc.secret"
    )
    with pytest.raises(InputError, match="nor a systemd credential"):
        Known(settings)
    (tmp_path / "oidc.secret").write_text("from the file\n")
    (tmp_path / "oidc.secret").chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        Known(settings)
    (tmp_path / "oidc.secret").chmod(0o600)
    assert Known(settings)._secret() == "from the file"
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials/oidc.secret").write_text("from systemd\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "credentials"))
    assert Known(settings)._secret() == "from systemd"
