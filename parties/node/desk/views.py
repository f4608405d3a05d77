"""Views of jobs for the operator, made from the ledger's records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from parties.jobs.kind import Inputs, Kind, asked, revealed, shown_parameters
from parties.node.exchanges import checkpoint, commitment, counting, readiness
from parties.node.links import precheck
from parties.node.log import statement
from parties.node.log.statement import Statement
from parties.node.log.store import Record, lacks_signature, withdrawals
from parties.node.prediction import predicted
from parties.node.records.statements import Signed
from parties.operator.budget import Exposure, Price
from parties.operator.interface import Asked, JobResult, JobView, PredictedCost, Progress, State, Verdict
from smc.errors import InputError

BRANCH = "├─└ "  # before the first line of a tree
MOST_KEPT = 1000  # cached views


def job_view(
    record: Record,
    state: State,
    inputs: Inputs,
    progress: Progress | None,
    link: str,
    price: Price | None = None,
    exposure: Exposure | None = None,
    approvals: int = 1,
) -> JobView:
    """Return a job as this party sees it.

    Args:
        record: The job.
        state: State of the job.
        inputs: This party's inputs to it.
        progress: Progress of a running session, if any.
        link: Kind of link assumed by the predicted cost.
        price: Privacy price of the job, if any.
        exposure: Bits that its exact answers open, if any.
        approvals: Number of our people who must approve a job that no rule decides.
    """
    job, party = record.proposal, record.party
    task = job.task
    why = statement.why(record.statements, [*record.titles.values()])
    theirs_away = record.peer_waits and not record.ours.waits
    note = f"{_first(record, lambda side: side.waits != '')} waits for its table" if theirs_away else record.note
    only_signature = lacks_signature(record, state) and not note
    if only_signature:
        note = f"computed here: only {_first(record, lambda side: side.end != 'computed')}'s signature is missing"
    shows_note = state in ("queued", "interrupted")
    if state == "waiting" and job.holding is not None:
        shows_note = True
        lacking = [title or "this node" for side, title in record.titles.items() if _waits(record.said_by(side))]
        note = f"waits for the consent of {', '.join(lacking)}"
    ended_badly = state in ("refused", "cancelled", "failed")
    return JobView(
        id=record.id,
        state=state,
        proposed_by=record.proposed_by,
        proposed_at=job.proposed_at.isoformat(),
        ended_at=record.ended_at,
        peer=record.peer,
        protocol=task.name,
        title=task.about.title,
        question=task.disclosure.question or task.about.title.lower(),
        purpose=job.purpose,
        permit="" if job.permit is None else job.permit.id,
        table=job.tables[party],
        peer_table=record.peer_table,
        target=task.disclosure.subject,
        columns=list(task.columns_read),
        parameters=shown_parameters(task) | job.bounds,
        asked=[] if ended_badly or state == "done" else _asked(task, inputs),
        reveals=[*_permit(record), *_roles(record), *revealed(task, _second(record))],
        cost=None if ended_badly or record.number is not None else _cost(task, inputs, party, link),
        digest=job.digest,
        ours=_verdict(record.ours, record.reason).model_copy(update={"by": _by(record, approvals)}),
        theirs=_verdict(record.said_by("peer"), ""),
        further={record.titles[side]: _verdict(record.said_by(side), "") for side in record.further},
        holding=_of_holders(record),
        progress=progress,
        ended_by=_ended_by(record, state),
        price=price,
        exact=bool(task.disclosure.exact),
        withdrawn=_withdrawn(record),
        people=list(record.people),
        approvals=approvals,
        begun=record.sessions > 0,
        only_signature=only_signature,
        answer=_answer(record, state),
        exposure=exposure,
        why=note if shows_note else (record.ours.end == "failed" and record.note) or why,
    )


def _answer(record: Record, state: State) -> str:
    """Return the result of a done job in one line; empty if it is withdrawn, or not for us."""
    if state != "done" or withdrawals(record) or None in _signatures(record):
        return ""
    task = record.task
    first, *others = task.text(task.document(task.states.decode(record.tree)), 1 if record.party else 0).splitlines()
    return f"{first.lstrip(BRANCH)} (and {len(others)} lines)" if others else first


def _permit(record: Record) -> list[str]:
    permit = record.proposal.permit
    return [] if permit is None else [f"It is asked under the {permit.words}."]


def _roles(record: Record) -> list[str]:
    """Return who computes, who gives and who learns in a job with holders, a sentence each; none for two parties."""
    holding = record.proposal.holding
    if holding is None:
        return []
    titles = [title or "this node" for title in record.titles.values()]
    sides = [*record.titles]
    own = holding.everyone[record.party]
    peer = holding.nodes[1 - record.party if record.party < 2 else 0]
    names = {{"us": own, "peer": peer}.get(side, side): title for side, title in zip(sides, titles, strict=True)}
    nodes, holders = ([names[one] for one in ones] for ones in (holding.nodes, holding.holders))
    computing, (first, second) = " and ".join(nodes), nodes if record.party != 1 else nodes[::-1]
    bound = getattr(record.task.settings, "max_rows", 0)
    giving = ", ".join([*(nodes if holding.nodes_give else ()), *holders])
    return [
        f"{computing} compute. If these two put their shares together, they learn the numbers of each holder.",
        f"{giving} give at most {holding.holder_rows:,} rows each.",
        f"{computing} learn the result.",
        *(f"{names[one]} learns the result." for one in holding.to),
        "A holder learns the public state before each step, such as the tree so far.",
        f"The job ends without a result {holding.wait_hours} hours after its proposal.",
        f"Both tables, in the consent below, are all these rows, counted as two parts of at most {bound:,} rows.",
        f"Consent of {first} with {second}, word for word ('we' is {first}):",
    ]


def _of_holders(record: Record) -> dict[str, bool | int | str | list[str]]:
    """Return the keys of the job file about holders; none for two parties."""
    if (holding := record.proposal.holding) is None:
        return {}
    names = dict(zip(holding.holders, record.names[1:], strict=False))
    to, table = [names[one] for one in holding.to if one in names], record.proposal.tables[2]
    return {
        "holders": [*names.values()],
        "to": to,
        "compute_only": not holding.nodes_give,
        "holder_table": "" if table == record.table else table,
        "wait_hours": holding.wait_hours,
    }


def _second(record: Record) -> str:
    """Return the name of the party that the consent text names as the other one.

    It is the peer, or for a holder computing party 1.
    """
    holding = record.proposal.holding
    if holding is None or record.number is None:
        return record.peer
    return record.titles[holding.nodes[1]]


def _first(record: Record, holds: Callable[[Statement], bool]) -> str:
    """Return the name of the first other participant whose statement meets `holds`; the peer's if none does."""
    others = [(side, title) for side, title in record.titles.items() if side != "us"]
    return next((title for side, title in others if holds(record.said_by(side))), record.peer)


