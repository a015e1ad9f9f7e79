"""A memory that is served elsewhere: the methods of `Memory` and its parts, each a request to the service."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from datetime import date
from functools import wraps
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import Any, Concatenate, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from everyword import errors
from everyword.api.admin import Admin
from everyword.api.concepts import Concepts
from everyword.api.graph import Graph
from everyword.api.intents import Intents
from everyword.errors import (
    BadLocation,
    Closed,
    EverywordError,
    InvalidInput,
    InvalidSetting,
    ServiceError,
    Unreachable,
)
from everyword.extras import need
from everyword.interfaces.operations import API_OPERATIONS, OPERATIONS, Operation, Parameter
from everyword.interfaces.operations.parameters import COUNT, OBJECTS, TEXTS, TIME
from everyword.memory import Memory
from everyword.private_files import new_file
from everyword.settings import AUTO
from everyword.storage.open_files import opened
from everyword.types.events import Event, Imported
from everyword.types.serialization import event_to_json, from_json
from everyword.types.service import Page
from everyword.types.times import as_datetime

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_PROBLEM_PREFIX = "urn:everyword:error:"
_PAGE, _FIRST_PAGE = 500, 20  # entries asked for at a time; at first, for a caller who may stop after a few
_ONLY_HERE = ("progress", "on_text", "on_found", "on_done", "hits")  # objects of this process, which can't be sent
_NOT_OF_EVENTS = ("id", "space", "recorded_at", "text_bytes")  # given by the memory that keeps an event
_CHUNK = 1 << 16
_JSON, _LINES, _FILE = "application/json", "application/x-ndjson", "application/vnd.sqlite3"  # what the service sends
_STREAMED = "use changes(), or GET /v1/stream"
_ELSEWHERE = {"on": _STREAMED, "watch": _STREAMED, "pulse": _STREAMED}
_OPERATIONS = {operation.method: operation for operation in (*OPERATIONS, *API_OPERATIONS)}


class _Remote:
    """A client or one of its parts."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


def _remote(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[_Remote, P], R]:
    """Make the method that has the service run a method of Memory or of one of its parts."""
    operation = _OPERATIONS[method.__qualname__.lower().removeprefix("memory.")]
    returns = get_type_hints(method)["return"]
    is_lazy, is_listed = get_origin(returns) is Iterator, get_origin(returns) in (Iterator, list)
    listed = get_args(returns)[0] if operation.read_only and operation.result and is_listed else None
    limit = inspect.signature(method).parameters.get("limit")
    most = None if limit is None else limit.default

    def run(connection: Connection, given: dict[str, Any]) -> Any:
        if listed is not None:
            given.setdefault("limit", most)  # the service gives pages, of which there may be more than asked for
            first = _FIRST_PAGE if is_lazy else _PAGE
            found = _each(lambda part: connection.page(operation, listed, part), given, first=first)
            return found if is_lazy else list(found)
        answer = connection.run(operation, given)
        with _checked_answer():
            if operation.several:
                one, several = get_args(returns)
                if operation.several in answer:
                    return several(from_json(one, each) for each in answer[operation.several])
                return from_json(one, answer)
            return from_json(returns, answer[operation.result] if operation.result else answer)

    @wraps(method)
    def call(self: _Remote, *args: P.args, **kwargs: P.kwargs) -> R:
        return run(self.connection, _bound(method, args, kwargs))

    return call


def _paged(method: Callable[Concatenate[Any, P], Page[T]]) -> Callable[Concatenate[_Remote, P], Page[T]]:
    """Make the method that has the service give a page, as `page_of_events` does."""
    operation = _OPERATIONS[method.__name__.removeprefix("page_of_")]
    (kind,) = get_args(get_type_hints(method)["return"])

    @wraps(method)
    def call(self: _Remote, *args: P.args, **kwargs: P.kwargs) -> Page[T]:
        return self.connection.page(operation, kind, _bound(method, args, kwargs))

    return call


def _missing(self: object, name: str, here: type) -> AttributeError:
    """Explain that a method exists only on a local Memory, and what to use instead."""
    if name.startswith("_") or not hasattr(here, name):
        return AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    where = _ELSEWHERE.get(name, "run everyword keys, webhooks or worker where the memory is")
    return AttributeError(f"A client of a service has no {name}(); {where}.", name=name, obj=self)


class RemoteGraph(_Remote):
    """`memory.graph` of a service."""

    entities = _remote(Graph.entities)
    entity = _remote(Graph.entity)
    timeline = _remote(Graph.timeline)
    held = _remote(Graph.held)
    conflicts = _remote(Graph.conflicts)
    map = _remote(Graph.map)
    merge = _remote(Graph.merge)
    split = _remote(Graph.split)
    undo = _remote(Graph.undo)
    edits = _remote(Graph.edits)


