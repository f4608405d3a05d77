"""`smc audit review`: reviews of emergency jobs by another person."""

from __future__ import annotations

from parties.base.report import Report
from parties.commands.log_writing import accounts_of, appending, entries_of, file_of
from parties.commands.signature import argument, command, option, settings
from parties.node.governance import reviews
from parties.node.governance.reviews import Emergency
from parties.node.settings import NodeFile
from parties.operator.accounts import unix_user
from smc.errors import InputError


@command("review", "smc audit review --job 3f2a 'the ward had asked; within its rights'")
def review(
    job: str | None = option("Job to review: first digits of its identifier.", "JOB"),
    text: str | None = argument(),
    file: NodeFile = settings(file_of),
) -> Report:
    """List the jobs that ran for an emergency, or review one.

    TEXT is the finding of the review; without it the jobs are listed. Their purpose is one of `emergency` under [node]
    in party.toml. If your node has operators, the reviewer must be one who neither proposed nor approved the job.
    """
    if (job is None) != (text is None):
        raise InputError(
            "--job: give it together with the finding of the review, or neither to list the jobs to review"
        )
    if job is not None and text is not None:
        return _review(file, job, text)
    rows = [vars(emergency) | {"people": sorted(emergency.people)} for emergency in _all(file).values()]
    report, cells = Report(rows), []
    for row in rows:
        outcomes = "; ".join(f"{person or 'operator'}: {words}" for _, person, words in row["reviews"])
        facts = (row["purpose"], row["peer"], row["protocol"], outcomes or "TO BE REVIEWED")
        cells.append((row["job"][:8], row["at"][:16], *facts))
    heads = ("job", "at (UTC)", "purpose", "with", "what", "review")
    report.listing(dict.fromkeys(heads, ""), cells, "nothing has run for an emergency")
    return report


def _review(file: NodeFile, beginning: str, text: str) -> Report:
    """Write a review; raise InputError if there is no such job, or if this person proposed or approved it."""
    matching = [emergency for name, emergency in _all(file).items() if name.startswith(beginning)]
    if len(matching) != 1:
        raise InputError(f"--job: {beginning} is the beginning of {len(matching)} emergency jobs; see smc audit review")
    emergency, person = matching[0], accounts_of(file.node.state).on_terminal(unix_user())
    person.check("audit")
    if not emergency.has_ended:
        raise InputError(f"job {emergency.job[:8]} has not ended; review it afterwards, or end it with smc cancel")
    if person.name and person.name in emergency.people:
        raise InputError(f"{person.name} proposed or approved job {emergency.job[:8]}; another operator must review it")
    with appending(file) as append:
        append("reviewed", {"text": text}, emergency.job)
    report = Report({"job": emergency.job, "text": text})
    report.line(f"job {emergency.job[:8]}: the review is in the log")
    return report


def _all(file: NodeFile) -> dict[str, Emergency]:
    return reviews.read(entries_of(file), file.node.emergency)
