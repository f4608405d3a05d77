"""A real mail server for tests, with TLS and a user: it keeps what it was sent, and who tried to sign in."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword

from parties.link.identity import create
from tests.support.waiting import PATIENCE

USER, PASSWORD = "smc", "correct horse"


class Mailbox:
    """What has arrived: contents, and whether each came under TLS from the user."""

    def __init__(self, directory: Path, implicit: bool) -> None:
        self.identity = create("mail", ["127.0.0.1"], directory)
        self.implicit = implicit
        self.got: list[str] = []
        self.tries: list[bool] = []
        self.port = 0

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:  # noqa: N802
        assert session.authenticated
        assert self.implicit or session.ssl is not None
        self.got.append(str(envelope.content, "utf-8") if isinstance(envelope.content, bytes) else "")
        return "250 OK"

    def check(self, server: Any, session: Any, envelope: Any, mechanism: str, data: object) -> AuthResult:
        """Whether that is the user."""
        right = data == LoginPassword(USER.encode(), PASSWORD.encode())
        self.tries.append(right)
        return AuthResult(success=right, handled=False)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The server's address, until the end of the block."""
        secured = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        secured.load_cert_chain(self.identity.certificate_path, self.identity.key_path)
        loop = asyncio.new_event_loop()

        def session() -> SMTP:
            needed = {"auth_required": True, "authenticator": self.check, "hostname": "mail.example", "loop": loop}
            if self.implicit:
                return SMTP(self, auth_require_tls=False, **needed)
            return SMTP(self, tls_context=secured, require_starttls=True, **needed)

        opening = loop.create_server(session, "127.0.0.1", 0, ssl=secured if self.implicit else None)
        server = loop.run_until_complete(opening)
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE)
            server.close()
            loop.close()
