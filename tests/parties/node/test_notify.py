"""Who is told that a job waits: what a message says and does not say, deadlines, failures that are logged once."""

from __future__ import annotations

import json
import re
import smtplib
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from parties.node import notify
from parties.node.notify import Notifier, NotifySettings
from smc.errors import InputError
from tests.support.fake_node import FakeNode
from tests.support.smtp import PASSWORD, USER, Mailbox
from tests.support.waiting import eventually

PAGE = "http://127.0.0.1:7080"
SECRETS = ("secret purpose", "hidden_table", "university", "readmitted", "hospital")
Make = Callable[..., Notifier]


class Hook(ThreadingHTTPServer):
    """A server for webhooks that answers `status`."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.asked, self.status = 0, 204
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.asked += 1
                body = self.rfile.read(int(self.headers["content-length"]))
                if hook.status == 204:
                    hook.got.append(json.loads(body))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Post(socketserver.ThreadingTCPServer):
    """A mail server that says yes to everything and keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        self.got: list[str] = []
        post = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 here\r\n")
                while line := self.rfile.readline():
                    if line.upper().startswith(b"DATA"):
                        self.wfile.write(b"354 go on\r\n")
                        lines = iter(self.rfile.readline, b".\r\n")
                        post.got.append(b"".join(lines).decode())
                    self.wfile.write(b"250 ok\r\n")

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def serve() -> Iterator[Callable[[Any], Any]]:
    servers = []

    def begin(server: Any) -> Any:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return server

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


class Log(list[str]):
    """What the node's log was given, a line an event."""

    def __call__(self, event: str, **fields: object) -> None:
        self.append(f"{event}: {', '.join(map(str, fields.values()))}")


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def make(node: FakeNode, log: Log) -> Iterator[Make]:
    made = []

    def begin(**settings: Any) -> Notifier:
        made.append(Notifier(NotifySettings(every=0.02, **settings), node, PAGE, log))
        made[-1].start()
        return made[-1]

    yield begin
    for one in made:
        one.stop()


def test_nobody_is_told_unless_asked_for(node: FakeNode) -> None:
    quiet = Notifier(NotifySettings(), node, PAGE, Log())
    quiet.start()
    assert not quiet._thread.is_alive()


def test_a_webhook_is_told_once_and_no_secret(node: FakeNode, make: Make, serve: Callable[[Any], Any]) -> None:
    hook = serve(Hook())
    first = node.add(purpose="secret purpose", table="hidden_table")
    make(webhook=hook.url)
    eventually(lambda: hook.got)
    second = node.add(purpose="secret purpose", table="hidden_table")
    node.change(node.add().id, state="queued")  # waits for nobody
    eventually(lambda: len(hook.got) == 2)
    assert [one["jobs"] for one in hook.got] == [[first.id[:8]], [second.id[:8]]]
    assert hook.got[0]["page"] == PAGE
    assert hook.got[0]["text"].startswith(f"a job waits for you: {first.id[:8]}. Decide at {PAGE}")
    assert not [word for word in SECRETS if word in json.dumps(hook.got)]


def test_a_mail(node: FakeNode, make: Make, serve: Callable[[Any], Any]) -> None:
    post = serve(Post())
    jobs = [node.add(purpose="secret purpose", table="hidden_table") for _ in range(2)]
    smtp = f"127.0.0.1:{post.server_address[1]}"
    make(mail="anna@clinic.example", sender="smc@clinic.example", smtp=smtp, security="none")
    eventually(lambda: post.got)
    text = post.got[0]
    for part in ("Subject: smc: 2 jobs wait for you", "To: anna@clinic.example", PAGE, *(job.id[:8] for job in jobs)):
        assert part in text
    assert not [word for word in SECRETS if word in text]


def test_a_failure_is_logged_once_without_where_to_and_tried_again(
    node: FakeNode, make: Make, serve: Callable[[Any], Any], log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "AGAIN_SECONDS", 0.04)
    hook = serve(Hook())
    hook.status = 500
    job = node.add()
    make(webhook=hook.url)
    eventually(lambda: hook.asked >= 3)
    hook.status = 204
    eventually(lambda: hook.got)
    assert hook.got[0]["jobs"] == [job.id[:8]]
    assert log == ["nobody told: webhook, the server answers 500, every 0.04 s"]


@pytest.mark.parametrize("slow", [False, True])
def test_a_webhook_that_is_dead_or_slow_is_a_line_and_is_told_once_it_is_back(
    node: FakeNode, make: Make, serve: Callable[[Any], Any], log: Log, monkeypatch: pytest.MonkeyPatch, slow: bool
) -> None:
    """Nobody listens, or somebody who takes the call and never answers; then the receiver is there again."""
    monkeypatch.setattr(notify, "AGAIN_SECONDS", 0.04)
    hook = serve(Hook())
    dead = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{dead.getsockname()[1]}/hook"
    if not slow:
        dead.close()
    job = node.add()
    notifier = make(webhook=url, seconds=0.2 if slow else 10.0)
    why = "no answer in time" if slow else "Connection refused"
    eventually(lambda: log)
    assert log == [f"nobody told: webhook, {why}, every 0.04 s"]
    notifier._settings = notifier._settings.model_copy(update={"webhook": hook.url, "seconds": 10.0})
    notifier._ways[0]._seconds = 10.0
    eventually(lambda: hook.got)
    assert hook.got[0]["jobs"] == [job.id[:8]]
    assert len(log) == 1
    dead.close()


