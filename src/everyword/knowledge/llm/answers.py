"""What an LLM is shown of an event, and its answer: statements and facts; every quote, name, word and time is checked.

Nothing that the LLM wrote is believed for being written. Its quote must stand in the event, its content must be made of
words that were said, its dates are resolved from the words that it points at, and names are put as the memory has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from everyword.knowledge.claims import Course, ToldFact, When, overlap
from everyword.knowledge.comparing import SAME_WORDS
from everyword.knowledge.drafts import STATES, begins, tags_of
from everyword.knowledge.llm.grounding import Refused, foreign_name, foreign_number, mostly_said
from everyword.knowledge.reading import speaker_name
from everyword.models.llm.json_schema import list_schema, object_schema
from everyword.models.protocol import Schema
from everyword.text.dates import Bound, DateMention, find_dates
from everyword.text.dates.calendar import DAYS_IN
from everyword.text.rendering import LONGEST_NAME, json_text, one_line, visible
from everyword.text.spans import whole_sentences
from everyword.text.terms import question_terms, shortened
from everyword.types.events import Event, Span
from everyword.types.graph import RELATIONS, Entity, EntityType, name_key
from everyword.types.serialization import from_json, to_json
from everyword.types.statements import TO_DO, Category, SaidDate, Slot, Stance, Statement, StatementDraft, StatementKind
from everyword.types.times import day_in_words
from everyword.types.trust import states_nothing

Entry = Mapping[str, Any]  # of an answer
Read = TypeVar("Read")

LONGEST_READ = 12_000  # characters of an event, some 3,000 tokens; what is longer was pasted
LONGEST_BEFORE = 1_200  # characters of a turn before it: enough to tell whom a pronoun means
MOST_ALIASES = 5  # of an entity in the table


class Named(NamedTuple):
    """A name in the event, and whose it is."""

    span: Span
    text: str
    type: EntityType
    home: str  # id of the entity


class Scene(Struct, frozen=True, kw_only=True):
    """An event in its surroundings."""

    event: Event
    before: tuple[Event, ...] = ()  # turns of the same session, the oldest first
    known: tuple[Statement, ...] = ()  # what holds and was stated earlier, numbered from 1 in this order
    noted: tuple[Statement, ...] = ()  # what the reader found in the event itself
    names: tuple[str, ...] = ()  # whom and what the memory speaks about
    entities: tuple[Entity, ...] = ()  # those that the event and the turns before it name
    named: tuple[Named, ...] = ()  # where the event itself names whom
    claims: tuple[str, ...] = ()  # facts that the reader found in the event, in words
    window: tuple[str, ...] = ()  # what matters now, a line each

    @property
    def text(self) -> str:
        """Give the part of the event's text that is shown; its spans are those of the event's own text."""
        return visible(self.event.text[:LONGEST_READ])

    @property
    def speaker(self) -> str:
        """Name the speaker as the reader does, so that both speak about the same one."""
        return speaker_name(self.event)

    def prompt(self, found: Sequence[str] = ()) -> str:
        """Write the scene as JSON, so that no text can pose as another part; `found` is what a first pass found."""
        shown = {
            "window": list(self.window),
            "people_and_things": [_shown_name(name) for name in self.names],
            "entities": [_entity(entity) for entity in self.entities],
            "known": [_known(number, statement) for number, statement in enumerate(self.known, 1)],
            "noted": [*(statement.content for statement in self.noted), *self.claims, *found],
            "turns_before": [_turn(event, LONGEST_BEFORE) for event in self.before],
            "turn": _turn(self.event, LONGEST_READ),
        }
        return json_text(shown, indent=1)


def is_for_llm(event: Event) -> bool:
    """Tell whether an LLM is to read an event: nothing that programs report."""
    return event.record is None and not states_nothing(event)


def _turn(event: Event, most: int) -> dict[str, Any]:
    at = event.at
    said = f"{_WEEKDAYS[at.weekday()]}, {day_in_words(at)}, {at:%H:%M}"
    return {"speaker": _shown_name(speaker_name(event)), "said": said, "text": event.text[:most]}


def _entity(entity: Entity) -> dict[str, Any]:
    also = [_shown_name(alias) for alias in entity.aliases[:MOST_ALIASES]]
    return {"name": _shown_name(entity.name), "type": entity.type.value, "also_called": also}


def _shown_name(name: str) -> str:
    return one_line(name[:LONGEST_NAME])


def _known(number: int, statement: Statement) -> dict[str, Any]:
    since = statement.valid_from
    return {
        "number": number,
        "kind": statement.kind.value,
        "about": statement.about,
        "content": statement.content,
        "since": None if since is None else day_in_words(since),
    }


# Spelled out: strftime follows the machine's language.
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


# Statements

LONGEST_OBJECT = 80  # characters
MOST_FACTS = 20  # of one pass: a turn that claims more is a document
# Confidence: what the reader finds is sure to a share that was measured; what an LLM finds is not.
MOST_SURE = 0.8

_FACT: dict[str, Schema] = {
    "quote": {"type": "string"},
    "subject": {"type": "string"},
    "relation": {"type": "string", "enum": list(RELATIONS)},
    "object": {"type": "string"},
    "course": {"type": "string", "enum": [course.value for course in Course]},
    "from": {"type": ["string", "null"]},
    "to": {"type": ["string", "null"]},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
}
LONGEST_CONTENT = 240  # characters; the quote has the rest
MOST_STATEMENTS = 20  # of one pass: a turn that states more is a document

# What holds one value at a time, named as the reader names it, so that one can replace what the other found.
ATTRIBUTES = tuple("lives_in works_at job age birthday diet budget price deadline version status".split())
OTHER = "other"
_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_MOST_NAMES = 200  # of the turns before; they are short

_STATEMENT: dict[str, Schema] = {
    "quote": {"type": "string"},
    "content": {"type": "string"},
    "kind": {"type": "string", "enum": [kind.value for kind in StatementKind]},
    "category": {"type": "string", "enum": [category.value for category in Category]},
    "about": {"type": ["string", "null"]},
    "attribute": {"type": "string", "enum": [*ATTRIBUTES, OTHER]},
    "value": {"type": ["string", "null"]},
    "negated": {"type": "boolean"},
    "stance": {"type": "string", "enum": [stance.value for stance in Stance]},
    "when": {"type": ["string", "null"]},
    "follows": {"type": ["integer", "null"]},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
}
SCHEMA = object_schema(
    statements=list_schema(object_schema(**_STATEMENT), MOST_STATEMENTS),
    facts=list_schema(object_schema(**_FACT), MOST_FACTS),
)


class Noted(NamedTuple):
    """An accepted draft, and the statement that the LLM says it ends or takes the place of."""

    draft: StatementDraft
    follows: str | None


def drafted(scene: Scene, statements: Sequence[Entry], extractor: str) -> tuple[list[Noted], list[str]]:
    """Turn an LLM's statements into drafts; give the reason for each that is rejected."""
    known_names = _names_shown(scene)
    said = question_terms(" ".join((scene.text, *known_names, *(turn.text for turn in scene.before), scene.speaker)))

    def noted(statement: Entry) -> Noted:
        draft = _dated(scene, _draft(scene, statement, extractor), (statement["when"] or "").strip())
        checked = _checked(scene.event, draft, said, known_names)
        follows = _followed(scene, statement)
        return Noted(checked, follows.id if follows else None)

    return _let_in(statements, noted, extractor)


