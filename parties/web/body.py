"""The body of a request, read no further than a bound."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request


async def bounded(request: Request, most: int, too_much: str, broken: str) -> bytes:
    """Return the body. `HTTPException` with these words if it has more than `most` bytes, or if the request breaks
    off."""
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most:
                raise HTTPException(413, too_much)
    except ClientDisconnect:
        raise HTTPException(400, broken) from None
    return body
