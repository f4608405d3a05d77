"""Quality and cost of `smc align fuzzy`: planted typing errors, beside splink on the pooled clear tables.

    python -m benchmarks.linkage [--rows N ...] [--out FOLDER]            (or: make bench-linkage)

Three pairs of tables are made from fixed seeds; half of the people of a table are in the other one. splink estimates
the m and u probabilities and the thresholds on the first pair. The two other pairs are held out: our match, with the
model of Dice levels, and splink with that model and with its own comparisons. Ours is the joint protocol in the clear.
Then the cost: two processes over TLS on one machine, one blocking rule, tables of N rows each, so 64 N comparisons.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from operator import eq
from pathlib import Path
from typing import Any

import click

from benchmarks.peers.processes import free_ports, run_together
from benchmarks.peers.programs import ROOT, install
from parties.base.files import write_text
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.jobs.kinds.align.fuzzy import AlignFuzzy
from parties.link import identity
from protocols.alignment.forms import Form
from smc.engines import make_engine
from smc.local import run_local
from smc.session import Session

SPLINK = ("splink==5.0.0", "pandas", "duckdb")
COLUMNS = ("forename", "surname", "born", "city")
RULES = ["surname:soundex+born:year", "born", "forename+surname"]
TABLES = {"train": (1, 0.12), "held out, 12 % errors": (2, 0.12), "held out, 20 % errors": (3, 0.2)}  # seed, error rate
ROWS = 2000
STARTS, VOWELS = (
    ("b", "d", "f", "g", "h", "k", "kr", "l", "m", "n", "p", "r", "s", "sch", "st", "t", "v", "w", "z"),
    "aeiou",
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DEADLINE = 7200.0
Row = tuple[str, list[str]]  # the true identity and the cells


def words(chance: random.Random, count: int, parts: Sequence[int], ends: Sequence[str]) -> list[str]:
    """Return different words of some syllables and an ending.

    Args:
        chance: The randomness.
        count: Number of words.
        parts: Possible numbers of syllables.
        ends: Possible endings.
    """
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = (chance.choice(STARTS) + chance.choice(VOWELS) for _ in range(chance.choice(parts)))
        found["".join(syllables) + chance.choice(ends)] = None
    return list(found)


def misspelt(chance: random.Random, text: str) -> str:
    """Return a text with a letter dropped, added or replaced, or two letters exchanged.

    Args:
        chance: The randomness.
        text: The text.
    """
    at, new = chance.randrange(len(text)), chance.choice(LETTERS)
    before, here, after = text[:at], text[at], text[at + 1 :]
    return chance.choice(
        [before + after, before + new + here + after, before + new + after, before + after[:1] + here + after[1:]]
    )


def misdated(chance: random.Random, born: str) -> str:
    """Return a date with month and day exchanged, or with a wrong digit.

    Args:
        chance: The randomness.
        born: The date, such as 1970-06-05.
    """
    year, month, day = born.split("-")
    if chance.random() < 0.3:
        return f"{year}-{day}-{month}"
    at = chance.choice([3, 5, 6, 8, 9])
    return born[:at] + chance.choice("0123456789") + born[at + 1 :]


def people(seed: int, rows: int, errors: float) -> list[list[Row]]:
    """Return two tables with half of their people in common.

    Args:
        seed: Seed of the tables.
        rows: Rows of each table.
        errors: Probability that a cell has an error.
    """
    chance = random.Random(seed)
    many = max(1, rows // 2000)
    pools = (
        words(chance, 300, (2,), ("", "a", "e", "n")),
        words(chance, 3000 * many, (2, 2, 3), ("", "n", "s", "r", "mann", "er", "son", "ski")),
        words(chance, 120, (2,), ("burg", "dorf", "stadt", "")),
    )
    weights = [[1 / (i + 3) for i in range(len(pool))] for pool in pools]

    def person() -> list[str]:
        first, last, city = (chance.choices(*pool)[0] for pool in zip(pools, weights, strict=True))
        born = f"{chance.randint(1930, 2005)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        return [first, last, born, city]

    def dirty(cells: list[str]) -> list[str]:
        found = []
        for column, text in zip(COLUMNS, cells, strict=True):
            kind = chance.random() / errors
            if kind < 1:
                text = misdated(chance, text) if column == "born" else misspelt(chance, text)
            elif kind < 1.2:
                text = ""
            elif column == "city" and kind < 2:
                text = chance.choices(pools[2], weights[2])[0]
            found.append(text)
        return found

    common = [person() for _ in range(rows // 2)]
    tables = []
    for party in (0, 1):
        table = [(str(number), dirty(cells)) for number, cells in enumerate(common)]
        table += [(f"{party}.{number}", dirty(person())) for number in range(rows - len(common))]
        chance.shuffle(table)
        tables.append(table)
    return tables


def write(path: Path, table: Sequence[Row]) -> None:
    """Write a table as CSV, with the sound of the surname for splink.

    Args:
        path: The file.
        table: Its rows.
    """
    sound = Form.of("soundex")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", *COLUMNS, "sound"))
        writer.writerows([number, *cells, sound.normal(cells[1]) or ""] for number, cells in table)


def comparisons(levels: dict[str, Any]) -> list[str]:
    """Return the comparisons with the levels that splink has estimated."""
    names = {"Exact": "exact", "All": "else"}

    def level(label: str, m: float, u: float) -> str:
        return f"{names.get(label.split()[0], label)}:{m:.4g}:{u:.4g}"

    return [f"{column}={'+'.join(level(*one) for one in some)}" for column, some in levels.items()]


def written(directory: Path, tables: Sequence[Sequence[Row]]) -> list[Path]:
    """Write the tables of both parties.

    Args:
        directory: The folder.
        tables: The rows of both parties.
    """
    paths = [directory / f"rows{party}.csv" for party in (0, 1)]
    for path, table in zip(paths, tables, strict=True):
        write(path, table)
    return paths


def counts(tables: Sequence[Sequence[Row]], own: Sequence[str]) -> list[int]:
    """Return the numbers of right, found and true pairs.

    Args:
        tables: The rows of both parties.
        own: The matched rows of both, as CSV.
    """
    found = [_found(text, table) for text, table in zip(own, tables, strict=True)]
    true = len({number for number, _ in tables[0]} & {number for number, _ in tables[1]})
    return [sum(map(eq, *found)), len(found[0]), true]


def matched_in_clear(tables: Sequence[Sequence[Row]], job: Mapping[str, Any]) -> list[int]:
    """Return the `counts` of the joint protocol in the clear.

    Args:
        tables: The rows of both parties.
        job: Settings of the job.
    """
    with tempfile.TemporaryDirectory() as name:
        paths = written(Path(name), tables)

        def party(session: Session) -> str:
            settings = {**job, "keys": 2 * max(map(len, tables)), "data": paths[session.party]}
            task, data, _ = AlignFuzzy.alone(AlignFuzzy.Settings.model_validate(settings), session.party)
            state = task.run(make_engine(session, "clear"), data, None, lambda step: None)
            return str(task.document(state)["own"])

        return counts(tables, run_local(party, timeout=DEADLINE))


def measured(tables: Sequence[Sequence[Row]], job: Mapping[str, Any]) -> dict[str, Any]:
    """Match two tables by two processes. Return the `counts` and the cost of both.

    Args:
        tables: The rows of both parties.
        job: Settings of the job.
    """
    flags = [
        word
        for key, value in job.items()
        for word in (f"--{key.replace('_', '-')}", ",".join(value) if isinstance(value, list) else str(value))
    ]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        words = ["fuzzy", *flags, "--engine", "gmw", "--ot", "ferret"]
        cost, printed = aligned(directory, words, 2 * max(map(len, tables)), written(directory, tables))
        own = [(directory / f"aligned{party}.csv").read_text(encoding="utf-8") for party in (0, 1)]
    return {"counts": counts(tables, own), "compared": printed["compared"], **cost}


def aligned(
    directory: Path, words: Sequence[str], keys: int, paths: Sequence[Path]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Align two tables in two processes over TLS; `aligned0.csv` and `aligned1.csv` get the rows.

    Args:
        directory: Folder of the run.
        words: Kind and settings of `smc align`.
        keys: Value of --keys.
        paths: The two tables.

    Returns:
        The cost, and the result of party 0.
    """
    (port,) = free_ports(1)
    for party in (0, 1):
        identity.create(f"party{party}", ["127.0.0.1"], directory)
    commands = [
        [
            *(sys.executable, "-m", "parties", "align", *words, "--json", "--report", f"cost{party}.json"),
            *("--keys", str(keys), "--data", str(path), "--aligned", f"aligned{party}.csv"),
            *("--identity", f"party{party}.key", "--certificate", f"party{party}.crt"),
            *("--peer", f"party{1 - party}.crt", ("--listen", "--connect")[party], f"127.0.0.1:{port}"),
            *("--timeout", "3600"),
        ]
        for party, path in enumerate(paths)
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, (printed, _) = run_together(commands, directory, DEADLINE, os.environ | {"PYTHONPATH": str(ROOT)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = json.loads((directory / "cost0.json").read_text(encoding="utf-8"))["total"]
    cost = {
        "bytes": total["bytes_sent"] + total["bytes_received"],
        "and_gates": total["and_gates"],
        "seconds": round(seconds, 1),
        "session_seconds": round(total["seconds"], 2),
        "processor_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "largest_process_bytes": after.ru_maxrss * 1024,
    }
    return cost, json.loads(printed)


def _found(text: str, table: Sequence[Row]) -> list[str]:
    """Return the identities of matched rows. Rows with equal cells are rare."""
    of_cells = {tuple(cells): number for number, cells in table}
    return [of_cells[tuple(row[column] for column in COLUMNS)] for row in csv.DictReader(io.StringIO(text))]


def f1(counts: Sequence[int]) -> float:
    """Return the harmonic mean of precision and recall of right, found and true pairs."""
    right, found, true = counts
    return 2 * right / (found + true)


def in_clear(pairs: Sequence[Sequence[Sequence[Row]]]) -> dict[str, Any]:
    """Return the results of splink on pairs of tables: see `benchmarks/peers/splink_linkage.py`."""
    python = install(Path(tempfile.gettempdir()) / "smc-splink", SPLINK)
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / f"{number}.csv" for number in range(2 * len(pairs))]
        for path, table in zip(paths, [table for pair in pairs for table in pair], strict=True):
            write(path, table)
        program = Path(__file__).parent / "peers" / "splink_linkage.py"
        command = [str(python), str(program), *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@click.command()
@click.option("--rows", "sizes", multiple=True, type=int, default=(1600, 16000), help="Rows of a table, for the cost.")
@click.option("--model", type=click.Path(path_type=Path), help="Output of splink_linkage.py, instead of running it.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for linkage.json.")
def main(sizes: tuple[int, ...], model: Path | None, out: Path | None) -> None:
    """Measure quality, then cost."""
    pairs = [people(seed, ROWS, errors) for seed, errors in TABLES.values()]
    clear = in_clear(pairs) if model is None else json.loads(model.read_text(encoding="utf-8"))
    chance = clear["dice"]["probability_two_random_records_match"]
    threshold = clear["dice"]["threshold"] - math.log2(chance / (1 - chance))
    job = {
        "comparisons": comparisons(clear["dice"]["levels"]),
        "blocking_rules": RULES,
        "threshold_match_weight": round(threshold, 4),
    }
    quality = []
    for place, (name, pair) in enumerate(zip(TABLES, pairs, strict=True)):
        found = {"ours": matched_in_clear(pair, job)}
        found |= {f"splink {one}": clear[one]["counts"][place] for one in ("dice", "own")}
        quality.append({"tables": name, **{one: [*some, round(f1(some), 4)] for one, some in found.items()}})
        click.echo(json.dumps(quality[-1]))
    cost = []
    for rows in sizes:
        cost.append({"rows": rows, **measured(people(4, rows, 0.12), {**job, "blocking_rules": RULES[:1]})})
        click.echo(json.dumps(cost[-1]))
    if out is not None:
        document = {"machine": machine.facts(), "job": job, "quality": quality, "cost": cost}
        write_text(out / "linkage.json", json_rows(document) + "\n")


if __name__ == "__main__":
    main()
