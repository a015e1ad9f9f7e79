"""People: who is spoken of, whoever speaks. In small memories the same thing is told of some people and not of others.

Half of them are one user's notes to an assistant, half a group's talk in which people speak of themselves and of each
other. Half of the questions name somebody of whom the thing was never told, though it was told of others: a memory
that answers those mixes people up, one that refuses the rest asks who spoke and not who is meant.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from evals.tasks.planted import DAYS_BETWEEN_SESSIONS, FIRST_DAY, read_book
from evals.tasks.planted_words.slots import Words, as_sentence, content_lines
from evals.values import Asked, Line, Task

TOPICS = Path(__file__).parent / "people_words" / "topics.txt"
PEOPLE = (4, 7)  # in one memory
TOLD_OF = (1, 3)  # people of whom a thing is told
TOPICS_A_STORE = 12
SELF = 0.5  # how often a person of a group tells a thing about themselves, and a user asks as "I"
CALLED = 0.3  # how often a line begins by calling somebody else by name
SMALL_TALK = 1.5  # lines of small talk for each line that tells something
LINES_A_SESSION = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A thing that can be told of a person: by others, by themselves, and how both ask for it."""

    name: str
    others: tuple[str, ...]
    own: tuple[str, ...]
    asks: tuple[str, ...]
    own_asks: tuple[str, ...]


def people(seed: int, *, stores: int = 24, held_back: bool = False) -> Task:
    """Make memories and questions; the held-back half has other things to tell, and other names."""
    topics = [topic for number, topic in enumerate(read_topics()) if number % 2 == held_back]
    lines: dict[str, tuple[Line, ...]] = {}
    questions: list[Asked] = []
    for number in range(stores):
        store = _Store(f"people-{number + 1:02}", seed, topics, group=bool(number % 2), held_back=held_back)
        lines[store.name] = store.lines
        questions += store.questions
    return Task(
        name="people" + ("-held-back" if held_back else ""),
        data_hash=hashlib.sha256(repr((lines, questions)).encode()).hexdigest(),
        stores=lines,
        questions=tuple(questions),
        seed=seed,
    )


@cache
def read_topics() -> tuple[Topic, ...]:
    """Read what can be told of people."""
    blocks: list[dict[str, list[str]]] = []
    for line in content_lines(TOPICS.read_text(encoding="utf-8")):
        if line[0] == "@":
            blocks.append({})
        blocks[-1].setdefault(line[0], []).append(line[2:])
    return tuple(
        Topic(
            name=marked["@"][0],
            others=tuple(marked["+"]),
            own=tuple(marked["="]),
            asks=tuple(marked["?"]),
            own_asks=tuple(marked["!"]),
        )
        for marked in blocks
    )


class _Store:
    """One memory in the making."""

    def __init__(self, name: str, seed: int, topics: list[Topic], *, group: bool, held_back: bool) -> None:
        self.name, self.group = name, group
        self.rng = random.Random(f"{seed}/{name}")
        self.book = read_book(held_back=held_back)
        self.people = self.rng.sample(self.book.words["name"], self.rng.randint(*PEOPLE))
        self.user = self.people[0]
        told = [one for topic in self._chosen(topics) for one in self._tell(topic)]
        small = [(*self._small_talk(), None) for _ in range(int(SMALL_TALK * len(told)))]
        said = self.rng.sample([*told, *small], len(told) + len(small))
        self.lines, keys = self._written(said)
        self.questions = list(self._asked(keys))

    def _chosen(self, topics: list[Topic]) -> list[Topic]:
        self._topics = self.rng.sample(topics, min(TOPICS_A_STORE, len(topics)))
        self._of: dict[str, list[str]] = {
            topic.name: self.rng.sample(
                self.people, self.rng.randint(TOLD_OF[0], min(TOLD_OF[1], len(self.people) - 1))
            )
            for topic in self._topics
        }
        return self._topics

    def _tell(self, topic: Topic) -> Iterator[tuple[str, str, tuple[str, str] | None]]:
        """Tell a thing of each person it is told of: who says it, in which words, and what of whom it is."""
        for person in self._of[topic.name]:
            own = self.rng.random() < SELF if self.group else person == self.user
            words = Words(self.book.words, self.rng)
            text = as_sentence(words.fill(self.rng.choice(topic.own if own else topic.others), {"name": person}))
            speaker = person if own else self._other_than(person) if self.group else self.user
            if self.group and self.rng.random() < CALLED:
                text = f"{self.rng.choice(('Hey', 'Oh,', 'You know,'))} {self._other_than(person, speaker)}! {text}"
            yield speaker, text, (topic.name, person)

    def _small_talk(self) -> tuple[str, str]:
        said, _ = self.rng.choice(self.book.filler)
        speaker = self.rng.choice(self.people) if self.group else self.user
        return speaker, as_sentence(Words(self.book.words, self.rng).fill(said, {}))

    def _other_than(self, *names: str) -> str:
        return self.rng.choice([person for person in self.people if person not in names])

    def _written(
        self, said: list[tuple[str, str, tuple[str, str] | None]]
    ) -> tuple[tuple[Line, ...], dict[tuple[str, str], str]]:
        at = FIRST_DAY + timedelta(days=self.rng.randint(0, 300))
        lines: list[Line] = []
        keys: dict[tuple[str, str], str] = {}
        for number, (speaker, text, of) in enumerate(said):
            at += timedelta(minutes=self.rng.randint(1, 5))
            if number % LINES_A_SESSION == LINES_A_SESSION - 1:
                at += timedelta(days=self.rng.randint(*DAYS_BETWEEN_SESSIONS))
            key = f"{self.name}:{number + 1}"
            if of is not None:
                keys[of] = key
            session = f"{self.name}/{number // LINES_A_SESSION}"
            role = None if self.group else "user"
            lines.append(Line(key=key, text=text, speaker=speaker, session=session, role=role, at=at))
        self.last = at
        return tuple(lines), keys

    def _asked(self, keys: dict[tuple[str, str], str]) -> Iterator[Asked]:
        """Ask each thing of one person it was told of, and of one it was not."""
        for topic in self._topics:
            of = self._of[topic.name]
            for person, answerable in ((self.rng.choice(of), True), (self._other_than(*of), False)):
                evidence = (keys[topic.name, person],) if answerable else ()
                # In a group nobody knows who "I" is.
                own = person == self.user and not self.group and self.rng.random() < SELF
                yield Asked(
                    id=f"{self.name}-{topic.name}-{'told' if answerable else 'untold'}",
                    store=self.name,
                    text=self.rng.choice(topic.own_asks if own else topic.asks).replace("{name}", person),
                    category="group" if self.group else "notes",
                    evidence=evidence,
                    answerable=answerable,
                    now=self.last + timedelta(days=1),
                    expects={"person": person, "topic": topic.name},
                )
