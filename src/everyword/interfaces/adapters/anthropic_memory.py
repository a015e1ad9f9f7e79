# pyright: reportAssignmentType=false
"""Anthropic's memory tool (`memory_20250818`) on a memory. Pass an instance to the SDK's tool runner.

The text files under /memories are stored as events: each write is an event
with the whole content of the file, so that old versions can be read, found and forgotten one by one. Deletions and
renames are events of each single file, so that forgetting one event never brings back another file. Only
`Memory.forget` removes text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec
from unicodedata import normalize
from urllib.parse import unquote

from everyword.errors import EverywordError, InvalidInput, NotFound
from everyword.extras import optional
from everyword.ingest.importers.sources import is_plain
from everyword.interfaces.adapters.documents import AnyMemory, Entry, Ledger, NewEntry, Redactor, in_thread
from everyword.text.rendering import within_line
from everyword.types.events import Json

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
with optional("anthropic"):
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

__all__ = ["AsyncMemoryTool", "MemoryTool"]

ROOT = "/memories"
_NAME = "memory-tool"
_LINE_NUMBER_WIDTH = 6  # as in the reference; also the digits of its line limit
_MOST_LINES = 999_999
_LISTED_LEVELS = 2
_SHOWN_AROUND = 2  # lines before and after a change
_MOST_PATH_CHARS = 500  # a path becomes the name of a session
_MOST_DECODINGS = 4  # rounds of %-decoding in which a path is checked

Files = dict[str, str]
P = ParamSpec("P")


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool. Its files are events: searchable, dated, with all versions."""

    def __init__(
        self, memory: AnyMemory, *, wing: str | None = None, redact: str | None = None, cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.files = MemoryFiles(memory, wing=wing, redact=redact)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """List a folder or show a file."""
        return _run(self.files.view, command.path, command.view_range)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return _run(self.files.create, command.path, command.file_text)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return _run(self.files.str_replace, command.path, command.old_str, command.new_str)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line."""
        return _run(self.files.insert, command.path, command.insert_line, command.insert_text)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or folder."""
        return _run(self.files.delete, command.path)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or folder."""
        return _run(self.files.rename, command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        """Forget every file and its whole history."""
        return _run(self.files.clear_all)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for asyncio: each command runs in a thread."""

    def __init__(
        self, memory: AnyMemory, *, wing: str | None = None, redact: str | None = None, cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.sync = MemoryTool(memory, wing=wing, redact=redact)

    # pyright does not take a made method for an async one; see the first line.
    view = in_thread(MemoryTool.view)
    create = in_thread(MemoryTool.create)
    str_replace = in_thread(MemoryTool.str_replace)
    insert = in_thread(MemoryTool.insert)
    delete = in_thread(MemoryTool.delete)
    rename = in_thread(MemoryTool.rename)
    clear_all_memory = in_thread(MemoryTool.clear_all_memory)


def _run(command: Callable[P, str], *args: P.args, **kwargs: P.kwargs) -> str:
    """Convert our errors to the SDK's, whose text the runner passes to the model. Other errors would end the run."""
    try:
        return command(*args, **kwargs)
    except EverywordError as error:
        raise ToolError(str(error)) from error


# Files


class MemoryFiles:
    """The six commands of the memory tool, with the answers of the reference."""

    def __init__(self, memory: AnyMemory, *, wing: str | None = None, redact: str | None = None) -> None:
        self._ledger = Ledger(memory, _NAME, wing=wing)
        self._clean = Redactor(memory, redact=redact).text

    def files(self) -> Mapping[str, str]:
        """Read the contents of all files, by path."""
        return _fold(self._ledger.entries())

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """List a folder, or show a file with line numbers."""
        place, files = _checked(path), self.files()
        if place in files:
            return _shown(path, files[place], view_range)
        if not _is_folder(place, files):
            raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
        return _listed(path, place, files)

    def create(self, path: str, file_text: str) -> str:
        """Write a new file."""
        place = _checked(path)

        def decide(files: Files) -> tuple[list[NewEntry], str]:
            if _is_there(place, files):
                raise InvalidInput(f"File {path} already exists")
            _check_parents(place, path, files)
            return [_write(place, self._clean(file_text))], f"File created successfully at: {path}"

        return self._change(decide)

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that occurs once."""
        place = _checked(path)

        def decide(files: Files) -> tuple[list[NewEntry], str]:
            content = _content(place, path, files)
            _check_once(old_str, path, content)
            at = content.find(old_str)
            changed = self._clean(content[:at] + new_str + content[at + len(old_str) :])
            snippet = _snippet(changed, content[:at].count("\n"))
            message = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            return [_write(place, changed)], message + snippet

        return self._change(decide)

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert text after a line; 0 is the start of the file."""
        place = _checked(path)

        def decide(files: Files) -> tuple[list[NewEntry], str]:
            lines = _content(place, path, files).split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= insert_line <= len(lines):
                raise InvalidInput(
                    f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(insert_line, insert_text.rstrip("\n"))
            changed = "\n".join(lines).removesuffix("\n") + "\n"
            return [_write(place, self._clean(changed))], f"The file {path} has been edited."

        return self._change(decide)

    def delete(self, path: str) -> str:
        """Delete a file or a folder; their history stays."""
        place = _checked(path)
        if place == ROOT:
            raise InvalidInput(f"Cannot delete the {ROOT} directory itself")

        def decide(files: Files) -> tuple[list[NewEntry], str]:
            if not _is_there(place, files):
                raise NotFound(f"The path {path} does not exist")
            gone = [_gone(name, f"Deleted {name}") for name in files if _is_at(name, place)]
            return gone, f"Successfully deleted {path}"

        return self._change(decide)

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a folder."""
        old, new = _checked(old_path), _checked(new_path)
        if old == ROOT:
            raise InvalidInput(f"Cannot rename the {ROOT} directory itself")

        def decide(files: Files) -> tuple[list[NewEntry], str]:
            if _is_there(new, files):
                raise InvalidInput(f"The destination {new_path} already exists")
            if not _is_there(old, files):
                raise NotFound(f"The path {old_path} does not exist")
            if new.startswith(f"{old}/"):
                raise InvalidInput(f"Cannot move {old_path} into itself")
            _check_parents(new, new_path, files)
            moved = {name: new + name[len(old) :] for name in files if _is_at(name, old)}
            changes = [_write(to, files[name]) for name, to in moved.items()]
            changes += [_gone(name, f"Renamed {name} to {to}") for name, to in moved.items()]
            return changes, f"Successfully renamed {old_path} to {new_path}"

        return self._change(decide)

    def clear_all(self) -> str:
        """Forget all files with their history."""
        ids = [entry.event.id for entry in self._ledger.entries()]
        if ids:
            self._ledger.memory.forget(ids=ids)
        return "All memory cleared"

    def _change(self, decide: Callable[[Files], tuple[list[NewEntry], str]]) -> str:
        return self._ledger.append(lambda entries: decide(_fold(entries)))


# Events


def _write(place: str, content: str) -> NewEntry:
    meaning: dict[str, Json] = {"do": "write", "path": place}
    if content.strip():
        return NewEntry(text=content, session=place, meaning=meaning)
    # An event can't be empty; a file can.
    return NewEntry(text=f"{place} is empty", session=place, meaning={**meaning, "content": content})


def _gone(place: str, text: str) -> NewEntry:
    return NewEntry(text=text, session=place, meaning={"do": "delete", "path": place})


def _fold(entries: Sequence[Entry]) -> Files:
    files: Files = {}
    for entry in entries:
        place = str(entry.meaning.get("path"))
        if entry.meaning.get("do") == "write":
            files[place] = str(entry.meaning.get("content", entry.event.text))
        elif entry.meaning.get("do") == "delete":
            files = {name: content for name, content in files.items() if not _is_at(name, place)}
    return files


def _is_at(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}/")


def _is_folder(place: str, files: Mapping[str, str]) -> bool:
    return place == ROOT or any(name.startswith(f"{place}/") for name in files)


def _is_there(place: str, files: Mapping[str, str]) -> bool:
    return place in files or _is_folder(place, files)


# Checks


def _checked(path: object) -> str:
    """Normalise a path; refuse any that could lead out of /memories, here or in a program that decodes it again."""
    if not isinstance(path, str) or not (path == ROOT or path.startswith(f"{ROOT}/")):
        raise InvalidInput(f"Path must start with {ROOT}, got: {path!s:.200}")
    if len(path) > _MOST_PATH_CHARS or not is_plain(path):
        raise InvalidInput(f"Path {path[:200]!r} is too long or has control characters")
    seen = path
    for _ in range(_MOST_DECODINGS):  # other programs may decode it again
        parts = normalize("NFKC", seen).replace("\\", "/").split("/")
        if any(part.strip(" .") == "" and "." in part for part in parts) or not is_plain(seen):
            raise InvalidInput(f"Path {path} would escape {ROOT} directory")
        decoded = unquote(seen)
        if decoded == seen:
            break
        seen = decoded
    else:
        raise InvalidInput(f"Path {path} would escape {ROOT} directory")
    if "\\" in path:
        raise InvalidInput(f"Path {path} has a backslash; use / instead")
    return "/".join(["", *(part for part in path.split("/") if part)])


def _check_parents(place: str, path: str, files: Files) -> None:
    parts = place.split("/")
    for count in range(3, len(parts)):
        if (parent := "/".join(parts[:count])) in files:
            raise InvalidInput(f"{path} can't be created: {parent} is a file, not a directory")


def _content(place: str, path: str, files: Files) -> str:
    if place in files:
        return files[place]
    if _is_folder(place, files):
        raise InvalidInput(f"The path {path} is not a file.")
    raise NotFound(f"The path {path} does not exist. Please provide a valid path.")


def _check_once(old_str: str, path: str, content: str) -> None:
    if not old_str or old_str not in content:
        raise InvalidInput(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
    if content.count(old_str) > 1:
        breaks = [found.start() for found in re.finditer("\n", content)]
        starts = (found.start() for found in re.finditer(f"(?={re.escape(old_str)})", content))
        lines = ", ".join(str(bisect_left(breaks, at) + 1) for at in starts)
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. "
            "Please ensure it is unique"
        )


# Output


def _listed(path: str, place: str, files: Mapping[str, str]) -> str:
    sizes: dict[str, int] = {}
    for name, content in files.items():
        if _is_at(name, place):
            parts = name[len(place) :].strip("/").split("/")
            if any(part.startswith(".") for part in parts):
                continue
            size = len(content.encode("utf-8", "surrogatepass"))
            for count in range(1, min(len(parts), _LISTED_LEVELS) + 1):
                inner = "/".join(parts[:count]) + ("/" if count < len(parts) else "")
                sizes[inner] = sizes.get(inner, 0) + size
    whole = sum(size for inner, size in sizes.items() if "/" not in inner.rstrip("/"))
    lines = [f"{_size(whole)}\t{path}"]
    lines += [
        f"{_size(sizes[inner])}\t{place}/{within_line(inner)}"  # the path as given may end with a slash
        for inner in sorted(sizes, key=lambda inner: inner.split("/"))
    ]
    header = f"Here're the files and directories up to {_LISTED_LEVELS} levels deep in {path}, excluding hidden items:"
    return "\n".join([header, *lines])


def _shown(path: str, content: str, view_range: Sequence[int] | None) -> str:
    lines = content.split("\n")
    if len(lines) > _MOST_LINES:
        raise InvalidInput(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 0, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0]) - 1
        last = len(lines) if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {path} with line numbers:\n" + _numbered(lines[first:last], first + 1)


def _snippet(content: str, line: int) -> str:
    lines = content.split("\n")
    first = max(0, line - _SHOWN_AROUND)
    return _numbered(lines[first : line + _SHOWN_AROUND + 1], first + 1)


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_LINE_NUMBER_WIDTH}}\t{within_line(line)}" for number, line in enumerate(lines, first))


def _size(size: int) -> str:
    """Format a number of bytes as the reference does: 512B, 1.5K, 2M."""
    unit = min(max(0, size.bit_length() - 1) // 10, 3)
    scaled = size / 1024**unit
    return f"{int(scaled)}{'BKMG'[unit]}" if scaled == int(scaled) else f"{scaled:.1f}{'BKMG'[unit]}"
