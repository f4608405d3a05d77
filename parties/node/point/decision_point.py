"""The outside decision point, asked over HTTPS, one request at a time, with a deadline.

The caller must hold none of the node's locks: a request lasts up to `seconds`, and may wait as long for the one before.
"""

from __future__ import annotations

import threading
import time

from parties.base import keyfile
from parties.base.canonical import canonical
from parties.base.exchange import exchange
from parties.base.trust import client_context
from parties.node.notify import why_failed
from parties.node.point import xacml
from parties.node.point.settings import DecisionSettings
from parties.node.point.xacml import DecisionPointAnswer, UnreadableError
from parties.node.policy.request import Request

MEDIA_TYPE = "application/xacml+json"
REMEMBERED_SECONDS = 10.0  # an answer also counts for the same request at another time
AGAIN_SECONDS = 5.0  # pause after a request without an answer
MOST_REMEMBERED = 1000  # requests


class DecisionPoint:
    """The decision point of one node. Calls come from any thread."""

    def __init__(self, settings: DecisionSettings) -> None:
        self._settings = settings
        self._context = client_context(settings.ca, settings.certificate, settings.key)
        self._one = threading.Lock()
        self._answers: dict[str, tuple[float, DecisionPointAnswer]] = {}  # end of validity and answer, by request

    def ask(self, request: Request) -> DecisionPointAnswer:
        """Return the answer of the decision point, a cached one or a new one within twice `seconds`. Never raises."""
        about = xacml.about(request)
        if (word := self._remembered(about)) is not None:
            return word
        if not self._one.acquire(timeout=self._settings.seconds):
            return DecisionPointAnswer(about, None, "it is being asked about another job")
        try:
            if (word := self._remembered(about)) is None:
                word = self._ask(about, canonical(xacml.document(request)).encode())
                self._remember(word)
            return word
        finally:
            self._one.release()

    def _remembered(self, about: str) -> DecisionPointAnswer | None:
        until, word = self._answers.get(about, (0.0, None))
        return word if time.monotonic() < until else None

    def _remember(self, word: DecisionPointAnswer) -> None:
        if len(self._answers) >= MOST_REMEMBERED:
            self._answers.clear()
        lasts = AGAIN_SECONDS if word.decision is None else REMEMBERED_SECONDS
        self._answers[word.about] = time.monotonic() + lasts, word

    def _ask(self, about: str, body: bytes) -> DecisionPointAnswer:
        try:
            decision, text = xacml.read(self._post(body))
        except UnreadableError as error:
            return DecisionPointAnswer(about, None, str(error))
        except Exception as error:  # any error means that there is no answer
            return DecisionPointAnswer(about, None, why_failed(error))
        return DecisionPointAnswer(about, decision, text)

    def _post(self, body: bytes) -> bytes:
        settings = self._settings
        headers = {"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE}
        if settings.token_file is not None:
            headers["Authorization"] = f"Bearer {keyfile.secret_line(settings.token_file, 'token_file')}"
        status, content = exchange(
            "POST", settings.url, self._context, settings.seconds, xacml.MOST_BYTES, content=body, headers=headers
        )
        if status != 200:
            raise UnreadableError(f"the server answers {status}")
        return content
