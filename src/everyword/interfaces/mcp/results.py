"""Results for an agent: short text, dated, with ids to cite, and the same as a structured document of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from everyword.api.pages import entries_after
from everyword.errors import EverywordError, InvalidInput
from everyword.interfaces.mcp.tools import LISTS, MEMBERS, NEXT_CURSOR, AgentTool
from everyword.memory import Memory
from everyword.models.tokenizers import load_tokenizer
from everyword.text.rendering import event_line, json_text, name, one_line, shortened, visible, visible_json
from everyword.text.terms import count_of
from everyword.types.events import Answer, Context, Event, Hit, Hits, Receipt, Written, elsewhere
from everyword.types.intents import Window
from everyword.types.serialization import to_json
from everyword.types.times import utc_now

PAGE_TOKENS = 1_500  # of a list, unless its first item alone takes more
_PAGE_ITEMS = 100  # read at once; more would not fit into a page
_MOST_CHARS = 700  # of each text, so that a long message does not crowd out the others; `show` returns all of it
_LEAST_HIT_CHARS = 200  # of a hit, however many hits were asked for
_SHORTER = 0.8  # by which texts are cut until all hits fit into PAGE_TOKENS
_PART_CHARS = 5_000  # of an event's text that `show` gives at once: about PAGE_TOKENS
_MOST_DIGITS = 12  # of the cursor of such a part
_MOST_IDS = 20
_ID_CHARS, _SHORT_ID_CHARS = 35, 13  # of an event's id, and of it in a text: ten digits are unique among millions
_SHOWN_CHARS = 80  # of each event that would be forgotten
_SAME = ("text", "speaker", "session", "wing")  # by which a repetition of what was said just now is known
_JUST_NOW = timedelta(minutes=10)
_MOST_RECENT = 100  # events that are looked at
_MOST_NESTED = 3  # items of a list inside an item
_TIMES = {"at", "replaced_at", "first_at", "last_at", "said_at", "valid_from", "valid_to", "until"}
_NOTHING = "The memory holds nothing about this."


class Result(Struct, frozen=True, kw_only=True):
    """A result of a tool: the text for a model, and the document for a program."""

    text: str
    document: dict[str, Any]

    def wire(self) -> dict[str, Any]:
        """Write it in the protocol's form."""
        return {
            "content": [{"type": "text", "text": visible(self.text)}],
            "structuredContent": visible_json(self.document),
        }


def run(tool: AgentTool, memory: Memory, arguments: Mapping[str, Any]) -> Result:
    """Run a tool; give a list in pages."""
    operation, given = tool.operation, dict(arguments)
    for several in {"ids", "events"} & given.keys():  # as they were told, shortened
        given[several] = [memory.get(id).id if len(id) < _ID_CHARS else id for id in given[several]]
    if operation.name == "show":
        return _shown(memory, given)
    if tool.is_paged:
        document = _page(tool, memory, given)
        return Result(text=memory.admin.fenced(json_text(document)), document=document)
    result = (_said_just_now(memory, given) if operation.name == "add" else None) or operation.run(memory, given)
    if isinstance(result, Hits):
        return _hits(result, memory, given.get("project"))
    if isinstance(result, Answer):
        return _answer(result, memory, given.get("project"))
    if isinstance(result, Context | Window):
        return _packed(tool, memory, given, result)
    if operation.name == "add":
        return _written([result] if isinstance(result, Written) else result)
    if isinstance(result, Receipt):
        return _forgotten(result, operation.document(result), memory, given.get("wing"))
    document = _slim(operation.name, operation.document(result))
    return Result(text=memory.admin.fenced(json_text(document)), document=document)


def error_text(error: Exception) -> str:
    """Write an error and its fix, for a model that may try again."""
    if isinstance(error, EverywordError):
        return one_line(f"{type(error).__name__}: {error.detail}" + (f" {error.fix}" if error.fix else ""))
    return one_line(f"Unexpected error ({type(error).__name__}: {error}). Please report it.")


# Pages


def _page(tool: AgentTool, memory: Memory, given: dict[str, Any]) -> dict[str, Any]:
    """Return the page of a list after a cursor, and the cursor of the next page, if there is one."""
    operation, name = tool.operation, LISTS[tool.operation.name]
    cursor, asked = given.pop("cursor", None), given.get("limit")
    limited = operation.parameter("limit") is not None
    default = operation.parameter("limit").default if limited else None  # pyright: ignore[reportOptionalMemberAccess]
    most = asked if asked is not None else default

    def items(limit: int | None) -> list[dict[str, Any]]:
        if limited:
            given["limit"] = limit if most is None or (limit is not None and limit < most) else most
        listed = operation.run(memory, given)
        return [_slim(operation.name, _document(one)) for one in getattr(listed, name, listed)]

    entries = entries_after(cursor, _PAGE_ITEMS, items)
    count, taken, tokens = load_tokenizer().count, 0, 0
    for one in entries.found[:_PAGE_ITEMS]:
        tokens += count(json_text(one))
        if tokens > PAGE_TOKENS - _ENVELOPE_TOKENS and taken:
            break
        taken += 1
    following = entries.next(taken)
    return {name: entries.found[:taken], **({NEXT_CURSOR: following} if following else {})}


