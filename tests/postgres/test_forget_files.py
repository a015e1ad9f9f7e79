"""What forgetting leaves in a server's own files: `scrubbed` says it as it is, held against the data directory."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from everyword import EverywordNotice, Memory
from everyword.errors import NotAllowed
from postgres_server import Server

WORD = "zanzibarvortex"
LONG = 800  # words: enough for the text to be kept in a TOAST table, however well it is compressed


def _fill(memory: Memory, server: Server) -> None:
    memory.add_many({"text": f"Other {number} stays.", "speaker": "Ana", "session": "kept"} for number in range(30))
    filler = " ".join(f"{number:x}" for number in range(LONG))
    memory.add(f"The word is {WORD} for Bo.", speaker=f"Mx {WORD}", session="gone", key=f"key {WORD}")
    memory.add(f"{filler} {WORD}a {filler}", speaker="Ana", session="gone", meta={"note": WORD})
    server.as_admin("ANALYZE")  # as the server does by itself now and then: it samples names into its statistics
    server.as_admin("CHECKPOINT")


def _holding(server: Server) -> dict[str, list[str]]:
    """List the server's files that hold the word, by their folder."""
    assert server.folder is not None
    server.as_admin("CHECKPOINT")
    found: dict[str, list[str]] = {}
    for path in server.folder.rglob("*"):
        try:
            raw = path.read_bytes() if path.is_file() else b""
        except FileNotFoundError:  # the server removes files as it likes
            continue
        if WORD.encode() in raw:
            place = path.relative_to(server.folder).parts
            found.setdefault(place[0], []).append("/".join(place[1:]))
    return found


def _statistics_files(server: Server) -> set[str]:
    """Name the files of the catalog pg_statistic, its TOAST table and indexes, below `base`."""
    rows = server.as_admin(
        "SELECT pg_relation_filepath(oid) FROM pg_class WHERE oid = 'pg_statistic'::regclass"
        " OR oid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'pg_statistic'::regclass)"
    )
    return {path.removeprefix("base/") for (path,) in rows}


def test_forgetting_says_that_words_are_left_and_where(postgres: Server, location: str) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        _fill(memory, postgres)
        assert set(_holding(postgres)) >= {"base", "pg_wal"}
        receipt = memory.forget(session="gone")
        assert receipt.events == 2
        assert not receipt.scrubbed
        assert any("tables" in where for where in receipt.left)
        assert any("pg_wal" in where for where in receipt.left)
        assert "base" in _holding(postgres)  # what was said is so
        assert [event.text for event in memory.events(session="gone")] == []
        assert memory.admin.verify().ok  # a scrub that nobody asked for is no fault
        memory.admin.settle()
        assert "base" in _holding(postgres)  # nor is it done by itself: it would lock out everybody
        assert not memory.changes()[-1].item.scrubbed


@pytest.mark.parametrize("when", ["with forget", "later"])
def test_where_scrubbed_is_said_no_table_file_holds_a_word(postgres: Server, location: str, when: str) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        _fill(memory, postgres)
        receipt = memory.forget(session="gone", scrub=when == "with forget")
        if when == "later":
            assert memory.admin.settle(scrub=True) == 1
            assert memory.admin.settle(scrub=True) == 0
        else:
            assert receipt.scrubbed
            assert any("pg_wal" in where for where in receipt.left)
            assert any("pg_statistic" in where for where in receipt.left)
            assert not any("tables" in where for where in receipt.left)
        forgotten = [news.item for news in memory.changes() if news.kind == "forgotten"]
        assert [one.scrubbed for one in forgotten] == [True]
        holding = _holding(postgres)
        # The log is named in the receipt, and so is the catalog, which only a superuser may rewrite.
        assert set(holding.get("base", ())) <= _statistics_files(postgres)
        assert set(holding) <= {"base", "pg_wal"}
        assert len(list(memory.events())) == 30
        assert memory.admin.verify().ok
    postgres.as_admin("VACUUM FULL pg_statistic")
    assert "base" not in _holding(postgres)


def test_a_superuser_s_scrub_reaches_the_statistics_too(postgres: Server, location: str) -> None:
    as_superuser = f"{postgres.admin.rsplit('/', 1)[0]}/memory?{location.partition('?')[2]}"
    with Memory.open(as_superuser, embedder="hashing") as memory:
        _fill(memory, postgres)
        receipt = memory.forget(session="gone", scrub=True)
        assert receipt.scrubbed
        assert not any("pg_statistic" in where for where in receipt.left)
        assert set(_holding(postgres)) <= {"pg_wal"}


def test_a_transaction_that_still_sees_what_was_forgotten_keeps_scrubbed_from_being_said(
    postgres: Server, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everyword.storage.postgres import store

    monkeypatch.setattr(store, "_BETWEEN_REWRITES_S", 0.01)
    with Memory.open(location, embedder="hashing") as memory:
        _fill(memory, postgres)
        with psycopg.connect(postgres.admin, dbname="memory") as slow:
            slow.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            slow.execute("SELECT 1")  # it may read any table as of now, for as long as it stays open
            with pytest.warns(EverywordNotice, match="open transaction"):
                receipt = memory.forget(session="gone", scrub=True)
            assert not receipt.scrubbed
            assert any("tables" in where for where in receipt.left)
            assert set(_holding(postgres)["base"]) - _statistics_files(postgres)
        assert memory.admin.settle(scrub=True) == 1
        assert set(_holding(postgres).get("base", ())) <= _statistics_files(postgres)


def test_a_table_in_use_is_not_waited_for_without_end(postgres: Server, location: str) -> None:
    with Memory.open(location, embedder="hashing", busy_timeout_s=1.0) as memory:
        _fill(memory, postgres)
        with psycopg.connect(postgres.admin, dbname="memory") as slow:
            schema = location.partition("schema=")[2]
            slow.execute(f"SELECT 1 FROM {schema}.imports")  # type: ignore[arg-type]  locked until its transaction ends
            with pytest.warns(EverywordNotice, match=r"settle\(scrub=True\)"):
                assert not memory.forget(session="gone", scrub=True).scrubbed


def test_who_has_one_space_can_not_lock_out_the_others(location: str) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        tenant = memory.space("acme", walled=True)
        said = tenant.add("Mine.").event
        with pytest.raises(NotAllowed, match="every space"):
            tenant.forget(ids=[said.id], scrub=True)
        assert tenant.forget(ids=[said.id]).events == 1


def test_nothing_forgotten_comes_back_by_an_import(location: str, tmp_path: Path) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        memory.add("The boat is red.", at="2026-03-01T10:00:00Z")
        memory.add("The boat is old.", key="k1", at="2026-03-01T10:00:01Z")
        memory.admin.export(tmp_path / "all.jsonl")
        memory.forget(before="2026-04-01")
        assert memory.import_events(tmp_path / "all.jsonl").skipped == {"it was forgotten": 2}
        assert memory.import_events(tmp_path / "all.jsonl", again=True).added == 2
