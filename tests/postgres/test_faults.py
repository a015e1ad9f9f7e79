"""What goes wrong with servers: one typed error that says what to do, no password in it, nothing half-written."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from everyword import Memory
from everyword.errors import (
    BadLocation,
    EverywordError,
    NewerSchema,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreInterrupted,
    StoreReadOnly,
    StoreUnreachable,
)
from everyword.settings import Settings
from everyword.storage.postgres import PostgresStore
from postgres_server import DATABASE, PASSWORD, USER, Server

SECRET = "hunter2%20secret"


def _error(location: str, **settings) -> EverywordError:
    """Open a memory that can't be opened; give the error, which must not hold the password."""
    with pytest.raises(EverywordError) as caught:
        Memory.open(location, embedder="hashing", **settings)
    told = f"{caught.value} {caught.value.__cause__!r} {caught.value.__context__!r} {caught.value.args}"
    for secret in ("hunter2", PASSWORD):
        assert secret not in told
    return caught.value


# Locations and servers that won't do


def test_a_wrong_password_is_told_and_not_shown(postgres: Server) -> None:
    error = _error(f"postgresql://everyword:{SECRET}@{postgres.host}:{postgres.port}/{DATABASE}")
    assert isinstance(error, BadLocation)
    assert "password" in str(error)


def test_an_unknown_database_or_user_is_told(postgres: Server) -> None:
    assert isinstance(_error(postgres.location.replace(f"/{DATABASE}", "/nowhere")), BadLocation)
    error = _error(f"postgresql://nobody_here:{SECRET}@{postgres.host}:{postgres.port}/{DATABASE}")
    assert isinstance(error, BadLocation)


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        error = _error(f"postgresql://ana:{SECRET}@127.0.0.1:{taken.getsockname()[1]}/db")
    assert isinstance(error, StoreUnreachable)
    assert "127.0.0.1" in str(error)


@pytest.mark.parametrize(
    "location",
    [
        f"postgresql://ana:{SECRET}@host:notaport/db",
        f"postgresql://ana:{SECRET}@host/db?nonsense=1",
        f"postgresql://ana:{SECRET}@[::1/db",
        f"postgresql://ana:{SECRET}@host/db?schema=Drop%20Table",
        f"postgresql://ana:{SECRET}@host/db?schema=",
        f"postgresql://ana:{SECRET}%zz@host/db?schema",
    ],
)
def test_a_location_that_makes_no_sense_is_refused(location: str) -> None:
    assert isinstance(_error(location), BadLocation | StoreUnreachable)


def test_what_is_shown_of_a_location_has_no_password(location: str) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        for shown in (memory.location, repr(memory), memory.stats().location):
            assert PASSWORD not in shown
            assert PASSWORD.replace(" ", "%20") not in shown
            assert "everyword@" in shown


def test_a_memory_that_is_not_there_is_not_made_where_none_is_wanted(location: str, postgres: Server) -> None:
    schema = location.rpartition("=")[2]
    assert isinstance(_error(location, create=False), BadLocation)
    assert isinstance(_error(location, read_only=True), BadLocation)
    assert postgres.as_admin(f"SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'") == [(0,)]


def test_a_database_without_pgvector_says_what_to_run(postgres: Server) -> None:
    postgres.as_admin("DROP DATABASE IF EXISTS bare")
    postgres.as_admin("CREATE DATABASE bare OWNER everyword")
    try:
        error = _error(postgres.location.replace(f"/{DATABASE}", "/bare"))
        assert isinstance(error, StoreError)
        assert "CREATE EXTENSION vector" in str(error)
        assert postgres.as_admin("SELECT count(*) FROM pg_namespace WHERE nspname = 'everyword'", "bare") == [(0,)]
    finally:
        postgres.as_admin("DROP DATABASE bare")


