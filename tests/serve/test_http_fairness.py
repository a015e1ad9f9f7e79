"""One caller's large or many requests must not delay another caller's small ones."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest
from tests.serve.service import bearer, problem, serving

from everyword import Memory
from everyword.interfaces.http.background import FairPool
from everyword.models.embedders import HashingEmbedder

LARGE_TEXT = 70_000  # characters: about 11 s of embedding on two cores
LARGE_ADDS = 4
SMALL_ADDS = 5  # answered before any large add is: a bound that holds on a machine of any speed and load


@contextmanager
def service_process(memory: Path, *options: str) -> Iterator[str]:
    """Start `everyword serve` with the default model; kill it at the end, whatever it still embeds."""
    command = [sys.executable, "-m", "everyword", "serve", "--port", "0", "--memory", str(memory)]
    command += options
    environment = {name: value for name, value in os.environ.items() if name != "EVERYWORD_EMBEDDER"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " at http://" in line, line
        yield line.split(" at ")[1].split()[0]
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)


def large_text(seed: int) -> str:
    """Write sentences that no two calls share."""
    chosen = random.Random(seed)
    words = ["".join(chosen.choices("abcdefghijklmnop", k=6)) for _ in range(2_000)]
    text = ""
    while len(text) < LARGE_TEXT:
        text += " ".join(chosen.choices(words, k=12)).capitalize() + ". "
    return text[:LARGE_TEXT]


def seconds_of(send: Any) -> float:
    """Time a request that must succeed."""
    began = time.monotonic()
    answer = send()
    assert answer.status_code == 200, answer.text
    return time.monotonic() - began


def test_large_adds_of_one_key_do_not_delay_a_small_add_of_another(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        busy = memory.admin.create_key("busy", permission="write", spaces=["busy"]).secret
        quiet = memory.admin.create_key("quiet", permission="write", spaces=["quiet"]).secret
        watching = memory.admin.create_key("watching", permission="read").secret
    answered: list[str] = []  # large adds, which should not be answered before the small ones
    with service_process(tmp_path / "m.db") as address, httpx.Client(base_url=address, timeout=60) as web:

        def small(number: int) -> Any:
            return web.post("/v1/add", json={"text": f"Ana has {number} cats."}, headers=bearer(quiet))

        def large(number: int) -> None:
            text = large_text(number)
            url, body = f"{address}/v1/add", {"text": text}
            if number % 2:  # the other way in
                url = f"{address}/mcp"
                call = {"name": "remember", "arguments": {"text": text}}
                body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            accept = {"accept": "application/json, text/event-stream"}
            with suppress(httpx.HTTPError):  # the process is killed at the end of the test
                answer = httpx.post(url, json=body, headers={**bearer(busy), **accept}, timeout=600)
                answered.append(f"{url}: {answer.status_code} {answer.text[:200]}")

        def in_flight() -> int:
            """Count the requests that are not answered yet, except the one that asks."""
            metrics = web.get("/metrics", headers=bearer(watching)).text
            return int(metrics.split("\neveryword_requests_in_flight ")[1].split()[0]) - 1

        small(0)  # loads the model
        idle = median(seconds_of(lambda number=number: small(number)) for number in range(1, 6))
        senders = [threading.Thread(target=large, args=(number,), daemon=True) for number in range(LARGE_ADDS)]
        for sender in senders:
            sender.start()
        until = time.monotonic() + 60
        while in_flight() < LARGE_ADDS and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)  # until they are being embedded
        under_load = [seconds_of(lambda number=number: small(number)) for number in range(10, 10 + SMALL_ADDS)]
        asked = seconds_of(lambda: web.get("/v1/recall", params={"query": "cats?"}, headers=bearer(quiet)))
        too_early = list(answered)
    print(f"small add: {idle:.3f} s idle, {max(under_load):.3f} s at most beside large ones; recall {asked:.3f} s")
    assert not too_early, (idle, under_load, asked)


class Held(HashingEmbedder):
    """An embedder that waits until it is let go, for texts that say so."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()
        self.waiting = 0

    def passages(self, texts: Any) -> Any:
        if any("wait" in text for text in texts):
            self.waiting += 1
            assert self.free.wait(30)
        return super().passages(texts)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Memory, Held]]:
    embedder = Held()
    with Memory.open(tmp_path / "m.db", embedder=embedder) as memory:
        yield memory, embedder
        embedder.free.set()


