"""Every line of speed beside the peer that is best at it, measured here, in one run.

    python -m benchmarks.peers.table [--tiny] [--only TEXT] [--out FILE]           (or: make bench-peers)

Nothing is fetched. Of a peer that is there its own benchmark runs, in turn with ours; of another the line says so:

- EMP (emp-tool at 1eef346, emp-ot at 3fd4d80, emp-sh2pc at 1ef2048, of github.com/emp-toolkit), folder in SMC_EMP; in
  it:
      cmake -S emp-tool -B emp-tool/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$PWD/install
      make -C emp-tool/build emp-tool test_garble && cmake --install emp-tool/build
      cmake -S emp-ot -B emp-ot/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=$PWD/install
      make -C emp-ot/build emp-ot bench_base_ot bench_iknp_rcot bench_softspoken_rcot bench_ferret_rcot
      cmake --install emp-ot/build
      cmake -S emp-sh2pc -B emp-sh2pc/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=$PWD/install
      make -C emp-sh2pc/build test_example
- MP-SPDZ (3a0a7b1 of github.com/data61/MP-SPDZ, with its submodule SimplestOT_C), folder in SMC_MPSPDZ, after
  `printf 'ARCH = -march=native\nUSE_KOS = 1\nAVX_OT = 0\nCXX = g++\n' > CONFIG.mine` (no libOTe),
  `make -j2 yao-party.x semi-bin-party.x` and `Scripts/setup-ssl.sh 2`
- MPyC: as `python -m benchmarks.peers.id3` has installed it
- smartnoise-synth 1.0.8: SMC_SMARTNOISE names the Python of a virtual environment with, for AIM, no more than
      pip install --no-deps smartnoise-synth==1.0.8 && pip install smartnoise-sql==1.0.10 'mbi<2' disjoint-set Faker

Peers talk over clear TCP on loopback, MP-SPDZ over TLS; ours over gRPC with mutual TLS and, where the line says so, the
data connection. Gates of one thread, and OTs whose line names no processes, are measured in memory. The load average
stands above the table: figures of a busy machine are good for ratios at most.
"""

from __future__ import annotations

import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.peers import endgame, programs, samples
from benchmarks.peers.processes import RunError, free_ports, run_together
from benchmarks.peers.programs import ROOT
from benchmarks.private_trees import tables
from parties.base.files import write_text
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.link import identity
from parties.tables.schema import Schema

DEADLINE = 1800.0  # seconds for one program
COMPARISONS = """
@for_range({times})
def _(_):
    a, b = (sint.get_input_from(party, size={at_once}) for party in (0, 1))
    (a < b).v[0].reveal().store_in_mem(0)
"""  # a program of MP-SPDZ


@dataclass(frozen=True)
class Size:
    """Sizes of the measurements: 2^ots OTs, a batch of comparisons, candidates of a noisy choice, rows, and runs."""

    ots: int = 24
    comparisons: int = 1_000_000  # or 10,000, as in `smc bench`
    candidates: int = 19
    rows: int = 30_000
    runs: int = 5


TINY = Size(14, 10_000, 12, 1_000, 1)
TREES = {"age": "age", "education": "education", "marital-status": "marital", "sex": "sex", "race": "race"}
Row = Mapping[str, str]
Measure = Callable[[Size], str]


class AbsentError(Exception):
    """A program is missing; the message says which, and what to do."""


@dataclass(frozen=True)
class Line:
    """A line of the table: the work with its unit, our measurement, the peer, and the peer's measurement."""

    work: str
    ours: Measure
    peer: str
    theirs: Measure


@lru_cache
def _printed(*arguments: str) -> Any:
    """Return the JSON that a benchmark of ours prints; it runs once for all lines."""
    command = [sys.executable, *arguments]
    with tempfile.TemporaryDirectory() as place:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return json.loads(run_together([command], Path(place), DEADLINE, environment)[1][0])


def _gates(circuit: str, scheme: str, batch: int, *figures: str) -> Measure:
    def measure(size: Size) -> str:
        document = _printed("-m", "benchmarks.gates", "--json", "--runs", str(size.runs))
        wanted = {"circuit": circuit, "scheme": scheme, "batch": batch}
        (row,) = (row for row in document["million_and_gates_per_second"] if wanted.items() <= row.items())
        return " / ".join(f"{row[figure]:.3g}" for figure in figures)

    return measure