_ENVELOPE_TOKENS = 80  # the fence, the name of the list, the cursor


# Documents


def slim_list(operation: str, listed: Iterable[object]) -> list[dict[str, Any]]:
    """Return what agents get of each item of a list."""
    return [_slim(operation, _document(one)) for one in listed]


def _document(item: object) -> dict[str, Any]:
    return cast("dict[str, Any]", to_json(item))


def _slim(operation: str, document: dict[str, Any], *, whole: bool = False) -> dict[str, Any]:
    """Keep the members that agents need, without empty ones, and shorten long texts."""
    if "statement" in document and isinstance(document["statement"], dict):  # a version in a history
        reasons = [change["reason"] for change in document["changes"]]
        document = {**document["statement"], "said_at": document["said_at"], "reasons": reasons}
    if quoting := document.get("sources") or document.get("grounds"):
        document = {**document, "quotes": [one["quote"] for one in quoting]}
    kept = {name: document[name] for name in MEMBERS[operation] if document.get(name) not in (None, "", [], {})}
    if "ids" in kept:
        kept["ids"] = kept["ids"][:_MOST_IDS]
    for time in _TIMES & kept.keys():
        kept[time] = datetime.fromisoformat(kept[time]).isoformat(timespec="seconds")
    return kept if whole else {name: value if name == "ids" else _shortened(value) for name, value in kept.items()}


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _MOST_CHARS else f"{value[:_MOST_CHARS]}..."
    if isinstance(value, list):
        first = cast("list[Any]", value)[:_MOST_NESTED]
        return [_shortened(cast("dict[str, Any]", one)["text"] if isinstance(one, dict) else one) for one in first]
    return value


# Results of single tools


def _shown(memory: Memory, given: dict[str, Any]) -> Result:
    """Return an event whole, or the part of a long one that a cursor names."""
    cursor = str(given.pop("cursor", None) or 0)
    if not cursor.isdecimal() or len(cursor) > _MOST_DIGITS:
        raise InvalidInput("Invalid cursor.", fix="Use the next_cursor of the part before, unchanged.")
    event, start = memory.get(**given), int(cursor)
    end = start + _PART_CHARS
    document = _slim("show", {**_document(event), "text": event.text[start:end]}, whole=True)
    if end < len(event.text):
        document[NEXT_CURSOR] = str(end)
    return Result(text=memory.admin.fenced(json_text(document)), document=document)


def _written(results: Iterable[Written]) -> Result:
    written = list(results)
    told: list[str] = []
    redacted: dict[str, int] = {}
    for one in written:
        outcome = f"Remembered as {one.id}." if one.new else f"Already known as {one.id}."
        kinds = ", ".join(sorted(one.redacted))
        told.append(f"{outcome} Redacted: {kinds}." if kinds else outcome)
        for kind, times in one.redacted.items():
            redacted[kind] = redacted.get(kind, 0) + times
    document = {"ids": [one.id for one in written], "new": sum(one.new for one in written), "redacted": redacted}
    return Result(text="\n".join(told) or "There was nothing to remember.", document=document)


def _said_just_now(memory: Memory, given: Mapping[str, Any]) -> Written | None:
    """Find what is to be remembered among what was said just now: a client whose request got no answer repeats it."""
    if not isinstance(given.get("text"), str) or "at" in given or "key" in given:
        return None
    said = memory.admin.redacted({name: given[name] for name in _SAME if name in given})
    clean = {"wing": memory.scope.wing, **said}
    recent = memory.events(since=utc_now() - _JUST_NOW, newest_first=True, limit=_MOST_RECENT)
    same = (one for one in recent if all(getattr(one, name) == clean.get(name) for name in _SAME))
    event = next(same, None)
    return None if event is None else Written(event=event, new=False)


def _forgotten(receipt: Receipt, document: dict[str, Any], memory: Memory, wing: str | None) -> Result:
    """Tell what was removed, or, so that a person can agree, show what would be."""
    document = _slim("forget", {**document, "wing": wing})
    if not receipt.dry_run:
        return Result(text=memory.admin.fenced(json_text(document)), document=document)
    shown = [memory.get(id) for id in receipt.ids[:_MOST_IDS]]
    texts = [shortened(one_line(event.text), _SHOWN_CHARS) for event in shown]
    document["would_remove"] = [
        _slim("events", {**_document(event), "text": text}) for event, text in zip(shown, texts, strict=True)
    ]
    where = f" in {name(wing)}" if wing else ""
    more = f", of which {len(shown)} are shown" if receipt.events > len(shown) else ""
    lines = [event_line(event, text, labels=_wing_label(event.wing)) for event, text in zip(shown, texts, strict=True)]
    text = f"{count_of(receipt.events, 'event')}{where} would be removed{more}.\n"
    return Result(text=text + memory.admin.fenced("\n".join(lines)) if shown else text.strip(), document=document)


