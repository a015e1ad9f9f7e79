"""`Client` and `Memory` agree: the same calls on both, one over a real service, give the same values and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from tests.serve.service import serving

from everyword import Client, Event, Hit, Memory
from everyword.errors import (
    BadLocation,
    Closed,
    EverywordError,
    InvalidEvent,
    InvalidInput,
    InvalidSetting,
    KeyConflict,
    KeyNeeded,
    NotAllowed,
    NotFound,
    ServiceError,
    Unreachable,
)
from everyword.types.serialization import to_json
from everyword.types.statements import Stance

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
# What is done where the file is, or is of the library's own inside.
HISTORY = [
    {"text": "I moved to Lisbon in March.", "speaker": "Ana", "session": "s1", "at": "2026-04-02T10:00Z", "key": "a"},
    {
        "text": "I used to like cilantro.",
        "speaker": "Ana",
        "session": "s1",
        "at": "2026-04-02T10:05+02:00",
        "wing": "food",
    },
    {"text": "We decided to ship on Friday.", "speaker": "Will", "session": "s2", "meta": {"n": [1, {"x": None}]}},
    {"text": "I moved to Porto in May, for work.", "speaker": "Ana", "session": "s3", "at": "2026-05-20T10:00Z"},
    {"text": "I must renew the passport by June.", "speaker": "Will", "session": "s2", "at": "2026-05-20T11:00Z"},
    {"text": "half \ud800 a character, and a \x00 and an \U0001f600", "session": "odd", "at": "2026-01-01"},
]

NAMES = [f"{first}{second}lia" for first in "BCDFGHJKLMNPRSTV" for second in "aeiouyr"]  # more than a list gives


class Both:
    """A memory, and a client of a service over another one with the same history."""

    def __init__(self, memory: Memory, client: Client) -> None:
        self.memory, self.client = memory, client

    def agree(self, call: Callable[[Any], Any]) -> Any:
        """Make the same call on both; both give the same value, or the same error."""
        ours, theirs = outcome(self.memory, call), outcome(self.client, call)
        if isinstance(ours, EverywordError):
            assert (type(theirs), str(theirs)) == (type(ours), str(ours))
        else:
            assert type(theirs) is type(ours)
            assert without_moments(to_json(theirs)) == without_moments(to_json(ours))
        return theirs


def outcome(subject: Any, call: Callable[[Any], Any]) -> Any:
    try:
        given = call(subject)
        return list(given) if isinstance(given, Iterator) else given
    except EverywordError as error:
        return error


def without_moments(document: Any) -> Any:
    """Leave out when each of the two memories learned something, and where it is."""
    if isinstance(document, dict):
        left_out = ("recorded_at", "location", "bytes", "due_at")
        return {name: without_moments(one) for name, one in document.items() if name not in left_out}
    return [without_moments(one) for one in document] if isinstance(document, list) else document


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    yield from two_with_one_history(tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Two that are only read, so that many tests can share them."""
    yield from two_with_one_history(tmp_path_factory.mktemp("client"))


def two_with_one_history(folder: Path) -> Iterator[Both]:
    options: dict[str, Any] = {"embedder": "hashing", "clock": lambda: NOW, "fence_key": "the same for both"}
    with (
        Memory.open(folder / "a.db", **options) as memory,
        Memory.open(folder / "b.db", **options) as served,
        serving(served) as address,
        Client(address) as client,
    ):
        pair = Both(memory, client)
        pair.agree(lambda one: one.add_many(HISTORY))
        for one in (memory, served):  # recalls are written when something is derived: let both be done with it
            one.admin.settle()
        yield pair


def test_chat_messages_agree(both: Both) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "I moved to Faro."}, {"type": "image", "source": {}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "maps", "input": {"to": "Faro"}}]},
        {"role": "user", "name": "Ana", "content": "Thanks!", "at": "2026-05-30T10:00Z"},
    ]
    written = both.agree(lambda one: one.add(messages, session="chat"))
    assert [(one.event.role, one.event.text) for one in written] == [
        ("system", "Be brief."),
        ("user", "I moved to Faro.\n[image]"),
        ("tool", 'maps({"to": "Faro"})'),
        ("user", "Thanks!"),
    ]
    both.agree(lambda one: one.add([{"role": "user"}, {"content": "x"}]))
    both.agree(lambda one: one.add([{"role": "user", "content": [{"type": "hologram"}]}]))
    assert len(both.agree(lambda one: list(one.events(session="chat")))) == 4