class RemoteConcepts(_Remote):
    """`memory.concepts` of a service."""

    list = _remote(Concepts.list)
    get = _remote(Concepts.get)
    fold = _remote(Concepts.fold)
    journal = _remote(Concepts.journal)
    undo = _remote(Concepts.undo)
    window = _remote(Concepts.window)
    palace = _remote(Concepts.palace)


class RemoteIntents(_Remote):
    """`memory.intents` of a service."""

    list = _remote(Intents.list)
    get = _remote(Intents.get)
    answer = _remote(Intents.answer)


class RemoteAdmin(_Remote):
    """`memory.admin` of a service. Keys and webhooks are made where the file is, not from afar."""

    def __getattr__(self, name: str) -> Any:
        """Explain what is not here; only asked for names that are missing."""
        raise _missing(self, name, Admin)

    verify = _remote(Admin.verify)
    rebuild = _remote(Admin.rebuild)
    settle = _remote(Admin.settle)
    records = _remote(Admin.records)
    receipts = _remote(Admin.receipts)
    jobs = _remote(Admin.jobs)
    meta_values = _remote(Admin.meta_values)
    activity = _remote(Admin.activity)
    glance = _remote(Admin.glance)
    redacted = _remote(Admin.redacted)

    def spaces(self) -> list[str]:
        """List the spaces that the key opens."""
        answer = self.connection.sent("GET", "/v1/spaces", {})
        with _checked_answer():
            return from_json(list[str], answer["spaces"])

    page_of_events = _paged(Admin.page_of_events)
    page_of_sessions = _paged(Admin.page_of_sessions)
    page_of_statements = _paged(Admin.page_of_statements)

    def export(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        wiki: str | os.PathLike[str] | None = None,
        graph: str | os.PathLike[str] | None = None,
    ) -> int:
        """Fetch the space's events as JSONL; count them. Never overwrites."""
        if path is None or wiki is not None or graph is not None:
            raise InvalidInput(
                "A service sends events alone.", fix="Run `everyword export --wiki` or --graph where the memory is."
            )
        return self.connection.fetched("/v1/export", self.connection.where(wing=True), path, _LINES)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Fetch a consistent copy of the whole file. Never overwrites."""
        self.connection.fetched("/v1/backup", {}, path, _FILE)


class Client(_Remote):
    """A memory behind `everyword serve`, with the methods and parts of `Memory`: the same arguments, values and errors.

    Keys and webhooks are made where the file is, not from afar; neither can hits be sent back (`context(hits=)`).
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        space: str | None = None,
        wing: str | None = None,
        timeout_s: float = 120.0,
    ) -> None:
        """Connect to a service; nothing is sent before the first call.

        key: what `everyword keys create` showed; needed unless the service is this machine's own. space: which one
        (default: the only one that the key opens, or "default"). timeout_s: how long to wait for an answer.
        """
        self._of(Connection(url, key=key, space=space, wing=wing, timeout_s=timeout_s), owner=True)

    def _of(self, connection: Connection, *, owner: bool) -> Client:
        super().__init__(connection)
        self.graph = RemoteGraph(connection)
        self.concepts = RemoteConcepts(connection)
        self.intents = RemoteIntents(connection)
        self.admin = RemoteAdmin(connection)
        self._owner = owner
        return self

    def __getattr__(self, name: str) -> Any:
        """Explain what is not here; only asked for names that are missing."""
        raise _missing(self, name, Memory)

    add = _remote(Memory.add)
    add_many = _remote(Memory.add_many)
    recall = _remote(Memory.recall)
    context = _remote(Memory.context)
    ask = _remote(Memory.ask)
    wake_up = _remote(Memory.wake_up)
    identity = _remote(Memory.identity)
    get = _remote(Memory.get)
    events = _remote(Memory.events)
    sessions = _remote(Memory.sessions)
    statements = _remote(Memory.statements)
    statement = _remote(Memory.statement)
    history = _remote(Memory.history)
    correct = _remote(Memory.correct)
    retract = _remote(Memory.retract)
    facts = _remote(Memory.facts)
    stats = _remote(Memory.stats)
    forget = _remote(Memory.forget)
    changes = _remote(Memory.changes)

    def space(self, name: str, *, walled: bool = True, editor: str | None = None) -> Client:
        """Give a client of another space; who edits is who holds the key."""
        if editor is not None:
            raise InvalidInput("The author of edits through a service is the name of the key.", fix="Leave editor out.")
        return object.__new__(Client)._of(self.connection.scoped(name, None), owner=False)

    def wing(self, name: str) -> Client:
        """Give a client of one wing."""
        connection = self.connection.scoped(self.connection.space, name)
        return object.__new__(Client)._of(connection, owner=False)

    @property
    def location(self) -> str:
        """Tell where the memory is served."""
        return self.connection.url

    @property
    def notices(self) -> list[str]:
        """List nothing: what works less well than requested is in the service's log."""
        return []

    def import_events(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        redact: str | None = None,
        tz: str = "UTC",
        wait: bool = False,
        again: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Imported:
        """Send a file or a zip, and have it imported there."""
        if wait or again:
            raise InvalidInput("A service encodes in the background, and reads what it is sent each time.")
        source = Path(path).expanduser()
        if not source.is_file():
            raise BadLocation(f"{source} is not a file.", fix="Check the path; pack a folder into a zip.")
        log = source.with_name(f"{source.name}-wal")
        if log.is_file() and log.stat().st_size:
            raise InvalidInput(
                f"{source} has a log beside it, {log.name}, which would not be sent.",
                fix="Send a copy that everyword backup makes, or close whatever has it open.",
            )
        query = {"name": source.name, **self.connection.where(wing=True)}
        options = {"format": format, "redact": redact, "tz": tz}
        query |= {name: value for name, value in options.items() if value is not None}
        with opened(source) as file:
            answer = self.connection.sent("POST", "/v1/import", query, content=iter(lambda: file.read(_CHUNK), b""))
        with _checked_answer():
            imported: Imported = from_json(Imported, answer)
        if progress is not None:
            progress("events", imported.read, imported.read)
        return imported

    def close(self) -> None:
        """Let go of the connections. A client from space() or wing() leaves that to the one it came from."""
        if self._owner:
            self.connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        one = self.connection
        scope = ", ".join(part for part in (one.space, one.wing and f"wing {one.wing}") if part)
        return f"<Client {one.url}{f' ({scope})' if scope else ''}>"


class Connection:
    """The connection to a service, and the space and wing that are asked for."""

    def __init__(self, url: str, *, key: str | None, space: str | None, wing: str | None, timeout_s: float) -> None:
        httpx: Any = need("httpx", extra="http")
        # A host that can't be one is noticed when it is asked.
        self._failed: Any = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)
        secret = _checked_key(key)
        if timeout_s is not None and not 0 < timeout_s <= TIMEOUT_MAX:  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidSetting(f"timeout_s must be a number of seconds above 0, not {timeout_s!r}.")
        headers = {"authorization": f"Bearer {secret}"} if secret else {}
        try:
            self._http: Any = httpx.Client(base_url=_checked_url(url), headers=headers, timeout=timeout_s)
        except httpx.InvalidURL as error:
            raise _no_address(url) from error
        self.url = url
        self.space, self.wing = space, wing

    def scoped(self, space: str | None, wing: str | None) -> Connection:
        """Give the same connection for another space or wing."""
        other = copy(self)
        other.space, other.wing = space, wing
        return other

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def where(self, *, wing: bool) -> dict[str, str]:
        """Give the scope as the query of an address."""
        scope = {"space": self.space, "wing": self.wing if wing else None}
        return {name: value for name, value in scope.items() if value is not None}

    def run(self, operation: Operation, given: Mapping[str, Any]) -> Any:
        """Have the service run an operation."""
        query = {} if operation.scope == "file" else self.where(wing=operation.scope == "wing")
        content, headers = _as_json(_arguments(operation, given)), {"content-type": _JSON}
        return self.sent("POST", f"/v1/{operation.name}", query, content=content, headers=headers)

    def page(self, operation: Operation, kind: Any, given: Mapping[str, Any]) -> Page[Any]:
        """Have the service give a page of a list."""
        answer = self.run(operation, given)
        with _checked_answer():
            return Page([from_json(kind, one) for one in answer[operation.result]], next=answer["next"])

    def sent(self, method: str, path: str, query: Mapping[str, str], **options: Any) -> Any:
        """Send a request, and read the JSON document that is answered."""
        self._check_open()
        try:
            answer = self._http.request(method, path, params=query, **options)
        except self._failed as error:
            raise _unreachable(self.url, error) from error
        if answer.status_code != 200:
            raise _refusal(answer.status_code, answer.content)
        _check_ours(answer, _JSON)
        with _checked_answer():
            document: Any = json.loads(answer.content)
            return dict(document)

    def fetched(self, path: str, query: Mapping[str, str], to: str | os.PathLike[str], media_type: str) -> int:
        """Fetch a file; count its lines."""
        self._check_open()
        lines = 0
        try:
            with new_file(Path(to).expanduser()) as file, self._http.stream("GET", path, params=query) as answer:
                if answer.status_code != 200:
                    raise _refusal(answer.status_code, answer.read())
                _check_ours(answer, media_type)
                for chunk in answer.iter_bytes(_CHUNK):
                    lines += chunk.count(b"\n")
                    file.write(chunk)
        except self._failed as error:
            raise _unreachable(self.url, error) from error
        return lines

    def _check_open(self) -> None:
        if self._http.is_closed:
            raise Closed("This client has been closed; make another.")


