"""A holder of rows: it gives shares of its numbers to two computing nodes, and computes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parties.base.console import StatusLine
from parties.base.settings import required
from parties.base.text import listed
from parties.jobs import kinds
from parties.jobs.holders import CONSENT, DECLINED, LINK_JOB, UNFIT, Terms, question_bytes, receive_sized
from parties.jobs.inputs import Inputs
from parties.jobs.kind import Kind, refusal, revealed, shown_parameters
from parties.jobs.settings import worded
from parties.jobs.tree.joint import JointTree
from parties.link.handshake import differences
from parties.link.identity import common_name, fingerprint, load_certificate, load_identity
from parties.link.opening import open_link
from parties.link.options import LinkOptions
from parties.link.preflight import CHECK_PEER, LIST_US, TrustError
from parties.tables import schema as schemas
from protocols.tree import Split, decode, walk
from smc.errors import InputError, JobMismatchError, LinkError, MachineError, ProtocolError

if TYPE_CHECKING:
    from parties.link.opening import Link
    from parties.link.settings import ContributeSettings, LinkSettings
    from parties.sources.settings import TableSettings
    from protocols.shares import Question
    from smc.channel import Channel

SILENCE = 3600.0  # seconds of a node's silence between two questions, while both compute
REMEDIES = {  # for a holder's command, which has no --peer
    CHECK_PEER: "check --nodes, and that --at has the addresses in the order of --nodes",
    LIST_US: "both parties that compute must list it in --holders",
}


class Job:
    """The job that both nodes send: the task, the computing nodes and the holders."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        try:
            self.terms = Terms.of(document)
            specification = {name: value for name, value in document.items() if name not in self.terms.public()}
            self.task: Kind = kinds.find(str(specification["protocol"])).agreed(specification)
            self.task.on_shares = True
        except (KeyError, TypeError, ValueError, InputError) as error:
            raise ProtocolError(f"the nodes ask for a job that cannot be read: {error}") from None

    def check(self, own: str, nodes: Sequence[str], table: TableSettings) -> None:
        """Raise InputError unless this holder can take part.

        Args:
            own: Fingerprint of this holder.
            nodes: Fingerprints of the nodes that were dialled.
            table: The holder's table.
        """
        terms, bound = self.terms, getattr(self.task.settings, "max_rows", 0)
        if set(terms.nodes) != set(nodes):
            raise InputError("--nodes: the job is computed by other parties than these two; do not take part")
        if terms.holders.count(own) != 1:
            raise InputError("the job must list this holder exactly once; ask the two that compute for their --holders")
        if why := self.task.without_holders:
            raise InputError(f"the job cannot take rows of holders: {why}")
        if table.max_rows > terms.holder_rows:
            raise InputError(
                f"max_rows of the table is {table.max_rows:,}, more than the job's {terms.holder_rows:,} of a holder; "
                "lower it, or ask the two that compute for a higher --max-rows"
            )
        if bound < terms.max_rows:
            raise InputError(
                f"the job computes with {2 * bound:,} rows at most, but {terms.givers} parties may have "
                f"{terms.holder_rows:,} each; ask the two that compute for a higher --max-rows"
            )
        schema = schemas.load(table.schema_file)
        if why := refusal(self.task, Inputs(1, table, schema)):
            raise InputError(f"the schema or the bounds here do not fit the job: {why}")

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the task as a node's operator sees them, with the row bound of each giver of rows."""
        return shown_parameters(self.task) | {"max_rows": self.terms.holder_rows}

    def lines(self, names: Mapping[str, str]) -> list[str]:
        """Return the terms that a holder consents to, a line each; `names` are the nodes' names by fingerprint."""
        disclosure = self.task.disclosure
        opens = "Noise hides each row." if disclosure.spends else "No opened value has noise."
        if disclosure.opens_exact_too:
            opens = "Some of the opened values have noise."
        computing = " and ".join(f"{names[node]} ({node[:23]})" for node in self.terms.nodes)
        first, second = (names[node] for node in self.terms.nodes)
        bound, words = getattr(self.task.settings, "max_rows", 0), worded(self.task.Settings, self.parameters)
        subtract = (
            "All other givers of rows can together subtract their parts from an exact number, and then know yours."
        )
        return [
            f"Question: {disclosure.question or self.task.about.title}. {opens}",
            f"Columns: {', '.join(self.task.columns)}.",
            f"Parameters of {self.task.name}: {', '.join(f'{name} {value}' for name, value in words.items())}.",
            f"{computing} compute. They learn the answer.",
            "If these two put their shares together, they learn your numbers.",
            f"{self.terms.givers} parties give rows, at most {self.terms.holder_rows:,} each.",
            f"Both tables, in the consent below, are all these rows, counted as two parts of at most {bound:,} rows.",
            *([subtract] if disclosure.exact else []),
            f"Consent of {first} with {second}, word for word ('we' is {first}):",
            *(f"  {sentence}" for sentence in revealed(self.task, second)),
        ]


