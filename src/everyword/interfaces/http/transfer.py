"""Routes that transfer files: export and backup as downloads, import as an upload."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from everyword.errors import InvalidInput
from everyword.interfaces.http.access import Caller
from everyword.interfaces.http.request_body import limited
from everyword.interfaces.http.responses import json_response
from everyword.interfaces.http.route_table import PREFIX, SPACE, WING, required_permission
from everyword.interfaces.http.service import Service
from everyword.interfaces.operations import BY_NAME, Operation, Parameter, parse_query
from everyword.interfaces.operations.parameters import FLAG, TEXT
from everyword.memory import Memory
from everyword.types.api_keys import Permission
from everyword.types.events import Imported

_NAME = Parameter("name", TEXT, "the name of the file, if it tells the format", default="file")
_PREVIEW = Parameter("preview", FLAG, "store nothing; return what would be read, with the first events", default=False)
_LONGEST_NAME = 100  # characters
_PREVIEWED = 5  # events


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """An operation that sends or receives a file."""

    operation: Operation
    method: Literal["GET", "POST"]
    parameters: tuple[Parameter, ...]
    media_type: str
    gives: type | None = None  # the response is a document of this type instead of a file

    @property
    def path(self) -> str:
        """The URL path."""
        return PREFIX + self.operation.name

    @property
    def needs(self) -> Permission:
        """The permission that a key needs."""
        return required_permission(self.operation)


EXPORT = Transfer(
    operation=BY_NAME["export"], method="GET", parameters=(SPACE, WING), media_type="application/x-ndjson"
)
BACKUP = Transfer(operation=BY_NAME["backup"], method="GET", parameters=(), media_type="application/vnd.sqlite3")
IMPORT = Transfer(
    operation=BY_NAME["import"],
    method="POST",
    parameters=(
        SPACE,
        WING,
        _NAME,
        _PREVIEW,
        *(one for one in BY_NAME["import"].parameters if one.name in ("format", "redact", "tz")),
    ),
    media_type="application/octet-stream",
    gives=Imported,
)
FILES = (EXPORT, BACKUP, IMPORT)


def routes(service: Service) -> list[Route]:
    """Make the routes of export, backup and import."""
    endpoints = {EXPORT: _export, BACKUP: _backup, IMPORT: _import}
    return [
        Route(one.path, partial(endpoint, service), methods=[one.method], name=one.operation.name)
        for one, endpoint in endpoints.items()
    ]


async def _export(service: Service, request: Request) -> Response:
    caller = await service.authenticate(request)
    query = parse_query(EXPORT.parameters, request.query_params.multi_items())
    handle = service.handle(caller, EXPORT.needs, query.get("space"), query.get("wing"))
    return await _download(service, caller, handle.admin.export, "events.jsonl", EXPORT.media_type)


async def _backup(service: Service, request: Request) -> Response:
    caller = await service.authenticate(request)
    parse_query(BACKUP.parameters, request.query_params.multi_items())
    caller.check_all_spaces(BACKUP.needs)
    return await _download(service, caller, service.memory.admin.backup, "memory.db", BACKUP.media_type)


async def _import(service: Service, request: Request) -> Response:
    caller = await service.authenticate(request)
    query = parse_query(IMPORT.parameters, request.query_params.multi_items())
    handle = service.handle(caller, IMPORT.needs, query.get("space"), query.get("wing"))
    folder = tempfile.TemporaryDirectory(prefix="everyword-")
    try:
        # The name is used only to detect the format.
        path = Path(folder.name) / _plain_name(query.get("name", _NAME.default))
        with path.open("wb") as file:
            async for chunk in limited(request, service.settings.max_import_bytes):
                file.write(chunk)
        options = {name: query[name] for name in ("format", "redact", "tz") if name in query}
        preview = query.get("preview", False)
        done = await service.run(
            "slow",
            lambda: _previewed(path, options) if preview else _imported(handle, path, options),
            caller=caller,
            space=query.get("space"),
        )
    finally:
        folder.cleanup()
    if not preview:
        service.notify_change()
    return json_response(IMPORT.operation.document(done))


async def _download(
    service: Service, caller: Caller, write: Callable[[str], Any], name: str, media_type: str
) -> Response:
    """Write a temporary file, send it, and remove it."""
    folder = tempfile.TemporaryDirectory(prefix="everyword-")
    path = str(Path(folder.name) / name)
    try:
        await service.run("slow", lambda: write(path), caller=caller)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(path, media_type=media_type, filename=name, background=BackgroundTask(folder.cleanup))


def _imported(handle: Memory, path: Path, options: dict[str, Any]) -> Imported:
    try:
        return handle.import_events(path, **options)
    except InvalidInput as error:
        # Name the file as the client did: the temporary folder is an internal detail.
        raise type(error)(error.detail.replace(f"{path.parent}{os.sep}", ""), fix=error.fix) from error


def _previewed(path: Path, options: dict[str, Any]) -> Imported:
    """Import into a memory of its own that is thrown away, without models."""
    with (
        tempfile.TemporaryDirectory(prefix="everyword-") as scratch,
        Memory.open(Path(scratch) / "preview.db", "none", reader="none", fold=False, durability="normal") as memory,
    ):
        done = _imported(memory, path, options)
        return replace(done, sample=tuple(islice(memory.events(limit=_PREVIEWED), _PREVIEWED)))


def _plain_name(path: str) -> str:
    name = PurePosixPath(path.replace("\\", "/")).name
    kept = "".join(char for char in name if char.isalnum() or char in "._- ")[-_LONGEST_NAME:].lstrip(". ")
    if not kept:
        raise InvalidInput(f"{path[:80]!r} is not a valid file name.")
    return kept
