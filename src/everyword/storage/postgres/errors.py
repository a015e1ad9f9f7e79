"""Translate errors of the PostgreSQL driver into ours, without passwords."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
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
# Two processes that both bring the first model: the second finds the first one's when it looks again.
_MET = frozenset(("models_one_active", "models_one_building"))


@contextmanager
def in_our_words(password: str | None = None, *, connecting: bool = False) -> Generator[None]:
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
        return StoreInterrupted("Another process did the same at the same moment; do it again.")
    said = without_password(" ".join(str(error).split()), password)
    for theirs, ours, words in _IN_OUR_WORDS:
        if isinstance(error, theirs):
            return ours(f"{words or (ours.__doc__ or '').strip()} (PostgreSQL: {said})")
    if connecting and isinstance(error, psycopg.OperationalError):
        return _not_let_in(said)
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        if "the connection is closed" in said or "connection is lost" in said or _is_lost(said):
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


def _is_lost(said: str) -> bool:
    return any(words in said for words in ("server closed the connection", "connection to server", "reset by peer"))


def without_password(text: str, password: str | None) -> str:
    """Blot a password out of a text."""
    return text.replace(password, "***") if password else text
