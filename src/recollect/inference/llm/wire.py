"""Ask over HTTP: again where that can help, never for ever, never for more bytes than fit, and silent about the key."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from recollect.core.errors import InvalidSetting
from recollect.core.extras import need
from recollect.inference.text import well_formed
from recollect.inference.waiting import FIRST_WAIT, LONGEST_WAIT, RETRIED, SHOWN_CHARACTERS, retry_after

EXTRA = "llm"
MOST_BYTES = 8 * 1024 * 1024  # of one answer: hundreds of times the longest that is asked for
CONNECT_TIMEOUT = 10.0  # seconds; a server that is there accepts at once, however slow its model is


class Unanswered(Exception):
    """Every attempt failed. Stays inside the library: whoever asked turns it into an error of its own."""


class Oversized(Exception):
    """The answer is longer than there is room for. Stays inside the library, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for an answer and how often to ask. The last two are given by tests."""

    timeout: float = 120.0  # seconds for one attempt, up to the last byte; local models take their time
    attempts: int = 4
    sleep: Callable[[float], None] = time.sleep
    # A factor, so that many clients that failed together do not come back together.
    jitter: Callable[[], float] = lambda: random.uniform(1.0, 1.25)

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and self.attempts > 0):
            raise InvalidSetting("timeout and attempts must be positive.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server said; `text` is empty while `lines` are still to come."""

    status: int
    text: str = ""
    wait: float | None = None  # seconds that the server asks to wait
    lines: Iterator[str] | None = None


class Wire:
    """A connection to one server."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        key: str | None,
        patience: Patience,
        most_bytes: int = MOST_BYTES,
        extra: str = EXTRA,
    ) -> None:
        self.url = url
        self._most_bytes = most_bytes
        self._extra = extra
        self._headers = {**headers}
        self._key = key
        self._patience = patience
        self._lock = Lock()
        self._open_client: Any = None

    def post(self, path: str, body: Mapping[str, Any], *, attempts: int | None = None) -> Answer:
        """Send JSON until it is answered; give the whole answer, whatever its status."""
        return self._patiently(lambda httpx: self._attempt(httpx, path, body, lines=False), attempts)

    def stream(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Send JSON until it is answered; give the lines of a good answer as they come, and any other whole."""
        return self._patiently(lambda httpx: self._attempt(httpx, path, body, lines=True))

    def shown(self, text: str) -> str:
        """Cut a server's own words to what fits into an error; it may have quoted the key."""
        clean = text.replace(self._key, "[key]") if self._key else text
        return well_formed(clean[:SHOWN_CHARACTERS])

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            client, self._open_client = self._open_client, None
        if client is not None:
            client.close()

    def _patiently(self, attempt: Callable[[Any], Answer], attempts: int | None = None) -> Answer:
        httpx: Any = need("httpx", extra=self._extra)
        attempts = attempts or self._patience.attempts
        trouble = ""
        for number in range(attempts):
            wait = FIRST_WAIT * 2**number
            try:
                answer = attempt(httpx)
            except httpx.InvalidURL as error:
                raise InvalidSetting(f"{self.shown(self.url)} is not a URL: {error}.") from error
            except (httpx.RequestError, TimeoutError) as error:
                trouble = self.shown(f"{type(error).__name__}: {error}")
            else:
                if answer.status not in RETRIED:
                    return answer
                trouble = self.shown(f"HTTP {answer.status} {answer.text}").strip()
                wait = answer.wait or wait
            if wait > LONGEST_WAIT:
                raise Unanswered(f"{trouble}; it asks to wait {wait:.0f} s")
            if number + 1 < attempts:
                self._patience.sleep(wait * self._patience.jitter())
        raise Unanswered(f"{trouble} ({attempts} attempts)" if attempts > 1 else trouble)

    def _attempt(self, httpx: Any, path: str, body: Mapping[str, Any], *, lines: bool) -> Answer:
        client = self._client(httpx)
        overdue = time.monotonic() + self._patience.timeout
        response = client.send(client.build_request("POST", f"{self.url}{path}", json=body), stream=True)
        if lines and response.status_code == 200:
            return Answer(status=200, lines=_lines(httpx, response, self._most_bytes))
        try:
            content = b"".join(_chunks(response, overdue, self._most_bytes))
        finally:
            response.close()
        return Answer(
            status=response.status_code,
            text=content.decode("utf-8", "replace"),
            wait=retry_after(response.headers.get("retry-after")),
        )

    def _client(self, httpx: Any) -> Any:
        with self._lock:
            if self._open_client is None:
                patience = httpx.Timeout(self._patience.timeout, connect=min(CONNECT_TIMEOUT, self._patience.timeout))
                # Reading the certificates takes tens of milliseconds; without TLS there is nothing to verify.
                verify = self.url.startswith("https:")
                self._open_client = httpx.Client(headers=self._headers, timeout=patience, verify=verify)
            return self._open_client


def check_url(url: str, *, form: str) -> None:
    """Refuse what can't be asked, and a URL that holds a password: URLs are shown, logged and stored."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InvalidSetting("The URL can't be read.", fix=f"Use {form}.") from None
    if parts.username or parts.password:
        raise InvalidSetting(
            "The URL must not hold a password.", fix=f"Use {form}, and put the key into the environment."
        )
    if not usable or not url.isprintable() or any(mark in url for mark in " ?#"):
        raise InvalidSetting(f"{url!r} can't be asked.", fix=f"Use {form}.")


def check_key(key: str | None, *, source: str) -> str | None:
    """Give a key without the space around it; refuse one that no header can carry, without showing it."""
    key = (key or "").strip()
    if not key.isascii() or not key.isprintable():
        # Checked here, since drivers quote the header that they refuse.
        raise InvalidSetting(f"The key in {source} holds characters that no key has.", fix="Copy it again.")
    return key or None


def _chunks(response: Any, overdue: float, most_bytes: int) -> Iterator[bytes]:
    """Give the bytes of an answer while there is time and room for them."""
    length = 0
    for chunk in response.iter_bytes():
        length += len(chunk)
        if length > most_bytes:
            raise Oversized(f"it sent more than {most_bytes // 2**20} MiB")
        # The driver's own limit is for each read: a server that drips would hold us for ever.
        if time.monotonic() > overdue:
            raise TimeoutError("the answer took too long")
        yield chunk


def _lines(httpx: Any, response: Any, most_bytes: int) -> Iterator[str]:
    """Give the lines of an answer as they come; a stream may last as long as something comes."""
    rest = bytearray()
    try:
        for chunk in _chunks(response, float("inf"), most_bytes):
            rest += chunk
            if b"\n" in chunk:
                *whole, rest = rest.split(b"\n")
                yield from (line.decode("utf-8", "replace").rstrip("\r") for line in whole)
    except httpx.RequestError as error:
        raise Unanswered(f"it broke off ({type(error).__name__}: {error})") from error
    finally:
        response.close()
    if rest:
        yield rest.decode("utf-8", "replace")
