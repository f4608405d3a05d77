"""A question through your own running node, such as `smc millionaires --node`; both nodes must be running.

The command opens no link and reads no key: the node proposes the job over its standing link. If the peer has already
proposed an equal job, the command approves that job instead, with the typed inputs. So two operators who type equal
commands get the answer in either order. If both propose at one moment, the job with the smaller identifier stays.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any

from parties.base import console
from parties.base.canonical import canonical
from parties.base.text import listed
from parties.commands import job_text
from parties.commands.following import end_of, follow
from parties.commands.node_options import node_of
from parties.jobs.kind import Kind, KindSettings, shown_parameters
from parties.jobs.settings import parameters
from parties.operator.client import LONGEST_WAIT_SECONDS, NodeClient, patient
from parties.operator.interface import JobResult, JobView, State
from smc.errors import InputError, LinkError, SmcError

THE_SAME = "the peer has asked the same"
UNDECIDED: tuple[State, ...] = ("waiting", "queued")
BREATH_SECONDS = 0.02  # pause after a change without a decision: other running jobs cause many changes


def ask(
    task: Kind, settings: KindSettings, config_file: Path | None, peer: str, purpose: str | None, wait: float
) -> JobResult:
    """Return the result of a job that runs through the node.

    The node proposes the job, or approves an equal proposal of the peer. Our proposal is cancelled if the peer has not
    decided in `wait` seconds, or on an interrupt before. Later, after an interrupt, the job continues.

    Args:
        task: The task.
        settings: Its settings, with typed private values.
        config_file: The file party.toml of the node.
        peer: Name of the peer; empty for the only one.
        purpose: Purpose of the job.
        wait: Seconds to wait for the peer's decision.

    Raises:
        InputError: Several peers are known, and none is named.
        LinkError: The peer has not decided in time.
        SmcError: The job has ended without a result; the message has the reason.
    """
    node, typed, public = node_of(config_file, None), _given(settings, "private"), _given(task.settings, "public")
    head = {name: text for name, text in (("peer", peer), ("purpose", purpose)) if text}
    question = _Question(task.name, shown_parameters(task), peer)
    if (theirs := question.of_peer(node)) is not None:
        if not peer and len(known := [who.name for who in node.node().peers]) > 1:  # the choice would be a guess
            raise InputError(f"--node: there are several peers; name one: {listed(known)}")
        peer, what_for = job_text.shown(theirs.peer), job_text.shown(theirs.purpose, 80) or "no purpose given"
        console.err.print(f"answering {peer}, who asked at {job_text.moment(theirs.proposed_at)} UTC: {what_for}")
        job = node.approve(theirs.id, typed)
    else:
        job = _answered(node, node.submit({"protocol": task.name, **head, **public, **typed}), question, typed, wait)
    ended = follow(node, job)
    if (failure := end_of(ended)) is not None:
        raise failure
    return node.result(ended.id)


def _given(settings: KindSettings, role: str) -> dict[str, Any]:
    fields = settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    keys = [parameter.key for parameter in parameters(type(settings)) if parameter.role == role]
    return {key: fields[key] for key in keys if key in fields}


class _Question:
    """A question to compare with the peer's jobs: the kind, its public parameters, and our name of the peer."""

    def __init__(self, protocol: str, public: Mapping[str, Any], peer: str) -> None:
        self._protocol, self._public, self._peer = protocol, canonical(public), peer

    def of_peer(self, node: NodeClient) -> JobView | None:
        waiting = (job for job in reversed(node.jobs(states=UNDECIDED)) if job.proposed_by == "peer" and job.needs_us)
        return next((job for job in waiting if self._is_of(job)), None)

    def _is_of(self, job: JobView) -> bool:
        same = job.protocol == self._protocol and canonical(job.parameters) == self._public
        return same and self._peer in ("", job.peer)


def _answered(node: NodeClient, job: JobView, question: _Question, typed: dict[str, Any], wait: float) -> JobView:
    """Wait until the peer has decided on our job, and return it, or the peer's equal job that replaces it."""
    deadline, seen = time.monotonic() + wait, ""
    try:
        while job.state in UNDECIDED:
            left = deadline - time.monotonic()
            if left <= 0:
                raise LinkError(f"{job.peer} has not answered within {wait:g} s; contact its operator, or raise --wait")
            now = patient(partial(node.changes, seen), min(LONGEST_WAIT_SECONDS, left), partial(ne, seen))
            if now == seen:
                continue
            job, seen = node.job(job.id), now
            if job.state not in UNDECIDED:
                break
            # otherwise this party's job is the one that stays
            if (theirs := question.of_peer(node)) is not None and theirs.id < job.id:
                if node.cancel(job.id, THE_SAME).begun:  # decided meanwhile: the peer's job would be a second answer
                    raise InputError(
                        f"{job.peer} has proposed the same job, and your own had begun already; run the command again"
                    )
                return node.approve(theirs.id, typed)
            time.sleep(BREATH_SECONDS)
    except (LinkError, KeyboardInterrupt):
        with suppress(SmcError):
            ended = node.cancel(job.id, "nobody waits for it any more")
            console.err.print(f"job {job_text.short(job.id)}: {job_text.standing(ended)}")
        raise
    return job
