"""What the benchmarks write and ask: natural lines in any number, and vectors for them without hours of encoding.

Lines are sentences of the sample history with some words replaced by ones from a large vocabulary, so that common words
are as common as in real talk and the vocabulary keeps growing. Vectors are the real model's for a few hundred windows
of such texts; an event gets those of a random one with noise added, which takes the same bytes and the same paths.
Questions are always encoded by the real model.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from everyword.models.embedders import EverywordSmall
from everyword.models.protocol import Matches, ModelCard, Passage, Question
from everyword.text.rendering import encoder_prefix
from everyword.text.spans import windows
from everyword.types.events import Event
from everyword.types.times import as_datetime

HISTORY = Path(__file__).parent.parent / "examples" / "history.jsonl"
WORDS = 40  # of an event
CHAT_WORDS = 12  # of a short chat line
ASSISTANT_CHARS = 1_800  # of an assistant's turn
VOCABULARY = 100_000
REPLACED = 0.06  # of the words: two or three rare ones an event, as names and things are in talk
BASE_WINDOWS = 300
POOLED_NOISE = 0.05  # a component; a unit vector of 128 has components of .09
TOKEN_NOISE = 0.05  # of the bytes of packed tokens

QUESTIONS = [
    "Where does Ana live now?",
    "When did they decide to change the radar vendor and why?",
    "How much did the tooth extraction of the cat cost?",
    "On which day is the weekly sync of the project?",
    "What food does Ana never eat, and what is the exception?",
    "When was the grant application due and was it sent in time?",
    "Why did she miss her sister's birthday dinner?",
    "Which injury kept her away from climbing in spring?",
    "Did Tomáš ever write the guide for people on night duty?",
    "Why did Ana turn down the promotion?",
    "What does the person who feeds the cat have to know?",
    "Who will be a witness at the wedding?",
    "What phone number does Ana have since April?",
    "Which tool does she prefer for tables of data?",
    "When are they moving to Porto?",
    "What did the assistant advise about the salary?",
    "How long was the longest outage in the storm?",
    "What happened at the station after the clock change?",
    "Who promised to bring the ropes?",
    "What is still open at the end of October?",
]


def lines(seed: int = 1, words_an_event: int = WORDS) -> Iterator[dict[str, Any]]:
    """Make events without end; the same seed gives the same ones."""
    chance = random.Random(seed)
    history = [json.loads(line) for line in HISTORY.read_text(encoding="utf-8").splitlines()]
    sentences = [part for event in history for part in re.split(r"(?<=[.!?])\s+", event["text"]) if part.count(" ") > 3]
    speakers = sorted({event["speaker"] for event in history})
    rare = [_word(chance) for _ in range(VOCABULARY)]
    number = 0
    while True:
        words: list[str] = []
        while len(words) < words_an_event:
            words += chance.choice(sentences).split()
        words = [
            rare[min(int(chance.paretovariate(0.6)), VOCABULARY) - 1] if chance.random() < REPLACED else word
            for word in words[:words_an_event]
        ]
        yield {
            "text": " ".join(words),
            "speaker": chance.choice(speakers),
            "session": f"session-{number // 20}",
            "at": 1_600_000_000 + number * 60,
        }
        number += 1


def assistant_turns(seed: int = 1) -> Iterator[dict[str, Any]]:
    """Make long turns of an assistant without end."""
    for one in lines(seed, ASSISTANT_CHARS // 4):
        yield {**one, "text": str(one["text"])[:ASSISTANT_CHARS], "role": "assistant", "speaker": "assistant"}


KINDS: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {
    "lines": lines,
    "chat": lambda seed: lines(seed, CHAT_WORDS),
    "assistant": assistant_turns,
}


class SampledEmbedder:
    """The bundled model for questions; its vectors of other texts of the same kind, with noise, for passages."""

    def __init__(self, kind: str = "lines", seed: int = 1) -> None:
        self.model = EverywordSmall()
        self._chance = np.random.default_rng(seed)
        self._base = self.model.passages(list(islice(_encoder_lines(KINDS[kind](seed + 1)), BASE_WINDOWS)))

    @property
    def card(self) -> ModelCard:
        return self.model.card

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        chosen = [self._base[i] for i in self._chance.integers(0, len(self._base), len(texts))]
        pooled = np.stack([base.pooled for base in chosen]).astype(np.float32) / 127
        pooled += self._chance.standard_normal(pooled.shape, dtype=np.float32) * POOLED_NOISE
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        packed = np.rint(pooled * 127).astype(np.int8)
        return [Passage(pooled=row, tokens=self._noisy(base.tokens)) for row, base in zip(packed, chosen, strict=True)]

    def question(self, text: str) -> Question:
        return self.model.question(text)

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        return self.model.late_matches(question, passages)

    def _noisy(self, tokens: bytes) -> bytes:
        data = np.frombuffer(tokens, np.uint8).copy()
        at = self._chance.integers(0, len(data), int(len(data) * TOKEN_NOISE))
        data[at] ^= 0x11
        return data.tobytes()


def _encoder_lines(source: Iterator[dict[str, Any]]) -> Iterator[str]:
    for one in source:
        event = Event(text=str(one["text"]), speaker=str(one["speaker"]), at=as_datetime(one["at"]))
        for window in windows(event.text):
            yield encoder_prefix(event) + window.text


def _word(chance: random.Random) -> str:
    return "".join(chance.choice("bcdfghklmnprstvz") + chance.choice("aeiou") for _ in range(chance.randint(2, 5)))