def _let_in(found: Iterable[Entry], read: Callable[[Entry], Read], about: str) -> tuple[list[Read], list[str]]:
    """Read the entries of an answer; say of each that is refused why."""
    accepted: list[Read] = []
    refused: list[str] = []
    for one in found:
        try:
            accepted.append(read(one))
        except Refused as reason:
            refused.append(f"{about}: {reason}")
    return accepted, refused


def _checked(event: Event, draft: StatementDraft, said: Collection[int], known: Collection[str]) -> StatementDraft:
    """Check a draft; a date that its words come to may be written out in its content, and no other number."""
    if not draft.content.strip():
        raise Refused("it has no content")
    if not mostly_said(draft.content, said):
        raise Refused(f"its content goes beyond what was said: {draft.content[:80]}")
    content, date = draft.content, draft.date
    for mention in reversed(find_dates(content, event.at, nearest=True)) if date else ():
        if date and mention.start < date.end and date.start < mention.end:
            content = content[: mention.span.start] + content[mention.span.end :]
    about = draft.about or ""
    if number := foreign_number(content, event, about):
        raise Refused(f"its content has a number that the event does not have: {number}")
    if name := foreign_name((content, about, *draft.entities), event, known):
        raise Refused(f"its content has a name that the event does not have: {name}")
    return draft


