"""A party.toml with every setting."""

from __future__ import annotations

from pathlib import Path

FULL = """
[link]
identity = "keys/a.key"
certificate = "/etc/smc/a.crt"
peer = "~/b.crt"
listen = "[::1]:7001"
wait = 5
timeout = 2.5

[id3]
data = "mine.csv"
schema = "../schema.toml"
target = "play"
tolerance = 0.01
min_rows = 3
max_depth = 4
max_rows = 1000
engine = "gmw"
ot = "trapdoor"
out = "tree.json"
report = "cost.json"
dot = "tree.dot"
svg = "tree.svg"

[millionaires]
value = 5
bits = 8
engine = "gmw"
ot = "extension"

[circuit]
file = "adder.txt"
input = "0101"
engine = "yao"
ot = "extension"
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "party.toml"
    path.write_text(text, encoding="utf-8")
    return path
