"""The files of the web page, read from the package once at start."""

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

from everyword.interfaces.http.responses import MIN_COMPRESSED_BYTES

INDEX = "index.html"
_COMPRESSED_TYPES = ("text/", "application/javascript", "application/json", "image/svg+xml")
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2", ".map": "application/json"}


class File(NamedTuple):
    """The content and headers of one file."""

    content: bytes
    compressed: bytes | None
    media_type: str
    etag: str


def routes() -> list[Route]:
    """Make a route for each file; index.html is at /."""
    found = _files(files("everyword.interfaces").joinpath("ui"), "")
    return [Route("/" if name == INDEX else f"/{name}", _endpoint(file), name=f"page:{name}") for name, file in found]


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
    compress = media_type.startswith(_COMPRESSED_TYPES) and len(content) >= MIN_COMPRESSED_BYTES
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return File(content, gzip.compress(content, mtime=0) if compress else None, media_type, etag)


def _endpoint(file: File) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        # Browsers revalidate each time, mostly with "not modified", so that an upgrade shows at once.
        headers = {"etag": file.etag, "cache-control": "no-cache", "vary": "accept-encoding"}
        if file.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if file.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(file.compressed, headers=headers, media_type=file.media_type)
        return Response(file.content, headers=headers, media_type=file.media_type)

    return endpoint
