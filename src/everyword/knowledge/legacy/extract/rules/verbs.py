"""The verbs that rules know, in all their forms, and a guess at the forms of those that they don't."""

from __future__ import annotations

import re
from typing import NamedTuple


class Form(NamedTuple):
    """A verb as it stands in a text."""

    lemma: str
    tense: str  # base, third, past, participle, ing


# base, past, participle: where the participle is missing it is the past.
_IRREGULAR = """
    be was been, become became become, begin began begun, bite bit bitten, break broke broken, bring brought,
    build built, burn burnt, buy bought, catch caught, choose chose chosen, come came come, cost cost, cut cut,
    do did done, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten,
    fall fell fallen, feel felt, fight fought, find found, fly flew flown, forget forgot forgotten, get got gotten,
    give gave given, go went gone, grow grew grown, have had, hear heard, hit hit, hold held, hurt hurt, keep kept,
    know knew known, lead led, leave left, lend lent, lose lost, make made, mean meant, meet met, owe owed,
    pay paid, put put, quit quit, read read, ride rode ridden, rise rose risen, run ran run, say said,
    see saw seen, sell sold, send sent, set set, shake shook shaken, shoot shot, sing sang sung, sit sat,
    sleep slept, speak spoke spoken, spend spent, split split, stand stood, steal stole stolen, strike struck,
    swim swam swum, take took taken, teach taught, tell told, think thought, throw threw thrown,
    understand understood, wake woke woken, wear wore worn, win won, write wrote written, learn learnt
"""

_REGULAR = """adopt adore agree aim allow apply appreciate arrange arrive ask attend avoid bake believe book
    borrow call camp cancel celebrate change check clean climb close collect commute complete confirm consider
    cook crash crave create cycle dance decide deliver deploy detest develop die discover discuss dislike donate
    drop earn employ end enjoy enrol enroll expect expire explain explore fail figure file finish fix graduate
    handle happen hate help hike hire hope host idolise injure inherit install intend invite join judge kick land
    launch like listen live look love manage marry miss move name need notice offer open opt order organise
    organize own owe paint park pass perform pick plan plant play practise practice prefer prepare present promise
    promote propose publish purchase raise reach realise realize receive recommend recover refuse reject relax
    release relocate remember remind renew renovate rent repair replace report request rescue research reside
    resign restart retire return review sail save schedule score separate settle ship shop sign skate sketch ski
    smoke start stay stop struggle study submit suffer suggest suppose surf switch talk teach test train translate
    travel treat try turn use visit volunteer vote walk want watch water weigh work worry wrap commit craft adore
    loathe despise fancy cherish crochet knit garden swim jog foster babysit debut record perform bike
    update upload merge wash email mail print register film compose direct design""".split()

_DOUBLED = frozenset("stop plan drop ship shop commit jog knit wrap admit prefer skip babysit chat hug".split())


def _forms() -> dict[str, Form]:
    forms: dict[str, Form] = {}
    for entry in _IRREGULAR.split(","):
        base, past, *participle = entry.split()
        _add(forms, base, past, participle[0] if participle else past)
    for base in _REGULAR:
        _add(forms, base, _past(base), _past(base))
    forms |= {"learned": Form("learn", "past"), "burned": Form("burn", "past"), "dreamed": Form("dream", "past")}
    forms |= {"cancelled": Form("cancel", "past"), "cancelling": Form("cancel", "ing")}
    forms |= {"travelled": Form("travel", "past"), "travelling": Form("travel", "ing")}
    forms |= {"were": Form("be", "past"), "dying": Form("die", "ing"), "lying": Form("lie", "ing")}
    return forms


def _add(forms: dict[str, Form], base: str, past: str, participle: str) -> None:
    forms[participle] = Form(base, "participle")
    forms[past] = Form(base, "past")
    forms[_third(base)] = Form(base, "third")
    forms[_ing(base)] = Form(base, "ing")
    forms[base] = Form(base, "base")


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return (base + base[-1] if base in _DOUBLED else base) + "ed"


def _third(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "x", "o")) else "s")


def _ing(base: str) -> str:
    if base.endswith("e") and not base.endswith("ee") and base != "be":
        return base[:-1] + "ing"
    doubled = base in _DOUBLED or base in {
        "run",
        "swim",
        "get",
        "put",
        "quit",
        "cut",
        "sit",
        "hit",
        "win",
        "begin",
        "set",
    }
    return (base + base[-1] if doubled else base) + "ing"


FORMS = _forms()
# Bases whose past is the same word: the helper or the date tells.
SAME_IN_PAST = frozenset("read put quit cut hit hurt set cost split".split())
_NOT_PAST = frozenset("need feed speed bleed seed exceed proceed breed weed embed bed red shed wed indeed".split())
_NOT_ING = frozenset(
    "bring sing ring thing nothing something anything everything king spring string wing during".split()
)


def form_of(word: str) -> Form | None:
    """Tell which verb a word is a form of; a guess by its ending where it is not known; None if it looks like
    none."""
    known = FORMS.get(word)
    if known is not None:
        return known
    if word.endswith("ed") and len(word) > 4 and word not in _NOT_PAST:
        return Form(_base(word[:-2]), "past")
    if word.endswith("ing") and len(word) > 5 and word not in _NOT_ING:
        return Form(_base(word[:-3]), "ing")
    return None


def _base(stem: str) -> str:
    """Guess which word an ending was put to: "stor" was "store", "count" itself, "stopp" was "stop"."""
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if _DOUBLE.search(stem):
        return stem[:-1]
    return stem + "e" if _LOST_E.search(stem) else stem


# Consonants that are doubled before an ending, and no word ends in doubled.
_DOUBLE = re.compile(r"[^aeiou][aeiou]([bdgmnprt])\1$")
# An e is gone after letters that end no word ("argu", "manag", "fenc"), where one syllable has one vowel and would have
# doubled its consonant otherwise ("blam", "stor"), and from common endings.
_LOST_E = re.compile(
    r"[cuvz]$|(?:[^n]|(?:r|ch)an|lun)g$|[^s]s$|[^aeiou][bcdfgkpt]l$|^[^aeiou]*[aeiou][^aeiouwxy]$"
    r"|(?:[^ae]at|[^aeo]ur|[^aeo]ir|plor|[a-z]{2}[bfgm]in)$"
)


def third_person(word: str) -> str:
    """Put a verb of the first person present into the third; other forms stay as they are."""
    special = {"am": "is", "are": "is", "have": "has", "do": "does", "'ve": "has", "'m": "is", "was": "was"}
    if word in special:
        return special[word]
    form = FORMS.get(word)
    return _third(word) if form and form.tense == "base" and word not in SAME_IN_PAST else word
