"""Noisy numbers as text for a terminal. Words of the schema may come from the peer, so each is shown on one line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from parties.base.text import visible
from parties.jobs.kind import CONSTANT_AS_GOOD, adjacency_of
from parties.jobs.release.noise import CONFIDENCE

Document = Mapping[str, Any]
INTERVAL = f"{CONFIDENCE:.0%}".replace("%", " %")
OF_NOISE = f"{INTERVAL}, noise only"  # interval for these very rows; sampling error is not included


def text(lines: Iterable[str], document: Document) -> str:
    """Return the lines of a result as text, followed by the lines on its noise.

    Args:
        lines: Lines of the result.
        document: JSON document of the result; it has the noise.
    """
    return "\n".join([*lines, *map(shown, about(document))]) + "\n"


def lines(document: Document) -> list[str]:
    """Return a result as lines of text, without the lines on its noise."""
    if "answer" in document:
        return ["yes" if document["answer"] else "no"]
    return _model(document) if "classes" in document else _answers(document)


def numbers_as_csv(document: Document) -> str:
    """Return the numbers as CSV: cell and fields of each; a missing number is empty."""
    numbers = [answer.get("cell", {"of": label(answer)}) | _fields(answer) for answer in document["numbers"]]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(dict.fromkeys(chain.from_iterable(numbers))), lineterminator="\n")
    writer.writeheader()
    writer.writerows(numbers)
    return stream.getvalue()


def _fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in ("cell", "of")}


def about(document: Document) -> list[str]:
    """Return the selection, the rounding, the noise and the privacy loss of the numbers as lines of text."""
    lines = [f"of rows where {document['where']}"] if "where" in document and document["question"] != "count" else []
    lines += document.get("rounded", ())
    if "within" in document:
        lines.append(f"percentages of the rows of each {shown(' and '.join(document['within']))}")
    if "reaches" in document:
        off = ", ".join(f"{reach:,} if it is {common}" for common, reach in document["reaches"].items())
        lines.append(f"{OF_NOISE}, by the largest number of common neighbours of two vertices: off by at most {off}")
    if "epsilon" not in document and not document.get("exact"):
        return lines
    if document.get("exact"):
        effect = "" if document.get("alone") else ": each party can compute the other's number"
        return [*lines, f"exact, without noise{effect}"]
    epsilon = f"epsilon {document['epsilon']:g}" + (f", delta {document['delta']:g}" if "delta" in document else "")
    noise = ""
    if "law" in document:
        name = "scale" if "scale" in document else "sigma"
        noise = f"{document['law']} noise of {name} {document[name]:.4g}, "
    lines.append(f"{noise}{epsilon} ({adjacency_of(document)})")
    if document.get("mostly_noise"):
        lines.append(f"the counts show no more than their noise: {CONSTANT_AS_GOOD}")
    return lines


def amount(value: float | None) -> str:
    """Return a number as text; a dash for None."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def label(answer: Document) -> str:
    """Return the label of a number in a result: the values of its cell, as `column = value`."""
    if "of" in answer:
        return shown(answer["of"])
    return ", ".join(f"{shown(name)} = {shown(value)}" for name, value in answer["cell"].items()) or "all rows"


