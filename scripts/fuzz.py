"""Fuzz the parsers of input from outside, guided by coverage (libFuzzer through atheris): `make fuzz`.

    python -m scripts.fuzz --runs 1000000                 # every target, each in its own process
    python -m scripts.fuzz --runs 1000000 --only frames,job

A target may refuse its input with a message of one line. Any other exception ends its run. The input is then kept
under build/fuzz: add it as a seed to `scripts.fuzz_targets`, which a test runs. The last line of the output has the
number of executions of all targets.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / "build" / "fuzz"


def main() -> int:
    """Run the targets one after the other; return 1 if one has a flaw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000, help="executions of each target  [100000]")
    parser.add_argument("--seconds", type=int, default=300, help="the most of each target  [300]")
    parser.add_argument("--only", default="", help="these targets, by commas  [all]")
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.target:
        _fuzz(options.target, options.runs, options.seconds)
        return 0
    from scripts.fuzz_targets import TARGETS

    flaws, total = [], 0
    for name in options.only.split(",") if options.only else TARGETS:
        limits = ["--runs", str(options.runs), "--seconds", str(options.seconds)]
        command = [sys.executable, "-m", "scripts.fuzz", "--target", name, *limits]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        counts = re.findall(r"^Done (\d+)(?: runs)? in", done.stderr, re.MULTILINE)
        runs = int(counts[-1]) if counts else 0
        total += runs
        print(f"{name}: {runs:,} executions{'' if done.returncode == 0 else ', A FLAW'}", flush=True)
        if done.returncode != 0:
            flaws.append(name)
            print(done.stdout[-2000:] + done.stderr[-2000:], file=sys.stderr)
    print(f"{total:,} executions, {len(flaws)} targets with a flaw")
    return 1 if flaws else 0


def _fuzz(name: str, runs: int, seconds: int) -> None:
    """Fuzz one target in this process, starting from its seeds and the inputs of earlier runs."""
    import atheris

    with atheris.instrument_imports(include=["parties", "smc", "protocols"]):
        from scripts.fuzz_targets import TARGETS, refused_well
    target, corpus = TARGETS[name], BUILD / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    flags = [f"-atheris_runs={runs}", f"-max_total_time={seconds}", f"-artifact_prefix={corpus}-", "-max_len=4096"]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], lambda data: refused_well(target.run, data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
