"""Build the wheel of the last commit twice, check that both are equal byte by byte, and record its sources.

    python -m scripts.wheel --out build/wheel

This writes the wheel, `SHA256SUMS`, and `provenance.json`: an in-toto statement (v1) with a provenance predicate of
SLSA v1. The statement names the commit and the digest of the locked build tools. It is not signed: anyone with the
commit can build the same bytes with the same command, and that proves more than our signature would.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements/core.txt"  # locks the build backend by its hash


def main() -> int:
    """Build, compare and write; return 1 if two builds of the same commit differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "wheel")
    out: Path = parser.parse_args().out
    commit, moment = _git("log", "-1", "--format=%H %ct").decode().split()
    if _git("status", "--porcelain", "--untracked-files=no"):
        print("what is not committed is not in the wheel", file=sys.stderr)
    (name, wheel), again = build(commit, moment), build(commit, moment)
    if again != (name, wheel):
        print(f"two builds of {commit} differ", file=sys.stderr)
        return 1
    digest = hashlib.sha256(wheel).hexdigest()
    out.mkdir(parents=True, exist_ok=True)
    (out / name).write_bytes(wheel)
    (out / "SHA256SUMS").write_text(f"{digest}  {name}\n")
    (out / "provenance.json").write_text(json.dumps(provenance(name, digest, commit), indent=2) + "\n")
    print(f"{out / name}: sha256 {digest}, twice the same, from {commit}")
    return 0


def build(commit: str, moment: str) -> tuple[str, bytes]:
    """Return the name and the bytes of a commit's wheel; `moment` is the time of all its files, in seconds."""
    with tempfile.TemporaryDirectory() as place, tarfile.open(fileobj=BytesIO(_git("archive", commit))) as tree:
        source, made = Path(place, "source"), Path(place, "made")
        tree.extractall(source, filter="data")
        compile_kernels = [sys.executable, "-m", "smc.kernels.ready", "smc/kernels/ready"]
        subprocess.run(compile_kernels, check=True, cwd=source, env=os.environ | {"PYTHONPATH": str(source)})
        for folder, folders, files in os.walk(source):  # the same modes, whatever the umask of the builder
            for entry in folders:
                Path(folder, entry).chmod(0o755)
            for entry in files:
                Path(folder, entry).chmod(0o644)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-build-isolation", "--no-cache-dir", "--wheel-dir", str(made), str(source)]
        subprocess.run(command, check=True, env=os.environ | {"SOURCE_DATE_EPOCH": moment}, stdout=sys.stderr)
        (wheel,) = made.glob("*.whl")
        return wheel.name, wheel.read_bytes()


def provenance(name: str, digest: str, commit: str) -> dict[str, Any]:
    """Return the in-toto statement about a wheel."""
    lock = hashlib.sha256(_git("show", f"{commit}:{LOCK}")).hexdigest()
    materials: list[dict[str, Any]] = [
        {"name": "source", "digest": {"gitCommit": commit}},
        {"name": LOCK, "digest": {"sha256": lock}},
    ]
    definition = {
        "buildType": "urn:smc-two-party:make-wheel",
        "externalParameters": {"commit": commit},
        "resolvedDependencies": materials,
    }
    builder = {"id": "urn:smc-two-party:whoever-has-the-commit"}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": definition,
            "runDetails": {"builder": builder},
        },
    }


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True).stdout


if __name__ == "__main__":
    sys.exit(main())