def test_reads_agree(unchanged: Both) -> None:
    for question in ("Where does Ana live?", "cilantro", "what was decided?", "\ud800"):
        hits = unchanged.agree(lambda one, asked=question: one.recall(asked, 3))
        assert all(isinstance(hit, Hit) for hit in hits)
        unchanged.agree(lambda one, asked=question: one.context(asked, budget=120, style="reasoning", now=NOW))
        unchanged.agree(lambda one, asked=question: one.ask(asked, now=date(2026, 6, 1)))
    for count in (None, "auto", "many", 0):
        unchanged.agree(lambda one, k=count: one.recall("Where does Ana live?", k=k))
    unchanged.agree(lambda one: one.recall("Ana", k=2, speaker="Ana", since="2026-05-01", until=NOW))
    unchanged.agree(lambda one: one.recall("Ana", since=datetime(2026, 5, 1, tzinfo=timezone(timedelta(hours=2)))))
    unchanged.agree(lambda one: one.admin.glance("Ana", k=2, speaker="Ana"))
    unchanged.agree(lambda one: one.admin.activity(speaker="Ana", parts=7))
    unchanged.agree(lambda one: one.admin.activity(parts=0))
    secret = {"text": "My token is ghp_" + "a1B2c3D4" * 4 + "e5F6", "meta": {"of": ["ana"]}}
    unchanged.agree(lambda one: one.admin.redacted(secret))
    unchanged.agree(lambda one: one.admin.redacted(secret, redact="none"))
    unchanged.agree(lambda one: one.admin.redacted(secret, redact="everything"))
    unchanged.agree(lambda one: one.graph.held("2026-01-01", NOW, limit=3))
    unchanged.agree(lambda one: one.recall("ship", meta={"n": [1, {"x": None}]}))
    unchanged.agree(lambda one: one.get(key="a"))
    for wanted in ({}, {"session": "s1"}, {"speaker": "Ana", "newest_first": True}, {"limit": 2}, {"wing": "food"}):
        unchanged.agree(lambda one, given=wanted: one.events(**given))
    unchanged.agree(lambda one: one.sessions())
    unchanged.agree(lambda one: one.sessions(speaker="Will"))
    statements = unchanged.agree(lambda one: one.statements(status="any"))
    assert statements
    unchanged.agree(lambda one: one.statements(about="Ana", limit=1))
    for statement in statements:
        unchanged.agree(lambda one, id=statement.id: one.statement(id))
        unchanged.agree(lambda one, id=statement.id: one.history(id))
    unchanged.agree(lambda one: one.stats())
    unchanged.agree(lambda one: one.admin.verify())
    unchanged.agree(lambda one: one.admin.jobs())
    unchanged.agree(lambda one: one.admin.spaces())
    unchanged.agree(lambda one: one.changes(limit=2))
    unchanged.agree(lambda one: one.changes(after=one.changes().position))
    unchanged.agree(lambda one: one.admin.page_of_events(limit=2).next)
    unchanged.agree(lambda one: one.admin.page_of_events(limit=2, cursor=one.admin.page_of_events(limit=2).next))
    unchanged.agree(lambda one: one.admin.page_of_statements(limit=1))
    unchanged.agree(lambda one: one.admin.page_of_sessions(limit=1, order="oldest"))
    unchanged.agree(lambda one: one.sessions(order="longest"))


@pytest.mark.parametrize(
    "read",
    [
        lambda one: one.facts(),
        lambda one: one.facts("Ana", limit=1),
        lambda one: one.graph.timeline("Ana"),
        lambda one: one.graph.conflicts(),
        lambda one: one.graph.entities(),
        lambda one: one.graph.entity("Ana"),
        lambda one: one.graph.edits(),
        lambda one: one.concepts.window(now=NOW),
        lambda one: one.concepts.palace(),
        lambda one: one.concepts.list(),
        lambda one: one.concepts.journal(),
        lambda one: one.graph.map(),
        lambda one: one.wake_up(now=NOW),
        lambda one: one.identity(),
        lambda one: one.intents.list(status="any", now=NOW),
        lambda one: one.intents.get(one.intents.list(status="any", now=NOW)[0].id, now=NOW),
        lambda one: one.graph.held("2026-01-01", NOW),
        lambda one: one.admin.jobs(),
    ],
)
def test_what_was_derived_agrees(unchanged: Both, read: Callable[[Any], Any]) -> None:
    assert not isinstance(unchanged.agree(read), EverywordError)


def test_statements_come_with_all_that_they_hold(unchanged: Both) -> None:
    def stated(subject: Any) -> list[Any]:
        return [replace(one, recorded_at=NOW) for one in subject.statements(status="any")]

    assert stated(unchanged.client) == stated(unchanged.memory)
    assert any(one.slot and one.value and one.stance != Stance.HOLDS for one in stated(unchanged.client))


def test_lists_end_where_they_end_for_a_memory(both: Both) -> None:
    moved = [{"text": f"I moved to {name}ville in March.", "speaker": name, "at": NOW} for name in NAMES]
    both.agree(lambda one: one.add_many(moved))
    assert len(both.agree(lambda one: one.graph.held("2020-01-01", "2030-01-01"))) == 100
    assert len(both.agree(lambda one: one.graph.held("2020-01-01", "2030-01-01", limit=105))) == 105


