"""One reader of CSV files: DuckDB reads what Python's csv module does, cell by cell, or the bad line is named."""

from __future__ import annotations

import csv
import gzip
import io
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parties.sources import PlaceSettings, delimited, open_rows
from parties.sources.cells import cells
from parties.sources.delimited import csv_columns, open_csv
from parties.sources.settings import FormatSettings
from smc.errors import InputError

CELLS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=6)
PIECES = [
    "a",
    "b",
    "ä",
    " ",
    '"',
    '""',
    "'",
    ",",
    ";",
    "\t",
    "|",
    "\n",
    "\r\n",
    "\r",
    "#",
    "\\",
    "NULL",
    "\x0b",
    "\u2028",
    "\ufeff",
]
TEXTS = st.lists(st.sampled_from([*PIECES, '"', ",", "\n", "a,b\n", '"a\nb",c\n']), max_size=30).map("".join)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def reference(text: str, spelling: FormatSettings) -> list[list[str]] | None:
    """The header and rows that csv has, without space around cells; None where a row does not fit or csv complains."""
    try:
        lines = [
            *csv.reader(
                io.StringIO(text, newline=""), delimiter=spelling.separator, quotechar=spelling.quote, strict=True
            )
        ]
    except csv.Error:
        return None
    lines = [line for line in lines if line]
    if not lines:
        return None
    names = [" ".join(filter(None, (part.strip(" ") for part in name.strip().splitlines()))) for name in lines[0]]
    rows = [row for row in lines[1:] if len(names) == 1 or len(row) > 1 or row[0].strip()]
    is_table = any(names) and len(set(filter(None, names))) == len([*filter(None, names)])
    if not is_table or any(len(row) != len(names) for row in rows):
        return None
    kept = [place for place, name in enumerate(names) if name]
    return [[names[place] for place in kept], *([row[place].strip() or "?" for place in kept] for row in rows)]


def is_doubtful(text: str, spelling: FormatSettings) -> bool:
    """Whether the header is one column that may be several by another separator, which is refused."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=spelling.separator, quotechar=spelling.quote)
    header = next(filter(None, lines))
    return len(header) == 1 and any(mark in header[0] for mark in ";\t|,")


def by_engine(path: Path, spelling: FormatSettings) -> list[list[str]]:
    """The same as an engine has it, from which a node counts."""
    place = PlaceSettings.model_construct(source=str(path), format=spelling)
    with open_rows(place) as rows:
        rows.engine.backend.raw_sql("SET preserve_insertion_order = true")
        names = [*rows.types]
        batches = rows.engine.batches(rows.spelled(names))
        found = [line for batch in batches for line in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
    return [names, *([text or "?" for text in line] for line in found)]


def read(path: Path, spelling: FormatSettings) -> list[list[str]] | None:
    """What the reader has of a file, to the letter; None for an error, which names the file."""
    complaint = None
    try:
        table = csv_columns(path, spelling)
    except InputError as error:
        complaint = str(error)
    if complaint is not None:
        assert str(path) in complaint
        assert "\n" not in complaint
        return None
    rows = [list(row) for row in zip(*table.values.values(), strict=True)]
    assert len(rows) == len(table.lines)
    return [list(table.values), *rows]


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), max_size=8)))
def test_what_a_csv_writer_wrote_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    width = len(rows[0]) if rows else 1
    names = [f"c{i}" for i in range(width)]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    path = write(tmp_path_factory.mktemp("csv") / "x.csv", text.getvalue())
    assert read(path, FormatSettings()) == [names, *([cell.strip() or "?" for cell in row] for row in rows)]


@given(TEXTS, st.sampled_from([",", ";", "\t", "|"]), st.sampled_from(['"', "'"]), st.booleans(), st.booleans())
@settings(max_examples=100)
@example('"a\nb",c\r\n1,2\r\n3,4\r\n', ",", '"', False, False)
@example("a,b\n1,2,\n", ",", '"', False, False)
@example('a,b\n "x",2\n', ",", '"', False, False)
@example("a\t\n\t", ",", '"', False, False)
@example('a,b\n"x" ,2\n', ",", '"', False, False)
def test_any_text_is_read_as_csv_reads_it(
    tmp_path_factory: pytest.TempPathFactory, text: str, separator: str, quote: str, mark: bool, packed: bool
) -> None:
    spelling = FormatSettings(separator=separator, quote=quote)  # type: ignore[arg-type]
    data = b"\xef\xbb\xbf" * mark + text.encode()
    path = write(tmp_path_factory.mktemp("csv") / "x.csv", gzip.compress(data) if packed else data)
    text = text.removeprefix("\ufeff") if not mark else text
    expected = reference(text, spelling)
    found = read(path, spelling)
    assert found == expected or (found is None and expected is not None and is_doubtful(text, spelling))
    if found is not None and text.count("a") % 4 == 1:  # an engine takes its time
        assert by_engine(path, spelling) == found


NAMED = {
    "header break": 'x,"a\nb"\n1,2\n3,4\n',
    "header break, CR LF": '"a\nb",c\r\n1,2\r\n3,4\r\n',
    "CR LF in a header, LF": '"a\r\nb",c\n1,"2\r\n"\n3,4\n',
    "CR in a header, LF": '"a\rb",c\n1,2\n3,4\n',
    "cell breaks": 'a,b\n"1\n2",3\n"\r\n",4\n',
    "cell breaks, CR LF": 'a,b\r\n"1\n2",3\r\n"\r\n",4\r\n',
    "CR": "a,b\r1,2\r3,4\r",
    "mixed ends": "a,b\r\n1,2\n3,4\r\n",
    "CR CR LF": "a,b\r\r\n1,2\r\r\n",
    "no end": "a,b\r\n1,2\r\n3,4",
    "mark": "\ufeffa,b\n1,2\n",
    "quotes within": 'a,b\n"x""y",5" pipe\n"""",""\n',
    "empty ends": "a,b\n1,2\n\n\n   \n",
    "blank before": "\n\na,b\n\n1,2\n",
    "one column": 'a\n1\n\n""\n   \n2\n',
    "words": "a,b\nNULL,NA\n#1,# x\n\\N,\\\n",
    "long": f"a,b\n{'x' * 40_000},1\n",
    "spaces": "a,b\n 1 ,\t2\n\u00a03,4\u3000\n",
    "no rows": "a,b\n",
    "unnamed": "a,,b,\n1,2,3,4\n",
}


