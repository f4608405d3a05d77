"""What an operator types: nothing that is public tells it, and what is none is refused."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from parties.base.canonical import canonical
from parties.jobs import kinds
from parties.jobs.kind import Inputs, Kind, typed_value
from parties.jobs.kinds.circuit import Circuit
from parties.jobs.settings import private_parameters
from parties.node.log.statement import Statement
from parties.node.proposal import propose, read_job
from smc.errors import InputError, ProtocolError
from tests.support.circuits import ADDER
from tests.support.specified import changed, made

NUMBER = 3735928559
PRIVATE: dict[str, dict[str, Any]] = {
    "id3": {},
    "forest": {},
    "millionaires": {"value": NUMBER},
    "equality": {"value": NUMBER},
    "majority": {"classes": ["p", "q"], "counts": f"{NUMBER},7"},
    "circuit": {"circuit": "adder", "input": "0xdeadbeef"},
    "synthesise": {},
    **{
        name: {}
        for name in kinds.BUILT_IN
        if name not in ("id3", "millionaires", "equality", "majority", "circuit", "synthesise")
    },
}


def test_the_cases_are_all_kinds() -> None:
    assert set(PRIVATE) == set(kinds.BUILT_IN)


@pytest.mark.parametrize("name", [name for name in PRIVATE if PRIVATE[name]])
def test_nothing_private_is_told(name: str, inputs: Callable[[dict[str, Any]], Inputs], tmp_path: Path) -> None:
    job = {"protocol": name, **PRIVATE[name]}
    read = read_job(job)
    private = {one.key for one in private_parameters(kinds.find(name).Settings)}
    assert private
    assert read.typed == {key: job[key] for key in private}
    ours = propose(read, inputs(job))
    adder = tmp_path / "adder.txt"
    adder.write_text(ADDER)
    alone = {key: value for key, value in PRIVATE[name].items() if key != "circuit"}
    typed = kinds.find(name).Settings.model_validate(alone | ({"file": adder} if name == "circuit" else {}))
    for task in (ours.task, kinds.find(name).planned(typed)):
        assert not private & task.specification().keys()
        assert not private & task.parameters().keys()
        said = [
            *task.disclosure.reveals("bob"),
            task.disclosure.question,
            task.disclosure.subject,
            canonical(task.specification()),
            task.cost(Inputs()).assumed,
        ]
        shown = json.dumps(task.parameters()) + " ".join(said)
        for text in (str(NUMBER), "deadbeef", "DEADBEEF"):
            assert text not in shown
    with pytest.raises(ProtocolError):
        Statement.from_bytes(changed(ours, {key: job[key] for key in private}))


@pytest.mark.parametrize("value", [-1, 2**32, "5", "abc", 5.0, True, [5], None, {"x": 1}])
@pytest.mark.parametrize("name", ["millionaires", "equality"])
def test_a_number_that_is_none(name: str, value: object) -> None:
    """Whatever an operator's program sends: a line that names the field."""
    with pytest.raises(InputError, match="value"):
        kinds.find(name).agreed({"bits": 32}).own({"value": value})  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    ["", ",", "1", "1,2,3", "1,-2", "1,x", "1,2.0", f"1,{2**32}", "1,²", "1, ,2", "1" * 30 + ",1", 5, [1, 2], None],
)
def test_counts_that_are_none(text: object) -> None:
    task = kinds.find("majority").agreed({"classes": ["p", "q"]})
    with pytest.raises(InputError, match="counts"):
        task.own({"counts": text})


@pytest.mark.parametrize(
    "text", ["", "0x", "0x10000000000", "0b1", "2" * 40, "1" * 39, "1" * 41, "-1", "0x-1", 5, [1], None]
)
def test_an_input_that_is_none(text: object, inputs: Callable[[dict[str, Any]], Inputs]) -> None:
    task = made(inputs, protocol="circuit", circuit="adder").task
    assert isinstance(task, Circuit)
    ours = inputs({})
    with (
        pytest.raises(InputError, match="input"),
        task.open(Inputs(ours.party, circuits=ours.circuits, typed={"input": text})),
    ):
        pass


def test_jobs_of_one_circuit_share_it(inputs: Callable[[dict[str, Any]], Inputs]) -> None:
    """For a node keeps the task of every job. With the last of them it goes."""
    tasks = [made(inputs, protocol="circuit", circuit="adder").task for _ in range(2)]
    assert all(isinstance(task, Circuit) for task in tasks)
    netlists = [task.netlist(inputs({})) for task in tasks if isinstance(task, Circuit)]
    assert netlists[0] is netlists[1]
    gone = ref(netlists[0])
    del tasks, netlists
    gc.collect()
    assert gone() is None


def test_what_was_typed_is_what_is_run() -> None:
    found: type[Kind] = kinds.find("millionaires")
    assert typed_value(found, {"value": NUMBER}, "value") == NUMBER
    assert found.agreed({"bits": 32}).own({"value": NUMBER}) == NUMBER
    assert kinds.find("majority").agreed({"classes": ["p", "q"]}).own({"counts": f"{NUMBER}, 7"}) == [NUMBER, 7]
