"""A PostgreSQL server of a test session."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Server:
    """A PostgreSQL server on a socket of its own; its administrator needs no password, all others do."""

    def __init__(self, folder: Path, database: str = "postgres") -> None:
        self.folder = folder
        self.database = database

    def url(self, user: str = "postgres", password: str = "", database: str | None = None) -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{database or self.database}?host={self.folder}"

    def connect(self) -> Any:
        """A connection of the administrator."""
        import psycopg

        return psycopg.connect(self.url(), autocommit=True)
