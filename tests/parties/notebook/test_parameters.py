"""The parameters of notebook classes are their kinds' settings: signature, values, description."""

from __future__ import annotations

import inspect

import pytest

from parties.jobs.kinds.survive.curve import Curve
from parties.notebook import (
    Anonymiser,
    BlurredTreeClassifier,
    JointBoostClassifier,
    JointForestClassifier,
    JointRules,
    JointSurvival,
    Preparer,
    Pseudonymiser,
)
from parties.notebook.study import JointStudy


def test_a_signature_is_that_of_the_settings() -> None:
    found = inspect.signature(JointSurvival).parameters
    assert list(found)[:5] == ["schema", "time", "event", "arm", "event_value"]
    assert next(name for name, one in found.items() if one.kind is one.KEYWORD_ONLY) == "event_value"
    assert all(one.default is None for one in found.values())
    defaults = {name: one.default for name, one in inspect.signature(JointForestClassifier).parameters.items()}
    assert (defaults["trees"], defaults["criterion"], defaults["max_rows"]) == (100, "gini", None)
    assert inspect.signature(JointBoostClassifier).parameters["reg_lambda"].default == 1.0
    for made in (JointSurvival, JointRules):
        assert set(found) - {"schema", "peer", "holders"} <= set(Curve.Settings.model_fields) | {"max_rows"}
        assert made.__init__.__qualname__ == f"{made.__name__}.__init__"


def test_parameters_are_kept_as_they_are() -> None:
    columns = ["a", "b"]
    rules = JointRules("s.toml", columns, support=0.3)
    assert rules.columns is columns
    assert (rules.schema, rules.support, rules.confidence, rules.peer) == ("s.toml", 0.3, 0.8, None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'supports'"):
        JointRules(supports=0.3)
    with pytest.raises(TypeError, match="too many positional arguments"):
        JointRules("s.toml", columns, 0.3)


def test_a_class_without_a_peer_has_its_own_parameters_alone() -> None:
    assert [*inspect.signature(Preparer).parameters] == ["target", "schema", "exclude", "readings", "guess", "derive"]
    found = inspect.signature(Anonymiser).parameters
    assert [name for name, one in found.items() if one.kind is not one.KEYWORD_ONLY] == ["models"]
    defaults = {name: found[name].default for name in ("algorithm", "utility", "max_suppressed", "drop", "public")}
    assert [*defaults.values()] == ["flash", "discernibility", 0.0, (), None]
    required = [name for name, one in inspect.signature(Pseudonymiser).parameters.items() if one.default is one.empty]
    assert required == ["columns", "master", "keys"]
    with pytest.raises(TypeError, match="missing a required argument: 'master'"):
        Pseudonymiser({})
    assert BlurredTreeClassifier(prune=False).get_params()["min_rows"] == 1


CLASSES = [
    JointSurvival, JointForestClassifier, JointRules, Anonymiser, BlurredTreeClassifier, Preparer, Pseudonymiser
]  # fmt: skip


@pytest.mark.parametrize("made", CLASSES, ids=lambda made: made.__name__)
def test_every_parameter_is_described(made: type[JointStudy]) -> None:
    text = made.__doc__ or ""
    for name in inspect.signature(made).parameters:
        assert f"\n    {name}: " in text
    assert "see the command" not in text
