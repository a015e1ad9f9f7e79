"""The graph as a folder of notes, one for each person, place, project ..., with wiki links between them.

Made anew from the graph each time, and only what differs is written. A note says in its head whose it is and what it
was when it was made: what somebody else wrote, or changed, stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from recollect.core.errors import BadLocation
from recollect.core.graph import RELATIONS, Entity, EntityType, Fact
from recollect.core.private import make_private_folder, open_private
from recollect.core.scripts import whole_until
from recollect.core.values import Session

FOLDERS: Mapping[EntityType, str] = {
    EntityType.PERSON: "people",
    EntityType.ORGANISATION: "organisations",
    EntityType.PROJECT: "projects",
    EntityType.PLACE: "places",
    EntityType.THING: "things",
    EntityType.TOPIC: "topics",
}
_MOST_SESSIONS = 20  # listed in a note
_LONGEST_TITLE = 100  # characters of a file's name
_MOST_BYTES = 220  # of 255 that file systems take: a part of an id, and the ending of a file in the making, come behind
_NOT_IN_TITLES = re.compile(r'[\x00-\x1f\x7f-\x9f\\/:*?"<>|#^\[\]\u2028\u2029]+')
# What turns the direction of writing round, or can't be seen: two names that look alike would be two files.
_UNSEEN = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)  # names that Windows keeps to itself
_HEAD = re.compile(r"---\nrecollect: (en_[0-9a-f]{32})\nmade: ([0-9a-f]{32})\n")


@dataclass(slots=True)
class WikiReport:
    """What became of the notes of a folder."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0  # of those that are not spoken of any more
    kept: list[str] = field(default_factory=list[str])  # notes that somebody changed, or wrote by hand


def write_wiki(
    folder: Path, entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session]
) -> WikiReport:
    """Bring a folder of notes up to date."""
    report = WikiReport()
    theirs, ours = _there(folder, report)
    titles = _titles(entities, {path.stem.casefold() for path in theirs})
    notes = _notes(entities, facts, sessions, titles)
    edited = {id for id, (_, intact) in ours.items() if not intact}
    try:
        for id, (path, text) in notes.items():
            _write(folder / path, text, ours.get(id), report)
        for id, (path, intact) in ours.items():
            moved = id in notes and folder / notes[id][0] != path
            if intact and (id not in notes or moved):
                path.unlink()
                report.removed += id not in notes
    except OSError as error:
        raise BadLocation(f"The notes in {folder} can't be written ({error}).") from error
    report.kept += sorted(str(ours[id][0].relative_to(folder)) for id in edited)
    return report


def _there(folder: Path, report: WikiReport) -> tuple[list[Path], dict[str, tuple[Path, bool]]]:
    """Find the notes of a folder: other people's, and ours with whether nobody changed them."""
    theirs: list[Path] = []
    ours: dict[str, tuple[Path, bool]] = {}
    try:
        make_private_folder(folder)
        for path in sorted(folder.rglob("*.md")):
            text = path.read_bytes().decode("utf-8", "replace")
            head = _HEAD.match(text)
            if head is None or head[1] in ours:
                theirs.append(path)
            else:
                ours[head[1]] = (path, _mark(text[head.end() :]) == head[2])
    except OSError as error:
        raise BadLocation(f"The folder {folder} can't be used ({error}).") from error
    return theirs, ours


def _write(path: Path, text: str, there: tuple[Path, bool] | None, report: WikiReport) -> None:
    if there is not None and not there[1]:
        return  # somebody changed it
    if there is not None and there[0] == path and path.read_bytes() == text.encode("utf-8"):
        report.unchanged += 1
        return
    make_private_folder(path.parent)
    partial = path.with_name(path.name + ".partial")
    with open(open_private(partial, os.O_WRONLY | os.O_TRUNC, like=path), "wb") as file:
        file.write(text.encode("utf-8"))
    os.replace(partial, path)
    report.written += 1


def _titles(entities: Sequence[Entity], taken: set[str]) -> dict[str, str]:
    """Give each entity the name of its note; two that would have the same get a part of their ids."""
    plain = {one.id: _title(one.name) for one in entities}
    folded = [title.casefold() for title in plain.values()]
    return {
        id: title if folded.count(title.casefold()) == 1 and title.casefold() not in taken else f"{title} ({id[3:9]})"
        for id, title in plain.items()
    }


