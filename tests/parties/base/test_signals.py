"""A signal at any moment is an exit code and one line, never a traceback."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parties.link.identity import Identity
from tests.support.places import ENVIRONMENT, ROOT
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

ENDINGS = {signal.SIGINT: (130, "smc: interrupted\n"), signal.SIGTERM: (143, "smc: terminated\n")}

# Runs the program with a signal that comes when a module is looked for, in the middle of the imports around it.
HOOKED = """if True:
    import os, runpy, sys
    number, name, *sys.argv[1:] = sys.argv[1:]
    class Finder:
        def find_spec(self, module, path=None, target=None):
            if module == name:
                sys.meta_path.remove(self)
                os.kill(os.getpid(), int(number))
    sys.meta_path.insert(0, Finder())
    runpy.run_module("parties", run_name="__main__", alter_sys=True)
    """


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ending(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, re.sub(r"^listening on \S+:\d+\n", "", errors, flags=re.MULTILINE)


MODULES = ["parties.cli", "click", "smc.errors", "parties.commands.options", "pydantic", "grpc", "numpy"]


@pytest.mark.parametrize(
    ("module", "number"),
    [
        pytest.param(module, number, marks=() if (place + turn) % 2 else pytest.mark.campaign)
        for place, module in enumerate(MODULES)
        for turn, number in enumerate(ENDINGS)
    ],
)
def test_while_a_module_is_loaded(identities: dict[str, Identity], number: signal.Signals, module: str) -> None:
    own, peer = identities["alice"], identities["bob"]
    link = ["--identity", own.key_path, "--certificate", own.certificate_path, "--peer", peer.certificate_path]
    command = ["millionaires", "--value", 3, *link, "--listen", "127.0.0.1:0", "--wait", 30]
    process = start("-c", HOOKED, int(number), module, *command)
    code, said = ending(process)
    cost, *rest = said.splitlines(keepends=True)
    assert (code, "".join(rest if cost.startswith("it will cost ") else [cost, *rest])) == ENDINGS[number]


# A module that prints what it is hit by and turns it into an error of its own, as compiled ones do.
NERVOUS = """if True:
    import os, signal, sys, types
    from parties.base import signals
    signals.watch()
    signals.begin()
    class Finder:
        def find_spec(self, module, path=None, target=None):
            if module == "nervous":
                try:
                    os.kill(os.getpid(), signal.SIGTERM)
                    for _ in range(1000):
                        pass
                except BaseException as error:
                    raise ImportError("it cannot be loaded") from error
    sys.meta_path.insert(0, Finder())
    try:
        import nervous
    except ModuleNotFoundError:
        print("not found, as it should be", flush=True)
    signal.pause()
    """


def test_an_import_comes_to_its_end_first() -> None:
    process = start("-c", NERVOUS)
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, errors) == (143, "not found, as it should be\n", "smc: terminated\n")


FINALISER = """if True:
    import os, signal
    from parties.base import signals
    signals.watch()
    signals.begin()
    class Owner:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGTERM)
            for _ in range(1000):
                pass
    owner = Owner()
    del owner
    signal.pause()
    """


def test_a_finaliser_does_not_swallow_it() -> None:
    assert ending(start("-c", FINALISER)) == ENDINGS[signal.SIGTERM]


@pytest.mark.parametrize("turns", [6, pytest.param(40, marks=pytest.mark.campaign)])
def test_at_random_moments_around_the_start(tmp_path: Path, turns: int) -> None:
    """A command that ends by itself after its start: it has ended before the signal came, or by it."""
    random.seed(4)
    undisturbed, lasts = None, float("inf")
    for turn in range(-1, turns):
        number = list(ENDINGS)[turn % 2]
        process = start("-c", READY, "audit", "verify", "--config", tmp_path / "none.toml")
        assert process.stdout is not None
        process.stdout.readline()
        begun = time.monotonic()
        if undisturbed is not None:
            time.sleep(random.uniform(0.0, lasts))
            process.send_signal(number)
        ended = ending(process)
        if undisturbed is None:
            undisturbed = ended
            assert undisturbed[0] == 2
        assert ended in (ENDINGS[number], undisturbed), ended
        if ended == undisturbed:  # the moments are to be among those of a quick run, too
            lasts = min(lasts, time.monotonic() - begun)


# The signal comes when the command has ended, just before that is noted.
AT_THE_END = """if True:
    import os, sys
    from parties import cli; from parties.base import signals
    number, *sys.argv[1:] = sys.argv[1:]
    noted = signals.over
    def over():
        os.kill(os.getpid(), int(number))
        noted()
    signals.over = over
    cli.main()
    """


@pytest.mark.parametrize("number", list(ENDINGS))
def test_between_a_command_and_its_end(tmp_path: Path, number: signal.Signals) -> None:
    process = start("-c", AT_THE_END, int(number), "audit", "verify", "--config", tmp_path / "none.toml")
    assert ending(process) == ENDINGS[number]


# A library that makes an error of its own of whatever a call back into Python raises.
TRANSLATED = """if True:
    import os, signal, sys
    from parties import cli; from parties.base import signals
    signals.watch()
    class Library:
        def main(self, *_, **__):
            signals.begin()
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                for _ in range(1000):
                    pass
            except BaseException as error:
                raise ValueError("the schema is wrong") from error
    cli.cli = Library()
    cli.main()
    """


def test_a_library_that_translates_it_does_not_hide_it() -> None:
    assert ending(start("-c", TRANSLATED)) == ENDINGS[signal.SIGTERM]


# Says that the interpreter is there, and from that moment on the program has to answer.
READY = """if True:
    import sys
    from parties import __main__
    print(flush=True)
    __main__.main()
    """


# The system gives the signal to another thread, for the main one does not take it, and sleeps.
ASLEEP = """if True:
    import signal, threading
    from parties.base import signals
    signals.watch()
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, list(signals.CODES))
    print("asleep", flush=True)
    threading.Event().wait()
    """


@pytest.mark.parametrize("number", list(ENDINGS))
def test_given_to_another_thread_while_the_main_one_sleeps(number: signal.Signals) -> None:
    process = start("-c", ASLEEP)
    assert process.stdout is not None
    assert process.stdout.readline() == "asleep\n"
    process.send_signal(number)
    assert ending(process) == ENDINGS[number]
