"""What the user imports: a file, a folder or a zip, and the files in it. UTF-16 files with a BOM are read as UTF-8."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Literal, cast
from unicodedata import category

from msgspec import Struct
from msgspec.structs import replace

from everyword.errors import BadLocation, InvalidInput
from everyword.ingest.importers.records import Item, Position, Skipped, as_name, from_epoch
from everyword.storage.open_files import is_held, opened
from everyword.types.events import Json

try:
    from lzma import LZMAError
except ImportError:  # Python may be built without lzma; then no zip uses it either
    LZMAError = zlib.error

HEAD_BYTES = 64 * 1024  # for recognising a format: several messages, read in a millisecond
_MAX_FILES = 1_000_000  # in a folder or zip; more is a disk, not an export
# Unpacked bytes per byte of the zip. Chats shrink to a tenth, a zip bomb to a thousandth.
_MAX_RATIO = 200
_ALWAYS_FINE_BYTES = 64 * 1024 * 1024  # unpacked size that any zip may have
_CHUNK_BYTES = 1 << 20  # read at a time
_ZIP_ERRORS: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, LZMAError)
_CONTROL_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line ends
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # they can make a name look like another
_BADLY_NAMED = "a file whose name has control characters"
_UNREADABLE_FOLDER = "a folder that can't be read"
_LEADS_OUT = "a link that leads out of the folder"
_ZIP_MAGIC = b"PK\x03\x04"
_PACKED_DOCUMENTS = (".docx", ".docm", ".dotx")  # a zip, and still one document
_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file, folder or zip, with the sorted names of its files."""

    path: Path
    kind: Literal["file", "folder", "zip"]
    names: tuple[str, ...]
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])  # reason -> number of files left out
    # Cached values that all parts share: the open zip, the names of people.
    notes: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    @property
    def title(self) -> str:
        return self.path.resolve().stem if self.kind != "folder" else self.path.resolve().name

    @contextmanager
    def open(self, name: str) -> Generator[IO[bytes]]:
        """Open a file for reading, UTF-16 as UTF-8; errors inside the block become InvalidInput."""
        with self._open_raw(name) as file, _as_utf8(file) as readable:
            yield readable

    @contextmanager
    def _open_raw(self, name: str) -> Generator[IO[bytes]]:
        with self._translated_errors(name):
            if self.kind == "zip":
                with self._archive().open(name) as file:
                    yield file
            else:
                with opened(self.local(name)) as file:
                    yield file

    @contextmanager
    def _translated_errors(self, name: str) -> Generator[None]:
        try:
            yield
        except (OSError, *_ZIP_ERRORS, EOFError, NotImplementedError, RuntimeError) as error:
            if isinstance(error, RecursionError):
                raise
            raise InvalidInput(f"{name} can't be read ({error}).", fix="Check the file, then run it again.") from error

    def head(self, name: str) -> bytes:
        """Read the beginning of a file; empty if it can't be read."""
        if name in self.notes.get("heads", ()):
            return self.notes["heads"][name]
        try:
            with self.open(name) as file:
                return file.read(HEAD_BYTES)
        except InvalidInput:
            return b""

    def local(self, name: str) -> Path:
        """The path of a file on disk; not for zips."""
        return self.path if self.kind == "file" else self.path / name

    def modified(self, name: str) -> datetime | None:
        """When a file was last modified, if known."""
        try:
            if self.kind != "zip":
                return from_epoch(self.local(name).stat().st_mtime)
            return datetime(*self._archive().getinfo(name).date_time, tzinfo=UTC)
        except (OSError, ValueError, OverflowError, zipfile.BadZipFile, KeyError):
            return None

    def state(self, name: str) -> tuple[int, int] | None:
        """A file's size and modification time (ns since 1970); None if it is not a plain file."""
        try:
            if self.kind == "zip":
                return self._archive().getinfo(name).file_size, self.path.stat().st_mtime_ns
            found = [path.stat() for path in self._with_log(name)]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None
        if not found or not stat.S_ISREG(found[0].st_mode):
            return None
        return sum(one.st_size for one in found), max(one.st_mtime_ns for one in found)

    def digests(self, name: str, sizes: list[int]) -> dict[int, bytes]:
        """Compute the SHA-256 of a file's first bytes, for each of the ascending sizes that it has."""
        made: dict[int, bytes] = {}
        hashed, done = hashlib.sha256(), 0
        for content in self._contents(name):
            while sizes and done + len(content) >= sizes[0]:
                rest, content = content[: sizes[0] - done], content[sizes[0] - done :]
                hashed.update(rest)
                done = sizes[0]
                made[done] = hashed.digest()
                sizes = sizes[1:]
            if not sizes:
                break
            hashed.update(content)
            done += len(content)
        return made

    def close(self) -> None:
        archive = self.notes.pop("archive", None)
        if archive is not None:
            archive.close()

    def _with_log(self, name: str) -> list[Path]:
        """A file and, if it is a database, its write-ahead log."""
        path = self.local(name)
        log = path.with_name(f"{path.name}-wal")
        return [path, log] if log.is_file() else [path]

    def _contents(self, name: str) -> Iterator[bytes]:
        if self.kind == "zip":
            with self._open_raw(name) as file:
                yield from iter(lambda: file.read(_CHUNK_BYTES), b"")
        else:
            for path in self._with_log(name):
                with self._translated_errors(name), opened(path) as file:
                    yield from iter(lambda: file.read(_CHUNK_BYTES), b"")
        yield b""  # for an empty file, too

    def _archive(self) -> zipfile.ZipFile:
        if "archive" not in self.notes:
            self.notes["archive"] = zipfile.ZipFile(self.path)
        return self.notes["archive"]

    def ending(self, *suffixes: str) -> tuple[str, ...]:
        """List the files with one of these suffixes; "" stands for none."""
        return tuple(name for name in self.names if suffix(name) in suffixes)


def suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def open_source(path: Path) -> Source:
    """List the files of a path; reject zip bombs."""
    try:
        if path.is_dir():
            return _source(path, "folder", *_files_under(path))
        if not _can_be_read(path):
            raise BadLocation(f"{path} is not a file or folder.", fix="Write the data to a file and import that.")
        with opened(path) as file:
            is_zip = file.read(4) == _ZIP_MAGIC and suffix(path.name) not in _PACKED_DOCUMENTS
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise BadLocation(f"{path} can't be read ({why}).", fix="Check the path.") from error
    if is_zip:
        return _source(path, "zip", _files_in_zip(path), {})
    return Source(path=path, kind="file", names=(path.name,))


def _source(path: Path, kind: Literal["folder", "zip"], found: set[str], left_out: Mapping[str, int]) -> Source:
    names = tuple(sorted(name for name in found if is_plain(name)))
    return Source(path=path, kind=kind, names=names, left_out={**left_out, _BADLY_NAMED: len(found) - len(names)})


def is_plain(name: str) -> bool:
    """Check that a file name has no control characters and is valid Unicode."""
    if name.isprintable():
        return True
    return not _BIDI_CONTROLS.search(name) and not any(category(char) in _CONTROL_CATEGORIES for char in name)


def _files_under(root: Path) -> tuple[set[str], dict[str, int]]:
    """List files without hidden ones and memories that are open in this process; count what else is left out."""
    resolved = root.resolve()
    found: list[str] = []
    closed: list[OSError] = []
    leading_out = 0
    for folder, folders, files in os.walk(root, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        leading_out += sum(_leads_out(Path(folder, name), resolved) for name in folders)
        for name in files:
            path = Path(folder, name)
            if name.startswith(".") or not _can_be_read(path) or is_held(path):
                continue
            if _leads_out(path, resolved):
                leading_out += 1
            else:
                found.append(path.relative_to(root).as_posix())
        if len(found) > _MAX_FILES:
            raise InvalidInput(f"{root} holds more than {_MAX_FILES:,} files; name the folder of the export itself.")
    if closed and not found:
        raise closed[0]
    return set(found), {_UNREADABLE_FOLDER: len(closed), _LEADS_OUT: leading_out}


def _can_be_read(path: Path) -> bool:
    """Exclude pipes, sockets and devices, which may block for ever; a missing file passes."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return True  # reading it will raise the error


def _leads_out(path: Path, root: Path) -> bool:
    try:
        return path.is_symlink() and not path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a link to itself: reading it will raise the error
        return False


def _files_in_zip(path: Path) -> set[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        weight = path.stat().st_size
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInput(f"{path} is not a complete zip ({error}); download it again.") from error
    # Reading stops at the size that an entry declares, so their sum bounds what can be unpacked.
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > _MAX_FILES or unpacked > max(_ALWAYS_FINE_BYTES, _MAX_RATIO * weight):
        raise InvalidInput(f"{path} unpacks to {unpacked:,} bytes in {len(entries):,} files; it is not an export.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise InvalidInput(f"{path} has a password; unpack it first.")
    return {entry.filename for entry in entries if not _is_hidden(entry.filename)}


def _is_hidden(name: str) -> bool:
    """Check for system folders, hidden files, and names that lead out of the zip."""
    folders = name.split("/")
    return folders[0] in ("", "__MACOSX") or any(folder.startswith(".") for folder in folders)


@contextmanager
def _as_utf8(file: IO[bytes]) -> Generator[IO[bytes]]:
    """Give the file, or a UTF-8 copy of a UTF-16 file with a BOM."""
    marked = file.read(len(_UTF16_BOMS[0])) in _UTF16_BOMS
    file.seek(0)
    if not marked:
        yield file
        return
    with SpooledTemporaryFile(_ALWAYS_FINE_BYTES) as copy:
        decode = codecs.getincrementaldecoder("utf-16")("replace").decode
        for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""):
            copy.write(decode(chunk).encode())
        copy.write(decode(b"", final=True).encode())
        copy.seek(0)
        yield cast("IO[bytes]", copy)


def holds(*patterns: bytes, unless: bytes = b"", confidence: float = 0.95) -> Callable[[Source, str], float]:
    """Recognise a file by what the beginning of its content must hold, and must not."""

    def recognise(source: Source, part: str) -> float:
        head = source.head(part)
        found = all(re.search(one, head) for one in patterns) and not (unless and re.search(unless, head))
        return confidence if found else 0.0

    return recognise


class Format(Struct, frozen=True):
    """A format that can be imported."""

    NAME: str  # that `--format` takes
    SUFFIXES: tuple[str, ...]  # of its files, "" for none; empty: any
    recognise: Callable[[Source, str], float]  # the confidence, from 0 to 1, that a file has this format
    # The events and skipped entries of a file, some formats' with the position after each, and then from a position on.
    items: Callable[[Source, str, Position | None], Iterator[Item]]
    GROWS: bool = False  # programs only append to files of this format
    REPEATS: bool = False  # keys are made of the content, so the same again gets a number
    OURS: bool = False  # events are complete

    def read(self, source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
        """Read a file, starting after a position; an item without a position is counted."""
        done = int((after or {}).get("item", 0))
        modified, seen = source.modified(part), Counter[str]()
        for number, one in enumerate(self.items(source, part, after), 1):
            if isinstance(one, Skipped):
                one = replace(one, where=f"{part}, {one.where}" if one.where else part)
            elif not self.OURS:
                one = replace(one, event=self._completed(one.event, modified, seen))
            if one.position or number > done:
                yield replace(one, position=one.position or {"item": number})

    def _completed(self, event: dict[str, Json], modified: datetime | None, seen: Counter[str]) -> dict[str, Json]:
        key, meta = f"{self.NAME}:{event['key']}", event["meta"]
        if self.REPEATS:
            seen[key] += 1
            key += f":{seen[key]}" if seen[key] > 1 else ""
        dated = {"at": modified.isoformat()} if modified and "at" not in event else {}
        meta = {**meta, "source": {"format": self.NAME, **meta["source"]}}
        return {**event, **dated, "key": as_name(key), "meta": meta}
