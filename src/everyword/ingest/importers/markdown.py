"""Markdown notes, such as an Obsidian vault: one event per section, verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from everyword.ingest.importers.records import Item, Position, as_moment, digest, item, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import MAX_RECORD_BYTES, decoded
from everyword.types.times import as_datetime

NAME = "markdown"
GROWS = False

_SUFFIXES = (".md", ".markdown")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S[^\n]*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_MEMBER = re.compile(r"([\w -]{1,40}):[ \t]*(.*)")
_DATED = ("date", "created", "date created", "created_at", "creation date", "day")
_DAY_IN_NAME = re.compile(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)")


def recognise(source: Source) -> float:
    """Return the confidence, from 0 to 1, that the source has this format."""
    notes = parts(source)
    if not notes:
        return 0.0
    if source.kind == "file":
        return 0.6
    if source.kind == "folder" and (source.path / ".obsidian").is_dir():
        return 0.9
    return 0.8 * len(notes) / len(source.names)


def parts(source: Source) -> tuple[str, ...]:
    """List the notes."""
    return source.ending(*_SUFFIXES)


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read a note section by section."""
    with source.open(part) as file:
        content = file.read(MAX_RECORD_BYTES + 1)
    if len(content) > MAX_RECORD_BYTES:
        yield skipped("a note of more than 64 MiB", part)
        return
    text = decoded(content).replace("\r\n", "\n")
    front, body, first_line = _front_matter(text)
    note = PurePosixPath(part).with_suffix("").as_posix()
    done = int((after or {}).get("section", 0))
    seen: dict[str, int] = {}
    day = _day(front, note)
    modified = source.modified(part)
    sections = list(_sections(body, first_line))
    only_headings = all(_is_heading_alone(path, section) for path, _, section in sections)
    if only_headings and [heading for path, _, _ in sections for heading in path[-1:]] != [PurePosixPath(note).name]:
        sections = [((), first_line, body.strip("\n"))]  # a list written as headings: they are the content
    for number, (path, line, section) in enumerate(sections, 1):
        name = digest("/".join(path), section)
        seen[name] = seen.get(name, 0) + 1
        if number <= done:
            continue
        where = f"{part}, line {line}"
        if _is_heading_alone(path, section):
            one: Item = skipped("a heading without text", where, section, expected=True)
        else:
            one = item(
                section,
                key=f"{NAME}:{note}:{name}" + (f":{seen[name]}" if seen[name] > 1 else ""),
                where=where,
                source={"format": NAME, "note": note, "line": line},
                at=day,
                otherwise_at=modified,
                session=note,
                role="note",
                wing=source.title if source.kind == "folder" else None,
                meta={"title": front.get("title"), "headings": list(path), "tags": front.get("tags")},
            )
        yield replace(one, position={"section": number})


def _is_heading_alone(path: tuple[str, ...], section: str) -> bool:
    return not section.strip() or (bool(path) and "\n" not in section.strip())


def _front_matter(text: str) -> tuple[dict[str, str], str, int]:
    """Split off the front matter; read its plain fields, skip nested ones."""
    if not text.startswith("---\n"):
        return {}, text, 1
    end = text.find("\n---", 3)
    after = text.find("\n", end + 1)
    if end < 0 or text[end + 4 : after if after >= 0 else None].strip():
        return {}, text, 1
    members: dict[str, str] = {}
    for row in text[4:end].split("\n"):
        member = _MEMBER.fullmatch(row)
        if member and member[2].strip():
            members[member[1].strip().lower()] = member[2].strip().strip("\"'")
    body = text[after + 1 :] if after >= 0 else ""
    return members, body, text[: len(text) - len(body)].count("\n") + 1


def _day(front: dict[str, str], note: str) -> str | None:
    """The date of a note: from its front matter, else from its name."""
    for name in _DATED:
        value = front.get(name, "")
        moment = as_moment(value.replace("/", "-")) or as_moment(value[:10].replace("/", "-"))
        if moment:
            return moment
    named = _DAY_IN_NAME.search(PurePosixPath(note).name)
    moment = as_moment("-".join(named.groups())) if named else None
    return as_datetime(moment).date().isoformat() if moment else None


def _sections(body: str, first_line: int) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Split at headings outside code; each section has the headings above it and starts with its own."""
    path: list[tuple[int, str]] = []
    start, fence, at, line = 0, "", 0, first_line
    start_line = first_line
    for row in body.splitlines(keepends=True):
        fenced = _FENCE.match(row)
        if fenced and (not fence or (fenced[1][0] == fence[0] and len(fenced[1]) >= len(fence))):
            fence = "" if fence else fenced[1]
        heading = None if fence else _HEADING.match(row)
        if heading:
            if body[start:at].strip():
                yield tuple(name for _, name in path), start_line, body[start:at].strip("\n")
            path = [(depth, name) for depth, name in path if depth < len(heading[1])]
            path.append((len(heading[1]), heading[2].strip().rstrip("#").strip()))
            start, start_line = at, line
        at += len(row)
        line += 1
    if body[start:].strip():
        yield tuple(name for _, name in path), start_line, body[start:].strip("\n")
