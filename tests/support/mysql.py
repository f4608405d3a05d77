"""A MariaDB server of a test session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ADMIN, SECRET = "admin", "adm!n/7"


class MySqlServer:
    """A MariaDB server on a socket of its own, with the database `clinic`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def url(self, user: str = ADMIN, password: str = "adm%21n%2F7", database: str = "clinic", more: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"mysql://{user}{secret}@localhost/{database}?unix_socket={self.folder}/s{more}"

    def connect(self, **more: Any) -> Any:
        """A connection of the administrator, with the modes and collations that the server came with."""
        import MySQLdb

        place = {"unix_socket": f"{self.folder}/s", "database": "clinic", "charset": "utf8mb4"}
        return MySQLdb.connect(user=ADMIN, password=SECRET, autocommit=True, **(place | more))

    def run(self, *commands: str) -> None:
        """Do this as the administrator."""
        connection = self.connect()
        with connection.cursor() as cursor:
            for command in commands:
                cursor.execute(command)
        connection.close()
