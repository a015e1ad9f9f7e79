"""Let an LLM summarise a session in a few sentences, each with the events that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from everyword.knowledge.llm.grounding import beyond
from everyword.knowledge.llm.prompting import SUMMARISE, extractor_of, prompt
from everyword.models.llm.json_schema import read_json
from everyword.models.protocol import LLM, Schema, well_formed
from everyword.text.rendering import LONGEST_NAME, json_text, one_line
from everyword.types.events import PROGRAMS, Event, WrittenSentence
from everyword.types.times import day_in_words
from everyword.types.trust import states_nothing

MOST_SENTENCES = 8
LONGEST_SENTENCE = 400  # characters
MOST_SHOWN = 24_000  # characters of a session in a prompt, some 6,000 tokens: of a longer one, turns at even distances
LONGEST_TURN = 800  # characters of one turn: what is longer was pasted
ANSWER_TOKENS = 1_500  # eight sentences with their citations

_ITEM: dict[str, Schema] = {
    "text": {"type": "string"},
    "turns": {"type": "array", "items": {"type": "integer"}},
}
SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "maxItems": MOST_SENTENCES,
            "items": {"type": "object", "properties": _ITEM, "required": list(_ITEM), "additionalProperties": False},
        }
    },
    "required": ["sentences"],
    "additionalProperties": False,
}


class WrittenSummary(NamedTuple):
    """What an LLM wrote of a session, and what of it was not let in."""

    extractor: str
    sentences: tuple[WrittenSentence, ...]
    refused: tuple[str, ...]


def write_summary(llm: LLM, session: Sequence[Event]) -> WrittenSummary:
    """Let an LLM summarise a session. Raise an LLMError where its answer can't be read at all."""
    shown = shown_turns(session)
    asked = json_text({"turns": [_turn(number, one) for number, one in enumerate(shown, 1)]})
    reply = llm.complete(system=prompt(SUMMARISE), prompt=asked, schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    answered: list[dict[str, Any]] = read_json(reply.text, SCHEMA)["sentences"]
    sentences: list[WrittenSentence] = []
    refused: list[str] = []
    names = sorted({name for one in shown for name in (one.speaker, one.role) if name})
    for one in answered:
        text = well_formed(" ".join(one["text"].split()))
        turns: list[int] = one["turns"]
        cited = [shown[number - 1] for number in dict.fromkeys(turns) if 0 < number <= len(shown)]
        fault = _fault(text, cited, names)
        if fault is None:
            sentences.append(WrittenSentence(text=text, event_ids=tuple(event.id for event in cited)))
        else:
            refused.append(fault)
    return WrittenSummary(extractor_of(SUMMARISE, reply.model), tuple(sentences), tuple(refused))


def shown_turns(session: Sequence[Event]) -> list[Event]:
    """Choose the turns that are shown: all, or as many at even distances as there is room for."""
    turns = [
        one
        for one in session
        if (one.role or "").lower() not in PROGRAMS and not states_nothing(one) and one.text.strip()
    ]
    size = sum(min(len(one.text), LONGEST_TURN) for one in turns)
    if size <= MOST_SHOWN:
        return turns
    kept = max(1, len(turns) * MOST_SHOWN // size)
    step = (len(turns) - 1) / max(1, kept - 1)
    return [turns[place] for place in sorted({round(number * step) for number in range(kept)})]


def _turn(number: int, event: Event) -> dict[str, Any]:
    who = one_line((event.speaker or event.role or "")[:LONGEST_NAME])
    return {"number": number, "speaker": who, "said": day_in_words(event.at), "text": event.text[:LONGEST_TURN]}


def _fault(text: str, cited: Sequence[Event], names: Sequence[str]) -> str | None:
    if not text or len(text) > LONGEST_SENTENCE:
        return "it is empty or too long"
    if not cited:
        return "it cites no turn that was shown"
    return beyond(text, [one.text for one in cited], names)
