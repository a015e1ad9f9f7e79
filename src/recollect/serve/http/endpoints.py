"""The routes of the table: who asks, what for, in which space; then the operation, in its lane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recollect import __version__
from recollect.core.errors import InvalidInput
from recollect.memory import Memory
from recollect.operations import Parameter
from recollect.serial import plain
from recollect.serve.http.access import Caller
from recollect.serve.http.answers import as_json, packed
from recollect.serve.http.arguments import checked, from_query, json_object, whole_body
from recollect.serve.http.exposed import PREFIX, Exposed, exposed
from recollect.serve.http.pages import page
from recollect.serve.http.service import Service

SPACE = Parameter(name="space", kind="text", help="the space (default: the key's only one, or `default`)")
WING = Parameter(name="wing", kind="text", help="see this wing of the space alone")

Answer = Callable[[Request], Awaitable[Response]]


def routes(service: Service) -> list[Route]:
    """Make a route for each operation, and for what the service tells of itself."""
    made = [
        Route(one.path, _endpoint(service, one), methods=list(one.methods), name=one.operation.name)
        for one in exposed()
    ]
    return [
        *made,
        Route(f"{PREFIX}me", _me(service), methods=["GET"], name="me"),
        Route(f"{PREFIX}spaces", _spaces(service), methods=["GET"], name="spaces"),
    ]


def scope_parameters(one: Exposed) -> tuple[Parameter, ...]:
    """Name what says where an operation looks: always in the query, whatever the method."""
    return {"wing": (SPACE, WING), "space": (SPACE,), "file": ()}[one.operation.scope]


def _endpoint(service: Service, one: Exposed) -> Answer:
    scope = {parameter.name: parameter for parameter in scope_parameters(one)}
    inside = {parameter.name: parameter for parameter in one.parameters}

    async def answer(request: Request) -> Response:
        caller = await service.admitted(request)
        query = request.query_params.multi_items()
        where = from_query(scope.values(), [pair for pair in query if pair[0] in scope])
        if one.whole_file:
            caller.check_file(one.needs)
        handle = service.handle(caller, one.needs, where.get("space"), where.get("wing"))
        rest = [pair for pair in query if pair[0] not in scope]
        if request.method == "POST":
            if rest:
                raise InvalidInput(f"{rest[0][0][:80]!r} belongs into the body.", fix="The query has space and wing.")
            body = await whole_body(request, service.settings.max_body_bytes)
            arguments = checked(inside, json_object(request, body))
        else:
            body = b""
            arguments = from_query((parameter for name, parameter in inside.items() if name not in scope), rest)
        accepts = request.headers.get("accept-encoding", "")
        response = await service.run(
            service.lane_for(one.lane, len(body)),
            lambda: packed(as_json(_document(one, handle, arguments)), accepts=accepts),
            caller=caller,
            space=where.get("space"),
        )
        if not one.operation.read_only:
            service.written()
        return response

    return answer


def _document(one: Exposed, handle: Memory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run an operation and lay out what it gives."""
    if one.listed:
        found = page(one, handle, arguments)
        return {one.operation.result: plain(list(found)), "next": found.next}
    return one.operation.document(one.operation.run(handle, arguments))


def _me(service: Service) -> Answer:
    async def answer(request: Request) -> Response:
        from_query((), request.query_params.multi_items())
        caller = await service.admitted(request)
        may = [one.operation.name for one in exposed() if _may(caller, one)]
        own = caller.own_space
        document = {
            "key": None if caller.key is None else plain(caller.key),
            "permission": caller.permission.value,
            "spaces": list(caller.spaces),
            "space": own if caller.opens(own) else None,
            "operations": may,
            "version": __version__,
        }
        return packed(as_json(document), accepts=request.headers.get("accept-encoding", ""))

    return answer


def _may(caller: Caller, one: Exposed) -> bool:
    return caller.permission.includes(one.needs) and (caller.everywhere or not one.whole_file)


def _spaces(service: Service) -> Answer:
    async def answer(request: Request) -> Response:
        from_query((), request.query_params.multi_items())
        caller = await service.admitted(request)
        names = await service.run("asking", service.memory.spaces, caller=caller)
        document = {"spaces": [name for name in names if caller.opens(name)]}
        return packed(as_json(document), accepts=request.headers.get("accept-encoding", ""))

    return answer
