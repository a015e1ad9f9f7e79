"""Laying out a wake-up: candidates by priority, within a token budget that is counted exactly.

I am Atlas, Ana's assistant. [1]
In boat now:
[2] decision, 3 March 2026: use epoxy for the keel
About Bruno:
[3] relationship, 1 March 2026: Bruno is Ana's brother
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.core.layers import Told, WakeUp
from recollect.core.values import Score
from recollect.inference.protocol import Tokenizer

_IDENTITY_SHARE = 0.3  # of the budget: 50 tokens of 170, so that a long identity leaves room for what matters now


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A line that could be told."""

    told: Told
    order: tuple[float, str]  # among equals: the later first, then by id, so that the choice is always the same
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
) -> WakeUp:
    """Choose what is told: identity first, then what has most priority, while it fits.

    identity: its sentences in order. headings: what stands before the lines of a layer.
    """
    chosen: list[Told] = []
    for sentence in identity:
        if _cost([*chosen, sentence], headings, tokenizer) > max(1, int(budget * _IDENTITY_SHARE)):
            break
        chosen.append(sentence)
    said = set[str]()
    for candidate in sorted(candidates, key=_place):
        words = candidate.told.text.casefold()
        if candidate.quotes and candidate.told.citation.event_id in {line.citation.event_id for line in chosen}:
            continue
        if words not in said and _cost([*chosen, candidate.told], headings, tokenizer) <= budget:
            chosen.append(candidate.told)
            said.add(words)
    text, lines = _laid_out(chosen, headings)
    return WakeUp(
        text=text,
        tokens=tokenizer.count(text) if text else 0,
        budget=budget,
        tokenizer=tokenizer.name,
        citations=tuple(line.citation for line in lines),
        lines=tuple(lines),
        considered=len(candidates),
    )


def _place(candidate: Candidate) -> tuple[int, float, float, str]:
    later, id = candidate.order
    # A topic that was asked for goes before what nobody asked for.
    return -candidate.told.layer if candidate.told.layer > 1 else 0, -candidate.told.priority, -later, id


def _cost(lines: Sequence[Told], headings: dict[int, str], tokenizer: Tokenizer) -> int:
    return tokenizer.count(_laid_out(lines, headings)[0])


def _laid_out(lines: Sequence[Told], headings: dict[int, str]) -> tuple[str, list[Told]]:
    """Write lines layer by layer, each with its mark; within a layer the order of choice stays."""
    blocks: list[str] = []
    marked: list[Told] = []
    for line in sorted(lines, key=lambda line: line.layer):
        if (not marked or marked[-1].layer != line.layer) and headings.get(line.layer):
            blocks.append(headings[line.layer])
        mark = f"[{len(marked) + 1}]"
        marked.append(replace(line, citation=replace(line.citation, mark=mark)))
        blocks.append(f"{line.text} {mark}" if line.layer == 0 else f"{mark} {line.kind}: {line.text}")
    return "\n".join(blocks), marked
