"""Planted facts, after CogCanvas: talks of 50 turns with facts of four kinds among filler, and questions about them.

The text of CogCanvas names its kinds key fact, decision, reminder and insight; here a preference ("type hints
everywhere") stands in the place of the insight. Around a fact lie lines that are near to it: the same wording about
something else, hearsay, refusals, and values that the fact replaced. Some questions have no answer in the talk.

The multi-hop variant plants chains of two or three facts (a cause, what was done about it, what that brought) and asks
why something is so, and what something led to.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from evals.tasks.planted_words.slots import Words, as_sentence, content_lines, read_lists, slots_of
from evals.values import Asked, Line, Task

KINDS = ("decision", "reminder", "preference", "key_fact")
FOLDER = Path(__file__).parent / "planted_words"

FACTS_A_KIND = 3  # facts of each kind in a talk of 50 turns; fewer where the talk is short
CHAINS = 4  # chains in a multi-hop talk
CHAIN_PLACES = 8  # free turns among which a chain is spread: its later facts lean on the earlier ones
UNASKED_A_KIND = 1  # single facts that lie around in a multi-hop talk, nobody asks for them
UNANSWERABLE = 2  # questions a talk about things it never mentions
PLANTED_WITHIN = 0.8  # share of the turns in which facts fall; CogCanvas compresses at turn 40 of 50
TURNS_A_FACT = 4  # a talk has room for one planted fact in so many turns
OPENING, TAIL, ECHO, SMALL_TALK = 0.35, 0.2, 0.4, 0.15  # how often a message has one
SUPERSEDED = 0.6  # how often a fact that could replace an older value does
TURNS_A_SESSION = (3, 7)
DAYS_BETWEEN_SESSIONS = (1, 6)
FIRST_DAY = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)

RECALLED_SHARE = 0.8  # of a fact's keywords; the share that CogCanvas asks for
WINDOW_WORDS = 40  # keywords count where they stand together, not gathered from all over a context
WINDOW_STEP = 8  # so that any 32 words, more than the longest fact, lie in one window


def planted(seed: int, *, stores: int = 20, turns: int = 50, held_back: bool = False, multihop: bool = False) -> Task:
    """Make talks with planted facts (or chains of facts) and the questions about them."""
    book = read_book(held_back=held_back)
    talks = [_Talk(f"talk-{number:03}", seed, turns, book) for number in range(1, stores + 1)]
    for talk in talks:
        if multihop:
            talk.plant_chains()
        else:
            talk.plant_facts()
        talk.write()
    name = "planted" + ("-multihop" if multihop else "") + ("-held-back" if held_back else "")
    lines = {talk.store: tuple(talk.lines) for talk in talks}
    questions = tuple(asked for talk in talks for asked in talk.questions)
    return Task(
        name=name,
        data_hash=hashlib.sha256(repr((lines, questions)).encode()).hexdigest(),
        stores=lines,
        questions=questions,
        seed=seed,
        remarks=("A turn is a message of the user and the assistant's answer: 50 turns are 100 lines.",),
    )


def score_planted(asked: Asked, text: str) -> dict[str, float]:
    """Tell whether a text holds what a question needs: `recall` (keywords together), `exact` (verbatim), both 0 or 1.

    A question that needs several facts scores 1 only when all of them are there. `coverage` is the share of facts.
    """
    if not asked.answerable:
        raise ValueError(f"{asked.id} has no answer in its talk; score it by its confidence")
    facts = facts_needed(asked)
    plain = " ".join(text.split())
    windows = _windows(text)
    recalled = [_is_recalled(fact, windows) for fact in facts]
    return {
        "recall": float(all(recalled)),
        "exact": float(all(" ".join(fact["needle"].split()) in plain for fact in facts)),
        "coverage": sum(recalled) / len(recalled),
    }


def facts_needed(asked: Asked) -> Sequence[Mapping[str, Any]]:
    """List the facts that a question needs: one, or those of its chain."""
    return asked.expects.get("facts", (asked.expects,))


def _windows(text: str) -> list[str]:
    words = _plain_words(text)
    starts = range(0, max(len(words) - WINDOW_WORDS, 0) + WINDOW_STEP, WINDOW_STEP)
    return [" " + " ".join(words[start : start + WINDOW_WORDS]) + " " for start in starts]


def _is_recalled(fact: Mapping[str, Any], windows: Sequence[str]) -> bool:
    keywords = [_spaced(keyword) for keyword in fact["keywords"]]
    values = [_spaced(value) for value in fact["values"]]
    return any(
        all(value in window for value in values)
        and sum(keyword in window for keyword in keywords) >= RECALLED_SHARE * len(keywords)
        for window in windows
    )


def _spaced(phrase: str) -> str:
    return " " + " ".join(_plain_words(phrase)) + " "


def _plain_words(text: str) -> list[str]:
    """Split into words, without case and without the s of a plural."""
    return [word.removesuffix("s") if len(word) > 3 else word for word in re.findall(r"\w+", text.lower())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something to talk about: ways to state it, ways to ask, lines that are near, values from before."""

    about: str
    facts: tuple[str, ...]
    asks: tuple[str, ...]
    near: tuple[str, ...]
    before: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Facts that follow from each other, with a question for the reason and one for the effect."""

    about: str
    facts: tuple[str, ...]
    why: str
    effect: str
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """All templates and words of one set."""

    topics: Mapping[str, tuple[Topic, ...]]
    chains: tuple[Chain, ...]
    filler: tuple[tuple[str, str], ...]
    talk: Mapping[str, tuple[str, ...]]
    words: Mapping[str, Sequence[str]]


@cache
def read_book(*, held_back: bool) -> Book:
    """Read the templates of one set: the development one, or the one that only a scoring run uses."""
    suffix = "_held_back" if held_back else ""
    exchanges = content_lines(_text("filler" + suffix))
    talk: dict[str, tuple[str, ...]] = {}
    for line in content_lines(_text("talk")):
        part, _, rest = line.partition(": ")
        talk[part] = (*talk.get(part, ()), rest.split(" | ")[held_back])
    return Book(
        topics={kind: tuple(_topic(lines) for lines in _blocks(kind + suffix)) for kind in KINDS},
        chains=tuple(_chain(lines) for lines in _blocks("chains" + suffix)),
        filler=tuple(
            (said.removeprefix("> "), answer.removeprefix("= "))
            for said, answer in zip(exchanges[::2], exchanges[1::2], strict=True)
        ),
        talk=talk,
        words=read_lists(_text("words"), held_back=held_back),
    )


def _text(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def _blocks(name: str) -> list[Mapping[str, tuple[str, ...]]]:
    """Split a file at its `@` lines, each block into its lines by their mark."""
    blocks: list[dict[str, tuple[str, ...]]] = []
    for line in content_lines(_text(name)):
        mark, text = line[0], line[2:]
        if mark == "@":
            blocks.append({})
        blocks[-1][mark] = (*blocks[-1].get(mark, ()), text)
    return list(blocks)


def _topic(marked: Mapping[str, tuple[str, ...]]) -> Topic:
    return Topic(
        about=marked["@"][0], facts=marked["+"], asks=marked["?"], near=marked["~"], before=marked.get("<", ())
    )


def _chain(marked: Mapping[str, tuple[str, ...]]) -> Chain:
    facts = tuple(text for step in "123" for text in marked.get(step, ()))
    return Chain(about=marked["@"][0], facts=facts, why=marked["?"][0], effect=marked["!"][0], near=marked["~"])


@dataclass(slots=True, kw_only=True)
class _Said:
    """One message of the user in the making, and what the assistant answers to it."""

    text: str
    answer: str
    fact: int | None = None  # number of the planted fact


@dataclass(slots=True, kw_only=True)
class _Question:
    """A question in the making: `facts` are numbers of planted facts."""

    text: str
    category: str
    facts: tuple[int, ...]
    given: frozenset[str]  # slots that the question names
    superseded: bool = False


@dataclass(slots=True, kw_only=True)
class _Fact:
    """A planted fact: its needle, and the slots inside it with their values."""

    needle: str
    values: Mapping[str, str]
    key: str = field(default="")


class _Talk:
    """One talk in the making: which turn says what, then its lines and questions."""

    def __init__(self, store: str, seed: int, turns: int, book: Book) -> None:
        self.store, self.turns, self.book = store, turns, book
        self.rng = random.Random(f"{seed}/{store}/{turns}")
        self.words = Words(book.words, self.rng)
        self.user = self.rng.choice(book.words["name"])
        self.lines: list[Line] = []
        self.questions: list[Asked] = []
        self._said: dict[int, _Said] = {}
        self._free = self.rng.sample(range(turns), turns)
        self._facts: list[_Fact] = []
        self._asks: list[_Question] = []
        self._filler: list[tuple[str, str]] = []

    def plant_facts(self) -> None:
        """Plant facts of the four kinds, the lines near them, and ask for each."""
        a_kind = max(1, min(FACTS_A_KIND, self.turns // (TURNS_A_FACT * len(KINDS))))
        chosen = {kind: self.rng.sample(self.book.topics[kind], a_kind + 1) for kind in KINDS}
        for kind, topics in chosen.items():
            for topic in topics[:a_kind]:
                self._plant_topic(topic, kind)
        for kind in self.rng.sample(KINDS, UNANSWERABLE):
            text = self.words.fill(self.rng.choice(chosen[kind][a_kind].asks), {})
            self._asks.append(_Question(text=text, category="unanswerable", facts=(), given=frozenset()))

    def plant_chains(self) -> None:
        """Plant chains, ask for the reason and the effect of each; single facts lie around unasked."""
        for chain in self.rng.sample(self.book.chains, max(1, min(CHAINS, self.turns // (3 * TURNS_A_FACT)))):
            self._plant_chain(chain)
        if self.turns >= 2 * TURNS_A_FACT * len(KINDS):
            for kind in KINDS:
                for topic in self.rng.sample(self.book.topics[kind], UNASKED_A_KIND):
                    self._plant_topic(topic, None)

    def _plant_topic(self, topic: Topic, kind: str | None) -> None:
        bound: dict[str, str] = {}
        ask = self.rng.choice(topic.asks)
        fact = self.rng.choice(topic.facts)
        question = self.words.fill(ask, bound)
        old = self.rng.choice(topic.before) if topic.before and self.rng.random() < SUPERSEDED else None
        places = self._places(2 if old else 1)
        about = self.words.fill(topic.about, bound)
        self._put_fact(places[-1], fact, bound, about, changed=old is not None)
        if old:
            self._put_near(places[0], old, bound)
        if kind:
            given = frozenset(slots_of(ask))
            number = len(self._facts) - 1
            self._asks.append(
                _Question(text=question, category=kind, facts=(number,), given=given, superseded=old is not None)
            )
        for near in self.rng.sample(topic.near, self.rng.randint(1, len(topic.near))):
            self._put_near(None, near, bound)

    def _plant_chain(self, chain: Chain) -> None:
        bound: dict[str, str] = {}
        about = self.words.fill(chain.about, bound)
        first = len(self._facts)
        for place, fact in zip(self._places(len(chain.facts), among=CHAIN_PLACES), chain.facts, strict=True):
            self._put_fact(place, fact, bound, about, changed=False)
        numbers = tuple(range(first, len(self._facts)))
        pair = len(numbers) == 2
        for text, category, needed in (
            (chain.why, "causal", numbers if pair else numbers[:-1]),
            (chain.effect, "impact", numbers if pair else numbers[1:]),
        ):
            given = frozenset(slots_of(text))
            self._asks.append(
                _Question(text=self.words.fill(text, bound), category=category, facts=needed, given=given)
            )
        for near in chain.near:
            self._put_near(None, near, bound)

    def _places(self, count: int, *, among: int | None = None) -> list[int]:
        """Take free turns, in order of time, from the part of the talk in which facts are planted.

        `among` keeps them within so many free turns that follow each other.
        """
        early = sorted(place for place in self._free if place < PLANTED_WITHIN * self.turns)
        start = self.rng.randint(0, max(len(early) - (among or len(early)), 0))
        places = sorted(self.rng.sample(early[start : start + (among or len(early))], count))
        for place in places:
            self._free.remove(place)
        return places

    def _put_fact(self, place: int, template: str, bound: dict[str, str], about: str, *, changed: bool) -> None:
        marked = as_sentence(self.words.fill(template, bound))
        needle = marked[marked.index("[") + 1 : marked.index("]")]
        inside = slots_of(template[template.index("[") : template.index("]")])
        self._facts.append(_Fact(needle=needle, values={slot: bound[slot] for slot in inside}))
        echoed = self.rng.random() < ECHO
        answer = self._pick("echo").replace("{about}", about) if echoed else self._pick("answer")
        said = _Said(text=marked.replace("[", "").replace("]", ""), answer=answer, fact=len(self._facts) - 1)
        self._said[place] = self._dressed(said, opening=self._pick("change") if changed else None)

    def _put_near(self, place: int | None, template: str, bound: dict[str, str]) -> None:
        """Say a near line at some turn, if the talk has room for it."""
        if place is None:
            if len(self._free) <= self.turns // 4:
                return
            place = self._free.pop()
        text = as_sentence(self.words.fill(template, bound))
        self._said[place] = self._dressed(_Said(text=text, answer=self._pick("near_answer")))

    def _dressed(self, said: _Said, *, opening: str | None = None) -> _Said:
        """Put small words around a message, now and then with a question on something else at its end."""
        if opening is None and self.rng.random() < OPENING:
            opening = self._pick("opening")
        parts = [opening, said.text] if opening else [said.text]
        answer = said.answer
        if self.rng.random() < SMALL_TALK:
            small, reply = self._small_talk()
            parts.append(small)
            answer = f"{answer} {reply}"
        elif self.rng.random() < TAIL:
            parts.append(self._pick("tail"))
        return replace(said, text=" ".join(parts), answer=answer)

    def _small_talk(self) -> tuple[str, str]:
        if not self._filler:
            self._filler = self.rng.sample(self.book.filler, len(self.book.filler))
        said, answer = self._filler.pop()
        bound: dict[str, str] = {}
        # Their own shuffled lists, so that small talk does not use up the names that the facts need.
        words = Words(self.book.words, self.rng)
        return as_sentence(words.fill(said, bound)), as_sentence(words.fill(answer, bound))

    def _pick(self, part: str) -> str:
        return self.rng.choice(self.book.talk[part])

    def write(self) -> None:
        """Write the turns as lines with times and sessions, then the questions."""
        at = FIRST_DAY + timedelta(days=self.rng.randint(0, 300), minutes=self.rng.randint(0, 500))
        session, left = 0, 0
        for turn in range(self.turns):
            if left == 0:
                session, left = session + 1, self.rng.randint(*TURNS_A_SESSION)
                at = at.replace(hour=self.rng.randint(7, 20), minute=self.rng.randint(0, 59))
                at += timedelta(days=self.rng.randint(*DAYS_BETWEEN_SESSIONS))
            left -= 1
            said = self._said.get(turn) or self._idle()
            for role, text in (("user", said.text), ("assistant", said.answer)):
                key = f"{self.store}:{turn + 1}{role[0]}"
                at += timedelta(seconds=self.rng.randint(20, 240))
                self.lines.append(
                    Line(
                        key=key,
                        text=text,
                        speaker=self.user if role == "user" else "assistant",
                        session=f"{self.store}/{session}",
                        role=role,
                        at=at,
                    )
                )
            if said.fact is not None:
                self._facts[said.fact].key = f"{self.store}:{turn + 1}u"
        now = at + timedelta(days=self.rng.randint(1, 9))
        self.questions += [self._asked(number, ask, now) for number, ask in enumerate(self._asks, 1)]

    def _idle(self) -> _Said:
        """Make a turn of filler; its opening is one that facts have too."""
        text, answer = self._small_talk()
        if self.rng.random() < OPENING:
            text = f"{self._pick('opening')} {text}"
        return _Said(text=text, answer=answer)

    def _asked(self, number: int, ask: _Question, now: datetime) -> Asked:
        facts = [self._facts[fact] for fact in ask.facts]
        expected = [_expected(fact, ask) for fact in facts]
        sessions = {line.key: line.session or "" for line in self.lines}
        return Asked(
            id=f"{self.store}-q{number:02}",
            store=self.store,
            text=ask.text,
            category=ask.category,
            evidence=tuple(fact.key for fact in facts),
            sessions=tuple(dict.fromkeys(sessions[fact.key] for fact in facts)),
            answer="; ".join(fact.needle for fact in facts),
            answerable=bool(facts),
            now=now,
            notes="an earlier line gives a value that this one replaced" if ask.superseded else "",
            expects=_expects(ask, expected),
        )


def _expects(ask: _Question, expected: list[dict[str, Any]]) -> dict[str, Any]:
    if ask.category in ("causal", "impact"):
        return {"facts": tuple(expected)}
    return expected[0] if expected else {}


# Slots whose words narrow a fact ("everywhere, tests included"): recall does without them, exact does not.
QUALIFIERS = frozenset({"scope", "limit", "habit"})
# Words too common to show that a fact was kept.
COMMON = (
    "a an the and or but if of to in on at by for from with as it its is are be was were has have had do does did "
    "not no i me my we us our you your they them their he she him her his this that these those there then than so "
    "up out into over after before will would can could must should may get gets got"
)


def _expected(fact: _Fact, ask: _Question) -> dict[str, Any]:
    """Tell what shows that a fact was kept: the values that the question doesn't give, and the other telling words."""
    named = {slot: value for slot, value in fact.values.items() if slot not in QUALIFIERS}
    # A fact whose only values are those of the question is told by them and by its other words.
    values = [value for slot, value in named.items() if slot not in ask.given] or list(named.values())
    known = {*_plain_words(ask.text), *_plain_words(COMMON), *_plain_words(" ".join(fact.values.values()))}
    told = dict.fromkeys(re.findall(r"\w+", fact.needle.lower()))
    words = [word for word in told if len(word) > 2 and known.isdisjoint(_plain_words(word))]
    return {"needle": fact.needle, "keywords": tuple(values + words), "values": tuple(values)}
