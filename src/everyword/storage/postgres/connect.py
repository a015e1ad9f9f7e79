"""Connect to a server: parse its location, check it, pool connections, migrate the schema, translate its errors."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit
from weakref import WeakSet

import psycopg
from msgspec import Struct
from psycopg import conninfo, sql
from psycopg import errors as pg

from everyword.errors import (
    BadLocation,
    Closed,
    EverywordError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreInterrupted,
    StoreReadOnly,
    StoreUnreachable,
)
from everyword.fork_safety import Use, never_free, on_fork
from everyword.storage.postgres.adapt import adapt
from everyword.storage.postgres.snapshot import EVERYWHERE, ask, lock_number, statement
from everyword.storage.sql.queries import check_schema, migrations

Connection = psycopg.Connection[Any]
Answers = psycopg.Cursor[Any]  # of several queries that were sent as one; `nextset` goes from one to the next

DEFAULT_SCHEMA = "everyword"
OLDEST_SERVER = 140000  # the oldest that its makers still mend
OLDEST_VECTOR = (0, 8)  # the first that goes on looking when a filter leaves too few
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,48}")
_BETWEEN_TRIES_S = 0.1  # to connect to a server that was there before
_CONNECT_S = 10  # to wait for a server that does not answer, unless the location says otherwise

_connections: WeakSet[Connection] = WeakSet()  # of this process


class Place(Struct, frozen=True, kw_only=True):
    """What a location names."""

    conninfo: str
    schema: str
    shown: str  # the location without its password
    password: str | None


def place_of(location: str) -> Place:
    """Read a location: a libpq URI that may also name a schema, as postgresql://ana@host/db?schema=memory."""
    try:
        parts = urlsplit(location)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        schema = options.pop("schema", DEFAULT_SCHEMA)
        uri = urlunsplit(parts._replace(query=urlencode(options, quote_via=quote)))
        with_defaults = conninfo.conninfo_to_dict(uri)
        given = conninfo.make_conninfo(
            uri,
            connect_timeout=with_defaults.get("connect_timeout", os.environ.get("PGCONNECT_TIMEOUT", _CONNECT_S)),
            application_name=with_defaults.get("application_name", "everyword"),
        )
        host = parts.netloc.rpartition("@")[2]
        user = parts.username
    except (ValueError, psycopg.ProgrammingError):
        # Without the driver's words: they may quote the location, password and all.
        raise BadLocation(
            "This location can't be read; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %-escapes."
        ) from None
    if not _SCHEMA_NAME.fullmatch(schema):
        raise BadLocation(f"{schema!r} can't be the schema; use lower-case letters, digits and _.")
    password = with_defaults.get("password") or os.environ.get("PGPASSWORD")
    shown = f"postgresql://{f'{user}@' if user else ''}{host}{parts.path}"
    shown += "" if schema == DEFAULT_SCHEMA else f"?schema={schema}"
    return Place(conninfo=given, schema=schema, shown=shown, password=None if password is None else str(password))


