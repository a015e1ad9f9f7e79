"""Turn questions and pools of lines into arrays of token ids: python -m training.prepare --folder DATA --out FILE

Date, speaker and text of a line are tokenised apart, so that training can write any prefix before any text: in a
WordPiece vocabulary the ids of the parts, joined, are the ids of the whole.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import lzma
import random
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from training.made import made_pools

TRAIN, HELD, DEV = 0, 1, 2
DEV_SOURCE = "friendsqa-dev"
# Pools of a source kept back from training, to choose settings on; the small sources have few, large pools.
HELD_POOLS = {"hotpot": 300, "2wiki": 150, "timeqa": 80, "xquad": 4, "squad": 1, "realmem": 1, "made": 20}
MOST_TEXT_TOKENS = 230  # a window of the product is a thousand characters
MOST_QUESTION_TOKENS = 80
FIRST_YEAR, LAST_YEAR = 2015, 2027
MONTHS = "January February March April May June July August September October November December".split()
# Speakers for lines that have none: first names in common use, and the roles that chats with assistants have.
NAMES = (
    "Ana Ben Carla David Elena Felix Grace Hugo Iris Jonas Kim Lena Marco Nina Omar Paula Quinn Rosa Sam "
    "Tara Umar Vera Will Xenia Yusuf Zoe Aisha Bruno Chloe Diego Emma Farid Greta Hana Ivan Julia Karl "
    "Lucy Mateo Nora Oscar Priya Rhea Stefan Tomas Ursula Victor Wendy Yara Zack Alice Bob Claire Daniel "
    "Ethan Fiona George Holly Isaac Jade Kevin Laura Michael Naomi Oliver Penny Rachel Simon Tina Vincent "
    "Abby Brian Cathy Derek Eva Frank Gina Henry Ingrid Jack"
).split()
ROLES = ("user", "assistant")


def main() -> None:
    """Read, tokenise, split and write."""
    arguments = _arguments()
    tokenizer = Tokenizer.from_file(str(arguments.tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    questions = list(_rows(arguments.folder / "questions.jsonl.xz"))
    pools = {pool["pool"]: pool["lines"] for pool in _rows(arguments.folder / "pools.jsonl.xz")}
    for pool, lines, asked in made_pools(arguments.made, arguments.seed):
        pools[pool] = lines
        questions += [{"source": "made", "pool": pool, **one} for one in asked]
    arrays = to_arrays(questions, pools, tokenizer, arguments.seed)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(arguments.out, allow_pickle=False, **arrays)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.1f} MB, {len(questions):,} questions, "
          f"{len(arrays['line_pool']):,} lines, {len(arrays['text_ids']):,} tokens")  # fmt: skip


def to_arrays(
    questions: list[dict[str, Any]], pools: dict[Any, list[dict[str, Any]]], tokenizer: Tokenizer, seed: int
) -> dict[str, np.ndarray[Any, Any]]:
    """Give every array that training/data.py reads."""
    order = list(pools)
    first = dict(zip(order, np.cumsum([0, *(len(pools[pool]) for pool in order)]).tolist(), strict=False))
    lines = [(number, line) for number, pool in enumerate(order) for line in pools[pool]]
    speakers = list(dict.fromkeys([*NAMES, *ROLES, *(str(line.get("speaker", "")) for _, line in lines)]))
    place = {speaker: number for number, speaker in enumerate(speakers)}
    texts = _ids(tokenizer, [line["text"] for _, line in lines], MOST_TEXT_TOKENS)
    sources = sorted({question["source"] for question in questions})
    starts = np.array([first[order[number]] for number, _ in lines], np.int32)
    arrays: dict[str, Any] = {
        "line_pool": np.array([number for number, _ in lines], np.int32),
        "line_speaker": np.array([place[str(line.get("speaker", ""))] for _, line in lines], np.int32),
        "line_day": np.array([_day(line.get("date")) for _, line in lines], np.int32),
        "line_prev": np.array([line.get("prev", -1) for _, line in lines], np.int32),
        "question_source": np.array([sources.index(one["source"]) for one in questions], np.int32),
        "question_pool": _places(order, [one["pool"] for one in questions]),
        "question_split": _split(questions, seed),
        "sources": np.array(sources),
        "roles": np.array([place[role] for role in ROLES], np.int32),
        "names": np.array([place[name] for name in NAMES], np.int32),
    }
    arrays["line_prev"] = np.where(arrays["line_prev"] >= 0, arrays["line_prev"] + starts, -1).astype(np.int32)
    arrays |= _ragged("text", texts)
    arrays |= _ragged("speaker", _ids(tokenizer, speakers, 12))
    arrays |= _ragged("question", _ids(tokenizer, [one["question"] for one in questions], MOST_QUESTION_TOKENS))
    arrays |= _ragged(
        "positive", [[first[one["pool"]] + line for line in one["positives"]] for one in questions], np.int32
    )
    arrays |= _ragged("day", _ids(tokenizer, [str(day) for day in range(32)], 4))
    arrays |= _ragged("month", _ids(tokenizer, ["", *MONTHS], 4))
    arrays |= _ragged("year", _ids(tokenizer, [str(year) for year in range(FIRST_YEAR, LAST_YEAR + 1)], 4))
    punctuation = [tokenizer.token_to_id(one) for one in "[]():;,.!?-'\"/…–—“”‘’*#_`~|<>{}"]
    arrays["punctuation"] = np.array([one for one in punctuation if one is not None], np.int32)
    return arrays


def _ids(tokenizer: Tokenizer, texts: list[str], most: int) -> list[list[int]]:
    return [one.ids[:most] for one in tokenizer.encode_batch(texts, add_special_tokens=False)]


def _ragged(name: str, rows: list[list[int]], kind: Any = np.uint16) -> dict[str, Any]:
    flat = np.fromiter((one for row in rows for one in row), kind)
    return {f"{name}_ids": flat, f"{name}_starts": np.cumsum([0, *map(len, rows)]).astype(np.int32)}


def _places(order: list[Any], wanted: list[Any]) -> np.ndarray[Any, Any]:
    place = {pool: number for number, pool in enumerate(order)}
    return np.array([place[pool] for pool in wanted], np.int32)


def _split(questions: list[dict[str, Any]], seed: int) -> np.ndarray[Any, Any]:
    """Keep whole pools back, so that no held-back line was seen with a question of its own."""
    chance = random.Random(seed)
    held: set[Any] = set()
    for source, count in HELD_POOLS.items():
        pools = sorted({str(one["pool"]) for one in questions if one["source"] == source})
        held |= set(chance.sample(pools, min(count, len(pools))))
    kinds = [DEV if one["source"] == DEV_SOURCE else HELD if str(one["pool"]) in held else TRAIN for one in questions]
    return np.array(kinds, np.int8)


_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_DAY_FIRST = re.compile(r"(\d{1,2}) ([A-Z][a-z]+),? (\d{4})")
_MONTH_FIRST = re.compile(r"([A-Z][a-z]+) (\d{1,2}), (\d{4})")


def _day(text: str | None) -> int:
    """Read a date in the forms that the data have, as a proleptic day; -1 if there is none."""
    if not text:
        return -1
    if found := _ISO.search(text):
        year, month, day = map(int, found.groups())
    elif found := _DAY_FIRST.search(text):
        day, month, year = int(found[1]), MONTHS.index(found[2]) + 1, int(found[3])
    elif found := _MONTH_FIRST.search(text):
        month, day, year = MONTHS.index(found[1]) + 1, int(found[2]), int(found[3])
    else:
        return -1
    return date(year, month, day).toordinal() if FIRST_YEAR <= year <= LAST_YEAR else -1


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Tokenise the training data.")
    parser.add_argument("--folder", type=Path, required=True, help="with questions.jsonl.xz and pools.jsonl.xz")
    parser.add_argument("--tokenizer", type=Path, required=True, help="the base model's tokenizer.json")
    parser.add_argument("--made", type=int, default=400, help="pools that our own generator adds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("training/build/data.npz"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
