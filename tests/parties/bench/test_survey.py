"""The links of a survey."""

from __future__ import annotations

import pytest

from parties.bench import survey
from smc.errors import InputError
from smc.link_shape import PRESETS, LinkShape


def test_links_are_presets_or_shapes() -> None:
    assert survey.parse_links("loopback,lan,wan") == PRESETS
    assert survey.parse_links("LAN; 50mbit,80ms ;5ms") == {
        "lan": PRESETS["lan"],
        "50mbit,80ms": LinkShape(50e6, 0.04),
        "5ms": LinkShape(None, 0.0025),
    }


@pytest.mark.parametrize("text", ["", "lan,", "lan,fast", "1gbit,1ms,2ms", "lan;;wan"])
def test_other_links_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--links"):
        survey.parse_links(text)
