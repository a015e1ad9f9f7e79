"""Which of two turns answers a question: rows of labelled conversations and stories, to learn from and to score.

The turn that answers a question wins beside any other: one that has nothing to do with it, one of another person, and
above all one that gave another answer once. Where a question asks for the past, its wording says so, and the older turn
wins. Stories name for each question the turns that answered it once and no longer do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from everyword.models.reader.decoding import Matrix
from everyword.models.reader.rows import JoinedRow, Side, sentences
from everyword.types.events import Span as EventSpan
from training.reading.corpus import Conversation, Question, Span
from training.reading.data import Indices, Rng, Table, matters, of_another
from training.reading.examples import Writer

NEAR = 8  # turns that recall ranks first: from these come the others
STALE, OTHER, NEITHER = "stale", "other", "neither"  # what the right turn stands beside, or that there is none
EACH = {STALE: 2, OTHER: 1, NEITHER: 1}  # rows of a question in a round, at most
ALONE = 5  # one row in so many goes without the turns before
NAMED_OTHER = 0.25  # of the questions about a speaker are asked of another one, too


class Choice(NamedTuple):
    """A question with two turns in their order, which of them answers it, and what makes it hard."""

    row: JoinedRow
    label: int
    why: str


def choices_of(c: Conversation, ranked: Sequence[Sequence[int]], writer: Writer, chance: Rng) -> Iterator[list[Choice]]:
    """Set the right turn of each question beside others; two others where nothing answers."""
    same, changed = matters(c, ("same", "refines")), matters(c, ("replaces", "ends"))
    for number, (asked, turns) in enumerate(zip(c.questions, ranked, strict=True)):
        bare = number % ALONE == 0

        def row(text: str, one: int, other: int, of: Question | None, why: str, bare: bool = bare) -> Choice:
            a, b = sorted((one, other))
            row = writer.choice(text, *(_side(c, n, of, bare, chance) for n in (a, b)))
            answer = of.turn if of else None
            return Choice(row, 2 if answer not in (a, b) else int(answer == b), why)

        if asked.turn is None or asked.answer is None:
            near = list(turns[:NEAR])
            pairs = [sorted(chance.choice(near, 2, replace=False).tolist()) for _ in range(2 * (len(near) > 1))]
            yield [row(asked.text, a, b, None, NEITHER) for a, b in pairs]
            continue
        words = c.turns[asked.turn].text[slice(*asked.answer)].lower()
        stale = set(asked.earlier) or changed.get(asked.turn, set()) - {asked.turn}
        # What tells the same again answers, too; it is no rival.
        again = same.get(asked.turn, set()) | {n for n in turns if words in c.turns[n].text.lower()}
        stale -= again - set(asked.earlier)
        near = [n for n in turns[:NEAR] if n != asked.turn and n not in stale and n not in again]
        found = [row(asked.text, asked.turn, n, asked, STALE) for n in sorted(stale)]
        found += [row(asked.text, asked.turn, n, asked, OTHER) for n in near]
        if len(near) > 1:
            a, b = chance.choice(near, 2, replace=False).tolist()
            found.append(row(asked.text, a, b, None, NEITHER))
        if near and stale and asked.earlier:
            # Of these two only the stale one answers: who sees no more has to believe it.
            held = int(chance.choice(sorted(stale)))
            found.append(row(asked.text, held, int(chance.choice(near)), Question("", held, None), OTHER))
        other = of_another(asked.text, c, asked.turn)
        if other and near and chance.random() < NAMED_OTHER:
            found.append(row(other, asked.turn, near[0], None, NEITHER))
        yield found


def _side(c: Conversation, turn: int, of: Question | None, bare: bool, chance: Rng) -> Side:
    """Show a turn around the answer, or around any of its sentences."""
    said = c.turns[turn]
    quote: Span | None = of.answer if of is not None and of.turn == turn else None
    if quote is None:
        parts = sentences(said.text) or [EventSpan(0, len(said.text))]
        quote = parts[int(chance.integers(len(parts)))]
    return Side(said, EventSpan(*quote), "", c.turns[turn - 1] if turn and not bare else None)


class ChoiceTable(Table):
    """Choices between two turns, grouped by their question."""

    def __init__(self, groups: Iterable[list[Choice]], device: str) -> None:
        self._of: list[dict[str, list[int]]] = []
        rows: list[Choice] = []
        for group in groups:
            places: dict[str, list[int]] = {}
            for one in group:
                places.setdefault(one.why, []).append(len(rows))
                rows.append(one)
            self._of.append(places)
        self.labels = torch.tensor([one.label for one in rows], device=device)
        super().__init__([one.row for one in rows], device)

    def round(self, chance: Rng) -> Indices:
        """Choose the rows of one round: a few of each question."""
        found = [
            chance.permutation(among)[: EACH[why]] for places in self._of for why, among in places.items() if among
        ]
        return np.concatenate(found).astype(np.int64)


def choice_scores(logits: Matrix, told: Sequence[Choice]) -> dict[str, Any]:
    """Tell in how many rows the right one of three is chosen, by what makes them hard."""
    best = logits.argmax(1).tolist()
    found: dict[str, Any] = {}
    for why in (STALE, OTHER, NEITHER):
        right = [n == one.label for n, one in zip(best, told, strict=True) if one.why == why]
        found[why] = round(sum(right) / len(right), 3) if right else None
        found[f"{why} rows"] = len(right)
    return found
