"""Texts that a page must not take for markup."""

from __future__ import annotations

from parties.models.trees.tree import Leaf, Node, Split

HOSTILE = [
    "<script>alert(1)</script>",
    "<b>bold</b><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>&lt;",
    "safe\u202eevil\u2066\u200f",
    "{{ 7 * 7 }} {% raw %} %{x} $\\alpha$",
    "line\nbreak\0and\x1b[31mred",
]


def named(text: str) -> Node:
    return Split(text, {text: Leaf(text), "other": Leaf("plain")})