def _waits(side: Statement) -> bool:
    return side.verdict == "waiting"


class ViewCache:
    """Cached views of idle jobs: a page may show 200 of them every second while another job runs."""

    def __init__(self) -> None:
        self._cached: dict[str, tuple[Record, State, JobView]] = {}

    def get(self, record: Record, state: State) -> JobView | None:
        """Return the cached view of exactly this record; None if there is none.

        Args:
            record: The job.
            state: State of the job.
        """
        cached = self._cached.get(record.id)
        return cached[2] if cached is not None and cached[0] is record and cached[1] == state else None

    def put(self, record: Record, state: State, view: JobView) -> None:
        """Cache the view of a job in place of its last one.

        Args:
            record: The job as stored.
            state: Present state of the job.
            view: The view of job and state.
        """
        if len(self._cached) >= MOST_KEPT:
            self._cached.clear()
        self._cached[record.id] = record, state, view


def _signatures(record: Record) -> tuple[Signed | None, Signed | None]:
    """Return ours and the peer's signature of a result; at a holder those of the nodes, None if it is not for it."""
    ours, peer = record.ours.signed, record.said_by("peer").signed
    if record.number is None:
        return ours, peer
    return peer, record.said_by(record.proposal.job["holding"]["nodes"][1]).signed


def job_result(record: Record, state: State) -> JobResult:
    """Return the view of a job's result.

    Args:
        record: The job as stored.
        state: Present state of the job.

    Raises:
        InputError: The job is not done, or its result is not for this holder.
    """
    if state != "done":
        raise InputError(f"job {record.id[:8]} has no result: it is {state}; smc show {record.id[:8]} says more")
    ours, theirs = _signatures(record)
    if ours is None or theirs is None:
        raise InputError(f"job {record.id[:8]} is done, and its result is not for this holder (to)")
    assert record.cost is not None
    task = record.task
    return JobResult(
        id=record.id,
        protocol=task.name,
        party=1 if record.party else 0,
        noun=task.about.noun,
        document=task.document(task.states.decode(record.tree)),
        cost=record.cost,
        opened=ours.result["opened"],
        summary={"result": ours.result, "our_head": ours.head.model_dump(), "their_head": theirs.head.model_dump()},
        our_signature=ours.signature,
        their_signature=theirs.signature,
        withdrawn=_withdrawn(record),
    )


