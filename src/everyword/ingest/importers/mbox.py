"""Mail in mbox files, as Thunderbird, Apple Mail and Google Takeout write them."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses
from html.parser import HTMLParser

from msgspec.structs import replace

from everyword.ingest.importers.records import Item, Position, digest, item, mail_moment, skipped
from everyword.ingest.importers.sources import Format, Source, holds
from everyword.ingest.importers.streaming import Block, Line, blocks

_FROM = re.compile(rb"From \S[^\n]{0,400}\d\d:\d\d")
_MESSAGE_IDS = re.compile(r"<([^<>\s]{1,500})>")
_INVISIBLE = {"script", "style", "title"}
_BREAKS = {"p", "br", "div", "tr", "li", "h1", "h2", "h3", "h4", "table", "blockquote"}


def _read(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    """Read mails: subject and text, with quoted replies. The last one may be incomplete, so it is read again."""
    blank = True

    def begins(line: Line) -> bool:
        nonlocal blank
        blank, before = not line.content.strip(), blank
        return before and _FROM.match(line.content) is not None

    with source.open(part) as file:
        for block in blocks(file, after, begins):
            yield replace(_mail(block), position=block.position)


def _mail(block: Block) -> Item:
    content = [line.content for line in block.lines]
    if block.too_long:
        return skipped("a mail of more than 64 MiB", where=block.where)
    if not block.head:
        return skipped("before the first mail", content[0][:400], where=block.where)
    try:
        return _item(email.message_from_bytes(b"".join(content[1:])))
    except (MessageError, LookupError, ValueError, TypeError, RecursionError, AssertionError) as error:
        return skipped(f"a mail that can't be read ({error})", b"".join(content[1:])[:400], where=block.where)


def _item(mail: Message) -> Item:
    subject, sender = _header(mail, "Subject"), _header(mail, "From")
    body = _body(mail)
    own = _MESSAGE_IDS.search(_header(mail, "Message-ID"))
    earlier = _MESSAGE_IDS.findall(_header(mail, "References") or _header(mail, "In-Reply-To"))
    message_id = own[1] if own else digest(sender, _header(mail, "Date"), subject, body)
    people = getaddresses([sender])
    name, address = people[0] if people else ("", "")
    # Without a body the subject is the text; a mail with attachments only has none.
    heading = f"Subject: {subject}" if subject and (body.strip() or not _carries_files(mail)) else ""
    return item(
        "\n\n".join(piece for piece in (heading, body) if piece),
        key=f"{message_id}:{digest(body)}",  # a mail that was incomplete is another event
        source={"message": message_id},
        at=mail_moment(_header(mail, "Date")),
        session=f"mail/{earlier[0] if earlier else message_id}",
        speaker=name or address or None,
        role="user",
        trusted_as="import",  # anybody can write a mail and forge its headers
        meta={
            "subject": subject,
            "from": address,
            "to": [found for _, found in getaddresses([_header(mail, "To"), _header(mail, "Cc")]) if found][:50],
        },
    )


def _header(mail: Message, name: str) -> str:
    """Decode a header, even a malformed one."""
    raw = str(mail.get(name, ""))
    try:
        pieces = decode_header(raw)
    except (MessageError, ValueError, LookupError):
        return raw
    text = "".join(piece if isinstance(piece, str) else _decoded(piece, charset) for piece, charset in pieces)
    return re.sub(r"\s+", " ", text).strip()


def _decoded(content: bytes, charset: str | None) -> str:
    """Decode by the declared charset, else as UTF-8, else as a legacy charset."""
    for name in (charset or "utf-8", "utf-8"):
        try:
            return content.decode(name)
        except (LookupError, ValueError):
            continue
    return content.decode("cp1252", "replace")


def _carries_files(mail: Message) -> bool:
    return any(part.get_content_maintype() not in ("text", "multipart") or part.get_filename() for part in mail.walk())


def _body(mail: Message) -> str:
    plain: list[str] = []
    marked_up: list[str] = []
    for part in mail.walk():
        if part.is_multipart() or part.get_content_disposition() == "attachment":
            continue
        kind = part.get_content_type()
        content = part.get_payload(decode=True)
        if kind in ("text/plain", "text/html") and isinstance(content, bytes):
            text = _decoded(content, part.get_content_charset())
            (plain if kind == "text/plain" else marked_up).append(text)
    return "\n".join(plain).strip() or "\n".join(map(_without_tags, marked_up)).strip()


class _VisibleText(HTMLParser):
    """Extracts the visible text of HTML, one line per block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._hidden = 0
        self._in_head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _INVISIBLE
        if tag in _BREAKS or tag in ("head", "body"):
            self._in_head = tag == "head"  # many pages do not close their head
        if tag in _BREAKS:
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _INVISIBLE and self._hidden:
            self._hidden -= 1
        self._in_head = self._in_head and tag != "head"

    def handle_data(self, data: str) -> None:
        if not self._hidden and not self._in_head:
            self.words.append(re.sub(r"\s+", " ", data))


def _without_tags(page: str) -> str:
    parser = _VisibleText()
    parser.feed(page)
    parser.close()
    rows = (row.strip() for row in "".join(parser.words).split("\n"))
    return "\n".join(row for row in rows if row)


MBOX = Format("mbox", (".mbox", ".mbx", ""), holds(rb"\A" + _FROM.pattern, rb"\nFrom:"), _read, GROWS=True)
