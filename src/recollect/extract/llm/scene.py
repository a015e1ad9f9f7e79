"""What an LLM is shown of an event: the event, the turns before it, what is known, and the names in use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recollect.core.artifacts import Artifact
from recollect.core.clock import day_in_words
from recollect.core.values import Event
from recollect.extract.corrections import ROLE as CORRECTION
from recollect.extract.rules.apply import SILENT_ROLES
from recollect.inference.text import well_formed

LONGEST_READ = (
    12_000  # characters of an event, some 3,000 tokens: what is longer was pasted, and rules read of it what they can
)
LONGEST_BEFORE = 1_200  # characters of a turn before it: enough to tell whom a pronoun means
LONGEST_NAME = 80  # characters; names may be a thousand long


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An event in its surroundings."""

    event: Event
    before: tuple[Event, ...] = ()  # turns of the same session, the oldest first
    known: tuple[Artifact, ...] = ()  # what holds and was stated earlier, numbered from 1 in this order
    noted: tuple[Artifact, ...] = ()  # what rules found in the event itself
    names: tuple[str, ...] = ()  # whom and what the memory speaks about

    @property
    def text(self) -> str:
        """Give the part of the event's text that is shown."""
        return self.event.text[:LONGEST_READ]

    @property
    def speaker(self) -> str:
        """Name the speaker as rules do, so that both speak about the same one."""
        return speaker_of(self.event)

    def prompt(self, found: Sequence[str] = ()) -> str:
        """Write the scene as JSON, so that no text can pose as another part; `found` is what a first pass found."""
        shown = {
            "people_and_things": [name[:LONGEST_NAME] for name in self.names],
            "known": [_known(number, artifact) for number, artifact in enumerate(self.known, 1)],
            "noted": [*(artifact.content for artifact in self.noted), *found],
            "turns_before": [_turn(event, LONGEST_BEFORE) for event in self.before],
            "turn": _turn(self.event, LONGEST_READ),
        }
        return well_formed(json.dumps(shown, ensure_ascii=False, indent=1))


# What programs report, and what a person put right by hand, no LLM is to read.
NOT_FOR_LLM = SILENT_ROLES | {CORRECTION}


def is_for_llm(event: Event) -> bool:
    """Tell whether an LLM is to read an event."""
    return (event.role or "").lower() not in NOT_FOR_LLM


def speaker_of(event: Event) -> str:
    """Name who speaks: the speaker, else the role."""
    return event.speaker or (event.role or "speaker").capitalize()


def _turn(event: Event, most: int) -> dict[str, Any]:
    at = event.at
    said = f"{_WEEKDAYS[at.weekday()]}, {day_in_words(at)}, {at:%H:%M}"
    return {"speaker": speaker_of(event)[:LONGEST_NAME], "said": said, "text": event.text[:most]}


def _known(number: int, artifact: Artifact) -> dict[str, Any]:
    since = artifact.valid_from
    return {
        "number": number,
        "kind": artifact.kind.value,
        "about": artifact.about,
        "content": artifact.content,
        "since": None if since is None else day_in_words(since),
    }


# Spelled out: strftime follows the machine's language.
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
