"""Write conversations with questions whose answers are known, from the table made.txt.

They teach what the public question sets have little of: that a question names the speaker of the line that answers it
in the first person, that it names a kind of thing where the line names the thing, and that a reply about the same
thing is not the answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

TABLE = Path(__file__).with_suffix(".txt")
PEOPLE = (
    "Amara Bella Caleb Daria Elliot Farah Gavin Helena Ibrahim Joanna Keith Leila Martin Nadine Owen Petra Ramon Sofia "
    "Trevor Uma Vikram Willa Yasmin Zane Adele Bastian Corinne Dmitri Esther Fabian Gloria Hassan Irene Jasper Kayla "
    "Liam Miriam Nikolai Opal Patrick Renata Sergio Thea Valerie Winston Ximena Yolanda Zara"
).split()
DAYS = [date(2019, 1, 1) + timedelta(days=day) for day in range(2500)]
MONTHS = "January February March April May June July August September October November December".split()

_OPENERS = (
    "",
    "",
    "",
    "Hey {o}! ",
    "Guess what, {o}! ",
    "So, ",
    "Good to hear from you! ",
    "Thanks, {o}. ",
    "Oh wow. ",
    "Haha, same here. ",
    "Not much to report, but ",
    "Hi {o}, long time no talk! ",
    "Speaking of which, ",
    "You know what? ",
    "That's kind of you. ",
)
_CLOSERS = (
    "",
    "",
    "",
    "",
    " How about you?",
    " What have you been up to?",
    " It was amazing.",
    " I needed that.",
    " Long story.",
    " Anyway, how are you?",
    " Tell me what you think.",
    " I'll send you a picture.",
    " Can't complain.",
    " It means a lot to me.",
    " Wish you had been there.",
)
_TIMES = (
    "",
    "",
    "",
    "",
    " Happened last week.",
    " That was yesterday.",
    " It was two weekends ago.",
    " Started last month.",
    " Just this Friday.",
)
_REPLIES = (
    "Wow, {x}! How did that go?",
    "{X}? I had no idea, tell me more.",
    "I never tried {x} but my cousin did.",
    "That's great news, {o}!",
    "{x}, really? I'm impressed.",
    "Ha, {x} again! You never change, {o}.",
    "Sounds wonderful. Any plans for the weekend?",
    "I'm so happy for you, {o}.",
    "Oh no, that must have been tough.",
    "How long have you been into {x}?",
    "Send me photos of the {x}!",
    "What made you think of {x}?",
    "My mother always talked about {x}.",
    "Take care of yourself, {o}.",
    "Let's talk soon, I have to run.",
)
_WHEN = (
    "When did {n} {w}?",
    "On what date did {n} {w}?",
    "In which month did {n} {w}?",
    "What day did {n} {w}?",
    "Did {n} {w}?",
)
FACTS_A_PERSON = (14, 26)
SESSION_LINES = 18  # lines of one conversation, after which days pass


class Topic(NamedTuple):
    """One block of the table."""

    questions: list[str]
    when: list[str]
    says: list[str]
    things: list[str]


def made_pools(count: int, seed: int) -> Iterator[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]]:
    """Give conversations: a name, its lines, and its questions with the places of the lines that answer them."""
    topics = _topics()
    for number in range(count):
        yield f"made-{number}", *_conversation(topics, random.Random(seed * 1_000_003 + number))


def _conversation(topics: list[Topic], chance: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    people = chance.sample(PEOPLE, 2)
    told = [
        (person, topic, thing)
        for person in range(2)
        for topic in chance.sample(topics, min(len(topics), chance.randint(*FACTS_A_PERSON) // 2))
        for thing in chance.sample(topic.things, chance.choice((1, 1, 2, 2, 3)))
    ]
    chance.shuffle(told)
    lines: list[dict[str, Any]] = []
    where: dict[tuple[int, int, str], int] = {}  # person, topic, thing -> line
    day = chance.choice(DAYS)
    for person, topic, thing in told:
        if len(lines) % SESSION_LINES > SESSION_LINES - 3:
            day += timedelta(days=chance.randint(1, 40))
        where[person, id(topic), thing] = len(lines)
        says = (
            chance.choice(_OPENERS)
            + _fill(chance.choice(topic.says), x=thing)
            + chance.choice(_TIMES)
            + chance.choice(_CLOSERS)
        )
        lines.append(_line(people, person, says, day, len(lines)))
        if chance.random() < 0.8:
            lines.append(_line(people, 1 - person, _fill(chance.choice(_REPLIES), x=thing), day, len(lines)))
    return lines, list(_questions(topics, people, where, lines, chance))


def _line(people: list[str], person: int, text: str, day: date, place: int) -> dict[str, Any]:
    line = {"text": text.replace("{o}", people[1 - person]), "speaker": people[person], "date": day.isoformat()}
    return line | ({"prev": place - 1} if place else {})


def _questions(
    topics: list[Topic],
    people: list[str],
    where: dict[tuple[int, int, str], int],
    lines: list[dict[str, Any]],
    chance: random.Random,
) -> Iterator[dict[str, Any]]:
    for person, name in enumerate(people):
        for topic in topics:
            things = [thing for who, what, thing in where if (who, what) == (person, id(topic))]
            if not things:
                continue
            places = [where[person, id(topic), thing] for thing in things]
            asked = chance.choice(topic.questions).format(n=name, p=chance.choice(("his", "her", "their")))
            yield {"question": asked, "positives": places}
            thing = chance.choice(things)
            line = where[person, id(topic), thing]
            when = _fill(chance.choice(topic.when), x=thing)
            yield {"question": chance.choice(_WHEN).format(n=name, w=when), "positives": [line]}
            months = {place: lines[place]["date"][:7] for place in places}
            if len(set(months.values())) > 1:
                year, month = map(int, months[line].split("-"))
                asked = chance.choice(topic.questions).format(n=name, p="their").rstrip("?")
                same = [place for place in places if months[place] == months[line]]
                yield {"question": f"{asked} in {MONTHS[month - 1]} {year}?", "positives": same}


def _fill(template: str, *, x: str) -> str:
    return template.replace("{x}", x).replace("{X}", x[:1].upper() + x[1:])


def _topics() -> list[Topic]:
    topics: list[Topic] = []
    fields: dict[str, list[str]] = {}
    for row in [*TABLE.read_text(encoding="utf-8").splitlines(), "["]:
        if row.startswith("["):
            if fields:
                topics.append(Topic(fields["q"], fields["w"], fields["s"], fields["x"]))
            fields = {}
        elif ":" in row and not row.startswith("#"):
            key, _, rest = row.partition(":")
            separator = "," if key == "x" else "|"
            fields[key] = [one.strip() for one in rest.split(separator)]
    return topics
