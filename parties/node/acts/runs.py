"""Actions of sessions on jobs: each method decides which events happen as one begins, makes progress, or ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from parties.jobs.inputs import Inputs
from parties.node.acts.gate import Question
from parties.node.acts.parts import Parts
from parties.node.budget.account import BudgetError
from parties.node.exchanges import commitment
from parties.node.exchanges.commitment import Commitments
from parties.node.exchanges.counting import BitsError
from parties.node.exchanges.openings import Leaving, Stored, Written
from parties.node.log import outcome
from parties.node.log.job_events import Event, Unlogged, both_signed, decided, failed
from parties.node.log.statement import BUDGET, OPERATOR, PROPOSER
from parties.node.log.store import Record
from parties.node.point.xacml import DecisionPointAnswer
from parties.node.records import Committed, kinds
from parties.node.records.sidecar_files import SidecarFiles
from parties.tables.unfit import without_cells
from smc.errors import InputError, LinkError, ProtocolError
from smc.meter import Cost

MOST_UNSIGNED = 20  # sessions of a job that is computed here: they open nothing, and each adds some entries to the log
DIFFERENT = "the two parties have signed different results"


class Runs:
    """The sessions of jobs in the node's log. Methods raise LinkError if the job has ended: the session must stop."""

    def __init__(self, parts: Parts) -> None:
        self._jobs, self._log, self._spendings, self._accounts = (
            parts.jobs,
            parts.jobs.log,
            parts.spendings,
            parts.accounts,
        )
        self._parts, self._heads, self._gate = parts, parts.heads, parts.gate
        self._offers, self._inputs = parts.offers, parts.inputs
        self._unsigned = Counter[str]()  # by job: sessions since the job was computed here
        self._spared = Counter[str]()  # by job: sessions not counted as tries, since the last one began
        self._reserved: dict[str, tuple[int, int]] = {}  # by job under way: a step that may begin, and its bits

    def begin(self, identifier: str, peer: str, word: DecisionPointAnswer | None = None) -> Record | None:
        """Begin a session of this job with this peer, if allowed. No other one can begin until `over` is called.

        A job approved by a rule is judged by the rules again, since they may depend on time. The budget is checked
        again: a job that no longer fits is refused, and a job that fits only if those under way are not charged waits
        for them. Last, the decision point is asked, if there is one.

        Args:
            identifier: The job.
            peer: Name of the peer.
            word: Answer of the decision point, if it was asked.

        Returns:
            The job; None if it must not run now.

        Raises:
            InputError: The job must not run, is not with this peer, or is computed here and the peer keeps not signing
                it.
            AskFirstError: The decision point must be asked first.
        """
        with self._log.writing():
            record = self._jobs.get(identifier)
            if record.peer != peer:
                raise InputError("there is no such job here")
            if record.ours.end == "computed" and self._unsigned[identifier] >= MOST_UNSIGNED:
                raise InputError("the job is computed here, but the peer does not sign its result")
            if (state := self._jobs.state(record)) not in ("queued", "interrupted"):
                raise InputError(f"the job is {state}")
            if record.ours.waits:
                raise InputError("the job waits for its table")
            asked, charged = self._parts.asked(record), record.charged is not None
            why, refusal = self._parts.heads.rolled_back() or self._not_allowed(record, asked), ""
            if not why and not charged and not (refusal := self._accounts.too_much(record)):
                why = self._accounts.too_much_beside(record, self._others(record))
                why = why and f"another job under way may need the remaining budget: {why}"
            if refusal:
                record = self._refuse(record, refusal)
            elif why := why or self._gate.objection(asked, word):
                if record.note != why:
                    self._jobs.apply(record, Unlogged({"note": why}))
                return None
            else:
                if record.ours.end == "computed":
                    self._unsigned[identifier] += 1
                self._jobs.running.add(identifier)
        self._jobs.tell(record, say=bool(refusal))
        return None if refusal else record

    def reserve(self, identifier: str) -> bool:
        """Reserve the price of a job before its table is opened without a session; `over` frees the price.

        If the opening fails, the job is charged. Whether the budget can pay is decided before the rows are read, so a
        refusal discloses nothing about them.

        Args:
            identifier: The job.

        Returns:
            Whether the table may be opened now. A job that no longer fits its budget is refused. A job that fits only
            if the jobs under way are not charged waits for these jobs.
        """
        with self._log.writing():
            record, is_free = self._jobs.get(identifier), False
            refusal = self._accounts.refusal(record) if record.charged is None else ""
            if not refusal and not self._jobs.has_ended(record):
                charged = record.charged is not None
                is_free = charged or not self._accounts.too_much_beside(record, self._others(record))
            if is_free:
                self._reserved[identifier] = record.depth, 0
        if refusal:
            self.unpaid(identifier, refusal)
        return is_free

    def _others(self, record: Record) -> list[Record]:
        """Return the other jobs that may be charged at any time: those of sessions and of tables being opened."""
        return list(map(self._jobs.get, (self._jobs.running | set(self._reserved)) - {record.id}))

    def _not_allowed(self, record: Record, asked: Question) -> str:
        """Return why our rules or a missing input keep a job from running now; empty if nothing does."""
        decision, by_rule = self._gate.allows_now(asked), record.ours.by not in (OPERATOR, PROPOSER)
        if decision.is_past_consent or (by_rule and decision.effect != "permit"):
            return decision.reason
        if missing := self.missing(record):
            remedy = f"smc approve {record.id[:8]} --input {missing[0]}=VALUE"
            return f"needs {', '.join(missing)} to be typed: {remedy}"
        return ""

    def inputs(self, record: Record) -> Inputs:
        """Return this party's inputs to a job. Raise InputError if its table no longer exists."""
        inputs = self._gate.inputs(record.party, record.table, record.peer, self._inputs.of(record.id))
        return replace(inputs, keep=partial(self._keep, record.id))

    def _keep(self, identifier: str, text: str) -> None:
        with self._log.reading():
            place = SidecarFiles(self._log.path)
        place.write_own_result(identifier, text.encode())

    def missing(self, record: Record) -> list[str]:
        """Return the inputs that the operator still has to type for a job."""
        try:
            return record.task.missing(self.inputs(record))
        except InputError:  # the table or circuit is missing: the session will report it
            return []

    def openings(self, identifier: str) -> Stored:
        """Return the stored openings of a job's step under way."""
        with self._log.reading():
            return self._jobs.store.openings(identifier)

    def met(
        self,
        identifier: str,
        depth: int,
        profile: str,
        both: Commitments | None = None,
        repeats: str = "",
        rows: Committed | None = None,
    ) -> None:
        """Record that the session has begun: both parties go on from this step, with these commitments to rows.

        `begin` has reserved the job's price; it is spent when the first share leaves (`opening_leaves`). Sessions
        without progress are limited, since each could open a level's values with other rows. The record is not flushed
        to disk here: it is there before a share of this session is announced, because the share is written later.

        Args:
            identifier: The job.
            depth: Step from which both go on.
            profile: The profile; empty if nothing is computed.
            both: Commitments of both parties, if the step needs rows.
            repeats: Identifier of the earlier job that answers this one, if any.
            rows: Our commitment, if we are a holder of rows.

        Raises:
            BudgetError: The price does not fit.
            ProtocolError: The peer's commitment has changed, or too many sessions have made no progress.
        """
        with self._log.writing(later=True):
            record = self._get_running(identifier)
            limit = self._offers.tries(record.table)
            tries = max(0, record.tries - self._spared[identifier])
            if profile and tries >= limit:
                raise ProtocolError(f"{limit} sessions broke without progress, so the job has failed; propose it anew")
            job, who, version = record.proposal, self._jobs.who(record), self._offers.version(record.table)
            address = self._parts.address(record.peer)
            started = kinds.Started(digest=job.digest, depth=depth, profile=profile, address=address)
            committed: list[Event] = []
            if rows is not None and record.ours.rows is None:
                committed = [self._declared(record, rows=rows.model_dump())]
            if both is not None:
                known = record.participants["peer"].rows
                commitment.check(both, known, job, who.peer)
                committed = [] if known else [kinds.BothCommitted(ours=both.ours, theirs=both.theirs)]
            if profile and record.charged is None and (refusal := self._accounts.refusal(record)):
                raise BudgetError(refusal)
            same = not record.sessions or record.version == version  # otherwise its answer belongs to no version
            begun = {"version": version if same else "", "repeats": repeats or record.repeats}
            self._jobs.apply(record, started, Unlogged({**begun, "tries": tries + bool(profile)}), *committed)
        self._spared.pop(identifier, None)

    def spare(self, identifier: str) -> None:
        """Uncount a session that `met` has counted as a try: a machine's trouble ended it before it opened anything.

        The correction is written when the next session begins, since nothing can be written on a full disk. A restart
        drops it.
        """
        self._spared[identifier] += 1

    def write_opening(self, identifier: str, opening: Written) -> None:
        """Store our share of an opening before it leaves.

        Args:
            identifier: The job.
            opening: The opening.
        """
        with self._log.writing():
            self._get_running(identifier)
            self._jobs.store.write_opening(identifier, opening)

    def opening_leaves(self, identifier: str, opening: Leaving) -> None:
        """Record that our share of an opening leaves. Charge the job's price, unless it was charged before.

        Args:
            identifier: The job.
            opening: The opening.

        Raises:
            BudgetError: The price does not fit, which the reservation in `begin` should prevent.
        """
        with self._log.writing():
            record = self._get_running(identifier)
            if record.charged is None and (refusal := self._accounts.refusal(record)):
                raise BudgetError(refusal)
            self._jobs.store.opening_leaves(identifier, opening)
            self._charge(record)

    def pay(self, identifier: str, step: int) -> None:
        """As a holder of rows, charge the job's price to our table, once, and declare that a step is paid.

        Args:
            identifier: The job.
            step: The step.

        Raises:
            BudgetError: The price does not fit, which the reservation in `begin` should prevent.
        """
        with self._log.writing():
            record = self._get_running(identifier)
            if record.charged is None and (refusal := self._accounts.refusal(record)):
                raise BudgetError(refusal)
            record = self._charge(record)
            if step not in record.ours.paid:
                record = self._jobs.apply(record, self._declared(record, paid=[*record.ours.paid, step]))
        self._jobs.tell(record)  # the standing link brings the nodes the head of our log, which the charge is part of

    def check_paid(self, identifier: str, holder: str, step: int) -> None:
        """Raise ProtocolError unless a holder has declared here that it has paid for a step.

        Args:
            identifier: The job.
            holder: Name of the holder.
            step: The step.
        """
        record = self._get_running(identifier)
        side = record.side_of(holder)
        if side is None or step not in record.said_by(side).paid or record.said_by(side).rows is None:
            raise ProtocolError(f"holder {holder} has not declared that it has paid for the step")

    def reached(self, identifier: str, state: Any, total: Cost, step: int = 0, bits: int = 0) -> None:
        """Keep a checkpoint: the state after the steps that are decided.

        The bits of the next step, if not booked yet, are reserved for `counted`.

        Args:
            identifier: The job.
            state: The checkpoint, as JSON.
            total: Cost of the session so far.
            step: The next step.
            bits: Bits that the next step opens at most.

        Raises:
            BitsError: The bits do not fit.
            ProtocolError: The state contradicts that of earlier sessions, so rows have changed somewhere.
        """
        with self._log.writing():
            record = self._checkpoint(self._get_running(identifier), state, total)
            self._reserved.pop(identifier, None)
            bits -= sum(charge.bits for charge in record.bits if charge.step == step)  # a failure has booked a part
            if bits <= 0 or not record.gives:
                return
            others = []
            for other in self._others(record):
                _, reserved = self._reserved.get(other.id, (0, 0))
                others.append((other, max(reserved, self._accounts.promised(other))))
            fits = self._accounts.bits_fit(record, bits, others)
            if fits:
                self._reserved[identifier] = step, bits
        if not fits:
            raise BitsError("its exact bits exceed the bits that remain in the budget")

    def counted(self, identifier: str, step: int) -> None:
        """Book the bits of a step that begins now. They are booked once, however often the step is begun.

        Args:
            identifier: The job.
            step: Number of the step.
        """
        with self._log.writing():
            record = self._get_running(identifier)
            if identifier in self._reserved:
                self._jobs.apply(record, *self._spendings.counted(record, step, self._reserved[identifier][1]))
        self._reserved.pop(identifier, None)

    def computed(self, identifier: str, state: Any, total: Cost, report: dict[str, Any]) -> None:
        """End a successful session: keep the result and sign it.

        Args:
            identifier: The job.
            state: The final state, as JSON.
            total: Cost of the session.
            report: Report of the cost for the operator.
        """
        with self._log.writing():
            record = self._jobs.get(identifier)
            if self._jobs.has_ended(record):
                return
            finish = self._signed if record.number is None else self._gave
            record = finish(record, state, total, report)
        self._jobs.tell(record)

    def broke(self, identifier: str, why: str, total: Cost) -> None:
        """Record that the session was cut short; the job goes on when the peer is back.

        Args:
            identifier: The job.
            why: Reason for our operator.
            total: Cost of the session.
        """
        with self._log.writing():
            record = self._jobs.get(identifier)
            noted = Unlogged({"note": why, "current": outcome.traffic(total)})
            self._jobs.apply(record, noted, _interrupted(record, why, total))

    def table_away(self, identifier: str, why: str) -> None:
        """Record that the job waits for our table. The peer learns that; only our operator learns the reason.

        Args:
            identifier: The job.
            why: The reason.
        """
        self._waits(identifier, "table", f"waits for its table: {why}")

    def table_there(self, identifier: str) -> None:
        """Record that the job no longer waits for our table."""
        self._waits(identifier, "", "")

    def failing(self, identifier: str, error: BaseException) -> None:
        """Charge a job before others notice an error that our own rows may have caused: it says something about them.

        A job with noise pays its price, and one with exact answers the bits of the step ahead, at least one. The job
        may have ended already: another participant can report the end first, without the reason.

        Args:
            identifier: The job.
            error: The error, for our operator.
        """
        with self._log.writing():
            record = self._jobs.apply(self._jobs.get(identifier), Unlogged({"note": without_cells(error)}))
            if record.charged is None and self._accounts.refusal(record) and not self._accounts.too_much(record):
                return  # it could only repeat an earlier answer, so its session has not read our rows
            record = self._charge(record)
            step, bits = self._reserved.pop(identifier, (record.depth, 0))
            is_booked = step in (charge.step for charge in record.bits)
            if record.gives and record.task.disclosure.bits.at_most != 0 and not is_booked:
                self._jobs.apply(record, *self._spendings.counted(record, step, max(1, bits)))

    def failed(
        self, identifier: str, error: BaseException, public: str, tried: tuple[bool, Cost] | None = None
    ) -> None:
        """End a job that cannot go on. After an error of unknown origin it goes on while it has tries left.

        Args:
            identifier: The job.
            error: The error, for our operator.
            public: The reason for the peer.
            tried: After an error of unknown origin: whether the session has begun, and already counts as a try; and its
                cost.
        """
        begun, total = tried or (False, Cost())
        with self._log.writing():
            record = self._jobs.get(identifier)
            if self._jobs.has_ended(record):
                return
            tries = record.tries + (tried is not None and not begun)
            is_over = tried is None or (tries >= self._offers.tries(record.table) and record.ours.end != "computed")
            current = outcome.traffic(total) if begun else record.current
            noted = {"note": without_cells(error), "current": current, "tries": tries}
            record = self._jobs.apply(record, Unlogged(noted))
            if is_over:
                record = self._jobs.apply(record, *failed(record, public, error))
            elif begun:
                why = f"internal error: {type(error).__name__}"
                self._jobs.apply(record, _interrupted(record, why, total))
        if is_over:
            self._jobs.tell(record)

    def end_overdue(self, peer: str) -> None:
        """End the jobs with holders that have waited for a participant longer than their proposals allow."""
        for record in self._jobs.overdue(peer):
            assert record.proposal.holding is not None
            why = f"it has no result within {record.proposal.holding.wait_hours} hours of its proposal (wait_hours)"
            self.failed(record.id, LinkError(why), why)

    def unpaid(self, identifier: str, why: str) -> None:
        """End a job that must be computed while our budget does not allow it.

        Args:
            identifier: The job.
            why: Reason of the refusal.
        """
        with self._log.writing():
            record = self._jobs.get(identifier)
            if self._jobs.has_ended(record):
                return
            record = self._refuse(record, why)
        self._jobs.tell(record)

    def over(self, identifier: str) -> None:
        """Record that no session of this job is under way any more."""
        with self._log.lock:
            self._jobs.running.discard(identifier)
            self._reserved.pop(identifier, None)
            if (record := self._jobs.store.get(identifier)) is None or self._jobs.has_ended(record):
                self._unsigned.pop(identifier, None)
        self._jobs.changed(identifier)

    # Writing.

    def _get_running(self, identifier: str) -> Record:
        """Return the job of a session. Raise LinkError if it has ended meanwhile: then the session must stop."""
        record = self._jobs.get(identifier)
        if self._jobs.has_ended(record):
            raise LinkError(f"the job was ended: it is {self._jobs.state(record)}")
        return record

    def _checkpoint(self, record: Record, encoded: Any, total: Cost) -> Record:
        """Keep the state if it is further than the stored one, and record which of its values this session has opened.

        At a session's first step nothing is written and the disk is not waited for.
        """
        task = record.task
        stored, state = task.states.decode(record.tree), task.states.decode(encoded)
        steps = task.states.steps(state)
        common = min(task.states.steps(stored), steps)
        if task.states.cut(stored, common) != task.states.cut(state, common):
            raise ProtocolError(
                f"a different {task.about.noun} than before: a party's rows have changed; propose the job anew"
            )
        if record.depth == steps == task.states.steps(stored):
            return record
        steps_ahead = range(record.depth, steps)
        opened = [kinds.Opened(depth=step, opened=task.disclosure.opened(state, step)) for step in steps_ahead]
        reached = {"depth": steps, "current": outcome.traffic(total)}
        if steps > task.states.steps(stored):  # this session has made progress: it is the first one of the next step
            reached |= {"tree": task.states.encode(state), "tries": 1}
        return self._jobs.apply(record, *opened, Unlogged(reached))

    def _charge(self, record: Record) -> Record:
        """Charge the job's price to our table, unless it is charged already."""
        if not record.task.disclosure.spends or record.charged is not None or not record.gives:
            return record
        return self._jobs.apply(record, *self._spendings.spent(record, self._offers.person(record.table)))

    def _signed(self, record: Record, state: Any, total: Cost, report: dict[str, Any]) -> Record:
        """End a session that has computed the result: sign it."""
        record = self._checkpoint(record, state, total)
        if not record.repeats:  # a private kind that opens nothing would be free otherwise
            record = self._charge(record)
        job, current = record.proposal, outcome.traffic(total)
        result = outcome.result(job, job.task.states.decode(state), record.repeats)
        entry = {"outcome": result[job.task.about.noun], "opened": result["opened"], "repeats": record.repeats}
        spent, costs = outcome.added(record.spent, current), Unlogged({"cost": report, "current": current})
        record = self._jobs.apply(record, costs, kinds.Finished.model_validate({**entry, **spent}))
        theirs = record.said_by("peer").signed
        if theirs is not None and theirs.result != result:
            record = self._jobs.apply(record, *failed(record, DIFFERENT, ProtocolError(DIFFERENT)))
        else:
            ours = self._log.sign(result)
            both = [] if theirs is None else [both_signed(self._jobs.who(record), ours, theirs)]
            record = self._jobs.apply(record, Unlogged({}, {"signed": ours}), *both)
        return record

    def _gave(self, record: Record, state: Any, total: Cost, report: dict[str, Any]) -> Record:
        """End a session in which we have given shares of our rows, with the result if we get it."""
        if state is not None:
            record = self._checkpoint(record, state, total)
        costs = Unlogged({"cost": report, "current": outcome.traffic(total)})
        return self._jobs.apply(record, costs, self._declared(record, end="computed"))

    @staticmethod
    def _declared(record: Record, **news: Any) -> kinds.Declared:
        return kinds.Declared(party="us", digest=record.proposal.digest, said=news)

    def _waits(self, identifier: str, what: Literal["", "table"], note: str) -> None:
        with self._log.writing():
            record = self._jobs.get(identifier)
            news = record.ours.waits != what
            if self._jobs.has_ended(record) or not (news or record.note != note):
                return
            record = self._jobs.apply(record, Unlogged({"note": note}, {"waits": what}))
        self._jobs.tell(record, say=news)

    def _refuse(self, record: Record, why: str) -> Record:
        return self._jobs.apply(record, Unlogged({"note": ""}), *decided("refused", BUDGET, why))


def _interrupted(record: Record, why: str, total: Cost) -> kinds.Interrupted:
    sent, received = total.bytes_sent, total.bytes_received
    return kinds.Interrupted(why=why, depth=record.depth, bytes_sent=sent, bytes_received=received)
