"""The routes under /v1/: operations, with lists in pages, files to download and upload, the stream of changes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import cache, partial
from itertools import islice
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any, cast, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import replace
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from everyword import __version__
from everyword.api.pages import entries_after
from everyword.errors import EverywordError, InvalidInput, Overloaded
from everyword.interfaces.http.background import PoolName
from everyword.interfaces.http.bodies import encode_json, json_object, json_response, limited, problem_of
from everyword.interfaces.http.service import Caller, Service
from everyword.interfaces.operations import (
    API_OPERATIONS,
    BY_NAME,
    OPERATIONS,
    Operation,
    Parameter,
    check_arguments,
    parse_query,
)
from everyword.interfaces.operations.parameters import FLAG, INTEGER, PATH, TEXT, TEXTS
from everyword.jobs.feed import KINDS
from everyword.memory import Memory, method_named
from everyword.types.events import Imported
from everyword.types.serialization import to_json
from everyword.types.service import NOW, Feed, Page, Permission

PREFIX = "/v1/"
STREAM_PATH = f"{PREFIX}stream"
LISTED_BY_DEFAULT = 100  # entries per page
MOST_LISTED = 1_000
# Operations whose method returns pages with the store's own cursor; `_page` pages other lists.
_PAGE_METHODS = {
    "events": "admin.page_of_events",
    "sessions": "admin.page_of_sessions",
    "statements": "admin.page_of_statements",
}
SPACE = Parameter("space", TEXT, "the space (default: the key's only one, or `default`)")
WING = Parameter("wing", TEXT, "limit to this wing of the space")
CURSOR = Parameter("cursor", TEXT, "the `next` of the page before")
LIMIT = Parameter(
    "limit",
    INTEGER,
    f"entries per page (default: {LISTED_BY_DEFAULT}, at most {MOST_LISTED:,})",
    default=LISTED_BY_DEFAULT,
)
_LIST_TYPES = (list, get_origin(Iterator[int]))
PAGE_HEADER = "x-everyword-page"  # sent by the web page
_NAME = Parameter("name", TEXT, "the name of the file, if it tells the format", default="file")
_PREVIEW = Parameter("preview", FLAG, "store nothing; return what would be read, with the first events", default=False)
_LONGEST_NAME = 100  # characters
_PREVIEWED = 5  # events
JOBS = "jobs"
END = "end"  # the last message: the reason as a problem document
STREAM_KINDS = (*KINDS, JOBS)
STREAM_PARAMETERS = (
    SPACE,
    WING,
    Parameter("after", TEXT, "a position; Last-Event-ID does the same (default: from now on)"),
    Parameter("kinds", TEXTS, f"which of {', '.join(STREAM_KINDS)} (default: all)"),
)
KEEPALIVE_S = 15.0  # a comment is sent this often, since proxies close silent connections
_CHECK_KEY_EVERY_S = 1.0  # how soon a revoked key ends its stream
_FIRST_BATCH = 100
_POLL_INSTEAD = "Poll /v1/changes instead."
_RETRY_MS = 2_000  # how long a browser waits before it reconnects


class OperationRoute(Struct, frozen=True, kw_only=True):
    """An operation as the service exposes it."""

    operation: Operation
    methods: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    returns: Any  # the type of the result; None where that is a file
    listed: bool = False  # the result is a list, sent in pages
    media_type: str = ""  # of a file that is sent or received

    @property
    def path(self) -> str:
        """The URL path."""
        return PREFIX + self.operation.name

    @property
    def needs(self) -> Permission:
        """What a key must allow."""
        return required_permission(self.operation)

    @property
    def all_spaces(self) -> bool:
        """Whether the operation concerns every space at once."""
        return self.operation.scope == "file"


@cache
def operation_routes() -> tuple[OperationRoute, ...]:
    """List the operations that take and return JSON; FILES are those that take or return files."""
    return tuple(
        _operation_route(operation)
        for operation in (*OPERATIONS, *API_OPERATIONS)
        if not any(parameter.kind is PATH for parameter in operation.parameters)
    )


def scope_parameters(route: OperationRoute) -> tuple[Parameter, ...]:
    """Return the parameters that choose space and wing; they are in the query for every method."""
    return {"wing": (SPACE, WING), "space": (SPACE,), "file": ()}[route.operation.scope]


def required_permission(operation: Operation) -> Permission:
    """Return what a key must allow: ADMIN for what can't be undone or concerns every space."""
    if operation.destructive or operation.scope == "file":
        return Permission.ADMIN
    return Permission.READ if operation.read_only else Permission.WRITE


