"""What answers cost, beside the exact law of reports; the account on the disk."""

from __future__ import annotations

import fcntl
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from parties.alone.local import account, device
from parties.alone.local.answers import same
from parties.alone.local.mechanism import Mechanism
from parties.alone.local.plan import LocalPlan
from parties.alone.local.rappor import Rappor
from smc.errors import InputError
from tests.support import chance

KEY = Path("device.key")
TOWN = {"question": "town", "mechanism": "direct", "values": ("Padua", "Trent", "Verona"), "epsilon": 1.0}
RAPPOR = {
    "question": "page", "mechanism": "rappor", "bits": 128, "hashes": 2, "cohorts": 8, "f": 0.5, "p": 0.5, "q": 0.75,
}  # fmt: skip
AGE = {"question": "age", "mechanism": "mean", "low": 0, "high": 100, "epsilon": 0.1, "memoise": False, "reports": 3}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    chance.fix(monkeypatch)
    return tmp_path


def holder(total: float) -> device.Device:
    made = device.create(KEY, total)
    account.create(KEY, made)
    assert device.load(KEY) == made
    return made


def planned(content: dict[str, object], **changes: object) -> tuple[LocalPlan, Mechanism]:
    plan = LocalPlan.model_validate(content | changes)
    return plan, plan.made()


def loss(made: Rappor, reports: int) -> float:
    """The greatest log-likelihood ratio of so many reports on two texts that share no bit, by all that can be sent."""
    half, low, high = made.f / 2, made.p, made.q
    worst = {}
    for truth, other in ((1, 0), (0, 1)):
        ratios = []
        for sent in itertools.product((0, 1), repeat=reports):
            chance_of = {
                bit: np.prod([p if word else 1 - p for word in sent]) for bit, p in ((0, low), (1, high))
            }  # of what was sent, by the lasting bit
            law = {bit: (1 - half) * chance_of[bit] + half * chance_of[1 - bit] for bit in (0, 1)}
            ratios.append(math.log(law[truth] / law[other]))
        worst[truth] = max(ratios)
    return made.hashes * (worst[0] + worst[1])


@pytest.mark.parametrize(("f", "p", "q"), [(0.5, 0.5, 0.75), (0.25, 0.05, 0.3), (0.9, 0.01, 0.99), (0.1, 0.4, 0.5)])
def test_many_reports_cost_no_less_than_their_exact_law(f: float, p: float, q: float) -> None:
    made = Rappor(bits=16, hashes=2, cohorts=2, f=f, p=p, q=q)
    for reports in range(1, 9):
        entry = account.Entry(
            plan="p", question="q", value="v", epsilon=made.epsilon, lasting=made.lasting, reports=reports
        )
        assert loss(made, reports) <= float(entry.spent) + 1e-6
    assert loss(made, 1) == pytest.approx(made.epsilon, rel=1e-6)


def test_the_papers_reports_cost_until_what_lasts_is_spent(place: Path) -> None:
    """By the paper's numbers: 1.074 a report, 4.394 for ever."""
    made, (plan, mechanism) = holder(8.0), planned(RAPPOR)
    spent = [float(account.charge(KEY, made, plan, mechanism, "a").spent) for _ in range(6)]
    assert spent == pytest.approx([1.0743, 2.1486, 3.2229, 4.2972, 4.3944, 4.3944], abs=2e-4)
    assert float(account.charge(KEY, made, plan, mechanism, "b").spent) == pytest.approx(4.3944 + 1.0743, abs=2e-4)


def test_what_is_told_again_costs_nothing_and_what_is_new_costs(place: Path) -> None:
    made, (plan, mechanism) = holder(2.5), planned(TOWN)
    spent = [account.charge(KEY, made, plan, mechanism, town).spent for town in ("Padua", "Padua", "Trent", "Padua")]
    one = Fraction(repr(mechanism.epsilon))
    assert spent == [one, one, 2 * one, 2 * one]
    other, same_way = planned(TOWN, question="other town")
    before = account.place(KEY).read_bytes()
    for refused in ((plan, mechanism, "Verona"), (other, same_way, "Padua")):
        with pytest.raises(InputError, match=r"would spend epsilon 1, and 0.5 of 2.5 remains; no report was made"):
            account.charge(KEY, made, *refused)
    assert account.place(KEY).read_bytes() == before
    assert account.charge(KEY, made, plan, mechanism, "Trent").spent == 2 * one


