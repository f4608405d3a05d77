"""The tree in a real browser: it is explored, on the page as in its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.models.trees.drawing import draw_svg
from parties.models.trees.tree import Leaf, Split
from tests.support.fake_node import wide_tree
from tests.support.site import Site, drawn, texts, until

pytestmark = pytest.mark.slow

MARKUP = "<b>x</b> & <script>y</script> %{z} $1$"


def middle(picture: Any, text: str) -> tuple[float, float]:
    box = picture.locator("text", has_text=text).first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def height(picture: Any) -> float:
    """Of a letter, in pixels."""
    return float(picture.locator("text").first.bounding_box()["height"])


def test_the_tree_can_be_explored(site: Site) -> None:
    job = site.node.add()
    site.node.finish(job.id)
    page = site.signed_in(f"/jobs/{job.id}")
    picture = drawn(page)
    assert {"age", "sex", "blood_pressure", "smoker", "yes", "no", "maybe", "over 60"} <= set(texts(picture))
    assert page.locator(".bars tbody tr").count() == 6
    way = picture.locator("g", has_text="maybe").locator("title").text_content()
    assert way.splitlines() == ["age = 40 to 60", "sex = male", "→ class maybe"]

    before, small = middle(picture, "maybe"), height(picture)
    page.get_by_role("button", name="Larger").click()
    assert height(picture) == pytest.approx(1.4 * small, abs=2)  # a letter's box is whole pixels
    picture.focus()
    page.keyboard.press("ArrowRight")
    assert middle(picture, "maybe") != pytest.approx(before, abs=2)
    page.keyboard.press("0")
    assert middle(picture, "maybe") == pytest.approx(before, abs=0.5)

    page.mouse.move(*before)
    page.mouse.down()
    page.mouse.move(before[0] + 80, before[1] + 30, steps=4)
    page.mouse.up()
    moved = (before[0] + 80, before[1] + 30)
    assert middle(picture, "maybe") == pytest.approx(moved, abs=1)
    page.mouse.wheel(0, -300)
    until(lambda: height(picture) > 1.3 * small)
    assert middle(picture, "maybe") == pytest.approx(moved, abs=1)  # what the pointer is on stays there


def test_the_wheel_is_the_pages_until_the_tree_is_clicked(site: Site) -> None:
    site.node.finish(site.node.add().id)
    page = site.signed_in(f"/jobs/{site.node.jobs()[0].id}")
    picture = drawn(page)
    small = height(picture)
    page.mouse.move(*middle(picture, "age"))
    page.mouse.wheel(0, 40)
    until(lambda: page.evaluate("scrollY") > 0)
    assert height(picture) == small


@pytest.mark.parametrize(("width", "ways"), [(320, 3), (1280, 3)])
def test_a_large_tree_can_be_read_from_its_root(site: Site, width: int, ways: int) -> None:
    """With the way to the first leaf beside it."""
    site.node.finish(site.node.add().id, wide_tree(5, ways))
    page = site.signed_in(f"/jobs/{site.node.jobs()[0].id}", viewport={"width": width, "height": 700})
    picture = drawn(page)
    page.get_by_role("button", name="From the root").click()
    assert height(picture) >= 10
    frame = picture.bounding_box()
    boxes = [picture.locator("g.question").nth(level).bounding_box() for level in range(2 if width < 400 else 5)]
    for box in boxes:
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert frame["y"] <= box["y"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"]


def test_a_large_tree_opens_whole_on_a_phone(site: Site) -> None:
    site.node.finish(site.node.add().id, wide_tree(5, 3))
    page = site.signed_in(
        f"/jobs/{site.node.jobs()[0].id}", viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True
    )
    picture = drawn(page)
    frame = picture.bounding_box()
    assert frame["height"] <= 640
    for end in ("first", "last"):
        box = getattr(picture.locator("g"), end).bounding_box()
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert frame["y"] <= box["y"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"]


def test_the_file_is_explored_like_the_page(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "tree.svg"
    path.write_text(draw_svg(wide_tree(3, 3), "readmitted", "A tree"))
    page = site.page()
    page.goto(path.as_uri())
    picture = page.locator("svg[data-explored]")
    small = height(picture)
    page.keyboard.press("+")
    assert height(picture) == pytest.approx(1.3 * small, abs=2)  # a letter's box is whole pixels
    page.keyboard.press("0")
    assert height(picture) == pytest.approx(small)
    site.requests.remove(path.as_uri())


def test_names_are_not_taken_for_markup_by_the_picture(site: Site) -> None:
    site.node.finish(site.node.add().id, Split(MARKUP, {MARKUP: Leaf(MARKUP), "plain": Leaf("other")}))
    page = site.signed_in(f"/jobs/{site.node.jobs()[0].id}")
    picture = drawn(page)
    assert texts(picture).count(MARKUP) == 3
    assert picture.locator("title").last.text_content().splitlines()[0] == f"{MARKUP} = plain"
    page.get_by_text("The tree as a list").click()
    assert page.locator(".outline summary").get_by_text(MARKUP + "?").is_visible()


def test_a_tree_too_large_to_read_has_its_list_unfolded_two_levels(site: Site) -> None:
    site.node.finish(site.node.add().id, wide_tree(4, 3))
    site.node.finish(site.node.add().id)
    page = site.signed_in()
    small, large = site.node.jobs()
    page.goto(f"{site.origin}/jobs/{large.id}")
    drawn(page)
    summaries = page.locator(".outline summary")
    assert [summaries.get_by_text(f"question {level}?").first.is_visible() for level in range(4)] == [True] * 3 + [
        False
    ]
    assert page.get_by_text("So many leaves cannot be read").is_visible()
    page.goto(f"{site.origin}/jobs/{small.id}")
    drawn(page)
    assert not page.locator(".outline ul").first.is_visible()
    assert page.get_by_text("So many leaves cannot be read").count() == 0
