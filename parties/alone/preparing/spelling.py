"""Format of a raw CSV file: its encoding, its separators, and lines that are not rows of the table."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import unicodedata
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from parties.alone.preparing.readings import MOST, Choices, Question
from parties.base.text import listed, quoted
from parties.sources.delimited import is_gzip, open_text, read_header, sql_literal
from parties.sources.excel import sheet_as_csv
from parties.sources.formats import format_of
from parties.sources.settings import FormatSettings, PlaceSettings, is_encoding
from smc.errors import InputError

CHUNK = 1 << 20
SEPARATORS = (";", "\t", "|", ",")
LINES = 200  # lines from which the separator and the quote are found
MOST_TITLES = 20  # most lines before the header
SAMPLE = 1 << 16  # non-ASCII bytes from which the encoding is found
# Code pages in the order in which they are proposed. Latin ones agree on most letters of the West.
CODE_PAGES = (
    *("cp1252", "cp1250", "cp1251", "koi8-r", "cp866", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257"),
    *("iso8859-2", "iso8859-15", "mac_roman", "cp850", "cp437", "cp852"),
    *("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"),
)
# those proposed if no language has the letters of all words, as for names from many countries
COMMON = ("cp1252", "cp1250", "mac_roman", "cp850", "cp437")
ALPHABETS = (  # sets of non-ASCII letters that occur together in one language or group of languages
    "äöüßàâæçéèêëîïôœùûìíòóúáñ",  # German, French, Italian, Spanish
    *("áàâãçéêíóôõúü", "æøåéèêòôü", "åäöéü", "áðéíóúýþæö"),  # Portuguese, Nordic
    *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîșțşţ"),  # of cp1250
    *("çğıiöşüâîû", "ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"),  # Turkish, Baltic
)
FREQUENT = {  # most frequent letters of a script, which make up most of its texts
    "CYRILLIC": "оеаинтсрвл",
    "GREEK": "αοιετσνηυρ",
    "HEBREW": "יוהלאמרשבת",
    "ARABIC": "اليمنوترهبدة",
}
HAN = {  # first bytes of the frequent half of their Han letters; Korean has few
    "gb18030": (b"\xb0", b"\xd7"),
    "big5": (b"\xa4", b"\xc6"),
    "euc_jp": (b"\xb0", b"\xcf"),
    "shift_jis": (b"\x88", b"\x97"),
    "euc_kr": (b"\xff", b"\x00"),
}
SIGNS = frozenset(
    "\u00b0\u20ac\u00a7\u00a3\u00b5\u00b1\u00b2\u00b3\u00bd\u2013\u2014\u2018\u2019\u201c\u201d\u201e\u2026\u2022\u00ab\u00bb\u00a9\u00ae\u00b7\u2122\u00a0\u00ba\u00aa"
)
INNER_SIGNS = frozenset(
    "\u00b0\u20ac\u00a7\u00a3\u00b5\u00b1\u00b2\u00b3\u00bd\u00a9\u00ae\u2122"
)  # never between letters
TOTALS = (
    *("total", "totals", "grand total", "subtotal", "sum", "summe", "zwischensumme", "gesamt", "insgesamt", "somme"),
    *("totale", "suma", "totaal", "mean", "average", "mittelwert", "durchschnitt", "moyenne", "n", "count", "anzahl"),
)


def spelling_of(place: PlaceSettings, choices: Choices) -> tuple[FormatSettings, list[str]]:
    """Return the encoding, separator, quote, titles and footers of a CSV file or a sheet of a workbook, and remarks.

    Files of other formats have the default spelling.

    Args:
        place: The table, with settings that are already known.
        choices: Decides between several possible encodings.

    Raises:
        InputError: The file cannot be read, or its encoding must be chosen.
    """
    if "://" in place.source:
        return FormatSettings(), []
    path = Path(place.source)
    match format_of(path, place.table):
        case "csv":
            return _spelling_of(path, choices)
        case "excel":
            with ExitStack() as resources:
                return _spelling_of(sheet_as_csv(path, place.table, resources), Choices())
    return FormatSettings(), []


def _spelling_of(path: Path, choices: Choices) -> tuple[FormatSettings, list[str]]:
    try:
        encoding, remarks = _encoding(path, choices)
        with open_text(path, FormatSettings(encoding=encoding)) as stream:
            lines = [stream.readline(CHUNK) for _ in range(LINES)]
    except UnicodeError:
        raise InputError(
            f"{path}: not valid {encoding}; give another --reading '*=ENCODING', or save it as UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    if any("\0" in line for line in lines):
        raise InputError(f"{path}: a NUL byte; this is not a text file")
    if not any(line.strip() for line in lines):
        raise InputError(f"{path}: the file is empty; the first line must name the columns")
    written = [line for line in lines if line.strip()]
    if len(written) == 1 and not any(mark in written[0] for mark in SEPARATORS):
        raise InputError(
            f"{path}: the file is one line, {quoted(written[0].strip())}, without rows; give a table with a header"
        )
    fields: dict[str, Any] = {"encoding": encoding}
    if (said := re.fullmatch(r'"?sep=([;\t|,])"?\s*', lines[0], re.IGNORECASE)) is not None:
        separator, quote = _marks([line for line in lines[1:] if line.strip()], said[1])
        fields |= {"separator": separator, "quote": quote, "skip": 1}
        remarks.append(f"the first line, {quoted(lines[0].strip())}, names the separator: left out")
    else:
        separator, quote = _marks([line for line in lines if line.strip()])
        skip = _titles(lines, separator, quote)
        fields |= {"separator": separator, "quote": quote, "skip": skip}
        if skip:
            remarks.append(f"{skip} line{'s' if skip > 1 else ''} before the header: left out")
    spelling = FormatSettings(**{key: value for key, value in fields.items() if value != 0})
    _check_quotes(path, lines[spelling.skip :], quote)
    if footers := _footers(path, spelling):
        spelling = spelling.model_copy(update={"drop_rows": tuple(footers)})
        remarks.append(f"{listed(footers, 3)} at the end of the file: left out, because these are not rows")
    unnamed = read_header(path, spelling)[0].count("")
    if unnamed:
        remarks.append(f"{unnamed} column{'s' if unnamed > 1 else ''} without a name: left out")
    return spelling, remarks


def _check_quotes(path: Path, lines: Sequence[str], quote: str) -> None:
    """Raise InputError if each whole line is within quotes of the other type, so it would be one cell."""
    other = "'" if quote == '"' else '"'
    some = [line.strip() for line in lines if line.strip()]
    if len(some) > 1 and all(line[0] == line[-1] == other and len(line) > 1 for line in some[:-1]):
        raise InputError(f"{path}: each line is within quotes, as one cell; export the table again as CSV")


def _titles(lines: Sequence[str], separator: str, quote: str) -> int:
    """Return the number of title lines before the header; 0 if there seems to be no title.

    A title line fills at most half of the usual number of cells, or fewer than usual with a cell that is not a name.
    The header may have line breaks and unnamed columns.
    """
    records = _records(lines, separator, quote)
    counts = [sum(map(bool, map(str.strip, record))) for _, record in records]
    usual = max(counts[MOST_TITLES:] or counts, key=(counts[MOST_TITLES:] or counts).count)
    first = next(
        (
            i
            for i, (_, record) in enumerate(records)
            if counts[i] > max(usual / 2, 1) and (counts[i] >= usual or _are_names(record))
        ),
        0,
    )
    if not 0 < first <= MOST_TITLES or not any(counts[:first]):
        return 0
    before, header = records[first]
    return before if _are_names(header) and before == first else 0


def _are_names(record: Sequence[str]) -> bool:
    names = [name for cell in record if (name := cell.strip())]
    return len(set(names)) == len(names) and not any(re.fullmatch(r"[-+\d.,:/ ]*", name) for name in names)


def _records(lines: Sequence[str], separator: str, quote: str) -> list[tuple[int, list[str]]]:
    """Return the number of lines before each CSV record in a list of lines, and the record."""
    records, before = [], 0
    reader = csv.reader(lines, delimiter=separator, quotechar=quote)
    with suppress(csv.Error):
        for record in reader:
            records.append((before, record))
            before = reader.line_num
    return records


def _footers(path: Path, spelling: FormatSettings) -> list[str]:
    """Return the texts of the last lines that consist of a single field with a phrase, so they are not rows."""
    width = len(read_header(path, spelling)[0])
    if "\n".encode(spelling.encoding) != b"\n" or is_gzip(path):
        with open_text(path, spelling) as stream:
            lines = [*deque(stream, MOST_TITLES)]
    else:
        with path.open("rb") as stream:
            stream.seek(max(path.stat().st_size - SAMPLE, 0))
            lines = stream.read().decode(spelling.encoding, "replace").splitlines(keepends=True)[1:][-MOST_TITLES:]
    found: list[str] = []
    for line in reversed(lines):
        cells = _cells(line, spelling.separator, spelling.quote)
        if len(cells) == 1 < width and " " in cells[0].strip():
            found.append(cells[0].strip())
        elif any(map(str.strip, cells)):
            break
    return found[::-1]


def _cells(line: str, separator: str, quote: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator, quotechar=quote), [])
    except csv.Error:
        return []


def drop_non_rows(
    ask: Callable[[str], Any], header: Sequence[str], names: Sequence[str], place: PlaceSettings
) -> tuple[tuple[str, ...], list[str]]:
    """Delete repeated headers, ruled lines and totals from the table `raw0`. Return their first cells, and remarks.

    Args:
        ask: Runs a query in DuckDB.
        header: Names of all columns of the file.
        names: Names of the columns in `raw0`, which are c0, c1, ... there.
        place: The file. Nothing is deleted unless it is a CSV file or workbook without a query.
    """
    is_csv = "://" not in place.source and place.source and names
    if not is_csv or not _is_plain_csv(place) or header[0] != names[0]:
        return (), []
    dropped, remarks = [], []
    cells = [f"REGEXP_REPLACE(LOWER(c{i}), '\\s+', ' ', 'g')" for i in range(min(len(names), 8))]
    some = [f"{cell} = LOWER({sql_literal(name)})" for cell, name in zip(cells, names, strict=False)]
    counts = [f"COUNT(*) FILTER ({condition})" for condition in (" AND ".join(some), *some)]
    again, *with_name = ask(f"SELECT {', '.join(counts)} FROM raw0").fetchone()
    if len(names) > 1 and again and set(with_name) == {again}:
        dropped += [row[0] for row in ask(f"SELECT DISTINCT c0 FROM raw0 WHERE {some[0]} ORDER BY 1").fetchall()]
        remarks.append(f"{again} row{'s' if again > 1 else ''} with the header again: left out")
    elif len(some) > 1 and sum(map(bool, with_name)) >= max(2, len(some) / 2):
        values = [name for name, rows in zip(names[:8], with_name, strict=True) if rows]
        remarks.append(f"{listed(values, 3)} are also values of their columns: does the file have a header?")
    if len(names) > 1:
        ruled = " AND ".join(
            f"REGEXP_FULL_MATCH(c{i}, '[:| ]*(-{{3,}}|={{3,}}|_{{3,}})[:| ]*')" for i in range(min(len(names), 8))
        )
        lines, comments = ask(
            f"SELECT LIST(DISTINCT c0) FILTER ({ruled}), LIST(DISTINCT c0) FILTER (STARTS_WITH(c0, '#')) FROM raw0"
        ).fetchone()
        if lines:
            dropped += sorted(lines)
            remarks.append(f"a row of {quoted(lines[0])}: left out as a line")
        if comments:
            remarks.append(
                f"{listed(sorted(comments), 3)} at the beginning of rows: are they comments? remove the rows"
            )
    totals = ", ".join(map(sql_literal, TOTALS))
    if len(names) > 2:
        gaps = " + ".join(f"CAST(NULLIF(c{i}, '') IS NULL AS INT)" for i in range(1, min(len(names), 8)))
        rows = ask(
            f"SELECT c0, COUNT(*), BOOL_AND(({gaps}) > 0) FROM raw0 "
            f"WHERE LOWER(TRIM(REGEXP_EXTRACT(c0, '^[^:(=]*'))) IN ({totals}) GROUP BY c0"
        ).fetchall()
        if len(rows) == 1 and rows[0][1] == 1 and rows[0][2]:
            dropped.append(rows[0][0])
            remarks.append(f"a row {quoted(rows[0][0])} with gaps: left out as a total")
        words = ", ".join(sql_literal(word) for word in TOTALS if len(word) > 3)
        cells = [f"LOWER(RTRIM(c{i}, ': ')) IN ({words})" for i in range(1, min(len(names), 8))]
        found = ask(f"SELECT {', '.join(f'COUNT(*) FILTER ({cell})' for cell in cells)} FROM raw0").fetchone()
        remarks += [
            f"a cell of {quoted(names[i])} says that its row is a total: remove the row"
            for i, rows_with_word in enumerate(found, 1)
            if rows_with_word == 1
        ]
    for text in dropped:
        ask(f"DELETE FROM raw0 WHERE c0 = {sql_literal(text)}")
    return tuple(dropped), remarks


def _is_plain_csv(place: PlaceSettings) -> bool:
    path = Path(place.source)
    is_file = getattr(place, "query", None) is None and path.is_file()
    return is_file and format_of(path, place.table) in ("csv", "excel")


def _encoding(path: Path, choices: Choices) -> tuple[str, list[str]]:
    """Return the encoding that the operator gave, or the detected one (UTF-16, UTF-8 or a code page); and remarks."""
    if (said := next((name for name in choices.of("*") if is_encoding(name)), None)) is not None:
        return said, []
    beyond = bytearray()
    with _bytes(path) as stream:
        start = stream.read(CHUNK)
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16", []
        for name, half in (("utf-16-le", start[1:SAMPLE:2]), ("utf-16-be", start[0:SAMPLE:2])):
            if half.count(0) > len(half) / 2:
                return name, [f"read as {name}: it has no byte order mark"]
        decoder, is_utf8 = codecs.getincrementaldecoder("utf-8")(), True
        while start:
            try:
                if is_utf8:
                    decoder.decode(start)
            except UnicodeDecodeError:
                is_utf8 = False
            if len(beyond) < SAMPLE and not start.isascii():
                beyond += b" ".join(word for word in _BETWEEN.split(start) if not word.isascii()) + b" "
            start = stream.read(CHUNK)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        is_utf8 = False
    return ("utf-8", []) if is_utf8 else _code_page(path, bytes(beyond[:SAMPLE]), choices)


_BETWEEN = re.compile(rb"[\s,;|\"\x00-\x20]+")  # separators of words


def _code_page(path: Path, words: bytes, choices: Choices) -> tuple[str, list[str]]:
    """Return the code page under which a file's non-ASCII words look like words; the operator chooses if several do.

    If no language has the letters of all words, the operator chooses among the `COMMON` ones.
    """
    decoded: dict[str, str] = {}
    for name in CODE_PAGES:
        if (text := _decoded(words, name)) is not None and text not in decoded.values():
            decoded[name] = text
    fits = {name: text for name, text in decoded.items() if _are_words(text, name)}
    some = {name: decoded[name] for name in COMMON if _share_of_words(decoded.get(name, "").split()) >= 0.75}
    examples = _examples(fits or some)
    if not examples:
        raise InputError(
            f"{path}: neither UTF-8 nor UTF-16 nor a known code page: name its encoding, as --reading '*=cp1252', "
            "or save it as UTF-8"
        )
    chosen = next(iter(examples))
    if len(fits) != 1:
        chosen = choices.choose(Question(str(path), "*", examples))
    return chosen, [f"read as {chosen}: {examples[chosen]}"]


def _examples(texts: dict[str, str]) -> dict[str, str]:
    """Return three words of each code page's text, and more if needed to tell several apart; the best come first."""
    shown: list[tuple[str, ...]] = []
    readings = dict.fromkeys(zip(*(text.split(" ") for text in texts.values()), strict=False))
    for word in sorted(readings, key=lambda word: -len({*word})):
        if word[0] and (len(shown) < 3 or len({*zip(*shown, word, strict=True)}) > len({*zip(*shown, strict=True)})):
            shown.append(word)
    return {name: listed(words) for name, words in zip(texts, zip(*shown, strict=True), strict=True)}


