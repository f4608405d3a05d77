"""Settings of jobs know the choices of the engine, and leave them to `auto`."""

from __future__ import annotations

from typing import get_args

import pytest

from parties.jobs import settings as jobs
from parties.jobs.settings import AnyEngine, Id3Settings, Ot
from parties.settings import merge
from smc.circuit import Form
from smc.engines import Garbling, Name
from smc.ot import Kind


def test_the_settings_know_every_choice_of_the_engine() -> None:
    """They are written twice so that settings load without the engine; here they are compared."""
    assert set(get_args(Ot)) == set(get_args(Kind))
    assert set(get_args(jobs.Garbling)) == set(get_args(Garbling))
    assert set(get_args(jobs.Form)) == set(get_args(Form))
    assert set(get_args(AnyEngine)) == {"auto", *get_args(Name)} - {"clear"}


@pytest.mark.parametrize("flags", [{"ot": "ferret"}, {"garbling": "half"}, {"form": "depth"}])
def test_auto_does_not_let_itself_be_told_the_rest(flags: dict[str, object]) -> None:
    with pytest.raises(Exception, match="engine auto chooses"):
        merge(Id3Settings(), {"engine": "auto", **flags})
