"""A memory that is served elsewhere: the methods of `Memory`, each a request to the service."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import wraps
from pathlib import Path
from threading import TIMEOUT_MAX
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast, get_type_hints
from urllib.parse import urlsplit

from everyword import errors
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
from everyword.private_files import private_opener
from everyword.settings import AUTO, beside
from everyword.storage.open_files import opened
from everyword.types.events import Event, Imported
from everyword.types.feed import Page
from everyword.types.serialization import element_type, event_to_json, from_json
from everyword.types.times import as_datetime

_PROBLEM_PREFIX = "urn:everyword:error:"
_PAGE = 500  # entries asked for at a time
_ONLY_HERE = ("progress", "told", "hits")  # objects of this process, which can't be sent
_NOT_OF_EVENTS = ("id", "space", "recorded_at", "text_bytes")  # given by the memory that keeps an event
_CHUNK = 1 << 16
_JSON, _LINES, _FILE = "application/json", "application/x-ndjson", "application/vnd.sqlite3"  # what the service sends
_STREAMED = "read changes(), or GET /v1/stream as it comes"
_ELSEWHERE = {"on": _STREAMED, "watch": _STREAMED, "follow": _STREAMED, "pulse": _STREAMED}

if TYPE_CHECKING:
    _Methods = Memory  # to a type checker a client is a memory: the same methods with the same types
else:
    _Methods = object


class Client(_Methods):
    """A memory behind `everyword serve`, with the methods of `Memory`: the same arguments, values and errors.

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
        httpx: Any = need("httpx", extra="http")
        # A host that can't be one is noticed when it is asked.
        self._failed: Any = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)
        secret = _checked_key(key)
        headers = {"authorization": f"Bearer {secret}"} if secret else {}
        options: dict[str, Any] = {"headers": headers, "timeout": _checked_timeout(timeout_s)}
        try:
            self._http: Any = httpx.Client(base_url=_checked_url(url), **options)
        except httpx.InvalidURL as error:
            raise _no_address(url) from error
        self._url = url
        self._space_name, self._wing_name = space, wing
        self._owns = True

    def __getattr__(self, name: str) -> Any:
        """Say where what is not here can be had; only asked for names that are missing."""
        if name.startswith("_") or not hasattr(Memory, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        where = _ELSEWHERE.get(name, "it is done where the file is: see everyword keys, webhooks and worker")
        raise AttributeError(f"A memory that is served elsewhere has no {name}(): {where}.", name=name, obj=self)

    def space(self, name: str, *, walled: bool = True, editor: str | None = None) -> Client:
        """Give a client of another space; who edits is who holds the key."""
        return self._scoped(name, None)

    def wing(self, name: str) -> Client:
        """Give a client of one wing."""
        return self._scoped(self._space_name, name)

    @property
    def location(self) -> str:
        """Tell where the memory is served."""
        return self._url

    @property
    def notices(self) -> list[str]:
        """List nothing: what works in a lesser way is in the service's log."""
        return []

    def spaces(self) -> list[str]:
        """List the spaces that the key opens."""
        answer = self._requested("GET", "/v1/spaces", {})
        with _understood():
            return from_json(list[str], answer["spaces"])

    def events(self, **filters: Any) -> Iterator[Event]:
        """Go through events; takes what `Memory.events` takes."""
        given = _bound(Memory.events, (), filters)
        return _each(lambda part: self.page_of_events(**part), given)

    def page_of_events(self, **filters: Any) -> Page[Event]:
        """Read a page of events; takes what `Memory.page_of_events` takes."""
        return self._page("events", Event, _bound(Memory.page_of_events, (), filters))

    def page_of_artifacts(self, **filters: Any) -> Page[Any]:
        """Read a page of statements; takes what `Memory.page_of_artifacts` takes."""
        returns = get_type_hints(Memory.artifacts)["return"]
        return self._page("artifacts", element_type(returns), _bound(Memory.page_of_artifacts, (), filters))

    def import_events(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        redact: str | None = None,
        defer_embeddings: bool = False,
        again: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Imported:
        """Send a file or a zip, and have it imported there."""
        if defer_embeddings or again:
            raise InvalidInput("A service embeds what it is sent, and reads it each time it is sent.")
        source = Path(path).expanduser()
        if not source.is_file():
            raise BadLocation(f"{source} is no file that could be sent.", fix="Pack a folder into a zip.")
        log = source.with_name(f"{source.name}-wal")
        if log.is_file() and log.stat().st_size:
            raise InvalidInput(
                f"{source} has a log beside it, {log.name}, which would not be sent.",
                fix="Send a copy that everyword backup makes, or close whatever has it open.",
            )
        query = {"name": source.name, **self._where(wing=True)}
        query |= {name: value for name, value in (("format", format), ("redact", redact)) if value is not None}
        with opened(source) as file:
            answer = self._sent("POST", "/v1/import", query, content=iter(lambda: file.read(_CHUNK), b""))
        with _understood():
            imported: Imported = from_json(Imported, answer)
        if progress is not None:
            progress("events", imported.read, imported.read)
        return imported

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
        return self._fetched("/v1/export", self._where(wing=True), path, _LINES)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Fetch a consistent copy of the whole file. Never overwrites."""
        self._fetched("/v1/backup", {}, path, _FILE)

    def close(self) -> None:
        """Let go of the connections. A client from space() or wing() leaves that to the one it came from."""
        if self._owns:
            self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        scope = ", ".join(part for part in (self._space_name, self._wing_name and f"wing {self._wing_name}") if part)
        return f"<Client {self._url}{f' ({scope})' if scope else ''}>"

    # Inside

    def _scoped(self, space: str | None, wing: str | None) -> Client:
        other = object.__new__(Client)
        other.__dict__.update(self.__dict__)
        other._space_name, other._wing_name, other._owns = space, wing, False
        return other

    def _where(self, *, wing: bool) -> dict[str, str]:
        scope = {"space": self._space_name, "wing": self._wing_name if wing else None}
        return {name: value for name, value in scope.items() if value is not None}

    def _run(self, operation: Operation, given: Mapping[str, Any]) -> Any:
        query = {} if operation.scope == "file" else self._where(wing=operation.scope == "wing")
        return self._requested("POST", f"/v1/{operation.name}", query, _arguments(operation, given))

    def _page(self, name: str, kind: Any, given: Mapping[str, Any]) -> Page[Any]:
        operation = next(one for one in OPERATIONS if one.name == name)
        answer = self._run(operation, given)
        with _understood():
            return Page([from_json(kind, one) for one in answer[operation.result]], next=answer["next"])

    def _requested(self, method: str, path: str, query: Mapping[str, str], body: object = None) -> Any:
        content = None if body is None else _as_json(body)
        return self._sent(method, path, query, content=content, headers={"content-type": "application/json"})

    def _sent(self, method: str, path: str, query: Mapping[str, str], **options: Any) -> Any:
        self._check_open()
        try:
            answer = self._http.request(method, path, params=query, **options)
        except self._failed as error:
            raise _unreachable(self._url, error) from error
        if answer.status_code != 200:
            raise _refusal(answer.status_code, answer.content)
        _check_ours(answer, _JSON)
        with _understood():
            document: Any = json.loads(answer.content)
            return dict(document)

    def _fetched(self, path: str, query: Mapping[str, str], to: str | os.PathLike[str], media_type: str) -> int:
        self._check_open()
        target = Path(to).expanduser()
        if target.exists():
            raise BadLocation(f"{target} exists already; nothing is overwritten. Choose another name.")
        partial, lines = beside(target), 0
        try:
            with self._http.stream("GET", path, params=query) as answer:
                if answer.status_code != 200:
                    raise _refusal(answer.status_code, answer.read())
                _check_ours(answer, media_type)
                with open(partial, "wb", opener=private_opener) as file:
                    for chunk in answer.iter_bytes(_CHUNK):
                        lines += chunk.count(b"\n")
                        file.write(chunk)
            os.replace(partial, target)
        except OSError as error:
            raise BadLocation(f"{target} can't be written ({error.strerror}).") from error
        except self._failed as error:
            raise _unreachable(self._url, error) from error
        finally:
            partial.unlink(missing_ok=True)
        return lines

    def _check_open(self) -> None:
        if self._http.is_closed:
            raise Closed("This client has been closed; make another.")


# From the table to methods


def _method(operation: Operation) -> Callable[..., Any]:
    theirs = getattr(Memory, operation.method)
    returns = get_type_hints(theirs)["return"]
    listed = element_type(returns) if operation.read_only and operation.result else None
    limit = inspect.signature(theirs).parameters.get("limit")
    most = None if limit is None else limit.default

    @wraps(theirs)
    def call(self: Client, *args: Any, **kwargs: Any) -> Any:
        given = _bound(theirs, args, kwargs)
        if listed is not None:
            given.setdefault("limit", most)  # the service gives pages, of which there may be more than asked for

            def page(part: Mapping[str, Any]) -> Page[Any]:
                answer = self._run(operation, part)  # pyright: ignore[reportPrivateUsage]  a method of it
                with _understood():
                    return Page([from_json(listed, one) for one in answer[operation.result]], next=answer["next"])

            return list(_each(page, given))
        answer = self._run(operation, given)  # pyright: ignore[reportPrivateUsage]
        with _understood():
            return from_json(returns, answer[operation.result] if operation.result else answer)

    return call


def _each(page: Callable[[dict[str, Any]], Page[Any]], given: Mapping[str, Any]) -> Iterator[Any]:
    """Go through a list page by page, up to the limit that the caller gave."""
    asked = dict(given)
    left = asked.get("limit")
    if left is not None and (not isinstance(left, int) or left < 1):
        page(asked)  # which refuses it in the words of the service
    while left is None or left > 0:
        found = page({**asked, "limit": _PAGE if left is None else min(left, _PAGE)})
        yield from found
        if found.next is None:
            return
        asked["cursor"] = found.next
        left = None if left is None else left - len(found)


def _bound(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Match arguments with a method's parameters, as Python itself would."""
    given = dict(inspect.signature(method).bind(None, *args, **kwargs).arguments)
    del given["self"]
    if given.get("hits") is not None:
        raise InvalidInput("Hits can't be sent to a service.", fix="Leave hits out: the service searches again.")
    return {name: value for name, value in given.items() if name not in _ONLY_HERE}


def _arguments(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {parameter.name: parameter for parameter in operation.parameters}
    # A count that is left open has a word; for anything else None is what is not given.
    open_counts = {name: AUTO for name, one in known.items() if one.kind is COUNT and given.get(name, one) is None}
    sent = {name: _argument(known.get(name), value) for name, value in given.items() if value is not None}
    return {**sent, **open_counts}


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
    return cast("Any", value)


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
        raise InvalidSetting("The key has characters in it that no key has.", fix="Copy it again, alone.")
    return secret


def _checked_timeout(timeout_s: float | None) -> float | None:
    if timeout_s is not None and not 0 < timeout_s <= TIMEOUT_MAX:
        raise InvalidSetting(f"timeout_s must be a number of seconds above 0, not {timeout_s!r}.")
    return timeout_s


def _check_ours(answer: Any, media_type: str) -> None:
    """Refuse what a proxy or another program says in the place of the service."""
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        raise _not_ours(answer.status_code)


@contextmanager
def _understood() -> Generator[None]:
    """Take an answer that can't be read for what it is: somebody else's."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _not_ours(200) from error


def _not_ours(status: int) -> ServiceError:
    return ServiceError(
        f"The service answered {status}, and not as Everyword does.",
        fix="Check the address, and that it runs the version that is installed here.",
    )


def _refusal(status: int, content: bytes) -> EverywordError:
    """Make the error that the service had."""
    try:
        problem: Any = json.loads(content)
        name, detail, fix = problem["type"].removeprefix(_PROBLEM_PREFIX), problem["detail"], problem["fix"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return _not_ours(status)
    kind: Any = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, EverywordError)):
        return ServiceError(detail, fix=fix)
    return kind(detail, fix=None if fix == errors.usual_fix(kind) else fix)


def _unreachable(url: str, error: Exception) -> Unreachable:
    return Unreachable(
        f"{url} gave no answer ({type(error).__name__}: {error}).", fix="Check that everyword serve runs."
    )


for _operation in (*OPERATIONS, *API_OPERATIONS):
    if _operation.method not in Client.__dict__:
        setattr(Client, _operation.method, _method(_operation))
