"""What an LLM is shown: an event, the turns before it, what is known, whom names mean, and what matters now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from everyword.knowledge.reading import speaker_name
from everyword.text.rendering import LONGEST_NAME, json_text, one_line, visible
from everyword.types.events import PROGRAMS, Event, Span
from everyword.types.graph import Entity, EntityType
from everyword.types.statements import Statement
from everyword.types.times import day_in_words
from everyword.types.trust import states_nothing

LONGEST_READ = (
    12_000  # characters of an event, some 3,000 tokens: what is longer was pasted, and the reader reads it all
)
LONGEST_BEFORE = 1_200  # characters of a turn before it: enough to tell whom a pronoun means
MOST_ALIASES = 5  # of an entity in the table


class Named(NamedTuple):
    """A name in the event, and whose it is."""

    span: Span
    text: str
    type: EntityType
    home: str  # id of the entity


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
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
            "people_and_things": [_named(name) for name in self.names],
            "entities": [_entity(entity) for entity in self.entities],
            "known": [_known(number, statement) for number, statement in enumerate(self.known, 1)],
            "noted": [*(statement.content for statement in self.noted), *self.claims, *found],
            "turns_before": [_turn(event, LONGEST_BEFORE) for event in self.before],
            "turn": _turn(self.event, LONGEST_READ),
        }
        return json_text(shown, indent=1)


NOT_FOR_LLM = PROGRAMS  # what programs report no LLM is to read


def is_for_llm(event: Event) -> bool:
    """Tell whether an LLM is to read an event."""
    return event.record is None and (event.role or "").lower() not in NOT_FOR_LLM and not states_nothing(event)


def _turn(event: Event, most: int) -> dict[str, Any]:
    at = event.at
    said = f"{_WEEKDAYS[at.weekday()]}, {day_in_words(at)}, {at:%H:%M}"
    return {"speaker": _named(speaker_name(event)), "said": said, "text": event.text[:most]}


def _entity(entity: Entity) -> dict[str, Any]:
    also = [_named(alias) for alias in entity.aliases[:MOST_ALIASES]]
    return {"name": _named(entity.name), "type": entity.type.value, "also_called": also}


def _named(name: str) -> str:
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
