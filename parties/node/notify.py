"""Notices to an operator that a job waits: by webhook, by mail, by both, or by neither (the default).

    [notify]
    webhook = "https://chat.example/hook"        # gets {"text": ..., "jobs": [...], "page": ...} by POST
    mail = "operator@clinic-a.example"
    sender = "smc@clinic-a.example"
    smtp = "mail.clinic-a.example:587"
    security = "starttls"                        # or "tls", or "none" for a server on this machine
    user = "smc"
    password_file = "keys/mail.password"          # its first line, for its owner only; or systemd's credential

A message contains the numbers of new waiting jobs and the address of this node's page, never a purpose, a table, a peer
or a name. Each job is announced once while it waits. A sending has a deadline, runs in its own thread, and is tried
again a minute later if it fails. The log states the first failure in one line with its reason, but neither address nor
content. It stays silent until a sending has worked again.
"""

from __future__ import annotations

import logging
import smtplib
import ssl
import threading
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from parties.base import keyfile
from parties.base.address import is_port, parse_address
from parties.base.exchange import exchange
from parties.base.settings import LocalPath, Seconds, Settings
from parties.operator.interface import OPEN, Operator
from smc.errors import InputError

LOOK_SECONDS = 5.0  # between two looks at the jobs
AGAIN_SECONDS = 60.0  # after a failed sending
MOST = 200  # jobs looked at

Tell = Callable[..., None]  # takes an event and its fields, like `Events.log`

log = logging.getLogger(__name__)


def _web_address(value: str) -> str:
    """Return a URL; raise ValueError unless it is https, or http of this machine, so that nobody can read along."""
    parts = urlsplit(value)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise ValueError("must be an https:// address, or http:// of this machine")
    if not is_port(parts):
        raise ValueError("the port must be a number from 1 to 65535")
    return value


def _without_user(value: str) -> str:
    if "@" in urlsplit(value).netloc:  # the user would be sent in place of the token
        raise ValueError("give no user or password in an address: token_file names the token for Authorization")
    if "#" in value:
        raise ValueError("the part after # of an address is never sent: remove it")
    return value


def _mail_address(value: str) -> str:
    if value.count("@") != 1 or not value.isascii() or any(c.isspace() or c in "<>,;:" for c in value):
        raise ValueError("must be one address, such as operator@clinic.example")
    return value


def _server_address(value: str) -> str:
    try:
        parse_address(value)
    except InputError as error:
        raise ValueError(str(error)) from None
    return value


Mail = Annotated[str, AfterValidator(_mail_address)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
TokenAddress = Annotated[WebAddress, AfterValidator(_without_user)]  # receives a token, if there is one
ServerAddress = Annotated[str, AfterValidator(_server_address)]


class ServerSettings(Settings):
    """Files for a server: its certificate or CA, our certificate and key, and a token to send."""

    ca: LocalPath | None = None
    certificate: LocalPath | None = None
    key: LocalPath | None = None
    token_file: LocalPath | None = None

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key go together")
        return self


class NotifySettings(Settings):
    """The table [notify].

    `seconds` is the deadline of one sending. The node looks for waiting jobs once in `every` seconds. `security` is the
    encryption of the connection to the mail server `smtp`."""

    webhook: WebAddress | None = None
    mail: Mail | None = None
    sender: Mail | None = None
    smtp: ServerAddress | None = None
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password_file: LocalPath | None = None
    seconds: Seconds = 10.0
    every: Annotated[float, Field(gt=0, le=3600)] = LOOK_SECONDS

    @model_validator(mode="after")
    def _whole(self) -> NotifySettings:
        if self.mail is not None and (self.sender is None or self.smtp is None):
            raise ValueError("mail needs sender and smtp as well")
        if (self.user is None) != (self.password_file is None):
            raise ValueError("user and password_file go together")
        elsewhere = self.smtp is not None and not parse_address(self.smtp).is_local
        if self.security == "none" and (elsewhere or self.user is not None):
            raise ValueError('security = "none" is for a server on this machine, without a user')
        return self


class Notifier:
    """A thread that watches for jobs that wait for this party and sends notices; `tell` is the node's log."""

    def __init__(self, settings: NotifySettings, operator: Operator, page: str, tell: Tell) -> None:
        self._settings, self._operator, self._page = settings, operator, page
        self._ways: list[_Way] = []
        if settings.webhook is not None:
            self._ways.append(_Way("webhook", self._post, settings.seconds, tell))
        if settings.mail is not None:
            self._ways.append(_Way("mail", self._mail, settings.seconds, tell))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="notify", daemon=True)

    def start(self) -> None:
        """Start the thread, if any receiver is set."""
        if self._ways:
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread; a sending under way is left to its deadline."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(self._settings.every):
            try:
                waiting = [job.id for job in self._operator.jobs(MOST, None, OPEN) if job.needs_us]
            except Exception as error:  # the node has its own trouble, and logs it itself
                log.warning("looking failed", exc_info=error)
                continue
            for way in self._ways:
                way.tell(waiting, self._settings.every)

    def _post(self, jobs: Sequence[str]) -> None:
        content = {"text": self._text(jobs), "jobs": [job[:8] for job in jobs], "page": self._page}
        url, trusted = self._settings.webhook, ssl.create_default_context()
        assert url is not None
        status, _ = exchange("POST", url, trusted, self._settings.seconds, 0, proxies=True, json=content)
        if status // 100 != 2:  # the content of the answer is not read
            raise InputError(f"the server answers {status}")

    def _mail(self, jobs: Sequence[str]) -> None:
        settings = self._settings
        assert settings.smtp is not None
        host, port = parse_address(settings.smtp)
        message = EmailMessage()
        message["Subject"] = f"smc: {_count(jobs)}"
        message["From"], message["To"] = settings.sender, settings.mail
        message.set_content(self._text(jobs) + "\n")
        trusted = ssl.create_default_context()
        server: smtplib.SMTP
        if settings.security == "tls":
            server = smtplib.SMTP_SSL(host, port, timeout=settings.seconds, context=trusted)
        else:
            server = smtplib.SMTP(host, port, timeout=settings.seconds)
        with server:
            if settings.security == "starttls":
                server.starttls(context=trusted)
            if settings.user is not None and settings.password_file is not None:
                server.login(settings.user, keyfile.secret_line(settings.password_file, "password_file"))
            server.send_message(message)

    def _text(self, jobs: Sequence[str]) -> str:
        numbers = ", ".join(job[:8] for job in jobs[:20]) + (", …" if len(jobs) > 20 else "")
        return f"{_count(jobs)}: {numbers}. Decide at {self._page} on the node's machine, or with smc jobs."


