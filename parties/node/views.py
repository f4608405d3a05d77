"""Jobs as the operator sees them: the ledger's records as views."""

from __future__ import annotations

from typing import Literal

from parties.jobs import planner
from parties.jobs.running import PROFILE
from parties.node import checkpoint, outcome, proposal, statement
from parties.node.gate import Who
from parties.node.prediction import predicted
from parties.node.proposal import Proposal
from parties.node.statement import Statement
from parties.node.store import Record
from parties.operator.interface import JobResult, JobView, PredictedCost, Progress, State, Verdict
from smc.engines import Profile
from smc.errors import InputError


def job_view(record: Record, state: State, who: Who, progress: Progress | None, link: str) -> JobView:
    """A job as this party sees it; `link` is the kind of link that the predicted cost is for."""
    job, party = record.ours.proposal, who.party
    settings = job.settings
    why = statement.why(record.ours, record.theirs, who.peer_name)
    return JobView(
        id=record.id,
        state=state,
        proposed_by=record.proposed_by,
        proposed_at=job.proposed_at.isoformat(),
        ended_at=record.ended_at,
        peer=who.peer_name,
        protocol=job.specification["protocol"],
        purpose=job.purpose,
        table=job.tables[party],
        peer_table=job.tables[1 - party],
        target=job.target,
        columns=list(job.agreed.attributes),
        parameters={name: getattr(settings, name) for name in proposal.PARAMETERS},
        reveals=proposal.reveals(job, who.peer_name),
        cost=_cost(job, party, link) if state not in ("refused", "cancelled", "failed") else None,
        digest=job.digest,
        ours=_verdict(record.ours, record.reason),
        theirs=_verdict(record.theirs, ""),
        progress=progress,
        ended_by=_ended_by(record, state),
        why=record.note if state in ("queued", "interrupted") or (record.note and record.ours.end == "failed") else why,
    )


def job_result(record: Record, state: State) -> JobResult:
    """What a job has brought. `InputError` if it is not done."""
    if state != "done":
        raise InputError(f"job {record.id[:8]} has no result: it is {state}; smc show {record.id[:8]} says more")
    ours, theirs = record.ours.signed, record.theirs.signed if record.theirs is not None else None
    assert ours is not None
    assert theirs is not None
    assert record.cost is not None
    tree = outcome.tree_file(record.ours.proposal, checkpoint.from_json(record.tree))
    return JobResult(
        id=record.id,
        tree=tree.fields(),
        cost=record.cost,
        opened=ours.result["opened"],
        summary={"result": ours.result, "our_head": ours.head.model_dump(), "their_head": theirs.head.model_dump()},
        our_signature=ours.signature,
        their_signature=theirs.signature,
    )


def _ended_by(record: Record, state: State) -> Literal["", "us", "peer"]:
    """Whose word ended the job, if it has not ended well; ours if both had one."""
    if state not in ("refused", "cancelled", "failed"):
        return ""
    return "us" if record.ours.end == state or (state == "refused" and record.ours.verdict == state) else "peer"


def _verdict(side: Statement | None, reason: str) -> Verdict:
    if side is None:
        return Verdict(verdict="waiting")
    return Verdict(
        verdict=side.verdict, by=side.by, reason=reason or (side.why if side.verdict == "refused" else ""), at=side.at
    )


def _cost(job: Proposal, party: int, link: str) -> PredictedCost | None:
    """What the job will cost with its own profile, or for the engine "auto" with the default one."""
    named = {name: job.specification[name] for name in PROFILE if name in job.specification}
    profile = planner.INTEGER[0] if named["engine"] == "auto" else Profile(**named)
    found = predicted(job, profile, link)
    if found is None:
        return None
    return PredictedCost(
        splits=planner.TYPICAL_SPLITS,
        profile=str(profile),
        bytes=found.bytes + checkpoint.BYTES,
        rounds=found.rounds[party] + checkpoint.ROUNDS,
        seconds=found.seconds,
        link=link,
    )
