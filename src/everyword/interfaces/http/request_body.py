"""Read the bodies of requests, up to a size."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request

from everyword.errors import InvalidInput, TooLarge
from everyword.interfaces.http.responses import JSON

_MOST_DIGITS = 19  # of a Content-Length that is worth reading


async def whole_body(request: Request, most: int) -> bytes:
    """Read a body of a limited size."""
    return b"".join([chunk async for chunk in limited(request, most)])


def json_object(request: Request, content: bytes) -> dict[str, Any]:
    """Parse a body as a JSON object; an empty body is an empty object."""
    if not content.strip():
        return {}
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != JSON:
        raise InvalidInput(f"The body is {kind or 'of no known type'}; send {JSON}.")
    try:
        body: Any = json.loads(content)
    except (ValueError, RecursionError) as error:  # also where it is not UTF-8
        raise InvalidInput(f"The body is not JSON ({str(error)[:200]}).") from error
    if not isinstance(body, dict):
        raise InvalidInput("The body must be a JSON object, with the parameters as its members.")
    return cast("dict[str, Any]", body)


async def limited(request: Request, most: int) -> AsyncGenerator[bytes]:
    """Yield a body in chunks; refuse one that is too large before all of it has arrived."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and len(length) <= _MOST_DIGITS and int(length) > most:
        raise _too_large(most)
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            yield chunk
    except ClientDisconnect as error:
        raise InvalidInput("The request ended before its body did.") from error


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"The body has more than {most:,} bytes.", fix="Send it in parts.")
