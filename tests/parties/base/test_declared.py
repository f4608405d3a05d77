"""Fields that a class declares: what a table of a file may say of it, and what is said of a wrong one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field

from parties.alone.local.mechanism import MECHANISMS
from parties.alone.publish.models.model import MODELS
from parties.base.declared import Declared
from smc.errors import InputError
from tests.support.places import ROOT


@dataclass(frozen=True)
class Box(Declared):
    wide: Annotated[int, Field(strict=True, ge=1, alias="width", description="from left to right")]
    high: Annotated[int, Field(strict=True, ge=1, le=9, description="from top to bottom")]
    names: tuple[str, ...] = ()
    name: ClassVar[str] = "box"

    def check(self) -> None:
        if self.high > self.wide:
            raise InputError("it falls over")


def test_a_table_makes_one() -> None:
    box = Box.of({"width": 3, "high": 2, "names": ["a", "b"]})
    assert box == Box(3, 2, ("a", "b"))
    assert box.settings() == {"width": 3, "high": 2, "names": ("a", "b")}
    assert Box.of(box.settings()) == box


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"width": 3}, "high is missing: box needs width (from left to right), high (from top to bottom)"),
        ({"width": 3, "high": 2, "deep": 1}, "box has no deep; it has width, high, names"),
        ({"wide": 3, "high": 2}, "box has no wide; it has width, high, names"),
        ({"width": "3", "high": 2}, "box: width must be a whole number, not '3'"),
        ({"width": 30, "high": 10}, "box: high must be <= 9, not 10"),
        ({"width": 2, "high": 3}, "box: it falls over"),
    ],
)
def test_a_wrong_table_is_a_line(table: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as raised:
        Box.of(table)
    assert str(raised.value) == problem


def test_whoever_makes_it_bounds_hold() -> None:
    with pytest.raises(InputError, match="box: width must be >= 1, not 0"):
        Box(0, 1)


@pytest.mark.parametrize(("page", "family"), [("publish", MODELS), ("local", MECHANISMS)])
def test_every_field_has_a_word_and_the_page_has_them_all(page: str, family: Any) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    for name in family.names():
        kind = family.find(name)
        assert all(field.description for field in kind.table().model_fields.values()), name
        (row,) = re.findall(rf"^\| `{name}` \|.*$", text, re.MULTILINE)
        named = set(re.findall(r"`([a-z_]+)`", row.replace(" = ", "` = `")))
        assert kind.named().keys() - {"memoise"} <= named, name
