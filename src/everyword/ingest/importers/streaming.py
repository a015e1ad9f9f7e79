"""Read large files piece by piece: lines with their offsets, and JSON that never is in memory as a whole."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO, Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from everyword.ingest.importers.records import Item, Position, Record, Skipped, as_record, skipped
from everyword.ingest.importers.sources import Source, suffix
from everyword.types.events import Json

MAX_RECORD_BYTES = 64 * 1024 * 1024  # of one line, message or conversation; longer ones are skipped
_CHUNK_BYTES = 256 * 1024
_FIRST_LINES = 20  # a format shows in a few lines
_NEAR_END = 16  # characters: a literal, number or escape that the end of a chunk cuts is no longer


class Line(Struct, frozen=True, kw_only=True):
    """One line, its number from 1, and its byte offsets."""

    number: int
    start: int
    end: int
    content: bytes
    finished: bool  # False: the last line, perhaps still being written
    too_long: bool = False

    @property
    def text(self) -> str:
        """The decoded line without its end; undecodable bytes become U+FFFD."""
        whole = self.finished and not self.too_long  # else the last character may be cut
        text = decoded(self.content) if whole else self.content.decode("utf-8", "replace")
        return text.rstrip("\r\n").removeprefix("\ufeff")

    @property
    def position(self) -> Position:
        return {"byte": self.end, "line": self.number}

    @property
    def before(self) -> Position:
        return {"byte": self.start, "line": self.number - 1}


def decoded(content: bytes) -> str:
    """Decode text as UTF-8, else as cp1252."""
    for encoding in ("utf-8",) if b"\x00" in content else ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):  # in cp1252, five bytes are undefined
            return content.decode(encoding).removeprefix("\ufeff")
    return content.decode("utf-8", "replace")


def lines(file: IO[bytes], after: Position | None = None) -> Iterator[Line]:
    """Yield lines, starting after a position."""
    end, number = (int((after or {}).get(name, 0)) for name in ("byte", "line"))
    file.seek(end)
    while content := file.readline(MAX_RECORD_BYTES):
        start, number, finished = end, number + 1, content.endswith(b"\n")
        too_long = len(content) == MAX_RECORD_BYTES and not finished
        end += len(content)
        while too_long and not finished and (more := file.readline(_CHUNK_BYTES)):
            end, finished = end + len(more), more.endswith(b"\n")
        yield Line(number=number, start=start, end=end, content=content, finished=finished, too_long=too_long)


class Block(Struct):
    """Lines that belong together: one that begins something, and those that continue it."""

    head: Any  # what was found in the first line; None before the first beginning
    lines: list[Line] = field(default_factory=list[Line])
    size: int = 0  # in bytes
    position: Position = field(default_factory=dict[str, Json])  # after it; before it while it may go on

    @property
    def where(self) -> str:
        return f"line {self.lines[0].number}"

    @property
    def too_long(self) -> bool:
        return self.size > MAX_RECORD_BYTES

    def add(self, line: Line) -> None:
        """Add a line; of a block that is too long only the beginning is kept."""
        self.size += len(line.content)
        if not self.lines or not self.too_long:
            self.lines.append(line)


def blocks(file: IO[bytes], after: Position | None, head_of: Callable[[Line], Any]) -> Iterator[Block]:
    """Group lines into blocks; `head_of` gives something true for a line that begins one."""
    block: Block | None = None
    for line in lines(file, after):
        head = None if line.too_long else head_of(line)
        if block and head:
            block.position = line.before
            yield block
        if head or (block is None and line.content.strip()):
            block = Block(head or None, position=line.before)
        if block:
            block.add(line)
    if block:
        yield block


def each_json_line(
    source: Source, part: str, after: Position | None, items_of: Callable[[Record, int], Iterable[Item]]
) -> Iterator[Item]:
    """Read one JSON object per line, with its number; report other lines, and leave an unfinished one for later."""
    with source.open(part) as file:
        for line in lines(file, after):
            if not line.content.strip():
                continue
            try:
                record = None if line.too_long else json.loads(line.text)
            except (ValueError, RecursionError):
                if not line.finished:
                    half = skipped("the last line is incomplete", line.text, expected=True)
                    yield replace(half, where=f"line {line.number}", position=line.before)
                    return
                items: Iterable[Item] = [skipped("not JSON", line.text)]
            else:
                if isinstance(record, dict):
                    items = items_of(as_record(cast("Json", record)), line.number)
                else:
                    reason = "a line of more than 64 MiB" if line.too_long else "not a JSON object"
                    items = [skipped(reason, line.text[:400])]
            found: list[Item] = [replace(one, where=f"line {line.number}", position=line.before) for one in items]
            # An unfinished line is read again the next time: starting inside it would miscount all later lines.
            if found and (line.finished or line.too_long):
                found[-1] = replace(found[-1], position=line.position)
            yield from found


def first_records(source: Source, part: str, *, most: int | None = _FIRST_LINES) -> Iterator[Record]:
    """Read the objects among the first lines, or all of the head; a bad line does not hide the others."""
    for row in source.head(part).removeprefix(codecs.BOM_UTF8).splitlines()[:most]:
        with suppress(ValueError, RecursionError):
            yield as_record(json.loads(row))


class JsonStream:
    """A pull parser: enter objects and lists, and read one value at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._decoder = json.JSONDecoder(strict=False)
        self._text = ""
        self._at = 0
        self._ended = False

    def kind(self) -> str:
        """The first character of what comes next; empty at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._more(_CHUNK_BYTES):
                return ""

    def members(self) -> Iterator[str]:
        """Enter an object and yield its keys; read or enter each value before the next key."""
        self._expect("{")
        while self.kind() != "}":
            name = self.value()
            self._expect(":")
            yield str(name)
            if self.kind() == ",":
                self._at += 1
        self._expect("}")

    def elements(self) -> Iterator[None]:
        """Enter a list and stop before each element; read or enter it before the next."""
        self._expect("[")
        while self.kind() != "]":
            yield
            if self.kind() == ",":
                self._at += 1
        self._expect("]")

    def values(self) -> Iterator[Json]:
        """Read the elements of a list one by one; anything else is the only value."""
        if self.kind() != "[":
            yield self.value()
            return
        for _ in self.elements():
            yield self.value()

    def value(self) -> Json:
        self.kind()
        step = _CHUNK_BYTES
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR_END
                if not cut or self._ended or len(self._text) - self._at > MAX_RECORD_BYTES:
                    raise
                self._more(step)
                step *= 2
                continue
            if end < len(self._text) or self._ended:  # a number at the end of a chunk may continue
                self._at = end
                return value
            self._more(_CHUNK_BYTES)

    def _expect(self, char: str) -> None:
        if self.kind() != char:
            raise json.JSONDecodeError(f"Expecting {char!r}", self._text[self._at : self._at + 40], 0)
        self._at += 1

    def _more(self, size: int) -> bool:
        if self._ended:
            return False
        chunk = self._file.read(size)
        self._ended = not chunk
        self._text = self._text[self._at :] + self._decode(chunk, final=not chunk)
        self._at = 0
        return not self._ended


def each_json_value(
    source: Source,
    part: str,
    items_of: Callable[[Any, int], Iterable[Item]],
    values: Callable[[JsonStream], Iterable[Any]] = JsonStream.values,
) -> Iterator[Item]:
    """Read a JSON file value by value, by default the elements of its list; report where it is malformed."""
    with source.open(part) as file:
        try:
            for number, value in enumerate(values(JsonStream(file)), 1):
                for one in items_of(value, number):
                    yield one if one.where else replace(one, where=f"entry {number}")
        except (ValueError, RecursionError) as error:  # json rejects some numbers with a plain ValueError
            yield Skipped(reason=f"the JSON is malformed here, and the rest was not read ({error})")


def json_values(
    items_of: Callable[[Any, int], Iterable[Item]],
    values: Callable[[JsonStream], Iterable[Any]] = JsonStream.values,
) -> Callable[[Source, str, Position | None], Iterator[Item]]:
    """Make the reader of a format that is one JSON value after another."""
    return lambda source, part, _after: each_json_value(source, part, items_of, values)


def json_lines(
    items_of: Callable[[Record, int], Iterable[Item]],
) -> Callable[[Source, str, Position | None], Iterator[Item]]:
    """Make the reader of a format that is one JSON object per line."""
    return lambda source, part, after: each_json_line(source, part, after, items_of)


def each_json_record(source: Source, part: str, items_of: Callable[[Any, int], Iterable[Item]]) -> Iterator[Item]:
    """Read the whole of a file: a list in JSON, or one object per line in JSONL."""
    if suffix(part) == ".json":
        return each_json_value(source, part, items_of)
    return (replace(one, position={}) for one in each_json_line(source, part, None, items_of))
