"""`smc demo`: two real party processes on this machine, from certificates to the joint tree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click

from parties.base import console
from parties.base.settings import merge
from parties.base.temporary import HeldDirectory
from parties.commands.kinds import options_of
from parties.commands.outputs import FORCE, Outputs
from parties.commands.signature import by_signature, option
from parties.jobs.kinds.id3 import Id3
from parties.jobs.running import kernels_of
from parties.jobs.settings import ENGINE, parameters
from parties.jobs.tree.settings import Id3Settings
from parties.link import identity
from parties.models.trees.text import to_text
from parties.models.trees.tree import TreeFile
from parties.tables import example
from smc.errors import LinkError

DEADLINE = 3600.0  # RSA for every gate of every circuit takes long; the parties notice a lost peer themselves
ROWS = 7  # rows of a clinic
ANNOUNCEMENT = "listening on "


@click.command(epilog="Example:  smc demo --svg tree.svg")
@options_of([parameter for parameter in parameters(Id3Settings) if parameter.key in ENGINE])
@by_signature
def demo(svg: Path | None = option("Draw the tree as SVG."), force: bool = FORCE, **flags: str | None) -> None:
    """Let two clinics learn one decision tree: new identities, mutual TLS on loopback, bundled data.

    Each clinic is a separate process that reads its own seven rows. This command only starts them. With so few rows, a
    tree needs smc id3 --plain, which has no minimum per leaf. The data describe no real person.
    """
    from parties.jobs.choosing import usual  # with the engines
    from parties.jobs.profiles import contenders
    from smc.kernels.warm import NOTICE, warm  # loads LLVM

    bundled = example.demo()
    Outputs(Id3, {"svg": svg}).check([], None, force)
    with HeldDirectory("demo") as name:
        directory = Path(name)
        for clinic in ("clinic-a", "clinic-b"):
            party = identity.create(clinic, ["127.0.0.1"], directory)
            print_ = identity.short_fingerprint(party.certificate)
            console.err.print(f"{clinic}: new key and certificate, fingerprint {print_}")
        settings = merge(Id3Settings(), {name.removeprefix("own_"): value for name, value in flags.items()})
        with console.progress("starting") as status:
            possible = [usual(settings)] if settings.engine != "auto" else contenders(integers=True)
            warm(kernels_of(possible), lambda done, total: status.share(NOTICE, done, total))
        if settings.engine != "auto":
            console.err.print(f"forecast: about {max(1, round(_forecast(settings)))} s")
        job = ["--schema", str(bundled.schema), "--plain"]  # with seven rows each, rules would leave no tree
        for name, value in flags.items():
            job += [f"--{name.removeprefix('own_')}", value] if value is not None else []
        outputs = ["--out", str(directory / "tree.json"), "--report", str(directory / "cost.json")]
        outputs += ["--svg", str(svg), "--force"] if svg is not None else []
        first = [*job, *outputs, "--listen", "127.0.0.1:0"]
        listener = _start(directory, "clinic-a", "clinic-b", bundled.clinic_a, first)
        try:
            address = _address(listener)
            console.err.print(f"clinic-a listens on {address}; clinic-b connects")
            dialler = _start(directory, "clinic-b", "clinic-a", bundled.clinic_b, [*job, "--connect", address])
            try:
                with (
                    console.progress("the clinics compute") as status,
                    status.waiting("the clinics compute", DEADLINE, first=30, again=30),
                ):
                    _finish(listener, "clinic-a")
                    _finish(dialler, "clinic-b")
            finally:
                dialler.kill()
        finally:
            listener.kill()
        tree_file = TreeFile.load(directory / "tree.json")
        report = json.loads((directory / "cost.json").read_text())
    console.out.print(f"\nThe tree of both clinics' rows, target {tree_file.target}:\n")
    console.out.print(to_text(tree_file.tree))
    console.out.print(console.cost_table(report))
    if svg is not None:
        console.out.print(f"\ndrawn in {svg}")


def _forecast(settings: Id3Settings) -> float:
    """Return the approximate seconds of the clinics' job on this machine."""
    from parties.jobs.choosing import usual
    from parties.jobs.inputs import Inputs
    from parties.link.pace import USUAL, own_pace
    from smc.counting import forecast
    from smc.link_shape import LinkShape

    profile = usual(settings)
    settings_of_demo = {"schema": example.demo().schema, "plain": True, "max_rows": ROWS}
    program = Id3.planned(merge(settings, settings_of_demo)).cost(Inputs(0)).program
    return forecast(program, profile).seconds(LinkShape(), own_pace() / USUAL)


def _start(directory: Path, name: str, peer: str, data: Path, more: list[str]) -> subprocess.Popen[str]:
    link = ["--identity", f"{directory / name}.key", "--certificate", f"{directory / name}.crt"]
    link += ["--peer", f"{directory / peer}.crt"]
    command = [sys.executable, "-P", "-m", "parties", "id3", "--data", str(data), *link, *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _address(listener: subprocess.Popen[str]) -> str:
    """Return the address in the line that the listening party writes once its port is open, after other lines."""
    assert listener.stderr is not None
    last = "no output"
    while line := listener.stderr.readline():
        last = line.strip()
        if last.startswith(ANNOUNCEMENT):
            return last.removeprefix(ANNOUNCEMENT)
    raise LinkError(f"clinic-a did not start: {last}")


def _finish(process: subprocess.Popen[str], name: str) -> None:
    try:
        _, errors = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        raise LinkError(f"{name} did not finish within {DEADLINE:g} s") from None
    if process.returncode:
        last = errors.strip().splitlines()[-1:] or ["no message"]
        raise LinkError(f"{name} failed: {last[0].removeprefix('smc: ')}")
