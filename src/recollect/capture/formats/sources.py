"""Where an import comes from: a file, a folder or a zip, seen alike as named files. Nothing is unpacked to disk."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal
from unicodedata import category

from recollect.capture.formats.items import from_epoch
from recollect.capture.formats.letters import as_utf8
from recollect.core.errors import BadLocation, InvalidInput
from recollect.core.held import is_held, opened

try:
    from lzma import LZMAError
except ImportError:  # a Python may be built without it; then no zip is read by it either
    LZMAError = zlib.error

HEAD_BYTES = 64 * 1024  # what a format is recognised by: several messages of any format, read in a millisecond
_MOST_FILES = 1_000_000  # names of a folder or zip; more is a disk, not an export
# Unpacked bytes for each byte of the zip. Chats shrink to a tenth; a bomb is a thousandth.
_MOST_RATIO = 200
_ALWAYS_FINE_BYTES = 64 * 1024 * 1024  # what a zip may hold, however small it is
_CHUNK_BYTES = 1 << 20  # hashed at a time
_OF_ZIPS: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, LZMAError)
_NOT_IN_NAMES = ("Cc", "Cs", "Zl", "Zp")  # control characters, lone surrogates, ends of lines
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")  # what follows is shown backwards: a name looks like another
_BADLY_NAMED = "a file whose name has control characters"
_CLOSED = "a folder that can't be read"
_ZIP_MAGIC = b"PK\x03\x04"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What the user named: its kind, and the names of the files in it, in order."""

    path: Path
    kind: Literal["file", "folder", "zip"]
    names: tuple[str, ...]
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])  # what is not in `names`, by reason
    # What was read once and serves all parts: a zip's directory, the names of people.
    notes: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    @property
    def title(self) -> str:
        """Name the whole: the file or folder, without its suffix."""
        return self.path.resolve().stem if self.kind != "folder" else self.path.resolve().name

    @contextmanager
    def open(self, name: str) -> Generator[IO[bytes]]:
        """Open one of the files for reading, text of UTF-16 as UTF-8; whatever goes wrong in it is an error of ours."""
        with self._as_it_is(name) as file:
            yield as_utf8(file)

    @contextmanager
    def _as_it_is(self, name: str) -> Generator[IO[bytes]]:
        with self._in_our_words(name):
            if self.kind == "zip":
                with self._archive().open(name) as file:
                    yield file
            else:
                with opened(self.local(name)) as file:
                    yield file

    @contextmanager
    def _in_our_words(self, name: str) -> Generator[None]:
        try:
            yield
        except (OSError, *_OF_ZIPS, EOFError, NotImplementedError, RuntimeError) as error:
            if isinstance(error, RecursionError):
                raise
            raise InvalidInput(f"{name} can't be read ({error}).", fix="Check the file, then run it again.") from error

    def head(self, name: str) -> bytes:
        """Read how a file begins; empty where it can't be read."""
        try:
            with self.open(name) as file:
                return file.read(HEAD_BYTES)
        except InvalidInput:
            return b""

    def local(self, name: str) -> Path:
        """Find a file on this disk; only for what is not in a zip."""
        return self.path if self.kind == "file" else self.path / name

    def modified(self, name: str) -> datetime | None:
        """Tell when a file was last written, as far as that is known."""
        try:
            if self.kind != "zip":
                return from_epoch(self.local(name).stat().st_mtime)
            return datetime(*self._archive().getinfo(name).date_time, tzinfo=UTC)
        except (OSError, ValueError, OverflowError, zipfile.BadZipFile, KeyError):
            return None

    def state(self, name: str) -> tuple[int, int] | None:
        """Tell a file's size, and when it changed in nanoseconds since 1970; None for what is no file of bytes."""
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
        """Compute the SHA-256 of a file's beginnings of these sizes, in order; none for more than it has."""
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

    def share(self, names: tuple[str, ...]) -> float:
        """Tell how much of all that is here these files are: one chat in a folder of code does not make it chats."""
        return len(names) / len(self.names) if self.names else 0.0

    def close(self) -> None:
        """Let go of a zip; one that is never closed is let go when nobody holds it."""
        archive = self.notes.pop("archive", None)
        if archive is not None:
            archive.close()

    def _with_log(self, name: str) -> list[Path]:
        """Name a file and, of a database, the log of what is not written back to it yet."""
        path = self.local(name)
        log = path.with_name(f"{path.name}-wal")
        return [path, log] if log.is_file() else [path]

    def _contents(self, name: str) -> Iterator[bytes]:
        if self.kind == "zip":
            with self._as_it_is(name) as file:
                yield from iter(lambda: file.read(_CHUNK_BYTES), b"")
        else:
            for path in self._with_log(name):
                with self._in_our_words(name), opened(path) as file:
                    yield from iter(lambda: file.read(_CHUNK_BYTES), b"")
        yield b""  # of an empty file too

    def _archive(self) -> zipfile.ZipFile:
        if "archive" not in self.notes:
            self.notes["archive"] = zipfile.ZipFile(self.path)
        return self.notes["archive"]

    def ending(self, *suffixes: str) -> tuple[str, ...]:
        """List the files with one of these suffixes."""
        return tuple(name for name in self.names if name.lower().endswith(suffixes))


