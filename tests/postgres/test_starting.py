"""A service and a worker that start together with their server: they wait for it, say so, and not for ever."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import httpx
import pytest
from tests.serve.service import free_port, problem

from effort import effort
from everyword import Memory
from postgres_server import DATABASE, PASSWORD, Server


def run(*arguments: str) -> subprocess.Popen[str]:
    """Start a command as users do."""
    return subprocess.Popen(
        [sys.executable, "-m", "everyword", *arguments],
        env={**os.environ, "EVERYWORD_EMBEDDER": "hashing"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def serve(location: str, port: int, *options: str) -> subprocess.Popen[str]:
    return run("serve", "--memory", location, "--port", str(port), "--no-mcp", *options)


def at(location: str, port: int, postgres: Server) -> str:
    """Give the same location at another port, where nobody listens yet."""
    return location.replace(f":{postgres.port}/", f":{port}/")


@contextmanager
def listening(port: int, postgres: Server) -> Iterator[None]:
    """Let the server answer at another port from now on."""
    with closing(socket.create_server(("127.0.0.1", port))) as door, ExitStack() as pairs:

        def open_door() -> None:
            with suppress(OSError):
                while True:
                    client, _ = door.accept()
                    inside = socket.create_connection((postgres.host, postgres.port))
                    pairs.callback(client.close)
                    pairs.callback(inside.close)
                    threading.Thread(target=_passed_on, args=(client, inside), daemon=True).start()

        threading.Thread(target=open_door, daemon=True).start()
        yield


def _passed_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError, ValueError):
        while True:
            for ready in select.select([one, other], [], [])[0]:
                said = ready.recv(65536)
                if not said:
                    one.close()
                    other.close()
                    return
                (other if ready is one else one).sendall(said)


def answered(port: int, path: str) -> httpx.Response:
    """Ask until somebody answers."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=10)
        except httpx.TransportError:
            assert time.monotonic() < deadline, "nobody answers"
            time.sleep(0.05)


@pytest.mark.parametrize("processes", ["1", "2"][: effort(1, 2)])
def test_a_service_waits_for_its_server_and_says_that_it_is_not_ready(
    location: str, postgres: Server, processes: str
) -> None:
    port, door = free_port(), free_port()
    process = serve(at(location, door, postgres), port, "--processes", processes)
    assert process.stdout is not None
    try:
        assert answered(port, "/healthz").json() == {"ok": True}  # it runs: nobody should end it for that
        for path in ("/readyz", "/v1/stats", "/"):
            answer = httpx.get(f"http://127.0.0.1:{port}{path}")
            assert problem(answer) == (503, "StoreUnreachable")
            assert answer.headers["retry-after"]
            assert str(door) not in answer.text
        with listening(door, postgres):
            assert " at http://" in process.stdout.readline()
            assert answered(port, "/readyz").json() == {"ok": True}
            added = httpx.post(f"http://127.0.0.1:{port}/v1/add", json={"text": "The lighthouse was painted."})
            assert added.status_code == 200
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, said
    assert len(said.splitlines()) == 1
    assert "Waiting for the database, 60 s at most." in said
    assert PASSWORD not in said
    with Memory.open(location, embedder="hashing", create=False) as memory:
        assert memory.stats().events == 1


def test_a_server_that_never_comes_is_one_error_after_a_while() -> None:
    began = time.monotonic()
    process = serve(f"postgresql://ana:secret@127.0.0.1:{free_port()}/db", free_port(), "--wait", "2")
    out, said = process.communicate(timeout=60)
    assert process.returncode == 20
    assert time.monotonic() - began > 1.5
    waited, told = said.splitlines()
    assert "2 s at most" in waited
    assert "can't be reached" in told
    assert "secret" not in out + said


def test_without_patience_it_must_be_there() -> None:
    process = serve(f"postgresql://ana@127.0.0.1:{free_port()}/db", free_port(), "--wait", "0")
    assert len(process.communicate(timeout=60)[1].splitlines()) == 1
    assert process.returncode == 20


def test_told_to_stop_while_it_waits_it_stops() -> None:
    port = free_port()
    process = serve(f"postgresql://ana@127.0.0.1:{free_port()}/db", port)
    assert answered(port, "/healthz").status_code == 200
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 0, said


def test_an_address_that_is_taken_is_told_while_it_waits() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        process = serve(f"postgresql://ana@127.0.0.1:{free_port()}/db", taken.getsockname()[1])
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 9, said
    assert "Can't listen on" in said


WRONG = {"a wrong password": (PASSWORD.replace(" ", "%20"), "wrong"), "no such database": (f"/{DATABASE}", "/nowhere")}


@pytest.mark.parametrize(("ours", "theirs"), WRONG.values(), ids=list(WRONG))
def test_what_waiting_can_t_mend_is_told_at_once(location: str, postgres: Server, ours: str, theirs: str) -> None:
    for process in (
        serve(location.replace(ours, theirs), free_port()),
        run("worker", "--memory", location.replace(ours, theirs)),
    ):
        said = process.communicate(timeout=30)[1]
        assert process.returncode == 9, said
        assert "aiting" not in said


def test_a_worker_waits_for_its_server_too(location: str, postgres: Server) -> None:
    door = free_port()
    with Memory.open(location, embedder="hashing", embed_on_write=False) as memory:
        memory.add("I moved to Lisbon.", speaker="Ana")
        process = run("worker", "--memory", at(location, door, postgres))
        assert process.stderr is not None
        try:
            assert "waiting for the server" in process.stderr.readline()
            with listening(door, postgres):
                assert "working on" in process.stderr.readline()
                deadline = time.monotonic() + 60
                while memory.stats().pending and time.monotonic() < deadline:
                    time.sleep(0.1)
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)
        finally:
            process.kill()
            process.communicate()
        assert memory.stats().pending == 0
    assert process.returncode == 0
