"""SIGINT and SIGTERM from the program's first moment to its last: an exit code and one line, never a traceback.

Before a command has begun there is nothing to end in order, and the program exits at once. After that the signal
becomes an exception, which ends the command in order; not in the middle of an import, though, where libraries may print
it, turn it into another error or be left half loaded: there it waits until the module is there. Once the outcome is
certain signals change nothing.

Only the main thread takes signals, and only when it runs: one that the system gave to another thread, or that came just
before the main thread fell asleep, would not be seen until something else wakes it. So a thread of its own does.

Loaded before all else: so it loads as little as possible itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType, TracebackType

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
LOOK_SECONDS = 0.01  # whether the import is over
LONGEST_IMPORT = 10.0  # seconds for which a signal waits
WAKING = (0.05, 0.2, 1.0, 5.0)  # seconds after a signal, one after another: it may have been late in falling asleep


class Terminated(KeyboardInterrupt):
    """SIGTERM, as a service manager sends it: ends a session in order, like Ctrl-C."""


class _State:
    """The state of the program. There is one, as there is one pair of handlers."""

    begun = False
    ending = False
    raised: signal.Signals | None = None  # as an exception
    waiting: signal.Signals | None = None  # for an import to end
    since = 0.0


def watch() -> None:
    """Install the handlers, for the whole of this program."""
    for number in CODES:
        signal.signal(number, _received)
    signal.signal(signal.SIGALRM, _look_again)
    heard, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    threading.Thread(target=_wake, args=(heard, threading.get_ident()), name="smc-signals", daemon=True).start()
    sys.excepthook = _uncaught
    sys.unraisablehook = _ignored


def begin() -> None:
    """Note that a command begins: from now on it is ended in order."""
    _State.begun = True


def over() -> None:
    """Note that the command has ended: nothing is left to end in order, so a signal ends the program at once."""
    _State.begun = False


def end() -> None:
    """Note that the outcome is certain, and the program about to leave with it."""
    _State.ending = True


def raised() -> signal.Signals | None:
    """Return the last signal that became an exception: an error after it may be what a library made of it."""
    return _State.raised


def _received(number: int, frame: FrameType | None) -> None:
    received = signal.Signals(number)
    if _State.ending:
        return
    if not _State.begun:
        _leave(received)
    if _State.waiting is None:
        _State.since = time.monotonic()
    if _importing(frame) and time.monotonic() < _State.since + LONGEST_IMPORT:
        _wait(received)
        return
    _State.waiting, _State.raised = None, received
    raise Terminated if received is signal.SIGTERM else KeyboardInterrupt


def _look_again(_: int, frame: FrameType | None) -> None:
    if _State.waiting is not None:
        _received(_State.waiting, frame)


def _wait(received: signal.Signals) -> None:
    _State.waiting = received
    signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS)


def _wake(heard: int, main: int) -> None:
    """Wake the thread `main` whenever a signal to end has come, in whatever thread; what is seen already stays so."""
    while numbers := os.read(heard, 1024):
        if any(number in CODES for number in numbers):
            for pause in WAKING:
                time.sleep(pause)
                signal.pthread_kill(main, signal.SIGALRM)


def _importing(frame: FrameType | None) -> bool:
    """Return whether a module is being loaded."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End the program for what nobody has caught: the outermost handler."""
    if issubclass(kind, KeyboardInterrupt):
        _leave(_number(error))
    sys.__excepthook__(kind, error, trace)


def _ignored(failure: sys.UnraisableHookArgs) -> None:
    """Handle an exception where Python can raise none, as in a finaliser: a signal must not be lost there."""
    if isinstance(failure.exc_value, KeyboardInterrupt):
        _wait(_number(failure.exc_value))
    else:
        sys.__unraisablehook__(failure)


def _number(error: BaseException) -> signal.Signals:
    return signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT


def _leave(number: signal.Signals) -> None:
    end()
    if sys.stderr is not None:
        os.write(2, f"smc: {WORDS[number]}\n".encode())
    os._exit(CODES[number])
