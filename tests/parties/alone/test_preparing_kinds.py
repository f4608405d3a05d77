"""Odd spellings of kinds that exports have: each is read right, asked for, or named; none is wrong in silence."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from parties.alone.preparing.checking import checked
from parties.alone.preparing.profile import TableProfile, profile
from parties.alone.preparing.proposing import TableProposal, propose
from parties.base.settings import validated
from parties.sources.mapping import rules
from parties.sources.settings import ColumnSettings, PlaceSettings
from parties.tables.delimited import MISSING
from parties.tables.types import EPOCH
from smc.errors import InputError

# Cells with bars between them, and their values; or the beginning of what is asked (`?`) or remarked (`!`).
READ: dict[str, list[Any] | str] = {
    "1,00,000|12,34,567|99,999": [100000, 1234567, 99999],
    "1'234.50|12'000.00|999.95": [1234.5, 12000, 999.95],
    "1\u2009234,5|12\u2009000,0|999,5": [1234.5, 12000, 999.5],
    "1.234,-|999,-|12.500,-": [1234, 999, 12500],
    "12.\u2013|1'250.\u2013|7.50": [12, 1250, 7.5],
    "12 kg|80.5 kg|77 kg": [12, 80.5, 77],
    "12mg/dl|80.5mg/dl|77mg/dl": [12, 80.5, 77],
    "12 kg|800 g|77 kg": "?column 'x': text ('12 kg', '800 g' stay texts) or number",
    "$12.50|\u20ac13.00|$4.00": "?column 'x': text",
    "12%|13.5%|0.4|7%": "?column 'x': text",
    "3 \u2030|4.5 \u2030": [3, 4.5],
    "Fr. 12.50|Fr. 1'300.00": [12.5, 1300],
    "R$ 12,50|R$ 1.300,00": [12.5, 1300],
    "12,50 kr|1 300,00 kr": [12.5, 1300],
    "\u2212" + "12|13|-4.5": [-12, 13, -4.5],
    "\u201312|13|\u20134.5": [-12, 13, -4.5],
    "12-|13|4.5-": [-12, 13, -4.5],
    "$ (12)|$ 13|($4.50)": [-12, 13, -4.5],
    "12-|13+|4.5-|9+": "!read as texts",
    "12 CR|13 DR|4.5 CR": "!read as texts",
    "1.2K|3M|500": "!read as texts",
    "0x1F|0x2A": "!read as texts",
    "1/2|3/4": "!read as texts",
    "\uff11\uff12|\uff13\uff14": "!read as texts",
    ">90|17|12|<10": "!read as texts",
    "1e-3|2e-3|5e-3": [0.001, 0.002, 0.005],
    "1E10|2E11|7E09": "!'1E10' is read as 10000000000",
    "01234|08001|12345": ["01234", "08001", "12345"],
    "+41441234567|+41791112233": ["+41441234567", "+41791112233"],
    "3. M\u00e4rz 2024|24. Dez 2023": ["2024-03-03", "2023-12-24"],
    "03-Mrz-2024|12-Mai-2024|01-Okt-2024": ["2024-03-03", "2024-05-12", "2024-10-01"],
    "3 marzo 2024|1 ottobre 2024": ["2024-03-03", "2024-10-01"],
    "12 ao\u00fbt 2024|24 d\u00e9cembre 2023": ["2024-08-12", "2023-12-24"],
    "03-f\u00e9vr.-2024|01-oct.-2024": ["2024-02-03", "2024-10-01"],
    "03.04.2024 14:30|24.12.2023 23:59:59|13.05.2024": ["2024-04-03", "2023-12-24", "2024-05-13"],
    "2024-04-03 23:30:00 CET|2024-04-04 08:00:00 UTC": ["2024-04-03", "2024-04-04"],
    "2024-04-03T23:30:00-05:00|2024-04-04T08:00:00Z": "!each day is that of its own time zone",
    "2024-04-03|9999-12-31|2023-05-06|2022-01-01": "?'x': value (they are days like the others) or missing:9999-12-31",
    "03.04.2024|01.01.1900|24.05.2023|13.01.2022": "?'x': value (they are days like the others) or missing:01.01.1900",
    "202404031430|202312241200": "!are these dates or times",
    "Mon Apr  3 2024|Tue May  4 2024": "!read as texts",
    "04/2024|05/2024": "!read as texts",
    "2024-04-03|03.04.2024|24.12.2023|2023-12-24": "!read as texts",
    "02:30 PM|11:15 AM": "!read as texts",
    "2024-00-00|2024-04-00|2024-04-03|2023-05-06": "!read as texts",
    "1|2|3|4|5|9": "!'9' at its end, after a gap",
    "1|2|3|4|5|-1": "!'-1' at its end, after a gap",
    "0|1|-9": "?column 'x': value (they are numbers like the others) or missing:-9",
    "4.1|4.5|5.2|6.0|99.9": "?column 'x': value (they are numbers like the others) or missing:99.9",
    "20|31|42|53|64|0|21|22|23|24|25|26|27|28": "!'0' at its end, after a gap",
    "12|13.5|20|33|unknown|7|8|9|10|11": [12, 13.5, 20, 33, None, 7, 8, 9, 10, 11],
    "12\u200b|13|20": "!read as texts",
    "Bern\u200b|Bern|\ufeffBasel|Basel": ["Bern", "Bern", "Basel", "Basel"],
    "Bern Ost|Bern\u00a0Ost|Basel": ["Bern Ost", "Bern Ost", "Basel"],
    "Z\u00fc\u00adrich|Z\u00fcrich|Zu\u0308rich": ["Z\u00fcrich"] * 3,
    "Bern|\u0412ern|Basel": "!'Bern', '\u0412ern' look alike",
    "ja|Ja|nein": "!'Ja', 'ja' look alike",
    "O\u2019Neil|O'Neil": "!\"O'Neil\", 'O\u2019Neil' look alike",
    "TRUE|1|no|0": "!'0', 'no', '1', 'TRUE' look alike",
    "18-40|18\u201340": "!'18-40', '18\u201340' look alike",
    "Z\u00c3\u00bcrich|Bern": "!'Z\u00c3\u00bcrich': broken letters",
    "Z\ufffdrich|Bern": "!'Z\ufffdrich': broken letters",
    "Bern &amp; Basel|Bern": "!'Bern &amp; Basel': broken letters",
    "x|": "!it has one value only; the peer's table may have others; if an empty cell means no",
    "18-25|26-35|65+": ["18-25", "26-35", "65+"],
}
BODY = "".join(f"{20 + i % 60};{('Zurich', 'Basel', 'Bern')[i % 3]};{('yes', 'no')[i % 2]}\n" for i in range(121))
TABLE = "age;town;ill\n" + BODY


def towns(code: str, *words: str) -> bytes:
    return ("n;town\n" + "".join(f"{i};{words[i % len(words)]}\n" for i in range(60))).encode(code)


# What a file is read as: the values of `town`; or the beginning of what is asked or refused (`?`) or remarked (`!`).
FILES: dict[str, tuple[bytes, set[str] | str]] = {
    "utf-16 without a mark": (towns("utf-16-le", "Z\u00fcrich", "Bern"), {"Z\u00fcrich", "Bern"}),
    "Czech": (
        towns("cp1250", "Plze\u0148", "D\u011b\u010d\u00edn", "\u0160umperk"),
        {"Plze\u0148", "D\u011b\u010d\u00edn", "\u0160umperk"},
    ),
    "Hungarian": (towns("cp1250", "Gy\u0151r", "H\u0171v\u00f6s"), {"Gy\u0151r", "H\u0171v\u00f6s"}),
    "Turkish": (towns("cp1254", "\u0130stanbul", "Diyarbak\u0131r"), "?cp1252 ("),
    "told apart late": (
        towns("cp1254", "K\u00f6ln", "\u00d6l", "H\u00f6he", "\u0130stanbul"),
        "?cp1252 ('\u00ddstanbul', 'K\u00f6ln', '\u00d6l') or cp1254 ('\u0130stanbul', ",
    ),
    "of many languages": (
        towns("latin-1", "M\u00fcller", "\u00deorr", "\u00d1and\u00fa", "\u00d8st"),
        "?cp1252 ('\u00deorr', '\u00d1and\u00fa', '\u00d8st') or cp1250 ("
        "'\u0162orr', '\u0143and\u00fa', '\u0158st') or cp850 ('\u00ccorr', '\u00d0and\u00b7', "
        "'\u00cfst'): choose with --reading '*=cp1252', or give --guess",
    ),
    "Icelandic": (
        towns("cp1252", "\u00de\u00f3r\u00f0ur", "\u00cdsafj\u00f6r\u00f0ur"),
        {"\u00de\u00f3r\u00f0ur", "\u00cdsafj\u00f6r\u00f0ur"},
    ),
    "Mac": (towns("mac_roman", "Z\u00fcrich", "K\u00f6ln"), {"Z\u00fcrich", "K\u00f6ln"}),
    "DOS": (towns("cp850", "Z\u00fcrich", "Gen\u00e8ve"), {"Z\u00fcrich", "Gen\u00e8ve"}),
    "Japanese": (towns("shift_jis", "\u6771\u4eac", "\u5927\u962a"), {"\u6771\u4eac", "\u5927\u962a"}),
    "two encodings": (towns("utf-8", "Z\u00fcrich") + "9;Gen\u00e8ve\n".encode("cp1252"), "?neither UTF-8"),
    "sep in quotes": (('"sep=;"\n' + TABLE).encode(), {"Zurich", "Basel", "Bern"}),
    "quoted title": (('"Report; of 2024";;\n' + TABLE).encode(), "!1 line before the header: left out"),
    "header in capitals": ((TABLE + "AGE;TOWN;ILL\n" + BODY).encode(), {"Zurich", "Basel", "Bern"}),
    "no header": (BODY.encode(), "!'20', 'Zurich', 'yes' are also values of their columns"),
    "no name": (TABLE.replace("town", "").encode(), "!1 column without a name: left out"),
    "a line": (TABLE.replace("ill\n", "ill\n---;----;---\n").encode(), {"Zurich", "Basel", "Bern"}),
    "comments": ((TABLE + "# x;y;z\n").encode(), "!'# x' at the beginning of rows"),
    "empty rows": (TABLE.replace("\n", "\n;;\n").encode(), "!122 rows have no value at all"),
    "mean": ((TABLE + "Mittelwert;;49.5\n").encode(), {"Zurich", "Basel", "Bern"}),
    "total": ((TABLE + ";Summe;49.5\n").encode(), "!a cell of 'town' says that its row is a total"),
    "quoted lines": ("".join(f'"{line}"\n' for line in TABLE.splitlines()).encode(), "?each line is within quotes"),
    "HTML": (b"<html><table>\n", "?this is HTML"),
    "old Excel": (b"\xd0\xcf\x11\xe0" + bytes(99), "?this is a spreadsheet"),
    "Excel": (b"PK\x03\x04" + bytes(99), "?this is a spreadsheet"),
    "SPSS": (b"$FL2@(#) SPSS", "?this is a file of SPSS"),
}


def prepared(path: Path) -> tuple[TableProfile, TableProposal]:
    table = profile(PlaceSettings(source=str(path)))
    return table, checked(table, propose(table), None)


def values(table: TableProfile, proposal: TableProposal, cells: list[str]) -> list[Any]:
    """Return the values of cells as the mapping that is written reads them."""
    settings = {key: validated(ColumnSettings, of) for key, of in proposal.mapping.items()}
    (rule,) = rules(settings, proposal.schema, ["x"], table.spelling)
    found: list[Any] = []
    for text in map(str.strip, cells):
        index = rule.code(text)
        assert index is not None
        number = None if rule.ranges is None or text in rule.texts else rule.number(text)
        if rule.categories[index] == MISSING:
            found.append(None)
        elif number is None:
            found.append(rule.categories[index])
        else:
            is_day = rule.ranges is not None and rule.ranges.reads == "date"
            found.append(str(EPOCH + timedelta(days=int(number))) if is_day else number)
    return found


@pytest.mark.parametrize("cells", READ)
def test_a_column_is_read_right_or_asked_for(tmp_path: Path, cells: str) -> None:
    expected, texts = READ[cells], cells.split("|")
    out = io.StringIO()
    csv.writer(out, delimiter=";").writerows([("x", "y"), *((texts[i % len(texts)], "ab"[i % 2]) for i in range(210))])
    (tmp_path / "a.csv").write_text(out.getvalue(), encoding="utf-8", newline="")
    if isinstance(expected, str) and expected[0] == "?":
        with pytest.raises(InputError) as asked:
            prepared(tmp_path / "a.csv")
        assert expected[1:] in str(asked.value)
        return
    table, proposal = prepared(tmp_path / "a.csv")
    if isinstance(expected, str):
        assert expected[1:] in "; ".join(next(c.remarks for c in proposal.columns if c.name == "x"))
    else:
        assert values(table, proposal, texts) == expected


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_right_or_refused(tmp_path: Path, name: str) -> None:
    content, expected = FILES[name]
    (tmp_path / "a.csv").write_bytes(content)
    if isinstance(expected, str) and expected[0] == "?":
        with pytest.raises(InputError) as refused:
            prepared(tmp_path / "a.csv")
        assert expected[1:] in str(refused.value)
        return
    table, proposal = prepared(tmp_path / "a.csv")
    if isinstance(expected, str):
        assert expected[1:] in "; ".join(table.remarks)
    else:
        assert {*proposal.schema.attributes["town"]} == expected
