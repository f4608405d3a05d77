"""Views of privacy budgets for an operator. An epsilon is None if there is none, such as for rho without a delta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from parties.operator.view import View

STOPS = "it stops before a step that needs more"


class LeftFor(View):
    """Number of equal questions of this epsilon that a table's remaining budget allows if it is spent on them alone."""

    what: str  # such as "noisy count"
    epsilon: float
    times: int  # counted up to 10,000

    @property
    def words(self) -> str:
        """Phrase with the number of questions that the budget still allows."""
        return f"{self.times:,} {self.what}{'' if self.times == 1 else 's'} of epsilon {self.epsilon:g}"


def enough_for(questions: Sequence[LeftFor]) -> str:
    """Return a phrase: how often each question that fits does so, if the budget is spent on it alone."""
    phrases = [question.words for question in questions if question.times]
    return " or ".join(phrases) or f"no {questions[0].what} of epsilon {questions[0].epsilon:g}" if questions else ""


def parts(of_share: float | None, of_table: float | None) -> str:
    """Return a phrase with the remaining share of the peer and budget of the table; empty if equal or unknown.

    Args:
        of_share: Remaining budget of the peer's share; None if unknown.
        of_table: Remaining budget of the table; None if unknown.
    """
    if of_share is None or of_table is None or of_share == of_table:
        return ""
    return f"{_figure(of_share)} of its share, {_figure(of_table)} of the table"


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


class Price(View):
    """The price of a job on our table, charged once, when its first share of an answer leaves.

    `epsilon` is the sum of pure losses or, if some are given as rho, the least epsilon at the delta `at`, which is 0
    for pure losses. `delta` is the additional delta of its mechanisms. `uses` are its mechanisms, a phrase each.
    """

    epsilon: float
    at: float
    rho: float
    delta: float
    adjacency: str
    uses: list[str]
    charged_at: str | None = None  # ISO 8601, UTC; None: not spent yet, or free
    left: float | None = None  # epsilon left to the peer now; None: no bound, or it is charged already
    of_share: float | None = None  # the epsilon left of the peer's share
    of_table: float | None = None  # and of the whole table; `left` is the lesser
    after: float | None = None  # epsilon left once this job and the `approved` ones are charged
    approved: int = 0  # jobs that we have approved and that are not charged yet
    fits: bool = True  # both by itself, and beside those
    enough_for: list[LeftFor] = Field(default_factory=list)  # after it
    repeats: str = ""  # the earlier job on the same versions whose result it returns; then it spends nothing

    @property
    def words(self) -> str:
        """Phrase that describes the privacy cost of a job."""
        at = f" at delta {self.at:.3g} (by Gaussian noise {self.rho:.4g})" if self.at else ""
        besides = f", delta {self.delta:.3g} besides" if self.delta else ""
        return f"epsilon {self.epsilon:.4g}{at}{besides}"

    @property
    def effect(self) -> str:
        """Effect of a job on the budget, as a phrase; empty if the budget is unlimited or unknown."""
        if self.left is None or self.after is None:
            return ""
        jobs = f" and {self.approved} approved job{'s' * (self.approved > 1)}" if self.approved else ""
        outcome = f"after it{jobs} {self.after:.4g}, enough for {enough_for(self.enough_for)}"
        if not self.fits:
            outcome = f"and the job does not fit{f' beside {self.approved} approved before it' if jobs else ''}"
        whose = parts(self.of_share, self.of_table)
        return f"of the table's budget epsilon {self.left:.4g} is left{whose and f' to the peer ({whose})'}, {outcome}"

    @property
    def standing(self) -> str:
        """The state of the price in words: not spent yet, spent, or nothing for a repeated result."""
        if self.repeats:
            return f"nothing was spent: it returns the result of job {self.repeats[:8]}, on the same tables"
        return "not spent yet" if self.charged_at is None else "spent"


