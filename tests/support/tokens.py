"""SoftHSM with tokens in a folder of its own: what a test has that asks for a key in a token."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

PIN, OFFICER = "1234", "5678"
MODULES = ("softhsm/libsofthsm2.so", "*/softhsm/libsofthsm2.so")


class SoftHsm:
    """Tokens by their labels. A process sees those that were there when it first asked."""

    def __init__(self, folder: Path, program: str, module: Path) -> None:
        self.folder, self.program, self.module = folder, program, module
        self.places: dict[str, Path] = {}
        (folder / "tokens").mkdir()
        self.configuration = folder / "softhsm2.conf"
        self.configuration.write_text(f"directories.tokendir = {folder / 'tokens'}\nlog.level = ERROR\n")
        self.pin = self.file("pin", PIN)

    def file(self, name: str, pin: str) -> Path:
        """A file with a PIN."""
        path = self.folder / name
        path.write_text(f"{pin}\n")
        path.chmod(0o600)
        return path

    def add(self, label: str) -> None:
        """Make a token."""
        there = {*(self.folder / "tokens").iterdir()}
        words = ["--init-token", "--free", "--label", label, "--pin", PIN, "--so-pin", OFFICER]
        environment = os.environ | {"SOFTHSM2_CONF": str(self.configuration)}
        subprocess.run([self.program, *words], env=environment, check=True, capture_output=True)
        (self.places[label],) = {*(self.folder / "tokens").iterdir()} - there

    def uri(self, key: str, token: str = "smc", pin: Path | None = None) -> Path:
        """The name of a key."""
        return Path(f"pkcs11:token={token};object={key}?module-path={self.module}&pin-source={pin or self.pin}")

    @contextmanager
    def away(self, token: str = "smc") -> Iterator[None]:
        """Take a token out, and put it back."""
        place = self.places[token]
        out = place.rename(self.folder / "out")
        try:
            yield
        finally:
            out.rename(place)


def soft_hsm(folder: Path) -> SoftHsm:
    """SoftHSM, for this process and those that it starts; skip if it is not there."""
    program = shutil.which("softhsm2-util")
    modules = [path for pattern in MODULES for path in sorted(Path("/usr/lib").glob(pattern))]
    if program is None or not modules:
        pytest.skip("SoftHSM is not installed: make services")
    if find_spec("pkcs11") is None:
        pytest.skip("python-pkcs11 is not installed")
    os.environ["SOFTHSM2_CONF"] = str(folder / "softhsm2.conf")  # read once, when its module is loaded
    return SoftHsm(folder, program, modules[0])
