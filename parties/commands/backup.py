"""`smc backup` and `smc restore`: all that a node needs, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console
from parties.base.report import Report
from parties.base.text import printable
from parties.commands.options import FILE, new_secret, node_config, required_party_file
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import argument, command, option
from smc.errors import SmcError

if TYPE_CHECKING:
    from parties.node.records.chain import Checked
    from parties.node.settings import NodeFile

_PASSPHRASE_FILE: Any = click.option(
    "--passphrase-file", type=FILE, help="File whose first line is the passphrase; - = standard input."
)


@command("backup", "smc backup a.backup --passphrase --config party.toml")
def backup(
    file: Path = argument(),
    config_file: Path | None = node_config,
    encrypted: bool = option("Encrypt the backup with a passphrase; you type it twice.", flag="--passphrase"),
    passphrase_file: Path | None = _PASSPHRASE_FILE,
    force: bool = FORCE,
) -> Report:
    """Back up a node, which may be running, to one file.

    The file has party.toml, the keys, certificates and schemas that it names, and the state: jobs, log, budgets,
    accounts and archives. It has no rows of tables and no passphrases. Without --passphrase or --passphrase-file it is
    not encrypted. The copy is checked as by smc audit verify.
    """
    from parties.node.starting import backup as backups

    config = required_party_file(config_file)
    check_new({"FILE": file}, [], config, force)
    word = new_secret("passphrase", passphrase_file) if encrypted or passphrase_file is not None else ""
    with console.progress("copying"):
        taken = backups.take(config)
        backups.write(file, taken, word)
    manifest = taken.manifest
    report = Report(manifest.model_dump(mode="json") | {"file": str(file), "encrypted": bool(word)})
    what = "encrypted" if word else "not encrypted: whoever reads it has your keys"
    report.line(f"written: {file}, {len(manifest.files)} files, log up to entry {manifest.entries} ({what})")
    return report


@command("restore", "smc restore a.backup --config party.toml")
def restore(
    file: Path = argument(),
    config_file: Path | None = option("party.toml to restore, with its node  [./party.toml]", flag="--config"),
    passphrase_file: Path | None = _PASSPHRASE_FILE,
    older: bool = option("Restore although a peer has seen later entries of the log."),
) -> Report:
    """Restore a node from a backup: all its files that are missing here.

    No file is replaced: move a damaged state away first. A peer that your node dials is asked for the last entry of
    your log that it has seen. If the backup lacks this entry, nothing is restored. Other peers compare the logs when
    they connect. Run this as the node's user.
    """
    from parties.node.links.control import shown_by_peer
    from parties.node.peers import reached
    from parties.node.starting import backup as backups

    word = "" if passphrase_file is None else new_secret("passphrase", passphrase_file)
    found = backups.read(file, word)
    unasked: dict[str, str] = {}

    def refuse_older(node: NodeFile, checked: Checked) -> None:
        for who, options in () if older else reached(node):
            unasked[who.peer_name] = "it dials this node"
            if options.connect is not None:
                try:
                    held = shown_by_peer(options).held
                except SmcError as error:
                    unasked[who.peer_name] = str(error)
                    continue
                del unasked[who.peer_name]
                backups.refuse_seen(who.peer_name, held, node, checked)

    filled = backups.restore(found, config_file or Path(backups.PARTY_FILE), refuse_older)
    written, kept = (list(map(str, paths)) for paths in filled)
    at, entries = found.manifest.at, found.manifest.entries
    report = Report({"written": written, "kept": kept, "not_asked": unasked, "entries": entries, "at": at})
    report.line(f"restored: {len(written)} files of {at}, log up to entry {entries}")
    report.lines(f"kept, and differs from the backup's: {path}" for path in kept)
    for peer, why in unasked.items():
        report.line(f"not asked: {printable(peer)} ({printable(why)}); the nodes compare the logs when they connect")
    return report