def shown(text: str, limit: int = 200) -> str:
    """Return a word of the schema on one line, shortened to `limit` characters.

    Args:
        text: Name or value of the schema.
        limit: Largest number of characters.
    """
    text = visible(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _answers(document: Document) -> list[str]:
    numbers = document["numbers"]
    by = document.get("by", [])
    if len(by) == 2 and "margins" in document:
        return _crossed(document)
    places = [list(map(shown, by))] if by else [["of"]]
    places += [list(map(shown, answer["cell"].values())) if by else [label(answer)] for answer in numbers]
    what = shown(document["column"]) if "column" in document else "rows"
    title = {
        "correlation": f"correlation of {shown(' and '.join(document.get('columns', ())))}",
        "mean": f"mean {what}",
        "deviation": f"deviation of {what}",
        "median": f"median {what}",
        "sum": f"sum of {what}",
        "triangles": "triangles",
    }.get(document["question"], what)
    columns = [[title], *([value_of(answer)] for answer in numbers)]
    if "low" in numbers[0]:
        columns = [[title, OF_NOISE], *([value_of(answer), _interval(answer)] for answer in numbers)]
    if "mean" in numbers[0]:
        columns = [
            [*column, mean]
            for column, mean in zip(columns, ["mean", *(amount(answer["mean"]) for answer in numbers)], strict=True)
        ]
    if "percent" in numbers[0]:
        shares = ["%", *map(_percent, numbers)]
        columns = [[*column, share] for column, share in zip(columns, shares, strict=True)]
    lines = [[*place, *rest] for place, rest in zip(places, columns, strict=True)]
    if "total" in document and len(numbers) > 1:
        lines += _sums(document, len(by))
    return aligned(lines, len(by) or 1)


def _sums(document: Document, columns: int) -> list[list[str]]:
    lines = []
    if columns > 1:
        for answer in document.get("margins", ()):
            cell = [shown(answer["cell"][name]) if name in answer["cell"] else "all" for name in document["by"]]
            lines.append([*cell, value_of(answer), *([_interval(answer)] if "low" in answer else []), _percent(answer)])
    total = document["total"]
    return [*lines, ["all"] * columns + [value_of(total), *([_interval(total)] if "low" in total else []), ""]]


def _percent(answer: Document) -> str:
    if answer["percent"] is None:
        return "-"
    interval = f" ({answer['percent_low']:.1f} to {answer['percent_high']:.1f})" if "percent_low" in answer else ""
    return f"{answer['percent']:.1f}{interval}"


def _crossed(document: Document) -> list[str]:
    """Return a table of two columns, one down and one across, with its margins."""
    down, across = document["by"]
    cells = {tuple(answer["cell"].values()): _crossing(answer) for answer in document["numbers"]}
    margins = {
        name: {m["cell"][name]: _crossing(m) for m in document["margins"] if name in m["cell"]}
        for name in (down, across)
    }
    lines = [[f"{shown(down)} \\ {shown(across)}", *map(shown, margins[across]), "all"]]
    for value, total in margins[down].items():
        lines.append([shown(value), *(cells[value, other] for other in margins[across]), total])
    lines.append(["all", *margins[across].values(), value_of(document["total"])])
    if "low" not in document["total"]:
        return aligned(lines, 1)
    spread = [f"each cell ± {_spread(document['numbers'])}"]
    for name, where in ((down, "row"), (across, "column")):
        spread.append(f"each {where} ± {_spread([m for m in document['margins'] if name in m['cell']])}")
    return [*aligned(lines, 1), f"{OF_NOISE}: {', '.join(spread)}, all ± {_spread([document['total']])}"]


def _crossing(answer: Document) -> str:
    return value_of(answer) + ("" if answer["percent"] is None else f" ({answer['percent']:.1f} %)")


def _spread(numbers: Sequence[Document]) -> str:
    """Return half the length of the intervals; all are equally long, except where a bound cuts them off."""
    return amount(max(max(answer["high"] - answer["noisy"], answer["noisy"] - answer["low"]) for answer in numbers))


def _model(document: Document) -> list[str]:
    classes = document["classes"]
    lines = [[f"{shown(document['target'])}", *map(shown, classes)], ["rows", *map(amount, classes.values())]]
    for column, values in document["columns"].items():
        lines += [[f"{shown(column)} = {shown(value)}", *map(amount, counts)] for value, counts in values.items()]
    return aligned(lines, 1)


def value_of(answer: Document) -> str:
    """Return the text of an answer: values in their order, a range, or a number."""
    if "first" in answer:
        return ", ".join(map(shown, answer["first"]))
    value = amount(answer["value"])
    return f"{amount(answer['from'])} to {value}" if "from" in answer else value


def _interval(answer: Document) -> str:
    return f"{amount(answer['low'])} to {amount(answer['high'])}"


def aligned(lines: Iterable[Sequence[str]], left: int) -> list[str]:
    """Return aligned lines: the first `left` columns flush left, the others flush right.

    Args:
        lines: Cells of each line.
        left: Number of columns that are flush left.
    """
    table = list(lines)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            f"{cell:<{width}}" if i < left else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]
