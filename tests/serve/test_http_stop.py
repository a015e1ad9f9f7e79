"""Stopping: told to stop in the middle of it all, the service finishes what it began and loses nothing acknowledged."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from tests.serve.service import serving

from effort import effort
from everyword import Memory

WRITERS = 8


def start(memory: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """Start `everyword serve` as users do."""
    command = [sys.executable, "-m", "everyword", "serve", "--port", "0", "--memory", str(memory), "--no-mcp", *options]
    environment = {**os.environ, "EVERYWORD_EMBEDDER": "hashing", "EVERYWORD_READER": "none"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert " at http://" in line, line
    return process, line.split(" at ")[1].split()[0]


@pytest.mark.parametrize("processes", ["2", "1"][: effort(1, 2)])
def test_told_to_stop_under_load_it_loses_nothing_that_it_acknowledged(tmp_path: Path, processes: str) -> None:
    process, address = start(tmp_path / "memory.db", "--processes", processes)
    acknowledged: list[str] = []
    cut_off: list[str] = []
    refused = threading.Event()

    def write(writer: int) -> None:
        with httpx.Client(base_url=address, timeout=30) as client:
            for number in range(10_000):
                key = f"{writer}-{number}"
                try:
                    answer = client.post("/v1/add", json={"text": f"line {key}", "key": key})
                except httpx.ConnectError:
                    refused.set()
                    return
                except httpx.HTTPError:  # an idle connection that was closed: whether it was kept is not told
                    cut_off.append(key)
                    return
                assert answer.status_code == 200, answer.text
                acknowledged.append(key)

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for writer in writers:
        writer.start()
    follower = httpx.Client(base_url=address, timeout=30)
    with follower.stream("GET", "/v1/stream") as followed:
        assert followed.status_code == 200
        until = time.monotonic() + 30
        while len(acknowledged) < 100 and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        for writer in writers:
            writer.join(30)
    follower.close()
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 0, said
    assert not said  # nobody was cut off: what had begun was finished long before the time for it was over
    assert len(acknowledged) >= 100
    assert refused.is_set()  # nobody waits at an address where nobody answers any more
    with Memory.open(tmp_path / "memory.db", embedder="hashing", create=False) as memory:
        kept = {event.key for event in memory.events()}
        assert set(acknowledged) <= kept
        assert kept <= {*acknowledged, *cut_off}
        assert memory.admin.verify().ok
    assert not (tmp_path / "memory.db-wal").exists()  # it was closed as it should be


def test_one_who_follows_and_does_not_read_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYWORD_READER", "none")  # of the service, too: it would read megabytes
    with Memory.open(tmp_path / "memory.db", embedder="none") as memory:
        memory.add_many({"text": f"{number} " + "x" * 200_000} for number in range(60))
    process, address = start(tmp_path / "memory.db")
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as deaf:
        asked = "GET /v1/stream?after=event.0&kinds=event HTTP/1.1"
        deaf.sendall(f"{asked}\r\nhost: {host}:{port}\r\n\r\n".encode())
        assert deaf.recv(100).startswith(b"HTTP/1.1 200")
        time.sleep(2)  # until there is more than anybody holds for it
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=40)[1]
    assert process.returncode == 0, said
    assert not said
    assert time.monotonic() - began < 15


def test_one_who_never_sends_the_rest_is_told_when_the_time_is_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="none") as memory:
        with serving(memory, stop_within_s=1) as address:
            host, port = address.removeprefix("http://").split(":")
            stalled = socket.create_connection((host, int(port)), timeout=10)
            head = f"POST /v1/add HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-type: application/json\r\n"
            stalled.sendall(f'{head}content-length: 1000\r\n\r\n{{"text": "half'.encode())
            time.sleep(0.3)
        with stalled:
            assert stalled.recv(1_000).startswith(b"HTTP/1.1 503")
        assert memory.stats().events == 0
    assert not any(record.exc_info for record in caplog.records)  # it is no fault of the service


@pytest.mark.skipif(os.name != "posix", reason="several processes share a socket")
def test_several_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    process, address = start(tmp_path / "memory.db", "--processes", "2")
    assert httpx.get(f"{address}/healthz").status_code == 200
    process.kill()
    process.wait()
    process.communicate(timeout=30)  # until both have closed what they write to
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz")


def test_an_address_that_is_taken_and_a_second_signal(tmp_path: Path) -> None:
    process, address = start(tmp_path / "memory.db")
    port = address.rsplit(":", 1)[1]
    command = [sys.executable, "-m", "everyword", "serve", "--port", port, "--memory", str(tmp_path / "memory.db")]
    other = subprocess.run([*command, "--no-mcp"], capture_output=True, text=True, check=False, timeout=60)
    assert other.returncode == 9
    assert "Can't listen on" in other.stderr
    for _ in range(2):
        process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    process.communicate()


def test_no_process_at_all_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "everyword", "serve", "--processes", "0", "--memory", str(tmp_path / "memory.db")]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode == 2
    assert "processes must be at least 1" in refused.stderr
