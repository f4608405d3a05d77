"""Settings from a file and from flags, merged."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from parties.base.settings import Settings, merge, required, validated
from parties.jobs import kinds
from parties.jobs.kinds.publish.joint import JointSettings
from parties.jobs.tree.settings import Id3Settings
from parties.link.settings import LinkSettings
from parties.party_file import load
from smc.errors import InputError
from tests.support.party_files import FULL, write

ENGINES = "'auto', 'yao', 'gmw', 'mixed' or 'lean'"


def test_flags_win_over_the_file_and_absent_flags_do_not(tmp_path: Path) -> None:
    settings = load(write(tmp_path, FULL)).id3
    merged = merge(settings, {"tolerance": 0.5, "engine": None, "schema": Path("here.toml"), "max_depth": 0})
    assert (merged.tolerance, merged.engine, merged.max_depth) == (0.5, "gmw", 0)
    assert merged.schema_file == Path("here.toml")  # a flag is relative to where the command runs
    assert merged.data == tmp_path / "mine.csv"
    assert merge(settings, {}) == settings


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"max_rows": 0}, "--max-rows: must be >= 1, not 0"),
        ({"engine": "yoa"}, f"--engine: must be {ENGINES}, not 'yoa' (did you mean 'yao'?)"),
    ],
)
def test_a_bad_flag_is_named_as_a_flag(flags: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        merge(Id3Settings(), flags)
    assert str(caught.value) == message


def test_required_returns_the_value_or_names_flag_and_key() -> None:
    assert required(0, "id3.min_rows") == 0
    with pytest.raises(InputError, match=r"--min-rows is missing: .*min_rows under \[id3\]"):
        required(None, "id3.min_rows")


@pytest.mark.parametrize("seconds", [1e30, 1e10, float("inf"), float("nan"), 0.0])
def test_no_wait_is_longer_than_a_clock_of_the_system_can_count(seconds: float) -> None:
    with pytest.raises(InputError, match=r"^--wait: must be "):
        merge(LinkSettings(), {"wait": seconds})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"sensitive": ""}, "sensitive: must not be empty"),
        ({"recode": ()}, "recode: must not be empty"),
        ({"keep": ("x" * 300,)}, "keep.0: must have at most 200 characters"),
        ({"recode": tuple(f"c{i}" for i in range(99))}, "recode: must name at most 64"),
        ({"sensitive": "\udcff"}, "sensitive: must be text in UTF-8"),
    ],
)
def test_lengths_are_told_in_words(keys: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^--{message}"):
        merge(JointSettings(), keys)


class Example(Settings):
    where: str | None = Field(default=None, examples=["age in [a, b]"])
    other: str = ""


class Outer(Settings):
    inner: Example = Example()


@pytest.mark.parametrize("value", [5, True, ["age = a"], {"age": "a"}, 2.5])
def test_what_is_no_text_is_told_what_it_could_be(value: object) -> None:
    with pytest.raises(InputError, match=r'^where: must be text in quotes, not .*; for example "age in \[a, b\]"$'):
        validated(Example, {"where": value})
    with pytest.raises(InputError, match=r'^inner.where: must be text .*; for example "age in'):
        validated(Outer, {"inner": {"where": value}})
    with pytest.raises(InputError, match=r"^other: must be text in quotes, not [^;]*$"):
        validated(Example, {"other": value})


def test_a_job_whose_rows_are_not_said_in_text_is_told_how() -> None:
    with pytest.raises(InputError, match=r'^where: .*not 5; for example "age in \[young, middle\] and sex = male"$'):
        validated(kinds.find("release count").Settings, {"where": 5, "epsilon": 1.0})