def test_writes_agree(both: Both) -> None:
    added = both.agree(lambda one: one.add("Rui bought a boat.", speaker="Rui", at=NOW, meta={"a": 1}))
    assert isinstance(added.event, Event)
    both.agree(lambda one: one.add("Rui bought a boat.", speaker="Rui", at=NOW))
    both.agree(lambda one: one.add_many([Event(text="by an object", at=NOW), {"text": "and", "at": 1_780_000_000}]))
    both.agree(lambda one: one.add_many([]))
    both.agree(lambda one: one.space("acme/ana").wing("boats").add("The boat leaks.", at=NOW))
    both.agree(lambda one: one.space("acme/ana").wing("boats").recall("leaks"))
    both.agree(lambda one: one.space("acme/ana").wing("cars").recall("leaks"))
    statement = next(one for one in both.client.statements() if one.about == "Ana")
    both.agree(lambda one: one.correct(statement.id, "Ana lives in Faro."))
    both.agree(lambda one: one.retract(one.statements(about="Ana")[0].id))
    both.agree(lambda one: one.forget(session="s2", dry_run=True))
    both.agree(lambda one: one.forget(session="s2"))
    both.agree(lambda one: one.forget(ids=[added.id], keys=None))
    both.agree(lambda one: one.admin.settle())
    both.agree(lambda one: one.admin.rebuild(vectors=False))
    both.agree(lambda one: one.stats())
    both.agree(lambda one: one.events())


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.recall(""),
        lambda one: one.recall("x", k=0),
        lambda one: one.recall("x", k=10_000),
        lambda one: one.recall("x", since="soon"),
        lambda one: one.get("nonsense"),
        lambda one: one.get("ev_" + "0" * 32),
        lambda one: one.get(),
        lambda one: one.add(""),
        lambda one: one.add("other words", key="a"),
        lambda one: one.add("x", speaker=" "),
        lambda one: one.add_many("x"),
        lambda one: one.add_many([{"text": "x", "colour": "red"}]),
        lambda one: one.statements(kind="nonsense"),
        lambda one: one.history("st_x"),
        lambda one: one.retract("st_x"),
        lambda one: one.forget(),
        lambda one: one.wing("a").recall("x", wing="b"),
        lambda one: one.space("").recall("x"),
        lambda one: one.changes(after="nonsense"),
        lambda one: one.admin.page_of_events(cursor="nonsense"),
    ],
)
def test_errors_agree(unchanged: Both, call: Callable[[Any], Any]) -> None:
    assert isinstance(unchanged.agree(call), EverywordError)


def test_files_agree(both: Both, tmp_path: Path) -> None:
    both.memory.admin.export(tmp_path / "a.jsonl")
    assert both.client.admin.export(tmp_path / "b.jsonl") == len(HISTORY)
    with pytest.raises(BadLocation, match="exists already"):
        both.client.admin.export(tmp_path / "b.jsonl")
    both.agree(lambda one: one.space("copy").import_events(tmp_path / "a.jsonl"))
    both.agree(lambda one: one.space("copy").import_events(tmp_path / "b.jsonl"))
    assert len(list(both.client.space("copy").events())) == len(HISTORY)
    both.client.admin.backup(tmp_path / "c.db")
    with Memory.open(tmp_path / "c.db", embedder="hashing", create=False) as copy:
        assert copy.stats().events == len(HISTORY)
    with pytest.raises(BadLocation, match="zip"):
        both.client.import_events(tmp_path)
    assert not list(tmp_path.glob("*.partial"))


def test_many_events_come_in_pages_and_lazily(both: Both) -> None:
    both.client.add_many({"text": f"line {number}", "session": "long"} for number in range(1_201))
    events = both.client.events(session="long")
    assert next(events).text == "line 0"
    assert sum(1 for _ in events) == 1_200
    assert len(list(both.client.events(session="long", limit=700))) == 700


def test_what_can_not_be_sent_is_said_at_once(both: Both) -> None:
    with pytest.raises(InvalidInput, match="can't be sent"):
        both.client.context("x", hits=both.memory.recall("x"))
    with pytest.raises(InvalidInput, match="JSON"):
        both.client.add("x", meta={"when": NOW})
    with pytest.raises(TypeError):
        both.client.recall("x", colour="red")
    with pytest.raises(InvalidSetting):
        Client("memory.db")