def pool_of(operation: Operation) -> PoolName:
    """Choose the thread pool that an operation runs in."""
    if operation.destructive or operation.scope == "file" or operation.progress:
        return "slow"
    return "asking" if operation.read_only else "writing"


def _operation_route(operation: Operation) -> OperationRoute:
    returns = get_type_hints(method_named(operation.method))["return"]
    # Results of other types are not paged: `changes`, for example, has a position of its own.
    listed = operation.read_only and bool(operation.result) and get_origin(returns) in _LIST_TYPES
    parameters = operation.parameters
    if listed:
        parameters = (*(one for one in parameters if one.name not in ("limit", "cursor")), LIMIT, CURSOR)
    # Operations that only read also accept GET.
    methods = ("GET", "POST") if operation.read_only else ("POST",)
    return OperationRoute(operation=operation, methods=methods, parameters=parameters, returns=returns, listed=listed)


def routes(service: Service) -> list[Route]:
    """Make a route for each operation, for each transfer of a file, and for what is no operation."""

    def route(name: str, methods: Sequence[str], endpoint: Callable[..., Any], *more: Any) -> Route:
        return Route(PREFIX + name, partial(endpoint, service, *more), methods=list(methods), name=name)

    stream = route("stream", ["GET"], _stream)
    stream.methods = {"GET"}  # Starlette adds HEAD, whose response would never end
    return [
        *(route(one.operation.name, one.methods, _operation, one) for one in operation_routes()),
        *(route(one.operation.name, one.methods, _import if one is IMPORT else _download, one) for one in FILES),
        *(route(name, ["GET"], own) for name, own in (("me", _me), ("audit", _audit), ("spaces", _spaces))),
        stream,
    ]


# Operations

_MOST_IN_A_LIST = 20_000  # small events take more memory and time than their bytes tell


async def _operation(service: Service, route: OperationRoute, request: Request) -> Response:
    caller = await service.authenticate(request)
    scope = {parameter.name for parameter in scope_parameters(route)}
    query = request.query_params.multi_items()
    where = parse_query(scope_parameters(route), [pair for pair in query if pair[0] in scope])
    if route.all_spaces:
        caller.check_all_spaces(route.needs)
    shows = Permission.READ if route.operation.sets else route.needs
    handle = service.handle(caller, shows, where.get("space"), where.get("wing"))
    rest = [pair for pair in query if pair[0] not in scope]
    if request.method == "POST":
        if rest:
            raise InvalidInput(f"Send {rest[0][0][:80]!r} in the body.", fix="Only space and wing belong in the query.")
        body = b"".join([chunk async for chunk in limited(request, service.settings.max_body_bytes)])
        arguments = check_arguments(route.parameters, json_object(request, body))
        lists = (cast("list[object]", given) for given in arguments.values() if isinstance(given, list))
        if any(len(given) > _MOST_IN_A_LIST for given in lists):
            raise InvalidInput(f"A list in a request has at most {_MOST_IN_A_LIST:,} entries.", fix="Send several.")
    else:
        body = b""
        arguments = parse_query((one for one in route.parameters if one.name not in scope), rest)

    if arguments.get(route.operation.sets) is not None:
        handle = service.handle(caller, route.needs, where.get("space"), where.get("wing"))
    space = where.get("space") or caller.default_space

    def answer() -> Response:
        result = _run(route, handle, arguments)
        if route.operation.destructive:
            service.audit.forget(space, result)
        if PAGE_HEADER not in request.headers:  # what people look up in the page is not logged
            service.audit.note(
                who=caller.key.name,
                via="http",
                operation=route.operation.name,
                space=space,
                arguments=arguments,
                result=result,
            )
        return json_response(result, request)

    response = await service.run(
        service.pool_for(pool_of(route.operation), len(body)), answer, caller=caller, space=where.get("space")
    )
    if not route.operation.read_only:
        service.notify_change()
    return response


