"""Rules of hierarchies as one public text, on which two parties can agree and which they can read.

    age ranges 5 10 20; zip prefixes 4 3; birth dates iso;
    education tree Bachelors < Undergraduate < *, Masters < Graduate < *

A column has one rule (see `rules`); a tree is a path from each value to the top. A word with a space or a sign in it is
quoted, single or double; a quote inside is doubled. In canonical text, columns and values are in the schema's order, so
that parties with equal rules have equal texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from parties.alone.publish.hierarchy import Hierarchy, build
from parties.alone.publish.rules import Rule, hierarchy, read_tree
from parties.base.settings import validated
from parties.base.text import did_you_mean, listed, quoted
from smc.errors import InputError

MAX_TEXT = 200_000  # characters
KINDS = ("ranges", "prefixes", "dates", "tree")

_TOKEN = re.compile(
    r"""(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<sign>[<,;])|(?P<word>[^\s<,;'"]+)|(?P<space>\s+)"""
)
_BARE = re.compile(r"""[^\s<,;'"]+""")

Paths: TypeAlias = list[list[str]]
Rules: TypeAlias = dict[str, Rule | Paths]  # a tree as its paths
Token: TypeAlias = tuple[str, bool]  # text, and whether it is a sign


def parse(text: str) -> Rules:
    """Parse a text of rules; raise InputError that states the fault."""
    if len(text) > MAX_TEXT:
        raise InputError(f"rules: the text has {len(text)} characters, more than {MAX_TEXT}; shorten the rules")
    rules: Rules = {}
    for part in _split(_tokens(text), ";"):
        if not part:
            continue
        words = [word for word, is_sign in part[:2] if not is_sign]
        if len(words) < 2 or words[1] not in KINDS:
            hint = did_you_mean(words[1], KINDS) if len(words) == 2 else ""
            raise InputError(f"rules: {quoted(_shown(part[:2]))} must be a column and one of {listed(KINDS)}{hint}")
        column, kind = words
        if column in rules:
            raise InputError(f"rules: column {quoted(column)} has two rules: give one")
        rules[column] = _tree(column, part[2:]) if kind == "tree" else _rule(column, kind, part[2:])
    return rules


def text_of(rules: Mapping[str, Rule | Paths]) -> str | None:
    """Return the text of rules without files, widths to 12 digits; None without rules. `parse` is the inverse."""
    return "; ".join(f"{_word(column)} {_written(rule)}" for column, rule in rules.items()) or None


def plain(rule: Rule) -> Rule | Paths:
    """Return a rule unchanged, or the paths of its tree if the rule names a file."""
    return rule if rule.tree is None else read_tree(rule.tree)


def made(column: str, rule: Rule | Paths, values: Sequence[str]) -> Hierarchy:
    """Return the hierarchy of exactly these values, in their order.

    Args:
        column: name of the column
        rule: its rule, or the paths of its tree
        values: its values

    Raises:
        InputError: a value does not fit the rule
    """
    if isinstance(rule, Rule):
        return hierarchy(column, rule, values)
    whole = build(column, rule)
    for value in values:
        whole.code(value)
    paths = {path[0]: path for path in rule}
    return build(column, [paths[value] for value in values])


def paths_of(hierarchy: Hierarchy) -> Paths:
    """Return a hierarchy as its paths, value by value."""
    pairs = list(zip(hierarchy.groups, hierarchy.labels, strict=True))
    return [[labels[groups[i]] for groups, labels in pairs] for i in range(len(hierarchy.values))]


def _tokens(text: str) -> Iterator[Token]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise InputError(f"rules: cannot read {quoted(text[place:], 30)}: close the quote")
        place = match.end()
        if match.lastgroup == "quoted":
            mark = match.group()[0]
            yield match.group()[1:-1].replace(2 * mark, mark), False
        elif match.lastgroup != "space":
            yield match.group(), match.lastgroup == "sign"


def _split(tokens: Iterable[Token], sign: str) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token == (sign, True):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _tree(column: str, tokens: Sequence[Token]) -> Paths:
    paths = []
    for path in _split(tokens, ","):
        steps = _split(path, "<")
        if len(steps) < 2 or any(len(step) != 1 or step[0][1] for step in steps):
            path_text = quoted(_shown(path), 40)
            raise InputError(
                f"rules: column {quoted(column)}: {path_text} must be a value and its ancestors: a < b < *"
            )
        paths.append([step[0][0] for step in steps])
    return paths


def _rule(column: str, kind: str, tokens: Sequence[Token]) -> Rule:
    words = [word for word, _ in tokens]
    try:
        if kind == "dates":
            return validated(Rule, {kind: words[0] if len(words) == 1 else _shown(tokens)})
        numbers = [float(word) if kind == "ranges" else int(word) for word in words]
        if not numbers:
            raise ValueError
        return validated(Rule, {kind: numbers})
    except ValueError:
        raise InputError(
            f"rules: column {quoted(column)}: {kind} needs numbers, and not {quoted(_shown(tokens))}"
        ) from None
    except InputError as error:
        raise InputError(f"rules: column {quoted(column)}: {error}") from None


def _written(rule: Rule | Paths) -> str:
    if not isinstance(rule, Rule):
        return "tree " + ", ".join(" < ".join(map(_word, path)) for path in rule)
    if rule.dates is not None:
        return f"dates {rule.dates}"
    if rule.ranges is not None:
        return "ranges " + " ".join(f"{width:.12g}" for width in rule.ranges)
    return "prefixes " + " ".join(map(str, rule.prefixes or ()))


def _word(text: str) -> str:
    return text if _BARE.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def _shown(tokens: Iterable[Token]) -> str:
    return " ".join(word for word, _ in tokens)