def _withdrawn(record: Record) -> list[str]:
    names = record.titles | {"us": "us"}
    return [f"by {names[side]}, {word.at}: {word.why}" for side, word in withdrawals(record)]


def _asked(task: Kind, inputs: Inputs) -> list[Asked]:
    try:
        missing = task.missing(inputs)
    except InputError:  # the circuit is missing: the job cannot run anyway
        return []
    return [
        Asked(name=parameter.key, title=parameter.title, help=parameter.help)
        for parameter in asked(task)
        if parameter.key in missing
    ]


def _ended_by(record: Record, state: State) -> Literal["", "us", "peer"]:
    """Return the party whose statement ended the job, if it has not ended well; "us" if both did."""
    if state not in ("refused", "cancelled", "failed"):
        return ""
    return "us" if record.ours.end == state or (state == "refused" and record.ours.verdict == state) else "peer"


def _by(record: Record, approvals: int) -> str:
    """Return the author of our decision, with known names; the statement for the peer has no names."""
    by, names = record.ours.by, ", ".join(record.people)
    if record.ours.verdict == "waiting":
        return f"{len(record.people)} of {approvals}: {names}" if names else ""
    return f"{by} {names}" if names and by in ("operator", "proposer") else by


def _verdict(side: Statement, reason: str) -> Verdict:
    return Verdict(
        verdict=side.verdict, by=side.by, reason=reason or (side.why if side.verdict == "refused" else ""), at=side.at
    )


def _cost(task: Kind, inputs: Inputs, party: int, link: str) -> PredictedCost | None:
    forecast = predicted(task, inputs, link)
    if forecast is None:
        return None
    parts = [
        checkpoint,
        *([readiness, commitment] if task.reads_table else []),
        *([precheck] if task.disclosure.spends else []),
    ]
    one_step = task.disclosure.bits.at_least == task.disclosure.bits.at_most  # in any number of phases
    parts += [counting] * (0 if task.disclosure.bits.at_most == 0 else 1 if one_step else len(forecast.steps))
    extra = sum(part.BYTES for part in parts)
    return PredictedCost(
        estimate=forecast.estimate,
        assumed=forecast.assumed,
        profile=str(forecast.profile),
        bytes=forecast.bytes + extra,
        most=None if forecast.most is None else forecast.most + extra,
        rounds=forecast.rounds[party] + sum(part.ROUNDS for part in parts),
        seconds=forecast.seconds,
        link=link,
    )