def ways_of(link: LinkSettings, settings: ContributeSettings) -> list[LinkOptions]:
    """Return the options of the links to both computing nodes. Raise InputError if a setting is missing or wrong.

    Args:
        link: Key and certificate of this holder.
        settings: Certificates and addresses of the two nodes.
    """
    identity = load_identity(required(link.identity, "link.identity"), required(link.certificate, "link.certificate"))
    peers = [load_certificate(path) for path in required(settings.nodes, "contribute.nodes")]
    if len(peers) != 2 or peers[0] == peers[1]:
        raise InputError("--nodes: give the certificates of two different parties")
    addresses = required(settings.at, "contribute.at")
    if len(addresses) != 2:
        raise InputError("--at: give two addresses, in the order of --nodes")
    more: dict[str, Any] = {"wait": link.wait, "timeout": SILENCE, "classical": link.classical, "kernels": []}
    return [LinkOptions(identity, peer, connect=way, **more) for peer, way in zip(peers, addresses, strict=True)]


def contribute(
    nodes: Sequence[LinkOptions],
    table: TableSettings,
    consent: Callable[[list[str], Mapping[str, Any]], object],
    status: StatusLine,
) -> int:
    """Take part in the job that two nodes ask for, until it ends; return the number of answered questions.

    Args:
        nodes: Options of the links to both nodes, which are dialled.
        table: The holder's table.
        consent: Called with the terms, a line each, and the job's parameters; raises InputError without consent.
        status: Progress line.

    Raises:
        InputError: The job does not fit the holder's table, the table cannot be read, or `consent` refuses the job.
        JobMismatchError: The nodes send different jobs or questions; the differing question is not answered.
        LinkError: A node cannot be reached, or is lost.
        ProtocolError: A job or question is malformed, or the question does not belong to the job.
    """
    with ExitStack() as stack:
        links = [stack.enter_context(_dialled(options, status)) for options in nodes]
        both = " and ".join(common_name(options.peer) for options in nodes)
        with status.waiting(f"waiting for the job of {both}", nodes[0].timeout, first=30, again=30):
            status.log(f"connected; waiting for the job of {both}")
            job = Job(same([link.channel for link in links], "job"))
        names = {fingerprint(options.peer): common_name(options.peer) for options in nodes}
        with _refusing(links, UNFIT):
            job.check(fingerprint(nodes[0].identity.certificate), [*names], table)
        with _refusing(links, DECLINED):
            consent(job.lines(names), job.parameters)
        by_party = [links[[*names].index(node)].channel for node in job.terms.nodes]
        with _refusing(links, UNFIT):
            opened = stack.enter_context(job.task.open(Inputs(1, table, schemas.load(table.schema_file))))
        for link in links:
            link.channel.send("consent", CONSENT)
        number = 0
        while "end" not in (asked := same(by_party, "question")):
            size = answer(job.task, opened.data, by_party, asked, number)
            status.say(f"question {number + 1}: shares of {size:,} number{'s' * (size != 1)}")
            number += 1
        return number


def answer(task: Kind, data: Any, by_party: Sequence[Channel], asked: Mapping[str, Any], number: int) -> int:
    """Send both nodes their shares of own numbers for a question; return how many numbers these are.

    Args:
        task: The task.
        data: Own data, as the task's `run` takes them; private.
        by_party: Channels to parties 0 and 1.
        asked: The question, which both nodes have sent alike.
        number: Number of the question in the run.

    Raises:
        ProtocolError: The job has no such question, or it is not the next one.
    """
    question = _question(asked, number)
    _check_question(task, question)
    numbers = _numbers(data, question)
    _give(by_party, numbers, question, number)
    return len(numbers)


