"""Every query finds its rows by an index that begins with the space, as EXPLAIN tells."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from everyword.settings import Settings
from everyword.storage.postgres import PostgresStore
from everyword.storage.sql.queries import query_names, query_of
from postgres_server import Server

# About all spaces, or about the server itself: all rows are meant, or there are few.
ALL_OF_IT = {
    *("space_names", "total_events", "jobs", "take_jobs", "finish_jobs", "take_owed_space", "loose_near"),
    *("queue_events_without_vectors", "delete_model_blocks", "delete_model_tail", "drop_near", "wanted_near"),
    *("last_seq", "models", "next_job_due", "schema_version"),
}
NO_PLAN = re.compile(r"\s*(CREATE|DROP)\b")
FEW_ROWS = {"spaces", "models", "facts_of_file", "schema_steps", "near_spaces", "turns", "row_number", "event_seq"} | {
    "api_keys",
    "webhooks",
}


@pytest.fixture(scope="module")
def connection(postgres: Server) -> Iterator[psycopg.Connection]:
    PostgresStore(f"{postgres.location}?schema=plans", Settings()).close()
    with psycopg.connect(postgres.location, autocommit=True) as opened:
        if opened.info.server_version < 160000:
            pytest.fail("EXPLAIN (GENERIC_PLAN) came with PostgreSQL 16: run this test with that or a newer one.")
        opened.execute("SET search_path = plans, public")
        opened.execute("SET enable_seqscan = off")  # the tables are empty: only what has no index is gone through
        yield opened
    postgres.as_admin("DROP SCHEMA plans CASCADE")


def test_a_query_goes_through_no_table(connection: psycopg.Connection) -> None:
    for name in sorted(query_names("postgres") - ALL_OF_IT):
        sql = query_of("postgres", name)
        if name.startswith("where_") or "{dims}" in sql or name == "among_events" or NO_PLAN.match(sql):
            continue
        sql = sql.replace("{where}", "")
        for place, named in enumerate(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)), 1):
            sql = sql.replace(f"%({named})s", f"${place}")
        plan = [row[0] for row in psycopg.ClientCursor(connection).execute(f"EXPLAIN (GENERIC_PLAN) {sql}").fetchall()]
        through = {match[1] for line in plan if (match := re.search(r"Seq Scan on (\w+)", line))}
        assert through <= FEW_ROWS, "\n".join((name, *plan))
