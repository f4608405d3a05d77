"""The files that a tree and its cost can be written to: the flags, the check before the run, the writing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from parties import console, files
from parties.commands.options import FILE

if TYPE_CHECKING:  # trees bring numpy along, which only some users of these options need
    from parties.trees.tree import TreeFile

Command = TypeVar("Command", bound=Callable[..., Any])

_OUTPUTS = (
    click.option("--out", type=FILE, help="Write the tree as JSON."),
    click.option("--report", type=FILE, help="Write the cost report as JSON."),
    click.option("--dot", type=FILE, help="Write the tree in Graphviz's DOT."),
    click.option("--svg", type=FILE, help="Draw the tree."),
)


def output_options(command: Command) -> Command:
    """Add --out, --report, --dot and --svg."""
    for option in reversed(_OUTPUTS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Outputs:
    """Where each form of the result goes, if it was asked for."""

    out: Path | None
    report: Path | None
    dot: Path | None
    svg: Path | None

    def check(self, inputs: Iterable[Path | None]) -> None:
        """`InputError` if a file cannot be written or is an input, before anything is done that takes long."""
        files.check_outputs({f"--{name}": path for name, path in vars(self).items()}, inputs)

    def write(self, found: TreeFile, report: Mapping[str, Any]) -> None:
        """Write what was asked for. `InputError` if a file cannot be written."""
        if self.out is not None:
            found.dump(self.out)
        if self.report is not None:
            files.write_text(self.report, json.dumps(report, indent=2) + "\n")
        if self.dot is not None:
            from parties.trees.text import to_dot

            files.write_text(self.dot, to_dot(found.tree, found.target))
        if self.svg is not None:
            from parties.trees.drawing import draw_svg  # matplotlib takes its time to load

            files.write_text(self.svg, draw_svg(found.tree, found.target, f"Decision tree for {found.target}"))

    def tell(self, found: TreeFile, report: Mapping[str, Any]) -> None:
        """The tree on standard output; what was written, and what it cost, on standard error."""
        from parties.trees.text import to_text

        console.out.print(to_text(found.tree), end="")
        written = [str(path) for path in vars(self).values() if path is not None]
        if written:
            console.err.print(f"written: {', '.join(written)}")
        console.show(console.cost_table(report), console.err)