def _ots(kind: str, figure: str = "correlated", times: float = 1) -> Measure:
    def measure(size: Size) -> str:
        words = ["--count", str(1 << min(size.ots, 22)), "--runs", str(size.runs), "--json", kind]
        (row,) = _printed("-m", "benchmarks.ot", *words)["million_ots_per_second"]
        return f"{row[figure] * times:.3g}"

    return measure


def _over_both(work: str, count: int, _: Size) -> str:
    """Return millions a second of a work by two processes: over gRPC, and over the data connection."""
    document = _printed("-m", "benchmarks.data_connection", "--json", "--runs", "3", "--only", work)
    (ways,) = document["seconds_and_processor"].values()
    return " / ".join(f"{count / 1e6 / seconds:.3g}" for seconds, _ in ways.values())


def _comparisons(profile: str, size: Size) -> str:
    title = f"millionaires 32, {profile}, batch {size.comparisons}"
    words = ["--only", title, "--links", "loopback", "--repeats", str(size.runs), "--json"]
    rows = _printed("-m", "parties", "bench", *words)["rows"]
    row = next(row for row in rows if row["batch"] == size.comparisons)
    return f"{row['seconds']:.3g} s, {(row['bytes_sent'] + row['bytes_received']) / 1e6:,.4g} MB"


def _command(rows: Sequence[Row] | None, job: Sequence[str], size: Size) -> tuple[str, Any]:
    """Return a text with the median seconds and bytes of our command, start included, and party 0's last output."""
    with tempfile.TemporaryDirectory() as name:
        if rows is not None:
            columns = {column: sorted({row[column] for row in rows}, key=_in_order) for column in rows[0]}
            Schema(columns).save(Path(name) / "schema.toml")
        run = programs.prepare_command(rows, Path(name), job, DEADLINE)
        seconds, volumes, prints = zip(*(run() for _ in range(size.runs)), strict=True)
    return f"{statistics.median(seconds):.3g} s, {statistics.median(volumes) / 1e6:,.4g} MB", prints[-1]


def _in_order(value: str) -> tuple[int, str]:
    return int(value) if value.isdecimal() else -1, value


def _start(size: Size) -> str:
    """Measure `smc millionaires`, from the start of both processes to the end of both."""
    return _command(None, ["millionaires", "--value"], size)[0].partition(",")[0]


def _endgame(size: Size) -> str:
    """Grow the whole tree of a chess endgame; of few OTs, that of some rows of it."""
    rows = [dict(zip(endgame.COLUMNS, row, strict=True)) for row in endgame.rows()]
    rows = rows if size.ots > TINY.ots else rows[::100]
    job = ["id3", "--plain", "--target", "depth", "--max-rows", str(len(rows))]
    found, printed = _command(rows, job, size)
    return f"{found}, {samples.size(printed['tree']):,} nodes"


def _adult(size: Size) -> list[Row]:
    """Return rows of Adult as `benchmarks.private_trees.tables` codes them."""
    table = tables.load(programs.DATA, "adult")
    codes = np.column_stack([table.values, table.labels])[: size.rows].astype(str)
    return [{f"c{place}": code for place, code in enumerate(row)} for row in codes.tolist()]


def _aim(size: Size) -> str:
    job = ["synthesise", "--epsilon", "1", "--delta", "1e-9", "--max-rows", str(size.rows)]
    return _command(_adult(size), job, size)[0]


def _smartnoise(size: Size) -> str:
    """Return the time of AIM by smartnoise-synth, run once."""
    python = os.environ.get("SMC_SMARTNOISE")
    if not python:
        raise AbsentError("not there: SMC_SMARTNOISE names no Python")
    with tempfile.TemporaryDirectory() as name:
        path, rows = Path(name) / "adult.csv", _adult(size)
        path.write_text("".join(",".join(row) + "\n" for row in [rows[0], *(row.values() for row in rows)]))
        script = Path(__file__).with_name("smartnoise_aim.py")
        return run_together([[python, str(script), str(path)]], Path(name), 2 * DEADLINE)[1][0].splitlines()[-1]


