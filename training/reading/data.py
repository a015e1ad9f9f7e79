"""What training draws from: readings, pairs, questions and lines for the vectors, written out and put into batches."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from everyword.models.reader.decoding import ABOUT, GOALS, KINDS, MODES, PAIRS, STATES, TYPES
from everyword.models.reader.rows import LOWER, NO_WORD, PUNCTUATION, JoinedRow, ReadingRow, Side, sentences
from everyword.types.events import Span as EventSpan
from training.reading.corpus import Conversation, Entity, Pair, Span, Statement, Turn, wnut
from training.reading.evaluation import gold_tokens
from training.reading.examples import Writer, covered, side, statements_of, tags

LEAST_RELATION = 8  # statements that a relation needs to have a class of its own
NONE = -100  # what cross-entropy leaves out
# Sources whose lines answer their questions each by itself.
ANSWERING = {"squad", "xquad", "friendsqa", "realmem", "timeqa"}
LEAST_ALONE = 5  # words of a sentence that is read by itself; a shorter one needs the others
LOWERED = 0.15  # rows that are read as if they had no capitals
UNSHAPED = 0.05  # rows of which nothing is said about capitals
TURNED = 0.3  # of the pairs that are the same in either order are read the other way about
LEAST_BARE = 3  # words of a quote that is compared without what stands around it
BARE_PAIRS = 0.3  # pairs by themselves, for each labelled one
MISSED = 0.15  # deeds beside other people's goals, for each labelled pair
MISSES = 2  # of them, at most, for each deed
TERM = 5  # characters of a word that tell what it is about
FREQUENT = 0.01  # share of the turns from which on a term tells little
ALONE = 6  # of so many questions, one is put to lines without the one before
CANDIDATES = 6  # lines that a question is put to at once
NEAR = 12  # turns that recall ranks first: from these come a question's wrong lines
NEAR_PUBLIC = 5
ROLES = frozenset({"user", "assistant", "tool", "system", "agent", "bot"})  # speakers of whom nobody asks by name
LEFT_OUT = 0.1  # of the questions with an answer are asked without the line that has it
OF_ANOTHER = 0.25  # of the questions about a speaker are asked of another one, too

Labels = TypeVar("Labels", Entity, Statement)
Rng = np.random.Generator
Indices = np.ndarray[Any, Any]
Told = tuple[int, Span, str]  # a statement: its turn, its quote, whom it is about
PublicQuestion = tuple[str, list[Turn], list[Turn]]  # with lines that answer it and lines that do not


@dataclass(frozen=True, slots=True)
class Labelled:
    """A reading with the classes of its tokens and of its statements."""

    reading: ReadingRow
    entity: Any
    statement: Any
    # A row a statement: first and last token, kind, mode, state, about, relation, and the first and last token of the
    # value and of the name.
    spans: list[list[int]]


@dataclass(frozen=True, slots=True)
class Batch:
    ids: Tensor
    there: Tensor
    segments: Tensor
    shapes: Tensor

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.ids, self.there, self.segments, self.shapes


def alone(turn: Turn) -> Iterator[Turn]:
    """Make a turn of each sentence that says what it says by itself, with speaker and date, and without.

    Whoever saves a note, or lets an agent remember something, writes single sentences.
    """
    for start, end in sentences(turn.text):
        inside = [s for s in turn.statements if s.start < end and s.end > start]
        skipped = (start, end) == (0, len(turn.text)) or len(turn.text[start:end].split()) < LEAST_ALONE
        if skipped or not all(map(partial(_is_within, start, end), inside)):
            continue
        part = replace(
            turn,
            text=turn.text[start:end],
            entities=tuple(_moved(e, start) for e in turn.entities if start <= e.start and e.end <= end),
            statements=tuple(
                replace(_moved(s, start), value=_back(s.value, start), about_span=_back(s.about_span, start))
                for s in inside
            ),
        )
        yield part
        yield replace(part, speaker="", at=None)


def _is_within(start: int, end: int, one: Statement) -> bool:
    named = one.about_span is None or (not one.about_before and start <= one.about_span[0] and one.about_span[1] <= end)
    return start <= one.start and one.end <= end and named


def _moved(one: Labels, start: int) -> Labels:
    return replace(one, start=one.start - start, end=one.end - start)


def _back(span: Span | None, start: int) -> Span | None:
    return None if span is None else (span[0] - start, span[1] - start)


def relations_of(conversations: Sequence[Conversation]) -> list[str]:
    """List the relations that are frequent enough; the first place stands for none of them."""
    counts = Counter(s.relation for c in conversations for t in c.turns for s in t.statements if s.relation)
    return ["", *sorted(name for name, count in counts.items() if count >= LEAST_RELATION)]


def labelled(reading: ReadingRow, relations: Sequence[str]) -> Labelled:
    """Give a reading its classes."""
    names = [one for one in reading.turn.entities if reading.window[0] <= one.start < reading.window[1]]
    found = statements_of(reading)
    entity = tags(reading, [(e.start, e.end) for e in names], [TYPES.index(e.type) for e in names])
    statement = tags(reading, [(s.start, s.end) for s in found], [0] * len(found))
    if not reading.turn.with_statements:
        statement[:] = NONE
    spans = [row for one in found if (row := _span(reading, one, relations))]
    return Labelled(reading, np.where(entity < 0, NONE, entity), np.where(statement < 0, NONE, statement), spans)


def _span(reading: ReadingRow, one: Statement, relations: Sequence[str]) -> list[int] | None:
    tokens = gold_tokens(reading, one.start, one.end)
    if not tokens:
        return None
    value = [0, 0]  # none
    if one.value:
        inside = covered(reading.starts, reading.ends, tokens, one.value)
        value = [inside[0], inside[-1]] if inside else [NONE, NONE]
    name = [NONE, NONE]
    if one.about == "name" and one.about_span:
        among = [n for n in range(len(reading.ids)) if reading.segments[n] == int(one.about_before)]
        inside = covered(reading.starts, reading.ends, among, one.about_span)
        name = [inside[0], inside[-1]] if inside else name
    state = STATES.index(one.state) if one.kind in GOALS and one.state else NONE
    relation = relations.index(one.relation) if one.relation in relations else 0
    kind, mode, about = KINDS.index(one.kind), MODES.index(one.mode), ABOUT.index(one.about)
    return [tokens[0], tokens[-1], kind, mode, state, about, relation, *value, *name]


def pad(rows: Sequence[ReadingRow | JoinedRow], device: str) -> Batch:
    """Put rows into one batch."""
    length = max(len(row.ids) for row in rows)
    arrays = np.zeros((3, len(rows), length), np.int64)
    there = np.zeros((len(rows), length), bool)
    for n, row in enumerate(rows):
        arrays[:, n, : len(row.ids)] = row.ids, row.segments, row.shapes
        there[n, : len(row.ids)] = True
    moved = torch.from_numpy(arrays).to(device)
    return Batch(moved[0], torch.from_numpy(there).to(device), moved[1], moved[2])


class Table:
    """Rows on the device, padded once, so that a batch is cut out of it without work for the CPU."""

    def __init__(self, rows: Sequence[ReadingRow | JoinedRow], device: str) -> None:
        self.device = device
        self.sizes = np.array([len(row.ids) for row in rows])
        found = np.zeros((3, len(rows), self.sizes.max()), np.int32)
        for n, row in enumerate(rows):
            found[:, n, : len(row.ids)] = row.ids, row.segments, row.shapes
        self._rows = torch.from_numpy(found).to(device)
        self._sizes = torch.from_numpy(self.sizes).to(device)

    def batch(self, chosen: Indices) -> Batch:
        """Cut out rows, as long as the longest of them."""
        index = torch.as_tensor(chosen, device=self.device)
        length = int(self.sizes[chosen].max())
        ids, segments, shapes = self._rows[:, index, :length].long()
        there = torch.arange(length, device=self.device) < self._sizes[index][:, None]
        return Batch(ids, there, segments, shapes)


class ReadTable(Table):
    """Readings with their classes."""

    def __init__(self, rows: Sequence[Labelled], device: str) -> None:
        super().__init__([row.reading for row in rows], device)
        tagged = np.full((2, len(rows), self.sizes.max()), NONE, np.int16)
        for n, row in enumerate(rows):
            tagged[:, n, : len(row.entity)] = row.entity, row.statement
        self._tags = torch.from_numpy(tagged).to(device)
        self._counts = np.array([len(row.spans) for row in rows])
        self._firsts = np.concatenate([[0], np.cumsum(self._counts)])
        spans = [one for row in rows for one in row.spans]
        self._spans = torch.tensor(spans or np.zeros((0, 11)), dtype=torch.long, device=device)

    def tags(self, chosen: Indices) -> tuple[Tensor, Tensor, Tensor]:
        """Give the classes of names and of statements, and the statements with the row of each."""
        index = torch.as_tensor(chosen, device=self.device)
        entity, statement = self._tags[:, index, : int(self.sizes[chosen].max())].long()
        places = np.concatenate([np.arange(self._firsts[n], self._firsts[n + 1]) for n in chosen]).astype(np.int64)
        rows = np.repeat(np.arange(len(chosen)), self._counts[chosen])
        spans = self._spans[torch.as_tensor(places, device=self.device)]
        return entity, statement, torch.cat([torch.as_tensor(rows, device=self.device)[:, None], spans], 1)


def worn(batch: Batch, masked: float, mask: int) -> Batch:
    """Take capitals away from some rows, and the words behind some tokens."""
    drawn = torch.rand(len(batch.ids), 1, device=batch.ids.device)
    written = (batch.shapes != NO_WORD) & (batch.shapes != PUNCTUATION)
    shapes = torch.where((drawn < LOWERED) & written, LOWER, batch.shapes)
    shapes = torch.where((drawn > 1 - UNSHAPED), NO_WORD, shapes)
    hidden = torch.rand_like(batch.ids, dtype=torch.float) < masked
    ids = torch.where(hidden & (batch.shapes != NO_WORD), mask, batch.ids)
    return Batch(ids, batch.there, batch.segments, shapes)


def unnamed(batch: Batch, entity: Tensor, share: float, mask: int) -> Batch:
    """Hide some names whole, so that what stands around a name has to tell its type."""
    number = ((entity > 0) & (entity % 2 == 1)).cumsum(1)
    drawn = torch.rand(number.shape[0], number.shape[1] + 1, device=number.device).gather(1, number)
    ids = torch.where((entity > 0) & (drawn < share), mask, batch.ids)
    return replace(batch, ids=ids)


class Source:
    """Draws batches of like length without end, each example once a round."""

    def __init__(self, make: Callable[[Rng], Indices], sizes: Indices, batch: int, seed: int) -> None:
        self._make, self._sizes, self._batch = make, sizes, batch
        self._chance = np.random.default_rng(seed)
        self._batches = self._rounds()

    def __next__(self) -> Indices:
        return next(self._batches)

    def _rounds(self) -> Iterator[Indices]:
        while True:
            rows = self._make(self._chance)
            # Random within a span of lengths: batches differ from round to round, but hold little padding.
            order = np.argsort(self._sizes[rows] * self._chance.uniform(0.8, 1.25, len(rows)), kind="stable")
            for start in self._chance.permutation(np.arange(0, len(rows), self._batch)).tolist():
                yield rows[order[start : start + self._batch]]


class PairTable(Table):
    """Pairs of statements: the labelled ones, also by themselves, and others that nobody related."""

    def __init__(self, conversations: Sequence[Conversation], writer: Writer, device: str, seed: int) -> None:
        chance = np.random.default_rng(seed)
        told = [(c, p) for c in conversations for p in c.pairs]
        rows = [writer.pair(side(c, *p.a), side(c, *p.b)) for c, p in told]
        labels = [PAIRS.index(p.relation) for _, p in told]
        self.told = len(rows)
        self.turned: dict[int, int] = {}

        def add(pairs: Iterable[tuple[Side, Side, str]]) -> Indices:
            first = len(rows)
            for a, b, relation in pairs:
                rows.append(writer.pair(a, b))
                labels.append(PAIRS.index(relation))
            return np.arange(first, len(rows))

        more = ((c, one) for c in conversations for one in _unrelated(c, chance, 3 * len(c.pairs)))
        self.more = add((side(c, *a), side(c, *b), "unrelated") for c, (a, b) in more)
        # Notes stand by themselves. Without the near misses, what has nothing around it would be done too easily.
        self.bare = add((_bare(c, *p.a), _bare(c, *p.b), p.relation) for c, p in told if _is_whole(c, p))
        self.missed = add((a, b, "unrelated") for a, b in _missed(conversations, chance))
        for n, (c, p) in enumerate(told):
            # The same and the unrelated are so in either order.
            if p.relation in ("same", "unrelated"):
                self.turned[n] = int(add([(side(c, *p.b), side(c, *p.a), p.relation)])[0])
        self.labels = torch.tensor(labels, device=device)
        super().__init__(rows, device)

    def round(self, chance: Rng, more: float) -> Indices:
        """Choose the pairs of one round: all labelled ones, some the other way about, and some of the others."""
        rows = [self.turned[n] if n in self.turned and chance.random() < TURNED else n for n in range(self.told)]
        shares = ((self.more, more), (self.bare, BARE_PAIRS), (self.missed, MISSED))
        drawn = [chance.permutation(among)[: round(share * self.told)] for among, share in shares]
        return np.concatenate([rows, *drawn]).astype(np.int64)


def _bare(c: Conversation, turn: int, quote: Span, about: str) -> Side:
    said = c.turns[turn]
    text = said.text[slice(*quote)]
    return Side(Turn(said.key, said.at, said.speaker, text), EventSpan(0, len(text)), about, None)


def _is_whole(c: Conversation, p: Pair) -> bool:
    return all(len(c.turns[turn].text[slice(*quote)].split()) >= LEAST_BARE for turn, quote, _ in (p.a, p.b))


def _missed(conversations: Sequence[Conversation], chance: Rng) -> Iterator[tuple[Side, Side]]:
    """Set deeds beside open goals of other conversations that share a term, but not the rarest of either."""
    english = [one for one in conversations if one.lang == "en"]
    quotes = [
        (c.id, t.text[s.start : s.end])
        for c in english
        for t in c.turns
        for s in t.statements
        if s.kind in GOALS and s.state == "open"
    ]
    goals = [(of, quote, _terms(quote)) for of, quote in quotes]
    counts = Counter(term for c in english for t in c.turns for term in _terms(t.text))
    frequent = FREQUENT * sum(len(c.turns) for c in english)
    places: dict[str, list[int]] = {}
    for place, (_, _, told) in enumerate(goals):
        for term in told:
            if counts[term] < frequent:
                places.setdefault(term, []).append(place)
    for c, p in [(one, p) for one in english for p in one.pairs if p.relation == "fulfils"]:
        goal, deed = _bare(c, *p.a), _bare(c, *p.b)
        done = _terms(deed.turn.text)
        near = [goals[place] for place in sorted({place for term in done for place in places.get(term, ())})]
        found = [
            quote
            for of, quote, told in near
            if of != c.id
            and min(len(told), len(done)) > 1
            and min(told, key=lambda term: (counts[term], term)) not in done
            and min(done, key=lambda term: (counts[term], term)) not in told
        ]
        for at in chance.permutation(len(found))[:MISSES].tolist():
            turn = Turn("", goal.turn.at, deed.turn.speaker, found[at])
            yield Side(turn, EventSpan(0, len(found[at])), deed.about, None), deed


def _terms(text: str) -> set[str]:
    """List the longer words of a text without their endings."""
    return {word[:TERM] for word in re.findall(r"\w{4,}", text.lower())}


def _unrelated(c: Conversation, chance: Rng, count: int) -> Iterator[tuple[Told, Told]]:
    """Draw statements that nobody related; half of the time two about the same, or with words in common."""
    told: list[Told] = [(n, (s.start, s.end), s.about_name) for n, t in enumerate(c.turns) for s in t.statements]
    related = {(p.a[:2], p.b[:2]) for p in c.pairs}
    words = [set(re.findall(r"\w{4,}", c.turns[n].text[slice(*quote)].lower())) for n, quote, _ in told]
    for _ in range(count if len(told) > 3 else 0):
        a = int(chance.integers(len(told)))
        others = chance.permutation(len(told))[:6].tolist()
        near = [b for b in others if words[a] & words[b] or told[a][2] == told[b][2]]
        b = near[0] if near and chance.random() < 0.5 else others[0]
        a, b = min(a, b), max(a, b)
        if told[a][0] < told[b][0] and (told[a][:2], told[b][:2]) not in related:
            yield told[a], told[b]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with rows of the table: those that answer it, those that do not, and where the answer is."""

    right: list[int]
    wrong: list[int]
    first: int  # of the answer's tokens; NONE where it is somewhere in the line
    last: int
    share: float = 1.0  # of the rounds in which it is asked


