"""The prepared arrays on the device: lines written out as the product writes them, in several styles, in batches."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.prepare import FIRST_YEAR, TRAIN

CLS, SEP, QUESTION, PASSAGE = 101, 102, 1, 2
OPEN, CLOSE, COLON, BRACKET, BRACKET_END = 1031, 1033, 1024, 1006, 1007  # "[", "]", ":", "(", ")" of the vocabulary
LONGEST = 256  # tokens of a passage; a window of the product is at most some 240
# How many examples have what: events almost always have both.
WITH_DATE, WITH_SPEAKER, WITH_ROLES, JOINED = 0.8, 0.95, 0.15, 0.06
WITH_CONTEXT = 0.7  # of the examples in styles with context
CONTEXT_TOKENS = 60
JOINED_LINES = (1, 6)  # more lines that make one long window
SESSION_LINES = 15  # lines of a pool that share an invented date
LATEST_START = date(2026, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Style:
    """How lines are written: the product's form, or one of many for training."""

    seed: int
    varied: bool
    context: bool = False  # the line before, in brackets, behind the text


class Data:
    """Everything that `prepare` wrote."""

    def __init__(self, path: Path, limit: int | None = None) -> None:
        with np.load(path, allow_pickle=False) as file:
            self.arrays = {name: file[name] for name in file.files}
        a = self.arrays
        self.sources = [str(one) for one in a["sources"]]
        self.speakers, self.questions = self._rows("speaker"), self._rows("question")
        self.days, self.months, self.years = (self._rows(name) for name in ("day", "month", "year"))
        self.positives = self._rows("positive")
        self.pool_starts: list[int] = np.searchsorted(a["line_pool"], np.arange(a["line_pool"][-1] + 2)).tolist()
        self.line_day, self.line_speaker, self.line_prev, self.roles, self.names = (
            a[name].tolist() for name in ("line_day", "line_speaker", "line_prev", "roles", "names")
        )
        self._dates: dict[int, list[int]] = {}
        self.split, self.source, self.pool = a["question_split"], a["question_source"], a["question_pool"]
        if limit:
            # For trying the code on a small machine: a few questions with small pools.
            small = np.flatnonzero(np.diff(self.pool_starts)[self.pool] < 40)
            few = np.random.default_rng(0).choice(small, limit, replace=False)
            self.split = np.full_like(self.split, -1)
            self.split[few] = np.arange(limit) * 5 // limit % 3

    def chosen(self, split: int = TRAIN) -> np.ndarray[Any, Any]:
        """Give the questions of a split."""
        return np.flatnonzero(self.split == split)

    def lines_of(self, questions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Give all lines of the pools of these questions."""
        pools = np.unique(self.pool[questions])
        return np.concatenate([np.arange(self.pool_starts[p], self.pool_starts[p + 1]) for p in pools])

    def write_out(self, style: Style) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Give the ids of all lines in a style, one behind the other, and where each starts."""
        heads: list[list[int]] = []
        tails: list[list[int]] = []
        ends: list[int] = []  # the last line of which a row has the text, if it has that of several
        for pool in range(len(self.pool_starts) - 1):
            self._pool(pool, style, heads, ends, tails)
        starts = self.arrays["text_starts"].astype(np.int64)
        begins = starts[:-1]
        head, tail = (np.fromiter(map(len, rows), np.int64, len(rows)) for rows in (heads, tails))
        text = np.minimum(starts[np.array(ends) + 1] - begins, LONGEST - head - tail)
        row_starts = np.concatenate([[0], np.cumsum(head + text + tail)])
        out = np.empty(row_starts[-1], np.int32)
        for rows, counts, at in ((heads, head, row_starts[:-1]), (tails, tail, row_starts[:-1] + head + text)):
            out[_ranges(at, counts)] = np.fromiter((one for row in rows for one in row), np.int32, counts.sum())
        out[_ranges(row_starts[:-1] + head, text)] = self.arrays["text_ids"][_ranges(begins, text)]
        return out, row_starts

    def _pool(self, pool: int, style: Style, heads: list[Any], ends: list[int], tails: list[Any]) -> None:
        chance, varied = random.Random(pool * 1009 + style.seed), style.varied
        dated = not varied or chance.random() < WITH_DATE
        spoken = not varied or chance.random() < WITH_SPEAKER
        roles = varied and chance.random() < WITH_ROLES
        pair = self.roles if roles else chance.sample(self.names, 2)
        base = LATEST_START - chance.randint(0, 2500)
        first, end = self.pool_starts[pool], self.pool_starts[pool + 1]
        invents = varied and chance.random() < 0.6  # some texts have no speaker in the product either
        renames = roles and not self._asked_by_name(pool)
        for line in range(first, end):
            day = self.line_day[line]
            if day < 0:
                day = base + (line - first) // SESSION_LINES * 9
            speaker = self.speakers[self.line_speaker[line]]
            if renames or (invents and not speaker):
                speaker = self.speakers[pair[(line - first) % 2]]
            head = [CLS, PASSAGE, *self.date_ids(day)] if dated else [CLS, PASSAGE]
            if spoken and speaker:
                head += [*speaker, COLON]
            heads.append(head)
            joined = varied and chance.random() < JOINED
            ends.append(min(end - 1, line + chance.randint(*JOINED_LINES)) if joined else line)
            previous = self.line_prev[line]
            if style.context and previous >= 0 and (not varied or chance.random() < WITH_CONTEXT):
                tails.append([*self._context(previous), SEP])
            else:
                tails.append([SEP])

    def _context(self, line: int) -> list[int]:
        a, b = self.arrays["text_starts"][line : line + 2]
        text = self.arrays["text_ids"][a : min(b, a + CONTEXT_TOKENS)].tolist()
        return [BRACKET, *self.speakers[self.line_speaker[line]], COLON, *text, BRACKET_END]

    def _asked_by_name(self, pool: int) -> bool:
        # Where questions name the speaker, a role in the place of the name would make them unanswerable.
        name = self.sources[int(self._pool_source[pool])]
        return name.startswith(("friendsqa", "made")) or name in ("hotpot", "2wiki", "timeqa")

    @property
    def _pool_source(self) -> np.ndarray[Any, Any]:
        if not hasattr(self, "_sources_of_pools"):
            self._sources_of_pools = np.zeros(len(self.pool_starts), np.int32)
            self._sources_of_pools[self.pool] = self.source
        return self._sources_of_pools

    def date_ids(self, day: int) -> list[int]:
        """Write a day as the product does."""
        known = self._dates.get(day)
        if known is None:
            when = date.fromordinal(day)
            month, year = self.months[when.month], self.years[when.year - FIRST_YEAR]
            known = self._dates[day] = [OPEN, *self.days[when.day], *month, *year, CLOSE]
        return known

    def _rows(self, name: str) -> list[list[int]]:
        ids, starts = self.arrays[f"{name}_ids"].tolist(), self.arrays[f"{name}_starts"].tolist()
        return [ids[a:b] for a, b in pairwise(starts)]


def _ranges(starts: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Give the places starts[i], starts[i] + 1, ... of counts[i] each, one behind the other."""
    begun = np.cumsum(counts) - counts
    return np.repeat(starts - begun, counts) + np.arange(counts.sum())


class Flat:
    """Rows of token ids in one tensor on the device."""

    def __init__(self, ids: np.ndarray[Any, Any], starts: np.ndarray[Any, Any], device: str) -> None:
        self.ids = torch.from_numpy(ids.astype(np.int32)).to(device)
        self.starts = torch.from_numpy(starts.astype(np.int64)).to(device)
        self.lengths = np.diff(starts)

    def padded(self, rows: np.ndarray[Any, Any]) -> tuple[Tensor, Tensor]:
        """Give rows as a padded batch and which of it is no padding."""
        where = torch.from_numpy(rows).to(self.starts.device)
        longest = int(-(-self.lengths[rows].max() // 8) * 8)
        begin, end = self.starts[where], self.starts[where + 1]
        places = begin[:, None] + torch.arange(longest, device=begin.device)
        there = places < end[:, None]
        ids = self.ids[places.clamp(max=len(self.ids) - 1)] * there
        return ids, there


def flat_questions(data: Data, device: str) -> Flat:
    """Write the questions out with their marker."""
    rows = [np.concatenate([[CLS, QUESTION], row, [SEP]]) for row in data.questions]
    return Flat(np.concatenate(rows), np.cumsum([0, *map(len, rows)]), device)


def by_length(lengths: np.ndarray[Any, Any], budget: int) -> list[np.ndarray[Any, Any]]:
    """Cut rows into batches of like lengths with at most `budget` tokens, padding included."""
    order = np.argsort(lengths, kind="stable")
    batches: list[np.ndarray[Any, Any]] = []
    end = len(order)
    while end > 0:
        count = max(1, budget // int(-(-lengths[order[end - 1]] // 8) * 8))
        batches.append(order[max(0, end - count) : end])
        end -= count
    return batches
