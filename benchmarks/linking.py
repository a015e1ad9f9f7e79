"""Measure what lookups in the temporal graph cost as a memory grows."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import Times, console, table, times
from everyword import Memory
from everyword.errors import NotFound

BATCH = 1_000
ROUNDS = 3  # of every question
PEOPLE = 5_000  # with full names
SKEW = 3  # of the draw: the first of them is in one turn of nine, the last thousand in one of thirteen together
PLACES = "Lisbon Porto Oslo Bergen Vienna Graz Turin Milan Lyon Nantes Leeds York Cork Galway Riga Tartu".split()
FIRMS = "Acme Siemens Volvo Nokia Bosch Philips Ericsson Orange Airbus Zeiss Spotify Klarna Mistral Arup".split()
TALK = (
    "{a} moved to {p} in {m}.",
    "{a} works at {f} now, and {b} is glad about it.",
    "I met {a} and {b} in {p}, we talked about the garden all evening.",
    "{a} loves {t}.",
    "{a} is married to {b}.",
    "{b} visited {p} last week with the children.",
    "Did {a} ever call back about the {t}?",
    "The {t} was loud again, {a} said so twice.",
    "Nobody told {b} what the {t} would cost.",
    "{a} and {b} disagree about the {t} as always.",
    "Honestly, the weather in {p} is nothing to write home about.",
    "Let us look at the photos from {p} when {a} is here.",
    "I am tired today, the {t} took me three hours.",
    "{a} left {f} in {m}.",
    "We should ask {b} whether the {t} is still open.",
)
THINGS = "chess sailing pottery jazz climbing baking rowing opera cycling gardening chess painting".split()
MONTHS = "January February March April May June July August September October November".split()


def linking(folder: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """Grow one memory through the sizes; measure at each, print, and give the numbers."""
    source = talk(7)
    results: list[dict[str, Any]] = []
    written = 0
    with Memory.open(folder / "linked.db", embedder="none", fold=False, durability="normal") as memory:
        for size in sizes:
            begun = time.perf_counter()
            while written < size:
                memory.add_many(islice(source, min(BATCH, size - written)))
                written = min(size, written + BATCH)
            memory.admin.settle()
            console.print(f"{size:,} events written in {time.perf_counter() - begun:.0f} s", highlight=False)
            results.append({"events": size, **_measured(memory)})
    _print(results)
    return results


def talk(seed: int) -> Iterator[dict[str, object]]:
    """Make turns of talk about people without end; the same seed gives the same ones."""
    chance = random.Random(seed)
    people = [f"{_name(chance)} {_name(chance)}" for _ in range(PEOPLE)]
    number = 0
    while True:
        a, b = (people[int(PEOPLE * chance.random() ** SKEW)] for _ in range(2))
        words = {"p": chance.choice(PLACES), "f": chance.choice(FIRMS), "t": chance.choice(THINGS)}
        text = " ".join(chance.choice(TALK) for _ in range(2)).format(a=a, b=b, m=chance.choice(MONTHS), **words)
        yield {
            "text": text,
            "speaker": chance.choice(people[:8]),
            "session": f"session-{number // 20}",
            "at": 1_600_000_000 + number * 60,
        }
        number += 1


def _measured(memory: Memory) -> dict[str, Any]:
    stats = memory.stats()
    names = [one.name for one in memory.graph.entities(type="person", limit=40)]
    rare = [one.name for one in memory.graph.entities(type="person", limit=PEOPLE)[-20:]]
    whom = names[:10] + rare[:10]
    return {
        "entity": times([partial(_looked_up, memory.graph.entity, name) for name in whom], ROUNDS),
        "entities": times([partial(memory.graph.entities, limit=50)], ROUNDS),
        "facts": times([partial(_looked_up, memory.facts, name) for name in whom], ROUNDS),
        "timeline": times([partial(_looked_up, memory.graph.timeline, name) for name in whom], ROUNDS),
        "conflicts": times([memory.graph.conflicts], ROUNDS),
        "counts": dict(stats.graph),
    }


def _looked_up(look_up: Callable[[str], object], name: str) -> None:
    with suppress(NotFound):
        look_up(name)


def _print(results: list[dict[str, Any]]) -> None:
    rows = [
        [name, *(f"{result[name].cpu:.2f}" for result in results)]
        for name in results[0]
        if isinstance(results[0][name], Times)
    ]
    table(
        "The temporal graph: ms of processor time",
        ["", *(f"{result['events']:,} events" for result in results)],
        rows,
    )


def _name(chance: random.Random) -> str:
    letters = "".join(chance.choice("bdfgklmnprstv") + chance.choice("aeiou") for _ in range(chance.randint(2, 3)))
    return letters.capitalize()
