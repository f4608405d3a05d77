"""`smc audit review`: jobs that were begun for an emergency, looked at afterwards by somebody else."""

from __future__ import annotations

from pathlib import Path

from parties.base import console
from parties.base.text import printable
from parties.commands.log_writing import accounts_of, appending, entries_of, file_of
from parties.commands.options import json_option, node_config
from parties.commands.signature import argument, command, option
from parties.node.governance import reviews
from parties.node.governance.reviews import Emergency
from parties.node.settings import NodeFile
from parties.operator.accounts import unix_user
from smc.errors import InputError


@command("review", "smc audit review --job 3f2a 'the ward had asked; within its rights'")
def review(
    job: str | None = option("The job, by the first digits of it.", "JOB"),
    text: str | None = argument(),
    config_file: Path | None = node_config,
    as_json: bool = json_option,
) -> None:
    """List what ran for an emergency, or review it.

    That is jobs whose purpose is one of `emergency` under [node] in party.toml. Where people have names, it is
    reviewed by somebody who neither proposed nor approved it.
    """
    if (job is None) != (text is None):
        raise InputError("give both --job and what the review has brought, or neither, to list what is to be reviewed")
    file = file_of(config_file)
    if job is not None and text is not None:
        _review(file, job, text)
    elif as_json:
        console.print_json(
            [vars(emergency) | {"people": sorted(emergency.people)} for emergency in _all(file).values()]
        )
    elif known := _all(file):
        table = console.columns(("job", "at (UTC)", "purpose", "with", "what", "review"), ())
        for emergency in known.values():
            outcomes = "; ".join(f"{person or 'operator'}: {words}" for _, person, words in emergency.reviews)
            facts = (emergency.purpose, emergency.peer, emergency.protocol, outcomes or "TO BE REVIEWED")
            table.add_row(emergency.job[:8], emergency.at[:16], *map(printable, facts))
        console.show(table)
    else:
        console.err.print("nothing has run for an emergency")


def _review(file: NodeFile, beginning: str, text: str) -> None:
    """Write a review. `InputError` if it is of no such job, or of one that this person stood behind."""
    matching = [emergency for name, emergency in _all(file).items() if name.startswith(beginning)]
    if len(matching) != 1:
        raise InputError(f"--job: {beginning} is the beginning of {len(matching)} jobs that ran for an emergency")
    emergency, person = matching[0], accounts_of(file.node.state).on_terminal(unix_user())
    person.check("audit")
    if not emergency.has_ended:
        raise InputError(f"job {emergency.job[:8]} has not ended, and is reviewed afterwards; smc cancel ends it")
    if person.name and person.name in emergency.people:
        raise InputError(f"{person.name} stood behind job {emergency.job[:8]}: somebody else reviews it")
    with appending(file) as append:
        append("reviewed", {"text": text}, emergency.job)
    console.out.print(f"job {emergency.job[:8]}: the review is in the log")


def _all(file: NodeFile) -> dict[str, Emergency]:
    return reviews.read(entries_of(file), file.node.emergency)
