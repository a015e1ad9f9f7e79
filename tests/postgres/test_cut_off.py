"""A server that goes away in the middle of a call: every call waits for it and is done once; the waiting ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from everyword import Memory
from everyword.errors import OutOfDate, StoreInterrupted, StoreUnreachable
from everyword.interfaces.operations import OPERATIONS
from everyword.storage.postgres import store as store_module
from everyword.storage.postgres.snapshot import PostgresSnapshot
from postgres_server import USER, Server

SAID = [
    ("Ana", "I live in Leeds with my sister Mia.", "2026-01-10"),
    ("Ana", "I moved to Porto in March.", "2026-04-02"),
    ("Ana", "I decided to use Postgres for the shop.", "2026-04-03"),
    ("Ana", "I want to learn Portuguese this year.", "2026-04-04"),
    ("Ben", "The keys are in the drawer.", "2026-04-05"),
]


@pytest.fixture
def memory(location: str) -> Iterator[Memory]:
    with Memory.open(location, embedder="hashing", busy_timeout_s=10.0) as memory:
        memory.add_many([{"speaker": who, "text": text, "at": at, "session": "s"} for who, text, at in SAID])
        memory.admin.settle()
        yield memory


def _cut(postgres: Server) -> None:
    postgres.as_admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{USER}'")


@contextmanager
def _cut_before_query(postgres: Server, monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[list[str]]:
    """Cut all connections before the query of this number, once; give the names of the queries that ran."""
    ran: list[str] = []
    execute = PostgresSnapshot._execute

    def counted(self: PostgresSnapshot, name: str, *rest: Any) -> Any:
        ran.append(name)
        if len(ran) == number:
            _cut(postgres)
        return execute(self, name, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(PostgresSnapshot, "_execute", counted)
        yield ran


@contextmanager
def _cut_at_commit(postgres: Server, monkeypatch: pytest.MonkeyPatch, *, kept: bool) -> Iterator[None]:
    """Cut the connection just before or just after the first commit; the writer hears of neither."""
    commit, moments = store_module._commit, iter([True])

    def cut_off(connection: Any) -> None:
        if next(moments, False):
            if kept:
                commit(connection)
            _cut(postgres)
        commit(connection)

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_commit", cut_off)
        yield


def _arguments(memory: Memory) -> dict[str, dict[str, Any]]:
    """Give what each reading operation is asked for, where it needs something."""
    return {
        "recall": {"query": "Where does Ana live?"},
        "glance": {"query": "Where does Ana live?"},
        "context": {"query": "Where does Ana live?"},
        "ask": {"query": "Where does Ana live?"},
        "show": {"id": next(memory.events()).id},
        "statement": {"id": memory.statements()[0].id},
        "history": {"id": memory.statements()[0].id},
        "entity": {"name": "Ana"},
        "timeline": {"entity": "Ana"},
        "held": {"since": "2026-01-01", "until": "2026-12-31"},
        "concept": {"id": memory.concepts.list()[0].id} if memory.concepts.list() else None,
        "intent": {"id": memory.intents.list(status="any")[0].id} if memory.intents.list(status="any") else None,
        "export": None,  # they write a file: below
        "backup": None,
        "watch": None,
    }


def test_every_reading_operation_waits_for_a_server_that_cuts_it_off(
    memory: Memory, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = _arguments(memory)
    reading = [one for one in OPERATIONS if one.read_only and given.get(one.name, {}) is not None]
    assert {"concepts", "intents", "statements", "timeline", "window", "palace", "journal"} <= {r.name for r in reading}
    now = "2026-05-01"
    for operation in reading:
        arguments = dict(given.get(operation.name) or {})
        if operation.parameter("now"):
            arguments["now"] = now
        # The second query is in the middle of a snapshot: an idle connection that is gone is another matter.
        with _cut_before_query(postgres, monkeypatch, 2) as ran:
            found = operation.document(_listed(operation.run(memory, arguments)))
        if len(ran) >= 2:
            assert found == operation.document(_listed(operation.run(memory, arguments))), operation.name


def _listed(result: Any) -> Any:
    return list(result) if isinstance(result, Iterator) else result


def test_what_is_read_page_by_page_goes_on_where_it_was_cut_off(
    memory: Memory, postgres: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[Callable[[str], Any]] = [
        lambda name: memory.admin.export(tmp_path / f"{name}.jsonl"),
        lambda name: memory.admin.export(wiki=tmp_path / f"{name}.wiki"),
        lambda name: memory.admin.export(graph=tmp_path / f"{name}.json"),
        lambda name: memory.admin.backup(tmp_path / f"{name}.db"),
        lambda _: [event.text for event in memory.events()],
        lambda _: memory.admin.page_of_events(limit=2),
        lambda _: memory.changes().position,
        lambda _: memory.admin.verify().ok,
    ]
    for number, call in enumerate(calls):
        expected = call(f"whole{number}")
        with _cut_before_query(postgres, monkeypatch, 2):
            assert call(f"cut{number}") == expected
    with Memory.open(tmp_path / "cut3.db", embedder="hashing") as copy:
        assert copy.stats().events == len(SAID)


@pytest.mark.parametrize("moment", ["in the middle", "before the commit", "after the commit"])
def test_every_write_that_is_cut_off_is_done_once(
    memory: Memory, postgres: Server, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def cut() -> Any:
        if moment == "in the middle":
            return _cut_before_query(postgres, monkeypatch, 6)
        return _cut_at_commit(postgres, monkeypatch, kept=moment == "after the commit")

    with cut():
        added = memory.add("I bought a bicycle.", speaker="Ana")  # its time is that of the call
    assert added.new
    with cut():
        memory.identity("I am the agent of Ana.")
    assert [event.text for event in memory.events()].count("I bought a bicycle.") == 1
    assert memory.stats().events == len(SAID) + 1  # an identity is a record, not an event

    statement = memory.statements()[0]
    versions = len(memory.history(statement.id).versions)
    with cut():
        corrected = memory.correct(statement.id, "I moved to Braga.")
    assert corrected.replaces == statement.id
    assert len(memory.history(statement.id).versions) == versions + 1
    with cut():
        memory.retract(corrected.id)
    with pytest.raises(OutOfDate):
        memory.retract(corrected.id)

    with cut():
        memory.graph.merge("Ben", "Mia")
    (edit,) = memory.graph.edits()
    with cut():
        assert memory.graph.undo(edit.number).undone
    with cut():
        key = memory.admin.create_key("laptop").key
    assert [one.id for one in memory.admin.api_keys()] == [key.id]
    with cut():
        memory.admin.revoke_key(key.id)
    with cut():
        webhook = memory.admin.add_webhook("https://example.org/hook").webhook
    with cut():
        memory.admin.remove_webhook(webhook.id)
    assert memory.admin.webhooks() == []

    events = memory.stats().events
    with cut():
        receipt = memory.forget(ids=[added.event.id])
    assert receipt.removed["events"] == 1
    assert receipt.ids == (added.event.id,)
    assert memory.stats().events == events - 1
    with cut():
        memory.admin.rebuild()
    with cut():
        memory.admin.settle()
    assert memory.admin.verify().ok


def test_listeners_are_told_once_of_what_was_cut_off(
    memory: Memory, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    memory.on("event", lambda event: told.append(event.text))
    with _cut_at_commit(postgres, monkeypatch, kept=True):
        memory.add("I bought a bicycle.", speaker="Ana")
    assert told == ["I bought a bicycle."]


def test_the_waiting_ends_with_an_error_of_ours(location: str, postgres: Server) -> None:
    with Memory.open(location, embedder="hashing", busy_timeout_s=0.5) as memory:
        memory.add("I live in Leeds.", speaker="Ana")
        postgres.as_admin(f"ALTER ROLE {USER} NOLOGIN")
        try:
            _cut(postgres)
            concepts, intents = memory.concepts, memory.intents
            for call in (concepts.list, intents.list, concepts.palace, memory.wake_up, memory.stats):
                with pytest.raises((StoreUnreachable, StoreInterrupted)):
                    call()
        finally:
            postgres.as_admin(f"ALTER ROLE {USER} LOGIN")
        time.sleep(0.2)  # so far apart it is tried
        assert memory.stats().events == 1


def test_those_who_wait_for_a_server_wait_together(location: str) -> None:
    with _relayed(location) as (relayed, relay), Memory.open(relayed, embedder="hashing", busy_timeout_s=1.0) as memory:
        memory.add("I live in Leeds.", speaker="Ana")
        relay.cut()
        began = time.monotonic()
        for _ in range(10):  # one after the other, as those do who come through one door
            with pytest.raises(StoreUnreachable):
                memory.stats()
        assert time.monotonic() - began < 5
        relay.mend()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with suppress(StoreUnreachable):
                assert memory.stats().events == 1
                break
            time.sleep(0.05)  # whoever keeps asking is not kept from finding it
        assert time.monotonic() < deadline
        relay.cut()
        threading.Timer(0.4, relay.mend).start()
        assert memory.stats().events == 1  # another outage is waited out anew


class _Relay:
    """A way to the server that can be cut."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.mend(self._listening)

    def cut(self) -> None:
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # which also wakes who is reading from it
            one.close()
        self._open.clear()

    def mend(self, listening: socket.socket | None = None) -> None:
        self._listening = listening or socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, args=(self._listening,), daemon=True).start()

    def _serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(self._to)
                self._open += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while said := one.recv(1 << 16):
                other.sendall(said)
            other.shutdown(socket.SHUT_WR)


@contextmanager
def _relayed(location: str) -> Iterator[tuple[str, _Relay]]:
    parts = urlsplit(location)
    relay = _Relay(str(parts.hostname), int(parts.port or 0))
    try:
        yield location.replace(f":{parts.port}/", f":{relay.port}/"), relay
    finally:
        relay.cut()


def test_a_write_of_which_nobody_can_tell_says_so(
    location: str, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(location, embedder="hashing", busy_timeout_s=0.5) as memory:
        memory.add("I live in Leeds.", speaker="Ana")
        commit = store_module._commit

        def cut_off(connection: Any) -> None:
            commit(connection)
            postgres.as_admin(f"ALTER ROLE {USER} CONNECTION LIMIT 0")
            _cut(postgres)
            commit(connection)

        try:
            with monkeypatch.context() as patch:
                patch.setattr(store_module, "_commit", cut_off)
                with pytest.raises(StoreUnreachable, match="may be stored or not"):
                    memory.add("I moved to Porto.", speaker="Ana")
        finally:
            postgres.as_admin(f"ALTER ROLE {USER} CONNECTION LIMIT -1")
        assert memory.stats().events == 2
