"""Notes and documents: Markdown, such as an Obsidian vault, by sections; plain text; Word files; PDF files by pages."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from xml.parsers import expat

from msgspec import Struct, field
from msgspec.structs import replace

from everyword.errors import InvalidInput
from everyword.ingest.importers.pdf import pdf_pages
from everyword.ingest.importers.records import Item, Position, as_moment, digest, is_binary, item, skipped
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import MAX_RECORD_BYTES, decoded
from everyword.types.events import Span
from everyword.types.times import as_datetime

# Around the section that `everyword sync` writes: the memory's own words are not imported.
OPENING, CLOSING = "<!-- everyword: ", "<!-- everyword end -->"
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S[^\n]*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_MEMBER = re.compile(r"([\w -]{1,40}):[ \t]*(.*)")
_DATED = ("date", "created", "date created", "created_at", "creation date", "day")
_DAY_IN_NAME = re.compile(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)")
_MOST_CHARS = 8_000  # of one event of a text without headings: some pages; longer ones end at a paragraph
_WORD_PARTS = re.compile(r"word/(?:document\d*|footnotes|endnotes|comments)\.xml")
_WORD_HEADING = re.compile(r"(?:Heading|heading )([1-6])|Title")
_WORD_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


class Section(Struct, frozen=True):
    """A piece of a note, where it stands, and the headings above it."""

    headings: tuple[str, ...]
    number: int  # of its first line, or of its page
    text: str


class Note(Struct, frozen=True):
    """The sections of a note, and what it says about itself."""

    sections: list[Section]
    about: dict[str, str] = field(default_factory=dict[str, str])
    problem: str = ""  # why the rest was not read


class _NoteReader(Struct, frozen=True, kw_only=True):
    """Reads files whole, and splits them into sections."""

    name: str
    magic: bytes  # the first bytes of each file
    confidence: float
    note_of: Callable[[str, bytes], Note]
    role: str
    unit: str

    def recognise(self, source: Source, part: str) -> float:
        head = source.head(part)
        fits = head.startswith(self.magic) if self.magic else not is_binary(decoded(head))
        return self.confidence if fits else 0.0

    def items(self, source: Source, part: str, _after: Position | None) -> Iterator[Item]:
        with source.open(part) as file:
            content = file.read(MAX_RECORD_BYTES + 1)
            if len(content) > MAX_RECORD_BYTES:
                yield skipped("a note of more than 64 MiB")
                return
            note = self.note_of(part, content)
        for section in note.sections:
            yield self._item(source, part, note, section)
        if note.problem:
            yield skipped(note.problem)

    def _item(self, source: Source, part: str, note: Note, section: Section) -> Item:
        path = PurePosixPath(part).with_suffix("").as_posix()
        if _is_heading_alone(section):
            return skipped("a heading without text", section.text, expected=True)
        return item(
            section.text,
            key=f"{path}:{digest('/'.join(section.headings), section.text)}",
            source={"note": path, self.unit: section.number},
            at=_day(note.about, path),
            session=path,
            role=self.role,
            wing=source.title if source.kind == "folder" else None,
            meta={"title": note.about.get("title"), "headings": list(section.headings), "tags": note.about.get("tags")},
        )


def _markdown(part: str, content: bytes) -> Note:
    text = decoded(content).replace("\r\n", "\n")
    if own := generated_section(text):
        # Blank lines keep the numbers of those after it.
        text = text[: own.start] + "\n" * text.count("\n", *own) + text[own.end :]
    front, body, first_line = _front_matter(text)
    sections = list(_sections(body, first_line))
    name = PurePosixPath(part).stem
    only_headings = all(_is_heading_alone(one) for one in sections)
    if only_headings and [heading for one in sections for heading in one.headings[-1:]] != [name]:
        sections = [Section((), first_line, body.strip("\n"))]  # a list written as headings: they are the content
    return Note(sections, front)


def generated_section(text: str) -> Span | None:
    """Find the section that `everyword sync` wrote into a note."""
    start = text.find(OPENING)
    end = text.find(CLOSING, start) if start >= 0 else -1
    return None if end < 0 else Span(start, end + len(CLOSING))


def _plain_text(_part: str, content: bytes) -> Note:
    return Note(list(_pieces(decoded(content).replace("\r\n", "\n"))))


def _pieces(text: str) -> Iterator[Section]:
    """Split a long text between paragraphs, else between lines, else anywhere."""
    start, line = 0, 1
    while start < len(text):
        end = len(text)
        if end - start > _MOST_CHARS:
            least, most = start + _MOST_CHARS // 2, start + _MOST_CHARS
            breaks = (text.rfind(sign, least, most) for sign in ("\n\n", "\n", " "))
            end = next((found for found in breaks if found > 0), most)
        piece = text[start:end]
        if piece.strip():
            blank = len(piece) - len(piece.lstrip("\n"))
            yield Section((), line + blank, piece.strip("\n"))
        line += piece.count("\n")
        start = end


def _word(part: str, content: bytes) -> Note:
    """Read the paragraphs of a Word file; zip and XML are read in pieces and within bounds."""
    words = _WordText()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            if not _WORD_PARTS.fullmatch(entry.filename):
                continue
            if entry.file_size > MAX_RECORD_BYTES:
                raise InvalidInput(f"{part} unpacks to {entry.file_size:,} bytes; it is not a document.")
            with archive.open(entry) as file:
                words.read(part, file.read(MAX_RECORD_BYTES))
    text = "\n".join(words.paragraphs)
    sections = list(_sections(text, 1)) if any(row.startswith("#") for row in words.paragraphs) else []
    return Note([piece for one in sections for piece in _split(one)] if sections else list(_pieces(text)))


def _split(section: Section) -> Iterator[Section]:
    return (replace(one, headings=section.headings, number=section.number) for one in _pieces(section.text))


class _WordText:
    """The paragraphs of a Word file, headings as in Markdown."""

    def __init__(self) -> None:
        self.paragraphs: list[str] = []
        self._words: list[str] = []  # of the paragraph so far; a string would be copied for each run
        self._prefix = ""
        self._inside = ""  # the element whose text counts
        self._fallbacks = 0  # alternatives for old programs, which repeat text

    def read(self, part: str, content: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text

        def refuse(*_: object) -> None:
            raise InvalidInput(f"{part} declares entities, which Word never writes; it is not read.")

        parser.StartDoctypeDeclHandler = refuse
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            raise InvalidInput(f"{part} can't be read as a Word file ({error}).") from error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        self._inside = name
        self._fallbacks += name == "Fallback"
        if name in _WORD_BREAKS and not self._fallbacks:
            self._words.append(_WORD_BREAKS[name])
        elif name == "pStyle":
            value = next((value for key, value in attributes.items() if key.endswith("val")), "")
            heading = _WORD_HEADING.fullmatch(value)
            self._prefix = "#" * int(heading[1] or 1) + " " if heading else ""

    def _text(self, data: str) -> None:
        if self._inside == "t" and not self._fallbacks:
            self._words.append(data)

    def _end(self, name: str) -> None:
        name = name.rpartition(" ")[2]
        self._inside = ""
        self._fallbacks -= name == "Fallback"
        if name == "p" and not self._fallbacks:
            # A blank line between paragraphs, as in Markdown.
            words = "".join(self._words)
            self.paragraphs += [self._prefix + words.strip("\n"), ""] if words.strip() else []
            self._words, self._prefix = [], ""


def _pdf(part: str, content: bytes) -> Note:
    pages, about, problem = pdf_pages(part, content)
    sections = [Section((), number, text.strip("\n")) for number, text in pages if text.strip()]
    return Note(sections, about, problem or ("" if sections else "a PDF without text, perhaps scanned"))


def _is_heading_alone(section: Section) -> bool:
    text = section.text.strip()
    return not text or (bool(section.headings) and "\n" not in text and text.startswith("#"))


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


def _sections(body: str, first_line: int) -> Iterator[Section]:
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
                yield Section(tuple(name for _, name in path), start_line, body[start:at].strip("\n"))
            path = [(depth, name) for depth, name in path if depth < len(heading[1])]
            path.append((len(heading[1]), heading[2].strip().rstrip("#").strip()))
            start, start_line = at, line
        at += len(row)
        line += 1
    if body[start:].strip():
        yield Section(tuple(name for _, name in path), start_line, body[start:].strip("\n"))


def _format(
    name: str,
    suffixes: tuple[str, ...],
    confidence: float,
    note_of: Callable[[str, bytes], Note],
    *,
    magic: bytes = b"",
    role: str = "note",
    unit: str = "line",
) -> Format:
    reader = _NoteReader(name=name, magic=magic, confidence=confidence, note_of=note_of, role=role, unit=unit)
    return Format(name, suffixes, reader.recognise, reader.items, REPEATS=True)


MARKDOWN = _format("markdown", (".md", ".markdown"), 0.6, _markdown)
# The least that is taken: a text is whatever nothing else recognises.
TEXT = _format("text", (".txt", ".text", ".rst", ".org"), 0.5, _plain_text)
WORD = _format("docx", (".docx", ".docm"), 0.9, _word, magic=b"PK\x03\x04", role="document")
PDF = _format("pdf", (".pdf",), 0.9, _pdf, magic=b"%PDF", role="document", unit="page")
