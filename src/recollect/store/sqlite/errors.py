"""SQLite's errors in Recollect's words; a driver's error never leaves this package."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import apsw

from recollect.core.errors import (
    BadLocation,
    Closed,
    ForeignFile,
    RecollectError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

_IN_OUR_WORDS: tuple[tuple[type[apsw.Error], type[RecollectError]], ...] = (
    (apsw.ConnectionClosedError, Closed),
    (apsw.FullError, StoreFull),
    (apsw.ReadOnlyError, StoreReadOnly),
    (apsw.PermissionsError, StoreReadOnly),
    (apsw.BusyError, StoreBusy),
    (apsw.LockedError, StoreBusy),
    (apsw.CantOpenError, BadLocation),
    (apsw.NotADBError, ForeignFile),
    (apsw.CorruptError, StoreCorrupt),
)


@contextmanager
def in_our_words() -> Generator[None]:
    """Turn a driver's error into one of ours."""
    try:
        yield
    except RecollectError:
        raise
    except apsw.Error as error:
        for theirs, ours in _IN_OUR_WORDS:
            if isinstance(error, theirs):
                raise ours(f"{(ours.__doc__ or '').strip()} (SQLite: {error})") from error
        raise StoreError(f"The store could not do this; nothing was changed. (SQLite: {error})") from error
    except MemoryError as error:
        raise StoreError("There is not enough memory for this; nothing was changed.") from error
