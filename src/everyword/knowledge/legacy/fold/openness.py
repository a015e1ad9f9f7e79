"""How likely it is that what is told holds an open goal: a linear model over words, pairs and triples of words.

Rules know the frames that somebody thought of; the model learned how else people say that something is to be done, and
how they tell of trouble that is over. It reads little words as well: that is where goals are said. In pairs and triples
a word that is not common stands for its ending, and a name, number, day or month for all of them. `training/goals.py`
fits the weights.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

from everyword.knowledge.legacy.fold.titles import lead_end

WEIGHTS = "open_goals.tsv"  # n-gram, tab, weight; what stands in brackets is a sign, no word
BIAS = "[bias]"
MOST_WORDS = 120  # of a sentence that are read
BEGINS, ENDS = "^", "$"  # of a sentence

NAME, NUMBER, DAY, MONTH = "<name>", "<number>", "<day>", "<month>"
_KINDS = {
    **dict.fromkeys("monday tuesday wednesday thursday friday saturday sunday".split(), DAY),
    **dict.fromkeys("january february march april june july august september october november december".split(), MONTH),
    **dict.fromkeys(
        """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand""".split(),
        NUMBER,
    ),
}
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d[\d.,:%]*|[?!:;,.]")
_ENDINGS = ("ed", "ing", "ly", "s")
_LEAST_STEM = 3  # letters before an ending
_STOPS = frozenset(".?!:")
_PARTS = 100  # weights have two decimals, and are added up as whole numbers: the sum is the same in any order


def score(texts: Iterable[str], signs: Iterable[str]) -> float:
    """Weigh sentences that stand together, and what rules found in them: at 0 a goal is as likely as none."""
    weights = _weights()
    total = weights[BIAS] + sum(map(_telling, texts)) + sum(weights.get(sign, 0) for sign in signs)
    return total / _PARTS


def telling(sentence: str) -> float:
    """Tell how much the words of a sentence say for a goal, or against one."""
    return _telling(sentence) / _PARTS


@lru_cache(maxsize=4096)
def _telling(sentence: str) -> int:
    weights = _weights()
    return sum(weights.get(ngram, 0) for ngram in ngrams(tokens(sentence), _common()))


def ngrams(words: Sequence[str], common: Collection[str]) -> set[str]:
    """Give the words of a sentence, and its pairs and triples, in which only common words stand as they are."""
    read = [BEGINS, *[word if word in common else ending(word) for word in words], ENDS]
    pairs = [f"{one} {other}" for one, other in pairwise(read)]
    triples = [f"{pair} {word}" for pair, word in zip(pairs, read[2:], strict=False)]
    return {*words, *read, *pairs, *triples}


def tokens(sentence: str) -> list[str]:
    """Cut a sentence into words and marks; names, numbers, days and months are all one to it."""
    sentence = sentence.replace("’", "'")
    named_from = lead_end(sentence)  # its words may all have capitals
    found: list[str] = []
    starts = True  # there a capital says nothing
    for match in _TOKEN.finditer(sentence):
        if len(found) == MOST_WORDS:
            break
        word = match[0]
        found.append(_kind(word, may_be_name=not starts and match.start() >= named_from))
        starts = word in _STOPS
    return found


def _kind(word: str, *, may_be_name: bool) -> str:
    if may_be_name and word[0].isupper() and word != "I" and word[:2] != "I'":
        folded = word.casefold()
        return _KINDS.get(folded, NAME)
    if word[0].isdigit():
        return NUMBER
    folded = word.casefold()
    return _KINDS.get(folded, folded)


@lru_cache(maxsize=8192)
def ending(word: str) -> str:
    """Give how a word ends, which says what it does in a sentence."""
    if not word[0].isalpha():
        return word
    if word.startswith("un") and word.endswith("ed"):
        return "un-ed"
    found = next((end for end in _ENDINGS if word.endswith(end) and len(word) >= _LEAST_STEM + len(end)), "")
    return f"-{found}"


@cache
def _weights() -> Mapping[str, int]:
    lines = files(__package__).joinpath(WEIGHTS).read_text(encoding="utf-8").splitlines()
    return {ngram: round(float(weight) * _PARTS) for ngram, weight in (line.split("\t") for line in lines)}


@cache
def _common() -> frozenset[str]:
    return common_in(_weights())


def common_in(known: Iterable[str]) -> frozenset[str]:
    """Give the words that stand in pairs and triples."""
    return frozenset(word for ngram in known if " " in ngram for word in ngram.split())