class AskedTable(Table):
    """Questions, each with candidate lines."""

    def __init__(
        self,
        conversations: Sequence[Conversation],
        ranked: dict[str, list[list[int]]],
        public: Sequence[PublicQuestion],
        writer: Writer,
        device: str,
    ) -> None:
        self._written: list[JoinedRow] = []
        self.own = [one for c in conversations for one in self._of(c, ranked[c.id], writer)]
        self.public = [
            Asked(self._lines(writer, text, right), self._lines(writer, text, wrong), NONE, NONE)
            for text, right, wrong in public
        ]
        self.asked = [*self.own, *self.public]
        super().__init__(self._written, device)
        self.widest = np.array([max(self.sizes[[*one.right, *one.wrong]]) for one in self.asked])

    def _put(self, row: JoinedRow) -> int:
        self._written.append(row)
        return len(self._written) - 1

    def _lines(self, writer: Writer, text: str, lines: Sequence[Turn]) -> list[int]:
        return [self._put(writer.answer(text, line, None)) for line in lines]

    def _of(self, c: Conversation, ranked: list[list[int]], writer: Writer) -> Iterator[Asked]:
        told_of = matters(c, ("same", "refines", "replaces"))
        for number, (question, turns) in enumerate(zip(c.questions, ranked, strict=True)):

            def before(n: int, alone: bool = number % ALONE == 0) -> Turn | None:
                return c.turns[n - 1] if n and not alone else None

            # What was said of the same before or after answers the question, too, for its time. Which of them holds
            # can't be seen in one line: pairs tell that.
            told = told_of.get(question.turn, {question.turn}) if question.turn is not None else ()
            near = [n for n in turns if n not in told and n not in question.earlier][:NEAR]
            if not near:
                continue
            wrong = [self._put(writer.answer(question.text, c.turns[n], before(n))) for n in near]
            if question.turn is None or question.answer is None:
                yield Asked([], wrong, NONE, NONE)
                continue
            row = writer.answer(question.text, c.turns[question.turn], before(question.turn))
            inside = covered(row.starts, row.ends, range(len(row.ids)), question.answer)
            if inside:
                yield Asked([self._put(row)], wrong, inside[0], inside[-1])
            other = of_another(question.text, c, question.turn)
            if other:
                lines = [question.turn, *near]
                rows = [self._put(writer.answer(other, c.turns[n], before(n))) for n in lines]
                yield Asked([], rows, NONE, NONE, OF_ANOTHER)

    def round(self, chance: Rng, public: float) -> Indices:
        """Choose the questions of one round: our own, and some of the public ones."""
        own = [n for n, one in enumerate(self.own) if one.share == 1.0 or chance.random() < one.share]
        drawn = chance.permutation(len(self.public))[: round(public * len(own))] + len(self.own)
        return np.concatenate([own, drawn]).astype(np.int64)

    def candidates(self, chosen: Indices, chance: Rng) -> tuple[Indices, Tensor, Tensor, Tensor]:
        """Give CANDIDATES rows a question, which of them is right (the last place: none), and the answer's tokens."""
        rows: list[int] = []
        right: list[list[int]] = []
        for asked in (self.asked[n] for n in chosen.tolist()):
            # Recall puts the likeliest wrong lines first; they are drawn more often.
            order = np.argsort(np.arange(len(asked.wrong)) * chance.uniform(0, 1, len(asked.wrong)))
            group = [asked.wrong[n] for n in order[:CANDIDATES].tolist()]
            place = CANDIDATES
            if asked.right and chance.random() >= LEFT_OUT:
                place = int(chance.integers(CANDIDATES))
                group.insert(min(place, len(group)), asked.right[chance.integers(len(asked.right))])
                place = min(place, len(group) - 1)
            group = group[:CANDIDATES]
            # Short of candidates, the first one fills up: it stands there twice, and counts for little.
            rows += [*group, *[group[-1 if place < len(group) - 1 else 0]] * (CANDIDATES - len(group))]
            known = place < CANDIDATES
            right.append([place, *((asked.first, asked.last) if known else (NONE, NONE))])
        place, first, last = torch.tensor(right, device=self.device).unbind(1)
        return np.array(rows), place, first, last