def test_a_key_cannot_hold_every_thread_of_a_pool(held: tuple[Memory, Held]) -> None:
    memory, embedder = held
    busy = bearer(memory.admin.create_key("busy", permission="write", spaces=["a"]).secret)
    quiet = bearer(memory.admin.create_key("quiet", permission="write", spaces=["b"]).secret)
    with serving(memory, writing_threads=2) as address, ThreadPoolExecutor(8) as pool:
        waiting = [
            pool.submit(httpx.post, f"{address}/v1/add", json={"text": f"wait {n}"}, headers=busy, timeout=30)
            for n in range(6)
        ]
        until = time.monotonic() + 10
        while embedder.waiting < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert httpx.post(f"{address}/v1/add", json={"text": "quick"}, headers=quiet, timeout=5).status_code == 200
        assert embedder.waiting == 2  # as many as one key may run at a time
        embedder.free.set()
        assert [one.result().status_code for one in waiting] == [200] * 6


def test_too_many_requests_of_one_key_at_a_time_are_refused(held: tuple[Memory, Held]) -> None:
    memory, embedder = held
    busy = bearer(memory.admin.create_key("busy", permission="write", spaces=["a"]).secret)
    quiet = bearer(memory.admin.create_key("quiet", permission="write", spaces=["b"]).secret)
    with serving(memory, most_requests_of_a_key=3) as address, ThreadPoolExecutor(8) as pool:
        waiting = [
            pool.submit(httpx.post, f"{address}/v1/add", json={"text": f"wait {n}"}, headers=busy, timeout=30)
            for n in range(3)
        ]
        until = time.monotonic() + 10
        while embedder.waiting < 2 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)
        refused = httpx.get(f"{address}/v1/stats", headers=busy)
        assert problem(refused) == (429, "TooManyRequests")
        assert int(refused.headers["retry-after"]) >= 1
        assert httpx.get(f"{address}/v1/stats", headers=quiet).status_code == 200
        embedder.free.set()
        assert [one.result().status_code for one in waiting] == [200] * 3
        assert httpx.get(f"{address}/v1/stats", headers=busy).status_code == 200  # they are over


def test_too_many_large_requests_of_one_key_are_refused(held: tuple[Memory, Held]) -> None:
    memory, embedder = held
    busy = bearer(memory.admin.create_key("busy", permission="write", spaces=["a"]).secret)
    with serving(memory, large_request_bytes=1_000, most_large_of_a_key=2) as address, ThreadPoolExecutor(8) as pool:
        texts = [f"wait {number} " + "word " * 500 for number in range(3)]

        def send(text: str) -> httpx.Response:
            return httpx.post(f"{address}/v1/add", json={"text": text}, headers=busy, timeout=30)

        waiting = [pool.submit(send, text) for text in texts[:2]]
        until = time.monotonic() + 10
        while embedder.waiting < 1 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)
        assert problem(send(texts[2])) == (429, "TooManyRequests")
        embedder.free.set()
        assert [one.result().status_code for one in waiting] == [200] * 2


def test_the_pool_alternates_between_keys_and_between_the_spaces_of_a_key() -> None:
    import asyncio

    done: list[str] = []
    gate = threading.Event()

    async def run() -> None:
        pool = FairPool("test", threads=1, most_waiting=100)
        tasks = [asyncio.create_task(pool.run(lambda: gate.wait(10), key="first"))]
        await asyncio.sleep(0.05)
        order = [*(("a", "x", f"ax{n}") for n in range(3)), *(("a", "y", f"ay{n}") for n in range(2)), ("b", "z", "bz")]
        for key, space, name in order:
            tasks.append(asyncio.create_task(pool.run(lambda name=name: done.append(name), key=key, space=space)))
        await asyncio.sleep(0.05)
        gate.set()
        await asyncio.gather(*tasks)
        await asyncio.to_thread(pool.close)

    asyncio.run(run())
    assert done == ["ax0", "bz", "ay0", "ax1", "ay1", "ax2"]
