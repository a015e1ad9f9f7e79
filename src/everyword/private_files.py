"""Create files and folders that only their owner can read: 0600 and 0700, whatever the umask.

Existing files keep their mode: the owner may have shared them on purpose.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from everyword.errors import BadLocation
from everyword.settings import beside

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_TRIES = 8  # to open a file that others create and remove


def open_private(path: str | os.PathLike[str], flags: int, *, like: str | os.PathLike[str] | None = None) -> int:
    """Open a file; create it with mode 0600, or with the mode of the file `like` if that exists."""
    # Without O_CREAT, which would create the target of a link with a mode of its own.
    flags = (flags | getattr(os, "O_CLOEXEC", 0)) & ~os.O_CREAT
    mode = _mode_of(like)
    for _ in range(_TRIES):
        try:
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            with suppress(FileNotFoundError):  # removed meanwhile, or a link to nothing
                return os.open(path, flags)
        else:
            if hasattr(os, "fchmod"):
                with suppress(OSError):  # a file system without modes
                    os.fchmod(fd, mode)  # undo the umask and a default ACL
            return fd
    return os.open(path, flags)


def private_opener(path: str, flags: int) -> int:
    """Open a private file: open(..., opener=private_opener)."""
    return open_private(path, flags)


@contextmanager
def new_file(target: Path) -> Generator[BinaryIO]:
    """Write a private file, which appears when it is complete; never overwrite one."""
    if target.exists():
        raise BadLocation(f"{target} exists already; nothing is overwritten. Choose another name.")
    partial = beside(target)
    try:
        with open(partial, "wb", opener=private_opener) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        name_new(partial, target)
    except FileExistsError as error:
        raise BadLocation(f"{target} exists already; nothing is overwritten. Choose another name.") from error
    except OSError as error:
        raise BadLocation(f"{target} can't be written ({error.strerror}).") from error
    finally:
        with suppress(OSError):
            partial.unlink()


def name_new(partial: Path, target: Path) -> None:
    """Give a complete file its name; FileExistsError where another file has it by now."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.replace(partial, target)
    else:
        partial.unlink()


def replace_file(path: str | os.PathLike[str], content: bytes, *, like: str | os.PathLike[str] | None = None) -> None:
    """Write a file atomically, with the mode of the file before, or of the file `like`."""
    partial = beside(Path(path))
    try:
        with open(open_private(partial, os.O_WRONLY, like=like or path), "wb") as file:
            file.write(content)
        os.replace(partial, path)
    finally:
        with suppress(OSError):
            partial.unlink()


def make_private_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder and its missing parents, each with mode 0700."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(os.path.abspath(path))
    if above != os.path.abspath(path):
        make_private_folder(above)
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    else:
        with suppress(OSError):  # a file system without modes
            os.chmod(path, FOLDER_MODE)  # undo the umask


def make_folder_of(location: str) -> None:
    """Create the private folder of a memory's file; if that fails, opening the memory reports it better."""
    if "://" not in location:
        with suppress(OSError):
            make_private_folder(os.path.dirname(os.path.abspath(os.path.expanduser(location))))


def _mode_of(like: str | os.PathLike[str] | None) -> int:
    try:
        return FILE_MODE if like is None else os.stat(like).st_mode & 0o666
    except OSError:
        return FILE_MODE