class Exposure(View):
    """Bits about our table that a job's exact answers open; `at_most` is None if the bits are known step by step."""

    at_most: int | None
    opened: int  # so far, booked before each step
    left: int | None = None  # to the peer, now; None: no bound, or unknown
    of_share: int | None = None  # left of the peer's share of the table's bound
    of_table: int | None = None  # and of the table's bound; `left` is the lesser

    @property
    def words(self) -> str:
        """Opened and remaining bits as a phrase for the page."""
        bits = (
            "known step by step" if self.at_most is None else f"at most {self.at_most:,} bit{'s' * (self.at_most > 1)}"
        )
        whose = parts(self.of_share, self.of_table)
        remainder = "" if self.left is None else f"; {self.left:,} are left here{whose and f' ({whose})'}: {STOPS}"
        opened = f", {self.opened:,} opened so far" if self.opened else ""  # by this job, not of the table
        return f"{bits}{opened}{remainder}"


class TableBits(View):
    """The bits of a table that exact answers opened in the window, also by peer, and ever. `bound` None: no bound."""

    spent: int
    ever: int
    bound: int | None
    left: int | None
    peers: dict[str, int]

    @property
    def words(self) -> str:
        """Opened and remaining bits as a phrase for the page."""
        remainder = "not bounded" if self.left is None else f"{self.left:,} left of {self.bound:,}"
        ever = f", {self.ever:,} ever" if self.ever > self.spent else ""
        return f"{self.spent:,} opened by exact answers{ever}; {remainder}"


class Totals(View):
    """The joint spending of some jobs.

    `epsilon` is the sum of pure losses, None if some are given as rho. `rho` is the sum of all losses as rho.
    `at_delta` is the least epsilon at the table's fixed delta, all as rho or some pure losses added, converted by
    OpenDP. `advanced` is that epsilon by advanced composition, for comparison.
    """

    epsilon: float | None
    delta: float
    rho: float
    at_delta: float | None
    advanced: float | None


class PeerSpent(View):
    """Spending of one peer's jobs on a table in the present window, and the epsilon left to the peer.

    The epsilon left is the remainder of the peer's share, or of the whole table if that binds and is less.
    """

    peer: str
    totals: Totals
    left: float | None = None  # None: no bound


class ChargeView(View):
    """The charge of one job, and its time.

    `uses` are the job's mechanisms, a phrase each. `counts` is true if the charge is in the budget's window now.
    """

    job: str
    at: str
    peer: str
    epsilon: float | None
    rho: float
    delta: float
    uses: list[str]
    counts: bool


class TableBudget(View):
    """A table: its budget, the spending that counts now, and that of all time.

    `budget` is None for a table without one. `spent` and `left`, also of a peer's share, are for one row or person,
    like the budget. `spent` is at `fixed_delta` unless all losses are pure. `left` is for one more pure question.
    `now`, `ever`, the totals by peer and the epsilon of each job are the price of `group` rows, or people. `history`
    has a point (ISO 8601, UTC; spent then) for each of the last changes of `spent`. `also` are other names of the same
    rows: charges under them count here.
    """

    table: str
    budget: float | None
    delta: float
    per: str
    adjacency: str
    group: int
    people: bool = False
    fixed_delta: float
    spent: float | None
    left: float | None
    now: Totals
    ever: Totals
    peers: list[PeerSpent]
    jobs: list[ChargeView]
    history: list[tuple[str, float]]
    bits: TableBits | None = None
    enough_for: list[LeftFor] = Field(default_factory=list)
    also: list[str] = Field(default_factory=list)


class Simulation(View):
    """The effect of a job on the budget of a table, in `unit`: epsilon, rho or delta.

    `spent`, `asked` and `left` are those of the deciding account, the peer's share or the whole table, before the job.
    `after` is the least that is left of both once this job and all approved ones are charged; None if it is refused.
    `of_share` and `of_table` are the epsilons left of both now; None if unknown.

    `why` is the reason for a refusal. `earlier` names the job whose result would be returned for free, if the peer's
    table is also declared unchanged.
    """

    table: str
    unit: str
    spent: float | None
    asked: float | None
    left: float | None
    after: float | None
    refused: bool
    why: str
    earlier: str
    exact: bool
    price: Price | None
    exposure: Exposure | None = None
    enough_for: list[LeftFor] = Field(default_factory=list)  # after the job
    of_share: float | None = None
    of_table: float | None = None


class Registered(View):
    """An entry for a public register of epsilons, and the signature of its canonical JSON, hexadecimal."""

    entry: dict[str, Any]
    fingerprint: str
    signature: str
