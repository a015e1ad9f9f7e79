"""Overwrite the space inside a SQLite file's pages that no row uses.

`secure_delete` zeroes rows that are deleted and pages that are freed. It does not see one thing: where SQLite splits or
joins pages it moves rows to another page, and their bytes stay behind between the page's list of rows and its rows.
That gap means nothing to SQLite, so it can be zeroed in place, without a transaction: a process that dies halfway
leaves a sound file, and whoever reads at the same time sees the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np

_HEADER_BYTES = 100  # of the file, before the first page's own header
_READ_BYTES = 1 << 20  # at once; a power of two, so that it holds whole pages
_LARGEST_PAGE = 65536
_HEADERS = np.zeros(256, np.int64)  # by the kind of a page: bytes of its header; none where it has no rows
_HEADERS[[2, 5, 10, 13]] = 12, 12, 8, 8
# The first byte of other pages is the highest of a page number. Beyond so many pages it could pass for a kind.
MOST_PAGES = 2 << 24


def overwrite(path: Path) -> int:
    """Zero the gaps of all pages; tell how many bytes were written.

    The caller keeps others from writing, and the write-ahead log is empty. Connections may still hold such bytes in
    memory: theirs must read the pages anew before they write.
    """
    # By SQLite's own hand: closing a file that this process opened by itself would drop every lock that it has on it.
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        head = file.xRead(_HEADER_BYTES, 0)
        page_bytes = int.from_bytes(head[16:18], "big")
        page_bytes = _LARGEST_PAGE if page_bytes == 1 else page_bytes
        size = file.xFileSize()
        zeros = bytes(page_bytes)
        written = 0
        for start in range(0, size, _READ_BYTES):
            read = file.xRead(min(_READ_BYTES, size - start), start)
            for first, last in _gaps(read, page_bytes, is_first=start == 0):
                if read[first:last] != zeros[: last - first]:
                    file.xWrite(zeros[: last - first], start + first)
                    written += last - first
        if written:
            file.xSync(apsw.SQLITE_SYNC_FULL)
        return written
    finally:
        file.xClose()


def _gaps(read: bytes, page_bytes: int, *, is_first: bool) -> Iterator[tuple[int, int]]:
    """List where the gaps between the lists of rows and the rows lie, in some whole pages."""
    data = np.frombuffer(read, np.uint8)
    pages = np.arange(0, len(data), page_bytes)
    heads = pages.copy()
    heads[0] += _HEADER_BYTES if is_first else 0
    header = _HEADERS[data[heads]]
    rows = data[heads + 3].astype(np.int64) << 8 | data[heads + 4]
    content = data[heads + 5].astype(np.int64) << 8 | data[heads + 6]
    content[content == 0] = _LARGEST_PAGE
    first, last = heads + header + 2 * rows, pages + content
    gaps = (header > 0) & (first < last) & (content <= page_bytes)
    return zip(first[gaps].tolist(), last[gaps].tolist(), strict=True)
