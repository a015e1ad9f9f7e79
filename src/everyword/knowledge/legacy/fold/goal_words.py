"""The words of a goal that tell what it is about: its things, names, numbers, verb and object."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from everyword.text.terms import STOPWORDS, stem

_TOKEN = re.compile(r"[^\W_]+(?:(?:[-'.]|(?<=\d),(?=\d))[^\W_]+)*")
# Words that make a sentence a goal say nothing of what it is about; nor do those of time and measure.
_CUES = frozenset(
    """need needs must want wants wish hope plan planning mean meaning like love still yet again soon finally really
    never nobody someone somebody anyone promised promise owe told keep putting got get getting enough right nothing
    today tomorrow tonight yesterday week weeks month months year day days time back much many lot thing things way
    make makes making made say says said saying one two next last new far ask asked asking asks waiting wait decided
    decision idea haven't hasn't isn't
    remember remind forget i'd i'll i'm we'd we'll won't can't don't please also even long bit really well going go
    three four five six seven eight nine ten twelve twenty thirty forty fifty hundred thousand million first second
    third fourth fifth hour hours minute minutes seconds years since until without outside remain remains remaining put
    try tried trying manage managed manages show shows showed sit sits pending overdue due free help left twice times
    once
    have ought better know mr mrs ms dr monday tuesday wednesday thursday friday saturday sunday january february
    march april may june july august september october november december""".split()
)


LEAST_NUMBER = 3  # characters: 17 is a count of anything or a day, 2.1 a version
# How much, how many and when: such a number names no thing, and two of them tell no things apart.
_AMOUNT = re.compile(
    r"^\d+(?= )|\b\d+(?:st|nd|rd|th)\b|\b\d{1,3}(?:,\d{3})+\b|\b(?:below|over|under|above|than|about|around|roughly"
    r"|nearly|almost|only|just|least|most|by|until|since|in) \d+\b(?![-.]\w)|\b\d[\d.,]{0,9}(?= ?(?:%|percent|million"
    r"|billion|thousand|minutes|hours|days|km|kg|ms|euros?|dollars|pounds|votes|times)\b)",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """Give the stems of the words that tell what a text is about."""
    found = (token.casefold() for token in _TOKEN.findall(_without_amounts(text)))
    return frozenset(
        stem(word.removesuffix("'s"))
        for word in found
        if not _tells_nothing(word) and (word.isalpha() or len(word) >= LEAST_NUMBER)
    )


def _without_amounts(text: str) -> str:
    return _AMOUNT.sub(" ", text.replace("’", "'")[:_LONGEST])


_LONGEST = 1_000  # characters of a quote that are looked at


@lru_cache(maxsize=8192)
def names_in(text: str) -> frozenset[str]:
    """Give the stems of what is written with a capital inside a sentence, or holds a digit."""
    tokens = _TOKEN.findall(_without_amounts(text))
    return frozenset(
        stem(token.casefold().removesuffix("'s"))
        for place, token in enumerate(tokens)
        if _is_name(token, inside=place > 0)
    )


def _is_name(token: str, *, inside: bool) -> bool:
    if inside and token[0].isupper():
        return not _tells_nothing(token.casefold())
    return len(token) >= LEAST_NUMBER and any(char.isdigit() for char in token)


def _tells_nothing(word: str) -> bool:
    return word in STOPWORDS or word in _CUES or word.startswith("i'")


_PHRASE = re.compile(
    r"\b(?:the|my|our|an?|this|that|these|those|his|her|their|your|no|any|some|another|every|each|all|both|more|one"
    r"|two|three|four|five|for|of|about|with|on|in|at|from|into"
    r"|under)\s+(?=([^\W\d_][\w'-]*(?:\s+[^\W\d_][\w'-]*){0,2}))",
    re.IGNORECASE,
)


# Notes leave articles out: what stands before a verb or a colon where a clause begins is a thing as well.
_SUBJECT = re.compile(
    r"(?:^|[,;:.]\s)([^\W\d_][\w'-]*(?:\s[^\W\d_][\w'-]*){0,2}?)(?=:|\s(?:is|are|was|were|has|have|had|isn't|aren't"
    r"|wasn't|hasn't|haven't|can't|won't|doesn't|must|should|needs?|out|not|still|just|again|never|[a-z]+ed|keeps?"
    r"|refuses?)\b)",
    re.IGNORECASE,
)

# Words of place, degree and order name no thing, wherever they stand.
_NO_THINGS = frozenset(
    map(
        stem,
        """around across along near past towards upon within without away behind beside above below inside outside since
        almost already always often maybe perhaps left right first second third whole good bad big small old best worst
        else another every everyone everything anything something people person place part kind sort half rest end
        start moment minute hour morning evening night weekend""".split(),
    )
)


@lru_cache(maxsize=8192)
def things_in(text: str) -> frozenset[str]:
    """Give the stems of words that stand where things are named: a verb alone ("send") says nothing of which."""
    read = text.replace("’", "'")[:_LONGEST]
    phrases = _PHRASE.findall(read) + _SUBJECT.findall(read)
    return frozenset(word for phrase in phrases for word in words_of(phrase) if word not in _NO_THINGS)


@lru_cache(maxsize=8192)
def numbered_among(words: frozenset[str]) -> frozenset[str]:
    """Give those of some words that hold a digit."""
    return frozenset(word for word in words if any(char.isdigit() for char in word))


# What is done before or after it, or under a condition, is not what a clause is about: "once the sprint has ended".
_ASIDE = re.compile(
    r"(?<=\w)\s(?:once|when|whenever|after|before|until|unless|because|if|while)\s.*", re.IGNORECASE | re.DOTALL
)
# "The shared drive": no verb, though it looks like one.
_LIKE_A_VERB = re.compile(r"\b(?:the|an?|my|our|this|that|these|those)\s[a-z]+ed\b", re.IGNORECASE)
_ENDING = frozenset(map(stem, "stop quit avoid prevent".split()))
MEND = stem("fix")  # what was to be repaired is met by whatever says that it is right again
_MENDING = frozenset(
    map(stem, "repair mend restore solve resolve sort restart reboot unblock troubleshoot debug".split())
)


@lru_cache(maxsize=8192)
def verbs_of(clause: str) -> frozenset[str]:
    """Give the stems of the words of a clause that may be its verb: all of them, since a noun settles nothing alone."""
    main = _LIKE_A_VERB.sub(" ", _ASIDE.sub("", clause[:_LONGEST]))
    verbs = frozenset(stem(token.casefold()) for token in _TOKEN.findall(main))
    if verbs & _MENDING:
        verbs |= {MEND}
    return verbs & _ENDING or verbs  # one more sale does not meet "must stop selling"


def told_apart(one: str, other: str, verb: str) -> bool:
    """Tell what is done to two things of one name apart: the gas bill and the electricity bill, or Rome and Lisbon."""
    names, others = names_in(one), names_in(other)
    if names and others and names.isdisjoint(others):
        return True
    before, others_before = _words_before(one, verb), _words_before(other, verb)
    shared = before.keys() & others_before.keys()
    return bool(shared) and all(
        before[word] and others_before[word] and before[word] != others_before[word] for word in shared
    )


@lru_cache(maxsize=8192)
def _words_before(text: str, verb: str) -> dict[str, str | None]:
    """Give each word that tells what a text is about, with the telling word right before it."""
    tokens = [token.casefold().removesuffix("'s") for token in _TOKEN.findall(_without_amounts(text))]
    told = [None if _tells_nothing(token) or stem(token) == verb else stem(token) for token in tokens]
    return {word: before for before, word in pairwise([None, *told]) if word is not None}


_TOWARDS = frozenset("to for with in at by from on into about before until of".split())


def mends(clause: str) -> bool:
    """Tell whether a clause says in another word that something is to be fixed: "I must get it repaired"."""
    verbs = frozenset(stem(token.casefold()) for token in _TOKEN.findall(clause[:_LONGEST]))
    return MEND not in verbs and not verbs.isdisjoint(_MENDING)


@lru_cache(maxsize=8192)
def objects_of(clause: str, verb: str) -> frozenset[str]:
    """Give the stems of what a verb of a clause is done to: "the report" in "send the report to Ana"."""
    tokens = _TOKEN.findall(clause[:_LONGEST])
    after = next((place for place, token in enumerate(tokens, 1) if stem(token.casefold()) == verb), len(tokens))
    end = next((place for place, token in enumerate(tokens[after:], after) if token.casefold() in _TOWARDS), None)
    near = words_of(" ".join(tokens[after:end]))
    return near or words_of(" ".join(tokens[after:])) or words_of(" ".join(tokens[: after - 1]))
