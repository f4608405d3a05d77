"""What sessions do to jobs: when one begins, what it has reached, how it ends; each change with its record."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar

from parties.jobs.inputs import Inputs
from parties.link import tls
from parties.node import commitment, outcome
from parties.node.accounts import Accounts
from parties.node.budget.account import BudgetError
from parties.node.commitment import Commitments
from parties.node.counting import BitsError
from parties.node.gate import BUDGET, AskFirstError, Gate, Surroundings
from parties.node.job_index import day_of_approval
from parties.node.offers import Offers
from parties.node.openings import Leaving, Written
from parties.node.peers import Peers
from parties.node.point.xacml import Word
from parties.node.register import Register, now
from parties.node.store import Record
from parties.node.typed_inputs import TypedInputs
from parties.operator.interface import ENDED
from parties.tables.unfit import without_cells
from smc.errors import InputError, LinkError, ProtocolError
from smc.meter import Cost

MOST_UNSIGNED = 20  # sessions of a job that is computed here: they open nothing, and each is some entries of the log
Done = TypeVar("Done")
DIFFERENT = "the two parties have signed different results"


class Runs(Register):
    """The jobs as sessions change them. `addresses` are the peers', where they are known."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        peers: Peers,
        gate: Gate,
        offers: Offers,
        inputs: TypedInputs,
        speakers: Mapping[str, Callable[[str], None]],
        changed: Callable[[str], None],
    ) -> None:
        super().__init__(connection, peers, speakers, changed)
        self._gate, self._offers, self._inputs = gate, offers, inputs
        self.approvals = gate.approvals
        self.accounts = Accounts(offers, self, peers)
        self.addresses: dict[str, str | None] = {}
        self.groups: dict[str, str] = {}  # of the key exchange with each peer
        self.tls: dict[str, str] = {}  # the version of the connection with each
        self._spared = Counter[str]()  # sessions that are no tries, since the last one began
        self._reserved: dict[str, tuple[int, int]] = {}  # of jobs under way: a step that may begin, and its bits

    def asking(self, act: Callable[[Word | None], Done]) -> Done:
        """Do this, and if the decision point has to be asked first, ask it, and do it with its word.

        Whoever calls it holds no lock: that may take some seconds.
        """
        try:
            return act(None)
        except AskFirstError as first:
            return act(self._gate.ask(first.request))

    def begin(self, identifier: str, peer: str, word: Word | None = None) -> Record | None:
        """Begin a session of this job with this peer, if it may: until `over` no other can.

        `InputError` if it must not run, or is not with this peer; and if the peer does not sign what is computed here,
        however often.

        None if it must not run now: what a rule has approved is put to the rules again, which may know times. So is
        the budget: a job that does not fit any more is refused, and one that fits beside those under way only if they
        are not charged has to wait for them. What is left is put to the decision point, if there is one: `word` is what
        it says. `AskFirstError` if it has to be asked.
        """
        with self._writing():
            record = self._get(identifier)
            if record.peer != peer:
                raise InputError("there is no such job here")
            if record.ours.end == "computed" and self._unsigned[identifier] >= MOST_UNSIGNED:
                raise InputError("the job is computed here, and the peer does not sign its result")
            if self.state(record) not in ("queued", "interrupted"):
                raise InputError(f"the job is {self.state(record)}")
            if record.ours.waits:
                raise InputError("the job waits for its table")
            if why := self.rolled_back():
                self._not_now(record, why)
                return None
            by_rule = record.ours.by not in ("operator", "proposer")
            asked = record.ours.proposal, self._who(record), self._around(record), record.proposed_by
            decision = self._gate.allows_now(*asked)
            if decision.is_past_consent or (by_rule and decision.effect != "permit"):
                self._not_now(record, decision.reason)
                return None
            if missing := self._missing(record):
                how = f"smc approve {record.id[:8]} --input {missing[0]}=VALUE"
                self._not_now(record, f"needs {', '.join(missing)} to be typed: {how}")
                return None
            refused = None
            if record.charged is None:
                if why := self.accounts.too_much(record):
                    refused = self._refuse(record, why)
                elif why := self.accounts.too_much_beside(record, map(self._get, self._running)):
                    self._not_now(record, f"another job under way may need what is left: {why}")
                    return None
            if refused is None:
                if why := self._gate.objection(*asked, word):
                    self._not_now(record, why)
                    return None
                if record.ours.end == "computed":
                    self._unsigned[identifier] += 1
                self._running.add(identifier)
        if refused is not None:
            self._tell(refused)
            return None
        self._changed(identifier)
        return record

    def inputs(self, record: Record) -> Inputs:
        """Return what this party brings to a job. `InputError` if its table is not there any more."""
        return self._offers.inputs(record.party, record.table, self._inputs.of(record.id))

    def met(
        self, identifier: str, depth: int, profile: str, both: Commitments | None = None, repeats: str = ""
    ) -> None:
        """Record that the session has begun: both go on from this depth, with these commitments to rows.

        What the job spends is reserved by then (see `begin`), and spent when the first share leaves (`opening_leaves`).
        `BudgetError` if it does not fit.

        `ProtocolError` if the peer's is not what it was, or if too many sessions have got no further than those before:
        what a level opens could be opened with other rows each time. Nobody waits for the disk: it is there before
        a share of this session is announced, for that is written after it.
        """
        with self._writing(later=True):
            record = self._get_running(identifier)
            most = self._offers.tries(record.table)
            tries = max(0, record.tries - self._spared[identifier])
            if profile and tries >= most:
                raise ProtocolError(f"{most} sessions were cut short and got no further: it does not go on by itself")
            self._journal.started(record, depth, profile, self.addresses.get(record.peer))
            changes: dict[str, Any] = {}
            if both is not None:
                commitment.check(both, record.peer_rows, record.ours.proposal, self._who(record).peer)
                if not record.peer_rows:
                    self._journal.committed(record, both)
                changes = {"fingerprint": both.ours.rows, "peer_rows": both.theirs.rows}
            spent = outcome.added(record.spent, record.current)
            changes |= {"sessions": record.sessions + 1, "spent": spent, "current": {}, "depth": depth}
            changes |= {"tries": tries + bool(profile), "profile": profile or record.profile}
            version = self._offers.version(record.table)
            same = not record.sessions or record.version == version  # else its answer is of no version of the rows
            changes |= {"repeats": repeats or record.repeats, "version": version if same else ""}
            if profile and record.charged is None and (refusal := self.accounts.refusal(record)):
                raise BudgetError(refusal)
            self._put(record.model_copy(update={"started_at": record.started_at or now(), "note": "", **changes}))
        self._spared.pop(identifier, None)

    def spare(self, identifier: str) -> None:
        """Do not count a session as a try, whose `met` has: a machine's trouble ended it before it opened anything.

        It is taken off when the next one begins. Until a restart: nothing can be written on a full disk.
        """
        self._spared[identifier] += 1

    def write_opening(self, identifier: str, opening: Written) -> None:
        """Write down our share of an opening, which has not left."""
        with self._writing():
            self._get_running(identifier)
            self._store.write_opening(identifier, opening)

    def opening_leaves(self, identifier: str, opening: Leaving) -> None:
        """Record that our share of an opening leaves: now at the latest what the job spends is spent, once.

        `BudgetError` if it does not fit, which what `begin` reserves should prevent.
        """
        with self._writing():
            record = self._get_running(identifier)
            if record.charged is None and (refusal := self.accounts.refusal(record)):
                raise BudgetError(refusal)
            self._store.opening_leaves(identifier, opening)
            self._charge(record)

    def reached(self, identifier: str, state: Any, total: Cost, step: int = 0, bits: int = 0) -> None:
        """Keep the checkpoint, as JSON: all steps in it are decided. `total` is the session's cost so far.

        The bits that the next step opens, if they are not booked yet, are reserved for `counted`. `BitsError` if they
        do not fit. `ProtocolError` if the state is not what sessions before have found: then rows have changed
        somewhere.
        """
        with self._writing():
            record = self._checkpoint(self._get_running(identifier), state, total)
            self._reserved.pop(identifier, None)
            if not bits or step in (charge.step for charge in record.bits):
                return
            others = []
            for other in map(self._get, self._running | set(self._reserved)):
                _, reserved = self._reserved.get(other.id, (0, 0))
                others.append((other, max(reserved, self.accounts.promised(other))))
            fits = self.accounts.bits_fit(record, bits, others)
            if fits:
                self._reserved[identifier] = step, bits
        if not fits:
            raise BitsError("its bits do not fit what is left")

    def counted(self, identifier: str, step: int) -> None:
        """Book the bits that a step opens: it begins now. Once, however often it is begun."""
        with self._writing():
            record = self._get_running(identifier)
            if identifier in self._reserved:
                charge = self._journal.counted(record, self._who(record), step, self._reserved[identifier][1])
                self._put(record.model_copy(update={"bits": (*record.bits, charge)}))
        self._reserved.pop(identifier, None)

    def computed(self, identifier: str, state: Any, total: Cost, report: dict[str, Any]) -> None:
        """End a session that went well: keep the result, and sign what it says."""
        with self._writing():
            record = self._get(identifier)
            if self.state(record) in ENDED:
                return
            record = self._checkpoint(record, state, total)
            record = record.model_copy(update={"cost": report, "current": outcome.traffic(total)})
            if not record.repeats:  # a kind that spends and opens nothing would otherwise be for nothing
                record = self._charge(record)
            result = outcome.result(
                record.ours.proposal, record.ours.proposal.task.states.decode(state), record.repeats
            )
            self._journal.finished(record, result)
            signed = self._journal.sign(result)
            record = record.model_copy(
                update={"ours": record.ours.model_copy(update={"end": "computed", "signed": signed})}
            )
            if record.theirs is not None and record.theirs.signed is not None:
                if record.theirs.signed.result == result:
                    self._journal.signed(record, self._who(record))
                else:
                    record = self._end(record, "failed", DIFFERENT, ProtocolError(DIFFERENT))
            record = self._put(record)
        self._tell(record)

    def broke(self, identifier: str, why: str, total: Cost) -> None:
        """Record that the session was cut short; the job goes on when the peer is back."""
        with self._writing():
            record = self._get(identifier).model_copy(update={"note": why, "current": outcome.traffic(total)})
            self._journal.interrupted(record, why)
            self._put(record)

    def table_away(self, identifier: str, why: str) -> None:
        """Record that the job waits for our table: the peer is told that, our operator why too."""
        self._waits(identifier, "table", f"waits for its table: {why}")

    def table_there(self, identifier: str) -> None:
        """Record that the job does not wait for our table any more."""
        self._waits(identifier, "", "")

    def failed(self, identifier: str, error: BaseException, public: str, by_rows: bool = False) -> None:
        """End a job that cannot go on; the error is for our operator, `public` is what the peer is told.

        `by_rows`: our own rows may be why. That tells the peer something of them, so it is charged as an answer is.
        """
        with self._writing():
            record = self._get(identifier).model_copy(update={"note": without_cells(error)})
            if self.state(record) in ENDED:
                return
            if by_rows:
                record = self._charge(record)
            record = self._end(record, "failed", public, error)
        self._tell(record)

    def crashed(
        self, identifier: str, error: BaseException, public: str, begun: bool, total: Cost, by_rows: bool
    ) -> None:
        """Record that a session ended by an error that may be anybody's: the job goes on while it has tries left.

        Args:
            identifier: the job.
            error: what was raised; for our operator.
            public: what the peer is told if the job fails by it.
            begun: whether the session has begun, and counts as a try already.
            total: the session's cost.
            by_rows: whether our own rows may be why. That tells the peer something of them, so it is charged.
        """
        with self._writing():
            record = self._get(identifier).model_copy(update={"current": outcome.traffic(total)} if begun else {})
            if self.state(record) in ENDED:
                return
            if by_rows:
                record = self._charge(record)
            tries = record.tries + (not begun)
            is_over = tries >= self._offers.tries(record.table) and record.ours.end != "computed"
            record = record.model_copy(update={"note": without_cells(error), "tries": tries})
            if not is_over and begun:
                self._journal.interrupted(record, f"internal error: {type(error).__name__}")
            record = self._end(record, "failed", public, error) if is_over else self._put(record)
        if is_over:
            self._tell(record)

    def unpaid(self, identifier: str, why: str) -> None:
        """End a job that the session has found is to be computed, while our budget does not allow it."""
        with self._writing():
            record = self._get(identifier)
            if self.state(record) in ENDED:
                return
            record = self._refuse(record, why)
        self._tell(record)

    def over(self, identifier: str) -> None:
        """Record that no session of this job is under way any more."""
        with self._lock:
            self._running.discard(identifier)
            self._reserved.pop(identifier, None)
            if (record := self._store.get(identifier)) is None or self.state(record) in ENDED:
                self._unsigned.pop(identifier, None)
        self._changed(identifier)

    # How it is written.

    def _get_running(self, identifier: str) -> Record:
        """Return the job of a session. `LinkError` if it was ended meanwhile: then nothing of it may go on."""
        record = self._get(identifier)
        if self.state(record) in ENDED:
            raise LinkError(f"the job was ended: it is {self.state(record)}")
        return record

    def _checkpoint(self, record: Record, encoded: Any, total: Cost) -> Record:
        """Keep the state if it goes further than the one there is, and record what this session has opened of it.

        Where it begins nothing is written, and nobody waits for the disk: it is kept, or nothing, as `met` has it.
        """
        task = record.ours.proposal.task
        known, state = task.states.decode(record.tree), task.states.decode(encoded)
        steps = task.states.steps(state)
        common = min(task.states.steps(known), steps)
        if task.states.cut(known, common) != task.states.cut(state, common):
            raise ProtocolError(
                f"another {task.about.noun} than before: a party's rows have changed since the job began"
            )
        if record.depth == steps == task.states.steps(known):
            return record
        self._journal.opened(record, state, range(record.depth, steps))
        changes = {"current": outcome.traffic(total), "depth": steps}
        if steps > task.states.steps(known):  # this session has got further: of the next level it is the first
            changes |= {"tree": task.states.encode(state), "tries": 1}
        return self._put(record.model_copy(update=changes))

    def _charge(self, record: Record) -> Record:
        """Spend what the job spends of our table, unless it was spent before."""
        uses = record.ours.proposal.task.spends
        if not uses or record.charged is not None:
            return record
        charge = self._journal.spent(record, self._who(record), uses, self._offers.person(record.table))
        return self._put(record.model_copy(update={"charged": charge}))

    def _waits(self, identifier: str, what: Literal["", "table"], note: str) -> None:
        with self._writing():
            record = self._get(identifier)
            news = record.ours.waits != what
            if self.state(record) in ENDED or not (news or record.note != note):
                return
            ours = record.ours.model_copy(update={"waits": what})
            record = self._put(record.model_copy(update={"ours": ours, "note": note}))
        self._tell(record, say=news)

    def _missing(self, record: Record) -> list[str]:
        """Return what the operator has still to type."""
        try:
            return record.ours.proposal.task.missing(self.inputs(record))
        except InputError:  # the table or circuit has gone: the session will say so
            return []

    def _not_now(self, record: Record, why: str) -> None:
        """Note why a job must not run now, for our operator."""
        if record.note != why:
            self._put(record.model_copy(update={"note": why}))

    def _refuse(self, record: Record, why: str) -> Record:
        ours = record.ours.model_copy(update={"verdict": "refused", "by": BUDGET, "at": now(), "why": why[:500]})
        self._journal.verdict(record.id, "us", ours)
        return self._put(record.model_copy(update={"ours": ours, "reason": why, "note": ""}))

    def _around(self, record: Record) -> Surroundings:
        """Return what counts beside the job when it is judged."""
        at = datetime.now().astimezone()
        key = record.peer, record.table, at.date()
        known = self._store.get(record.id)
        itself = known is not None and (known.peer, known.table, day_of_approval(known)) == key
        today = self._index.approved[key] - itself
        waiting = self._index.of_peer[record.peer, "waiting"]
        group = self.groups.get(record.peer)
        return Surroundings(
            today,
            waiting,
            at,
            self.addresses.get(record.peer),
            self.accounts.too_much(record),
            tls=self.tls.get(record.peer) or None,
            key_exchange=group or None,
            post_quantum=None if group is None else group in tls.POST_QUANTUM,
        )
