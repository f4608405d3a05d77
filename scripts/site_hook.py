"""Add the pages of this repository to the site that MkDocs builds (`make docs`).

Pages keep their paths: README.md, docs/, examples/, benchmarks/, deploy/. The files that a page links to are added too.
The reference has one page for each package, from the docstrings.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from parties.cli import cli
from scripts.pages import ROOT, links, pages

REFERENCE = {
    "smc": "The engine",
    "protocols": "What two parties compute",
    "parties.notebook": "Estimators for notebooks",
    "parties.jobs.kind": "The interface of a kind of job",
}
OF_KINDS = {
    ("estimate",),
    ("submit",),
    ("budget", "simulate"),
    ("policy", "check"),
}  # groups with a command for each kind


def attachments(page: Path) -> set[Path]:
    """Return the files that a page links to, relative to the repository; pages and folders are left out."""
    targets = ((ROOT / page.parent / link.path).resolve() for link in links((ROOT / page).read_text()) if link.path)
    return {target.relative_to(ROOT) for target in targets if target.is_file() and target.suffix != ".md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages, the files that they link to, and the reference."""
    here = pages()
    for path in sorted({*here, *(file for page in here for file in attachments(page))}):
        files.append(File.generated(config, path.as_posix(), abs_src_path=str(ROOT / path)))
    for package, title in REFERENCE.items():
        text = f"# {title}\n\n::: {package}\n"
        files.append(File.generated(config, f"reference/{package}.md", content=text))
    files.append(File.generated(config, "reference/commands.md", content=commands()))
    return files


def commands() -> str:
    """Return a page with the help of all commands, every option among them."""
    lines = ["# Commands", ""]
    for words in command_names(cli):
        typed = CliRunner().invoke(cli, [*words, "--help-all"])
        shown = typed if typed.exit_code == 0 else CliRunner().invoke(cli, [*words, "--help"])
        lines += [f"## smc {' '.join(words)}", "", "```text", shown.output.rstrip(), "```", ""]
    return "\n".join(lines)


def command_names(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command; groups whose commands repeat the kinds of job count as one command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group) and (*before, name) not in OF_KINDS:
            yield from command_names(command, (*before, name))
        elif command is not None:
            yield *before, name
