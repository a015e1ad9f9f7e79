"""The routes of the operations, of /v1/me, /v1/audit and /v1/spaces. Long lists are sent in pages."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from everyword import __version__
from everyword.errors import InvalidInput
from everyword.interfaces.http.request_body import json_object, whole_body
from everyword.interfaces.http.responses import json_response
from everyword.interfaces.http.route_table import (
    LISTED_BY_DEFAULT,
    MOST_LISTED,
    PREFIX,
    SPACE,
    OperationRoute,
    operation_routes,
    scope_parameters,
)
from everyword.interfaces.http.service import Service
from everyword.interfaces.operations import check_arguments, parse_query
from everyword.memory import Memory
from everyword.types.api_keys import Permission
from everyword.types.feed import Page
from everyword.types.serialization import to_json

Endpoint = Callable[[Request], Awaitable[Response]]

PAGE_HEADER = "x-everyword-page"  # sent by the web page
_CURSOR = re.compile(r"(\d{1,12})(?:\.([A-Za-z0-9_-]{0,2000}))?", re.ASCII)


def routes(service: Service) -> list[Route]:
    """Make a route for each operation, for /v1/me, /v1/audit and /v1/spaces."""
    return [
        *(
            Route(one.path, _operation_endpoint(service, one), methods=list(one.methods), name=one.operation.name)
            for one in operation_routes()
        ),
        Route(f"{PREFIX}me", _me_endpoint(service), methods=["GET"], name="me"),
        Route(f"{PREFIX}audit", _audit_endpoint(service), methods=["GET"], name="audit"),
        Route(f"{PREFIX}spaces", _spaces_endpoint(service), methods=["GET"], name="spaces"),
    ]


def _operation_endpoint(service: Service, route: OperationRoute) -> Endpoint:
    scope = {parameter.name: parameter for parameter in scope_parameters(route)}
    inside = {parameter.name: parameter for parameter in route.parameters}

    async def endpoint(request: Request) -> Response:
        caller = await service.authenticate(request)
        query = request.query_params.multi_items()
        where = parse_query(scope.values(), [pair for pair in query if pair[0] in scope])
        if route.all_spaces:
            caller.check_all_spaces(route.needs)
        handle = service.handle(caller, route.needs, where.get("space"), where.get("wing"))
        rest = [pair for pair in query if pair[0] not in scope]
        if request.method == "POST":
            if rest:
                raise InvalidInput(
                    f"Send {rest[0][0][:80]!r} in the body.", fix="Only space and wing belong into the query."
                )
            body = await whole_body(request, service.settings.max_body_bytes)
            arguments = check_arguments(inside.values(), json_object(request, body))
        else:
            body = b""
            arguments = parse_query((parameter for name, parameter in inside.items() if name not in scope), rest)
        accepts = request.headers.get("accept-encoding", "")

        def answer() -> Response:
            result = _run(route, handle, arguments)
            if PAGE_HEADER not in request.headers:  # what people look up in the page is not logged
                service.audit.note(
                    who=caller.label,
                    via="http",
                    operation=route.operation.name,
                    space=where.get("space") or caller.default_space,
                    arguments=arguments,
                    result=result,
                )
            return json_response(result, accepts=accepts)

        response = await service.run(
            service.pool_for(route.pool, len(body)),
            answer,
            caller=caller,
            space=where.get("space"),
        )
        if route.operation.destructive and not arguments.get("dry_run"):
            service.audit.clear()
        if not route.operation.read_only:
            service.notify_change()
        return response

    return endpoint


def _run(route: OperationRoute, handle: Memory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if route.listed:
        page = _page(route, handle, arguments)
        return {route.operation.result: to_json(list(page)), "next": page.next}
    return route.operation.document(route.operation.run(handle, arguments))


def _page(route: OperationRoute, handle: Memory, arguments: Mapping[str, Any]) -> Page[Any]:
    """Run an operation that returns a list, and return one page of it.

    Without a cursor of the store, a cursor is the offset and the id of the last entry, so that entries that were added
    or removed meanwhile shift the page instead of repeating or skipping entries.
    """
    arguments = dict(arguments)
    limit = arguments.pop("limit", LISTED_BY_DEFAULT)
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidInput(f"limit must be from 1 to {MOST_LISTED:,}, not {limit}.")
    if route.page_method is not None:
        return attrgetter(route.page_method)(handle)(limit=limit, **arguments)
    offset, last = _parse_cursor(arguments.pop("cursor", None))
    takes_limit = route.operation.parameter("limit") is not None

    def fetch(count: int, *, everything: bool = False) -> list[Any]:
        with_count = {**arguments, "limit": count} if takes_limit else arguments
        return list(islice(route.operation.run(handle, with_count), None if everything else count))

    items = fetch(offset + limit + 1, everything=last is not None)
    begin = _resume_at(items, offset, last)
    if takes_limit and begin > offset:  # new entries came first, so as many are missing at the end
        items = fetch(begin + limit + 1)
    end = begin + limit
    shown = items[begin:end]
    return Page(shown, next=f"{end}.{_entry_id(shown[-1])}" if len(items) > end else None)


def _parse_cursor(cursor: str | None) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput("Invalid cursor.", fix="Use the `next` of the page before, unchanged.")
    return int(found[1]), found[2]


def _resume_at(items: Sequence[Any], offset: int, last: str | None) -> int:
    """Find the offset behind the last entry of the page before."""
    if last is None or (0 < offset <= len(items) and _entry_id(items[offset - 1]) == last):
        return offset
    return next((number for number, item in enumerate(items, 1) if _entry_id(item) == last), offset)


def _entry_id(item: Any) -> str:
    name = str(getattr(item, "id", None) or getattr(item, "name", None) or "")
    return urlsafe_b64encode(name.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def _me_endpoint(service: Service) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        parse_query((), request.query_params.multi_items())
        caller = await service.authenticate(request)
        space = caller.default_space
        document = {
            "key": None if caller.key is None else to_json(caller.key),
            "permission": caller.permission.value,
            "spaces": list(caller.spaces),
            "space": space if caller.opens(space) else None,
            "operations": [
                one.operation.name
                for one in operation_routes()
                if caller.permission.includes(one.needs) and (caller.everywhere or not one.all_spaces)
            ],
            "version": __version__,
        }
        return json_response(document, accepts=request.headers.get("accept-encoding", ""))

    return endpoint


def _audit_endpoint(service: Service) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        query = parse_query((SPACE,), request.query_params.multi_items())
        caller = await service.authenticate(request)
        space = query.get("space") or caller.default_space
        caller.check(Permission.ADMIN, space)
        return json_response(service.audit.document(space), accepts=request.headers.get("accept-encoding", ""))

    return endpoint


def _spaces_endpoint(service: Service) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        parse_query((), request.query_params.multi_items())
        caller = await service.authenticate(request)
        names = await service.run("asking", service.memory.admin.spaces, caller=caller)
        document = {"spaces": [name for name in names if caller.opens(name)]}
        return json_response(document, accepts=request.headers.get("accept-encoding", ""))

    return endpoint
