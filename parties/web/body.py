"""The body of a request, read up to a limit."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request


async def bounded(request: Request, max_bytes: int, too_much: str, broken: str) -> bytes:
    """Return the body of a request, if it is not too large.

    Args:
        request: The request.
        max_bytes: Largest number of bytes.
        too_much: Message for a larger body.
        broken: Message for a request that breaks off.

    Raises:
        HTTPException: The body is too large, or the request breaks off.
    """
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > max_bytes:
                raise HTTPException(413, too_much)
    except ClientDisconnect:
        raise HTTPException(400, broken) from None
    return body
