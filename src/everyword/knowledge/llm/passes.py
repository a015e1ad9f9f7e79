"""Two passes over an event: what it states, then what the first pass missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from everyword.errors import LLMError
from everyword.knowledge.llm.facts import Claimed, claimed, same_fact
from everyword.knowledge.llm.prompting import EXTRACT, EXTRACTOR, GLEAN, LONGEST_MODEL, prompt
from everyword.knowledge.llm.scene import Scene
from everyword.knowledge.llm.statements import SCHEMA, Drafted, Noted, drafted
from everyword.knowledge.llm.stored import LLMReading, same_words
from everyword.models.llm.json_schema import read_json
from everyword.models.protocol import LLM

ANSWER_TOKENS = 3_000  # of a pass: twenty statements of some 150 tokens each


def read_event(llm: LLM, scene: Scene) -> LLMReading:
    """Let an LLM read an event twice. Raise an LLMError where the first pass gives nothing that can be used.

    A second pass whose answer can't be used leaves the first one's finds; one that may work later fails the whole.
    """
    first = _pass(llm, EXTRACT, scene, ())
    try:
        second = _pass(llm, GLEAN, scene, [*(noted.draft.content for noted in first.drafted.noted), *first.told])
    except LLMError as error:
        if error.retryable:
            raise
        nothing = Drafted([], [f"{GLEAN}: no second pass: {type(error).__name__}"])
        second = _Pass(first.extractor, nothing, Claimed([], []), [])
    return _reading(first, second)


class _Pass(NamedTuple):
    """What came of one pass."""

    extractor: str
    drafted: Drafted
    claimed: Claimed
    told: list[str]  # the facts in words, for the next pass


def _pass(llm: LLM, name: str, scene: Scene, found: Sequence[str]) -> _Pass:
    reply = llm.complete(system=prompt(name), prompt=scene.prompt(found), schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    # Checked again: the LLM may be an object of the caller's.
    answer: dict[str, list[dict[str, Any]]] = read_json(reply.text, SCHEMA)
    extractor = f"{EXTRACTOR} {reply.model[:LONGEST_MODEL]}"
    facts = answer["facts"]
    told = [f"{fact['subject']} {fact['relation'].replace('_', ' ')} {fact['object']}" for fact in facts]
    return _Pass(extractor, drafted(scene, answer["statements"], extractor), claimed(scene, facts, extractor), told)


def _reading(first: _Pass, second: _Pass) -> LLMReading:
    """Put two passes together; what says the same in nearly the same words is one."""
    kept: list[Noted] = []
    for noted in (*first.drafted.noted, *second.drafted.noted):
        if not any(same_words(noted.draft.content, other.draft.content) for other in kept):
            kept.append(noted)
    facts = {same_fact(fact): fact for fact in (*second.claimed.facts, *first.claimed.facts)}
    refused = [*first.drafted.refused, *first.claimed.refused, *second.drafted.refused, *second.claimed.refused]
    return LLMReading(extractor=first.extractor, noted=tuple(kept), facts=tuple(facts.values()), refused=tuple(refused))
