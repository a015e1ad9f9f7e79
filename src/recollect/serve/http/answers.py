"""What the service sends: documents as JSON, errors in one shape, both small on the wire."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from recollect.core.errors import InvalidInput, NotFound, RecollectError, TooManyRequests, usual_fix

JSON = "application/json"
PROBLEM = "application/problem+json"
TYPE_PREFIX = "urn:recollect:error:"
_WORTH_PACKING = 1_000  # bytes: below, the header costs as much as is gained
_PACKING_LEVEL = 5  # of 9: beyond, time grows and size hardly shrinks


def as_json(document: object) -> bytes:
    """Write a document; half a character, which UTF-8 can't hold, is escaped."""
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")


def packed(content: bytes, *, accepts: str, media_type: str = JSON, status: int = 200) -> Response:
    """Make a response, compressed where that helps and is understood."""
    headers = {"vary": "accept-encoding"}
    if len(content) >= _WORTH_PACKING and "gzip" in accepts:
        content = gzip.compress(content, _PACKING_LEVEL, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(content, status, headers=headers, media_type=media_type)


def problem_of(error: RecollectError) -> dict[str, Any]:
    """Lay out an error as RFC 9457 has it, and what to do about it."""
    return {
        "type": f"{TYPE_PREFIX}{type(error).__name__}",
        "title": (type(error).__doc__ or "").strip(),
        "status": error.status,
        "detail": error.detail,
        "fix": error.fix or usual_fix(type(error)),
    }


def refused(error: RecollectError, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with an error."""
    more = dict(headers or {})
    if error.status == 401:
        more["www-authenticate"] = 'Bearer realm="recollect"'
    if isinstance(error, TooManyRequests):
        more["retry-after"] = "1"
    elif error.status == 503:
        more["retry-after"] = "2"
    return Response(as_json(problem_of(error)), error.status, headers=more, media_type=PROBLEM)


def refused_by_routing(error: HTTPException) -> Response:
    """Answer for what never reached an operation: no such path, no such method."""
    if error.status_code == 404:
        ours = NotFound("There is nothing at this path.", fix="See /openapi.json for what there is.")
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        ours = InvalidInput("This path is not asked in that way.", fix=f"Use {allowed}.")
    else:
        ours = InvalidInput(str(error.detail))
    document = {**problem_of(ours), "status": error.status_code}
    return Response(as_json(document), error.status_code, headers=error.headers, media_type=PROBLEM)