def test_a_server_that_is_silent_holds_nothing_up(
    node: FakeNode, make: Make, serve: Callable[[Any], Any], log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other way is told although the first never answers; the deadline is that of the whole sending."""
    monkeypatch.setattr(notify, "AGAIN_SECONDS", 0.04)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hook = serve(Hook())
        smtp = f"127.0.0.1:{silent.getsockname()[1]}"
        node.add()
        mail = {"mail": "a@b.example", "sender": "a@b.example", "smtp": smtp, "security": "none"}
        notifier = make(webhook=hook.url, seconds=1.0, **mail)
        eventually(lambda: "nobody told: mail, no answer in time, every 0.04 s" in log)
        last = node.add()
        eventually(lambda: any(last.id[:8] in one["jobs"] for one in hook.got))
        assert all(
            way._thread is not None and way._thread.daemon for way in notifier._ways
        )  # nor a process from ending


@pytest.fixture(params=["starttls", "tls"])
def mailbox(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    box = Mailbox(tmp_path, implicit=request.param == "tls")
    monkeypatch.setenv("SSL_CERT_FILE", str(box.identity.certificate_path))
    (tmp_path / "password").touch(0o600)
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    with box.serving() as address:
        mail = {"mail": "anna@clinic.example", "sender": "smc@clinic.example", "smtp": address}
        yield box, {**mail, "security": request.param, "user": USER, "password_file": tmp_path / "password"}


def test_a_mail_by_tls_with_a_password(node: FakeNode, make: Make, mailbox: Any) -> None:
    box, settings = mailbox
    job = node.add(purpose="secret purpose")
    make(**settings)
    eventually(lambda: box.got)
    assert box.tries == [True]
    assert f"a job waits for you: {job.id[:8]}" in box.got[0]


def test_a_wrong_password_is_a_line_without_it_and_the_node_goes_on(
    node: FakeNode, make: Make, mailbox: Any, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "AGAIN_SECONDS", 0.04)
    box, settings = mailbox
    settings["password_file"].write_text("battery staple")
    node.add()
    notifier = make(**settings)
    eventually(lambda: len(box.tries) >= 2)
    assert notifier._thread.is_alive()
    settings["password_file"].write_text(PASSWORD)
    eventually(lambda: box.got)
    assert log == ["nobody told: mail, the mail server refuses user or password (535), every 0.04 s"]


def test_a_password_that_others_may_read_goes_nowhere(node: FakeNode, make: Make, mailbox: Any, log: Log) -> None:
    box, settings = mailbox
    settings["password_file"].chmod(0o644)
    node.add()
    make(**settings)
    eventually(lambda: log)
    assert "password can be read by other users" in log[0]
    assert box.tries == []


def test_a_server_with_another_certificate_gets_no_password(
    node: FakeNode, make: Make, mailbox: Any, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    box, settings = mailbox
    monkeypatch.delenv("SSL_CERT_FILE")
    node.add()
    make(**settings)
    eventually(lambda: log)
    assert log[0].startswith("nobody told: mail, the server's certificate is not trusted: self-signed")
    assert box.tries == []


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (InputError("/etc/p: the password cannot be read"), "/etc/p: the password cannot be read"),
        (smtplib.SMTPRecipientsRefused({"a@b.example": (550, b"no anna here")}), "rejects the sender or the recipient"),
        (smtplib.SMTPDataError(554, b"secret purpose"), r"the mail server refuses \(554\)"),
        (smtplib.SMTPNotSupportedError("secret"), "does not support this security"),
        (ssl.SSLError(1, "WRONG_VERSION_NUMBER"), "does not speak TLS"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (ValueError("secret"), "ValueError"),
    ],
)
def test_why_a_sending_failed(failure: Exception, said: str) -> None:
    assert re.fullmatch(f".*{said}.*", notify.why_failed(failure))
    assert "secret" not in notify.why_failed(failure)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"webhook": "http://chat.example/hook"}, "https"),
        ({"webhook": "file:///etc/passwd"}, "https"),
        ({"mail": "anna"}, "one address"),
        ({"mail": "a@b.c\nBcc: x@y.z"}, "one address"),
        ({"mail": "a@b.example"}, "needs sender and smtp"),
        ({"mail": "a@b.c", "sender": "a@b.c", "smtp": "mail.example:25", "security": "none"}, "on this machine"),
        ({"user": "smc"}, "go together"),
        ({"smtp": "mail.example"}, "HOST:PORT"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        NotifySettings(**settings)


def test_the_table_of_party_toml(tmp_path: Path) -> None:
    from parties.node.settings import load

    (tmp_path / "party.toml").write_text('[notify]\nwebhook = "https://chat.example/hook"\nseconds = 3\n')
    found = load(tmp_path / "party.toml").notify
    assert (found.webhook, found.seconds, found.mail) == ("https://chat.example/hook", 3.0, None)
