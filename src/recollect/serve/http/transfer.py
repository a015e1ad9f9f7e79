"""Operations on files: what the command line writes to a path is sent, what it reads from one is taken in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from recollect.core.errors import InvalidInput
from recollect.core.keys import Permission
from recollect.core.values import Imported
from recollect.memory import Memory
from recollect.operations import BY_NAME, Operation, Parameter
from recollect.serve.http.access import Caller
from recollect.serve.http.answers import as_json, packed
from recollect.serve.http.arguments import from_query, limited
from recollect.serve.http.exposed import PREFIX, needed_for
from recollect.serve.http.service import Service

_SPACE = Parameter(name="space", kind="text", help="the space (default: the key's only one, or `default`)")
_WING = Parameter(name="wing", kind="text", help="this wing of the space alone")
_NAME = Parameter(name="name", kind="text", help="what the file is called, where that tells its format", default="file")
_LONGEST_NAME = 100  # characters that are kept of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """An operation whose file goes over the wire."""

    operation: Operation
    method: Literal["GET", "POST"]
    parameters: tuple[Parameter, ...]
    media_type: str
    gives: type | None = None  # a document instead of a file

    @property
    def path(self) -> str:
        """Tell where it is."""
        return PREFIX + self.operation.name

    @property
    def needs(self) -> Permission:
        """Tell what a key must be allowed."""
        return needed_for(self.operation)


EXPORT = Transfer(
    operation=BY_NAME["export"], method="GET", parameters=(_SPACE, _WING), media_type="application/x-ndjson"
)
BACKUP = Transfer(operation=BY_NAME["backup"], method="GET", parameters=(), media_type="application/vnd.sqlite3")
IMPORT = Transfer(
    operation=BY_NAME["import"],
    method="POST",
    parameters=(
        _SPACE,
        _WING,
        _NAME,
        *(one for one in BY_NAME["import"].parameters if one.name in ("format", "redact")),
    ),
    media_type="application/octet-stream",
    gives=Imported,
)
FILES = (EXPORT, BACKUP, IMPORT)


def routes(service: Service) -> list[Route]:
    """Make the routes."""
    answers = {EXPORT: _export, BACKUP: _backup, IMPORT: _import}
    return [
        Route(one.path, partial(answer, service), methods=[one.method], name=one.operation.name)
        for one, answer in answers.items()
    ]


async def _export(service: Service, request: Request) -> Response:
    caller = await service.admitted(request)
    given = from_query(EXPORT.parameters, request.query_params.multi_items())
    handle = service.handle(caller, EXPORT.needs, given.get("space"), given.get("wing"))
    return await _written(service, caller, handle.export, "events.jsonl", EXPORT.media_type)


async def _backup(service: Service, request: Request) -> Response:
    caller = await service.admitted(request)
    from_query(BACKUP.parameters, request.query_params.multi_items())
    caller.check_file(BACKUP.needs)
    return await _written(service, caller, service.memory.backup, "memory.db", BACKUP.media_type)


async def _import(service: Service, request: Request) -> Response:
    caller = await service.admitted(request)
    given = from_query(IMPORT.parameters, request.query_params.multi_items())
    handle = service.handle(caller, IMPORT.needs, given.get("space"), given.get("wing"))
    folder = tempfile.TemporaryDirectory(prefix="recollect-")
    try:
        # Its name may tell its format; nothing else of it is used.
        path = Path(folder.name) / _plain_name(given.get("name", _NAME.default))
        with path.open("wb") as file:
            async for chunk in limited(request, service.settings.max_import_bytes):
                file.write(chunk)
        options = {name: given[name] for name in ("format", "redact") if name in given}
        done = await service.run(
            "slow", lambda: _imported(handle, path, options), caller=caller, space=given.get("space")
        )
    finally:
        folder.cleanup()
    service.written()
    return packed(as_json(IMPORT.operation.document(done)), accepts="")


async def _written(
    service: Service, caller: Caller, write: Callable[[str], Any], name: str, media_type: str
) -> Response:
    """Let a file be written, send it, and remove it."""
    folder = tempfile.TemporaryDirectory(prefix="recollect-")
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
        # By the name that it was sent under: where it lies here is nobody's business.
        raise type(error)(error.detail.replace(f"{path.parent}{os.sep}", ""), fix=error.fix) from error


def _plain_name(given: str) -> str:
    name = PurePosixPath(given.replace("\\", "/")).name
    kept = "".join(char for char in name if char.isalnum() or char in "._- ")[-_LONGEST_NAME:].lstrip(". ")
    if not kept:
        raise InvalidInput(f"{given[:80]!r} is no name of a file.")
    return kept