@pytest.fixture
def old_server() -> Iterator[str]:
    """Speak just enough of the protocol to be an old server."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def parameter(name: bytes, value: bytes) -> bytes:
            body = name + b"\x00" + value + b"\x00"
            return b"S" + struct.pack(">I", len(body) + 4) + body

        def serve() -> None:
            client, _ = listening.accept()
            with client:
                while True:
                    client.recv(4096)
                    if not asked_for_encryption:
                        asked_for_encryption.append(True)
                        client.sendall(b"N")
                        continue
                    break
                client.sendall(
                    b"R\x00\x00\x00\x08\x00\x00\x00\x00"
                    + parameter(b"server_version", b"9.6.24")
                    + parameter(b"client_encoding", b"UTF8")
                    + b"Z\x00\x00\x00\x05I"
                )
                client.recv(4096)

        asked_for_encryption: list[bool] = []
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"postgresql://ana:{SECRET}@127.0.0.1:{listening.getsockname()[1]}/db?gssencmode=disable"
        thread.join(5)


def test_an_old_server_is_refused(old_server: str) -> None:
    error = _error(old_server)
    assert isinstance(error, StoreError)
    assert "too old" in str(error)
    assert "14" in str(error)


def test_a_newer_schema_is_not_touched(location: str, postgres: Server) -> None:
    Memory.open(location, embedder="hashing").close()
    schema = location.rpartition("=")[2]
    postgres.as_admin(f"INSERT INTO {schema}.schema_steps (number) VALUES (9999)")
    assert isinstance(_error(location), NewerSchema)


def test_a_migration_that_fails_leaves_nothing(location: str, postgres: Server, monkeypatch) -> None:
    from everyword.storage.postgres import connect as steps

    good = steps.migrations("postgres")
    monkeypatch.setattr(steps, "migrations", lambda _: (*good[:1], (2, "CREATE TABLE one (a int); SELECT nonsense")))
    name = location.rpartition("=")[2]
    assert isinstance(_error(location), StoreError)
    monkeypatch.undo()
    assert postgres.as_admin(f"SELECT max(number) FROM {name}.schema_steps") == [(1,)]
    assert postgres.as_admin(f"SELECT to_regclass('{name}.one')") == [(None,)]
    with Memory.open(location, embedder="hashing") as memory:
        assert memory.add("It works.").new


# Servers that only read


def test_a_replica_is_read_and_never_written(location: str, postgres: Server) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        memory.add("I moved to Lisbon.", speaker="Ana")
    # As a hot standby does it, every transaction reads.
    with Memory.open(f"{location}&options=-cdefault_transaction_read_only%3Don", embedder="hashing") as replica:
        assert replica.recall("Where does Ana live?")[0].text == "I moved to Lisbon."
        with pytest.raises(StoreReadOnly):
            replica.add("I moved again.")
        assert replica.admin.verify().ok


def test_a_server_that_stops_writing_says_so(location: str, postgres: Server) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        memory.add("one")
        postgres.as_admin(f"REVOKE INSERT ON {location.rpartition('=')[2]}.events FROM everyword")
        with pytest.raises(StoreReadOnly):
            memory.add("two")
        assert memory.stats().events == 1
        assert memory.admin.verify().ok


# Cut in the middle


def _cut(postgres: Server) -> None:
    postgres.as_admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'everyword'")


def test_a_connection_cut_in_mid_write_leaves_nothing_half_written(location: str, postgres: Server) -> None:
    from conformance.making import NOW, SPACE, drafts

    store = PostgresStore(location, Settings())
    with pytest.raises(StoreInterrupted), store.writer(SPACE) as writer:  # noqa: PT012
        writer.append(drafts(["one", "two"]), None, now=NOW, queue=True)
        _cut(postgres)
        writer.file.set_fact("colour", "blue")
    with store.file_reader() as reader:
        assert reader.total_events() == 0
        assert reader.fact("colour") is None
    assert store.audit().problems == ()
    store.close()


def test_a_write_that_is_cut_is_done_again_by_itself_and_once(location: str, postgres: Server, monkeypatch) -> None:
    from everyword.storage.postgres import store as module

    with Memory.open(location, embedder="hashing") as memory:
        memory.add("before")
        cut_at = iter(("before the commit", "after the commit"))
        commit = module._commit

        def cut_off(connection) -> None:
            moment = next(cut_at, None)
            if moment == "after the commit":  # the server has it, the answer is lost
                commit(connection)
            if moment is not None:
                _cut(postgres)
            commit(connection)

        monkeypatch.setattr(module, "_commit", cut_off)
        written = memory.add("I moved to Lisbon.", speaker="Ana")
        assert written.event.text == "I moved to Lisbon."
        assert [event.text for event in memory.events()] == ["before", "I moved to Lisbon."]
        assert memory.admin.verify().ok


def test_idle_connections_that_were_cut_are_replaced(location: str, postgres: Server) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        memory.add("I moved to Lisbon.", speaker="Ana")
        for _ in range(3):
            _cut(postgres)
            assert memory.recall("Lisbon")
            assert memory.add(f"now {time.time()}").new


def test_a_writer_that_waits_too_long_says_so(location: str) -> None:
    store = PostgresStore(location, Settings(busy_timeout_s=0.3))
    with store.writer("home") as first:
        first.set_cursor("facts", 1)
        with store.writer("away") as elsewhere:
            elsewhere.set_cursor("facts", 1)  # another space: nobody waits
        with pytest.raises(StoreBusy), store.writer("home") as second:
            second.set_cursor("facts", 2)
    store.close()


def test_a_writer_may_have_less_patience_than_others(location: str) -> None:
    store = PostgresStore(location, Settings())
    with store.writer("home") as first:
        first.set_cursor("facts", 1)
        began = time.monotonic()
        with pytest.raises(StoreBusy), store.writer("home", patience_s=0.0001) as second:
            second.put_accesses({})
        with pytest.raises(StoreBusy), store.writer("home", patience_s=0.1) as second:
            second.set_cursor("facts", 2)
        assert time.monotonic() - began < 10
    with store.writer("home", patience_s=0.1) as third:
        third.set_cursor("facts", 2)
    store.close()


def test_a_connection_on_which_no_transaction_begins_is_closed(location: str) -> None:
    store = PostgresStore(location, Settings())
    held = store._pool._idle_or_new()
    store._pool._give_back(held)
    with pytest.raises(psycopg.ProgrammingError), store._pool.taken(b"BEGIN; SELECT nonsense"):
        pass
    assert held.closed
    store.close()


def test_more_at_once_than_there_are_connections_waits_and_then_says_so(location: str) -> None:
    store = PostgresStore(location, Settings(busy_timeout_s=0.3, pool_size=1))
    with store.file_reader(), pytest.raises(StoreBusy, match="pool_size"), store.file_reader():
        pass
    with store.file_reader() as reader:
        assert reader.spaces() == []
    store.close()


def test_a_full_server_is_used_with_the_connections_that_are_there(location: str, postgres: Server) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        memory.add("I like tea.")
        postgres.as_admin(f"ALTER ROLE {USER} CONNECTION LIMIT 1")
        try:
            with ThreadPoolExecutor(4) as pool:
                added = list(pool.map(lambda number: memory.space(f"s{number}").add("I like rum.").new, range(12)))
            assert added == [True] * 12
            error = _error(location, busy_timeout_s=0.3)
            assert isinstance(error, StoreBusy)
            assert "no connection left" in str(error)
        finally:
            postgres.as_admin(f"ALTER ROLE {USER} CONNECTION LIMIT -1")


@pytest.mark.parametrize("setting", ["standard_conforming_strings", "row_security"])
def test_settings_of_a_database_change_nothing(location: str, postgres: Server, setting: str) -> None:
    postgres.as_admin(f"ALTER DATABASE {DATABASE} SET {setting} = off")
    try:
        with Memory.open(location, embedder="hashing") as memory:
            memory.add("I moved to Porto \\ 'really'.", speaker="Ana", session="s", meta={"a": "b"})
            assert memory.recall("Porto")
            assert memory.statements()
            assert memory.admin.verify().ok
    finally:
        postgres.as_admin(f"ALTER DATABASE {DATABASE} RESET {setting}")


def test_deadlocked_writers_are_told_apart_and_one_goes_on(location: str) -> None:
    store = PostgresStore(location, Settings())
    meet = threading.Barrier(2)
    outcomes: list[str] = []

    def write(mine: str, yours: str) -> None:
        try:
            with store.file_writer() as writer:
                writer.writer(mine).set_cursor("facts", 1)
                meet.wait()
                writer.writer(yours).set_cursor("facts", 1)
            outcomes.append("done")
        except StoreInterrupted:
            outcomes.append("interrupted")

    threads = [threading.Thread(target=write, args=names) for names in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(outcomes) == ["done", "interrupted"]
    store.close()


def test_a_full_disk_keeps_nothing_of_the_write(location: str, postgres: Server) -> None:
    """A server that is out of space says 53100; a trigger says it here, since no test can fill a disk."""
    schema = location.rpartition("=")[2]
    with Memory.open(location, embedder="hashing") as memory:
        memory.add("before")
        postgres.as_admin(
            f"CREATE FUNCTION {schema}.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;"
            f" CREATE TRIGGER full_disk AFTER INSERT ON {schema}.vectors EXECUTE FUNCTION {schema}.full()"
        )
        with pytest.raises(StoreFull):
            memory.add("I moved to Lisbon.", speaker="Ana")
        assert [event.text for event in memory.events()] == ["before"]
        assert memory.admin.verify().ok
        postgres.as_admin(f"DROP TRIGGER full_disk ON {schema}.vectors")
        assert memory.add("I moved to Lisbon.", speaker="Ana").new


def test_a_transaction_that_failed_inside_is_never_taken_for_committed(location: str) -> None:
    store = PostgresStore(location, Settings())
    with pytest.raises(StoreError, match="nothing of this write"), store.file_writer() as writer:  # noqa: PT012
        writer.set_fact("colour", "blue")
        with pytest.raises(psycopg.Error):
            writer.server.connection.execute("SELECT nonsense")
    with store.file_reader() as reader:
        assert reader.fact("colour") is None
    store.close()


def test_a_child_process_must_open_it_anew(location: str) -> None:
    from everyword.errors import StoreForked

    store = PostgresStore(location, Settings())
    store._pid = -1
    with pytest.raises(StoreForked, match="forked"), store.file_reader():
        pass
    store._pid = os.getpid()
    store.close()
