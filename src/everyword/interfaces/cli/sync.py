"""`everyword sync FOLDER`: a folder of Markdown notes that a memory reads, and writes what it understood into.

Notes become events, as `import` makes them. Each note ends with a generated section that lists the statements of the
note, one a line, with its id. On the next run a changed line corrects its statement, a missing one takes it back, and
a new one moves up into the note. The section is never imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from everyword.errors import BadLocation, InvalidInput, NotFound
from everyword.ingest.importers.notes import CLOSING, MARKDOWN, OPENING, generated_section
from everyword.ingest.importers.sources import open_source
from everyword.memory import Memory
from everyword.private_files import replace_file
from everyword.types.records import Reason, RecordKind
from everyword.types.statements import BY_HAND, STATEMENT_PREFIX, Statement, Status

_TITLE = "read from this note. Edit a line to correct it, delete it to take it back."
_KNOWN = " Known: "  # before the ids of all lines that were written
_MAX_NOTE_BYTES = 16 * 1024 * 1024  # more is no note that a person edits


class Synced(Struct):
    """What a run did."""

    notes: int = 0
    added: int = 0
    corrected: int = 0
    retracted: int = 0
    written: set[Path] = field(default_factory=set[Path])
    left: list[str] = field(default_factory=list[str])  # notes that were not written, and why


def sync(memory: Memory, folder: Path, *, tz: str = "UTC") -> Synced:
    """Take edits of the generated sections, import the notes, and write the sections again."""
    if not folder.is_dir():
        raise BadLocation(f"{folder} is not a folder.", fix="Name a folder of Markdown notes.")
    done = Synced()
    names = open_source(folder).ending(*MARKDOWN.SUFFIXES)
    contents = {name: content for name in names for content in _content(folder / name, done)}
    done.notes = len(contents)
    if not contents:
        return done
    for name, content in contents.items():
        contents[name] = _take_edits(memory, folder / name, content, done)
    done.added = memory.import_events(folder, format=MARKDOWN.NAME, tz=tz).added
    statements = _by_note(memory, memory.statements())
    _take_back_again(memory, statements, done)
    for name, content in contents.items():
        session = PurePosixPath(name).with_suffix("").as_posix()
        _replaced(folder / name, content, _with_section(content, statements.get(session, [])), done)
    return done


def _content(path: Path, done: Synced) -> Iterator[str]:
    """Read a note, if it is one that can be written back unchanged."""
    try:
        if path.stat().st_size > _MAX_NOTE_BYTES:
            raise InvalidInput("it is larger than 16 MiB")
        yield path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError, InvalidInput) as error:
        done.left.append(f"{path.name} is left as it is ({error}).")


def _take_edits(memory: Memory, path: Path, content: str, done: Synced) -> str:
    """Apply the edits of the generated section; return the note as it is then."""
    section = generated_section(content)
    if section is None:
        return content
    opening, *rows = content[section.start : section.end].splitlines(keepends=True)
    lines = {row: _line(row) for row in rows[:-1] if row.strip()}
    texts = {id: text for text, id in lines.values() if id}
    for id in opening.partition(_KNOWN)[2].strip().removesuffix("-->").split():
        with suppress(NotFound):  # forgotten since
            statement = memory.statement(id)
            if statement.status is not Status.CURRENT:
                continue
            if not texts.get(id):
                memory.retract(id, reason=Reason.NEVER_TRUE)
                done.retracted += 1
            elif texts[id] != _one_line(statement.content):
                memory.correct(id, texts[id])
                done.corrected += 1
    # What the user wrote there goes up into the note: it is theirs, and this section is written anew.
    new = [row for row, (_, id) in lines.items() if not id]
    if not new:
        return content
    kept = "".join([opening, *(row for row in rows if row not in new)])
    return _replaced(path, content, content[: section.start] + "".join(new) + kept + content[section.end :], done)


def _line(row: str) -> tuple[str, str]:
    """Split a line into its text and the id behind it, which a new line has not."""
    text, _, behind = row.strip().removeprefix("- ").rpartition("<!-- ")
    id = behind.removesuffix("-->").strip()
    return (text.strip(), id) if behind.endswith("-->") and id.startswith(STATEMENT_PREFIX) else (row.strip(), "")


def _take_back_again(memory: Memory, statements: dict[str, list[Statement]], done: Synced) -> None:
    """Retract what was taken back before: a note that changed is read again, with the same words."""
    retracted = {record.details.get("statement") for record in memory.admin.records(kind=RecordKind.RETRACTION)}
    gone = [one for one in memory.statements(status=Status.RETRACTED) if one.id in retracted]
    for note, before in _by_note(memory, gone).items():
        contents = {one.content for one in before}
        for statement in [one for one in statements.get(note, ()) if one.content in contents]:
            memory.retract(statement.id, reason=Reason.NEVER_TRUE)
            statements[note].remove(statement)
            done.retracted += 1


def _by_note(memory: Memory, statements: Sequence[Statement]) -> dict[str, list[Statement]]:
    """Group statements by the note that they come from."""
    found: dict[str, list[Statement]] = {}
    for statement in statements:
        first = memory.history(statement.id).versions[0].statement if statement.extractor == BY_HAND else statement
        with suppress(NotFound):
            event = memory.get(first.event_id)
            if event.session is not None and event.meta.get("source", {}).get("format") == MARKDOWN.NAME:
                found.setdefault(event.session, []).append(statement)
    return found


def _one_line(text: str) -> str:
    return " ".join(text.replace("-->", "->").split())


def _with_section(content: str, statements: Sequence[Statement]) -> str:
    """Write the generated section of a note, at its end where it has none; without statements, remove it."""
    end = "\r\n" if "\r\n" in content else "\n"
    rows = [f"- {_one_line(one.content)} <!-- {one.id} -->" for one in statements]
    opening = f"{OPENING}{_TITLE}{_KNOWN}{' '.join(one.id for one in statements)} -->"
    section = end.join([opening, *rows, CLOSING]) if statements else ""
    old = generated_section(content)
    if old is None:
        return f"{content.rstrip()}{end}{end}{section}{end}" if section else content
    new = content[: old.start] + section + content[old.end :]
    return new if section else new.rstrip() + end


def _replaced(path: Path, old: str, new: str, done: Synced) -> str:
    """Replace a note, unless somebody has changed it meanwhile; return its content."""
    if new == old:
        return old
    try:
        if path.is_symlink() or path.read_bytes() != old.encode("utf-8"):
            done.left.append(f"{path.name} is left as it is: it is a link, or it changed just now.")
            return old
        replace_file(path, new.encode("utf-8"))
        done.written.add(path)
        return new
    except OSError as error:
        done.left.append(f"{path.name} can't be written ({error.strerror}).")
        return old
