"""Find bytes of a SQLite file that belong to no row: reads the file format by itself, to check what scrub() leaves."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

_LEAVES, _INTERIORS = (10, 13), (2, 5)
_OF_TABLE = (5, 13)


def unused_bytes(path: Path) -> list[tuple[int, int, bytes]]:
    """List the runs of bytes other than zero that no row, key or header uses: page, offset, bytes.

    The file must have no write-ahead log. Every page must be part of a table, an index or the list of free pages.
    """
    return list(_Pages(path).unused())


class _Pages:
    def __init__(self, path: Path) -> None:
        self._raw = path.read_bytes()
        self._size = int.from_bytes(self._raw[16:18], "big") or 1
        self._size = 65536 if self._size == 1 else self._size
        self._usable = self._size - self._raw[20]
        self._count = len(self._raw) // self._size
        self._used: dict[int, bytearray] = {}
        with sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True) as connection:
            rows = connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage").fetchall()
            self._roots = [1, *(row[0] for row in rows)]
        connection.close()

    def unused(self) -> Iterator[tuple[int, int, bytes]]:
        self._use(1, 0, 100)
        for root in self._roots:
            self._tree(root)
        self._free_pages()
        assert sorted(self._used) == list(range(1, self._count + 1)), "a page belongs to nothing"
        for number, used in sorted(self._used.items()):
            page = self._page(number)
            at = 0
            while at < self._size:
                end = at
                while end < self._size and not used[end] and page[end]:
                    end += 1
                if end > at:
                    yield number, at, page[at:end]
                at = end + 1

    def _page(self, number: int) -> bytes:
        return self._raw[(number - 1) * self._size : number * self._size]

    def _use(self, number: int, start: int, stop: int) -> None:
        self._used.setdefault(number, bytearray(self._size))[start:stop] = b"\x01" * (stop - start)

    def _number(self, page: bytes, at: int, width: int) -> int:
        return int.from_bytes(page[at : at + width], "big")

    def _tree(self, number: int) -> None:
        page, head = self._page(number), 100 if number == 1 else 0
        kind = page[head]
        assert kind in _LEAVES + _INTERIORS, (number, kind)
        pointers = head + (8 if kind in _LEAVES else 12)
        cells = self._number(page, head + 3, 2)
        self._use(number, head, pointers + 2 * cells)
        for place in range(cells):
            self._cell(number, page, kind, self._number(page, pointers + 2 * place, 2))
        block = self._number(page, head + 1, 2)
        while block:  # of a free block, the first four bytes tell its size and where the next one is
            self._use(number, block, block + 4)
            block = self._number(page, block, 2)
        if kind in _INTERIORS:
            self._tree(self._number(page, head + 8, 4))

    def _cell(self, number: int, page: bytes, kind: int, start: int) -> None:
        at = start
        if kind in _INTERIORS:
            self._tree(self._number(page, at, 4))
            at += 4
        if kind == 5:
            _, at = _varint(page, at)
            self._use(number, start, max(at, start + 4))
            return
        payload, at = _varint(page, at)
        if kind == 13:
            _, at = _varint(page, at)
        local = self._local(payload, kind)
        at += local
        if local < payload:
            self._overflow(self._number(page, at, 4), payload - local)
            at += 4
        self._use(number, start, max(at, start + 4))

    def _local(self, payload: int, kind: int) -> int:
        most = self._usable - 35 if kind in _OF_TABLE else (self._usable - 12) * 64 // 255 - 23
        if payload <= most:
            return payload
        least = (self._usable - 12) * 32 // 255 - 23
        rest = least + (payload - least) % (self._usable - 4)
        return rest if rest <= most else least

    def _overflow(self, number: int, left: int) -> None:
        while left > 0:
            held = min(left, self._usable - 4)
            self._use(number, 0, 4 + held)
            number, left = self._number(self._page(number), 0, 4), left - held

    def _free_pages(self) -> None:
        trunk = self._number(self._raw, 32, 4)
        while trunk:
            page = self._page(trunk)
            leaves = self._number(page, 4, 4)
            for place in range(leaves):
                self._use(self._number(page, 8 + 4 * place, 4), 0, 0)
            for at in range(8 + 4 * leaves, self._usable, 4):  # numbers of pages that were free once
                assert self._number(page, at, 4) <= self._count, trunk
            self._use(trunk, 0, self._size)
            trunk = self._number(page, 0, 4)


def _varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        byte = page[at + place]
        if place == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    raise AssertionError
