"""The script that installs services for tests waits for whoever is installing packages; with programs of our own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "scripts" / "services.sh"
LOCKED = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)"
APT = f"""#!/bin/bash
echo "$@" >>"$HERE/asked"
if [ "$1" = install ] && [ "$(grep -c install "$HERE/asked")" -le "$LOCKED_FOR" ]; then
    echo "{LOCKED}" >&2
    exit 100
fi
[ "$1" = update ] || touch "$HERE/bin/java"
chmod +x "$HERE/bin/"*
"""


@pytest.mark.parametrize(("locked_for", "slept", "installed"), [(0, 0, True), (3, 3, True), (1000, 60, False)])
def test_it_waits_for_the_lock_but_not_for_ever(tmp_path: Path, locked_for: int, slept: int, installed: bool) -> None:
    programs = {"apt-get": APT, "id": "#!/bin/bash\necho 0\n", "sleep": '#!/bin/bash\necho >>"$HERE/slept"\n'}
    script, loops = re.subn("for package in [^;]+;", "for package in default-jre-headless;", SCRIPT.read_text())
    assert loops == 1
    (tmp_path / "services.sh").write_text(script)
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    for name in ("bash", "grep", "touch", "chmod", "cat"):
        found = next(path for path in map(Path, ("/bin", "/usr/bin")) if (path / name).exists())
        (tmp_path / "bin" / name).symlink_to(found / name)
    places = {"PATH": str(tmp_path / "bin"), "HERE": str(tmp_path), "LOCKED_FOR": str(locked_for)}
    done = subprocess.run(
        ["/bin/bash", tmp_path / "services.sh"],
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0
    expected = "installed" if installed else f"not installable: {LOCKED}"
    assert done.stdout == f"default-jre-headless: {expected}\n"
    assert ((tmp_path / "slept").read_text().count("\n") if slept else 0) == slept
    assert ("waiting for it" in done.stderr) == (slept > 0)


def test_it_installs_whatever_program_a_test_looks_for() -> None:
    """But for what belongs to a machine as a whole."""
    proofs = dict(re.findall(r"^    \[([\w-]+)\]='([^']+)'$", SCRIPT.read_text(), re.MULTILINE))
    (loop,) = re.findall(r"for package in ([^;]+); do", SCRIPT.read_text())
    assert loop.split() == list(proofs)
    texts = [path.read_text() for path in SCRIPT.parents[1].glob("tests/**/*.py")]
    sought = {name for text in texts for name in re.findall(r"which\(\"([\w-]+)\"\)", text)}
    assert "chromium" in sought
    assert sought - {"docker", "systemd-analyze"} <= {*proofs.values(), "ip"}  # ip comes with tc
