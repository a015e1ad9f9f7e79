"""Every query finds its rows by an index: what is quick with ten events must be quick with a million."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import apsw
import numpy as np
import pytest

from everyword.storage.sql.queries import query_names
from everyword.storage.sqlite.schema import migrate, query

NAMES = [name for name in sorted(query_names("sqlite")) if not name.startswith("where_")]
# These go through all of a table on purpose: its rows are few, or all of them are meant.
ALL_OF_IT = {
    *("space_names", "last_seq", "total_events", "models", "receipts", "bytes_by_part"),
    *("jobs", "delete_jobs_of", "delete_model_blocks", "delete_model_tail", "queue_events_without_vectors"),
}
OURS = (
    "events|statements|journal|event_tags|event_meta|vectors|postings|word_tail|pooled_tail|pooled_blocks|jobs"
    "|names|mentions|claims|facts|fact_claims|entity_edits|entity_pins|own|owner|target"
)
OURS += "|fold_nodes|fold_edges|fold_journal|fold_loose|fold_work|fold_apart|node|edge|event|work|other|first"


# Of the temporal graph and of what LLMs wrote: those that mean all of a space, or count it.
ALL_OF_A_SPACE = {
    *("all_claims", "edits", "facts_by_filter", "names_changed", "drop_all_names", "drop_all_facts"),
    *("drop_all_claims", "drop_all_mentions", "drop_all_fact_claims"),
    *("drop_loose_pins", "drop_empty_edits", "conflicting_facts"),
    *("homes_by_prefix", "refusals", "graph_counts"),
    *("longest_facts", "fact_subjects"),
    *("drop_all_statements", "drop_all_keys", "drop_all_changes", "drop_all_tags", "drop_model_readings"),
    *("drop_loose_model_readings", "drop_loose_readings", "drop_loose_sources", "seqs_resting_on"),
    *("change_counts", "tag_counts", "statement_counts", "unread", "names_known", "statements_newest"),
    "last_plan",  # the last of its rows alone
}
COUNTS = ("count_", "where_")  # and conditions, which are parts of queries


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    opened = apsw.Connection(":memory:")
    migrate(opened)
    yield opened
    opened.close()


def test_a_query_goes_through_no_table(connection: apsw.Connection) -> None:
    for name in NAMES:
        sql = query(name).replace("{where}", "")
        if name not in ALL_OF_IT and not sql.startswith("PRAGMA"):
            plan = _plan(connection, sql)
            assert not [step for step in plan if re.match(rf"SCAN (?:{OURS})\b", step)], (name, plan)


# Those that SQLite has in a form of its own.
OWN = [
    *("statement_texts", "seqs_stating", "drop_changes_about", "delete_changes_of", "drop_statements_about"),
    *("set_graph", "homes_by_prefix", "put_name", "named_in_sessions", "claims_of_key", "claims_of_names"),
    *("claims_of_homes", "fact_keys", "put_written", "owe_job", "plans_resting_on", "last_event_upto"),
]


def _of(file: str) -> list[str]:
    text = files("everyword.storage.sql").joinpath(file).read_text(encoding="utf-8")
    return [name for name in re.findall(r"^-- name: (\w+)$", text, re.MULTILINE) if not name.startswith(COUNTS)]


def test_a_query_of_what_is_derived_goes_through_no_space(connection: apsw.Connection) -> None:
    for name in {*_of("statements.sql"), *_of("graph.sql"), *_of("written.sql"), *OWN} - ALL_OF_A_SPACE:
        plan = _plan(connection, query(name).replace("{where}", ""))
        assert not [step for step in plan if re.search(r"\(space=\?\)", step)], (name, plan)


def _plan(connection: apsw.Connection, sql: str) -> list[str]:
    return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", _values(sql))]


def _values(sql: str) -> Any:
    """Make a value for each parameter: a table of numbers where one is bound, else a number."""
    if names := set(re.findall(r":(\w+)", sql)):
        tables = set(re.findall(r"carray\(:(\w+)\)", sql))
        return {name: apsw.carray(np.array([1, 2], np.int64)) if name in tables else 1 for name in names}
    values: dict[int, Any] = {}
    for place, (table, number) in enumerate(re.findall(r"(carray\()?\?(\d*)", sql), 1):
        values[int(number or place)] = apsw.carray(np.array([1, 2], np.int64)) if table else 1
    return [values[place] for place in sorted(values)]


@pytest.mark.parametrize(("name", "step"), [
    ("log_after", r"SEARCH events USING INDEX events_log \(space=\? AND rowid>\?\)"),
    ("records", r"SEARCH events USING INDEX events_record \(space=\? AND record=\?\)"),
    ("contents_after", r"SEARCH events USING INDEX events_log \(space=\? AND rowid>\?\)"),
    ("count_access", r"SEARCH events USING COVERING INDEX events_log \(space=\? AND rowid=\?\)"),
    ("concept_of_label", r"SEARCH fold_nodes USING INDEX fold_nodes_label \(space=\? AND label_key=\?\)"),
    ("concept_stands", r"SEARCH fold_nodes USING INDEX fold_nodes_id \(space=\? AND id=\?\)"),
    ("close_fold_node", r"SEARCH fold_nodes USING INDEX fold_nodes_id \(space=\? AND id=\?\)"),
    ("fold_work_of", r"SEARCH node USING INDEX fold_nodes_id \(space=\? AND id=\?\)"),
    ("fold_linked", r"SEARCH fold_edges USING INDEX fold_edges_target \(space=\? AND target=\? AND kind=\?\)"),
])  # fmt: skip
def test_what_is_asked_all_the_time_looks_at_its_own_rows_alone(
    connection: apsw.Connection, name: str, step: str
) -> None:
    plan = _plan(connection, query(name).replace("{where}", ""))
    assert [one for one in plan if re.fullmatch(step, one)], plan
    assert not [one for one in plan if one.endswith("(space=?)")], plan