@pytest.mark.parametrize("name", NAMED)
def test_odd_files(tmp_path: Path, name: str) -> None:
    path, plain = write(tmp_path / "x.csv", NAMED[name]), FormatSettings()
    expected = reference(NAMED[name].removeprefix("\ufeff"), plain)
    assert expected is not None
    assert read(path, plain) == expected == by_engine(path, plain)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"a,b\n1\n", ", line 2: 1 fields, but the header has 2; correct the line"),
        (b"a,b\n1,2\n1,2,\n", ", line 3: 3 fields, but the header has 2; correct the line"),
        (b'"a\nb",c\n1,2\n1,2,3\n', ", line 4: 3 fields, but the header has 2; correct the line"),
        (b'a,b\n"x" ,2\n', ", line 2: not valid CSV: ',' expected after '\"'"),
        (b'a,b\n1,"2\n', ", line 2: not valid CSV: unexpected end of data"),
        (b"a,b\n1,2\n1,\xe9\n", f", line 3: not UTF-8 (byte 0xe9 at offset 10); {delimited.NAME_ENCODING}"),
        (b"a,b\n1,2\n1,\0\n", ", line 3: a NUL byte; this is not a text file"),
        (b"a,b\n1," + b"x" * 200_000, ", line 2: not valid CSV: field larger than field limit (131072)"),
    ],
)
def test_a_record_that_is_none_is_named_by_its_line(tmp_path: Path, text: bytes, complaint: str) -> None:
    path = write(tmp_path / "x.csv", text)
    for reader in (cells, lambda path: open_rows(PlaceSettings(source=str(path)))):
        with pytest.raises(InputError) as caught:
            reader(path)
        assert str(caught.value) == f"{path}{complaint}"


