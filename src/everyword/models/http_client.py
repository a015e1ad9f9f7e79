"""POST JSON to a model server, with retries, time limits and size limits."""

from __future__ import annotations

import contextlib
import email.utils
import json
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from everyword.errors import InvalidSetting, ModelError
from everyword.extras import need
from everyword.text.terms import well_formed

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # HTTP statuses of temporary errors
FIRST_WAIT = 0.5  # seconds; doubled with each attempt
LONGEST_WAIT = 30.0  # seconds; for longer waits the job queue is better
SHOWN_CHARACTERS = 200  # of a server's message in an error
DEFAULT_EXTRA = "llm"
MAX_RESPONSE_BYTES = 8 * 1024 * 1024  # hundreds of times the longest expected response
CONNECT_TIMEOUT = 10.0  # seconds; a running server accepts at once, however slow its model is

Parsed = TypeVar("Parsed")
Failure = TypeVar("Failure", bound=ModelError)


class Errors(NamedTuple):
    """The errors that a client raises."""

    unavailable: type[ModelError]  # every attempt failed
    refused: type[ModelError]  # by the server's status
    garbage: type[ModelError]  # the response can't be used


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How long to wait for a response and how often to try. Tests replace the last two."""

    timeout: float = 120.0  # seconds for one attempt, up to the last byte; local models are slow
    attempts: int = 4
    sleep: Callable[[float], None] = time.sleep
    # A random factor, so that clients that failed together do not retry together.
    jitter: Callable[[], float] = lambda: random.uniform(1.0, 1.25)

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and self.attempts > 0):
            raise InvalidSetting("timeout and attempts must be positive.")


class HttpResponse(Struct, frozen=True, kw_only=True):
    """A server's response; `text` is empty if it is streamed as `lines`."""

    status: int
    text: str = ""
    retry_after: float | None = None  # seconds
    lines: Iterator[str] | None = None


def bearer(key: str | None) -> dict[str, str]:
    """Send a key as most servers expect it."""
    return {"Authorization": f"Bearer {key}"} if key else {}


