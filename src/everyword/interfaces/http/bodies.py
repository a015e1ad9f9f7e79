"""The bodies of requests and responses: reading JSON up to a size, writing JSON, and errors as RFC 9457 problems."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from everyword.errors import EverywordError, InvalidInput, NotFound, TooLarge, TooManyRequests, usual_fix

_MOST_DIGITS = 19  # of a Content-Length that is worth reading
JSON = "application/json"
PROBLEM = "application/problem+json"
TYPE_PREFIX = "urn:everyword:error:"
MIN_COMPRESSED_BYTES = 1_000  # a smaller body gains less than the extra header costs
_GZIP_LEVEL = 5  # of 9: higher levels take more time and save little


# Requests


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


# Responses


def json_response(document: object, request: Request | None = None) -> Response:
    """Send a document as JSON, compressed if the request allows it."""
    accepts = "" if request is None else request.headers.get("accept-encoding", "")
    content = encode_json(document)
    headers = {"vary": "accept-encoding"}
    if len(content) >= MIN_COMPRESSED_BYTES and "gzip" in accepts:
        content = gzip.compress(content, _GZIP_LEVEL, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(content, headers=headers, media_type=JSON)


def encode_json(document: object) -> bytes:
    """Encode a document; escape lone surrogates, which UTF-8 can't encode."""
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")


def problem_of(error: EverywordError) -> dict[str, Any]:
    """Describe an error as RFC 9457 does, and add how to fix it."""
    return {
        "type": f"{TYPE_PREFIX}{type(error).__name__}",
        "title": (type(error).__doc__ or "").strip(),
        "status": error.status,
        "detail": error.detail,
        "fix": error.fix or usual_fix(type(error)),
    }


def error_response(error: EverywordError, headers: Mapping[str, str] | None = None) -> Response:
    """Send an error."""
    more = dict(headers or {})
    if error.status == 401:
        more["www-authenticate"] = 'Bearer realm="everyword"'
    if isinstance(error, TooManyRequests):
        more["retry-after"] = "1"
    elif error.status == 503:
        more["retry-after"] = "2"
    return Response(encode_json(problem_of(error)), error.status, headers=more, media_type=PROBLEM)


def routing_error_response(error: HTTPException) -> Response:
    """Send an error for an unknown path or a wrong method."""
    if error.status_code == 404:
        ours = NotFound("There is nothing at this path.", fix="/openapi.json lists all paths.")
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        ours = InvalidInput("This path does not support that method.", fix=f"Use {allowed}.")
    else:
        ours = InvalidInput(str(error.detail))
    document = {**problem_of(ours), "status": error.status_code}
    return Response(encode_json(document), error.status_code, headers=error.headers, media_type=PROBLEM)
