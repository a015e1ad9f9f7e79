"""How a find is worded: short, its subject named, in the words of the quote."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Subject, Who
from everyword.knowledge.legacy.extract.rules.found import Found
from everyword.knowledge.legacy.extract.rules.kin import ENDED, kin_name
from everyword.knowledge.legacy.extract.rules.verbs import third_person
from everyword.text.terms import shortened
from everyword.types.statements import Stance, StatementKind

LONGEST_CONTENT = 240  # characters; the quote has the rest

_FIRST_PERSON = {"my": "their", "me": "them", "mine": "theirs", "myself": "themselves"}
_OWN = re.compile(r"\b(?:my|me|mine|myself)\b")
_WORD = re.compile(r"[A-Za-z']+")
_PERSON_NAME = re.compile(r"[A-Z][\w'’-]*\w(?:\s[A-Z][\w'’-]*\w){0,2}")
_NOT_ENTITIES = frozenset(
    """I I'm I've I'll I'd The A An My Our We He She They It This That These Those And But So Or If When What
        Where Who How Why Yes No Yesterday Today Tomorrow Please Always Never Remember Remind Don't Do Let's Let
        Also Thanks Hi Hey Well Oh Since After Before As In On At For From With By Can Could Would Should Keep
        Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August
        September October November December Turns Just Not There Is Are Was TODO You Your Her His Ok Okay Sorry
        Maybe Use Write Last Next Every Then Now By""".split()
)


def whom(subject: Subject, speaker: str) -> str | None:
    """Name whom a clause is about."""
    if subject.who in (Who.SELF, Who.US, Who.NONE, Who.THING):
        return speaker
    if subject.name:
        return subject.name
    return kin_name(subject.owner or speaker, subject.kin) if subject.kin else None


def worded(clause: Clause, found: Found, speaker: str, sentence: str) -> str:
    """Word a find."""
    if found.kind is StatementKind.RELATIONSHIP and found.content:
        kin, _, name = found.content.partition(" ")
        over = found.stance is Stance.ENDED and kin not in ENDED  # an ex is one
        return f"{found.about or speaker}'s {kin} {'was' if over else 'is'} {name}"
    if clause.relative:
        return _short(f"{speaker}: {' '.join(sentence.split())}")
    subject = clause.subject
    predicate = clause.predicate.rstrip(" .!…")
    if subject.who is Who.SELF and clause.verb:
        return _short(f"{speaker}: {_own(_in_third_person(predicate))}{_lead(clause)}")
    if subject.who is Who.PERSON and clause.verb and found.about != "":
        return _short(f"{whom(subject, speaker)}: {predicate}{_lead(clause)}")
    if subject.who is Who.THING and subject.words.lower().startswith("my "):
        return _short(f"{speaker}'s {subject.words[3:]} {_own(predicate)}")
    plain = clause.plain.rstrip(" .!…")
    return _short(f"{speaker}: {plain}{_lead(clause)}")


def names_in(quote: str, about: str | None) -> tuple[str, ...]:
    """List the proper names in a quote, in order, and whom it is about."""
    found: dict[str, None] = {}
    for match in _PERSON_NAME.finditer(quote):
        words = [word for word in match[0].split() if word not in _NOT_ENTITIES]
        name = re.sub(r"['’]s$", "", " ".join(words))
        # The first word of a sentence is in capitals whatever it is.
        if name and (match.start() > 0 or name == about or len(words) > 1):
            found[name] = None
    if about and "'s " not in about and about != "project":
        found.setdefault(about)
    return tuple(found)


def _lead(clause: Clause) -> str:
    return f" ({clause.lead[0].lower()}{clause.lead[1:]})" if clause.lead else ""


def _in_third_person(predicate: str) -> str:
    """Put the first verb into the third person; what comes before it are adverbs."""
    for match in _WORD.finditer(predicate[:60]):
        word = match[0].lower()
        if word in (
            "not",
            "never",
            "really",
            "just",
            "also",
            "still",
            "now",
            "always",
            "often",
            "usually",
        ) or word.endswith("ly"):
            continue
        return (
            predicate[: match.start()]
            + third_person(word if match[0].islower() else match[0])
            + predicate[match.end() :]
        )
    return predicate


def _own(text: str) -> str:
    return _OWN.sub(lambda match: _FIRST_PERSON.get(match[0].lower(), match[0]), text)


def _short(content: str) -> str:
    return shortened(content, LONGEST_CONTENT)
