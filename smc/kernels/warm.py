"""Compile all kernels ahead of the first protocol run: python -m smc.kernels.warm."""

from __future__ import annotations

from smc.kernels.native import Kernel, prepare


def warm() -> None:
    """Load every module of kernels, which compiles those that no file is there for."""
    for module in Kernel.registry:
        prepare(module)


if __name__ == "__main__":
    warm()