def _names_shown(scene: Scene) -> tuple[str, ...]:
    """List the names that content may hold although the event does not: they were said just before, or are known."""
    words = (word for turn in scene.before for word in _NAME.findall(turn.text[:LONGEST_BEFORE]))
    before = [word for word in words if word[0].isupper()]
    speakers = (turn.speaker for turn in scene.before if turn.speaker)
    return (*scene.names, *dict.fromkeys((*speakers, *before[:_MOST_NAMES])))


def _draft(scene: Scene, statement: Entry, extractor: str) -> StatementDraft:
    event = scene.event
    kind = StatementKind(statement["kind"])
    stance = Stance(statement["stance"])
    about = _about(scene, statement["about"])
    span = _place_of(visible(event.text), statement["quote"].strip())
    quote = event.text[span.start : span.end]  # with the hidden characters that the LLM was not shown
    value = _value(statement, quote)
    ended = stance is Stance.ENDED and kind in (*STATES, *TO_DO)
    draft = StatementDraft(
        kind=kind,
        content=shortened(" ".join(statement["content"].split()), LONGEST_CONTENT),
        category=Category(statement["category"]),
        quote=quote,
        event_id=event.id,
        span=span,
        speaker=event.speaker,
        about=about,
        confidence=min(MOST_SURE, float(statement["confidence"])),
        valid_from=None if ended else event.at,
        valid_to=event.at if ended else None,
        entities=tuple(one.text for one in scene.named if span.start <= one.span.start < span.end),
        negated=statement["negated"],
        slot=_slot(scene, statement, about, value),
        value=value,
        stance=stance,
        extractor=extractor,
    )
    return replace(draft, tags=tags_of(draft))


def _about(scene: Scene, said: str | None) -> str:
    """Name whom a statement is about: the speaker where nobody is named, a known name as it is known."""
    name = " ".join((said or "").split())
    if _means_speaker(scene, name):
        return scene.speaker
    return next((known for known in scene.names if known.casefold() == name.casefold()), name)


def _value(statement: Entry, quote: str) -> str | None:
    value = (statement["value"] or "").strip()
    return value if value and value.casefold() in quote.casefold() else None


def _slot(scene: Scene, statement: Entry, about: str, value: str | None) -> Slot | None:
    if value is None:
        return None
    follows = _followed(scene, statement)
    if follows is not None and follows.slot is not None and (follows.about or "").casefold() == about.casefold():
        return follows.slot  # the next value of the same
    attribute = statement["attribute"]
    return None if attribute == OTHER else Slot(about, attribute)


def _followed(scene: Scene, statement: Entry) -> Statement | None:
    number: int = statement["follows"] or 0
    return scene.known[number - 1] if 0 < number <= len(scene.known) else None


# Dates


def _dated(scene: Scene, draft: StatementDraft, when: str) -> StatementDraft:
    """Resolve the time that the words say, against the event's own clock."""
    said = _time_said(scene, draft.span, when)
    if said is None:
        return draft
    date = SaidDate(said.start, said.end, said.text, said.certain and not said.guessed, said.bound is Bound.BEFORE)
    return replace(draft, date=date, valid_from=draft.valid_from and begins(date, draft.kind, scene.event.at))


# Facts


def claimed(scene: Scene, facts: Sequence[Entry], extractor: str) -> tuple[list[ToldFact], list[str]]:
    """Find in the event what each fact speaks of; give the reason for each that is rejected."""
    found, refused = _let_in(facts, lambda one: _fact(scene, one), f"{extractor}: a fact")
    return list({same_fact(fact): fact for fact in reversed(found)}.values())[::-1], refused


def same_fact(fact: ToldFact) -> tuple[object, ...]:
    """Say what makes two facts of one event one."""
    return fact.subject, fact.relation, fact.object, fact.when.valid_to is None