def _decoded(words: bytes, name: str) -> str | None:
    try:
        return words.decode(name)
    except UnicodeDecodeError:
        return None


def _are_words(text: str, name: str) -> bool:
    """Return True if text decoded by the code page `name` looks like words: of one script and its frequent letters."""
    words = list(dict.fromkeys(text.split()))
    if _share_of_words(words) < 0.9:
        return False
    letters = [letter for letter in "".join(words).lower() if ord(letter) > 127 and letter.isalpha()]
    latin = {letter for letter in letters if _script(letter) == "LATIN"}
    if latin and not any(latin <= {*alphabet} for alphabet in ALPHABETS):
        return False
    for script, frequent in FREQUENT.items():
        own = [letter for letter in letters if _script(letter) == script]
        if own and sum(letter in frequent for letter in own) < 0.35 * len(own):
            return False
    han = [letter.encode(name)[:1] for letter in letters if _script(letter) == "CJK"]
    low, high = HAN.get(name, (b"\x80", b"\xff"))
    return sum(low <= first <= high for first in han) >= 0.7 * len(han)


def _share_of_words(words: Sequence[str]) -> float:
    return sum(map(_is_word, words)) / max(1, len(words))


def _is_word(word: str) -> bool:
    bare = word.strip("".join(SIGNS) + "()[]'.-/%:!?")
    signs = sum(letter in SIGNS for letter in word)
    letters = [letter for letter in bare if letter.isalpha()]
    beyond = [letter for letter in letters if ord(letter) > 127]
    if signs > 1 or any(ord(letter) > 127 and not letter.isalpha() and letter not in SIGNS for letter in word):
        return False
    if any(before.isalpha() and mid in INNER_SIGNS and after.isalpha() for before, mid, after in _threes(word)):
        return False
    if any(ord(mid) > 127 and mid.isupper() and after.islower() for _, mid, after in _threes(bare)):
        return False
    scripts = {_script(letter) for letter in letters} - {"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}
    if len(scripts) > 1 or any(a.islower() and b.isupper() for a, b in pairwise(letters)):
        return False
    return "LATIN" not in scripts or len(beyond) < 3 or len(beyond) < len(letters)


def _threes(word: str) -> Iterator[tuple[str, str, str]]:
    return zip(word, word[1:], word[2:], strict=False)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0]


def _bytes(path: Path) -> Any:
    return gzip.open(path, "rb") if is_gzip(path) else path.open("rb")


def _marks(lines: Sequence[str], separator: str | None = None) -> tuple[Any, Any]:
    """Return the separator and the quote that give the most fields, with equal numbers in nearly all lines.

    DuckDB's sniffer finds the same marks, but it takes seconds and reads UTF-8 only.
    """

    def fields(marks: tuple[str, str]) -> tuple[bool, bool, int, int]:
        try:
            counts = [len(record) for record in csv.reader(lines, delimiter=marks[0], quotechar=marks[1]) if record]
        except csv.Error:
            return False, False, 0, 0
        usual = max(counts, key=counts.count)
        mark, quote = map(re.escape, marks)
        quoted_cell = re.compile(rf"(?:^|{mark}){quote}[^{quote}]*{quote}(?={mark}|\s*$)")
        quoted_cells = sum(quoted_cell.search(line) is not None for line in lines)
        return counts[0] == usual > 1, counts.count(usual) >= MOST * len(counts), usual, quoted_cells

    separators = SEPARATORS if separator is None else (separator,)
    return max(((mark, quote) for quote in "\"'" for mark in separators), key=fields)