def _title(name: str) -> str:
    title = _NOT_IN_TITLES.sub(" ", _UNSEEN.sub("", unicodedata.normalize("NFC", name)))
    end = min(_LONGEST_TITLE, len(title[:_LONGEST_TITLE].encode()[:_MOST_BYTES].decode("utf-8", "ignore")))
    title = title[: whole_until(title, end)].strip(" .")
    return f"_{title}" if not title or _RESERVED.fullmatch(title) else title


def _notes(
    entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session], titles: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    of: dict[str, list[Fact]] = {}
    to: dict[str, list[Fact]] = {}
    for fact in facts:
        of.setdefault(fact.subject, []).append(fact)
        to.setdefault(fact.object, []).append(fact)
    spoken: dict[str, list[Session]] = {}
    for session in sessions:
        for name in session.entities:
            spoken.setdefault(name, []).append(session)
    notes: dict[str, tuple[str, str]] = {}
    for one in entities:
        body = "\n".join(_body(one, of.get(one.id, ()), to.get(one.id, ()), spoken.get(one.name, ()), titles)) + "\n"
        # Half a character can be remembered and can't be written.
        body = body.encode("utf-8", "replace").decode("utf-8")
        path = f"{FOLDERS[one.type]}/{titles[one.id]}.md"
        notes[one.id] = (path, f"---\nrecollect: {one.id}\nmade: {_mark(body)}\n{body}")
    return notes


def _body(
    one: Entity, of: Iterable[Fact], to: Iterable[Fact], spoken: Sequence[Session], titles: Mapping[str, str]
) -> Iterable[str]:
    yield f"type: {one.type.value}"
    yield f"aliases: {json.dumps(list(one.aliases), ensure_ascii=False)}"
    yield f"events: {one.events}"
    yield f"first: {_day(one.first_at)}"
    yield f"last: {_day(one.last_at)}"
    yield from ("---", f"# {_line(one.name)}")
    own = sorted(of, key=lambda fact: (fact.valid_from is None, fact.valid_from, fact.id))
    lasting = [fact for fact in own if _lasts(fact)]
    for heading, some in (
        ("Now", [fact for fact in lasting if fact.open]),
        ("Before", [fact for fact in lasting if not fact.open]),
        ("Happened", [fact for fact in own if not _lasts(fact)]),
    ):
        if some:
            yield from ("", f"## {heading}", "")
            yield from (_fact(fact, _link(fact.object, fact.object_name, titles)) for fact in some)
    about = [fact for fact in to if fact.subject != one.id]
    if about:
        yield from ("", "## Linked from", "")
        for fact in sorted(about, key=lambda fact: fact.id):
            yield _fact(fact, "", _link(fact.subject, fact.subject_name, titles))
    if spoken:
        yield from ("", "## Sessions", "")
        for session in spoken[:_MOST_SESSIONS]:
            keys = f": {', '.join(map(_line, session.keys))}" if session.keys else ""
            yield f"- {_day(session.first_at)} {_line(session.name)}{keys}"


def _fact(fact: Fact, target: str, subject: str = "") -> str:
    parts = [subject, fact.relation.replace("_", " "), target, _window(fact), "**contradicted**" * fact.conflicts]
    said = "; ".join(
        f"“{_line(source.quote)}” ({_day(source.said_at)}, {source.event_id})" for source in fact.sources[:2]
    )
    return f"- {' '.join(part for part in parts if part)} — {said}"


def _link(id: str, name: str, titles: Mapping[str, str]) -> str:
    title = titles.get(id)
    if title is None:
        return _line(name)
    shown = _line(name).replace("|", " ")
    return f"[[{title}]]" if title == shown else f"[[{title}|{shown}]]"


def _window(fact: Fact) -> str:
    if fact.valid_from is not None and fact.valid_from == fact.valid_to:
        return f"on {_day(fact.valid_from)}"
    since = f"since {_day(fact.valid_from)}" if fact.valid_from else ""
    until = f"until {_day(fact.valid_to)}" if fact.valid_to else ""
    return " ".join(part for part in (since, until) if part)


def _lasts(fact: Fact) -> bool:
    relation = RELATIONS.get(fact.relation)
    return relation is None or relation.lasts


def _line(text: str) -> str:
    """Keep words on one line, and from being taken for links."""
    return " ".join(text.split()).replace("[[", "[ [").replace("]]", "] ]")


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _mark(body: str) -> str:
    return hashlib.blake2b(body.encode("utf-8", "replace"), digest_size=16).hexdigest()
