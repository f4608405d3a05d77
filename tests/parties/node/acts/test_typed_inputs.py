"""What operators have typed: kept by job, as it was, until the job has ended."""

from __future__ import annotations

from parties.node.acts.typed_inputs import TypedInputs


def test_what_was_typed_is_kept_by_job_until_it_is_forgotten() -> None:
    typed = TypedInputs()
    given = {"value": 3}
    typed.put("a", given)
    typed.put("b", {"value": 4})
    given["value"] = 5
    typed.of("a")["value"] = 6
    assert (typed.of("a"), typed.of("b"), typed.of("c")) == ({"value": 3}, {"value": 4}, {})
    typed.put("a", {})  # nothing typed takes nothing away
    assert typed.of("a") == {"value": 3}
    for _ in range(2):
        typed.forget("a")
        assert (typed.of("a"), typed.of("b")) == ({}, {"value": 4})
