"""Account of the epsilon and delta that a person's answers have spent, in a file beside the device's key.

Answers to different questions, or to one question on different values, use independent coins: their costs add up, as
exact decimals. n reports on one value cost min(n epsilon, lasting).

Why "lasting" is a bound: if the memoised answer is sent as it is, later reports are copies of the first and reveal
nothing more. RAPPOR reports add an instantaneous answer to one memoised answer. For evidence t on a reported bit, the
evidence on the true bit is g(t) = 2 atanh((1 - f) tanh(t / 2)). g is odd, and concave from 0 up, so g(t1 + t2) <= g(t1)
+ g(t2): n reports reveal at most n epsilon.

Deltas add up too: n answers of (epsilon, delta) are (n epsilon, n delta) together (Dwork, Roth 2014, theorem 3.16).
Copies of one memoised answer have its delta once; answers drawn afresh have one delta each.

A charge is on the disk before its answer leaves the device. After a crash, the account may therefore overstate what was
sent, never understate it. Values are named by HMAC-SHA256 under the device's key. The account is for its owner only. A
refused report reveals only that its value is new, which a further report would reveal too.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from parties.alone.local.device import Device
from parties.alone.local.mechanism import Mechanism
from parties.alone.local.plan import LocalPlan
from parties.base import files
from parties.base.report import Report
from parties.base.settings import Count, Finite, Settings, explained
from smc.errors import InputError

DIGITS = 6  # decimals of an epsilon shown to people: spent is rounded up, remaining is rounded down
DELTA_DIGITS = 12  # decimals of a delta shown to people


class Entry(Settings):
    """The reports on one value of a question, or on all its values if each report is drawn afresh."""

    plan: str
    question: str
    value: str | None = None  # HMAC of the value; None: reports are drawn afresh
    epsilon: Annotated[Finite, Field(ge=0)] | None  # of one report; None: unbounded
    lasting: Annotated[Finite, Field(ge=0)] | None  # of all reports together; None: unbounded
    reports: Count
    delta: Annotated[Finite, Field(ge=0, lt=1)] = 0.0  # of one report

    @property
    def spent_delta(self) -> Fraction:
        """Delta of these reports, as an exact decimal."""
        return exact(self.delta) * (self.reports if self.value is None else 1)

    @property
    def spent(self) -> Fraction:
        """Epsilon of these reports, as an exact decimal."""
        bounds = [] if self.lasting is None else [exact(self.lasting)]
        return min([*bounds, *([] if self.epsilon is None else [self.reports * exact(self.epsilon)])])


class Account(Settings):
    """Account of a person's answers: all reports that the device has charged."""

    device: str
    entries: tuple[Entry, ...] = ()

    @property
    def spent(self) -> Fraction:
        """Sum of the epsilons of all entries."""
        return sum((entry.spent for entry in self.entries), Fraction(0))

    @property
    def spent_delta(self) -> Fraction:
        """Sum of the deltas of all entries."""
        return sum((entry.spent_delta for entry in self.entries), Fraction(0))


def exact(value: float) -> Fraction:
    """Return the shortest decimal text of a float as an exact fraction."""
    return Fraction(repr(value))


def place(key_file: Path) -> Path:
    """Return the path of the account that belongs to a key file."""
    return key_file.with_name(key_file.name + ".account")


def create(key_file: Path, device: Device) -> None:
    """Write an empty account for a new key.

    Args:
        key_file: path of the new key; removed again if the account cannot be created
        device: contents of the key

    Raises:
        InputError: there is an account already
    """
    try:
        files.create_private(place(key_file), _text(Account(device=_mark(device, "device"))))
    except BaseException:
        key_file.unlink(missing_ok=True)
        raise


def load(key_file: Path, device: Device) -> Account:
    """Return the privacy account of a device key.

    Args:
        key_file: path of the key; the account lies beside it
        device: contents of the key

    Raises:
        InputError: the key has no total, or its account is missing, damaged, of another key or readable by others
    """
    path = place(key_file)
    if device.total is None:
        raise InputError(f"{key_file}: the key has no total; make one with smc local key --total")
    if not path.exists():
        raise InputError(
            f"{path}: is missing, so the spent budget is unknown; restore this file to the directory of the key"
        )
    files.ensure_private(path)
    try:
        account = Account.model_validate_json(json.dumps(files.read_json(path)))
    except ValidationError as error:
        raise InputError(f"{path}: is not the privacy account of a device key: {explained(error, Account)}") from None
    if account.device != _mark(device, "device"):
        raise InputError(f"{path}: is the privacy account of another key; restore the account of this key")
    if any(entry.epsilon is None and entry.lasting is None for entry in account.entries):
        raise InputError(f"{path}: is not the privacy account of a device key: an entry has no bound")
    if len({(entry.plan, entry.value) for entry in account.entries}) < len(account.entries):
        raise InputError(f"{path}: is not the privacy account of a device key: a value has two entries")
    return account


