"""Values on their way to the server and back.

Any text of Python's comes back unchanged. PostgreSQL's text holds neither NULs nor lone surrogates: such a text is
stored as its bytes in base64 behind a mark, and so is one that begins with the mark. Equal texts are stored alike, so
that comparing and indexing them works as ever.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader, PyFormat
from psycopg.pq import Format
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper

_MARK = "\x1aB64:"
_MARK_BYTES = _MARK.encode()
# As any_json of the schema writes them: a backslash, and half a character or a NUL.
_OTHER_FORM = re.compile(r"(\\\\)\\u0001|\\u0001(0000|0001|d[89a-f][0-9a-f]{2})")
_TEXT_OIDS = ("text", "varchar", "name")
_INT8_ARRAY = 1016  # the oid of bigint[]
_INT8 = 20
_ELEMENT = np.dtype([("size", ">i4"), ("value", ">i8")])


def adapt(connection: psycopg.Connection[Any]) -> None:
    """Teach a connection how our values travel."""
    adapters = connection.adapters
    adapters.register_dumper(int, Int8BinaryDumper)  # always alike, so that a query is planned once
    adapters.register_dumper(bool, Int8BinaryDumper)  # as SQLite has it: a column can be copied either way
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(np.ndarray, _NumbersDumper)
    adapters.register_dumper(list, ListBinaryDumper)  # the last is taken first; the other would not mark texts
    for name in _TEXT_OIDS:
        adapters.register_loader(name, _TextLoader)
        adapters.register_loader(name, _TextBinaryLoader)


def bound(values: Sequence[Any] | Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
    """Make what a query takes as a whole an array."""
    if isinstance(values, Mapping):
        return {name: _listed(value) for name, value in values.items()}
    return [_listed(value) for value in values]


def without_other_forms(written: str) -> str:
    """Take back what the server's any_json does to escapes that its JSON can't hold."""
    return _OTHER_FORM.sub(lambda found: found[1] or f"\\u{found[2]}", written)


def _listed(value: Any) -> Any:
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


class _TextDumper(Dumper):
    format = Format.BINARY
    oid = 25

    def dump(self, obj: str) -> Buffer:
        return _text_bytes(obj)

    def get_key(self, obj: Any, format: PyFormat) -> Any:
        return self.cls

    def upgrade(self, obj: Any, format: PyFormat) -> Dumper:
        return self


class _TextBinaryLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return text if not text.startswith(_MARK) else _unmarked(text)


class _TextLoader(_TextBinaryLoader):
    format = Format.TEXT


class _NumbersDumper(Dumper):
    """Write 64-bit numbers in the server's own form at once; one by one thousands of them would take milliseconds."""

    format = Format.BINARY
    oid = _INT8_ARRAY

    def dump(self, obj: Any) -> Buffer:
        if not len(obj):
            return np.array([0, 0, _INT8], ">i4").tobytes()
        elements = np.empty(len(obj), _ELEMENT)
        elements["size"] = 8
        elements["value"] = obj
        return np.array([1, 0, _INT8, len(obj), 1], ">i4").tobytes() + elements.tobytes()


def _text_bytes(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return _marked(text)
    return data if b"\x00" not in data and not data.startswith(_MARK_BYTES) else _marked(text)


def _marked(text: str) -> bytes:
    return _MARK_BYTES + base64.b64encode(text.encode("utf-8", "surrogatepass"))


def _unmarked(text: str) -> str:
    """Give what was marked; a text that the server took from inside another may begin with the mark by itself."""
    try:
        kept = base64.b64decode(text[len(_MARK) :], validate=True).decode("utf-8", "surrogatepass")
    except ValueError:
        return text
    return kept if _marked(kept) == text.encode() else text