def _fact(scene: Scene, answered: Entry) -> ToldFact:
    relation = RELATIONS[answered["relation"]]
    quote = _place_of(scene.text, answered["quote"].strip())
    subject = _whom(scene, answered["subject"], None)
    if relation.object is None:
        target = _words(scene, answered["object"].strip(" .,!\"'"), quote)
    else:
        target = _whom(scene, answered["object"], quote)
        type = next((one.type for one in scene.named if one.span == target), EntityType.PERSON)
        fits = (type is EntityType.PERSON) == (relation.object is EntityType.PERSON)
        if not fits and relation.name != "owns_pet":  # a pet has a person's name
            raise Refused(f"{relation.name} can't have such an object: {answered['object'][:LONGEST_OBJECT]}")
    if subject == target:
        raise Refused("its subject is its object")
    course = Course(answered["course"])  # what happens happens, and what lasts lasts, whatever was answered
    if not relation.lasts:
        course = Course.HAPPENED
    elif course is Course.HAPPENED:
        course = Course.BEGAN
    began = _time(scene, quote, answered["from"], beside=course in (Course.BEGAN, Course.HAPPENED))
    ended = _time(scene, quote, answered["to"], beside=course is Course.ENDED and not answered["from"])
    at = scene.event.at
    if any(date is not None and date.start > at for date in (began, ended)):
        raise Refused("it is still to come")
    confidence = min(MOST_SURE, float(answered["confidence"]))
    return ToldFact(
        subject=subject,
        relation=relation.name,
        object=target,
        quote=quote,
        when=_when_told(course, began, ended if course is Course.ENDED else None, at),
        confidence=confidence,
    )


def _whom(scene: Scene, said: str, quote: Span | None) -> Span | None:
    """Find where the event names somebody or something; None where it is who speaks. An object stands in the quote."""
    name = " ".join(said.split())
    if _means_speaker(scene, name):
        return None
    key = name_key(name)
    homes = {one.id for one in scene.entities if key in {name_key(other) for other in (one.name, *one.aliases)}}
    meant = [one for one in scene.named if name_key(one.text) == key] or [
        one for one in scene.named if one.home in homes
    ]
    inside = [one for one in meant if quote is None or quote.start <= one.span.start < quote.end]
    if not inside:
        where = "turn" if quote is None or not meant else "quote"
        raise Refused(f"the {where} does not name {name[:LONGEST_OBJECT]}")
    return inside[0].span


def _words(scene: Scene, words: str, quote: Span) -> Span:
    """Find the words of an object in the quote."""
    if not 1 < len(words) <= LONGEST_OBJECT:
        raise Refused("its object is too long or too short")
    said = scene.text[quote.start : quote.end]
    # Lower case may be longer than what it is of ("İ"): then the place would be another.
    start = said.find(words) if words in said else said.lower().find(words.lower())
    if start < 0 or len(said.lower()) != len(said):
        raise Refused(f"its object is not in the quote: {words}")
    return Span(quote.start + start, quote.start + start + len(words))


def _time(scene: Scene, quote: Span, words: str | None, *, beside: bool) -> DateMention | None:
    """Resolve words that say when; where none were pointed at, the time that stands in the quote, if it is `beside`."""
    wanted = (words or "").strip()
    return _time_said(scene, quote, wanted) if wanted or beside else None


# Places and times of what was pointed at

LONGEST_QUOTE = 600  # characters; a longer one points at nothing
SHORTEST_QUOTE = 4  # characters; less ("I", "no") stands in any text and shows nothing
_SELF = frozenset("i me my we us our speaker user self".split()) | {"the speaker", "the user"}


def _place_of(text: str, quote: str) -> Span:
    """Find the one place of a quote; refuse one that shows nothing, that nobody said, or that stands in several."""
    if not quote:
        raise Refused("it has no quote")
    if len(quote) > LONGEST_QUOTE:
        raise Refused("its quote is too long to point at anything")
    if len(quote) < SHORTEST_QUOTE:
        raise Refused(f"its quote is too short to show anything: {quote}")
    start = text.find(quote)
    if start < 0:
        raise Refused(f"its quote is not in the event: {quote[:LONGEST_OBJECT]}")
    if text.find(quote, start + 1) >= 0:
        raise Refused(f"its quote is in the event more than once: {quote[:LONGEST_OBJECT]}")
    return Span(start, start + len(quote))


def _means_speaker(scene: Scene, name: str) -> bool:
    """Tell whether a name, or none, means who speaks."""
    role = (scene.event.role or "").casefold()
    return not name or name.casefold() in _SELF or name.casefold() in (role, scene.speaker.casefold())


