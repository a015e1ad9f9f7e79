"""How well `ask` answers: labelled conversations are told to a memory, and their questions asked weeks later.

An answer is right if it cites the turn that answers and its quote has the labelled words; stale if it cites a turn
whose statement that turn replaced or ended; refused if the memory says that it does not know. Questions about what
changed are counted once more by themselves. The files are those of `evals.reading`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from training.reading.corpus import Conversation, Question

from evals.reading import event_of
from everyword import Memory
from everyword.types.events import Answer

_LATER = timedelta(days=21)  # after the last turn
_CHANGES = ("replaces", "ends")
OUTCOMES = ("right", "stale", "other turn", "refused")


def measure(
    conversations: Sequence[Conversation], *, opened: Callable[[], Memory], progress: Callable[[int, int], object]
) -> Counter[str]:
    """Ask the questions of all conversations, each in a memory of its own; count outcomes."""
    found: Counter[str] = Counter()
    for number, conversation in enumerate(conversations, 1):
        with opened() as memory:
            found.update(_asked(memory, conversation))
        progress(number, len(conversations))
    return found


def _asked(memory: Memory, conversation: Conversation) -> Iterable[str]:
    events = [event_of(conversation, number) for number in range(len(conversation.turns))]
    ids = [
        memory.add(one.text, speaker=one.speaker, session=f"{one.at:%Y-%m-%d}", at=one.at, key=str(number)).id
        for number, one in enumerate(events)
    ]
    memory.admin.settle()
    now = max(one.at for one in events) + _LATER
    changed = {pair.b[0]: pair.a[0] for pair in conversation.pairs if pair.relation in _CHANGES}
    for question in conversation.questions:
        answer = memory.ask(question.text, now=now)
        if question.turn is None:
            yield "unanswerable, refused" if not answer.answered else "unanswerable, answered"
        else:
            outcome = _outcome(answer, question, ids, conversation, changed)
            yield f"answerable, {outcome}"
            if question.turn in changed:
                yield f"changed, {outcome}"


def _outcome(
    answer: Answer, question: Question, ids: Sequence[str], conversation: Conversation, changed: dict[int, int]
) -> str:
    if not answer.answered:
        return "refused"
    cited = {one.event_id for one in answer.citations}
    right = question.turn
    assert right is not None
    if ids[right] in cited:
        start, end = question.answer or (0, 0)
        wanted = conversation.turns[right].text[start:end]
        return "right" if any(wanted in quote for quote in answer.quotes) else "other turn"
    older = changed.get(right)
    return "stale" if older is not None and ids[older] in cited else "other turn"


def as_table(found: Counter[str]) -> str:
    """Write the shares of outcomes as a markdown table."""
    lines = ["| questions | outcomes |", "|---|---|"]
    for group, title in (("answerable", "answerable"), ("changed", "whose answer changed")):
        counts = {one: found[f"{group}, {one}"] for one in OUTCOMES}
        asked = sum(counts.values())
        told = ", ".join(f"{one} {count / max(1, asked):.2f}" for one, count in counts.items())
        lines.append(f"| {title} ({asked:,}) | {told} |")
    never = found["unanswerable, refused"] + found["unanswerable, answered"]
    lines.append(f"| unanswerable ({never:,}) | refused {found['unanswerable, refused'] / max(1, never):.2f} |")
    return "\n".join(lines)
