"""How two jobs differ, and the agreement on a session identifier."""

from __future__ import annotations

import copy
import hashlib

import pytest
from hypothesis import given

from parties.base.canonical import canonical
from parties.link.exchange_pb2 import Hello
from parties.link.handshake import MAX_JOB_BYTES, agree, differences, make_hello
from smc.errors import InputError, JobMismatchError, ProtocolError
from tests.support.json_objects import jobs

pytestmark = pytest.mark.slow


def hello(party, public_job, /, **changes):
    made = make_hello(party, public_job)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@given(jobs, jobs)
def test_differences_are_empty_just_when_the_canonical_forms_are_equal(ours, theirs):
    shown = differences(ours, theirs)
    assert (shown == []) == (canonical(ours) == canonical(theirs))
    assert len(shown) <= 9
    assert all(line.isprintable() and len(line) < 1000 for line in shown)
    assert differences(copy.deepcopy(ours), ours) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ({"delta": 0.001}, {"delta": 0.01}, ["delta: ours 0.001, peer's 0.01"]),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, ["a.b.c: ours 1, peer's 2"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a[1]: ours 2, peer's 3"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a: ours [1,2], peer's [1]"]),
        ({"a": 1}, {}, ["a: ours 1, peer's nothing"]),
        ({}, {"a": None}, ["a: ours nothing, peer's null"]),
        ({"a": 1}, {"a": 1.0}, ["a: ours 1, peer's 1.0"]),
        ({"a": 1}, {"a": True}, ["a: ours 1, peer's true"]),
        ({"a": 0.0}, {"a": -0.0}, ["a: ours 0.0, peer's -0.0"]),
        ({"a": "1"}, {"a": 1}, ['a: ours "1", peer\'s 1']),
        ({"a": {}}, {"a": []}, ["a: ours {}, peer's []"]),
        ({"x\n": 1}, {"x\n": 2}, ["'x\\n': ours 1, peer's 2"]),
        ({"z": 1, "b": 1}, {"z": 2, "b": 2}, ["b: ours 1, peer's 2", "z: ours 1, peer's 2"]),
    ],
)
def test_differences(ours, theirs, expected):
    assert differences(ours, theirs) == expected


def test_eight_differences_are_shown_and_the_rest_counted():
    ours, theirs = ({f"k{i}": base + i for i in range(20)} for base in (0, 100))
    shown = differences(ours, theirs)
    assert len(shown) == 9
    assert shown[-1] == "and 12 more"


def test_long_values_are_cut_around_the_place_where_they_differ():
    [line] = differences({"a": "x" * 500 + "ours" + "y" * 500}, {"a": "x" * 500 + "peer" + "y" * 500})
    assert "ours" in line.split(", peer's ")[0].removeprefix("a: ours")
    assert "peer" in line.split(", peer's ")[1]
    assert len(line) < 160
    [line] = differences({"a": "x" * 500}, {"a": "x" * 501})
    left, right = line.removeprefix("a: ours ").split(", peer's ")
    assert left != right


def test_identifier_is_common_fresh_and_bound_to_everything():
    zero, one = hello(0, {"a": 1}), hello(1, {"a": 1})
    identifier = agree(zero, one)
    assert len(identifier) == 32
    assert agree(one, zero) == identifier
    assert agree(hello(0, {"a": 1}), one) != identifier
    assert agree(zero, hello(1, {"a": 1})) != identifier
    swapped = agree(hello(0, {"a": 1}, nonce=one.nonce), hello(1, {"a": 1}, nonce=zero.nonce))
    assert swapped != identifier
    other = agree(hello(0, {"a": 2}, nonce=zero.nonce), hello(1, {"a": 2}, nonce=one.nonce))
    assert other != identifier
    version = agree(
        hello(0, {"a": 1}, nonce=zero.nonce, wire_version=9), hello(1, {"a": 1}, nonce=one.nonce, wire_version=9)
    )
    assert version != identifier


def test_identifier_is_pinned():
    """SHA-256 with type and length before every part, computed by hand."""
    zero, one = hello(0, {"a": 1}, nonce=b"0" * 16), hello(1, {"a": 1}, nonce=b"1" * 16)
    parts = [(b"b", b"0" * 16 + b"1" * 16), (b"s", b"smc.exchange"), (b"i", b"8"), (b"s", b'{"a":1}')]
    data = b"".join(kind + len(part).to_bytes(8, "little") + part for kind, part in parts)
    expected = hashlib.sha256(data).digest()
    assert agree(zero, one) == expected


def test_wire_version_comes_before_everything_else():
    with pytest.raises(JobMismatchError, match="wire version: ours 8, peer's 9"):
        agree(make_hello(0, {}), Hello(wire_version=9, party=9, job="?", nonce=b""))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"party": 0}, "party 0, expected party 1"),
        ({"nonce": b"x"}, "no fresh nonce"),
        ({"job": "nonsense"}, "not JSON"),
        ({"job": "1"}, "not a JSON object"),
        ({"job": '{"a": 1}'}, "not in canonical form"),
        ({"job": '{"a":1,"a":1}'}, "not in canonical form"),
        ({"job": '{"a":' + "9" * 5000 + "}"}, "not JSON"),
    ],
)
def test_hello_that_no_honest_party_sends(changes, message):
    with pytest.raises(ProtocolError, match=message):
        agree(make_hello(0, {"a": 1}), hello(1, {"a": 1}, **changes))


def test_too_large_a_job_is_an_input_error():
    with pytest.raises(InputError, match="more than the"):
        make_hello(0, {"a": "x" * MAX_JOB_BYTES})


def test_both_must_want_to_measure_or_neither():
    zero, one = make_hello(0, {}, measure=True), make_hello(1, {}, measure=True)
    assert agree(zero, one) == agree(one, zero)
    with pytest.raises(JobMismatchError, match="measuring the link: ours yes, peer's no"):
        agree(zero, make_hello(1, {}))
    with pytest.raises(JobMismatchError, match="measuring the link: ours no, peer's yes"):
        agree(make_hello(0, {}), one)
    with pytest.raises(JobMismatchError, match="different jobs"):
        agree(zero, make_hello(1, {"a": 1}))


def test_a_part_that_has_a_name_is_called_by_it() -> None:
    """Columns of a schema: their numbers say nothing to who reads it."""

    def job(*values: str, name: str = "Sex") -> dict[str, object]:
        return {"schema": {"attributes": [{"name": name, "values": [*values]}]}}

    assert (
        differences(job("M", "F"), job("F", "M"))[0] == """schema.attributes['Sex'].values[0]: ours "M", peer's "F\""""
    )
    assert differences(job("M"), job("M", name="sex"))[0] == """schema.attributes[0].name: ours "Sex", peer's "sex\""""