def test_a_nul_byte_in_another_encoding_is_named_by_the_own_file(tmp_path: Path) -> None:
    """Not by the copy in UTF-8 that is read, nor by the byte of a letter that is not UTF-8."""
    path = write(tmp_path / "x.csv", "a,b\nä,2\n1,\0\n".encode("cp1252"))
    spelling = FormatSettings(encoding="cp1252")
    with ExitStack() as resources:
        for read_file in (lambda: open_csv(path, spelling, resources), lambda: csv_columns(path, spelling)):
            with pytest.raises(InputError) as caught:
                read_file()
            assert str(caught.value) == f"{path}, line 3: a NUL byte; this is not a text file"


def test_more_rows_than_agreed_are_refused_with_the_first_line_beyond(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", 'a,b\n1,"x\ny"\n\n3,4\n5,6\n')
    assert len(csv_columns(path, FormatSettings(), 3).lines) == 3
    with pytest.raises(InputError, match=r"x\.csv, line 6: more than 2 rows, the agreed bound; raise max_rows$"):
        csv_columns(path, FormatSettings(), 2)


def test_bytes_outside_the_encoding_are_refused_with_the_remedy(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", b"a,b\n1,\x81\n")
    with pytest.raises(InputError, match=r"x\.csv: not cp1252; set the right `encoding` in the format of party\.toml"):
        csv_columns(path, FormatSettings(encoding="cp1252"))


@pytest.mark.parametrize(
    ("data", "encoding", "fault"),
    [
        ("ä,b\n1,2\n".encode("cp1252"), "utf-8", "not utf-8"),
        ("ä,b\n1,2\n".encode(), "ascii", "not ascii"),
        (b"a,b\n1,2\n", "utf-16", "not utf-16"),  # no byte order mark
    ],
)
def test_a_header_outside_the_encoding_has_the_remedy(tmp_path: Path, data: bytes, encoding: str, fault: str) -> None:
    path = write(tmp_path / "x.csv", data)
    with pytest.raises(InputError) as caught:
        csv_columns(path, FormatSettings(encoding=encoding))
    assert (
        str(caught.value)
        == f"{path}: {'' if encoding == 'utf-16' else 'the header is '}{fault}; {delimited.NAME_ENCODING}"
    )


@pytest.mark.parametrize("chunk", [7, 64, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_records_that_go_over_the_pieces_of_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, end: str, quoting: int
) -> None:
    monkeypatch.setattr(delimited, "CHUNK", chunk)
    rows = [[str(i), "ä" * (i % 9), 'a "b"', "x\ny" if i % 3 == 0 and end == "\n" else ""] for i in range(200)]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator=end).writerows([list("abcd"), *rows])  # type: ignore[arg-type]
    path = write(tmp_path / "x.csv", text.getvalue())
    with ExitStack() as resources:
        file = open_csv(path, FormatSettings(), resources)
        assert (file.path, file.records) == (path, 200)  # in place: no copy
    assert read(path, FormatSettings()) == reference(text.getvalue(), FormatSettings())


def test_a_large_file_of_cells_with_line_breaks(tmp_path: Path) -> None:
    """Larger than what DuckDB reads at a time, which several threads would do."""
    lines = [f'{i},"a{chr(10) * i}b, ""c""",x\n' for i in range(7)]
    path = write(tmp_path / "x.csv", "n,text,x\n" + "".join(lines) * 300_000)
    query = "SELECT count(*), sum(n::BIGINT), sum(length(text)) FROM t"
    with open_rows(PlaceSettings(source=str(path))) as rows:
        rows.engine.backend.raw_sql(f"CREATE TEMP VIEW t AS {rows.engine.sql(rows.query)}")
        found = rows.engine.backend.raw_sql(query).fetchone()
    assert found == (2_100_000, 21 * 300_000, (7 * 7 + 21) * 300_000)


def test_rows_that_are_not_the_records_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.csv", 'a,b\n1,"x\ny"\n3,4\n5,6\n')
    call = delimited._call

    def one_less(*arguments: object) -> str:
        return re.sub("skip = 1", "skip = 2", call(*arguments))  # type: ignore[arg-type]

    monkeypatch.setattr(delimited, "_call", one_less)
    with pytest.raises(InputError, match=r"x\.csv, line 5: DuckDB read 2 rows, but the file has 3; check this line$"):
        open_rows(PlaceSettings(source=str(path)))
