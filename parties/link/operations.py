"""gRPC's own operations on a stream, started by the thread that needs them: half the time of a round trip, or less.

Through gRPC's iterators a message passes from our thread to one that sends, and that one waits until the message is
away; whenever anything happens on the stream, whoever waits for whatever on it is woken. Here the thread that has a
short message sends it, and the thread that waits for one is woken by it and by nothing else. gRPC keeps what is due on
a stream, ours among it, and ends none before all of that is over.

What it is called by is not public. So it is used with the releases of gRPC that it was tried with (`TRIED`), the locked
one among them; with any other there are no operations, and the iterators serve.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

TRIED = ("1.85",)  # minor releases of gRPC
_NO_FLAGS = 0


class Operations:
    """Operations on one stream. What is called back is called in a thread of gRPC's, and must not block."""

    def __init__(
        self, start: Callable[..., Any], state: Any, is_open: Callable[[], bool], over: Callable[[object], object]
    ) -> None:
        """Take what starts operations, gRPC's state of the stream, and what it has for an operation that is over."""
        of_grpc: Any = importlib.import_module("grpc._cython.cygrpc")
        self._start, self._is_open, self._over = start, is_open, over
        self._condition, self._due = state.condition, state.due
        self._sending, self._receiving = of_grpc.SendMessageOperation, of_grpc.ReceiveMessageOperation

    def send(self, message: bytes, sent: Callable[[], object]) -> None:
        """Send a message; `sent` is called when it is away, or cannot be sent. Until then no other may be sent."""
        if not self._begin(self._sending(message, _NO_FLAGS), lambda _: sent()):
            sent()

    def receive(self, received: Callable[[bytes | None], object]) -> bool:
        """Call `received` with the next message, None if no more will come. False if the stream is over already."""
        return self._begin(self._receiving(_NO_FLAGS), lambda operation: received(operation.message()))

    def _begin(self, operation: Any, done: Callable[[Any], object]) -> bool:
        def finish(event: Any) -> object:
            with self._condition:
                answer = self._over(finish)
            done(event.batch_operations[0])
            return answer

        with self._condition:
            if not self._is_open():
                return False
            self._due.add(finish)
            if self._start((operation,), finish) is False:
                self._due.remove(finish)
                return False
        return True


def of_call(call: Any) -> Operations | None:
    """Return the operations of the dialling end's stream; None if this release of gRPC has other names for them."""
    if not _is_tried():
        return None
    try:
        state = call._state

        def over(operation: object) -> bool:
            state.due.remove(operation)
            return not state.due

        return Operations(call._call.operate, state, lambda: state.code is None, over)
    except (ImportError, AttributeError):
        return None


def of_context(context: Any) -> Operations | None:
    """Return those of the listening end's stream."""
    if not _is_tried():
        return None
    try:
        server: Any = importlib.import_module("grpc._server")
        state, is_active, finish = context._state, server._is_rpc_state_active, server._possibly_finish_call
        start = context._rpc_event.call.start_server_batch
        return Operations(start, state, lambda: is_active(state), lambda operation: finish(state, operation))
    except (ImportError, AttributeError):
        return None


def _is_tried() -> bool:
    """Return whether the release of gRPC is one that this was tried with."""
    release: str = importlib.import_module("grpc").__version__
    return release.rpartition(".")[0] in TRIED
