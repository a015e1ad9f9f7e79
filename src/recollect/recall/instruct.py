"""Instructions: what a reader of a context should do with it, by the kind of question."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.recall.analyse import Analysis, Kind

_GROUNDS = "Answer from the numbered lines below alone, and name the numbers you used."
_ABSENT = "If they hold no answer, say that you don't know."

_BY_KIND: Mapping[Kind, str] = {
    Kind.LOOKUP: "If lines disagree, the later one counts.",
    Kind.TEMPORAL: "The date above a line is when it was said; dates in brackets were worked out from it. Work out the "
    "answer from these dates, and give it as a date or a length of time.",
    Kind.CAUSAL: "Find the cause and the effect, check that the cause comes first, and name the steps between them.",
    Kind.LISTING: "Go through all lines before you answer, and list each thing once.",
    Kind.COUNTING: "Go through all lines, list what counts, each thing once, and only then count.",
    Kind.COMPARING: "Find what is said of each one first, then compare.",
    Kind.PREFERENCE: "Go by what the person said they like, dislike or already do; the later statement counts.",
    Kind.ASSISTANT: "The question is about what the assistant said, not the user.",
}
_HYPOTHETICAL = "The answer is a conclusion: draw it from what the lines say of the person, and say how sure it is."


STYLES = ("plain", "reasoning")


def instruction(asked: Analysis) -> str:
    """Write the instruction that fits a question."""
    fitting = _HYPOTHETICAL if asked.hypothetical else _BY_KIND[asked.kind]
    return f"{_GROUNDS} {fitting} {_ABSENT}"
