"""`smc align rows`: the keys of own matched rows, as a job of the node has left them."""

from __future__ import annotations

from pathlib import Path

from parties.base import console, files
from parties.commands.options import node_config, out_option, required_party_file
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import argument, command
from parties.node.records import database
from parties.node.records.sidecar_files import SidecarFiles, read_archive
from parties.operator.client import NodeClient
from parties.party_file import state_directory
from smc.errors import InputError


@command("rows", "smc align rows 1f0c --out aligned.csv")
def rows_command(
    job: str = argument(metavar="JOB"),
    out: Path | None = out_option,
    config_file: Path | None = node_config,
    force: bool = FORCE,
) -> None:
    """Write the keys of your rows that a job of smc align has matched, as CSV; of smc classify, with classes.

    Of smc align hidden, write this party's part of the hidden rows, for commands by hand.

    JOB is the beginning of the job's identifier, or latest for the newest job of smc align with rows. If both parties
    learn their rows, the n-th row belongs to the n-th row of the peer. The node keeps the file for its owner only. It
    removes the file `aligned_hours` after the job's end (set in party.toml, by default 30 days), or when the job is
    archived or its result is withdrawn.
    """
    config = required_party_file(config_file)
    place = SidecarFiles(state_directory(config) / database.FILE_NAME)
    check_new({"--out": out}, [], config, force)
    if job == "latest":
        done = [view for view in NodeClient.from_config(config).jobs(states=("done",)) if view.protocol[:5] == "align"]
        job = next((view.id for view in done if place.own_result(view.id).exists()), job)
    found = [path for path in place.own_result("").parent.glob("*.csv") if path.name.startswith(job)]
    if len(found) != 1:
        problem = "several jobs begin so" if found else "this node has matched no rows in such a job"
        raise InputError(f"JOB: {problem}; smc jobs lists the jobs")
    text = read_archive(found[0], place.database).decode()
    if out is None:
        console.out.print(text, end="")
    else:
        files.write_text(out, text, private=True)
