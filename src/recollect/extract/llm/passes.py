"""Two passes over an event: what it states, then what the first pass missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from recollect.core.errors import LLMError
from recollect.extract.llm.prompting import EXTRACT, EXTRACTOR, GLEAN, prompt
from recollect.extract.llm.scene import Scene
from recollect.extract.llm.statements import SCHEMA, Drafted, Noted, drafted
from recollect.extract.llm.stored import LLMReading, same_words
from recollect.inference.llm.schema import read_json
from recollect.inference.protocol import DEFAULT_MAX_TOKENS, Reply, Schema

ANSWER_TOKENS = 3_000  # of a pass: twenty statements of some 150 tokens each
LONGEST_MODEL = 80  # characters of the model's name as its server gives it


class Completing(Protocol):
    """The half of an LLM that reading needs."""

    @property
    def name(self) -> str: ...

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        schema: Schema | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float = 0.0,
    ) -> Reply:
        """Answer at once; with a schema, in JSON that meets it."""
        ...


def read_event(llm: Completing, scene: Scene) -> LLMReading:
    """Let an LLM read an event twice. Raise an LLMError where the first pass gives nothing that can be used.

    A second pass whose answer can't be used leaves the first one's finds; one that may work later fails the whole.
    """
    first = _pass(llm, EXTRACT, scene, ())
    try:
        second = _pass(llm, GLEAN, scene, [noted.draft.content for noted in first[1].noted])
    except LLMError as error:
        if error.retryable:
            raise
        return _reading(first[0], first[1], Drafted([], [f"{GLEAN}: no second pass: {type(error).__name__}"]))
    return _reading(first[0], first[1], second[1])


def _pass(llm: Completing, name: str, scene: Scene, found: Sequence[str]) -> tuple[str, Drafted]:
    reply = llm.complete(system=prompt(name), prompt=scene.prompt(found), schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    # Checked again: the LLM may be an object of the caller's.
    statements: list[dict[str, Any]] = read_json(reply.text, SCHEMA)["statements"]
    extractor = f"{EXTRACTOR} {reply.model[:LONGEST_MODEL]}"
    return extractor, drafted(scene, statements, extractor)


def _reading(extractor: str, first: Drafted, second: Drafted) -> LLMReading:
    """Put two passes together; what says the same in nearly the same words is one."""
    kept: list[Noted] = []
    for noted in (*first.noted, *second.noted):
        if not any(same_words(noted.draft.content, other.draft.content) for other in kept):
            kept.append(noted)
    return LLMReading(extractor=extractor, noted=tuple(kept), refused=(*first.refused, *second.refused))
