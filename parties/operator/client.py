"""A client of the node on this machine, for other processes: the commands and notebooks.

    node = NodeClient.from_config("party.toml")
    job = node.submit({"table": "patients", "purpose": "research"})
    job = node.wait(job.id, on_change=lambda job: print(job.state))
    tree = node.result(job.id).tree

It reads address and key from `api.json` in the node's state directory, anew for every call. So it also finds a node
that was restarted.
"""

from __future__ import annotations

import http.client
import inspect
import json
import os
import re
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import cache, partial, wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, get_type_hints
from urllib.parse import urlencode

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from parties.base import files
from parties.base.address import owners
from parties.base.text import printable, quoted
from parties.operator import starting
from parties.operator.interface import ENDED, JobView, NotRecordedError, Operator
from parties.party_file import state_directory
from smc.errors import InputError, LinkError

ROOT = 0  # can read all memory anyway
TIMEOUT_SECONDS = 60.0  # a job is counted through before it is proposed, which takes some time
FIRST_WAIT_SECONDS = 0.1  # after a new state; the node reports the end of a job at once
LONGER = 1.25  # times the last wait: other states are seen within a quarter of the time that they took
LONGEST_WAIT_SECONDS = 0.5

Given = ParamSpec("Given")
Parsed = TypeVar("Parsed")


class _Access(BaseModel):
    """The content of `api.json`."""

    url: Annotated[str, Field(pattern="^http://[^/]+$")]
    key: Annotated[str, Field(pattern="^[!-~]+$")]


class _NotRunningError(LinkError):
    """No node answers, and nothing was sent."""


def _say_start(step: str) -> None:
    if sys.stderr is not None:
        print(f"smc: waiting for the node: {step}", file=sys.stderr, flush=True)


class _Login(BaseModel):
    """A link to the page."""

    url: Annotated[str, Field(pattern="^https?://[!-~]+$")]


def patient(ask: Callable[[float], Parsed], seconds: float, is_news: Callable[[Parsed], bool]) -> Parsed:
    """Return the answer to a question that the node may hold for some seconds until there is news.

    If many calls wait already, the node answers at once. Then this function waits itself between two
    requests.

    Args:
        ask: Asks the question, with the seconds that the node may hold it.
        seconds: Seconds that the node may hold the question.
        is_news: Whether an answer is news.
    """
    asked = time.monotonic()
    answer = ask(seconds)
    if not is_news(answer):
        time.sleep(max(0.0, asked + seconds - time.monotonic()))
    return answer


def _call(
    of: Callable[Concatenate[Any, Given], Parsed], method: str, path: str
) -> Callable[Concatenate[NodeClient, Given], Parsed]:
    """Implement a call of `Operator` as a request. Arguments outside the path form the query of a GET, else the body.

    An argument `job` is the whole body. `states` is called `state` in a query. None values are left out.
    """
    signature = inspect.signature(of)

    @wraps(of)
    def request(self: NodeClient, /, *args: Given.args, **kwargs: Given.kwargs) -> Parsed:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        fields = {name: value for name, value in bound.arguments.items() if name != "self" and value is not None}
        where = path.format(identifier=_beginning(fields.pop("identifier"))) if "identifier" in fields else path
        kind = get_type_hints(of)["return"]
        if method != "GET":
            return self._ask(kind, method, where, fields.get("job", fields) or None)
        query = urlencode({"state" if name == "states" else name: value for name, value in fields.items()}, doseq=True)
        return self._ask(kind, method, f"{where}?{query}")

    return request


