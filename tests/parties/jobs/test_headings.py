"""A job's title is its question."""

from __future__ import annotations

import pytest

from parties.jobs.sentences import heading


@pytest.mark.parametrize(
    ("title", "target", "parameters", "words"),
    [
        ("Decision tree", "outcome", {"max_depth": 3}, "Decision tree for outcome"),
        ("Noisy count", "", {"where": "age = old", "epsilon": 1}, "Noisy count of rows where age = old"),
        ("Noisy count", "", {"where": None, "exact": True}, "Exact count of rows"),
        ("Noisy histogram", "sex", {"by": "sex", "where": None}, "Noisy histogram of sex"),
        ("Noisy table", "", {"by": "sex, age", "where": None}, "Noisy table by sex, age"),
        ("Noisy mean", "visits", {"column": "visits", "by": "sex"}, "Noisy mean of visits by sex"),
        ("Clusters", "", {"columns": "a, b, c, d, e", "where": "x = y"}, "Clusters of a, b, c and 2 more where x = y"),
        ("Linear classifier", "y", {"columns": "a, b", "target": None}, "Linear classifier for y"),
        ("Joint table", "benefit", {"by": "county", "across": "benefit"}, "Joint table by county, benefit"),
        ("Who has more", "rows", {"of": "rows"}, "Who has more: rows"),
        ("Who has more", "x=1", {"of": "x=1"}, "Who has more: rows where x = 1"),
        ("Who has more", "", {"of": None}, "Who has more"),
        ("Joint recoding", "", {"recode": "age, zip"}, "Joint recoding of age, zip"),
    ],
)
def test_a_heading_is_the_question(title: str, target: str, parameters: dict[str, object], words: str) -> None:
    assert heading(title, target, parameters) == words