def matters(c: Conversation, by: Sequence[str]) -> dict[int, set[int]]:
    """Group turns whose statements are related in one of some ways, also by way of others."""
    found: dict[int, set[int]] = {}
    for pair in c.pairs:
        if pair.relation in by:
            both = found.get(pair.a[0], {pair.a[0]}) | found.get(pair.b[0], {pair.b[0]})
            found |= dict.fromkeys(both, both)
    return found


def of_another(question: str, c: Conversation, turn: int) -> str | None:
    """Ask the same of another speaker, where the question names the one who answers it: nobody told that."""
    who = c.turns[turn].speaker
    others = sorted({one.speaker for one in c.turns if one.speaker.lower() not in ROLES} - {who})
    named = re.compile(rf"\b{re.escape(who)}\b")
    if (
        who.lower() in ROLES
        or not who
        or not others
        or not named.search(question)
        or any(one in question for one in others)
    ):
        return None
    return named.sub(others[len(question) % len(others)], question)


def public_questions(folder: Path) -> list[PublicQuestion]:
    """Read questions of public sets whose lines answer them each by itself, with lines that share words but do not."""
    with lzma.open(folder / "questions.jsonl.xz", "rt", encoding="utf-8") as file:
        asked = [row for row in map(json.loads, file) if row["source"] in ANSWERING]
    wanted = {row["pool"] for row in asked}
    with lzma.open(folder / "pools.jsonl.xz", "rt", encoding="utf-8") as file:
        pools = {row["pool"]: row["lines"] for row in map(json.loads, file) if row["pool"] in wanted}
    words = {
        pool: [set(re.findall(r"\w{3,}", line["text"].lower())) for line in lines] for pool, lines in pools.items()
    }
    found: list[PublicQuestion] = []
    for row in asked:
        lines, said = pools[row["pool"]], words[row["pool"]]
        meant = set(re.findall(r"\w{3,}", row["question"].lower()))
        # Lines beside a right one may say it again.
        away = [n for n in range(len(lines)) if all(abs(n - one) > 1 for one in row["positives"])]
        near = sorted(away, key=lambda n: -len(meant & said[n]) / (8 + len(said[n])))[:NEAR_PUBLIC]
        right = [line_turn(lines[n]) for n in row["positives"][:2]]
        found.append((row["question"], right, [line_turn(lines[n]) for n in near]))
    return [one for one in found if one[1] and one[2]]


def line_turn(line: dict[str, Any]) -> Turn:
    """Read a line of a pool as a turn."""
    at = line.get("date")
    whole = isinstance(at, str) and len(at) >= 10 and at[:4].isdigit()
    return Turn("", at if whole else None, line.get("speaker") or "", line["text"])


def named_readings(path: Path, writer: Writer) -> list[ReadingRow]:
    """Write WNUT's sentences."""
    return [row for turn in wnut(path) for row in writer.windows(turn, None)]
