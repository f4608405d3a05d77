"""Mutants that are the same program, or one that nothing can tell apart: the line, what it would say, and why."""

from __future__ import annotations

EQUIVALENT: dict[str, tuple[tuple[str, str, str], ...]] = {}
