"""Export the graph: one GraphML or JSON file, or a folder of Markdown notes."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct, field

from everyword.errors import BadLocation
from everyword.private_files import make_private_folder, new_file, replace_file
from everyword.text.terms import whole_until
from everyword.types.events import Session
from everyword.types.graph import ENTITY_PREFIX, RELATIONS, Entity, EntityType, Fact
from everyword.types.serialization import to_json

_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NODE_KEYS = ("kind", "name", "type", "aliases", "events", "first_at", "last_at", "keys")
_SESSION_KEYS = ("name", "events", "first_at", "last_at", "keys")
_FACT_KEYS = ("id", "relation", "valid_from", "valid_to", "confidence", "conflicts")
_EDGE_KEYS = ("relation", "valid_from", "valid_to", "confidence", "conflicts", "quotes", "events")


def write_graph(path: Path, entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session]) -> int:
    """Write entities, facts and sessions to a new .graphml or .json file; return the number of nodes and edges."""
    nodes, edges = _nodes(entities, facts, sessions), _edges(entities, facts, sessions)
    if path.suffix.lower() == ".graphml":
        text = _graphml(nodes, edges)
    elif path.suffix.lower() == ".json":
        text = json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=True, indent=1) + "\n"
    else:
        raise BadLocation(f"{path} must end in .graphml or .json.")
    with new_file(path) as file:
        file.write(text.encode("utf-8", "replace"))
    return len(nodes) + len(edges)


def _nodes(entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session]) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = [{"id": one.id, "kind": "entity", **to_json(one)} for one in entities]
    words = {fact.object: fact.object_name for fact in facts if not fact.object.startswith(ENTITY_PREFIX)}
    nodes += [{"id": f"words:{key}", "kind": "words", "name": name} for key, name in sorted(words.items())]
    nodes += [{"id": f"session:{one.name}", "kind": "session", **_members(one, _SESSION_KEYS)} for one in sessions]
    return nodes


def _edges(entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session]) -> list[dict[str, Any]]:
    edges: list[dict[str, Any]] = [
        {
            "source": fact.subject,
            "target": fact.object if fact.object.startswith(ENTITY_PREFIX) else f"words:{fact.object}",
            **_members(fact, _FACT_KEYS),
            "quotes": [source.quote for source in fact.sources],
            "events": [source.event_id for source in fact.sources],
        }
        for fact in facts
    ]
    ids = {one.name: one.id for one in entities}
    edges += [
        {"source": f"session:{one.name}", "target": ids[name], "relation": "speaks_of"}
        for one in sessions
        for name in one.entities
        if name in ids
    ]
    return edges


def _graphml(nodes: Iterable[dict[str, Any]], edges: Iterable[dict[str, Any]]) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *(f'<key id="n_{key}" for="node" attr.name="{key}" attr.type="string"/>' for key in _NODE_KEYS),
        *(f'<key id="e_{key}" for="edge" attr.name="{key}" attr.type="string"/>' for key in _EDGE_KEYS),
        '<graph edgedefault="directed">',
    ]
    lines += [f"<node id={_attribute(node['id'])}>{_data('n', _NODE_KEYS, node)}</node>" for node in nodes]
    for edge in edges:
        ends = f"source={_attribute(edge['source'])} target={_attribute(edge['target'])}"
        lines.append(f"<edge {ends}>{_data('e', _EDGE_KEYS, edge)}</edge>")
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _data(kind: str, keys: Sequence[str], held: dict[str, Any]) -> str:
    return "".join(
        f'<data key="{kind}_{key}">{_text(held[key])}</data>' for key in keys if held.get(key) not in (None, [], "")
    )


def _text(value: object) -> str:
    if isinstance(value, list):
        value = "\n".join(str(one) for one in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return escape(_NOT_IN_XML.sub("\ufffd", str(value)))


def _attribute(value: object) -> str:
    return quoteattr(_NOT_IN_XML.sub("\ufffd", str(value)))


def _members(value: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: to_json(getattr(value, name)) for name in names}


FOLDERS: Mapping[EntityType, str] = {
    EntityType.PERSON: "people",
    EntityType.ORGANISATION: "organisations",
    EntityType.PROJECT: "projects",
    EntityType.PLACE: "places",
    EntityType.THING: "things",
    EntityType.TOPIC: "topics",
}
_MOST_SESSIONS = 20  # in a note
_LONGEST_TITLE = 100  # characters of a file name
_MOST_BYTES = 220  # of the 255 of file systems; part of an id, ".md" and what marks a partial file are appended
_NOT_IN_TITLES = re.compile(r'[\x00-\x1f\x7f-\x9f\\/:*?"<>|#^\[\]\u2028\u2029]+')
# Bidirectional and invisible characters, which would make two names look alike.
_UNSEEN = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)  # reserved by Windows
_HEAD = re.compile(r"---\neveryword: (en_[0-9a-f]{32})\nmade: ([0-9a-f]{32})\n")


class WikiReport(Struct):
    """What an export did with the notes of a folder."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0  # of entities that no longer exist
    kept: list[str] = field(default_factory=list[str])  # notes that somebody changed


def write_wiki(
    folder: Path, entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session]
) -> WikiReport:
    """Update a folder with one note for each entity; keep notes that somebody changed."""
    report = WikiReport()
    theirs, ours = _there(folder)
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


def _there(folder: Path) -> tuple[list[Path], dict[str, tuple[Path, bool]]]:
    """List the notes of a folder: other people's, and ours by entity id with whether they are unchanged."""
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
        raise BadLocation(f"The folder {folder} can't be read or created ({error}).") from error
    return theirs, ours


def _write(path: Path, text: str, there: tuple[Path, bool] | None, report: WikiReport) -> None:
    if there is not None and not there[1]:
        return  # somebody changed it
    if there is not None and there[0] == path and path.read_bytes() == text.encode("utf-8"):
        report.unchanged += 1
        return
    make_private_folder(path.parent)
    replace_file(path, text.encode("utf-8"))
    report.written += 1


def _titles(entities: Sequence[Entity], taken: set[str]) -> dict[str, str]:
    """Choose the title of each note; titles that would clash get part of the entity id."""
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
        # Replace lone surrogates, which can't be written.
        body = body.encode("utf-8", "replace").decode("utf-8")
        path = f"{FOLDERS[one.type]}/{titles[one.id]}.md"
        notes[one.id] = (path, f"---\neveryword: {one.id}\nmade: {_mark(body)}\n{body}")
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
            yield f"- {_day(session.last_at)} {_line(session.name)}{keys}"


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
    """Put text on one line, and break up what looks like a link."""
    return " ".join(text.split()).replace("[[", "[ [").replace("]]", "] ]")


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _mark(body: str) -> str:
    return hashlib.blake2b(body.encode("utf-8", "replace"), digest_size=16).hexdigest()
