"""The web page's files, read once from the package: only what is there can be asked for."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Awaitable, Callable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

INDEX = "index.html"
_PACKED = ("text/", "application/javascript", "application/json", "image/svg+xml")
_WORTH_PACKING = 1_000  # bytes
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2", ".map": "application/json"}


class File(NamedTuple):
    """A file as it is sent."""

    content: bytes
    packed: bytes | None
    media_type: str
    tag: str


def routes() -> list[Route]:
    """Make a route for each file; the index is at the root."""
    found = _files(files("recollect.serve").joinpath("ui"), "")
    return [Route("/" if name == INDEX else f"/{name}", _answer(file), name=f"page:{name}") for name, file in found]


def _files(folder: Traversable, prefix: str) -> list[tuple[str, File]]:
    found: list[tuple[str, File]] = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.name.startswith((".", "_")) or entry.name.endswith(".py"):
            continue
        name = f"{prefix}{entry.name}"
        found += _files(entry, f"{name}/") if entry.is_dir() else [(name, _file(name, entry.read_bytes()))]
    return found


def _file(name: str, content: bytes) -> File:
    ending = name[name.rfind(".") :]
    media_type = _TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    packs = media_type.startswith(_PACKED) and len(content) >= _WORTH_PACKING
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return File(content, gzip.compress(content, mtime=0) if packs else None, media_type, tag)


def _answer(file: File) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        # Asked again each time and mostly answered with "not modified": an upgrade is seen at once.
        headers = {"etag": file.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if file.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(file.packed, headers={**headers, "content-encoding": "gzip"}, media_type=file.media_type)
        return Response(file.content, headers=headers, media_type=file.media_type)

    return answer