def _packed(tool: AgentTool, memory: Memory, arguments: Mapping[str, Any], packed: Context | Window) -> Result:
    text = packed.text or _NOTHING
    if not packed.text and "budget" in arguments:
        # Ask again with the default budget, to tell "nothing found" from "budget too small".
        rest = {name: value for name, value in arguments.items() if name != "budget"}
        whole = tool.operation.run(memory, rest)
        if whole.items if isinstance(whole, Window) else whole.citations:
            text = f"What the memory holds about this does not fit into {packed.budget} tokens. "
            text += "Ask again with a larger budget."
    return Result(text=text, document={"text": packed.text, "tokens": packed.tokens})


def _answer(answer: Answer, memory: Memory, project: str | None) -> Result:
    document: dict[str, Any] = {"answered": answer.answered}
    if answer.confidence is not None:
        document["confidence"] = answer.confidence
    if not answer.answered:
        text = "The memory does not hold the answer."
        if answer.nearest:
            document["nearest"] = answer.nearest
            text += f" The nearest line, which does not answer it:\n{memory.admin.fenced(answer.nearest)}"
        return Result(text=text, document=document)
    ids = [citation.event_id for citation in answer.citations]
    document |= {"answer": answer.text, "quotes": list(answer.quotes), "event_ids": ids}
    wings = {id: elsewhere(memory.get(id), project) for id in ids} if project else {}
    sources = [
        f"[{id[:_SHORT_ID_CHARS]}{_in(wings.get(id))}] {one_line(quote)}"
        for id, quote in zip(ids, answer.quotes, strict=False)
    ]
    lines = list(dict.fromkeys([answer.text, *sources]))
    return Result(text=_confidence("", answer.confidence) + memory.admin.fenced("\n".join(lines)), document=document)


def _in(wing: str | None) -> str:
    return "" if wing is None else f", in {name(wing)}"


def _hits(hits: Hits, memory: Memory, project: str | None) -> Result:
    texts = _texts(hits)
    listed: list[dict[str, Any]] = []
    for hit, text in zip(hits, texts, strict=True):
        replaced = {"replaced_by": hit.replaced_by, "replaced_at": hit.replaced_at and hit.replaced_at.isoformat()}
        more = {**replaced, "text": text, "wing": elsewhere(hit.event, project)}
        listed.append(_slim("recall", {**_document(hit.event), **more}, whole=True))
    document: dict[str, Any] = {"hits": listed}
    if hits.confidence is not None:
        document["confidence"] = hits.confidence
    if not hits:
        return Result(text="Nothing was found.", document=document)
    sessions: dict[str | None, list[str]] = {}  # in the order of their best hits; each is named once
    for hit, text in zip(hits, texts, strict=True):
        sessions.setdefault(hit.event.session, []).append(_line(hit.event, text, _labels(hit, project)))
    lines = [
        line
        for session, some in sessions.items()
        for line in ([] if session is None else [f"Session {name(session)}:"]) + some
    ]
    sure = _confidence(" that the answer is among these", hits.confidence)
    return Result(text=sure + memory.admin.fenced("\n".join(lines)), document=document)


def _line(event: Event, text: str, labels: Sequence[str]) -> str:
    """Write an event that stands under its session, with as much of its id as tells it from others."""
    return event_line(replace(event, id=event.id[:_SHORT_ID_CHARS], session=None), text, labels=labels)


def _texts(hits: Hits) -> list[str]:
    """Cut long texts of hits until all of them fit into PAGE_TOKENS, as far as that is possible."""
    count, most = load_tokenizer().count, _MOST_CHARS
    room = PAGE_TOKENS - _ENVELOPE_TOKENS - sum(count(_line(hit.event, "", ())) for hit in hits)
    texts = [_around(hit, most) for hit in hits]
    while most > _LEAST_HIT_CHARS and sum(map(count, texts)) > room:
        most = max(_LEAST_HIT_CHARS, int(most * _SHORTER))
        texts = [_around(hit, most) for hit in hits]
    return texts


def _confidence(of_what: str, confidence: float | None) -> str:
    return "" if confidence is None else f"Confidence{of_what}: {confidence:.2f}\n"


def _labels(hit: Hit, project: str | None) -> list[str]:
    labels = _wing_label(elsewhere(hit.event, project))
    if hit.replaced_at is None:
        return labels
    see = f", see {hit.replaced_by[:_SHORT_ID_CHARS]}" if hit.replaced_by else ""
    return [*labels, f"no longer so since {hit.replaced_at:%Y-%m-%d}{see}"]


def _wing_label(wing: str | None) -> list[str]:
    return [] if wing is None else [f"in {wing}"]


def _around(hit: Hit, most: int) -> str:
    """Cut a long text to the surroundings of the match."""
    text = hit.text
    if len(text) <= most:
        return text
    start = max(0, min(hit.span.start - most // 4, len(text) - most))
    end = start + most
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
