"""Every room of parties has the imports that docs/architecture-rooms.md lists; the table is drawn from the graph."""

from __future__ import annotations

import re

import pytest

from tests.support.imports import circles, floors, grouped, imports
from tests.support.places import ROOT


def room(module: str) -> str:
    """The folder, or the module at the root, that a module belongs to."""
    return module.split(".")[1] if "." in module else module


def drawn() -> dict[str, set[str]]:
    graph = grouped(imports(ROOT / "parties"), room)
    del graph["parties"]
    return graph


def stated() -> dict[str, set[str]]:
    """The rows of the table: a room, and what it may import."""
    text = (ROOT / "docs" / "architecture-rooms.md").read_text().partition("\n## parties\n")[2]
    rows = re.findall(r"^\| ([a-z_]+) \| [^|]+ \| ?([a-z_, ]*)\|$", text, re.MULTILINE)
    return {
        name: {word.strip() for word in others.split(",") if word.strip()} for name, others in rows if name != "room"
    }


def test_the_table_is_the_graph() -> None:
    assert stated() == drawn()


def test_rooms_stand_in_the_order_of_the_table() -> None:
    """Whoever reads it from the top meets nothing that was not explained before."""
    order = list(stated())
    for name, others in drawn().items():
        assert all(order.index(other) < order.index(name) for other in others), name
    assert len(floors(drawn())) == len(order)


def test_no_modules_import_each_other() -> None:
    assert not circles(imports(ROOT / "parties"))


def test_the_page_is_not_the_nodes_business() -> None:
    assert "web" not in drawn()["node"]


LARGE = ("models", "alone", "alone/publish", "jobs", "node", "checking")


def inside(name: str) -> dict[str, set[str]]:
    """The graph of the folders and modules of a room."""
    prefix = ["parties", *name.split("/")]

    def part(module: str) -> str:
        words = module.split(".")
        return words[len(prefix)] if words[: len(prefix)] == prefix and len(words) > len(prefix) else ""

    graph = grouped(imports(ROOT / "parties"), part)
    del graph[""]
    return {name: others - {""} for name, others in graph.items()}


@pytest.mark.parametrize("name", LARGE)
def test_the_floors_within_a_room_are_the_graphs(name: str) -> None:
    text = (ROOT / "docs" / "architecture-rooms.md").read_text().partition("\n## parties\n")[2]
    lines = re.findall(rf"^    {name} (\d+) +([\w, ]+)$", text, re.MULTILINE)
    assert {part: int(number) for number, parts in lines for part in parts.split(", ")} == floors(inside(name))


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """All rooms that a room imports, and what these import."""
    found: set[str] = set()
    while more := {other for room in {start, *found} for other in graph[room]} - found:
        found |= more
    return found


def test_what_needs_no_peer_reaches_none() -> None:
    assert not reached(drawn(), "alone") & {"link", "jobs", "node", "operator", "party_file"}


def test_a_way_to_the_peer_is_seen() -> None:
    assert reached({"alone": {"tables"}, "tables": {"link"}, "link": set(), "jobs": set()}, "alone") == {
        "tables",
        "link",
    }
