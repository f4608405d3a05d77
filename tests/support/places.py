"""Where the repository is, and the environment in which its programs find it."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"  # real tables and circuits, if they stand beside the repository
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
# Programs that are started hundreds of times are translated once, whatever the shell says.
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)