class NodeClient:
    """The `Operator` of a node that runs on this machine.

    `state` is the node's state directory; every call waits for an answer for at most `timeout` seconds. Every call may
    raise LinkError if no node is running or it does not answer, and InputError as `Operator` does. A client may be used
    by several threads and need not be closed. While the node is starting, a call also waits for that, and reports each
    step to `on_start`.
    """

    # Arguments in the path, the query and the body: see `_call`.
    node = _call(Operator.node, "GET", "node")
    changes = _call(Operator.changes, "GET", "changes")
    jobs = _call(Operator.jobs, "GET", "jobs")
    job = _call(Operator.job, "GET", "jobs/{identifier}")
    submit = _call(Operator.submit, "POST", "jobs")
    approve = _call(Operator.approve, "POST", "jobs/{identifier}/approve")
    refuse = _call(Operator.refuse, "POST", "jobs/{identifier}/refuse")
    cancel = _call(Operator.cancel, "POST", "jobs/{identifier}/cancel")
    withdraw = _call(Operator.withdraw, "POST", "jobs/{identifier}/withdraw")
    revoke = _call(Operator.revoke, "POST", "peers/revoke")
    repeat = _call(Operator.repeat, "POST", "jobs/{identifier}/repeat")
    result = _call(Operator.result, "GET", "jobs/{identifier}/result")
    audit = _call(Operator.audit, "GET", "audit")
    verify = _call(Operator.verify, "GET", "audit/state")
    budget = _call(Operator.budget, "GET", "budget")
    simulate = _call(Operator.simulate, "POST", "budget/simulate")
    register = _call(Operator.register, "GET", "budget/register")

    def __init__(
        self,
        state: Path | str,
        timeout: float = TIMEOUT_SECONDS,
        start: str = "smc node --config party.toml",
        on_start: Callable[[str], None] = _say_start,
    ):
        self.state = Path(state)
        self._access = self.state / "api.json"
        self._timeout = timeout
        self._start, self._on_start = start, on_start

    @classmethod
    def from_config(cls, config: Path | str, timeout: float = TIMEOUT_SECONDS) -> NodeClient:
        """Return the client of the node that was started with this `party.toml`.

        Args:
            config: The file.
            timeout: Seconds to wait for an answer.

        Raises:
            InputError: The file is invalid.
        """
        return cls(state_directory(Path(config)), timeout, f"smc node --config {config}")

    def login(self) -> str:
        """Return a fresh link to the node's page, valid for one login."""
        return self._ask(_Login, "POST", "login").url

    def wait(
        self, identifier: str, timeout: float | None = None, on_change: Callable[[JobView], None] | None = None
    ) -> JobView:
        """Return the job as soon as it has ended, or its present view after the timeout.

        Args:
            identifier: The job.
            timeout: Seconds to wait; None waits for any time.
            on_change: Called with the job at once, and again after each change.
        """
        return self.follow(self.job(identifier), timeout, on_change)

    def follow(
        self, job: JobView, timeout: float | None = None, on_change: Callable[[JobView], None] | None = None
    ) -> JobView:
        """Wait for the end of a job like `wait`, starting from a view of the job.

        Args:
            job: The view.
            timeout: Seconds to wait; None waits for any time.
            on_change: Called with the job at once, and again after each change.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        seen, pause = None, FIRST_WAIT_SECONDS
        while True:
            if on_change is not None and job != seen:
                on_change(job)
            if seen is not None and job.state != seen.state:
                pause = FIRST_WAIT_SECONDS
            remaining = LONGEST_WAIT_SECONDS if deadline is None else deadline - time.monotonic()
            if job.state in ENDED or remaining <= 0:
                return job
            seen, asked = job, partial(self.job, job.id)
            job = patient(asked, min(pause, remaining), lambda answer: answer.state in ENDED)
            pause = min(LONGER * pause, LONGEST_WAIT_SECONDS)

    def _ask(self, kind: type[Parsed], method: str, path: str, content: dict[str, Any] | None = None) -> Parsed:
        """Return the checked answer to one request; if the node is starting, wait until it is up."""
        try:
            return self._asked(kind, method, path, content)
        except _NotRunningError:  # nothing was sent
            if not starting.wait(self.state, self._on_start):
                raise
            return self._asked(kind, method, path, content)

    def _asked(self, kind: type[Parsed], method: str, path: str, content: dict[str, Any] | None) -> Parsed:
        """Return one checked answer. The two processes are connected directly: no proxy, no certificates."""
        access = self._read_access()
        node = f"the node at {access.url}"
        body = None if content is None else json.dumps(content, default=str)  # dates, which TOML has, become text
        headers = {"Authorization": f"Bearer {access.key}"}
        try:
            connection = http.client.HTTPConnection(access.url.removeprefix("http://"), timeout=self._timeout)
            with closing(connection):
                connection.connect()
                if method == "POST" and self._is_strangers(connection.sock):
                    raise self._nobody(f"another user's program listens at {access.url}")
                connection.request(method, f"/api/{path}", body, headers)
                answer = connection.getresponse()
                return _checked(kind, answer.status, answer.read(), node, self._access)
        except ConnectionRefusedError:
            raise self._nobody(f"nothing answers at {access.url}") from None
        except TimeoutError:
            raise LinkError(f"{node} has not answered for {self._timeout:g} s: look into its log") from None
        except (OSError, http.client.HTTPException) as error:
            raise LinkError(f"{node} broke off: {error}; look into its log") from None

    def _is_strangers(self, connection: socket.socket) -> bool:
        """Return whether another Unix user is at the other end: a killed node leaves `api.json` and a free port.

        The request may contain secrets.
        """
        return not owners(connection) <= {ROOT, os.geteuid(), self._access.stat().st_uid}

    def _read_access(self) -> _Access:
        if not self._access.exists():
            raise self._nobody(f"there is no {self._access}")
        try:
            return _Access.model_validate_json(files.read_bytes(self._access))
        except ValidationError:
            raise self._nobody(f"{self._access} is not what a node writes") from None

    def _nobody(self, sign: str) -> _NotRunningError:
        return _NotRunningError(f"no node is running here: start it with {self._start} ({sign})")


def _beginning(identifier: str) -> str:
    """Check the beginning of a job's identifier. Raise InputError if it is invalid."""
    if not re.fullmatch("[0-9a-fA-F]{4,32}|latest", identifier):
        raise InputError(
            f"name a job by at least 4 first digits of its identifier, or by latest; not {quoted(identifier)}"
        )
    return identifier.lower()


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _checked(kind: type[Parsed], status: int, answer: bytes, node: str, access: Path) -> Parsed:
    """Return the checked content of an answer, or raise its error."""
    try:
        content = json.loads(answer)
    except (ValueError, RecursionError):
        content = None
    if 200 <= status < 300:
        try:
            any_kind: Any = kind  # for mypy, a class is not hashable
            checked: Parsed = _adapter(any_kind).validate_python(content)
            return checked
        except ValidationError:
            raise LinkError(f"{node} sent an unknown answer: do both run the same version of smc?") from None
    line = content.get("error") if isinstance(content, dict) else None
    if not isinstance(line, str):
        raise LinkError(f"what answers at {node.removeprefix('the node at ')} is not a node of smc")
    if status in (400, 403, 413):
        raise InputError(printable(line))
    if status == 503:
        raise NotRecordedError(printable(line))
    if status == 401:
        raise LinkError(f"{node} does not accept the key in {access}: another party's node is running there")
    raise LinkError(f"{node} failed: {printable(line)}; its log says more")
