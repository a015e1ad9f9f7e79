"""What an LLM points at: quotes, times and whom it means, found in the event itself."""

from __future__ import annotations

from everyword.knowledge.llm.scene import Scene
from everyword.text.dates import DateMention, Granularity, find_dates
from everyword.text.spans import sentences
from everyword.types.events import Span

LONGEST_QUOTE = 600  # characters; a longer one points at nothing
SHORTEST_QUOTE = 4  # characters; less ("I", "no") stands in any text and shows nothing
_SELF = frozenset("i me my we us our speaker user self".split()) | {"the speaker", "the user"}


def quote_fault(quote: str) -> str | None:
    """Say why a quote shows nothing, before it is even looked for."""
    if len(quote) > LONGEST_QUOTE:
        return "its quote is too long to point at anything"
    if quote and len(quote) < SHORTEST_QUOTE:
        return f"its quote is too short to show anything: {quote}"
    return None


def place_of(text: str, quote: str) -> Span:
    """Find the one place of a quote; where there are more or none, an empty span."""
    start = text.find(quote)
    once = bool(quote) and start >= 0 and text.find(quote, start + 1) < 0
    return Span(start, start + len(quote)) if once else Span(0, 0)


def means_speaker(scene: Scene, name: str) -> bool:
    """Tell whether a name, or none, means who speaks."""
    role = (scene.event.role or "").casefold()
    return not name or name.casefold() in _SELF or name.casefold() in (role, scene.speaker.casefold())


def sentences_of(scene: Scene, quote: Span) -> Span:
    """Give the sentences that a quote is of."""
    touched = [one for one in sentences(scene.text) if one.start < quote.end and quote.start < one.end] or [quote]
    return Span(touched[0].start, max(touched[-1].end, quote.end))


def time_said(scene: Scene, quote: Span, when: str) -> DateMention | None:
    """Find the time in the sentences that the quote is of: the one that was pointed at, else the first of the quote."""
    text, around, wanted = scene.event.text, sentences_of(scene, quote), when.casefold()
    mentions = [
        mention
        for mention in find_dates(text[around.start : around.end], scene.event.at, nearest=True)
        if not mention.repeats and mention.granularity is not Granularity.LIFE
    ]
    named = [one for one in mentions if wanted and (one.text.casefold() in wanted or wanted in one.text.casefold())]
    own = [one for one in mentions if quote.start <= around.start + one.span.start < quote.end]
    return next(iter((*named, *own)), None)