def _lattice(size: Size) -> str:
    """Find levels of public hierarchies of Adult, for classes that hold for the rows of both parties together."""
    with (programs.DATA / "adult" / "adult.csv").open(newline="", encoding="utf-8") as file:
        rows = [{column: row[column] for column in TREES} for row in islice(csv.DictReader(file), size.rows)]
    with tempfile.TemporaryDirectory() as name:
        plan, folder = Path(name) / "publish.toml", programs.DATA.resolve() / "adult" / "hierarchies"
        columns = [f'[columns.{c}]\nrole = "quasi-identifier"\ntree = "{folder}/{t}.csv"\n' for c, t in TREES.items()]
        plan.write_text(f'source = "adult.csv"\n{"".join(columns)}[[models]]\nmodel = "k-anonymity"\nk = 10\n')
        job = ["publish", "lattice", "--plan", str(plan), "--k", "10", "--against", "public"]
        job += ["--max-suppressed-rows", str(size.rows // 50), "--max-rows", str(size.rows)]
        return _command(rows, job, size)[0]


def _megabytes(size: Size) -> str:
    return str(1 << max(size.ots - 15, 5))


def _link(size: Size) -> str:
    figures = _printed("-m", "benchmarks.link", "--json", "--runs", str(size.runs), "--megabytes", _megabytes(size))
    one, four, sixteen = (f"{figures[f'{many} MiB, MB/s']:.3g}" for many in (1, 4, 16))
    return f"{one} MB/s of 1 MiB, {four} of 4, {sixteen} of 16; a round trip {figures['round trip, us']:.0f} us"


def _ssl(size: Size) -> str:
    figures = []
    with tempfile.TemporaryDirectory() as name:
        for party in (0, 1):
            identity.create(f"party{party}", ["127.0.0.1"], Path(name))
        for _ in range(size.runs):
            (port,) = free_ports(1)
            command = [sys.executable, "-m", "benchmarks.peers.ssl_link", str(port)]
            commands = [[*command, party, _megabytes(size)] for party in ("0", "1")]
            prints = run_together(commands, Path(name), DEADLINE, os.environ | {"PYTHONPATH": str(ROOT)})[1]
            figures.append(float(prints[0]))
    return f"{statistics.median(figures):.3g} MB/s of 1 MiB"


def _noisy(size: Size) -> str:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out.json"
        words = ["--only", f"noisy max over 2^{size.candidates}", "--runs", str(size.runs), "--out", str(out)]
        subprocess.run(
            [sys.executable, "-m", "benchmarks.release", *words], cwd=ROOT, check=True, capture_output=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=DEADLINE,
        )  # fmt: skip
        rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    return ", ".join(f"{row['profile']} {row['seconds']:.3g} s" for row in rows)


@lru_cache
def _trees(data: str, runs: int) -> Any:
    if not (ROOT / ".bench" / "mpyc").is_dir():
        raise AbsentError("not measured: python -m benchmarks.peers.id3 installs MPyC")
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out.json"
        words = ["-m", "benchmarks.peers.id3", "--only", data, "--repeats", str(runs), "--out", str(out)]
        run_together([[sys.executable, *words]], Path(name), DEADLINE, os.environ | {"PYTHONPATH": str(ROOT)})
        return json.loads(out.read_text(encoding="utf-8"))["results"][0]


def _tree(data: str, name: str, size: Size) -> str:
    result = _trees(data, size.runs)
    found = result["programs"][name or result["faster_peer"]]
    return f"{found['seconds']['median']:.2f} s, {found['bytes']['median'] / 1e6:.3g} MB"


def _absent(why: str) -> Measure:
    def measure(_: Size) -> str:
        raise AbsentError(f"not measured: {why}")

    return measure


def _built(variable: str, program: str) -> Path:
    """Return the path of a peer's program."""
    folder = os.environ.get(variable)
    if not folder:
        raise AbsentError(f"not there: {variable} names no folder")
    path = Path(folder).resolve() / program
    if not path.exists():
        raise AbsentError(f"not there: {path} is not built")
    return path


def _emp(program: str, pattern: str, per: float = 1) -> Measure:
    """Return a measurement: the median of a number that a program of EMP prints at party 1, divided by `per`."""

    def measure(size: Size) -> str:
        path = _built("SMC_EMP", program)
        figures = []
        for _ in range(size.runs):
            (port,) = free_ports(1)
            commands = [[str(path), party, str(port), str(size.ots)] for party in ("1", "2")]
            with tempfile.TemporaryDirectory() as place:
                Path(place, "emp-tool").symlink_to(path.parents[1] / "emp-tool")  # it has the circuits
                _, prints = run_together(commands, Path(place), DEADLINE)
            found = re.search(pattern, prints[0])
            if found is None:
                raise RunError(f"{program} printed nothing like {pattern}")
            figures.append(float(found[1]) / per)
        return f"{statistics.median(figures):.3g}"

    return measure


def _mpspdz(machine_name: str, count: int, size: Size) -> tuple[float, list[str]]:
    """Compile and run comparisons of MP-SPDZ; return the median seconds, and the output of the last run."""
    party = _built("SMC_MPSPDZ", f"{machine_name}-party.x")
    folder, name = party.parent, f"comparisons{count}"
    at_once = min(count, 1000)  # larger vectors are beyond its compiler
    source = COMPARISONS.format(times=count // at_once, at_once=at_once)
    (folder / "Programs" / "Source" / f"{name}.mpc").write_text(source, encoding="utf-8")
    for number in (0, 1):
        inputs = " ".join(str((i * 7919 + number) % (1 << 31)) for i in range(count))
        (folder / "Player-Data" / f"Input-P{number}-0").write_text(inputs + "\n", encoding="utf-8")
    garbled = ["--garbled"] if machine_name == "yao" else []
    run_together([[sys.executable, "compile.py", "-B", "32", *garbled, name]], folder, DEADLINE)
    parties = [] if garbled else ["-N", "2"]
    shell = ["sh", "-c", 'exec "$0" "$@" 2>&1']  # it prints the bytes on standard error
    seconds = []
    for _ in range(size.runs):
        (port,) = free_ports(1)
        commands = [
            [*shell, str(party), "-p", str(number), *parties, "-h", "localhost", "-pn", str(port), name]
            for number in (0, 1)
        ]
        took, prints = run_together(commands, folder, DEADLINE)
        seconds.append(took)
    return statistics.median(seconds), prints


def _mpspdz_comparisons(machine_name: str, size: Size) -> str:
    """Return the whole run's seconds, and bytes as the program counts them."""
    seconds, prints = _mpspdz(machine_name, size.comparisons, size)
    found = re.search(r"Global data sent = ([\d.e+]+) MB", prints[0])
    if found is None:
        raise RunError("MP-SPDZ printed no bytes")
    return f"{seconds:.3g} s, {float(found[1]):,.4g} MB"


def _peers_start(size: Size) -> str:
    """Return the seconds of one comparison by MP-SPDZ and EMP, processes and all."""
    program = _built("SMC_EMP", "emp-sh2pc/build/test_example")
    seconds = []
    for _ in range(size.runs):
        (port,) = free_ports(1)
        commands = [[str(program), party, str(port), "20"] for party in ("1", "2")]
        with tempfile.TemporaryDirectory() as place:
            seconds.append(run_together(commands, Path(place), DEADLINE)[0])
    return f"{_mpspdz('yao', 1, size)[0]:.3f}, {statistics.median(seconds):.3f} s"


def _rcot(kind: str) -> str:
    return rf"{kind} semi RCOT\s+([\d.e+]+) MOTps"


def _cot(program: str, name: str) -> Measure:
    return _emp(f"emp-ot/build/{program}", rf"{name}.*?semi.*?RCOT\s+([\d.e+]+) MOTps")


OWN = _absent("no program of its own comes with it")
HALF, THREE = (partial(_gates, "AES-128", scheme) for scheme in ("half", "three-halves"))
LINES = [
    Line("half-gates, one thread: garbled / evaluated, M AND/s", HALF(1024, "garbled", "evaluated"), "EMP, garbled",
         _emp("emp-tool/build/test_garble", r"Pure AES garbling speed : ([\d.e+]+)")),
    Line("the same, three-halves", THREE(1024, "garbled", "evaluated"), "none", OWN),
    Line("64-bit products, two processes, M AND/s", _gates("multiplication 64", "half", 1024, "pipeline"),
         "EMP, AES", _emp("emp-tool/build/test_garble", r"Loopback Network : ([\d.e+]+)")),
    Line("the same, three-halves", _gates("multiplication 64", "three-halves", 1024, "pipeline"), "none", OWN),
    Line("2^13 of them over gRPC / the data connection, M AND/s", partial(_over_both, "products", 4033 << 13),
         "EMP, AES", _emp("emp-tool/build/test_garble", r"Loopback Network : ([\d.e+]+)")),
    Line("AES-128, batch of one, two processes, M AND/s", HALF(1, "pipeline"), "EMP", OWN),
    Line("comparisons of 32 bits, garbled", partial(_comparisons, "yao extension half"),
         "MP-SPDZ", partial(_mpspdz_comparisons, "yao")),
    Line("the same, shared bits", partial(_comparisons, "gmw extension size"),
         "MP-SPDZ", partial(_mpspdz_comparisons, "semi-bin")),
    Line("the same, silent OT", partial(_comparisons, "gmw ferret size"), "MP-SPDZ", OWN),
    Line("correlated OT, M/s: IKNP", _ots("iknp"), "EMP", _cot("bench_iknp_rcot", "IKNP")),
    *(
        Line(f"SoftSpoken-{k}", _ots(f"softspoken{k}"), "EMP", _cot("bench_softspoken_rcot", f"SoftSpoken<{k}>"))
        for k in (2, 4, 8)
    ),
    *(
        Line(f"{kind}, two processes, over gRPC / the data connection", partial(_over_both, f"OTs, {kind}", 1 << 22),
             "EMP", _cot(f"bench_{program}_rcot", name))
        for kind, program, name in (
            ("iknp", "iknp", "IKNP"),
            *((f"softspoken{k}", "softspoken", f"SoftSpoken<{k}>") for k in (2, 4, 8)),
        )
    ),
    Line("the same of random choices, Ferret", _ots("ferret", "drawn"), "EMP", _cot("bench_ferret_rcot", "Ferret b13")),
    Line("128 base OTs both ways, ms", _ots("softspoken4", "setup_seconds", 1000), "EMP, one way",
         _emp("emp-ot/build/bench_base_ot", r"CSW\s+([\d.e+]+) us", 1000)),
    Line("link, one way", _link, "Python's ssl", _ssl),
    Line("millionaires, start to result", _start, "MP-SPDZ, EMP", _peers_start),
    *(
        Line(f"joint tree, {data}", partial(_tree, data, "smc"), "MPyC", partial(_tree, data, ""))
        for data in ("tennis", "car", "tic-tac-toe")
    ),
    Line("noisy max", _noisy, "Champion et al., published: 14 min at 2^19", OWN),
    Line("tree of a chess endgame, 32,845 nodes", _endgame, "none", OWN),
    Line("AIM, 30,000 rows", _aim, "smartnoise", _smartnoise),
    Line("lattice, 30,000 rows", _lattice, "none", OWN),
]  # fmt: skip


def _figure(measure: Measure, size: Size) -> str:
    try:
        return measure(size)
    except (AbsentError, RunError) as error:
        return str(error)


@click.command(help=__doc__)
@click.option("--tiny", is_flag=True, help="Little of everything, once: whether each line works.")
@click.option("--only", default="", metavar="TEXT", help="Only lines with TEXT in them.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as JSON.")
def main(tiny: bool, only: str, out: Path | None) -> None:
    size, load = TINY if tiny else Size(), os.getloadavg()
    click.echo(f"load average before: {load[0]:.2f}, of {os.cpu_count()} cores\n")
    click.echo("| work | ours | peer | theirs |\n|---|---|---|---|")
    rows = []
    for line in LINES:
        if only in line.work:
            rows.append({"work": line.work, "ours": _figure(line.ours, size), "peer": line.peer})
            rows[-1]["theirs"] = _figure(line.theirs, size)
            click.echo("| " + " | ".join(rows[-1].values()) + " |")
    if out is not None:
        document = {"machine": machine.facts(), "load_average": load, "size": asdict(size), "rows": rows}
        write_text(out, json_rows(document) + "\n")


if __name__ == "__main__":
    main()
