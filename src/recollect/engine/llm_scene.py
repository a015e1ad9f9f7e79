"""What an LLM is shown of an event, and which other events the words of its answer may come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from recollect.core.artifacts import Artifact
from recollect.core.graph import Entity
from recollect.core.ids import raw_event_id
from recollect.core.values import Event
from recollect.core.words import question_terms
from recollect.engine.attention import intents_in
from recollect.engine.beholding import window_in
from recollect.engine.entities import read_entities
from recollect.engine.graph import mentions_of
from recollect.extract.llm.scene import LONGEST_READ, Named, Scene, speaker_of
from recollect.extract.llm.stored import LLMReading
from recollect.inference.protocol import Tokenizer
from recollect.store.protocol import Reader

_TURNS_BEFORE = 2  # shown with an event: whom a pronoun means was mostly said there
_NAMES_SHOWN = 40  # whom and what the memory speaks about most
_ENTITIES_SHOWN = 20  # of those that the event and the turns before it name
_ABOUTS_SHOWN = 5  # the speaker, and those whom the event names, of whom something is known
_COMPARED = 200  # statements about one, the newest, among which the similar ones are looked for
_KNOWN_SHOWN = 20  # similar statements in a prompt: about 600 tokens
_WINDOW_TOKENS = 400  # of what matters now: a dozen lines, less than the rest of the prompt


class Shown(NamedTuple):
    """A scene, and the events whose words are in it."""

    scene: Scene
    texts: Mapping[int, str]  # of other events, by seq


def shown_of(reader: Reader, space: str, seq: int, event: Event, tokenizer: Tokenizer) -> Shown:
    """Gather what an LLM is shown of an event: nothing that was learned after it."""
    before = sorted(reader.said_earlier(space, seq, limit=_TURNS_BEFORE))
    turns = reader.fetch(space, before)
    names = reader.names_known(space, limit=_NAMES_SHOWN)
    known, stated = _similar(reader, space, seq, event, [name for name, _ in names])
    said = _Said(seq)
    for at, turn in (*turns.items(), *stated.items()):
        said.add(at, turn.text)
    for name, at in names:  # a name is known from somewhere: the event that has it is where it comes from
        said.add(at, name)
    entities, named = _entities(reader, space, seq, event, before, said)
    scene = Scene(
        event=event,
        before=tuple(turns[at] for at in before),
        known=tuple(known),
        noted=tuple(reader.artifacts_of(space, [seq]).get(seq, ())),
        names=tuple(dict.fromkeys((speaker_of(event), *(name for name, _ in names)))),
        entities=tuple(entities),
        named=tuple(named),
        claims=tuple(_claims(reader, space, seq)),
        window=tuple(_window(reader, space, seq, event, before, tokenizer, said)),
    )
    return Shown(scene, said.texts)


def sources_of(shown: Shown, reading: LLMReading) -> list[int]:
    """List the other events whose words a reading uses: it goes when one of them is forgotten."""
    event = shown.scene.event
    own = set(question_terms(f"{event.text} {speaker_of(event)}"))
    borrowed = {term for words in reading.words for term in question_terms(words)} - own
    return [seq for seq, text in shown.texts.items() if borrowed & set(question_terms(text))]


class _Said:
    """Words that are shown, by the events that they come from."""

    def __init__(self, seq: int) -> None:
        self._own = seq
        self.texts: dict[int, str] = {}

    def add(self, seq: int, words: str) -> None:
        if seq != self._own:
            self.texts[seq] = f"{self.texts[seq]} {words}" if seq in self.texts else words


def _similar(
    reader: Reader, space: str, seq: int, event: Event, names: Sequence[str]
) -> tuple[list[Artifact], dict[int, Event]]:
    """Find what holds about those whom an event speaks of and was stated before it; most words in common first."""
    text = event.text[:LONGEST_READ].casefold()
    named = (name for name in names if name.casefold() in text)
    abouts = list(dict.fromkeys((speaker_of(event), *named)))[:_ABOUTS_SHOWN]
    words = set(question_terms(event.text[:LONGEST_READ]))
    standing = [one for about in abouts for one in reader.standing(space, about, limit=_COMPARED)]
    raw = {one.event_id: raw_id for one in standing if (raw_id := raw_event_id(one.event_id)) is not None}
    found = reader.find(space, list(raw.values()))
    seqs = {id: found[raw_id].seq for id, raw_id in raw.items() if raw_id in found}
    earlier = [one for one in standing if seqs.get(one.event_id, seq) < seq]
    earlier.sort(key=lambda one: -len(words & set(question_terms(one.content))))
    chosen = earlier[:_KNOWN_SHOWN]
    ids = {one.event_id for one in chosen}
    return chosen, {known.seq: known.event for known in found.values() if known.event.id in ids}


def _entities(
    reader: Reader, space: str, seq: int, event: Event, before: Sequence[int], said: _Said
) -> tuple[list[Entity], list[Named]]:
    """Read whom the event and the turns before it name, all their names, and where the event has which."""
    rows = [row for row in reader.mentions(space, seqs=[seq, *before]) if row.start >= 0]
    rows.sort(key=lambda row: (row.seq != seq, row.start))
    homes = {row.id: row.home for row in reader.names_of(space, ids=sorted({row.name for row in rows}))}
    entities = read_entities(reader, space, list(dict.fromkeys(homes[row.name] for row in rows)))[:_ENTITIES_SHOWN]
    family = reader.names_of(space, homes=[one.id for one in entities])
    first = reader.first_named(space, [row.id for row in family])
    for row in family:
        said.add(first.get(row.id, seq), " ".join(row.known.written))
    own = [row for row in rows if row.seq == seq]
    spoken = mentions_of(event, own)
    named = [
        Named(mention.span, mention.text, mention.type, homes[row.name])
        for mention, row in zip(spoken, own, strict=True)
    ]
    return entities, named


def _claims(reader: Reader, space: str, seq: int) -> Iterator[str]:
    for claim in reader.claims_of(space, seqs=[seq]):
        draft = claim.draft
        yield f"{draft.subject_name} {draft.relation.replace('_', ' ')} {draft.object_name}"


def _window(
    reader: Reader, space: str, seq: int, event: Event, before: Sequence[int], tokenizer: Tokenizer, said: _Said
) -> Iterator[str]:
    """Give what mattered before an event, line by line: no line that rests on the event itself, or on later ones."""
    window = window_in(reader, space, wing=event.wing, now=event.at, budget=_WINDOW_TOKENS, tokenizer=tokenizer)
    grounds = _grounds(reader, space, event) if any(item.kind == "intent" for item in window.items) else {}
    for item in window.items:
        sources = _sources(reader, space, item.kind, item.id, grounds)
        if sources and max(sources) < seq and not set(sources) & set(before):
            for source in sources:
                said.add(source, item.text)
            yield item.text


def _grounds(reader: Reader, space: str, event: Event) -> dict[str, list[str]]:
    """Map goals to the events that they rest on."""
    found = intents_in(reader, space, now=event.at, wing=event.wing)
    return {one.id: [ground.event_id for ground in one.grounds] for one in found}


def _sources(reader: Reader, space: str, kind: str, id: str, grounds: Mapping[str, Sequence[str]]) -> list[int]:
    """List the events that a line of the window comes from."""
    if kind == "concept":
        return [member.seq for member in reader.members(space, [id])]
    ids = grounds.get(id, ()) if kind == "intent" else (id,)
    raw = [raw_id for one in ids if (raw_id := raw_event_id(one)) is not None]
    return [known.seq for known in reader.find(space, raw).values()]