def _time_said(scene: Scene, quote: Span, when: str) -> DateMention | None:
    """Find the time in the sentences that the quote is of: the one that was pointed at, else the first of the quote."""
    text, around, wanted = scene.event.text, whole_sentences(scene.text, quote), when.casefold()
    mentions = [
        mention
        for mention in find_dates(text[around.start : around.end], scene.event.at, nearest=True)
        if not mention.repeats
    ]
    named = [one for one in mentions if wanted and (one.text.casefold() in wanted or wanted in one.text.casefold())]
    own = [one for one in mentions if quote.start <= around.start + one.span.start < quote.end]
    return next(iter((*named, *own)), None)


def _when_told(course: Course, began: DateMention | None, ended: DateMention | None, at: datetime) -> When:
    """Tell when a claim is true whose times somebody else pointed at."""
    if course is Course.HAPPENED:
        return When(valid_from=began.start, valid_to=min(began.end, at)) if began else When(valid_from=at, valid_to=at)
    since, by = (None, None) if began is None else (began.start, _by(began, at))
    if course is Course.ENDED:
        until, over = (at, None) if ended is None else (ended.start, _by(ended, at))
        return When(valid_from=since, begun_by=by, valid_to=until, ended_by=over)
    if course is Course.BEGAN and began is None:
        since = by = at
    return When(valid_from=since, begun_by=by, holds_at=at if course is Course.HOLDS else None)


def _by(date: DateMention, at: datetime) -> datetime:
    """Say when it had begun, or ended, for certain: at the end of the unit that was named, but before it was said."""
    try:
        end = date.start + timedelta(days=DAYS_IN[date.granularity])
    except OverflowError:
        end = at
    return max(date.start, min(end if date.bound is Bound.SINCE else date.end, at))


# What is kept of a reading: it can't be asked again offline

_FAMILY = "llm/"  # whatever the versions of the prompts and the model


class LLMReading(Struct, frozen=True, kw_only=True):
    """What an LLM found in an event, and what of its answer was refused and why."""

    extractor: str = ""
    noted: tuple[Noted, ...] = ()
    facts: tuple[ToldFact, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def words(self) -> Iterator[str]:
        """Give every text in it that the LLM worded."""
        yield from self.refused
        for draft, _ in self.noted:
            yield from (draft.content, draft.about or "", draft.value or "", *draft.entities)


def to_body(reading: LLMReading) -> str:
    """Write a reading as JSON."""
    bare = replace(reading, noted=tuple(Noted(replace(draft, quote=""), follows) for draft, follows in reading.noted))
    return json.dumps(to_json(bare), ensure_ascii=True, separators=(",", ":"))


def from_body(event: Event, body: str | None) -> LLMReading:
    """Read a reading back; None is one of nothing."""
    if body is None:
        return LLMReading()
    reading: LLMReading = from_json(LLMReading, json.loads(body))
    quoting = [(replace(one, quote=event.text[one.span.start : one.span.end]), to) for one, to in reading.noted]
    return replace(reading, noted=tuple(Noted(draft, follows) for draft, follows in quoting))


def beside(read: Sequence[StatementDraft], noted: Sequence[Noted]) -> tuple[Noted, ...]:
    """Leave out what the reader found as well: its own is there before the LLM answers, and needs none."""
    return tuple(one for one in noted if not any(is_same(one.draft, other) for other in read))


def is_of_llm(draft: StatementDraft) -> bool:
    """Tell whether an LLM found it."""
    return draft.extractor.startswith(_FAMILY)


def is_same(one: StatementDraft, other: StatementDraft) -> bool:
    """Tell whether two drafts of one event are one statement."""
    if one.kind is not other.kind or (one.about or "").casefold() != (other.about or "").casefold():
        return False
    if (one.span, one.slot) == (other.span, other.slot):
        return True
    if not overlap(one.span, other.span):
        return False
    return same_words(one.content, other.content)


def same_words(one: str, other: str) -> bool:
    """Tell whether two sentences have nearly all their words in common."""
    mine, theirs = set(question_terms(one)), set(question_terms(other))
    return len(mine & theirs) > SAME_WORDS * len(mine | theirs)
