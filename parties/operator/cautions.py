"""What an operator should notice before consenting: settings that protect nobody, and more than a table usually tells.

The usual of a table is what the jobs done on it have told. A job tells more if it
- opens exact joint numbers, and none of them did;
- spends a larger epsilon than each of them did;
- says in its list of what is revealed a sentence that none of theirs has, numbers aside;
- lets leaves speak of one person, and none of them did;
- reads a column of ours that none of them read.
A table on which nothing was done has no usual. Page and commands ask once more before such a job is approved. The
sentences may have the peer's words in them: who shows them makes these visible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from parties.base.text import listed
from parties.operator.interface import JobView, Operator
from protocols.release.promise import much

LOOKED_AT = 1000  # jobs done, over which a table's usual is taken
CHUNK = 500  # jobs at once
ONE_PERSON = "Leaves may speak of one person: neither k nor l asks a leaf for more rows than one."


def cautions(job: JobView) -> list[str]:
    """Return what is to be noticed of the job alone, a sentence each."""
    parameters = job.parameters
    exact_tree = "plain" in parameters  # of a tree with noise, which hides rows, this is no parameter
    ruled = any((parameters.get(name) or 0) > 1 for name in ("k", "l"))  # type: ignore[operator]
    epsilons = [parameters.get(name) for name in ("epsilon", "support_epsilon")]
    weak = [sentence for epsilon in epsilons if isinstance(epsilon, float | int) for sentence in much(epsilon)]
    return [*([ONE_PERSON] if exact_tree and not ruled else []), *weak]


def done_before(operator: Operator, job: JobView) -> list[JobView]:
    """Return the jobs done on the same table of ours, the last `LOOKED_AT` of any table looked through."""
    looked: list[JobView] = []
    some = operator.jobs(CHUNK, None, ("done",))
    while some and len(looked) < LOOKED_AT:
        looked += some
        some = operator.jobs(CHUNK, some[-1].id, ("done",))
    return [earlier for earlier in looked if earlier.table == job.table and earlier.id != job.id]


def more_than_usual(operator: Operator, job: JobView) -> list[str]:
    """Return why a job that waits for our consent is asked about once more, a sentence each; nothing if it is not."""
    return unusual(job, done_before(operator, job)) if job.waits_for_us else []


def question(job: JobView) -> str:
    """Return what stands before these sentences."""
    return f"This tells more than the jobs done on {job.table} so far:"


def unusual(job: JobView, done: Sequence[JobView]) -> list[str]:
    """Return how a job tells more than those done on its table, a sentence each."""
    if not job.table or not done:
        return []
    reasons = []
    if job.exact and not any(earlier.exact for earlier in done):
        reasons.append("It opens joint numbers exactly, without noise.")
    most = max((earlier.price.epsilon for earlier in done if earlier.price is not None), default=None)
    if job.price is not None and most is not None and job.price.epsilon > most:
        reasons.append(f"It spends epsilon {job.price.epsilon:.4g}; the most so far was {most:.4g}.")
    known_sentences = {_bare(sentence) for earlier in done for sentence in earlier.reveals}
    reasons += [f"It reveals: {sentence}" for sentence in job.reveals if _bare(sentence) not in known_sentences]
    known = {caution for earlier in done for caution in cautions(earlier)}
    reasons += [caution for caution in cautions(job) if caution not in known]
    new = [column for column in job.columns if column not in {name for earlier in done for name in earlier.columns}]
    if new:
        reasons.append(f"It reads {listed(new)}.")
    return reasons


def _bare(sentence: str) -> str:
    """Return a sentence without its numbers."""
    return re.sub(r"\d[\d.,]*(e-?\d+)?", "#", sentence)
