"""Selection of rows, in the schema's words: `age in [young, middle] and sex = male`.

A predicate is a conjunction of conditions, each with the selected values of a column: `=`, `!=`, `in [...]`,
`not in [...]`; `all` alone has no condition. `;` separates several predicates. A word with a space or a sign in it is
written in quotes, single or double; a quote inside is doubled. The canonical text of a predicate names each column
once, in the schema's order, with the selected values in theirs. So equal selections have equal texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from parties.base.text import did_you_mean, instead, listed, quoted
from parties.tables.schema import Schema
from smc.errors import InputError

MAX_TEXT = 20_000  # characters of all predicates together

_TOKEN = re.compile(
    r"""(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<sign>!=|[=\[\],;])|(?P<word>[^\s=\[\],;'"!]+)|(?P<space>\s+)"""
)
_BARE = re.compile(r"""[^\s=\[\],;'"!]+""")
_KEYWORDS = ("and", "in", "not")
ALL = "all"  # a predicate without a condition, among several


@dataclass(frozen=True)
class Predicate:
    """Selected values of some columns, both in the schema's order; without a condition all rows are selected."""

    wanted: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns with a condition."""
        return tuple(column for column, _ in self.wanted)

    def values(self, column: str, schema: Schema) -> tuple[str, ...]:
        """Return the selected values of a column; all of them if it has no condition.

        Args:
            column: Name of the column.
            schema: The agreed schema.
        """
        return dict(self.wanted).get(column, schema.attributes[column])

    def excludes(self, other: Predicate) -> bool:
        """Return whether no row can meet both predicates."""
        theirs = dict(other.wanted)
        return any(not set(values) & set(theirs[column]) for column, values in self.wanted if column in theirs)

    def text(self) -> str:
        """Return the canonical text, which `parse` reads; it is empty if there is no condition."""
        return " and ".join(map(_condition, self.wanted))

    def words(self) -> str:
        """Return the predicate as part of a sentence."""
        return " whose " + self.text() if self.wanted else ""


def parse(text: str, schema: Schema) -> tuple[Predicate, ...]:
    """Return the predicates in a text; an empty text is one predicate without a condition. Raise InputError if it is
    invalid.

    Args:
        text: Predicates, separated by semicolons, such as 'age = old; sex = male'.
        schema: The agreed schema.
    """
    if len(text) > MAX_TEXT:
        raise InputError(f"where: it has {len(text)} characters, more than {MAX_TEXT}; shorten it")
    parts: list[list[_Token]] = [[]]
    for token in _tokens(text):
        if token.is_sign(";"):
            parts.append([])
        else:
            parts[-1].append(token)
    if len(parts) > 1 and not all(parts):
        raise InputError("where: there is nothing before or behind a ';'; remove it")
    return tuple(_Reader(part, schema).predicate() for part in parts)


def canonical_text(predicates: Iterable[Predicate]) -> str | None:
    """Return the canonical text of predicates; None for a single one without a condition."""
    texts = [predicate.text() for predicate in predicates]
    return None if texts == [""] else "; ".join(text or ALL for text in texts)


@dataclass(frozen=True)
class _Token:
    """A word or sign of the text; a quoted text is never a sign or a keyword."""

    text: str
    kind: str

    def is_sign(self, text: str) -> bool:
        return self.kind == "sign" and self.text == text

    def is_keyword(self, text: str) -> bool:
        return self.kind == "word" and self.text.lower() == text


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            unread = quoted(text[position:], 30)
            why = "close the quote" if text[position] in "'\"" else "'!' must be '!=', or stand in quotes"
            raise InputError(f"where: cannot read {unread}: {why}")
        position = match.end()
        kind = match.lastgroup or ""
        if kind == "quoted":
            mark = match.group()[0]
            yield _Token(match.group()[1:-1].replace(2 * mark, mark), kind)
        elif kind != "space":
            yield _Token(match.group(), kind)


class _Reader:
    """Parser of one predicate."""

    def __init__(self, tokens: Sequence[_Token], schema: Schema) -> None:
        self._tokens, self._schema, self._place = tokens, schema, 0

    def predicate(self) -> Predicate:
        wanted: dict[str, set[str]] = {}
        if len(self._tokens) == 1 and self._tokens[0].is_keyword(ALL):
            return Predicate()
        while self._tokens:
            column, values = self._read_condition()
            wanted[column] = wanted.get(column, set(self._schema.attributes[column])) & values
            if not wanted[column]:
                raise InputError(
                    f"where: no row can fit, because the conditions exclude every value of {quoted(column)}; "
                    "remove a condition"
                )
            if self._place == len(self._tokens):
                break
            self._expect_keyword("and")
        ordered = {
            column: tuple(value for value in values if value in wanted[column])
            for column, values in self._schema.attributes.items()
            if column in wanted
        }
        conditions = [
            (column, selected)
            for column, selected in ordered.items()
            if len(selected) < len(self._schema.attributes[column])
        ]
        return Predicate(tuple(conditions))

    def _read_condition(self) -> tuple[str, set[str]]:
        column = self._read_word("a column")
        attributes = self._schema.attributes
        if column not in attributes:
            there = instead(column, attributes) + _quotes(attributes)
            raise InputError(f"where: {quoted(column)} is not an attribute of the schema{there}")
        sign = self._next(f"'=', '!=', 'in' or 'not in' behind {quoted(column)}")
        negative = sign.is_sign("!=") or sign.is_keyword("not")
        if sign.is_keyword("not"):
            self._expect_keyword("in")
            values = self._read_list(column)
        elif sign.is_keyword("in"):
            values = self._read_list(column)
        elif sign.is_sign("=") or sign.is_sign("!="):
            if self._follows("="):
                following = self._tokens[self._place + 1 :]
                value = following[0].text if following and following[0].kind != "sign" else attributes[column][0]
                raise InputError(f"where: a single '=' is enough: {_word(column)} {sign.text} {_word(value)}")
            values = {self._read_value(column)}
        else:
            listing = (
                f"; name those that are meant, as in {_word(column)} in [...]: there are {listed(attributes[column])}"
            )
            hint = listing if sign.text[:1] in ("<", ">") else ""
            raise InputError(
                f"where: behind {quoted(column)} must stand '=', '!=', 'in' or 'not in', not {quoted(sign.text)}{hint}"
            )
        return column, set(attributes[column]) - values if negative else values

    def _read_list(self, column: str) -> set[str]:
        bracket = self._next("a list in brackets behind 'in'")
        if not bracket.is_sign("["):
            raise InputError(f"where: after 'in', write a list in brackets, such as {column} in [a, b]")
        if self._follows("]"):
            raise InputError(f"where: the list behind '{_word(column)} in' is empty, so no row fits; add a value")
        values = {self._read_value(column)}
        unclosed = f"']' (the list behind '{_word(column)} in' begins with '[')"
        while not (sign := self._next(unclosed)).is_sign("]"):
            if not sign.is_sign(","):
                raise InputError(
                    f"where: between the values of a list must stand ',', not {quoted(sign.text)}; "
                    "a value with a space in it is written in quotes"
                )
            values.add(self._read_value(column))
        return values

    def _read_value(self, column: str) -> str:
        value = self._read_word(f"a value of {quoted(column)}")
        attribute_values = self._schema.attributes[column]
        if value not in attribute_values:
            raise InputError(
                f"where: {quoted(column)} has no value {quoted(value)}{did_you_mean(value, attribute_values)}; "
                f"it has {listed(attribute_values)}{_quotes(attribute_values)}"
            )
        return value

    def _read_word(self, what: str) -> str:
        token = self._next(what)
        if token.kind == "sign" or any(map(token.is_keyword, _KEYWORDS)):
            raise InputError(
                f"where: {what} is expected instead of {quoted(token.text)}; if this is a value, put it in quotes"
            )
        return token.text

    def _expect_keyword(self, keyword: str) -> None:
        token = self._next(quoted(keyword))
        if token.is_sign("]"):
            raise InputError("where: there is a ']' without a '[' before it: a list is written as in [a, b]")
        if token.is_keyword("or"):
            raise InputError(
                "where: conditions are joined by 'and' only; instead of 'or' list the values of a column, as in [a, b]"
            )
        if not token.is_keyword(keyword):
            raise InputError(
                f"where: {quoted(keyword)} is expected instead of {quoted(token.text)}; if a value has a space or a "
                f"sign, put it in quotes"
            )

    def _follows(self, sign: str) -> bool:
        return self._place < len(self._tokens) and self._tokens[self._place].is_sign(sign)

    def _next(self, what: str) -> _Token:
        if self._place == len(self._tokens):
            raise InputError(f"where: ends too early; {what} is expected")
        self._place += 1
        return self._tokens[self._place - 1]


def _condition(wanted: tuple[str, tuple[str, ...]]) -> str:
    column, values = wanted
    if len(values) == 1:
        return f"{_word(column)} = {_word(values[0])}"
    return f"{_word(column)} in [{', '.join(map(_word, values))}]"


def _quotes(names: Iterable[str]) -> str:
    return "; write one with a space in quotes" if any(" " in name for name in names) else ""


def _word(text: str) -> str:
    if _BARE.fullmatch(text) and text.lower() not in _KEYWORDS:
        return text
    return "'" + text.replace("'", "''") + "'"
