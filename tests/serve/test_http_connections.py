"""Connections: timeouts, caps, ambiguous requests, and a log that nobody can flood."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.serve.service import problem, serving

from everyword import Memory
from everyword.interfaces.cli import main
from everyword.interfaces.http.settings import LIMITS, ServiceSettings

ADD = b"POST /v1/add HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        memory.add("Ana moved to Porto.")
        yield memory


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    made = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def read_to_end(one: socket.socket) -> bytes:
    """Read until the service closes the connection."""
    read = b""
    try:
        while piece := one.recv(65_536):
            read += piece
    except ConnectionResetError:
        pass
    return read


def is_open(one: socket.socket) -> bool:
    """Tell whether the service has not closed a connection on which it owes no answer."""
    if not select.select([one], [], [], 0)[0]:
        return True
    try:
        return one.recv(1, socket.MSG_PEEK) != b""
    except ConnectionResetError:
        return False


def seconds_until_cut_off(one: socket.socket, piece: bytes) -> float:
    """Send a piece every now and then until the service closes the connection."""
    began = time.monotonic()
    while time.monotonic() - began < 10:
        try:
            one.sendall(piece)
        except OSError:
            break
        time.sleep(0.05)
    return time.monotonic() - began


# Timeouts


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127"])
def test_a_head_that_does_not_come_ends_the_connection(memory: Memory, sent: bytes) -> None:
    with serving(memory, header_timeout_s=1) as address, closing(connected(address)) as one:
        one.sendall(sent)
        began = time.monotonic()
        answer = read_to_end(one)
        assert 0.5 < time.monotonic() - began < 5
        assert answer.startswith(b"HTTP/1.1 408") if sent else not answer


def test_a_head_that_trickles_in_ends_the_connection(memory: Memory) -> None:
    with serving(memory, header_timeout_s=1) as address, closing(connected(address)) as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert seconds_until_cut_off(one, b"x-a: b\r\n") < 5


def test_a_second_head_that_trickles_in_ends_the_connection(memory: Memory) -> None:
    with serving(memory, header_timeout_s=1) as address, closing(connected(address)) as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert one.recv(65_536).startswith(b"HTTP/1.1 200")
        time.sleep(1.3)  # idle for longer than a head may take: that is another clock
        one.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert b"HTTP/1.1 408" in read_to_end(one)


def test_a_body_that_does_not_come_ends_the_request(memory: Memory) -> None:
    with serving(memory, body_timeout_s=1) as address, closing(connected(address)) as one:
        one.sendall(ADD + b'Content-Length: 1000\r\n\r\n{"text": ')
        began = time.monotonic()
        answer = read_to_end(one)
        assert 0.5 < time.monotonic() - began < 5
        assert answer.startswith(b"HTTP/1.1 408"), answer
        assert b"application/problem+json" in answer
        assert b"connection: close" in answer.lower()
        assert httpx.get(f"{address}/v1/stats").json()["events"] == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_trickles_in_ends_the_request(memory: Memory, chunked: bool) -> None:
    limits = {"body_timeout_s": 1, "min_body_bytes_per_s": 1_000}
    with serving(memory, **limits) as address, closing(connected(address)) as one:
        framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 100000"
        one.sendall(ADD + framing + b"\r\n\r\n")
        assert seconds_until_cut_off(one, b"1\r\n \r\n" if chunked else b" ") < 5


def test_a_slow_body_that_keeps_coming_is_taken(memory: Memory) -> None:
    limits = {"body_timeout_s": 1, "min_body_bytes_per_s": 1_000}
    with serving(memory, **limits) as address, closing(connected(address)) as one:
        body = b'{"text": "slow"}' + b" " * 6_000
        one.sendall(ADD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body))
        for start in range(0, len(body), 300):  # about 3,000 bytes a second, for longer than the timeout
            one.sendall(body[start : start + 300])
            time.sleep(0.1)
        assert read_to_end(one).startswith(b"HTTP/1.1 200")


def test_an_idle_connection_is_closed(memory: Memory) -> None:
    with serving(memory, idle_timeout_s=1) as address, closing(connected(address)) as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        began = time.monotonic()
        assert read_to_end(one).startswith(b"HTTP/1.1 200")
        assert 0.5 < time.monotonic() - began < 5


def test_an_unread_body_does_not_keep_a_connection_after_its_answer(memory: Memory) -> None:
    """A refused request may go on sending; that is not a way to hold the connection."""
    with serving(memory, body_timeout_s=1, header_timeout_s=1) as address, closing(connected(address)) as one:
        one.sendall(b"POST /v1/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n")
        assert seconds_until_cut_off(one, b" ") < 5


def test_a_client_that_does_not_read_its_answer_is_dropped(memory: Memory) -> None:
    with serving(memory, write_timeout_s=0.5) as address, closing(socket.socket()) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        parts = urlsplit(address)
        one.connect((parts.hostname, parts.port))
        requests = 500  # for a file of 48 KB each: more than the buffers of both sides hold
        one.sendall(b"GET /vendor/inter.woff2 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * requests)
        time.sleep(4)  # until the buffers are full, and half a second more
        size = 0
        one.settimeout(10)
        try:
            while piece := one.recv(1_000_000):
                size += len(piece)
        except ConnectionResetError:
            pass
        assert 0 < size < requests * 36_000  # it was cut off


def test_a_slow_operation_is_no_timeout(memory: Memory) -> None:
    """The clocks run for what a client sends and reads, not for what the service does."""
    limits = {"header_timeout_s": 1, "body_timeout_s": 1, "write_timeout_s": 1, "idle_timeout_s": 1}
    with (
        serving(memory, **limits) as address,
        httpx.stream("GET", f"{address}/v1/stream", timeout=10) as followed,
    ):
        lines = followed.iter_lines()
        next(lines)
        time.sleep(1.5)
        httpx.post(f"{address}/v1/add", json={"text": "Ben likes tea."}, timeout=10)
        assert any("Ben likes tea." in line for line in lines)


# How many connections


def test_the_oldest_idle_connection_makes_room(memory: Memory) -> None:
    with serving(memory, most_connections=4) as address, ExitStack() as stack:
        idle = [stack.enter_context(closing(connected(address))) for _ in range(4)]
        time.sleep(0.5)  # until all are accepted
        idle[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")  # the first one is the youngest now
        assert idle[0].recv(65_536).startswith(b"HTTP/1.1 200")
        assert httpx.get(f"{address}/healthz").status_code == 200
        time.sleep(0.5)
        assert [is_open(one) for one in idle] == [True, False, True, True]


def test_where_all_connections_are_at_work_one_more_is_told_to_wait(memory: Memory) -> None:
    with serving(memory, most_connections=2) as address, ExitStack() as stack:
        followed = [stack.enter_context(httpx.stream("GET", f"{address}/v1/stream", timeout=10)) for _ in range(2)]
        assert [one.status_code for one in followed] == [200, 200]
        refused = httpx.get(f"{address}/healthz")
        assert problem(refused) == (503, "Overloaded")
        assert int(refused.headers["retry-after"]) >= 1


@contextmanager
def few_files(memory: Path, log: Path, *options: str) -> Iterator[str]:
    """Start `everyword serve` with at most 256 open files."""
    command = [sys.executable, "-m", "everyword", "serve", "--port", "0", "--memory", str(memory), "--no-mcp"]
    command += options
    environment = {**os.environ, "EVERYWORD_EMBEDDER": "hashing", "EVERYWORD_READER": "none"}
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)),
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " at http://" in line, line
        yield line.split(" at ")[1].split()[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 0


def test_idle_sockets_beyond_the_open_files_neither_stop_answers_nor_fill_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with few_files(tmp_path / "m.db", log) as address, ExitStack() as stack:
        assert httpx.get(f"{address}/v1/events", timeout=30).status_code == 200
        for _ in range(300):
            stack.enter_context(closing(connected(address)))
        for number in range(10):
            answer = httpx.post(f"{address}/v1/add", json={"text": f"line {number}"}, timeout=10)
            assert answer.status_code == 200, answer.text
        assert len(httpx.get(f"{address}/v1/events").json()["events"]) == 10
    assert log.stat().st_size < 5_000, log.read_text()[:2_000]


# What is not one request


@pytest.mark.parametrize(
    "head",
    [
        b"POST /v1/add HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"POST /v1/add HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n",
        b"POST /v1/add HTTP/1.0\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n",
        b"POST /v1/add HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nContent-Length: 5\r\n",
    ],
)
def test_a_request_whose_length_is_ambiguous_is_refused_and_ends_the_connection(memory: Memory, head: bytes) -> None:
    with serving(memory) as address, closing(connected(address)) as one:
        hidden = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        one.sendall(head + b"\r\n0\r\n\r\n" + hidden)
        answer = read_to_end(one)
        assert answer.startswith(b"HTTP/1.1 400"), answer
        assert answer.count(b"HTTP/1.1 ") == 1


def test_invalid_requests_do_not_flood_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with few_files(tmp_path / "m.db", log) as address:
        for _ in range(300):
            with closing(connected(address)) as one:
                one.sendall(b"no HTTP at all\r\n\r\n")
                assert read_to_end(one).startswith(b"HTTP/1.1 400")
        # An error in the middle of a body whose answer has begun.
        for _ in range(50):
            with closing(connected(address)) as one:
                one.sendall(b"POST /v1/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
                assert one.recv(65_536).startswith(b"HTTP/1.1 404")
                one.sendall(b"no length\r\n\r\n")
                read_to_end(one)
    said = log.read_text()
    assert "Traceback" not in said, said[:2_000]
    assert 0 < said.count("\n") < 30, said[:2_000]


# Without keys, other sites are refused

NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
FRAME = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
SUBRESOURCE = {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("keyless") / "m.db"
    with Memory.open(path, embedder="hashing") as memory, serving(memory) as address:
        yield address


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/stats", {}, 200),
        ("/v1/stats", {"sec-fetch-site": "none", **NAVIGATION}, 200),
        ("/v1/stats", {"sec-fetch-site": "same-origin"}, 200),
        ("/v1/stats", {"sec-fetch-site": "cross-site", **SUBRESOURCE}, 403),
        ("/v1/stats", {"sec-fetch-site": "same-site", **SUBRESOURCE}, 403),
        ("/v1/stats", {"sec-fetch-site": "anything else"}, 403),
        ("/v1/stats", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
        ("/v1/export", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
        ("/v1/stream", {"sec-fetch-site": "cross-site", **SUBRESOURCE}, 403),
        ("/openapi.json", {"sec-fetch-site": "cross-site", **SUBRESOURCE}, 403),
        ("/app.js", {"sec-fetch-site": "cross-site", "sec-fetch-dest": "script"}, 403),
        ("/app.js", {"sec-fetch-site": "same-origin", "sec-fetch-dest": "script"}, 200),
        ("/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 200),
        ("/", {"sec-fetch-site": "same-site", **NAVIGATION}, 200),
        ("/", {"sec-fetch-site": "cross-site", **FRAME}, 403),
        ("/", {"sec-fetch-site": "cross-site", **SUBRESOURCE}, 403),
        ("/healthz", {"sec-fetch-site": "cross-site", **SUBRESOURCE}, 200),
    ],
)
def test_without_keys_a_browser_is_served_only_for_the_page_itself(
    keyless: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert httpx.get(f"{keyless}{path}", headers=headers, timeout=10).status_code == status


def test_with_keys_a_page_of_another_site_may_use_its_own_key(memory: Memory) -> None:
    key = memory.admin.create_key("site", permission="read").secret
    with serving(memory) as address:
        headers = {"authorization": f"Bearer {key}", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
        assert httpx.get(f"{address}/v1/stats", headers=headers).status_code == 200


# Settings


def test_limits_are_set_on_the_command_line(tmp_path: Path) -> None:
    limit = ("--limit", "header_timeout_s=0.2")
    with few_files(tmp_path / "m.db", tmp_path / "log", *limit) as address, closing(connected(address)) as one:
        began = time.monotonic()
        assert read_to_end(one) == b""
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("wrong", ["burst", "no_such=3", "burst=many", "burst=0", "header_timeout_s=nan", "host=1"])
def test_wrong_limits_are_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--memory", ":memory:", "--limit", wrong]) == 2
    assert wrong.partition("=")[0] in capsys.readouterr().err


def test_every_limit_is_documented() -> None:
    said = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    for name in LIMITS:
        row = next((line for line in said.splitlines() if line.startswith(f"| `{name}` |")), None)
        assert row is not None, f"docs/service.md has no row for {name}"
        value = getattr(ServiceSettings(), name)
        if name != "asking_threads":  # which follows the cores
            assert row.split("|")[2].strip() in (f"{value:,}", f"{value:g}"), row
