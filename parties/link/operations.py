"""gRPC's internal operations on a stream, started by the thread that needs them: this halves a round trip.

With gRPC's iterators a message passes from our thread to a sending thread, which waits until the message is away. Any
event on the stream wakes every thread that waits on it. Here the thread with a short message sends it itself, and the
thread that waits for a message is woken by it alone. gRPC tracks the operations due on a stream, including ours, and
ends no stream before all are over.

The names of these operations are not public. So they are used only with the releases of gRPC that were tried (`TRIED`),
the locked one among them; with any other release the iterators are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

TRIED = ("1.85",)  # minor releases of gRPC
_NO_FLAGS = 0


class Operations:
    """gRPC's operations on one stream. Each calls back in a thread of gRPC, and the callback must not block."""

    def __init__(
        self, start: Callable[..., Any], state: Any, is_open: Callable[[], bool], over: Callable[[object], object]
    ) -> None:
        """Store gRPC's functions and state of one stream.

        Args:
            start: Function that starts an operation.
            state: gRPC's state of the stream.
            is_open: Function that tells whether the stream can still send and receive.
            over: Function that ends an operation.
        """
        of_grpc: Any = importlib.import_module("grpc._cython.cygrpc")
        self._start, self._is_open, self._over = start, is_open, over
        self._condition, self._due = state.condition, state.due
        self._sending, self._receiving = of_grpc.SendMessageOperation, of_grpc.ReceiveMessageOperation

    def send(self, message: bytes, sent: Callable[[], object]) -> None:
        """Send a message. No other message may be sent until `sent` is called.

        Args:
            message: The message.
            sent: Called when the message is away, or cannot be sent.
        """
        if not self._begin(self._sending(message, _NO_FLAGS), lambda _: sent()):
            sent()

    def receive(self, received: Callable[[bytes | None], object]) -> bool:
        """Call `received` with the next message, None if no more will come. Return False if the stream is over."""
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
    """Return the operations of the listening end's stream; None if this release of gRPC has other names for them."""
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
    release: str = importlib.import_module("grpc").__version__
    return release.rpartition(".")[0] in TRIED
