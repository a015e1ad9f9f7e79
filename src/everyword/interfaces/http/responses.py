"""Responses: JSON documents, compressed if that helps, and errors as RFC 9457 problem documents."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from everyword.errors import EverywordError, InvalidInput, NotFound, TooManyRequests, usual_fix

JSON = "application/json"
PROBLEM = "application/problem+json"
TYPE_PREFIX = "urn:everyword:error:"
MIN_COMPRESSED_BYTES = 1_000  # a smaller body gains less than the extra header costs
_GZIP_LEVEL = 5  # of 9: higher levels take more time and save little


def json_response(document: object, *, accepts: str = "") -> Response:
    """Send a document as JSON, compressed if the client's Accept-Encoding (`accepts`) allows it."""
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