class _Way:
    """One way to send notices, by webhook or by mail: the jobs announced so far, and whether sending works."""

    def __init__(self, name: str, send: Callable[[Sequence[str]], Any], seconds: float, tell: Tell) -> None:
        self._name, self._send, self._seconds, self._log = name, send, seconds, tell
        self._told: set[str] = set()
        self._failing = False
        self._rest = 0.0  # seconds until the next attempt
        self._thread: threading.Thread | None = None

    def tell(self, waiting: Sequence[str], passed: float) -> None:
        """Announce the waiting jobs that were not announced before; return after the deadline at the latest.

        Args:
            waiting: Identifiers of all jobs that wait now.
            passed: Seconds since the last call.
        """
        self._told &= set(waiting)
        self._rest = max(0.0, self._rest - passed)
        news = [job for job in waiting if job not in self._told]
        if not news or self._rest > 0 or (self._thread is not None and self._thread.is_alive()):
            return
        failures: list[BaseException] = []
        done = threading.Event()

        def send() -> None:
            try:
                self._send(news)
            except Exception as error:
                failures.append(error)
            done.set()

        self._thread = threading.Thread(target=send, name=f"notify-{self._name}", daemon=True)
        self._thread.start()
        failure = TimeoutError() if not done.wait(self._seconds) else failures[0] if failures else None
        if failure is None:
            self._told |= set(news)
            self._failing = False
            return
        self._rest = AGAIN_SECONDS
        if not self._failing:
            self._failing = True
            self._log("nobody told", way=self._name, why=why_failed(failure), again=f"every {AGAIN_SECONDS:g} s")


def why_failed(failure: BaseException) -> str:
    """Return the reason of a failed sending, without the server's text, which may repeat the message."""
    if isinstance(failure, InputError):
        return str(failure)
    inner: BaseException | None = failure
    while inner is not None and not isinstance(inner, OSError):  # the system's error, which httpx wraps
        inner = inner.__cause__ or inner.__context__
    match inner or failure:
        case smtplib.SMTPAuthenticationError() as error:
            return f"the mail server refuses user or password ({error.smtp_code})"
        case smtplib.SMTPResponseException() as error:
            return f"the mail server refuses ({error.smtp_code})"
        case smtplib.SMTPRecipientsRefused() | smtplib.SMTPSenderRefused():
            return "the mail server rejects the sender or the recipient"
        case smtplib.SMTPNotSupportedError():
            return "the mail server does not support this security or sign-in"
        case ssl.SSLCertVerificationError() as error:
            return f"the server's certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return "the server does not speak TLS as required"
        case TimeoutError():
            return "no answer in time"
        case OSError() as error if error.strerror:
            return error.strerror
    return type(failure).__name__


def _count(jobs: Sequence[str]) -> str:
    return "a job waits for you" if len(jobs) == 1 else f"{len(jobs)} jobs wait for you"
