"""Files in the letters that Windows writes, read as the same words in UTF-8: a mark at their beginning says so."""

from __future__ import annotations

import codecs
import io
from typing import IO, cast

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHUNK_BYTES = 256 * 1024


def as_utf8(file: IO[bytes]) -> IO[bytes]:
    """Give a file as it is, or one of UTF-16 as if it were in UTF-8; places in it are those of what is read."""
    marked = file.read(len(_MARKS[0])) in _MARKS
    file.seek(0)
    return cast("IO[bytes]", io.BufferedReader(_Transcoded(file))) if marked else file


class _Transcoded(io.RawIOBase):
    """UTF-8 made of UTF-16 while it is read; going back begins at the beginning."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._begin()

    def _begin(self) -> None:
        self._file.seek(0)
        self._decode = codecs.getincrementaldecoder("utf-16")("replace").decode
        self._ready = b""
        self._at = 0
        self._ended = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Fill a buffer with what comes next."""
        while not self._ready and not self._ended:
            chunk = self._file.read(_CHUNK_BYTES)
            self._ended = not chunk
            self._ready = self._decode(chunk, final=not chunk).encode("utf-8")
        given = self._ready[: len(buffer)]
        buffer[: len(given)] = given
        self._ready = self._ready[len(given) :]
        self._at += len(given)
        return len(given)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a place, counted in bytes of UTF-8."""
        if whence == io.SEEK_CUR:
            offset += self._at
        elif whence != io.SEEK_SET:
            raise io.UnsupportedOperation("its length is not known before it is read")
        if offset < self._at:
            self._begin()
        while self._at < offset and self.read(min(offset - self._at, _CHUNK_BYTES)):
            pass
        return self._at

    def tell(self) -> int:
        return self._at
