"""Laying out a wake-up: candidates by priority, within a token budget that is counted exactly.

[1] identity: I am Atlas, Ana's assistant.
Now, in boat:
[2] decision, 3 March 2026: use epoxy for the keel
About Bruno:
[3] relationship, 1 March 2026: Bruno is Ana's brother
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from recollect.core.layers import Told, WakeUp
from recollect.core.rendering import fence_tokens, fenced
from recollect.core.values import Score
from recollect.inference.protocol import Tokenizer

_IDENTITY_SHARE = 0.3  # of the budget: 50 tokens of 170, so that a long identity leaves room for what matters now

# What each line of a kind takes from the priority of the next of that kind: a wake-up of nothing but decisions would
# leave out what is to be done.
_ALIKE = 0.08
_MISFITS = 6  # lines that do not fit any more, after which no shorter one is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A line that could be told."""

    told: Told
    order: tuple[float, str]  # among equals: the later first, then by id, so that the choice is always the same
    group: str  # what it is one of: the same kind of line
    quotes: bool = False  # it only repeats an event: not needed beside another line of that event


def priority(reasons: Sequence[Score]) -> float:
    """Add up what speaks for a line."""
    return round(sum(reason.score for reason in reasons), 4)


def wake_up(
    identity: Sequence[Told],
    candidates: Sequence[Candidate],
    budget: int,
    tokenizer: Tokenizer,
    *,
    headings: dict[int, str],
    fence_key: bytes | None = None,
) -> WakeUp:
    """Choose what is told: identity first, then what has most priority, while it fits.

    identity: its sentences in order. headings: what stands before the lines of a layer. fence_key: what the fence is
    derived from; None for a random one.
    """
    key = secrets.token_bytes() if fence_key is None else fence_key  # one for all counts of this call

    def cost(lines: Sequence[Told]) -> int:
        return tokenizer.count(fenced(_laid_out(lines, headings)[0], key))

    chosen: list[Told] = []
    fence = fence_tokens(tokenizer.count)
    for sentence in identity:
        if cost([*chosen, sentence]) > min(budget, fence + int((budget - fence) * _IDENTITY_SHARE)):
            break
        chosen.append(sentence)
    misfits = 0
    for candidate in _by_turns(candidates):
        told = candidate.told
        if _repeats(candidate, chosen):
            continue
        if cost([*chosen, told]) <= budget:
            chosen.append(told)
        elif (misfits := misfits + 1) == _MISFITS:
            break
    body, lines = _laid_out(chosen, headings)
    text = fenced(body, key)
    return WakeUp(
        text=text,
        tokens=tokenizer.count(text) if text else 0,
        budget=budget,
        tokenizer=tokenizer.name,
        citations=tuple(line.citation for line in lines),
        lines=tuple(lines),
        considered=len(candidates),
    )


def _by_turns(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Go through candidates by priority; each costs the next of its kind a little: no kind crowds out the others."""
    waiting: dict[tuple[int, str], list[Candidate]] = {}
    for candidate in sorted(candidates, key=_place, reverse=True):
        waiting.setdefault((candidate.told.layer, candidate.group), []).append(candidate)
    taken = dict.fromkeys(waiting, 0)
    while waiting:
        group = min(waiting, key=lambda group: _place(waiting[group][-1], taken[group]))
        candidate = waiting[group].pop()
        if taken[group]:
            alike = Score(
                stage="alike", score=-_ALIKE * taken[group], why=f"{taken[group]} of its kind stand before it"
            )
            reasons = (*candidate.told.reasons, alike)
            candidate = replace(candidate, told=replace(candidate.told, reasons=reasons, priority=priority(reasons)))
        taken[group] += 1
        if not waiting[group]:
            del waiting[group]
        yield candidate


def _place(candidate: Candidate, alike: int = 0) -> tuple[int, float, float, str]:
    later, id = candidate.order
    # A topic that was asked for goes before what nobody asked for.
    return -candidate.told.layer, _ALIKE * alike - candidate.told.priority, -later, id


def _repeats(candidate: Candidate, chosen: Sequence[Told]) -> bool:
    told = candidate.told
    if candidate.quotes and any(line.citation.event_id == told.citation.event_id for line in chosen):
        return True
    return any(line.text.casefold() == told.text.casefold() for line in chosen)


def _laid_out(lines: Sequence[Told], headings: dict[int, str]) -> tuple[str, list[Told]]:
    """Write lines layer by layer, each with its mark; within a layer the order of choice stays."""
    blocks: list[str] = []
    marked: list[Told] = []
    for line in sorted(lines, key=lambda line: line.layer):
        if (not marked or marked[-1].layer != line.layer) and headings.get(line.layer):
            blocks.append(headings[line.layer])
        mark = f"[{len(marked) + 1}]"
        marked.append(replace(line, citation=replace(line.citation, mark=mark)))
        blocks.append(f"{mark} {line.kind}: {line.text}")
    return "\n".join(blocks), marked
