"""Attributes that change in a life: where somebody lives, grew up and works."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.knowledge.legacy.extract.rules.found import (
    CLEAR,
    Found,
    attribute,
    head,
    key_of,
    needs_third,
    place_name,
    points_away,
    stance_of,
)
from everyword.types.statements import Category, Stance

_PEOPLE = (Who.SELF, Who.US, Who.PERSON)
_PLACED = re.compile(
    r"(?:just )?(?:in|near|at|on|outside|by|close to|next to|abroad|alone|with|around) ?(?P<v>.*)",
    re.IGNORECASE,
)
_NOT_PLACES = re.compile(
    r"(?:the moment|the present|the now|fear|peace|a dream|a palace|a bubble|hope|harmony|denial)\b",
    re.IGNORECASE,
)
_WORKING = re.compile(r"(?P<how>as an?|as the|as|at|for|in|with|from) (?P<v>.+)", re.IGNORECASE)
_WHERE = re.compile(
    r"\s(?:with|and|since|for|now|near|because|in (?:19|20)\d\d"
    r"|in (?:jan|feb|mar|apr|may|june|july|aug|sep|oct|nov|dec)\w*|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|last"
    r"|this|next|two|three|about|a few|back|when|from|on|to be|at the)\b.*$",
    re.IGNORECASE,
)
_NEW_JOB = re.compile(
    r"(?:(?:a|my|the|this) (?:new )?(?:job|role|position|post) (?:as (?:an? |the )?(?P<as>.+)|(?:at"
    r"|with) (?:an? )?(?P<at>.+))|(?:been )?promoted to (?P<to>.+))",
    re.IGNORECASE,
)


def living(clause: Clause) -> Found | None:
    """Read "live in": where somebody lives, or lived."""
    match = _PLACED.match(clause.rest)
    if clause.subject.who not in _PEOPLE or not match or _NOT_PLACES.match(match["v"]) or needs_third(clause):
        return None
    value = place_name(match["v"]) or _WHERE.sub("", head(match["v"], 6))
    stance = stance_of(clause)
    if stance is Stance.HOLDS and clause.tense == "past" and not clause.helpers & {"have", "has", "did"}:
        stance = Stance.ENDED
    slot = (
        "lives_in"
        if value[:1].isupper() and match[0].startswith(("in ", "near ", "on ", "just ", "outside "))
        else f"lives:{key_of(value)}"
    )
    return attribute(slot, value, Category.IDENTITY, CLEAR, stance)


def moving(clause: Clause) -> Found | None:
    """Read "moved to": a new place to live. "Am moving to" is a plan, not yet so."""
    match = re.match(r"(?:back |over |out |away |in )?(?:to|into) (?P<v>.+)", clause.rest)
    if not match or clause.subject.who not in _PEOPLE or not clause.past or clause.negated:
        return None
    value = place_name(match["v"]) or _WHERE.sub("", head(match["v"], 6))
    if points_away(value) or value.lower().startswith(("next", "the next", "tears")):
        return None
    slot = "lives_in" if value[:1].isupper() else "home"
    return attribute(slot, value, Category.IDENTITY, CLEAR, Stance.CHANGED)


def working(clause: Clause) -> Found | None:
    """Read "work as", "work at", "do not work there any more"."""
    if (
        clause.subject.who not in _PEOPLE
        or needs_third(clause)
        or clause.helpers & {"will", "need to", "have to", "should"}
    ):
        return None
    stance = stance_of(clause)
    if stance is Stance.HOLDS and clause.tense == "past" and not clause.helpers & {"have", "has"}:
        stance = Stance.ENDED
    match = _WORKING.match(clause.rest)
    if not match:
        if stance is Stance.ENDED and clause.negated:
            return attribute("employer", head(clause.rest, 4), Category.WORK_CAREER, CLEAR, stance)
        return None
    if points_away(match["v"]) or match["v"].lower().startswith(("me", "progress", "the best", "all")):
        return None
    how = match["how"].lower()
    if stance is Stance.ENDED and not clause.negated and how in ("in", "with", "from"):
        return None
    value = re.sub(r"\s(?:and|since|for (?:the (?:past|last)|\w+ years?)|now|these)\b.*$", "", head(match["v"], 8))
    if how in ("as", "as a", "as an", "as the"):
        slot = "job"
        value = re.sub(r"\s(?:at|for|in) .*$", "", value)
    else:
        slot = "employer" if how in ("at", "for") else f"works:{how}"
        value = re.sub(r"\sas (?:an?|the)\b.*$", "", value)
    return attribute(slot, value, Category.WORK_CAREER, CLEAR, stance)


def new_job(clause: Clause) -> Found | None:
    """Read "started a new job at a bakery", "got promoted to team lead"."""
    match = _NEW_JOB.match(clause.rest)
    if not match or not clause.past or clause.negated or clause.subject.who not in _PEOPLE:
        return None
    value = _WHERE.sub("", head(match["as"] or match["at"] or match["to"], 5))
    return attribute("employer" if match["at"] else "job", value, Category.WORK_CAREER, CLEAR, Stance.CHANGED)


def growing_up(clause: Clause) -> Found | None:
    """Read "grew up in"."""
    match = re.match(r"up (?:in|near|on|with|around) (?P<v>.+)", clause.rest)
    if match and clause.past and clause.subject.who in _PEOPLE:
        return attribute("grew_up", head(match["v"], 6), Category.IDENTITY, CLEAR, Stance.HOLDS)
    return None
