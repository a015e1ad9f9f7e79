"""CogEval, after CogniFold: a gold graph first, then a stream of events that only shows it.

There are five sets of scenario files in `cogeval_scenarios`: `NAME.txt`, `NAME_second.txt`, `NAME_third.txt` and
`NAME_fourth.txt` to develop with, and `NAME_held_back.txt`, which only a scoring run reads. A set that has been scored
often is no longer unseen: it becomes one to develop with, and a new one is written without knowledge of the rules.

In the first three an event is one short sentence, as in a diary. The fourth and the held-back set are written as the
paper has its events written: a title and a description of a sentence or two, from a concept's label, description and
keywords, which stand in the file. A file reads:

    days: 12-35                            the shortest and longest window of the stream
    words client: Northwind, Tessera       words of its own; numbers and dates are shared, and names where it has none
    parent Shipping: Testing, Review       a concept above others (part_of)
    concept Testing                        a concept
    about: what is tested, and how         its description and its keywords, from which the events were written
    keywords: tests, coverage, regression
    - Wrote {n} tests. ?? How many? => {n}   its events, some with a question and its answer
    link Testing reinforces Review         a relation besides those of hierarchy and chains
    intent Testing + Review: Get it green  trigger, other concepts, the goal; then events that show it unmet
    chain causes, triggers, causes         the kinds of its hops, then one event a step, then two questions
    Testing: The build broke.
    why Why ...? => ...
    effect What followed ...? => ...
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from evals.tasks.planted_words.slots import Words, as_sentence, content_lines, read_lists
from evals.values import Asked, Line, Task

FIRST, SECOND, THIRD, FOURTH, HELD_BACK = "first", "second", "third", "fourth", "held_back"
DEVELOPMENT = (FIRST, SECOND, THIRD, FOURTH)
TEMPLATES = (*DEVELOPMENT, HELD_BACK)
SCENARIOS = ("software", "health", "team", "news", "academic", "support")
KINDS = ("part_of", "triggers", "reinforces", "causes")
FOLDER = Path(__file__).parent / "cogeval_scenarios"
WORDS = Path(__file__).parent / "planted_words" / "words.txt"

CONCEPTS = (8, 9)
EVENTS = (40, 44)
DISTRACTORS = (5, 6)  # 11 to 15% of the events
EVENTS_A_CONCEPT = 3  # at least; what CogniFold asks of a concept
RELATIONS = (10, 14)  # links beyond chains and hierarchy are taken up to a number drawn from here
CHAINS, INTENTS = 2, 2
CHILDREN = 2  # a parent has at least so many among the chosen concepts
FIRST_DAY = datetime(2025, 2, 3, tzinfo=UTC)


def cogeval(seed: int, *, scenario: str | None = None, templates: str = FIRST) -> Task:
    """Make the events of one scenario, or of all six as six stores; `graph` maps a store to its gold graph."""
    if scenario is not None and scenario not in SCENARIOS:
        raise ValueError(f"no scenario {scenario!r}; there are {', '.join(SCENARIOS)}")
    if templates not in TEMPLATES:
        raise ValueError(f"no templates {templates!r}; there are {', '.join(TEMPLATES)}")
    streams = [_Stream(name, seed, read_scenario(name, templates)) for name in ([scenario] if scenario else SCENARIOS)]
    stores = {stream.store: tuple(stream.lines) for stream in streams}
    questions = tuple(asked for stream in streams for asked in stream.questions)
    graph = {stream.store: stream.graph for stream in streams}
    name = "-".join(["cogeval", *([scenario] if scenario else []), *([templates] if templates != FIRST else [])])
    return Task(
        name=name.replace("_", "-"),
        data_hash=hashlib.sha256(repr((stores, questions, graph)).encode()).hexdigest(),
        stores=stores,
        questions=questions,
        seed=seed,
        graph=graph,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """An event to be, and perhaps a question that it answers."""

    text: str
    ask: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentTemplate:
    """A goal that some events show to be unmet. The first of its concepts is the trigger."""

    goal: str
    concepts: tuple[str, ...]
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainTemplate:
    """Events in different concepts, each the reason for the next."""

    kinds: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]  # concept, event
    asks: tuple[Template, ...]  # text: why or effect


@dataclass(slots=True, kw_only=True)
class Scenario:
    """A whole gold graph as written; a stream takes a part of it."""

    days: tuple[int, int]
    words: dict[str, Sequence[str]]
    distractors: Sequence[str]
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    concepts: dict[str, list[Template]] = field(default_factory=dict[str, list[Template]])
    keywords: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    links: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    intents: list[IntentTemplate] = field(default_factory=list[IntentTemplate])
    chains: list[ChainTemplate] = field(default_factory=list[ChainTemplate])


@cache
def read_scenario(name: str, templates: str) -> Scenario:
    """Read a scenario of one set; the first two share their names with the planted facts."""
    unrelated = content_lines((FOLDER / "distractors.txt").read_text(encoding="utf-8"))
    scenario = Scenario(
        days=(0, 0), words={}, distractors=[line.split(" | ")[TEMPLATES.index(templates)] for line in unrelated]
    )
    if templates in (FIRST, SECOND):
        shared = read_lists(WORDS.read_text(encoding="utf-8"), held_back=templates == SECOND)
        scenario.words["name"] = shared["name"]
    file = FOLDER / f"{name}{'' if templates == FIRST else f'_{templates}'}.txt"
    block: list[str] = []
    for line in [*content_lines(file.read_text(encoding="utf-8")), "end"]:
        word = line.partition(" ")[0]
        if word in ("days:", "words", "parent", "concept", "link", "intent", "chain", "end"):
            if block:
                _read_block(scenario, block)
            block = []
        block.append(line)
    return scenario


def _read_block(scenario: Scenario, block: list[str]) -> None:
    word, _, rest = block[0].partition(" ")
    if word == "days:":
        first, _, last = rest.partition("-")
        scenario.days = (int(first), int(last))
    elif word == "words":
        slot, _, words = rest.partition(": ")
        scenario.words[slot] = words.split(", ")
    elif word == "parent":
        label, _, children = rest.partition(": ")
        scenario.parents[label] = tuple(children.split(", "))
    elif word == "concept":
        told = dict(line.split(": ", 1) for line in block[1:] if not line.startswith("- "))
        scenario.keywords[rest] = tuple(told["keywords"].split(", ")) if told else ()
        scenario.concepts[rest] = [_template(line.removeprefix("- ")) for line in block[1:] if line.startswith("- ")]
    elif word == "link":
        kind = next(kind for kind in KINDS if f" {kind} " in rest)
        source, _, target = rest.partition(f" {kind} ")
        scenario.links.append((source, target, kind))
    elif word == "intent":
        concepts, _, goal = rest.partition(": ")
        events = tuple(line.removeprefix("- ") for line in block[1:])
        scenario.intents.append(IntentTemplate(goal=goal, concepts=tuple(concepts.split(" + ")), events=events))
    else:
        scenario.chains.append(_chain(rest, block[1:]))


def _template(line: str) -> Template:
    text, _, rest = line.partition(" ?? ")
    ask, _, answer = rest.partition(" => ")
    return Template(text=text, ask=ask, answer=answer)


def _chain(kinds: str, lines: list[str]) -> ChainTemplate:
    steps = [line for line in lines if not line.startswith(("why ", "effect "))]
    asks = [line.split(" ", 1) for line in lines if line not in steps]
    return ChainTemplate(
        kinds=tuple(kinds.split(", ")),
        steps=tuple((step.partition(": ")[0], step.partition(": ")[2]) for step in steps),
        asks=tuple(
            Template(text=which, ask=rest.partition(" => ")[0], answer=rest.partition(" => ")[2])
            for which, rest in asks
        ),
    )


@dataclass(slots=True, kw_only=True)
class _Event:
    """An event in the making; the place in the stream gives it its key."""

    text: str
    concept: str | None
    ask: str = ""
    answer: str = ""
    key: str = ""


class _Stream:
    """One scenario in the making: choose the graph, write its events, shuffle them over the days."""

    def __init__(self, store: str, seed: int, scenario: Scenario) -> None:
        self.store, self.scenario = store, scenario
        self.rng = random.Random(f"{seed}/{store}")
        self.words = Words(scenario.words, self.rng)
        self.events: list[_Event] = []
        self._choose()
        self._write_chains()
        self._write_intents()
        self._write_concepts()
        self._write_distractors()
        self.lines = self._spread()
        self.graph = self._graph()
        self.questions = self._questions()

    def _choose(self) -> None:
        """Choose chains and intents, the concepts that they need, and some of the others."""
        scenario = self.scenario
        self.chains = self.rng.sample(scenario.chains, CHAINS)
        self.intents = self.rng.sample(scenario.intents, INTENTS)
        needed = {concept for chain in self.chains for concept, _ in chain.steps}
        needed |= {concept for intent in self.intents for concept in intent.concepts}
        others = [concept for concept in scenario.concepts if concept not in needed]
        missing = max(self.rng.randint(*CONCEPTS) - len(needed), 0)
        needed |= set(self.rng.sample(others, missing))
        self.concepts = [concept for concept in scenario.concepts if concept in needed]
        self.parents = {
            label: [child for child in children if child in needed]
            for label, children in scenario.parents.items()
            if sum(child in needed for child in children) >= CHILDREN
        }
        hops = {pair for chain in self.chains for pair in itertools.pairwise(concept for concept, _ in chain.steps)}
        # One place stays for a link of the kind that neither chains nor hierarchy have.
        while len(hops) + sum(map(len, self.parents.values())) >= RELATIONS[1]:
            largest = max(self.parents.values(), key=len)
            largest.remove(self.rng.choice(largest))

    def _write_chains(self) -> None:
        self.chain_events: list[list[_Event]] = []
        self.chain_asks: list[list[Template]] = []
        for chain in self.chains:
            bound: dict[str, str] = {}
            events = [_Event(text=self._say(text, bound), concept=concept) for concept, text in chain.steps]
            asks = [
                Template(text=ask.text, ask=self._say(ask.ask, bound), answer=self.words.fill(ask.answer, bound))
                for ask in chain.asks
            ]
            self.chain_events.append(events)
            self.chain_asks.append(asks)
            self.events += events

    def _write_intents(self) -> None:
        self.goals: list[tuple[str, list[_Event]]] = []
        for intent in self.intents:
            bound: dict[str, str] = {}
            goal = self._say(intent.goal, bound)
            events = [_Event(text=self._say(text, bound), concept=intent.concepts[0]) for text in intent.events]
            self.goals.append((goal, events))
            self.events += events

    def _write_concepts(self) -> None:
        """Give each concept its least number of events, then fill up the stream at random."""
        self._distractors = self.rng.randint(*DISTRACTORS)
        wanted = self.rng.randint(*EVENTS) - self._distractors
        unused = {concept: list(self.scenario.concepts[concept]) for concept in self.concepts}
        for templates in unused.values():
            self.rng.shuffle(templates)
        for concept in self.concepts:
            while sum(event.concept == concept for event in self.events) < EVENTS_A_CONCEPT:
                self._write_concept(concept, unused[concept].pop())
        while len(self.events) < wanted:
            concept = self.rng.choice([concept for concept in self.concepts if unused[concept]])
            self._write_concept(concept, unused[concept].pop())

    def _write_concept(self, concept: str, template: Template) -> None:
        bound: dict[str, str] = {}
        text = self._say(template.text, bound)
        ask, answer = self._say(template.ask, bound), self.words.fill(template.answer, bound)
        self.events.append(_Event(text=text, concept=concept, ask=ask, answer=answer))

    def _write_distractors(self) -> None:
        for text in self.rng.sample(self.scenario.distractors, self._distractors):
            self.events.append(_Event(text=text, concept=None))

    def _say(self, template: str, bound: dict[str, str]) -> str:
        return as_sentence(self.words.fill(template, bound))

    def _spread(self) -> list[Line]:
        """Shuffle the events over the days; the events of a chain stay in their order, with others between them."""
        self.rng.shuffle(self.events)
        for chain in self.chain_events:
            places = sorted(self.events.index(event) for event in chain)
            for place, event in zip(places, chain, strict=True):
                self.events[place] = event
        days = self.rng.randint(*self.scenario.days)
        start = FIRST_DAY + timedelta(days=self.rng.randint(0, 240))
        minutes = sorted(self.rng.sample(range(days * 15 * 60), len(self.events)))
        speaker = self.rng.choice(self.scenario.words["name"])
        lines: list[Line] = []
        for number, (event, minute) in enumerate(zip(self.events, minutes, strict=True), 1):
            event.key = f"{self.store}:{number:02}"
            # Fifteen waking hours a day, from seven o'clock on.
            at = start + timedelta(days=minute // 900, hours=7, minutes=minute % 900)
            session = f"{self.store}/{at:%Y-%m-%d}"
            lines.append(Line(key=event.key, text=event.text, speaker=speaker, session=session, role="user", at=at))
        return lines

    def _graph(self) -> dict[str, Any]:
        return {
            "concepts": [
                {"label": concept, "events": [event.key for event in self.events if event.concept == concept]}
                for concept in self.concepts
            ],
            "parents": [{"label": label, "children": children} for label, children in self.parents.items()],
            "relations": self._relations(),
            "intents": [
                {
                    "statement": goal,
                    "trigger": intent.concepts[0],
                    "concepts": list(intent.concepts),
                    "events": [event.key for event in events],
                }
                for intent, (goal, events) in zip(self.intents, self.goals, strict=True)
            ],
            "chains": [
                {
                    "concepts": [event.concept for event in events],
                    "events": [event.key for event in events],
                    "kinds": list(chain.kinds),
                }
                for chain, events in zip(self.chains, self.chain_events, strict=True)
            ],
            "distractors": [event.key for event in self.events if event.concept is None],
        }

    def _relations(self) -> list[dict[str, str]]:
        """List the hops of the chains, the hierarchy, then other links as long as there is room."""
        found: dict[tuple[str, str], str] = {}
        for chain in self.chains:
            labels = [concept for concept, _ in chain.steps]
            for source, target, kind in zip(labels, labels[1:], chain.kinds, strict=False):
                found.setdefault((source, target), kind)
        for parent, children in self.parents.items():
            found.update({(child, parent): "part_of" for child in children})
        links = [link for link in self.scenario.links if {*link[:2]} <= set(self.concepts)]
        links = self.rng.sample(links, len(links))
        links.sort(key=lambda link: link[2] != "reinforces")
        wanted = max(self.rng.randint(*RELATIONS), len(found) + 1)
        for source, target, kind in links:
            if len(found) < wanted:
                found.setdefault((source, target), kind)
        return [{"source": source, "target": target, "kind": kind} for (source, target), kind in found.items()]

    def _questions(self) -> list[Asked]:
        now = (self.lines[-1].at or FIRST_DAY) + timedelta(days=1)
        sessions = {line.key: line.session or "" for line in self.lines}
        wanted = [("lookup", event.ask, event.answer, [event.key]) for event in self.events if event.ask]
        for events, asks in zip(self.chain_events, self.chain_asks, strict=True):
            keys = [event.key for event in events]
            wanted += [(f"chain-{ask.text}", ask.ask, ask.answer, keys) for ask in asks]
        return [
            Asked(
                id=f"{self.store}-q{number:02}",
                store=self.store,
                text=text,
                category=category,
                evidence=tuple(keys),
                sessions=tuple(dict.fromkeys(sessions[key] for key in keys)),
                answer=answer,
                now=now,
            )
            for number, (category, text, answer, keys) in enumerate(wanted, 1)
        ]


def event_texts(task: Task, store: str) -> Mapping[str, str]:
    """Map the keys of a stream to its texts, as the graph's metrics want them."""
    return {line.key: line.text for line in task.stores[store]}
