"""Following a memory: the feed, the stream, webhooks with their signatures and retries, and the worker."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.service import bearer, problem, serving

from everyword import Client, Memory
from everyword.errors import InvalidInput, NotFound
from everyword.interfaces.http.app import build
from everyword.interfaces.http.background import ChangePoller, WebhookSender
from everyword.interfaces.http.observability import Metrics
from everyword.interfaces.http.settings import ServiceSettings
from everyword.types.concepts import Concept
from everyword.types.intents import Intent


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        yield memory


def wait_for(happened: Callable[[], object], within_s: float = 10.0) -> None:
    until = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)


# The feed


def test_the_feed_tells_everything_once_and_in_order(memory: Memory) -> None:
    memory.add_many({"text": f"We decided to paint room {number} green."} for number in range(5))
    memory.space("other").add("not here")
    position, told = None, []
    while True:
        part = memory.changes(after=position, limit=2)
        told += part
        position = part.position
        if not part.more:
            break
    assert [one.item.text for one in told if one.kind == "event"] == [event.text for event in memory.events()]
    stated = [one.item.id for one in told if one.kind == "statement"]
    assert sorted(stated) == sorted(one.id for one in memory.statements())
    assert memory.changes(after=position) == []
    gone = memory.forget(ids=[next(iter(memory.events())).id])
    news = memory.changes(after=position)
    told = [one.item for one in news if one.kind == "forgotten"]
    assert [(one.events, one.ids, one.at) for one in told] == [(1, (), gone.at)]  # ids go to the caller alone
    now = memory.changes(after="now")
    assert now == []
    memory.add("only this is new")
    assert [one.item.text for one in memory.changes(after=now.position)] == ["only this is new"]


def test_the_feed_of_a_wing_is_its_own(memory: Memory) -> None:
    memory.wing("a").add("said in a")
    memory.wing("b").add("said in b")
    memory.wing("b").forget(session="none of this name", dry_run=True)
    assert [one.item.text for one in memory.wing("a").changes() if one.kind == "event"] == ["said in a"]
    position = memory.wing("a").changes().position
    memory.wing("b").add("more in b")
    assert memory.wing("a").changes(after=position) == []


def test_the_feed_tells_of_concepts_intents_and_jobs(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        began = memory.changes(after="now").position
        for number in range(6):
            memory.add(f"The radar mast at the harbour broke in storm {number}.", speaker="Ana", session="s")
        memory.add("I must send the budget report to Ana by tomorrow.", speaker="Leo")
        news = memory.changes(after=began)
        concepts = [one.item for one in news if one.kind == "concept"]
        assert concepts
        assert {one.id for one in concepts} <= {one.id for one in memory.concepts.list()}
        (intent,) = [one.item for one in news if one.kind == "intent"]
        assert intent.id == memory.intents.list()[0].id
        # What becomes of it is news too; a second look has none.
        memory.intents.answer(intent.id, "reject")
        (again,) = [one.item for one in memory.changes(after=news.position) if one.kind == "intent"]
        assert (again.id, again.status) == (intent.id, "rejected")
        position = memory.changes(after=news.position).position
        assert memory.changes(after=position) == []
        # What a wing does not hold, its followers are not told.
        assert [one.kind for one in memory.wing("elsewhere").changes(after=began)] == []
    with Memory.open(tmp_path / "m.db", embedder="hashing", embed_on_write=False) as memory:
        written = memory.add("Its vectors follow.")
        (job,) = [one.item for one in memory.changes(after=position) if one.kind == "job"]
        assert (job.kind, job.event_id) == ("embed", written.id)
        memory.admin.settle()
        assert [one for one in memory.changes(after=position) if one.kind == "job"] == []


def test_the_stream_and_a_client_tell_of_concepts_and_intents(memory: Memory) -> None:
    with serving(memory) as address, stream(address, kinds=["concept", "intent"]) as told:
        assert next(told)["event"] == "position"
        for number in range(6):
            httpx.post(f"{address}/v1/add", json={"text": f"The radar mast at the harbour broke in storm {number}."})
        concept = next(told)
        assert concept["event"] == "concept"
        assert json.loads(concept["data"])["item"]["id"] in {one.id for one in memory.concepts.list()}
        httpx.post(f"{address}/v1/add", json={"text": "I must send the budget report to Ana by tomorrow."})
        intent = next(one for one in told if one["event"] == "intent")
        assert "budget report" in json.loads(intent["data"])["item"]["statement"]
        with Client(address) as client:
            items = {one.kind: one.item for one in client.changes()}
    assert isinstance(items["concept"], Concept)
    assert isinstance(items["intent"], Intent)


@pytest.mark.parametrize("position", ["x", "event", "event.", "event.x", "event.-1", "event.1,,", "e" * 2_000, "e v.1"])
def test_a_position_that_was_never_given_is_refused(memory: Memory, position: str) -> None:
    with pytest.raises(InvalidInput):
        memory.changes(after=position)


# The stream


@contextmanager
def stream(address: str, headers: dict[str, str] | None = None, **params: Any) -> Iterator[Iterator[dict[str, str]]]:
    """Follow; give the messages as they come."""
    with httpx.stream("GET", f"{address}/v1/stream", params=params, headers=headers, timeout=10) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield messages(answer)


def messages(answer: httpx.Response) -> Iterator[dict[str, str]]:
    message: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            message[name] = value
        elif message:
            yield message
            message = {}


def test_what_is_written_here_and_elsewhere_is_streamed(memory: Memory, tmp_path: Path) -> None:
    with serving(memory) as address, stream(address, kinds=["event", "statement", "jobs"]) as heard:
        assert next(heard)["event"] == "position"
        assert next(heard)["event"] == "jobs"
        # How much waits is told whenever it changes, so at any moment between the others.
        told = (one for one in heard if one["event"] != "jobs")
        httpx.post(f"{address}/v1/add", json={"text": "We decided to paint it green."})
        first, second = next(told), next(told)
        assert (first["event"], second["event"]) == ("event", "statement")
        assert json.loads(first["data"])["item"]["text"] == "We decided to paint it green."
        with Memory.open(tmp_path / "memory.db", embedder="none") as other_process:
            other_process.add("written by somebody else")
        third = next(told)
        assert json.loads(third["data"])["item"]["text"] == "written by somebody else"
        assert third["id"]


def test_a_follower_that_was_cut_off_goes_on_where_it_was(memory: Memory) -> None:
    memory.add_many({"text": f"line {number}"} for number in range(3))
    with serving(memory) as address:
        with stream(address, kinds="event", after="statement.0,event.0,forgotten.0") as told:
            heard = [next(told) for _ in range(4)]
        assert [json.loads(one["data"])["item"]["text"] for one in heard[1:]] == ["line 0", "line 1", "line 2"]
        # Cut off before the last one of a batch: all of it comes again, from the position before it.
        assert ["id" in one for one in heard] == [True, False, False, True]
        memory.add("line 3")
        with stream(address, {"last-event-id": heard[-1]["id"]}, kinds="event") as told:
            next(told)
            assert json.loads(next(told)["data"])["item"]["text"] == "line 3"


def test_streams_hear_of_changes_again_after_an_unexpected_error() -> None:
    async def followed() -> int:
        wrong = [RuntimeError("a driver's own")]

        async def version() -> str:
            if wrong:
                raise wrong.pop()
            return "1"

        poller = ChangePoller(version)
        running = asyncio.create_task(poller.run())
        with poller.following("somebody"):
            await poller.wait_for_change(0, 10)
        poller.stop()
        await running
        return poller.changes

    assert asyncio.run(followed()) == 1


def test_streams_are_limited_and_checked(memory: Memory) -> None:
    with serving(memory, most_streams=1) as address:
        assert problem(httpx.get(f"{address}/v1/stream", params={"after": "x"})) == (400, "InvalidInput")
        assert problem(httpx.get(f"{address}/v1/stream", params={"kinds": "gossip"})) == (400, "InvalidInput")
        with stream(address) as told:
            next(told)
            assert problem(httpx.get(f"{address}/v1/stream")) == (503, "Overloaded")
        # Whoever follows does not keep the service from stopping: leaving this block would time out.


def test_one_key_leaves_room_for_the_others(memory: Memory) -> None:
    one, other = (bearer(memory.admin.create_key(name).secret) for name in ("one", "other"))
    with serving(memory, most_streams_of_a_key=1) as address:
        with stream(address, one) as told:
            next(told)
            assert problem(httpx.get(f"{address}/v1/stream", headers=one)) == (503, "Overloaded")
            with stream(address, other) as also_told:
                next(also_told)
        wait_for(lambda: followed_again(address, one))


def followed_again(address: str, headers: dict[str, str]) -> bool:
    with httpx.stream("GET", f"{address}/v1/stream", headers=headers) as answer:
        return answer.status_code == 200


def test_one_who_follows_is_told_why_nothing_more_comes(memory: Memory) -> None:
    made = memory.admin.create_key("laptop")
    with serving(memory) as address:
        with stream(address, bearer(made.secret), kinds="event") as told:
            next(told)
            memory.admin.revoke_key(made.key.id)
            last = list(told)  # and the answer ends as it should: a connection that is cut off would raise here
        assert [one["event"] for one in last] == ["end"]
        why = json.loads(last[0]["data"])
        assert (why["status"], why["detail"]) == (401, "The key was revoked.")
        assert "id" not in last[0]


def test_one_who_follows_without_a_key_is_told_when_one_is_needed(memory: Memory) -> None:
    with serving(memory) as address, stream(address, kinds="event") as told:
        next(told)
        memory.admin.create_key("the first")
        assert [(one["event"], json.loads(one["data"])["status"]) for one in told] == [("end", 401)]


def test_one_who_follows_is_told_that_the_service_stops(memory: Memory) -> None:
    told: list[dict[str, str]] = []
    with serving(memory) as address:

        def listen() -> None:
            with stream(address, kinds="event") as heard:
                told.extend(heard)

        listening = threading.Thread(target=listen)
        listening.start()
        wait_for(lambda: told)
    listening.join(10)
    assert [one["event"] for one in told] == ["position", "end"]
    assert json.loads(told[-1]["data"])["status"] == 503


def test_a_stream_is_only_got(memory: Memory) -> None:
    with serving(memory) as address:
        assert httpx.head(f"{address}/v1/stream").status_code == 405


def test_a_memory_that_can_t_be_read_is_not_ready_and_nobody_is_told_why(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everyword.interfaces.http.app._READY_WITHIN_S", 0.2)
    over = threading.Event()

    async def asked() -> list[httpx.Response]:
        app, service = build(memory, ServiceSettings(worker=False, mcp=False))
        service.ready = True
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
            held = asyncio.create_task(service.probe_pool.run(lambda: over.wait(10)))
            await asyncio.sleep(0.1)
            slow = await web.get("/readyz")  # as where a server is away: each look waits for it
            over.set()
            await held
            memory.close()
            answers = [slow, await web.get("/readyz")]
        await asyncio.to_thread(service.close)
        return answers

    for answer in asyncio.run(asked()):
        assert problem(answer) == (503, "Overloaded")
        assert answer.json()["detail"] == "The memory can't be read now."


def test_whether_the_memory_answers_is_told_however_many_follow(memory: Memory) -> None:
    async def asked() -> int:
        app, service = build(memory, ServiceSettings(worker=False, mcp=False))
        service.ready, over = True, threading.Event()
        slow = asyncio.create_task(service.stream_pool.run(lambda: over.wait(10)))
        await asyncio.sleep(0.1)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
            answer = await asyncio.wait_for(web.get("/readyz"), 5)
        over.set()
        await slow
        await asyncio.to_thread(service.close)
        return answer.status_code

    assert asyncio.run(asked()) == 200


# Webhooks

NO_NAMES = ("http://hooks..example.org/x", "http://xn--a/", f"http://{'a' * 64}.org/")


class Listener:
    """A real address that takes deliveries, or refuses some of them first."""

    def __init__(self, refuse_first: int = 0) -> None:
        self.taken: list[tuple[dict[str, str], bytes]] = []
        self.seen: list[str] = []
        listener = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                listener.seen.append(self.headers["webhook-id"])
                refused = len(listener.seen) <= refuse_first
                if not refused:
                    listener.taken.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(302 if refused else 204)
                self.send_header("location", "http://127.0.0.1:1/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    def __enter__(self) -> Listener:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def texts(self) -> list[str]:
        return [
            news["item"]["text"]
            for _, body in self.taken
            for news in json.loads(body)["changes"]["news"]
            if news["kind"] == "event"
        ]


def test_a_webhook_is_told_what_happens_in_its_space_and_can_check_who_tells(memory: Memory) -> None:
    memory.space("acme").add("said before")
    with Listener() as listener, serving(memory, worker=True) as address:
        made = memory.space("acme").admin.add_webhook(listener.url, kinds=["event"])
        httpx.post(f"{address}/v1/add", params={"space": "acme"}, json={"text": "We decided to buy a boat."})
        httpx.post(f"{address}/v1/add", json={"text": "of another space"})
        wait_for(lambda: listener.taken)
        headers, body = listener.taken[0]
        assert listener.texts() == ["We decided to buy a boat."]
        assert json.loads(body)["space"] == "acme"
        key = base64.b64decode(made.secret.removeprefix("whsec_"))
        said = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = base64.b64encode(hmac.new(key, said, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"
        wait_for(lambda: memory.admin.webhooks()[0].delivered == 1)


def test_a_delivery_that_was_refused_is_sent_again_with_the_same_id(tmp_path: Path) -> None:
    from datetime import UTC, datetime, timedelta

    moment = [datetime(2026, 6, 1, tzinfo=UTC)]
    sent: list[str] = []

    def refuse(_url: str, headers: Any, _body: bytes) -> str | None:
        sent.append(headers["webhook-id"])
        return "It answered 500." if len(sent) <= 3 else None

    with Memory.open(tmp_path / "m.db", embedder="hashing", clock=lambda: moment[0]) as memory:
        memory.admin.add_webhook("https://example.org/hook", kinds=["event"])
        memory.add("first")
        waits: list[float] = []
        while not memory.admin.deliver_webhooks(refuse, lambda feed: len(feed)):
            memory.add(f"while it was refused {len(sent)}")
            hook = memory.admin.webhooks()[0]
            assert hook.error == "It answered 500."
            assert hook.due_at is not None
            waits.append((hook.due_at - moment[0]).total_seconds())
            assert memory.admin.deliver_webhooks(refuse, len) == 0  # not due yet: nothing is sent
            moment[0] = hook.due_at
        assert waits == [2, 4, 8]
        assert len(sent) == 4
        assert len(set(sent)) == 1
        hook = memory.admin.webhooks()[0]
        assert (hook.attempts, hook.error, hook.delivered) == (0, None, 4)
        moment[0] += timedelta(days=1)
        assert memory.admin.deliver_webhooks(refuse, len) == 0


def test_a_clock_that_is_set_back_does_not_put_a_delivery_off(tmp_path: Path) -> None:
    from datetime import UTC, datetime, timedelta

    moment = [datetime(2030, 6, 1, tzinfo=UTC)]  # years ahead, as a machine that has not asked the time yet
    with Memory.open(tmp_path / "m.db", embedder="hashing", clock=lambda: moment[0]) as memory:
        memory.admin.add_webhook("https://example.org/hook", kinds=["event"])
        memory.add("first")
        assert memory.admin.deliver_webhooks(lambda *_: "It answered 500.", len) == 0
        moment[0] -= timedelta(days=1_461)
        assert memory.admin.deliver_webhooks(lambda *_: None, len) == 1


def test_a_restart_loses_no_delivery_and_redirects_are_not_followed(memory: Memory) -> None:
    with Listener(refuse_first=1) as listener:
        memory.admin.add_webhook(listener.url)
        memory.add("said while nobody served")
        with serving(memory, worker=True):
            wait_for(lambda: memory.admin.webhooks()[0].attempts == 1)
        assert listener.taken == []
        memory.add("said after it had stopped")
        with serving(memory, worker=True):
            wait_for(lambda: len(listener.texts()) == 2)
        assert listener.texts() == ["said while nobody served", "said after it had stopped"]


def test_a_webhook_that_can_t_be_sent_to_keeps_none_behind_it_from_being_told(memory: Memory) -> None:
    def broken(url: str, _headers: Any, _body: bytes) -> str | None:
        if "broken" in url:
            raise ValueError("no such thing")
        told.append(url)
        return None

    told: list[str] = []
    for name in ("broken", "whole"):
        memory.admin.add_webhook(f"http://{name}.example.org/", kinds=["event"])
    memory.add("We decided to buy a boat.")
    assert memory.admin.deliver_webhooks(broken, len) == 1
    assert told == ["http://whole.example.org/"]
    assert [hook.error for hook in memory.admin.webhooks()] == ["ValueError: no such thing", None]


@pytest.mark.parametrize("url", [*NO_NAMES, "http://["])
def test_an_address_that_is_none_is_a_failed_delivery(url: str) -> None:
    metrics = Metrics()
    assert WebhookSender(metrics).send(url, {}, b"{}")
    assert 'webhook_deliveries_total{outcome="failed"} 1' in metrics.text({})


# What comes before the status is told, at once, and then again and again.
TRICKLES = {
    "headers that never end": (b"HTTP/1.1 200 OK\r\n", b"x-more: y\r\n", "No response within 0.5 s."),
    "a body that never ends": (b"HTTP/1.1 204 No Content\r\n\r\n", b"more ", None),
    "a long answer": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"5\r\nmore \r\n", None),
    "nothing": (b"", b"", "No response within 0.5 s."),
}


@pytest.mark.parametrize(("first", "more", "wrong"), TRICKLES.values(), ids=list(TRICKLES))
def test_an_answer_that_never_ends_is_cut_off(first: bytes, more: bytes, wrong: str | None) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def trickle() -> None:
            connection, _ = listening.accept()
            with closing(connection), suppress(OSError):
                connection.sendall(first)
                for _ in range(100):
                    time.sleep(0.1)
                    connection.sendall(more)

        threading.Thread(target=trickle, daemon=True).start()
        began = time.monotonic()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        assert WebhookSender(Metrics(), timeout_s=0.5).send(url, {}, b"{}") == wrong
        assert time.monotonic() - began < 5


def test_webhooks_that_make_no_sense_are_refused(memory: Memory) -> None:
    for url in (
        *NO_NAMES,
        "ftp://x/y",
        "example.org",
        "http://",
        "http://a b",
        "https://user:secret@x/",
        "http://[",
        "x" * 5_000,
    ):
        with pytest.raises(InvalidInput):
            memory.admin.add_webhook(url)
    with pytest.raises(InvalidInput, match="Give a list of"):
        memory.admin.add_webhook("http://x/", kinds=["gossip"])
    with pytest.raises(NotFound):
        memory.admin.remove_webhook("wh_none")
    made = memory.admin.add_webhook("http://x/")
    memory.admin.remove_webhook(made.webhook.id)
    assert memory.admin.webhooks() == []


# The worker


def test_the_worker_does_what_waits(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing", embed_on_write=False) as memory:
        memory.add_many({"text": f"line {number}"} for number in range(5))
        assert len(memory.admin.jobs()) == 5
        with serving(memory, worker=True) as address:
            wait_for(lambda: not memory.admin.jobs())
            httpx.post(f"{address}/v1/add", json={"text": "one more"})
            wait_for(lambda: not memory.admin.jobs() and memory.stats().vectors == 6)


def test_an_unexpected_error_does_not_end_the_polling() -> None:
    async def run() -> None:
        answers = iter([KeyError("oops"), "new"])

        async def read_version() -> str:
            answer = next(answers, "new")
            if isinstance(answer, Exception):
                raise answer
            return answer

        poller = ChangePoller(read_version)
        polling = asyncio.create_task(poller.run())
        with poller.following("somebody"):
            await poller.wait_for_change(0, 20)
        assert poller.changes == 1
        poller.stop()
        await polling

    asyncio.run(run())