def charge(key_file: Path, device: Device, plan: LocalPlan, mechanism: Mechanism, value: str) -> Account:
    """Charge one report to the account, write the account to disk, and return it.

    Args:
        key_file: path of the key, locked meanwhile
        device: contents of the key
        plan: the plan of the question
        mechanism: the mechanism of the plan
        value: the value reported, as text

    Raises:
        InputError: the total would be exceeded, the plan allows no further report, or another program is charging;
            nothing is charged
    """
    with _alone(key_file):
        account = load(key_file, device)
        digest = plan.digest()
        before = sum(entry.reports for entry in account.entries if entry.plan == digest)
        if plan.reports is not None and before >= plan.reports:
            raise InputError(
                f"{plan.question!r}: this device has sent all {plan.reports} reports that the plan "
                f"allows; it can send no more"
            )
        entry = Entry(
            plan=digest,
            question=plan.question,
            value=_mark(device, f"value\0{digest}\0{value}") if plan.memoise else None,
            epsilon=_finite(mechanism.epsilon),
            lasting=_finite(mechanism.lasting) if plan.memoise else None,
            reports=1,
            delta=mechanism.delta,
        )
        charged = Account(device=account.device, entries=_added(account.entries, entry))
        spending = (
            ("epsilon", device.total or Fraction(0), account.spent, charged.spent, DIGITS),
            ("delta", device.total_delta, account.spent_delta, charged.spent_delta, DELTA_DIGITS),
        )
        for what, total, spent, with_it, digits in spending:
            if with_it > max(total, spent):
                raise InputError(
                    f"{plan.question!r}: the answer would spend {what} {_up(with_it - spent, digits):.15g}, and "
                    f"{_down(total - spent, digits):.15g} of {float(total):.15g} remains; no report was made"
                )
        files.write_bytes(place(key_file), _text(charged), private=True)
        files.settle(key_file.parent)
    return charged


def document(account: Account, device: Device) -> dict[str, Any]:
    """Return the epsilon and delta spent and remaining, and the spending of each question.

    Args:
        account: What the device has spent.
        device: Key and total budget of the device.
    """
    total = device.total or Fraction(0)
    rows: dict[str, dict[str, Any]] = {}
    for plan in dict.fromkeys(entry.plan for entry in account.entries):
        entries = [entry for entry in account.entries if entry.plan == plan]
        rows[plan] = {
            "question": entries[0].question,
            "plan": plan,
            "values": None if entries[0].value is None else len(entries),
            "reports": sum(entry.reports for entry in entries),
            "spent": _up(sum((entry.spent for entry in entries), Fraction(0))),
            "delta": _up(sum((entry.spent_delta for entry in entries), Fraction(0)), DELTA_DIGITS),
        }
    left, deltas = _down(total - account.spent), {}
    if device.total_delta or account.spent_delta:
        deltas = {
            "total_delta": float(device.total_delta),
            "spent_delta": _up(account.spent_delta, DELTA_DIGITS),
            "left_delta": _down(device.total_delta - account.spent_delta, DELTA_DIGITS),
        }
    spent = {"total": float(total), "spent": _up(account.spent), "left": left}
    return {**spent, **deltas, "questions": list(rows.values())}


def report_of(data: dict[str, Any]) -> Report:
    """Return the report on an account: its document, and that as text."""
    report = Report(data)
    report.line(summary(data))
    for row in data["questions"]:
        about = "each drawn afresh" if row["values"] is None else f"different values: {row['values']}"
        delta = f", delta {row['delta']:.15g}" if row["delta"] else ""
        report.line(f"{row['question']}: {row['spent']:.15g}{delta}, reports: {row['reports']}, {about}")
    return report


def summary(report: dict[str, Any]) -> str:
    """Return the epsilon and delta spent and remaining, in one line."""
    line = f"epsilon: {report['spent']:.15g} of {report['total']:.15g} spent, {report['left']:.15g} left"
    if "total_delta" not in report:
        return line
    spent, total, left = (report[f"{word}_delta"] for word in ("spent", "total", "left"))
    return f"{line}; delta: {spent:.15g} of {total:.15g} spent, {left:.15g} left"


def _added(entries: tuple[Entry, ...], new: Entry) -> tuple[Entry, ...]:
    """Return the entries with one more report: in the entry of its value, or in a new entry."""
    counted = {(entry.plan, entry.value): entry for entry in entries}
    before = counted.get((new.plan, new.value))
    counted[new.plan, new.value] = new if before is None else before.model_copy(update={"reports": before.reports + 1})
    return tuple(counted.values())


@contextmanager
def _alone(key_file: Path) -> Iterator[None]:
    """Lock the key file, so that two programs cannot both spend the remaining budget."""
    with key_file.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{key_file}: another program is answering with it; try again") from None
        yield


def _mark(device: Device, content: str) -> str:
    return hmac.new(device.key, f"smc local account\0{content}".encode(), hashlib.sha256).hexdigest()[:32]


def _text(account: Account) -> bytes:
    return (json.dumps(account.model_dump(), ensure_ascii=False, indent=1) + "\n").encode()


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _up(value: Fraction, digits: int = DIGITS) -> float:
    return math.ceil(value * 10**digits) / 10**digits


def _down(value: Fraction, digits: int = DIGITS) -> float:
    return math.floor(value * 10**digits) / 10**digits
