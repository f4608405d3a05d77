"""smc demo: how a party that fails is told."""

from __future__ import annotations

import subprocess
import sys

import pytest

from parties.commands.demo import _finish
from smc.errors import LinkError


def test_a_party_that_fails_is_told_in_its_own_words() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('a remark\\nsmc: cannot write tree.svg')"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with pytest.raises(LinkError, match=r"^clinic-a failed: cannot write tree\.svg$"):
        _finish(process, "clinic-a")