def open_source(path: Path) -> Source:
    """Look at what is there; a zip that would unpack to far more than it weighs is refused."""
    try:
        if path.is_dir():
            return _source(path, "folder", *_files_under(path))
        if not _can_be_read(path):
            raise BadLocation(f"{path} is no file: it may never end.", fix="Write it to a file, and import that.")
        with opened(path) as file:
            is_zip = file.read(4) == _ZIP_MAGIC
    except (OSError, ValueError) as error:
        raise BadLocation(f"{path} can't be read ({error}).", fix="Check the path.") from error
    if is_zip:
        return _source(path, "zip", _files_in_zip(path))
    return Source(path=path, kind="file", names=(path.name,))


def _source(path: Path, kind: Literal["folder", "zip"], found: set[str], closed: int = 0) -> Source:
    names = tuple(sorted(name for name in found if is_plain(name)))
    left_out = {_BADLY_NAMED: len(found) - len(names), _CLOSED: closed}
    return Source(path=path, kind=kind, names=names, left_out=left_out)


def is_plain(name: str) -> bool:
    """Tell a name that people write, in any script, from one that would act on a terminal or is no Unicode."""
    if name.isprintable():
        return True
    return not _TURNING.search(name) and not any(category(char) in _NOT_IN_NAMES for char in name)


def _files_under(root: Path) -> tuple[set[str], int]:
    """List files, without what is hidden, links that lead out of the folder, and memories that are open here.

    Gives also how many folders could not be looked into.
    """
    resolved = root.resolve()
    found: list[str] = []
    closed: list[OSError] = []
    for folder, folders, files in os.walk(root, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            path = Path(folder, name)
            if name.startswith(".") or not _can_be_read(path) or is_held(path):
                continue
            if not _leads_out(path, resolved):
                found.append(path.relative_to(root).as_posix())
        if len(found) > _MOST_FILES:
            raise InvalidInput(f"{root} holds more than {_MOST_FILES:,} files; name the folder of the export itself.")
    if closed and not found:
        raise closed[0]
    return set(found), len(closed)


def _can_be_read(path: Path) -> bool:
    """Tell a file from a pipe, a socket or a device, on which one may wait for ever; what is not there passes."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return True  # reading it will say what is wrong


def _leads_out(path: Path, root: Path) -> bool:
    try:
        return path.is_symlink() and not path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a link to itself: reading it will say so
        return False


def _files_in_zip(path: Path) -> set[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        weight = path.stat().st_size
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInput(f"{path} is not a whole zip ({error}); download it again.") from error
    # Reading stops at the size that an entry declares, so that the sum of those is all that could ever come out.
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > _MOST_FILES or unpacked > max(_ALWAYS_FINE_BYTES, _MOST_RATIO * weight):
        raise InvalidInput(f"{path} would unpack to {unpacked:,} bytes in {len(entries):,} files; this is no export.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise InvalidInput(f"{path} is locked with a password; unpack it first.")
    return {entry.filename for entry in entries if not _is_hidden(entry.filename)}


def _is_hidden(name: str) -> bool:
    """Tell what no export shows: system folders, and names that would lead out of the zip."""
    folders = name.split("/")
    return folders[0] in ("", "__MACOSX") or any(folder.startswith(".") for folder in folders)
