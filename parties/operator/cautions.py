"""Warnings to an operator before consent: settings without protection, and unusual disclosures of a table.

The finished jobs on a table define its usual disclosures. A job reveals more if it
- opens exact joint numbers, and none of them did;
- spends a larger epsilon than each of them that spent any;
- lists a disclosure, numbers aside, that none of theirs has;
- has a warning about its parameters that none of them had, such as leaves that describe one person;
- reads a column of ours that none of them read.
A table without a finished job has no usual disclosures. Page and commands ask once more before such a job is approved.
The sentences may contain the peer's words: the caller that shows them must make these printable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from parties.base.text import listed, quoted
from parties.operator.interface import JobView, Operator
from protocols.release.promise import epsilon_warnings

LOOKED_AT = 1000  # done jobs that define a table's usual disclosures
CHUNK = 500  # jobs at once
ONE_PERSON = "Leaves may describe one person: neither k nor l requires more than one row in a leaf."


def cautions(job: JobView) -> list[str]:
    """Return the warnings that follow from the job's own parameters, a sentence each; no other job is compared."""
    return of_parameters(job.parameters)


def of_parameters(parameters: Mapping[str, object]) -> list[str]:
    """Return the warnings about the parameters of a job, a sentence each."""
    exact_tree = "plain" in parameters  # a tree with noise, which protects rows, has no such parameter
    ruled = any((parameters.get(name) or 0) > 1 for name in ("k", "l"))  # type: ignore[operator]
    epsilons = [parameters.get(name) for name in ("epsilon", "support_epsilon")]
    weak = [
        sentence for epsilon in epsilons if isinstance(epsilon, float | int) for sentence in epsilon_warnings(epsilon)
    ]
    return [*([ONE_PERSON] if exact_tree and not ruled else []), *weak]


def done_before(operator: Operator, job: JobView) -> list[JobView]:
    """Return the jobs done on our table, among the last `LOOKED_AT` done jobs on any table.

    Args:
        operator: The node.
        job: The job in question.
    """
    examined: list[JobView] = []
    chunk = operator.jobs(CHUNK, None, ("done",))
    while chunk and len(examined) < LOOKED_AT:
        examined += chunk
        chunk = operator.jobs(CHUNK, chunk[-1].id, ("done",))
    return [earlier for earlier in examined if earlier.table == job.table and earlier.id != job.id]


def more_than_usual(operator: Operator, job: JobView) -> list[str]:
    """Return the reasons to confirm a job that waits for our consent, a sentence each; empty if there are none.

    Args:
        operator: The node.
        job: The job.
    """
    return unusual(job, done_before(operator, job)) if job.waits_for_us else []


def question(job: JobView) -> str:
    """Return the sentence before the reasons why a job reveals more than earlier ones."""
    return f"This reveals more than the jobs done on {quoted(job.table)} so far:"


def unusual(job: JobView, done: Sequence[JobView]) -> list[str]:
    """Return how a job reveals more than those done on its table, a sentence each.

    Args:
        job: The job.
        done: The jobs done on its table.
    """
    if not job.table or not done:
        return []
    reasons = []
    if job.exact and not any(earlier.exact for earlier in done):
        reasons.append("It opens joint numbers exactly, without noise.")
    largest = max((earlier.price.epsilon for earlier in done if earlier.price is not None), default=None)
    if job.price is not None and largest is not None and job.price.epsilon > largest:
        reasons.append(f"It spends epsilon {job.price.epsilon:.4g}; the most so far was {largest:.4g}.")
    known_sentences = {_bare(sentence) for earlier in done for sentence in earlier.reveals}
    reasons += [f"It reveals: {sentence}" for sentence in job.reveals if _bare(sentence) not in known_sentences]
    usual = {caution for earlier in done for caution in cautions(earlier)}
    reasons += [caution for caution in cautions(job) if caution not in usual]
    new = [column for column in job.columns if column not in {name for earlier in done for name in earlier.columns}]
    if new:
        reasons.append(f"It reads {listed(new)}.")
    return reasons


def _bare(sentence: str) -> str:
    return re.sub(r"\d[\d.,]*(e-?\d+)?", "#", sentence)
