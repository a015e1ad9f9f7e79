"""Whether what is said to be done is what was to be done: by the verb, and by the words of what it is done to."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from everyword.knowledge.legacy.extract.rules.verbs import FORMS
from everyword.text.terms import STOPWORDS

LIGHT_VERB_WORDS = 2  # words that must come back where the verb says little: one can get, take and make anything
DONE_WORDS = 0.5  # share of the words of a thing to do that must come back in what is said to be done
_LONGEST_COMPARED = 600  # characters: no sentence that rules read is longer; what is written by hand may be
_WORD = re.compile(r"[\w+#]+(?:'\w+)?")
_NO_MATTER = STOPWORDS | frozenset("really very much lately still now today currently also".split())


def does(done: str | None, wanted: str | None) -> bool:
    """Tell whether a deed is the one that was to be done: the same verb, and enough of the same words after it."""
    mine, theirs = action_in(done), action_in(wanted)
    if mine is None or theirs is None or not theirs[1]:
        return False
    if mine[0] != theirs[0] and theirs[0] not in settled_by(mine[0]):
        return False
    if mine[0] == _CANCEL != theirs[0] and not theirs[1] <= mine[1]:
        return False  # a present for the wedding is not over with it, for all we know
    names, others = _names(done), _names(wanted)
    if names and others and names.isdisjoint(others):
        return False  # the tickets to Rome are not those to Lisbon, nor invoice 4711 invoice 4712
    shared = frozenset(word for word in mine[1] & theirs[1] if not _told_apart(done, wanted, word))
    least = LIGHT_VERB_WORDS if theirs[0] in _LIGHT_VERBS and len(theirs[1]) > 1 else 1
    if len(shared) >= max(least, DONE_WORDS * len(theirs[1])):
        return True
    # "The form is signed": by its bare name, what was to be signed was the school trip form.
    return least == 1 and mine[1] == shared and list(shared) == [_head_of(wanted)]


def action_in(value: str | None) -> tuple[str, frozenset[str]] | None:
    """Give the verb of what is done or to be done, and the words that say what it is done to."""
    found = in_order(_DUE.split(value or "", maxsplit=1)[0])
    if not found:
        return None
    form = FORMS.get(found[0])
    return (form.lemma if form else found[0].removesuffix("ed")), words_in(" ".join(found[1:])) - _DAYS


# By when something is to be done says nothing of what it is.
_DUE = re.compile(
    r"\s(?:by|before|until|till|no later than|on)\s(?=(?:the\s)?(?:end|close|start|\d|[a-z]{3,9}day\b"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b|tomorrow|tonight|next|this|noon|eo[dwmqy]\b))",
    re.IGNORECASE,
)


@lru_cache(maxsize=1 << 12)
def _names(value: str | None) -> frozenset[str]:
    """Give what has a capital or a number behind the verb, but for days and months."""
    found = _WORD.findall(_DUE.split((value or "")[:_LONGEST_COMPARED], maxsplit=1)[0])[1:]
    names = (word.removesuffix("'s") for word in found if word[0].isupper() or word.isdigit())
    return frozenset(word.lower() for word in names if word.lower() not in _DAYS and word != "I")


_PREPOSITION = re.compile(r"\s(?:for|of|at|on|in|to|with|from|about|by|between)\s", re.IGNORECASE)


def _head_of(wanted: str | None) -> str | None:
    """Give the noun that what is to be done is done to: "form" of "sign the school trip form for Mia"."""
    found = [word for word in in_order(_PREPOSITION.split(wanted or "", maxsplit=1)[0])[1:] if word not in _DAYS]
    return _stem(found[-1]) if found else None


def _told_apart(one: str | None, other: str | None, word: str) -> bool:
    """Tell the gas bill from the electricity bill: another word stands right before the one that both have."""
    mine, theirs = _before(one, word), _before(other, word)
    return bool(mine and theirs) and mine != theirs


def _before(value: str | None, word: str) -> str | None:
    found = in_order(value)[1:]
    pairs = ((left, right) for left, right in pairwise(found) if _stem(right) == word)
    return next((_stem(left) for left, _ in pairs if left not in _NO_MATTER and left not in _WHEN), None)


# A thing that is finished was made; whether it was sent, too, nobody said.
_FINISHING = frozenset("finish complete".split())
_MAKING = frozenset(
    """write draft make build prepare paint design finish complete do fix repair clean create develop sort settle solve
    resolve translate renovate install review record compose tidy wash assemble""".split()
)
# What is called off need not be planned.
_CANCEL = "cancel"
_PLANNING = frozenset("prepare plan organise organize attend join host arrange schedule".split())


def settled_by(verb: str) -> frozenset[str]:
    """Name the other verbs that a deed settles."""
    return _MAKING if verb in _FINISHING else _PLANNING if verb == _CANCEL else frozenset()


_LIGHT_VERBS = frozenset("get take make have go do be put use".split())
_WHEN = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday tomorrow morning afternoon evening tonight noon
    week weekend month year
    soon later end day new old back solo yesterday last next this ago""".split()
)


_DAYS = _WHEN | frozenset(
    """january february march april may june july august september october november december am pm todo""".split()
)


# Each new statement is compared with hundreds of known ones, and these are always the same.
@lru_cache(maxsize=1 << 14)
def words_in(value: str | None) -> frozenset[str]:
    """Give the words of a value that matter, without the s of a plural."""
    return frozenset(_stem(word) for word in in_order(value) if word not in _NO_MATTER)


def in_order(value: str | None) -> list[str]:
    """Give the words of a value as they stand, in small letters."""
    return _WORD.findall((value or "")[:_LONGEST_COMPARED].lower())


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