class HttpClient:
    """A client of one server. It checks the URL, never shows the key, and raises the given errors only."""

    def __init__(
        self,
        url: str,
        *,
        name: str,
        errors: Errors,
        form: str,
        key_variables: Sequence[str],
        headers: Callable[[str | None], Mapping[str, str]] = bearer,
        retry: RetryPolicy,
        max_bytes: int = MAX_RESPONSE_BYTES,
        extra: str = DEFAULT_EXTRA,
    ) -> None:
        """Check the settings. name: of the server, in errors; form: of the setting that has the URL."""
        _check_url(url, form)
        self.url, self._name, self._errors = url, name, errors
        self._key_variables, self.key = key_variables, _find_key(key_variables)
        self._headers = headers(self.key)
        self._retry, self._max_bytes, self._extra = retry, max_bytes, extra
        self._lock = Lock()
        self._open_client: Any = None

    def post(self, path: str, body: Mapping[str, Any], *, attempts: int | None = None) -> HttpResponse:
        """Send JSON until the server responds; return the whole response, whatever its status."""
        return self._with_retries(lambda httpx: self._attempt(httpx, path, body, lines=False), attempts)

    def stream(self, path: str, body: Mapping[str, Any]) -> HttpResponse:
        """Send JSON until the server responds; stream the lines of a 200 response, return any other whole."""
        return self._with_retries(lambda httpx: self._attempt(httpx, path, body, lines=True))

    def accepted(self, answer: HttpResponse) -> HttpResponse:
        """Return a response with the status 200, or raise what the server says."""
        if answer.status == 200:
            return answer
        fix = None
        if answer.status in {401, 403}:
            fix = f"The key is missing or wrong: set {self._key_variables[0]}."
        elif answer.status == 404:
            fix = "Check the model's name and the path of the URL."
        raise self.failed(self._errors.refused, f"HTTP {answer.status} {self.shown(answer.text)}".strip(), fix=fix)

    def parsed(self, text: str, parse: Callable[[Any], Parsed], expected: str) -> Parsed:
        """Parse a response in JSON, or say that it is not what was expected."""
        try:
            return parse(json.loads(text))
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            reason = f"its response is not {expected} ({error}): {self.shown(text)!r}"
            raise self.failed(self._errors.garbage, reason) from error

    def failed(self, kind: type[Failure], reason: str, *, fix: str | None = None) -> Failure:
        """Make an error that names the server."""
        return kind(f"{self._name} failed: {reason.rstrip('.')}.", fix=fix)

    def shown(self, text: str) -> str:
        """Shorten a server's message for an error and remove the key from it."""
        clean = text.replace(self.key, "[key]") if self.key else text
        return well_formed(clean[:SHOWN_CHARACTERS])

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            client, self._open_client = self._open_client, None
        if client is not None:
            client.close()

    def _with_retries(self, attempt: Callable[[Any], HttpResponse], attempts: int | None = None) -> HttpResponse:
        httpx: Any = need("httpx", extra=self._extra)
        attempts = attempts or self._retry.attempts
        failure = ""
        for number in range(attempts):
            wait = FIRST_WAIT * 2**number
            try:
                answer = attempt(httpx)
            except httpx.InvalidURL as error:
                raise InvalidSetting(f"{self.shown(self.url)} is not a URL: {error}.") from error
            except (httpx.RequestError, TimeoutError) as error:
                failure = self.shown(f"{type(error).__name__}: {error}")
            else:
                if answer.status not in RETRIED:
                    return answer
                failure = self.shown(f"HTTP {answer.status} {answer.text}").strip()
                wait = answer.retry_after or wait
            if wait > LONGEST_WAIT:
                raise self.failed(self._errors.unavailable, f"{failure}; it asks to wait {wait:.0f} s")
            if number + 1 < attempts:
                self._retry.sleep(wait * self._retry.jitter())
        reason = f"{failure} ({attempts} attempts)" if attempts > 1 else failure
        raise self.failed(self._errors.unavailable, reason)

    def _attempt(self, httpx: Any, path: str, body: Mapping[str, Any], *, lines: bool) -> HttpResponse:
        client = self._client(httpx)
        deadline = time.monotonic() + self._retry.timeout
        response = client.send(client.build_request("POST", f"{self.url}{path}", json=body), stream=True)
        if lines and response.status_code == 200:
            return HttpResponse(status=200, lines=self._lines(httpx, response))
        try:
            content = b"".join(self._chunks(response, deadline))
        finally:
            response.close()
        return HttpResponse(
            status=response.status_code,
            text=content.decode("utf-8", "replace"),
            retry_after=_parse_retry_after(response.headers.get("retry-after")),
        )

    def _chunks(self, response: Any, deadline: float) -> Iterator[bytes]:
        """Yield the bytes of a response within the limits of time and size."""
        length = 0
        for chunk in response.iter_bytes():
            length += len(chunk)
            if length > self._max_bytes:
                raise self.failed(self._errors.garbage, f"it sent more than {self._max_bytes // 2**20} MiB")
            # httpx limits each read only: a server that sends a byte at a time would block for ever.
            if time.monotonic() > deadline:
                raise TimeoutError("the response took too long")
            yield chunk

    def _lines(self, httpx: Any, response: Any) -> Iterator[str]:
        """Yield the lines of a response as they come; a stream has no deadline while data comes."""
        rest = bytearray()
        try:
            for chunk in self._chunks(response, float("inf")):
                rest += chunk
                if b"\n" in chunk:
                    *whole, rest = rest.split(b"\n")
                    yield from (line.decode("utf-8", "replace").rstrip("\r") for line in whole)
        except httpx.RequestError as error:
            reason = f"it broke off ({type(error).__name__}: {error})"
            raise self.failed(self._errors.unavailable, reason) from error
        finally:
            response.close()
        if rest:
            yield rest.decode("utf-8", "replace")

    def _client(self, httpx: Any) -> Any:
        with self._lock:
            if self._open_client is None:
                limits = httpx.Timeout(self._retry.timeout, connect=min(CONNECT_TIMEOUT, self._retry.timeout))
                # Reading the certificates takes tens of milliseconds; only TLS needs them.
                verify = self.url.startswith("https:")
                self._open_client = httpx.Client(headers=self._headers, timeout=limits, verify=verify)
            return self._open_client


def _check_url(url: str, form: str) -> None:
    """Reject a URL that is invalid or holds a password: URLs are shown, logged and stored."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InvalidSetting("The URL is invalid.", fix=f"Use {form}.") from None
    if parts.username or parts.password:
        raise InvalidSetting(
            "The URL must not hold a password.", fix=f"Use {form}, and put the key into the environment."
        )
    if not usable or not url.isprintable() or any(mark in url for mark in " ?#"):
        raise InvalidSetting(f"{url!r} is not a URL of a server.", fix=f"Use {form}.")


def _find_key(variables: Iterable[str]) -> str | None:
    """Return the key in the first variable that is set; reject one that no header can carry."""
    for name in variables:
        key = os.environ.get(name, "").strip()
        if not key.isascii() or not key.isprintable():
            # Checked here, without showing the key, because httpx quotes a header that it rejects.
            raise InvalidSetting(f"The key in {name} has characters that are invalid in a key.", fix="Copy it again.")
        if key:
            return key
    return None


def _parse_retry_after(header: str | None) -> float | None:
    if not header:
        return None
    with contextlib.suppress(ValueError):
        return max(0.0, float(header))
    with contextlib.suppress(ValueError, OverflowError):
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    return None