def connect(place: Place) -> Connection:
    """Open a connection with the settings that every connection has."""
    with translated_errors(place.password, connecting=True):
        connection = psycopg.Connection.connect(place.conninfo, autocommit=True)
        _connections.add(connection)
        try:
            if connection.info.server_version < OLDEST_SERVER:
                raise StoreError(
                    f"This server is PostgreSQL {connection.info.server_version // 10000}, which is too old.",
                    fix=f"Use PostgreSQL {OLDEST_SERVER // 10000} or newer.",
                )
            if connection.info.parameter_status("server_encoding") not in ("UTF8", None):
                raise StoreError("This database does not hold UTF-8.", fix="Make one with ENCODING 'UTF8'.")
            connection.execute("SET client_encoding TO 'UTF8'")
            adapt(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def vector_schema(connection: Connection) -> str:
    """Tell in which schema pgvector is, and make it where it can be made."""
    row = connection.execute(statement("vector_extension")).fetchone()
    if row is None:
        try:
            connection.execute(statement("add_vector_extension"))
        except psycopg.Error as error:
            raise StoreError(
                "This database has no pgvector.",
                fix="Install it on the server, then run as a superuser: CREATE EXTENSION vector",
            ) from error
        row = connection.execute(statement("vector_extension")).fetchone()
    if row is None:
        raise StoreError("The server's list of extensions can't be read.")
    schema, version = row
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST_VECTOR:
        raise StoreError(
            f"pgvector {version} is too old.", fix="Install 0.8 or newer, then run: ALTER EXTENSION vector UPDATE"
        )
    return str(schema)


class Pool:
    """Connections, at most so many at once; idle ones wait for the next, the latest used first."""

    def __init__(self, place: Place, *, most: int, wait_s: float) -> None:
        self._place = place
        self._wait_s = wait_s
        self._free = threading.BoundedSemaphore(most)
        self._idle: deque[Connection] = deque()  # the latest used last
        self._outage = _Outage(wait_s)
        self.closed = False

    @contextmanager
    def taken(self, begin: bytes) -> Generator[tuple[Connection, Answers]]:
        """Give a connection on which a transaction has begun, and what it answered; the taker ends the transaction."""
        deadline = time.monotonic() + self._wait_s
        if not self._free.acquire(timeout=self._wait_s):
            raise StoreBusy("All connections of this process are in use; raise pool_size, or send fewer requests.")
        try:
            connection, answers = self._begun(begin, deadline)
            try:
                yield connection, answers
            finally:
                self._give_back(connection)
        finally:
            self._free.release()

    def close(self, *, forked: bool = False) -> None:
        """Close the idle ones; others are closed when they come back."""
        self.closed = True
        with suppress(IndexError):
            while not forked:
                self._idle.pop().close()

    def _begun(self, begin: bytes, deadline: float) -> tuple[Connection, Answers]:
        self._outage.check()
        while True:
            try:
                connection = self._idle_or_new()
                try:
                    answers = connection.execute(begin)
                except BaseException:
                    connection.close()
                    raise
                self._outage.end()
                return connection, answers
            except (pg.LockNotAvailable, pg.QueryCanceled):  # it is there, and others hold what is waited for
                raise
            except psycopg.OperationalError:
                pass  # the server went away while the connection was idle: the next one may do, or a new one
            except StoreUnreachable as error:
                # It was there before: a restart, or another server taking over. Nothing has been done yet, so wait.
                if self._outage.lasts_too_long(error) or time.monotonic() + _BETWEEN_TRIES_S > deadline:
                    raise
                time.sleep(_BETWEEN_TRIES_S)
            except StoreBusy:  # it has no connection left but those that we have
                if time.monotonic() + _BETWEEN_TRIES_S > deadline:
                    raise
                time.sleep(_BETWEEN_TRIES_S)

    def _idle_or_new(self) -> Connection:
        with suppress(IndexError):
            return self._idle.pop()
        return connect(self._place)

    def _give_back(self, connection: Connection) -> None:
        if self.closed or connection.closed or connection.info.transaction_status != 0:
            connection.close()
        else:
            self._idle.append(connection)


class _Outage:
    """How long the server has been away: all who want a connection wait for it together.

    One after the other, each as long as the first, they would wait for as many times as there are of them.
    """

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._since = self._seen = float("-inf")
        self._error: StoreUnreachable | None = None

    def check(self) -> None:
        """Refuse at once where it was waited for in vain just now: to find out may itself take seconds."""
        if self._error is not None and time.monotonic() - self._seen < _BETWEEN_TRIES_S:
            raise StoreUnreachable(self._error.detail, fix=self._error.fix)

    def lasts_too_long(self, error: StoreUnreachable) -> bool:
        """Take note that nobody answers; tell whether that has been so for as long as anybody waits."""
        now = time.monotonic()
        if now - self._seen > self._wait_s:  # nobody has looked since: this is another outage
            self._since = now
        self._seen = now
        too_long = now + _BETWEEN_TRIES_S > self._since + self._wait_s
        self._error = error if too_long else None
        return too_long

    def end(self) -> None:
        self._seen, self._error = float("-inf"), None


def _in_child(_: Sequence[Use]) -> None:
    """Cut a forked child off from its parent's sessions: not a byte of it may reach the server, not even a goodbye."""
    inherited = [connection for connection in _connections if not connection.closed]
    _connections.clear()
    for connection in inherited:
        never_free(connection)
        ours, nobody = socket.socketpair()
        nobody.close()
        os.dup2(ours.fileno(), connection.fileno(), inheritable=False)
        ours.close()


on_fork(in_child=_in_child)


_REFUSED = "The server refused to let this user in; check the name and the password in the location."
_IN_OUR_WORDS: tuple[tuple[type[psycopg.Error], type[EverywordError], str | None], ...] = (
    (pg.InvalidPassword, BadLocation, _REFUSED),
    (pg.InvalidAuthorizationSpecification, BadLocation, _REFUSED),
    (pg.InvalidCatalogName, BadLocation, "There is no such database on the server; make it first, or check its name."),
    (pg.InsufficientPrivilege, StoreReadOnly, "The server does not allow this user to do that; see docs/scale.md."),
    (pg.ReadOnlySqlTransaction, StoreReadOnly, "This server only reads (a replica?); write to the primary."),
    (pg.DiskFull, StoreFull, None),
    (pg.OutOfMemory, StoreFull, "The server is out of memory; nothing of this write was kept."),
    (pg.LockNotAvailable, StoreBusy, None),
    (pg.QueryCanceled, StoreBusy, "The server ended a query that took too long; nothing was changed."),
    (pg.TooManyConnections, StoreBusy, "The server has no connection left; raise max_connections or use a pooler."),
    (pg.ConfigurationLimitExceeded, StoreBusy, None),
    (pg.SerializationFailure, StoreInterrupted, None),
    (pg.DeadlockDetected, StoreInterrupted, None),
    (pg.TransactionTimeout, StoreInterrupted, None),
    (pg.AdminShutdown, StoreInterrupted, None),
    (pg.CrashShutdown, StoreInterrupted, None),
    (pg.IdleInTransactionSessionTimeout, StoreInterrupted, None),
    (pg.CannotConnectNow, StoreUnreachable, "The server is starting or stopping; try again."),
    (pg.DataCorrupted, StoreCorrupt, "The server says that its files are damaged; restore a backup."),
    (pg.IndexCorrupted, StoreCorrupt, "The server says that an index is damaged; run REINDEX, or restore a backup."),
)
_CUT_OFF = (
    *("the connection is closed", "connection is lost"),
    *("server closed the connection", "connection to server", "reset by peer"),
)
# Two processes that both bring the first model: the second finds the first one's when it looks again.
_MET = frozenset(("models_one_active", "models_one_building"))


@contextmanager
def translated_errors(password: str | None = None, *, connecting: bool = False) -> Generator[None]:
    """Turn a driver's error into one of ours; `password` is what must not be in it."""
    try:
        yield
    except EverywordError:
        raise
    except psycopg.Error as error:
        # From None: a traceback shows causes, and the driver's text may hold what it was given.
        raise _ours(error, password, connecting=connecting) from None
    except MemoryError as error:
        raise StoreError("There is not enough memory for this; nothing was changed.") from error


def _ours(error: psycopg.Error, password: str | None, *, connecting: bool) -> EverywordError:
    if isinstance(error, pg.UniqueViolation) and error.diag.constraint_name in _MET:
        return StoreInterrupted("Another process wrote the same row at the same moment; try again.")
    said = " ".join(str(error).split())
    said = said.replace(password, "***") if password else said
    for theirs, ours, words in _IN_OUR_WORDS:
        if isinstance(error, theirs):
            return ours(f"{words or (ours.__doc__ or '').strip()} (PostgreSQL: {said})")
    if connecting and isinstance(error, psycopg.OperationalError):
        return _not_let_in(said)
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        if any(words in said for words in _CUT_OFF):
            return StoreInterrupted(f"The connection to the server was cut. (PostgreSQL: {said})")
        return Closed() if "closed" in said else StoreInterrupted(f"{StoreInterrupted.__doc__} (PostgreSQL: {said})")
    return StoreError(f"The store could not do this; nothing was changed. (PostgreSQL: {said})")


def _not_let_in(said: str) -> EverywordError:
    """Tell by its words what kept a connection from being made: the driver gives no code for these."""
    if "password" in said or "authentication" in said or "no pg_hba.conf entry" in said:
        return BadLocation(f"{_REFUSED} (PostgreSQL: {said})")
    if "does not exist" in said and ("database" in said or "role" in said):
        return BadLocation(f"There is no such database or user on the server. (PostgreSQL: {said})")
    if any(words in said for words in ("too many clients", "too many connections", "remaining connection slots")):
        return StoreBusy(f"The server has no connection left; use fewer, or a pooler. (PostgreSQL: {said})")
    return StoreUnreachable(f"{StoreUnreachable.__doc__} (PostgreSQL: {said})")


# How many candidates a search in an index keeps: no more are asked for, and `make bench` tells what it misses.
EF_SEARCH = 400
# How far a search goes on where a filter leaves few. At pgvector's own 20,000 a filter that leaves a tenth costs .09 of
# the true nearest.
MAX_SCAN_TUPLES = 200_000


def begin_transaction(
    place: Place, vectors_in: str, *, read_only: bool, more: Sequence[sql.Composable] = ()
) -> sql.Composed:
    """Write how a transaction begins: all that it needs is said in it, so that any pooler may stand in between."""
    # Readers see one moment; writers see what the turn before them left behind.
    how = "ISOLATION LEVEL REPEATABLE READ READ ONLY" if read_only else "ISOLATION LEVEL READ COMMITTED READ WRITE"
    said = sql.SQL("; SET LOCAL ").join(
        (
            sql.SQL("search_path = {}").format(search_path(place, vectors_in)),
            sql.SQL("standard_conforming_strings = on"),  # a database may say otherwise; our queries mean what they say
            sql.SQL("row_security = on"),
            sql.SQL("jit = off"),  # questions are short: compiling them would take longer than they do
            sql.SQL("hnsw.iterative_scan = strict_order"),
            sql.SQL("hnsw.ef_search = {}").format(sql.Literal(EF_SEARCH)),
            sql.SQL("hnsw.max_scan_tuples = {}").format(sql.Literal(MAX_SCAN_TUPLES)),
            sql.SQL("hnsw.scan_mem_multiplier = 4"),
            *more,
        )
    )
    return sql.SQL("BEGIN {}; SET LOCAL {}").format(sql.SQL(how), said)


def search_path(place: Place, vectors_in: str) -> sql.Composed:
    """Write where names are looked up: in the store's schema, then where pgvector is."""
    return sql.SQL(", ").join(sql.Identifier(name) for name in dict.fromkeys((place.schema, vectors_in)))


def schema_version(connection: Connection) -> int:
    """Tell the schema of a store, within a transaction; 0 where there is none yet."""
    return int(ask(connection, "schema_version") or 0) if ask(connection, "steps_table") else 0


def migrate(connection: Connection, place: Place, begin_step: bytes) -> None:
    """Bring a store to the newest schema; a step that fails leaves all that was before it."""
    for number, text in migrations("postgres"):
        connection.execute(begin_step)
        try:
            _step(connection, place, number, text)
            connection.execute("COMMIT")
        except BaseException:
            if not connection.closed:
                connection.execute("ROLLBACK")
            raise


def _step(connection: Connection, place: Place, number: int, text: str) -> None:
    ask(connection, "one_migrates", (lock_number(place.schema, "migrate"),))
    if not ask(connection, "schema_is_there", (place.schema,)):
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(place.schema)))
    have = schema_version(connection)
    check_schema(have, "postgres")
    if have >= number:
        return
    if have == 0:
        ask(connection, "add_steps_table")
    ask(connection, "go_to_space", (EVERYWHERE,))
    connection.execute(text.encode())
    ask(connection, "note_step", (number,))