def _run(route: OperationRoute, handle: Memory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if route.listed:
        page = _page(route, handle, arguments)
        return {route.operation.result: to_json(list(page)), "next": page.next}
    return route.operation.document(route.operation.run(handle, arguments))


def _page(route: OperationRoute, handle: Memory, arguments: Mapping[str, Any]) -> Page[Any]:
    """Run an operation that returns a list, and return one page of it, by the store's own cursor where it has one."""
    arguments = dict(arguments)
    limit = arguments.pop("limit", LISTED_BY_DEFAULT)
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidInput(f"limit must be from 1 to {MOST_LISTED:,}, not {limit}.")
    if method := _PAGE_METHODS.get(route.operation.name):
        return attrgetter(method)(handle)(limit=limit, **arguments)
    cursor = arguments.pop("cursor", None)
    takes_limit = route.operation.parameter("limit") is not None

    def fetch(count: int | None) -> list[Any]:
        with_count = {**arguments, "limit": count} if takes_limit else arguments
        return list(islice(route.operation.run(handle, with_count), count))

    entries = entries_after(cursor, limit, fetch)
    return Page(entries.found[:limit], next=entries.next(limit))


# What the caller may see


async def _me(service: Service, request: Request) -> Response:
    parse_query((), request.query_params.multi_items())
    caller = await service.authenticate(request)
    space = caller.default_space
    document = {
        "key": None if caller.is_local else to_json(caller.key),
        "permission": caller.key.permission.value,
        "spaces": list(caller.key.spaces),
        "space": space if caller.key.opens(space) else None,
        "operations": [
            one.operation.name
            for one in operation_routes()
            if caller.key.permission.includes(one.needs) and (caller.key.everywhere or not one.all_spaces)
        ],
        "version": __version__,
    }
    return json_response(document, request)


async def _audit(service: Service, request: Request) -> Response:
    query = parse_query((SPACE,), request.query_params.multi_items())
    caller = await service.authenticate(request)
    space = query.get("space") or caller.default_space
    caller.check(Permission.ADMIN, space)
    return json_response(service.audit.document(space), request)


async def _spaces(service: Service, request: Request) -> Response:
    parse_query((), request.query_params.multi_items())
    caller = await service.authenticate(request)
    names = await service.run("asking", service.memory.admin.spaces, caller=caller)
    return json_response({"spaces": [name for name in names if caller.key.opens(name)]}, request)


# Files


EXPORT = OperationRoute(
    operation=BY_NAME["export"],
    methods=("GET",),
    parameters=(SPACE, WING),
    returns=None,
    media_type="application/x-ndjson",
)
BACKUP = OperationRoute(
    operation=BY_NAME["backup"], methods=("GET",), parameters=(), returns=None, media_type="application/vnd.sqlite3"
)
IMPORT = OperationRoute(
    operation=BY_NAME["import"],
    methods=("POST",),
    parameters=(
        SPACE,
        WING,
        _NAME,
        _PREVIEW,
        *(one for one in BY_NAME["import"].parameters if one.name in ("format", "redact", "tz")),
    ),
    returns=Imported,
    media_type="application/octet-stream",
)
FILES = (EXPORT, BACKUP, IMPORT)


async def _download(service: Service, transfer: OperationRoute, request: Request) -> Response:
    """Write a temporary file, send it, and remove it."""
    caller = await service.authenticate(request)
    query = parse_query(transfer.parameters, request.query_params.multi_items())
    if transfer is BACKUP:
        caller.check_all_spaces(transfer.needs)
        write, name = service.memory.admin.backup, "memory.db"
    else:
        handle = service.handle(caller, transfer.needs, query.get("space"), query.get("wing"))
        write, name = handle.admin.export, "events.jsonl"
    folder = tempfile.TemporaryDirectory(prefix="everyword-")
    path = str(Path(folder.name) / name)
    try:
        await service.run("slow", lambda: write(path), caller=caller)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(path, media_type=transfer.media_type, filename=name, background=BackgroundTask(folder.cleanup))


async def _import(service: Service, transfer: OperationRoute, request: Request) -> Response:
    caller = await service.authenticate(request)
    query = parse_query(transfer.parameters, request.query_params.multi_items())
    handle = service.handle(caller, transfer.needs, query.get("space"), query.get("wing"))
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
    return json_response(transfer.operation.document(done))


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


# The stream of changes


async def _stream(service: Service, request: Request) -> Response:
    """Send the changes of a space as server-sent events, from any position."""
    caller = await service.authenticate(request)
    query = parse_query(STREAM_PARAMETERS, request.query_params.multi_items())
    kinds = frozenset(query.get("kinds") or STREAM_KINDS)
    if not kinds <= set(STREAM_KINDS):
        unknown = ", ".join(sorted(kinds - set(STREAM_KINDS)))
        raise InvalidInput(f"Unknown kinds: {unknown}.", fix=f"Valid kinds: {', '.join(STREAM_KINDS)}.")
    handle = service.handle(caller, Permission.READ, query.get("space"), query.get("wing"))
    after = request.headers.get("last-event-id") or query.get("after") or NOW
    # Check the position before the response starts, while an error status can still be sent.
    first = await service.stream_pool.run(lambda: handle.changes(after=after, limit=_FIRST_BATCH))
    check_stream_limits(service, caller)  # last, since the stream is counted right after
    service.concurrency_limiter.leave(request.scope)  # streams have limits of their own
    return StreamingResponse(
        _streamed(service, request, caller, handle, first if after == NOW else Feed(position=after, more=True), kinds),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _streamed(
    service: Service, request: Request, caller: Caller, handle: Memory, feed: Feed, kinds: frozenset[str]
) -> AsyncIterator[bytes]:
    """Send the messages, and at the end the reason why the stream ends."""
    with service.poller.following(caller.key.id):
        yield f"retry: {_RETRY_MS}\nid: {feed.position}\nevent: position\ndata: {{}}\n\n".encode()
        why: EverywordError = Overloaded("The service stops.", fix="Reconnect soon, from the last position.")
        try:
            async with aclosing(_messages(service, request, handle, feed, kinds)) as messages:
                async for message in messages:
                    yield message
        except EverywordError as error:
            why = error
        yield _message(END, problem_of(why), None)


async def _messages(
    service: Service, request: Request, handle: Memory, feed: Feed, kinds: frozenset[str]
) -> AsyncGenerator[bytes]:
    poller = service.poller
    last_jobs: dict[str, Any] | None = None
    while not poller.stopping:
        seen = poller.changes
        wanted = [one for one in feed if one.kind in kinds]
        for number, one in enumerate(wanted, 1):
            # Only the last message moves the position: a client that leaves before gets the whole batch again.
            yield _message(one.kind, to_json(one), feed.position if number == len(wanted) else None)
        if JOBS in kinds and not feed.more:
            counts = await service.stream_pool.run(handle.admin.job_counts)
            jobs = {kind: {"waiting": count, "failed": failed} for kind, (count, failed) in counts.items()}
            if jobs != last_jobs:
                last_jobs = jobs
                yield _message(JOBS, jobs, feed.position)
        quiet_s = 0.0
        while True:
            await service.authenticator.caller(request.headers)  # raises if the key has ended
            if feed.more or poller.changes != seen or quiet_s >= KEEPALIVE_S or poller.stopping:
                break
            await poller.wait_for_change(seen, _CHECK_KEY_EVERY_S)
            quiet_s += _CHECK_KEY_EVERY_S
        if quiet_s >= KEEPALIVE_S:
            yield b": still here\n\n"
        position = feed.position
        feed = await service.stream_pool.run(lambda after=position: handle.changes(after=after))


def check_stream_limits(service: Service, caller: Caller) -> None:
    """Refuse one more stream if the service or the key has too many."""
    poller, settings = service.poller, service.settings
    if poller.followers >= settings.most_streams:
        raise Overloaded("The service has too many open streams.", fix=_POLL_INSTEAD)
    if not caller.is_local and poller.followers_by_caller[caller.key.id] >= settings.most_streams_of_a_key:
        raise Overloaded(f"This key already has {settings.most_streams_of_a_key:,} open streams.", fix=_POLL_INSTEAD)


def _message(kind: str, document: object, position: str | None) -> bytes:
    head = b"" if position is None else f"id: {position}\n".encode()
    return head + b"event: %s\ndata: %s\n\n" % (kind.encode(), encode_json(document))
