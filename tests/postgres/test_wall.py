"""The wall between tenants: the server itself keeps a transaction to its space, and strangers out."""

from __future__ import annotations

import psycopg
import pytest

from everyword import Memory
from everyword.settings import Settings
from everyword.storage.postgres import PostgresStore
from everyword.storage.postgres.snapshot import space_number
from postgres_server import DATABASE, Server


@pytest.fixture
def schema(location: str) -> str:
    """Fill two spaces with everything that there is; give the schema."""
    with Memory.open(location, embedder="hashing") as memory:
        for name in ("mine", "yours"):
            memory.space(name).add_many(
                [{"text": f"I moved to Lisbon, said {name} {n}.", "speaker": "Ana", "session": "s"} for n in range(5)]
            )
            memory.space(name).add("I moved to Porto.", speaker="Ana")
        memory.admin.settle()
    return location.rpartition("=")[2]


def _walled(connection: psycopg.Connection) -> list[str]:
    rows = connection.execute("SELECT t::text FROM tables_by_space() t WHERE t::text != 'spaces'").fetchall()
    return [row[0] for row in rows]


def _as_owner(postgres: Server, schema: str) -> psycopg.Connection:
    connection = psycopg.connect(postgres.location, autocommit=True)
    connection.execute(f"SET search_path = {schema}, public")
    return connection


def test_a_transaction_that_says_nothing_sees_nothing(schema: str, postgres: Server) -> None:
    with _as_owner(postgres, schema) as connection:
        tables = _walled(connection)
        assert {"events", "vectors", "statements", "jobs", "readings"} <= set(tables)
        assert [connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables] == [(0,)] * len(
            tables
        )


def test_a_query_that_forgets_the_space_sees_its_own_alone(schema: str, postgres: Server) -> None:
    with _as_owner(postgres, schema) as connection, connection.transaction():
        connection.execute("SELECT set_config('everyword.space', %s, true)", [str(space_number("mine"))])
        for table in _walled(connection):
            spaces = {row[0] for row in connection.execute(f"SELECT DISTINCT space FROM {table}")}
            assert spaces <= {space_number("mine")}, table
        texts = [row[0] for row in connection.execute("SELECT text FROM events")]
        assert len(texts) == 6
        assert not any("yours" in text for text in texts)
        assert connection.execute("UPDATE events SET text = 'gone'").rowcount == 6
        assert connection.execute("DELETE FROM statements").rowcount > 0
    with _as_owner(postgres, schema) as connection, connection.transaction():
        connection.execute("SELECT set_config('everyword.space', %s, true)", [str(space_number("yours"))])
        assert connection.execute("SELECT count(*) FROM events WHERE text = 'gone'").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM statements").fetchone() > (0,)


def test_nothing_can_be_written_into_another_space(schema: str, postgres: Server) -> None:
    with _as_owner(postgres, schema) as connection, connection.transaction(force_rollback=True):
        connection.execute("SELECT set_config('everyword.space', %s, true)", [str(space_number("mine"))])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO event_tags VALUES (%s, 'topic:a', 1)", [space_number("yours")])


@pytest.mark.parametrize("said", [None, "*", "mine"])
def test_a_role_that_has_no_business_here_sees_nothing_even_with_rights_on_the_tables(
    schema: str, postgres: Server, said: str | None
) -> None:
    postgres.as_admin("DROP ROLE IF EXISTS stranger")
    postgres.as_admin("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")
    try:
        # Somebody was generous, as for a reporting tool.
        postgres.as_admin(f"GRANT USAGE ON SCHEMA {schema} TO stranger")
        postgres.as_admin(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO stranger")
        where = f"postgresql://stranger:stranger@{postgres.host}:{postgres.port}/{DATABASE}"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(f"SET search_path = {schema}, public")
            if said is not None:
                value = said if said == "*" else str(space_number(said))
                connection.execute("SELECT set_config('everyword.space', %s, false)", [value])
            for table in [*_walled(connection), "spaces", "models", "facts_of_file"]:
                assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
                assert connection.execute(f"DELETE FROM {table}").rowcount == 0, table
    finally:
        postgres.as_admin("DROP OWNED BY stranger")
        postgres.as_admin("DROP ROLE stranger")


def test_a_member_of_the_owners_role_is_let_in(schema: str, postgres: Server) -> None:
    postgres.as_admin("DROP ROLE IF EXISTS service")
    postgres.as_admin("CREATE ROLE service LOGIN PASSWORD 'service' IN ROLE everyword")
    try:
        where = f"postgresql://service:service@{postgres.host}:{postgres.port}/{DATABASE}?schema={schema}"
        with Memory.open(where, embedder="hashing") as memory:
            assert memory.space("mine").stats().events == 6
            assert memory.space("mine").add("I moved again.", speaker="Ana").new
    finally:
        postgres.as_admin("DROP ROLE service")


def test_every_table_stands_behind_the_wall_and_every_key_begins_with_the_space(schema: str, postgres: Server) -> None:
    """A new table that forgets either would let a tenant through, or could not be distributed."""
    open_tables = postgres.as_admin(
        f"SELECT relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r'"
        " AND NOT (relrowsecurity AND relforcerowsecurity)"
    )
    assert open_tables == [("schema_steps",)]
    others = postgres.as_admin(
        "SELECT c.relname, i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
        f" WHERE c.relnamespace = '{schema}'::regnamespace AND a.attname != 'space'"
        " AND c.relname NOT IN ('models', 'facts_of_file', 'schema_steps', 'api_keys', 'webhooks')"
    )
    assert others == []


def test_partitioned_by_space_all_is_as_before(location: str, schema: str, postgres: Server) -> None:
    with _as_owner(postgres, schema) as connection:
        assert connection.execute("SELECT partition_by_space(4)").fetchone()[0] > 10
        parts = connection.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass").fetchone()
        assert parts == (4,)
    with Memory.open(location, embedder="hashing") as memory:
        mine = memory.space("mine")
        assert mine.stats().events == 6
        assert mine.recall("Where does Ana live?")
        assert mine.add("I moved to Faro.", speaker="Ana").new
        new = memory.space("new tenant")
        new.add("I moved to Braga.", speaker="Bo", session="s")
        assert [hit.text for hit in new.recall("Who moved to Braga?")] == ["I moved to Braga."]
        assert memory.admin.verify(deep=True).ok
        assert mine.forget(speaker="Ana").events == 7
        memory.admin.rebuild()
        assert memory.admin.verify(deep=True).ok
        assert memory.space("yours").stats().events == 6
        assert memory.stats(parts=True).bytes_by_part.keys() >= {"events", "vectors"}
    with _as_owner(postgres, schema) as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (0,)  # the wall stands again


def test_a_space_that_has_the_number_of_another_is_refused(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from everyword.errors import StoreError
    from everyword.storage.postgres import snapshot

    monkeypatch.setattr(snapshot, "space_number", lambda name: 7)
    store = PostgresStore(location, Settings())
    with store.writer("one") as writer:
        writer.set_cursor("facts", 1)
    with pytest.raises(StoreError, match="choose another name"), store.writer("another") as writer:
        writer.set_cursor("facts", 1)
    store.close()
