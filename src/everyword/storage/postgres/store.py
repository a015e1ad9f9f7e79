"""A PostgreSQL schema as a store: snapshots for readers, a lock per space and one transaction for a writer."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql

from everyword.errors import (
    BadLocation,
    StoreBusy,
    StoreError,
    StoreForked,
    StoreInterrupted,
    StoreReadOnly,
    StoreUnreachable,
)
from everyword.settings import Settings
from everyword.storage.copy import copy_store
from everyword.storage.nearest import unit_bounds
from everyword.storage.postgres.connect import (
    Answers,
    Connection,
    Pool,
    begin_transaction,
    connect,
    migrate,
    place_of,
    schema_version,
    search_path,
    translated_errors,
    vector_schema,
)
from everyword.storage.postgres.snapshot import (
    EVERYWHERE,
    PostgresSnapshot,
    PostgresTransaction,
    ask,
    query,
    space_number,
    statement,
    turn_of,
)
from everyword.storage.postgres.writer import PostgresFileWriter, put_near
from everyword.storage.protocol import ServerCard, Store
from everyword.storage.rows import VIEWS, Model
from everyword.storage.sql.queries import check_schema, newest_schema
from everyword.storage.sql.snapshot import Caches, array
from everyword.storage.sqlite import SqliteStore
from everyword.text.terms import ANALYSIS_VERSION

_NUMBER = re.compile(r"\d+")
_LEFT_IN_TABLES = "pages of the server's tables and indexes, until settle(scrub=True) rewrites them"
_LEFT_IN_STATISTICS = (
    "old rows of the catalog pg_statistic, which samples sessions, speakers and keys; a superuser's VACUUM FULL "
    "pg_statistic removes them"
)
_LEFT_ON_SERVER = (
    "the server's write-ahead log (pg_wal), until its segments are overwritten or removed",
    "replicas, archives and backups of the server, and its log where it logs parameters",
)
_REWRITE_TRIES = 4  # of one table: a reader that began before is mostly gone a moment later
_BETWEEN_REWRITES_S = 0.5
_BETWEEN_TRIES_S = 0.1  # to ask a server that went away what became of a write


class PostgresStore(Store):
    """One schema of a database, shared by any number of threads, processes and machines."""

    scrubs_itself = False  # VACUUM FULL locks each table against all readers and writers, of every space
    unscrubbed = (_LEFT_IN_TABLES, _LEFT_IN_STATISTICS, *_LEFT_ON_SERVER)

    def __init__(self, location: str, settings: Settings, *, create: bool = True) -> None:
        super().__init__()
        self._place = place_of(location)
        self._settings = settings
        self._owner = True
        self._everywhere = EVERYWHERE
        self._memos = Caches()
        self._listening: Connection | None = None
        with translated_errors(self._place.password):
            self._open(create=create)
        self._pool = Pool(self._place, most=settings.pool_size, wait_s=settings.busy_timeout_s)

    @property
    def location(self) -> str:
        return self._place.shown

    def only(self, space: str) -> PostgresStore:
        """Give the same store as if it held one space alone: what a worker does with it is done for that one."""
        one = copy.copy(self)
        one._everywhere = str(space_number(space))
        one._owner = False
        return one

    @contextmanager
    def file_writer(
        self, *, patience_s: float | None = None, space: str | None = None
    ) -> Generator[PostgresFileWriter]:
        with self.transaction(patience_s, space) as sql:
            yield PostgresFileWriter(sql)

    @contextmanager
    def snapshot(self) -> Generator[PostgresSnapshot]:
        """Begin a transaction that reads."""
        self._check_usable()
        with self._translated_errors(), self._pool.taken(self._begin_reading) as (connection, _):
            try:
                yield PostgresSnapshot(connection, self._caches, self._everywhere)
            finally:
                _end(connection)

    @contextmanager
    def transaction(self, patience_s: float | None = None, space: str | None = None) -> Generator[PostgresTransaction]:
        """Begin a transaction that writes, in the turn of a space; commit at the end of the `with` block."""
        self._check_usable()
        if self.read_only:
            raise StoreReadOnly
        begin = [self._begin_writing]
        if patience_s is not None:
            begin.append(b"SET LOCAL lock_timeout = %d" % _milliseconds(patience_s))
        if space is not None:
            begin.append(turn_of(self._place.schema, space))
        with self._translated_errors(), self._pool.taken(b"; ".join(begin)) as (connection, answers):
            try:
                writing = PostgresTransaction(connection, self._place.schema, self._memos, self._everywhere)
                if space is not None:
                    writing.take_turn(space, _last_row(answers))
                    writing.space(space)  # models come with it
                yield writing
                self._check_usable()  # not a child that was forked in the block
                if writing.owes:
                    connection.execute(sql.SQL("NOTIFY {}").format(sql.Identifier(self.channel)))
                self._end_writing(connection, writing)
                self._commits.count += 1
            except BaseException:
                self._memos.clear()
                raise
            finally:
                _end(connection)

    @contextmanager
    def owed(self, *, now: int, but: Sequence[str] = ()) -> Generator[str | None]:
        self._check_usable()
        with translated_errors(self._place.password), self._pool.taken(self._begin_writing) as (connection, _):
            try:
                snapshot = PostgresSnapshot(connection, self._caches, self._everywhere)
                left_out = array([space_number(space) for space in but])
                views = (tuple(VIEWS), array(list(VIEWS.values())))
                rows = snapshot.rows("take_owed_space", (now, left_out, *views, ANALYSIS_VERSION))
                yield rows[0][0] if rows else None
            finally:
                _end(connection)

    def about(self) -> ServerCard:
        with self.snapshot() as snapshot:
            snapshot.go_everywhere()
            return ServerCard(*snapshot.rows("server_card")[0])

    def wait_for_work(self, timeout_s: float) -> None:
        self._check_usable()
        with translated_errors(self._place.password):
            if self._listening is None or self._listening.closed:
                self._listening = connect(self._place)
                self._listening.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self.channel)))
            for _ in self._listening.notifies(timeout=timeout_s, stop_after=1):
                pass

    @property
    def channel(self) -> str:
        """Name the channel on which work is announced."""
        return f"everyword_{self._place.schema}"

    def tend(self) -> int:
        return _build_near(self)

    @contextmanager
    def plain_connection(self) -> Generator[Connection]:
        """Give a connection without a transaction, for what can't be done in one."""
        with translated_errors(self._place.password), closing(connect(self._place)) as connection:
            connection.execute(sql.SQL("SET search_path = {}").format(self._path))
            yield connection

    def scrub(self) -> tuple[str, ...]:
        # A plain VACUUM frees the space of removed rows and leaves their bytes in it. Only a new file has none of them.
        self._check_usable()
        with self.plain_connection() as connection:
            wait_ms = _milliseconds(self._settings.busy_timeout_s)
            connection.execute(sql.SQL("SET lock_timeout = {}").format(sql.Literal(wait_ms)))
            for name in self._tables(connection):
                _rewrite(connection, sql.Identifier(self._place.schema, name))
            if not ask(connection, "is_superuser"):
                return (_LEFT_IN_STATISTICS, *_LEFT_ON_SERVER)
            _rewrite(connection, sql.Identifier("pg_catalog", "pg_statistic"))
            return _LEFT_ON_SERVER

    def renew_digests(self, tables: Collection[str]) -> None:
        """Do nothing: a server's tables have no digests."""

    def _copy_into(self, path: Path) -> None:
        """Write a copy as a file that opens by itself; for the server's own backups, see its manual."""
        with closing(SqliteStore(path, Settings(durability="normal"))) as copy:
            copy_store(self, copy, lambda what, done, total: None)

    def size(self, *, by_part: bool = False) -> tuple[int, dict[str, int]]:
        with self.snapshot() as snapshot:
            parts: dict[str, int] = {row[0]: row[1] for row in snapshot.rows("bytes_by_part")}
        return sum(parts.values()), parts if by_part else {}

    def close(self) -> None:
        if self._owner and not self._pool.closed:
            if self._listening is not None and self._is_ours():
                self._listening.close()
            self._pool.close(forked=not self._is_ours())

    @property
    def closed(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  with all that share the pool
        return self._pool.closed

    # Inside

    def _open(self, *, create: bool) -> None:
        with closing(connect(self._place)) as connection:
            self.read_only = self._settings.read_only or bool(ask(connection, "server_reads_only"))
            have = self._version(connection)
            if have == 0 and (self.read_only or not create):
                raise BadLocation(f"There is no memory at {self.location}; write to it first, or check the location.")
            check_schema(have, "postgres", read_only=self.read_only)
            vectors_in = vector_schema(connection)
            self._path = search_path(self._place, vectors_in)
            wait_ms = _milliseconds(self._settings.busy_timeout_s)
            more: list[sql.Composable] = [sql.SQL("lock_timeout = {}").format(sql.Literal(wait_ms))]
            if self._settings.durability == "normal":
                more.append(sql.SQL("synchronous_commit = off"))
            self._begin_reading = begin_transaction(self._place, vectors_in, read_only=True).as_bytes(connection)
            self._begin_writing = begin_transaction(self._place, vectors_in, read_only=False, more=more).as_bytes(
                connection
            )
            if have < newest_schema("postgres"):
                migrate(connection, self._place, self._begin_writing)

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        with translated_errors(self._place.password):
            try:
                yield
            except psycopg.Error as error:
                if not self._is_ours():  # forked in the block, and cut off
                    raise StoreForked from error
                raise

    def _end_writing(self, connection: Connection, writing: PostgresTransaction) -> None:
        """Commit; where the answer is cut off, learn from the server what became of it."""
        number = writing.number
        whole = connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS  # no query has failed
        if number is None and whole:
            number = ask(connection, "transaction_number")
        try:
            _commit(connection)
        except psycopg.OperationalError:
            if number is None or not self._was_committed(number, writing.appended):
                raise

    def _was_committed(self, number: str, appended: tuple[str, bytes] | None) -> bool:
        """Ask the server, once it is back.

        A server that crashed may give the number of a lost transaction to another one, so `committed` is believed only
        where the event that was appended is there too.
        """
        deadline = time.monotonic() + self._settings.busy_timeout_s
        while True:
            try:
                became = self._status(number)
                if became == "committed" and appended is not None:
                    with self.reader(appended[0]) as reader:
                        return appended[1] in reader.find([appended[1]])
                if became != "in progress":
                    return became == "committed"
            except (StoreUnreachable, StoreBusy, StoreInterrupted):
                pass  # it is still away, or went away once more
            if time.monotonic() + _BETWEEN_TRIES_S > deadline:
                raise StoreUnreachable(
                    "The server went away during this write and has not come back; the write may be stored or not.",
                    fix="Check when it is back, before you repeat the write.",
                )
            time.sleep(_BETWEEN_TRIES_S)

    def _status(self, number: str) -> str:
        with self.plain_connection() as connection:
            try:
                return ask(connection, "transaction_status", (number,))
            except psycopg.errors.InvalidParameterValue:
                return "lost"  # a number that the server has not given out, as far as it knows after a crash

    def _version(self, connection: Connection) -> int:
        connection.execute(begin_transaction(self._place, "pg_catalog", read_only=True))
        try:
            return schema_version(connection)
        finally:
            connection.execute("ROLLBACK")

    def _tables(self, connection: Connection) -> list[str]:
        cursor = psycopg.RawCursor(connection)
        return [row[0] for row in cursor.execute(statement("tables"), [self._place.schema]).fetchall()]


def _rewrite(connection: Connection, table: sql.Identifier) -> None:
    """Write a table and its indexes into new files, without removed rows, and sample it anew for the planner."""
    refused: list[str] = []  # the server only warns of a table that this role may not rewrite
    seen: list[str] = []  # rows that were removed and that an older transaction may still read: they are copied along

    def listen(notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            refused.append(notice.message_primary or "")
        # "17 dead row versions cannot be removed yet", in the server's language.
        elif (found := _NUMBER.search(notice.message_detail or "")) and int(found[0]):
            seen.append(notice.message_primary or "")

    connection.add_notice_handler(listen)
    try:
        for _ in range(_REWRITE_TRIES):
            seen.clear()
            connection.execute(sql.SQL("VACUUM (FULL, VERBOSE) {}").format(table))
            if not seen:
                break
            time.sleep(_BETWEEN_REWRITES_S)
    finally:
        connection.remove_notice_handler(listen)
    if refused:
        raise StoreError(f"The server did not rewrite a table: {refused[0]}", fix="Scrub as the owner of the tables.")
    if seen:
        raise StoreBusy(
            "An open transaction still sees rows that were removed, so that they could not be dropped.",
            fix="End long transactions and unused replication slots, then call settle(scrub=True).",
        )
    connection.execute(sql.SQL("ANALYZE {}").format(table))


def _milliseconds(seconds: float) -> int:
    """Convert a time to wait for a lock; 0 would be for ever."""
    return max(1, round(seconds * 1000))


def _last_row(answers: Answers) -> Sequence[Any]:
    """Read the row of the last query of several that were sent as one."""
    while answers.nextset():
        pass
    return answers.fetchall()[0]


def _commit(connection: Connection) -> None:
    done = connection.execute("COMMIT").statusmessage
    if done != "COMMIT":  # the server undid it, and somebody went on as if nothing had happened
        raise StoreError("A query failed; nothing of this write was stored.")


def _end(connection: Connection) -> None:
    """Undo what was not committed; a connection on which that fails is not used again."""
    if connection.closed or connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
        return
    try:
        connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


_FILLED_AT_ONCE = 4_096  # rows in one transaction: writers of the space wait for it


def _build_near(store: PostgresStore) -> int:
    """Fill and index what is wanted; count the spaces that came to be searched so."""
    with store.file_reader() as reader:
        wanted = reader.sql.rows("wanted_near")
        models = {model.id: model for model in reader.models()}
    for space, number, _, state in wanted:
        model = models[number]
        while state == "wanted":
            with store.transaction() as sql:
                state = _filled_on(sql, space, model)
        if state == "filled":
            _index(store, space, model)
    return len(wanted)


def _filled_on(sql: PostgresTransaction, space: str, model: Model) -> str:
    """Copy some more vectors; all that come later are added by who writes them."""
    into = sql.space_to_write(space)
    upto = next((row[2] for row in sql.rows("wanted_near") if row[0] == space and row[1] == model.id), None)
    if upto is None:
        return "gone"
    into = sql.space_to_write(space)
    units: list[tuple[int, NDArray[np.int8]]] = []
    for _, positions, block_units, pooled in sql.rows("blocks_after", (into.id, model.id, upto)):
        at = np.frombuffer(positions, np.int64)
        held = np.frombuffer(pooled, np.int8).reshape(len(at), -1)
        units += zip(np.frombuffer(block_units, np.int64).tolist(), held, strict=True)
        upto = int(at[-1]) if len(at) else upto
        if len(units) >= _FILLED_AT_ONCE:
            put_near(sql, into.id, units)
            sql.run("set_near", (upto, "wanted", into.id, model.id))
            return "wanted"
    for position, unit, pooled in sql.rows("pooled_tail_after", (into.id, model.id, upto)):
        units.append((unit, np.frombuffer(pooled, np.int8)))
        upto = position
    put_near(sql, into.id, units)
    sql.run("set_near", (upto, "filled", into.id, model.id))
    return "filled"


def _index(store: PostgresStore, space: str, model: Model) -> None:
    with store.transaction(space=space) as sql:
        into = sql.space_to_write(space)
        table = sql.one("table_of_near", (into.id,))
        if table is None:  # all was forgotten: the space asks again when it has grown again
            sql.run("drop_near_space", (into.id, model.id))
            return
    low, high = unit_bounds(model.id)
    name = f"near_{into.id & 0xFFFFFFFFFFFFFFFF:x}_{model.id}"
    with store.plain_connection() as connection:
        if ask(connection, "near_index_is_sound", (name,)) is False:  # half built when somebody died
            connection.execute(query("drop_index").format(name=name).encode())
        made = query("index_near").format(name=name, table=table, dims=model.dims, space=into.id, low=low, high=high)
        connection.execute(made.encode())
    with store.transaction() as sql:
        into = sql.space_to_write(space)
        sql.run("set_near", (max(sql.rows("last_positions", (into.id, model.id))[0]), "ready", into.id, model.id))