def _each(page: Callable[[dict[str, Any]], Page[Any]], given: Mapping[str, Any], *, first: int) -> Iterator[Any]:
    """Go through a list page by page, up to the limit that the caller gave."""
    asked = dict(given)
    left, size = asked.get("limit"), first
    if left is not None and (not isinstance(left, int) or left < 1):
        page(asked)  # which refuses it in the words of the service
    while left is None or left > 0:
        found = page({**asked, "limit": size if left is None else min(left, _PAGE)})
        yield from found
        if found.next is None:
            return
        asked["cursor"] = found.next
        left, size = None if left is None else left - len(found), _PAGE


def _bound(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Match arguments with a method's parameters, as Python itself would."""
    given = dict(inspect.signature(method).bind(None, *args, **kwargs).arguments)
    del given["self"]
    if given.get("hits") is not None:
        raise InvalidInput("Hits can't be sent to a service.", fix="Leave hits out: the service searches again.")
    if given.get("on_found") is not None:
        raise InvalidInput("The service does not tell what it found.", fix="Leave on_found out.")
    return {name: value for name, value in given.items() if name not in _ONLY_HERE}


def _arguments(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {parameter.name: parameter for parameter in operation.parameters}
    given = {_name(operation, name, value): value for name, value in given.items()}
    # A count that is left open has a word; for anything else None is what is not given.
    open_counts = {name: AUTO for name, one in known.items() if one.kind is COUNT and given.get(name, one) is None}
    sent = {name: _argument(known.get(name), value) for name, value in given.items() if value is not None}
    return {**sent, **open_counts}


def _name(operation: Operation, name: str, value: Any) -> str:
    """Name what is sent: a parameter of one argument's name, or one that fills it with objects."""
    other = next((one.name for one in operation.parameters if one.fills == name), None)
    return name if other is None or isinstance(value, str) or value is None else other


def _argument(parameter: Parameter | None, value: Any) -> Any:
    kind = None if parameter is None else parameter.kind
    if kind is TIME and not isinstance(value, str):
        return as_datetime(value, "" if parameter is None else parameter.name).isoformat()
    if parameter is not None and parameter.or_one and isinstance(value, str):
        return [value]
    if kind is TEXTS and isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return list(cast("Iterable[Any]", value))
    if kind is OBJECTS:
        if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
            raise errors.InvalidEvent("add_many takes a list of events.")
        return [_event(one) for one in cast("Iterable[Any]", value)]
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else cast("Any", value)


def _event(given: Any) -> Any:
    if isinstance(given, Event):
        return {name: value for name, value in event_to_json(given).items() if name not in _NOT_OF_EVENTS}
    if isinstance(given, Mapping):
        event = dict(cast("Mapping[str, Any]", given))
        at = event.get("at")
        if isinstance(at, date | int | float) and not isinstance(at, bool):
            event["at"] = as_datetime(at).isoformat()
        return event
    return given


def _as_json(body: object) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"This can't be written as JSON ({error}).") from error


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port  # which it may refuse
    except (ValueError, AttributeError, TypeError):
        usable = False
    if not usable:
        raise _no_address(url)
    return url


def _no_address(url: object) -> InvalidSetting:
    return InvalidSetting(f"{url!r} is not the address of a service, such as http://127.0.0.1:7330.")


def _checked_key(key: str | None) -> str:
    """Take off what copying leaves around a key; refuse, without showing it, what no header can hold."""
    secret = (key or "").strip()
    if not all("!" <= letter <= "~" for letter in secret):
        raise InvalidSetting("The key has characters that no API key has.", fix="Copy it again, alone.")
    return secret


def _check_ours(answer: Any, media_type: str) -> None:
    """Reject an answer that comes from a proxy or another program."""
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        raise _foreign_answer(answer.status_code)


@contextmanager
def _checked_answer() -> Generator[None]:
    """Raise ServiceError for an answer that isn't Everyword's."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _foreign_answer(200) from error


def _foreign_answer(status: int) -> ServiceError:
    return ServiceError(
        f"The answer (HTTP {status}) didn't come from an Everyword service.",
        fix="Check the address, and that it runs the version that is installed here.",
    )


def _refusal(status: int, content: bytes) -> EverywordError:
    """Make the error that the service had."""
    try:
        problem: Any = json.loads(content)
        name, detail, fix = problem["type"].removeprefix(_PROBLEM_PREFIX), problem["detail"], problem["fix"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return _foreign_answer(status)
    kind: Any = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, EverywordError)):
        return ServiceError(detail, fix=fix)
    return kind(detail, fix=None if fix == errors.usual_fix(kind) else fix)


def _unreachable(url: str, error: Exception) -> Unreachable:
    return Unreachable(
        f"{url} gave no answer ({type(error).__name__}: {error}).", fix="Check that everyword serve runs."
    )
