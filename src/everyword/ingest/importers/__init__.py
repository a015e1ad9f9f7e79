"""The formats that can be imported, and which of them each file has.

A format says which files it may be in (`SUFFIXES`), how likely a file has it (`recognise`), and yields the events of a
file, and the entries that it skipped, each with the position after it (`read`). A position is JSON and belongs to one
file. Reading can resume from any position while the file's content is the same; if `GROWS` is true, also when the file
has grown.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from msgspec import Struct

from everyword.errors import BadLocation, InvalidInput
from everyword.ingest.importers.assistant_exports import CHATGPT, CLAUDE_AI
from everyword.ingest.importers.coding_assistants import CLAUDE_CODE, CODEX, COPILOT, GEMINI
from everyword.ingest.importers.conversations import MESSAGES, TRANSCRIPT
from everyword.ingest.importers.everyword_files import OWN_FILE, OWN_JSONL
from everyword.ingest.importers.gitlog import GITLOG, HISTORY, is_repository
from everyword.ingest.importers.mbox import MBOX
from everyword.ingest.importers.messengers import SLACK, TELEGRAM, WHATSAPP
from everyword.ingest.importers.notes import MARKDOWN, PDF, TEXT, WORD
from everyword.ingest.importers.other_memories import MCP_MEMORY, MEM0, MEMPALACE
from everyword.ingest.importers.sources import Format, Source, open_source, suffix
from everyword.ingest.importers.streaming import MAX_RECORD_BYTES
from everyword.ingest.importers.table import TABLE

# Increase it when a format learns to read more of its files: files that were imported are then read again.
READERS_VERSION = 6

FORMATS: tuple[Format, ...] = (
    *(CLAUDE_CODE, CLAUDE_AI, CHATGPT, CODEX, COPILOT, GEMINI, SLACK, TELEGRAM, WHATSAPP, MBOX),
    *(OWN_JSONL, OWN_FILE, MEM0, MEMPALACE, MCP_MEMORY, MESSAGES, TABLE, GITLOG, TRANSCRIPT),
    *(MARKDOWN, TEXT, WORD, PDF),
)

_MIN_CONFIDENCE = 0.5
_SURE = 0.9  # then no other format is tried
# Of the files in a folder with a git history: with more, the folder is a collection of notes that git keeps, and is
# read; with less it is code, and only its history is read. Importing test data of chats would be a surprise.
_MIN_SHARE_OF_NOTES = 0.75


class Recognised(Struct, frozen=True, kw_only=True):
    """A file, folder or zip, and its format where the caller named one; otherwise each file has its own."""

    source: Source
    named: Format | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """List the files to look at, in order."""
        if self.named is None:
            return (HISTORY,) if self._is_code() else self.source.names
        if self.named is GITLOG and is_repository(self.source):
            return (HISTORY,)
        if self.source.kind == "file" or not self.named.SUFFIXES:
            return self.source.names
        return self.source.ending(*self.named.SUFFIXES)

    @property
    def left_out(self) -> dict[str, int]:
        """Count the files that are not looked at, by reason."""
        left = dict(self.source.left_out)
        if self.named is None and is_repository(self.source):
            if self._is_code():
                left["a file beside a git history; name its format to read it"] = len(self.source.names)
            else:
                left["a git history beside notes; read it with --format git"] = 1
        return left

    def format_of(self, part: str) -> Format | None:
        """Choose the format of a file; None if no format fits."""
        if self.named is not None or part == HISTORY:
            return self.named or GITLOG
        confidence, best = self.ranked(part)[0]
        return best if confidence >= _MIN_CONFIDENCE else None

    def ranked(self, part: str) -> list[tuple[float, Format]]:
        """List the formats with their confidence for a file, best first."""
        ranked: list[tuple[float, Format]] = [(0.0, FORMATS[0])]
        fitting = [one for one in FORMATS if not one.SUFFIXES or suffix(part) in one.SUFFIXES]
        self.source.notes["heads"] = {part: self.source.head(part)} if fitting else {}
        for one in fitting:
            ranked.append((one.recognise(self.source, part), one))
            if ranked[-1][0] >= _SURE:
                break
        del self.source.notes["heads"]
        return sorted(ranked, key=lambda pair: -pair[0])

    def unknown(self) -> InvalidInput:
        """Say that no format fits, and which come near for a single file."""
        path, names = self.source.path, self.source.names
        if self.source.kind == "file" and (wrong := _what_is_wrong(self.source, names[0])):
            return InvalidInput(f"{path} {wrong}.", fix="Check the file, then import it again.")
        what = path if self.source.kind == "file" else f"{path}, a {self.source.kind} of {len(names):,} files,"
        guesses = self.ranked(names[0]) if self.source.kind == "file" else []
        listed = ", ".join(f"{one.NAME} ({confidence:.0%})" for confidence, one in guesses[:3] if confidence > 0)
        if listed:
            return InvalidInput(f"The format of {what} is uncertain: {listed}.", fix=_choices())
        hint = "" if suffix(path.name) or self.source.kind != "file" else "Give it a name with a suffix, as chat.txt. "
        return InvalidInput(f"{what} has no known format.", fix=f"{hint}{_choices()}")

    def _is_code(self) -> bool:
        if not is_repository(self.source):
            return False
        names = self.source.names
        read = sum(any(suffix(name) in one.SUFFIXES for one in FORMATS) for name in names if suffix(name))
        return read <= _MIN_SHARE_OF_NOTES * len(names)


def recognise(path: str | os.PathLike[str], format: str | None = None) -> Recognised:
    """Open a path; format: the name of the format of all its files, if the caller knows it."""
    chosen = None if format is None else named(format)
    try:
        source = open_source(Path(path))
    except TypeError as error:
        raise BadLocation(f"{path!r} is not a path.") from error
    found = Recognised(source=source, named=chosen)
    if chosen is not None and not found.parts:
        source.close()
        raise InvalidInput(f"{path} holds no files that the format {format} reads.")
    return found


def named(name: str) -> Format:
    """Find a format by its name."""
    for one in FORMATS:
        if name == one.NAME:
            return one
    fitting = [one.NAME for one in FORMATS if f".{name.lower().lstrip('.')}" in one.SUFFIXES]
    fix = f"Of the formats, these read .{name.lower().lstrip('.')}: {', '.join(fitting)}." if fitting else _choices()
    raise InvalidInput(f"Unknown format {name!r}.", fix=fix)


def _choices() -> str:
    return f"Choose a format: {', '.join(one.NAME for one in FORMATS)}."


def _what_is_wrong(source: Source, part: str) -> str:
    """Say why no format can fit: the file is empty, or not the JSON that its name promises."""
    size = (source.state(part) or (0, 0))[0]
    if not size:
        return "is empty"
    if suffix(part) != ".json" or size > MAX_RECORD_BYTES:
        return ""
    try:
        with source.open(part) as file:
            return "" if json.load(file) else "holds no entries"
    except (ValueError, RecursionError) as error:
        return f"is not valid JSON ({error})"