def test_a_sum_of_tenths_is_exact(place: Path) -> None:
    """Ten times 0.1 is 1 and fits, though as doubles the sum could be another."""
    made = holder(1.0)
    plan, mechanism = planned(AGE, reports=20)
    tenth = account.Entry(plan="p", question="q", epsilon=0.1, lasting=None, reports=1)
    full = account.Account(device="d", entries=tuple(tenth.model_copy(update={"plan": str(i)}) for i in range(10)))
    assert full.spent == 1
    for _ in range(10):
        account.charge(KEY, made, plan, mechanism, "40.0")
    with pytest.raises(InputError, match="would spend"):
        account.charge(KEY, made, plan, mechanism, "40.0")


def test_a_plan_bounds_its_reports(place: Path) -> None:
    made, (plan, mechanism) = holder(100.0), planned(AGE)
    for value in ("40.0", "40.0", "41.0"):
        charged = account.charge(KEY, made, plan, mechanism, value)
    assert charged.spent == 3 * Fraction(repr(mechanism.epsilon))
    assert len(charged.entries) == 1  # values that are drawn afresh are not told apart, and not marked
    with pytest.raises(InputError, match="all 3 reports that the plan allows"):
        account.charge(KEY, made, plan, mechanism, "40.0")


def test_equal_numbers_are_one_value() -> None:
    mechanism = planned({**AGE, "mechanism": "piecewise"}, memoise=True)[1]
    assert same(mechanism, "40") == same(mechanism, " 4e1") != same(mechanism, "41")
    assert same(mechanism, "-0") == same(mechanism, "0")
    assert same(planned(RAPPOR)[1], "40") != same(planned(RAPPOR)[1], "4e1")


def test_an_account_names_no_value_and_is_its_keys(place: Path) -> None:
    made, (plan, mechanism) = holder(2.0), planned(TOWN)
    account.charge(KEY, made, plan, mechanism, "Padua")
    path = account.place(KEY)
    assert b"Padua" not in path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0
    marks = {json.loads(path.read_text())["entries"][0]["value"]}
    KEY.unlink()
    path.rename("first")
    other = holder(2.0)
    account.charge(KEY, other, plan, mechanism, "Padua")
    marks.add(json.loads(path.read_text())["entries"][0]["value"])
    assert len(marks) == 2  # whoever has no key cannot try values
    path.write_bytes(Path("first").read_bytes())
    with pytest.raises(InputError, match="another key"):
        account.load(KEY, other)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is missing, so the spent budget is unknown"),
        ("{", "not valid JSON"),
        ("[]", "is not the privacy account of a device key"),
        (
            '{"device": "%s", "entries": [{"plan": "p", "question": "q", "reports": 1}]}',
            "is not the privacy account of a device key",
        ),
        (
            '{"device": "%s", "entries": [{"plan": "p", "question": "q", "reports": -1, "epsilon": 1, "lasting": 1}]}',
            "is not the privacy account of a device key",
        ),
        (
            '{"device": "%s", "entries": '
            '[{"plan": "p", "question": "q", "reports": 1, "epsilon": null, "lasting": null}]}',
            "an entry has no bound",
        ),
        (
            '{"device": "%s", "entries": ['
            '{"plan": "p", "question": "q", "reports": 1, "epsilon": 1, "lasting": 1}, '
            '{"plan": "p", "question": "q", "reports": 2, "epsilon": 1, "lasting": 1}]}',
            "a value has two entries",
        ),
    ],
)
def test_without_its_account_a_key_answers_nothing(place: Path, content: str | None, message: str) -> None:
    made, path = holder(2.0), account.place(KEY)
    mark = json.loads(path.read_text())["device"]
    if content is None:
        path.unlink()
    else:
        path.write_text(content.replace("%s", mark))
    with pytest.raises(InputError, match=message):
        account.charge(KEY, made, *planned(TOWN), "Padua")
    assert path.exists() == (content is not None)