def test_a_key_goes_along_and_its_limits_come_back(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        made = memory.admin.create_key("a", permission="write", spaces=["acme/ana"])
        with serving(memory) as address:
            with Client(address, key=made.secret) as client:
                client.add("The boat leaks.")
                assert memory.space("acme/ana").stats().events == 1
                with pytest.raises(NotAllowed):
                    client.forget(session="s")
                with pytest.raises(NotAllowed):
                    client.space("other").recall("x")
            with Client(address) as client, pytest.raises(KeyNeeded):
                client.recall("x")


def test_no_service_and_another_service(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory, serving(memory) as address:
        pass  # it is gone by now
    with Client(address) as client, pytest.raises(Unreachable):
        client.recall("x")
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory, serving(memory) as address:
        with Client(f"{address}/elsewhere") as client, pytest.raises(NotFound):
            client.stats()
        # What answers there is not Everyword.
        client = Client(address)
        client.connection._http = httpx.Client(
            base_url=address, transport=httpx.MockTransport(lambda _: httpx.Response(502, text="<html>"))
        )
        with pytest.raises(ServiceError, match="502"):
            client.stats()
        client.close()


ANSWERS = {
    "a page": httpx.Response(200, html="<html>Sign in</html>"),
    "no JSON": httpx.Response(200, content=b"<html>", headers={"content-type": "application/json"}),
    "nothing": httpx.Response(200, json={}),
    "a list": httpx.Response(200, json=[]),
    "null": httpx.Response(200, json=None),
    "other members": httpx.Response(200, json={"hits": [{"score": 1}], "spaces": 3, "confidence": None}),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=list(ANSWERS))
def test_what_another_program_answers_is_no_answer(tmp_path: Path, answer: httpx.Response) -> None:
    with Client("http://127.0.0.1:1") as client:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=answer.content, headers=answer.headers))
        client.connection._http = httpx.Client(base_url="http://127.0.0.1:1", transport=transport)
        calls: list[Callable[[], Any]] = [
            lambda: client.recall("x"),
            lambda: client.stats(),
            lambda: client.facts(),
            lambda: list(client.events()),
            client.admin.spaces,
            lambda: client.admin.export(tmp_path / "a.jsonl"),
            lambda: client.admin.backup(tmp_path / "a.db"),
        ]
        for call in calls:
            with pytest.raises(ServiceError, match=r"didn't come from an Everyword service.*version"):
                call()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:abc", "http://[::1", "http://:80", "http://127.0.0.1:99999", ""])
def test_an_address_that_is_none_is_said_at_once(url: str) -> None:
    with pytest.raises(InvalidSetting, match="not the address"):
        Client(url)


def test_a_host_that_no_name_can_have_is_not_reached() -> None:
    with Client("http://hooks..example.org") as client, pytest.raises(Unreachable):
        client.recall("x")


@pytest.mark.parametrize("timeout_s", [-1, 0, float("nan"), float("inf")])
def test_a_time_that_nobody_can_wait_is_refused(timeout_s: float) -> None:
    with pytest.raises(InvalidSetting, match="timeout_s"):
        Client("http://127.0.0.1:1", timeout_s=timeout_s)


def test_a_client_names_no_other_author() -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(InvalidInput, match="name of the key"):
        client.space("acme", editor="Ana")


def test_a_client_that_was_closed_says_so(tmp_path: Path) -> None:
    client = Client("http://127.0.0.1:1")
    scoped = client.space("acme")
    client.close()
    for call in (lambda: client.recall("x"), lambda: scoped.stats(), lambda: client.admin.export(tmp_path / "x.jsonl")):
        with pytest.raises(Closed):
            call()


def test_a_key_with_something_around_it_counts_and_one_that_is_none_is_not_shown(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        secret = memory.admin.create_key("a").secret
        with serving(memory) as address, Client(address, key=f" {secret}\n") as client:
            assert client.stats().events == 0
    for key in (f"{secret[:8]}\n{secret[8:]}", f"{secret}\u200b", f"{secret} and more", f"{secret}\x00"):
        with pytest.raises(InvalidSetting, match="characters") as refused:
            Client("http://127.0.0.1:1", key=key)
        assert secret[8:] not in str(refused.value)


def test_the_errors_of_an_event_keep_their_kind(unchanged: Both) -> None:
    with pytest.raises(InvalidEvent):
        unchanged.client.add("x", key="")
    with pytest.raises(KeyConflict):
        unchanged.client.add("other words", key="a")


def test_another_memory_is_sent_whole_or_not_at_all(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with Memory.open(other, embedder="hashing") as theirs:
        theirs.add("I moved to Porto.", key="k")
    with (
        Memory.open(tmp_path / "m.db", embedder="hashing") as memory,
        serving(memory) as address,
        Client(address) as client,
    ):
        done = client.import_events(other)
        assert (done.format, done.added) == ("memory", 1)
        assert client.import_events(other).known == 1
        Path(f"{other}-wal").write_bytes(b"what was not written back yet")
        with pytest.raises(InvalidInput, match="log beside it"):
            client.import_events(other)
