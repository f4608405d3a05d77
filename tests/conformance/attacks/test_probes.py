"""What a pinned peer whom no rule serves learns of tables by proposing jobs: nothing, and its questions leave a trace.

By the same hostile party, in 10 s: before 4,563 proposals were answered, each with what did not fit ("there is no
table 't0' here", "the table has no attribute 'hail'"), and neither jobs nor entries were left. Now 100 wait, whether
they fit or not, and say nothing; the rest of 701 that were heard were told one sentence: 211 entries in all.
"""

from __future__ import annotations

from typing import Any

from parties.node.acts import gate
from parties.node.log import node_log
from parties.node.log.statement import Statement
from parties.node.settings import LimitSettings
from parties.tables.schema import Schema
from tests.support.floods import Hostile, furnished, proposed
from tests.support.nodes import Nodes, verified
from tests.support.proposals import proposal_of
from tests.support.waiting import eventually

MAX_WAITING = LimitSettings().waiting
OTHER = Schema({"hail": ("weak", "strong"), "play": ("yes", "no")}, "play")
DENY = '[[policy]]\nname = "secret rule"\neffect = "deny"\npurpose = "probe"\n'


def told(hostile: Hostile, proposals: list[Statement]) -> list[dict[str, Any]]:
    """The different answers to these proposals, without what these say themselves."""
    found: list[dict[str, Any]] = []
    for one in proposals:
        answer = hostile.answers[one.proposal.id].model_dump(exclude_defaults=True, exclude={"proposal"})
        if answer not in found:
            found.append(answer)
    return found


def test_guesses_are_not_told_apart(nodes: Nodes) -> None:
    """A table that is there and one that is not, columns that fit and others, a bound that is too low, a rule's no."""
    furnished(nodes, DENY)
    nodes.a.start()
    eventually(nodes.a.is_up)
    hostile = Hostile(nodes)
    stated = {"purpose": "research"}
    misfit = proposal_of(OTHER, party=1, table="rows", max_rows=65535, **stated)
    other = proposed().model_copy(update={"proposal": misfit})
    guesses = [proposed("rows", **stated), proposed("nights", **stated), proposed("rows", max_rows=99, **stated), other]
    denied = [proposed("rows", purpose="probe"), proposed("nights", purpose="probe")]
    with hostile.linked() as say:
        for guess in guesses:
            say(guess.to_bytes())
        for one in denied:
            say(one.to_bytes())
        eventually(lambda: len(hostile.answers) == len(guesses) + len(denied))
        assert told(hostile, denied) == [{"verdict": "refused", "by": "node", "why": gate.NO, "settled": True}]
        assert told(hostile, guesses) == [{}], "more than that it waits"
        for number in range(MAX_WAITING - len(guesses)):
            say(proposed(f"t{number}", **stated).to_bytes())
        more = [proposed("rows", **stated), *(proposed(f"u{number}", **stated) for number in range(30))]
        for one in more:
            say(one.to_bytes())
        eventually(lambda: more[-1].proposal.id in hostile.answers)
    assert told(hostile, more) == told(hostile, denied)
    views = {view.id: view.ours.reason for view in nodes.a.client.jobs(1000)}
    assert "cannot run" not in views[guesses[0].proposal.id]
    for guess, word in zip(guesses[1:], ("no table 'nights'", "65535", "hail"), strict=True):
        assert "it cannot run here: " in views[guess.proposal.id]
        assert word in views[guess.proposal.id]
    nodes.a.stop()
    nodes.a.start()
    eventually(nodes.a.is_up)
    log = nodes.a.client.audit(1000)
    away = [entry for entry in log if entry.kind == "turned away"]
    folded = [entry for entry in log if entry.kind == "repeated" and entry.fields["what"] == "turned away"]
    assert len(away) == node_log.FREE
    assert len(away) + sum(entry.fields["times"] for entry in folded) == len(denied) + len(more)
    assert any("secret rule" in entry.fields["why"] for entry in away)
    assert verified(nodes.a)["ok"]