def test_two_programs_do_not_spend_at_once(place: Path) -> None:
    made = holder(2.0)
    before = account.place(KEY).read_bytes()
    with KEY.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)  # held by two, it would be no lock
        with pytest.raises(InputError, match="another program is answering"):
            account.charge(KEY, made, *planned(TOWN), "Padua")
    assert account.place(KEY).read_bytes() == before


def test_what_is_shown_is_never_too_good(place: Path) -> None:
    made, (plan, mechanism) = holder(2.0), planned(TOWN)
    shown = account.document(account.charge(KEY, made, plan, mechanism, "Padua"), made)
    assert mechanism.epsilon < 1  # by the coins
    assert (shown["spent"], shown["left"]) == (1.0, 1.0)
    assert shown["spent"] >= Fraction(repr(mechanism.epsilon)) >= 2 - Fraction(repr(shown["left"])) - Fraction(1, 10**6)


VISITS = {"question": "visits", "mechanism": "gauss", "low": 0, "high": 30, "epsilon": 1.0, "delta": 1e-6}


def test_deltas_add_up_and_have_a_total_of_their_own(place: Path) -> None:
    """Copies of one answer have its delta once, each other answer once more; above either total nothing is told."""
    made = device.create(KEY, 10.0, 2.5e-6)
    account.create(KEY, made)
    assert device.load(KEY) == made
    plan, mechanism = planned(VISITS)
    each = Fraction(repr(mechanism.delta))
    assert 0 < each <= Fraction("1e-6")
    charged = [account.charge(KEY, made, plan, mechanism, value) for value in ("12.0", "12.0", "13.0")]
    assert [one.spent_delta for one in charged] == [each, each, 2 * each]
    assert [one.spent for one in charged] == [1, 1, 2]
    before = account.place(KEY).read_bytes()
    with pytest.raises(InputError, match=r"would spend delta 9\.9\d*e-07, and 5\.\d*e-07 of 2\.5e-06 remains"):
        account.charge(KEY, made, plan, mechanism, "14.0")
    assert account.place(KEY).read_bytes() == before
    assert account.charge(KEY, made, *planned(TOWN), "Padua").spent_delta == 2 * each  # which has none
    shown = account.document(account.load(KEY, made), made)
    assert (
        shown["spent_delta"]
        >= 2 * each
        >= Fraction("2.5e-6") - Fraction(repr(shown["left_delta"])) - Fraction(1, 10**12)
    )
    assert "; delta: " in account.summary(shown)


def test_answers_drawn_afresh_have_a_delta_each(place: Path) -> None:
    made = device.create(KEY, 10.0, 2.5e-6)
    account.create(KEY, made)
    plan, mechanism = planned(VISITS, memoise=False, reports=3)
    assert plan.lasting_delta(mechanism) == 3 * mechanism.delta
    for count in (1, 2):
        charged = account.charge(KEY, made, plan, mechanism, "12.0")
        assert charged.spent_delta == count * Fraction(repr(mechanism.delta))
    with pytest.raises(InputError, match="would spend delta"):
        account.charge(KEY, made, plan, mechanism, "12.0")


def test_a_total_without_a_delta_has_none(place: Path) -> None:
    """Neither a key of before totals of delta, nor an account of before: its entries have none."""
    made, (plan, mechanism) = holder(2.0), planned(VISITS)
    with pytest.raises(InputError, match=r"would spend delta 9\.9\d*e-07, and 0 of 0 remains"):
        account.charge(KEY, made, plan, mechanism, "12.0")
    account.charge(KEY, made, *planned(TOWN), "Padua")
    path = account.place(KEY)
    content = json.loads(path.read_text())
    assert content["entries"][0].pop("delta") == 0
    path.write_text(json.dumps(content))
    assert account.load(KEY, made).spent_delta == 0
    assert "total_delta" not in account.document(account.load(KEY, made), made)
