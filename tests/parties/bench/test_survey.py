"""The links of a survey, and its files."""

from __future__ import annotations

import csv
import io

import pytest

from parties.bench import survey
from parties.bench.measuring import Measurement
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


def test_csv_quotes_what_has_commas() -> None:
    row = dict.fromkeys(Measurement.__dataclass_fields__, 1) | {"protocol": 'a, "b"', "link": "1gbit,1ms"}
    (read,) = csv.DictReader(io.StringIO(survey.as_csv([row])))
    assert read["protocol"] == 'a, "b"'
    assert read["link"] == "1gbit,1ms"
    assert "phases" not in read