@contextmanager
def _dialled(options: LinkOptions, status: StatusLine) -> Iterator[Link]:
    """Open the link to a node. The error for a wrong certificate names the options of this command."""
    address = options.connect
    status.log(f"dialling {common_name(options.peer)} at {address}, for {options.wait:g} s at most")
    silent = f"no answer yet at {address}, which opens once both agree on the job"
    more = replace(options, on_waiting=lambda left: status.log(f"{silent}; dialling on for {left:.0f} s"))
    try:
        with open_link(more, LINK_JOB) as link:
            yield link
    except TrustError as error:
        raise LinkError(f"{error.fact}; {REMEDIES[error.remedy]}") from None


@contextmanager
def _refusing(links: Sequence[Link], answer: bytes) -> Iterator[None]:
    """Send `answer` to both nodes if the enclosed block refuses the job. They get no other reason."""
    try:
        yield
    except MachineError:
        raise
    except InputError:
        for link in links:
            with suppress(LinkError):
                link.channel.send("consent", answer)
        raise


def same(channels: Sequence[Channel], step: str) -> dict[str, Any]:
    """Return the JSON object that both nodes send.

    Args:
        channels: Channels to both nodes.
        step: Label of the step.

    Raises:
        JobMismatchError: The objects differ.
        ProtocolError: A node sends something else.
    """
    ours, theirs = (receive_sized(channel, step) for channel in channels)
    try:
        one, other = json.loads(ours), json.loads(theirs)
    except (ValueError, RecursionError):
        raise ProtocolError(f"one of the two nodes sent a {step} that is not JSON") from None
    if ours != theirs:
        raise JobMismatchError(f"the two nodes ask for different things ({step}): {listed(differences(one, other))}")
    if not isinstance(one, dict):
        raise ProtocolError(f"the two nodes sent a {step} that is not a JSON object")
    return one


def _question(asked: Mapping[str, Any], number: int) -> Question:
    """Return the question in a message. Raise ProtocolError unless `number`, the next, is its number."""
    if asked.get("number") != number:
        raise ProtocolError(f"the nodes ask for question {asked.get('number')}, expected {number}: nothing is answered")
    if asked.keys() == {"number"}:
        return None
    if asked.keys() == {"number", "after"} and isinstance(asked["after"], list):
        return asked["after"]
    try:
        trees = tuple(map(decode, asked["trees"])) if "trees" in asked else decode(asked["tree"])
        return trees, bool(asked["attributes"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ProtocolError("the nodes ask for a level of something that is no tree") from None


def _check_question(task: Kind, question: Question) -> None:
    """Raise ProtocolError if the question does not belong to the job."""
    if question is None or isinstance(question, list):
        return
    trees = question[0] if isinstance(question[0], tuple) else (question[0],)
    domains = task.questions.domains if isinstance(task, JointTree) else ()
    for node, _ in (pair for tree in trees for pair in walk(tree)):
        if isinstance(node, Split) and not (
            node.attribute in range(len(domains)) and len(node.children) == domains[node.attribute]
        ):
            raise ProtocolError("the nodes ask for a level of a tree that the job cannot have")


def _numbers(data: Any, question: Question) -> Any:
    """Return own numbers for a question, int64[size]. Raise ProtocolError if it does not belong to the job."""
    from protocols.shares import flat, to_share

    if (question is None) != isinstance(data, np.ndarray) or isinstance(question, list) != hasattr(data, "sums"):
        raise ProtocolError("the nodes ask for numbers that the job does not have")
    if isinstance(question, list):
        try:
            return data.sums(question)
        except (IndexError, KeyError, OverflowError, TypeError, ValueError):
            raise ProtocolError("the nodes ask for numbers after steps that the job cannot have") from None
    return data.reshape(-1) if question is None else flat(to_share(data).level(*question))


def _give(channels: Sequence[Channel], numbers: Any, question: Question, number: int) -> None:
    """Send each node its share: a fresh seed to party 0, the masked numbers to party 1."""
    from protocols.shares import SEED_BYTES, masked

    seed = os.urandom(SEED_BYTES)
    channels[0].send("share", seed)
    shares = masked(numbers, seed, question_bytes(question, number), number)
    channels[1].send("share", shares.astype("<u8").tobytes())
