"""What comes from elsewhere, as users bring it in: once, or for as long as somebody follows a folder."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from everyword.engine.engine import Progress, silent
from everyword.errors import EverywordError, InvalidInput
from everyword.facade.arguments import checked_path
from everyword.facade.handle import Handle
from everyword.storage.open_files import is_held
from everyword.types.events import Imported, Json

if TYPE_CHECKING:
    from everyword.ingest.redaction.redact import Found

_YOUNG_S = 2.0  # since its last change: whoever writes may not have finished
_LOOK_EVERY_S = (
    2.0  # between two looks at a folder: what is said is found in seconds, and looking costs next to nothing
)


class _Stopped(Exception):
    """Somebody said stop in the middle of a look; what was stored by then stays."""


class Importing(Handle):
    """What a memory reads of files."""

    def import_events(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        redact: str | None = None,
        defer_embeddings: bool = False,
        again: bool = False,
        progress: Progress = silent,
    ) -> Imported:
        """Read a file, folder or zip of any known format, another memory's file too, in batches, each a transaction.

        Running it again reads what is new: files that have not changed are not opened, those that have grown are read
        from where reading stopped. format: its name, where it can't be told by looking. redact: "credentials",
        "personal" or "none", as `add` has it; what an export wrote stays as it was. defer_embeddings: make words
        searchable at once; vectors and statements follow with settle(). again: read also what was read before, and
        bring back what was forgotten since.
        """
        return self._import(
            path, format=format, redact=redact, defer=defer_embeddings, again=again, progress=progress, waits=False
        )

    def forgotten(self, events: Iterable[Mapping[str, Json]]) -> list[bool]:
        """Tell for each of these events whether it was forgotten and is not there now.

        For programs that read their files again. An event is recognised by its session, speaker and time; of new
        events that have all three of a forgotten one, one in 64 is taken for it.
        """
        from everyword.ingest.importing import Forgotten

        given = list(events)
        if not all(isinstance(event, Mapping) for event in given):
            raise InvalidInput("events must be a list of mappings, as add_many takes them.")
        return Forgotten(self._engine, self._space).among(given)

    def redacted(
        self,
        event: Mapping[str, Json],
        *,
        redact: str | None = None,
        told: Callable[[Found], None] | None = None,
    ) -> dict[str, Json]:
        """Take secrets out of an event as `add` would, without writing it.

        redact: "credentials", "personal" or "none" (default: as the memory is set). told: is called with each secret:
        what it is and where it stood, never the secret itself.
        """
        from everyword.ingest.redaction.redact import redact_event, rules_of

        clean, found = redact_event(event, rules_of(self._engine.settings, redact))
        if told is not None:
            for one in found:
                told(one)
        return clean

    def follow(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        redact: str | None = None,
        defer_embeddings: bool = False,
        every_s: float = _LOOK_EVERY_S,
        stop: threading.Event | None = None,
    ) -> Iterator[Imported | EverywordError]:
        """Import a folder or file, and whatever comes to it from then on, until `stop` is set.

        Gives what each look brought that was not there before. What goes wrong after the first look is given too, and
        tried again. A folder that holds nothing yet is waited for.
        """
        stop = stop or threading.Event()
        looked = False
        left_out: Mapping[str, int] = {}

        def go_on(_what: str, _done: int, _total: int) -> None:
            if stop.is_set():
                raise _Stopped

        while not stop.is_set():
            try:
                done = self._import(
                    path, format=format, redact=redact, defer=defer_embeddings, again=False, progress=go_on, waits=True
                )
                if not looked or done.read or done.skipped != left_out:  # what can't be read is so at every look
                    yield done
                looked, format, left_out = True, done.format, done.skipped
            except _Stopped:
                return
            except EverywordError as error:
                if looked:
                    yield error
                elif not _is_empty(path) and not _is_being_written(path):
                    raise
            stop.wait(every_s)

    def _import(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None,
        redact: str | None,
        defer: bool,
        again: bool,
        progress: Progress,
        waits: bool,
    ) -> Imported:
        # Imported here: a process that only asks should not pay for what reads files.
        from everyword.ingest.importers import everyword_jsonl as own_jsonl
        from everyword.ingest.importers import everyword_memory as own_file
        from everyword.ingest.importers.detection import is_own, recognise
        from everyword.ingest.importing import ImportOptions, import_source
        from everyword.ingest.redaction.redact import rules_of
        from everyword.knowledge.concepts import fold_waiting

        source = checked_path(path)
        strict = is_own(source, format)
        found = recognise(source, own_jsonl.NAME if strict else format)
        found.source.notes[own_file.SPACE] = self._space
        how = ImportOptions(
            wing=self._wing,
            rules=rules_of(self._engine.settings, redact),
            strict=strict and not waits,
            own=strict or found.format is own_file,
            defer=defer,
            again=again,
            skip_recent=waits,
        )
        try:
            done = import_source(self._engine, self._space, found.format, found.source, how, progress=progress)
        finally:
            found.source.close()
        if not defer and self._engine.settings.fold:  # what batches had no time for
            fold_waiting(self._engine, progress, self._space)
        return done


def _is_being_written(path: str | os.PathLike[str]) -> bool:
    """Tell whether something here changed just now: half a file can't be judged."""
    try:
        return any(time.time() - one.stat().st_mtime < _YOUNG_S for one in _there(path))
    except OSError:
        return True  # it went while we looked: things are moving


def _is_empty(path: str | os.PathLike[str]) -> bool:
    """Tell a folder in which nothing is yet."""
    return checked_path(path).is_dir() and not any(True for _ in _there(path))


def _there(path: str | os.PathLike[str]) -> Iterator[Path]:
    """List what could be imported: not a memory that is open here and lies in the same folder, always written to."""
    source = checked_path(path)
    return (one for one in (source.rglob("*") if source.is_dir() else [source]) if not is_held(one))
