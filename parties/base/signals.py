"""SIGINT and SIGTERM from the start of the program to its end: an exit code and one line, never a traceback.

Before a command begins, the program exits at once. Afterwards the signal becomes an exception, which ends the command
in order. During an import the signal waits until the module is loaded: libraries may print the exception, turn it into
another error or stay half loaded. Once the outcome is certain, signals have no effect.

Only the main thread handles signals, and only while it runs. A signal that the system delivers to another thread, or
just before the main thread sleeps, would not be handled until something wakes the main thread. A separate thread does
so.

This module is loaded first, so it imports as little as possible.
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
LOOK_SECONDS = 0.01  # seconds between checks whether the import is over
LONGEST_IMPORT = 10.0  # most seconds that a signal waits for an import
WAKING = (0.05, 0.2, 1.0, 5.0)  # pauses before each wake-up, in seconds: the main thread may fall asleep after one


class Terminated(KeyboardInterrupt):
    """SIGTERM from a service manager: ends a session in order, like Ctrl-C."""


class _State:
    """State of the program; there is one, as there is one pair of handlers."""

    begun = False
    ending = False
    raised: signal.Signals | None = None  # signal that became an exception
    waiting: signal.Signals | None = None  # signal that waits for the end of an import
    since = 0.0


def watch() -> None:
    """Install the handlers for the whole program."""
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
    """Record the beginning of a command: from now on a signal ends it in order."""
    _State.begun = True


def over() -> None:
    """Record the end of the command: from now on a signal ends the program at once."""
    _State.begun = False


def end() -> None:
    """Record that the outcome is certain and the program is about to exit with it."""
    _State.ending = True


def raised() -> signal.Signals | None:
    """Return the last signal that became an exception; a library may have replaced this exception by another one."""
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
    """Wake the thread `main` several times after any thread has received a signal to end.

    `heard` is the pipe to which Python writes the number of each signal. Once the signal is handled, a wake-up has no
    effect.
    """
    while numbers := os.read(heard, 1024):
        if any(number in CODES for number in numbers):
            for pause in WAKING:
                time.sleep(pause)
                signal.pthread_kill(main, signal.SIGALRM)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End the program after an uncaught exception: the outermost handler."""
    if issubclass(kind, KeyboardInterrupt):
        _leave(_number(error))
    sys.__excepthook__(kind, error, trace)


def _ignored(failure: sys.UnraisableHookArgs) -> None:
    """Handle an exception where Python cannot raise it, as in a finaliser: a signal must not be lost there."""
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
