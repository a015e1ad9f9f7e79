"""What somebody is by trade, and where and when somebody was born."""

from __future__ import annotations

import re
from collections.abc import Iterator

from everyword.knowledge.legacy.extract.entities.lexicon import CAPITAL_WORDS
from everyword.knowledge.legacy.extract.facts.claims import Claim, Course

_TRADE = re.compile(
    r"(?:an? |the )(?P<v>(?:[\w-]+ ){0,3}?(?:engineer|developer|programmer|designer|architect|teacher|professor"
    r"|lecturer|doctor|nurse|surgeon|physician|vet|veterinarian|dentist|pharmacist|therapist|psychologist|physiotherapist"
    r"|midwife|paramedic|lawyer|solicitor|judge|accountant|auditor|analyst|consultant|economist|scientist|researcher"
    r"|biologist|chemist|physicist|mathematician|historian|librarian|archivist|journalist|editor|writer|author"
    r"|translator|interpreter|photographer|illustrator|painter|sculptor|musician|composer|actor|actress|dancer|chef"
    r"|cook|baker|barista|bartender|waiter|waitress|farmer|gardener|florist|carpenter|electrician|plumber|mechanic"
    r"|welder|builder|surveyor|pilot|driver|firefighter|policeman|police officer|soldier|manager|director"
    r"|administrator|recruiter|salesman|salesperson|marketer|secretary|receptionist|tailor|hairdresser|barber|coach"
    r"|trainer|social worker|team lead|tech lead|product owner|CEO|CTO|CFO|founder|postdoc|intern|apprentice|ranger"
    r"|carer|tutor|principal|priest|pastor))\b(?! (?:who|that|at heart|by nature|of sorts))(?P<more>.*)"
)
_AT_EMPLOYER = re.compile(r" (?:at|for|of|with) (?P<v>(?:the )?[^\W\d_a-z].*)")
_AFTER_ROLE = re.compile(
    r"\s(?:at|for|in|with|on|since|last|this|yesterday|today|and|now|two|three|a few|from|by)\b.*$"
)
_BIRTHPLACE = re.compile(r"\bin (?P<v>[^\W\d_a-z][\w'’ -]*)")
_BIRTHDAY = re.compile(r"\b(?:on|in) (?P<v>(?:the )?(?:\d|[A-Z][a-z]+ \d)[\w ,]*)")
_IN_A_PLACE = re.compile(r" in [^\W\d_a-z].*$")


def occupation(rest: str, course: Course) -> Iterator[Claim]:
    """Read "a software engineer at Monzo"."""
    role = _TRADE.match(rest)
    if role is None:
        return
    yield Claim(relation="has_role", object=role["v"], course=course, entity=False)
    if employer := _AT_EMPLOYER.match(role["more"]):
        yield Claim(relation="works_at", object=employer["v"], course=course)


def born(rest: str) -> Iterator[Claim]:
    """Read "born in Graz on 3 May 1990"."""
    place = _BIRTHPLACE.search(rest)
    if place and place["v"].split()[0].lower() not in CAPITAL_WORDS | {"may"}:
        yield Claim(relation="born_in", object=place["v"])
    if day := _BIRTHDAY.search(rest):
        yield Claim(relation="born_on", object=_IN_A_PLACE.sub("", day["v"]).strip(" ,"), entity=False)


def role_in(words: str) -> str:
    """Cut what follows a role: "lecturer at Leiden since May" is a lecturer."""
    return _AFTER_ROLE.sub("", words).strip(" -")
