"""The majority as a kind of job: what is told of a task makes the same task again."""

from __future__ import annotations

import pytest

from parties.jobs.inputs import Inputs
from parties.jobs.kinds.majority import Majority, MajoritySettings
from parties.tables.schema import Schema
from smc.errors import InputError

SCHEMA = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")


def test_what_is_told_of_typed_counts_names_the_classes() -> None:
    task = Majority.proposed(MajoritySettings(classes=("yes", "no", "perhaps")), Inputs())
    assert task.parameters()["classes"] == "yes, no, perhaps"
    assert Majority.agreed(task.specification()).specification() == task.specification()
    assert not task.reads_table


def test_of_a_table_the_target_names_them() -> None:
    task = Majority.proposed(MajoritySettings(), Inputs(schema=SCHEMA))
    assert (task.disclosure.subject, task.classes, task.columns) == ("play", ("yes", "no"), ("play",))
    assert "classes" not in task.parameters()
    again = Majority.agreed(task.specification())
    assert (again.disclosure.subject, again.classes, again.reads_table) == ("play", ("yes", "no"), True)
    assert again.specification() == task.specification()


@pytest.mark.parametrize("classes", [None, ("yes", "yes")])
def test_classes_must_be_named_once(classes: tuple[str, ...] | None) -> None:
    with pytest.raises(InputError, match=r"classes: (is missing: )?name"):
        Majority.proposed(MajoritySettings(classes=classes), Inputs())


def test_one_class_is_no_question() -> None:
    with pytest.raises(InputError, match="classes: name at least two"):
        Majority.proposed(MajoritySettings(classes=("yes",)), Inputs())
