"""Relations: who is who to whom, said outright or presupposed; and facts that the words imply."""

from __future__ import annotations

import re
from dataclasses import replace

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who, may_be_name
from everyword.knowledge.legacy.extract.rules.found import CLEAR, IMPLIED, OUTRIGHT, Found, head
from everyword.knowledge.legacy.extract.rules.kin import (
    BLOOD,
    ENDED,
    KIN_PATTERN,
    PETS,
    SEVERAL,
    SINGLE,
    is_not_yet,
    is_over,
)
from everyword.types.statements import Category, Stance, StatementKind

_NAME = r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)?"
_CALLED = re.compile(
    rf"(?:is|are|'s) (?:also )?(?:called|named) (?P<name>{_NAME}(?:(?:,| and) {_NAME}){{0,3}})"
    rf"|name is (?P<other>{_NAME})",
)
_IS_MY = re.compile(
    rf"(?P<name>{_NAME}) (?P<be>is|was|used to be|is (?P<no>not|no longer)) (?:actually |also |now )?(?:my|our) "
    rf"(?P<how>(?:[\w-]+ ){{0,2}}?)(?P<kin>{KIN_PATTERN})\b(?P<more> any ?more)?",
    re.IGNORECASE,
)
_OWN_KIN = re.compile(rf"(?:my|our) (?P<how>(?:[\w-]+ ){{0,2}}?)(?P<kin>{KIN_PATTERN})\b", re.IGNORECASE)
_NAME_OF = re.compile(rf"(?:my|our) (?:\w+ )?(?P<kin>{KIN_PATTERN})(?:'s| s) name is (?P<name>{_NAME})")
_NAMED_PET = re.compile(
    rf"\ban? (?:\w+ ){{0,3}}?(?P<kin>{'|'.join(PETS)}|\w+hound|\w+ retriever) (?:called|named) (?P<name>{_NAME})",
)
# "I live in Porto with my husband Marc": what is presupposed is so, whatever is told of it.
_BESIDE = re.compile(
    rf"\b(?:my|our) (?P<how>(?:(?!(?:and|or|of|the)\b)[a-z-]+ ){{0,2}}?)(?P<kin>{KIN_PATTERN}),? (?P<name>{_NAME})"
    r"(?!'s|[\w-])"
)
_IMPLIED = (
    # pattern, attribute, value, kind
    (
        re.compile(
            r"\b(?:since|after|before|during) (?:the|my|our) divorce\b|\b(?:since|after|before|when) we got divorced\b",
            re.IGNORECASE,
        ),
        "marital_status",
        "divorced",
        StatementKind.ATTRIBUTE,
    ),
    (
        re.compile(r"\bwe (?:split up|broke up|separated)\b(?! (?:the|our|my|an?|at|into|for) )", re.IGNORECASE),
        "marital_status",
        "separated",
        StatementKind.ATTRIBUTE,
    ),
    (
        re.compile(r"\bour (?:\w+ )?wedding anniversary\b|\bwhen we got married\b", re.IGNORECASE),
        "marital_status",
        "married",
        StatementKind.ATTRIBUTE,
    ),
)
_AS_A = re.compile(r"(?:^|, )[Aa]s an? (?P<v>(?:[\w-]+ ){0,3}[\w-]+), (?=I\b|my\b)")
_SINCE_I = re.compile(
    r"\b(?:since|after|before|when|ever since) I became an? (?P<v>[\w-]+(?: [\w-]+)?)",
    re.IGNORECASE,
)
_NEW_JOB = re.compile(
    r"\bmy (?P<old>old |former |previous |last )?(?:new |current )?(?:job|role|position) (?:as an?|as the"
    r"|(?P<at>at) (?=(?-i:[A-Z]))) ?(?P<v>(?:[\w'-]+ ){0,3}[\w'-]+)",
    re.IGNORECASE,
)
_MY_EX = re.compile(r"\bmy (?P<kin>ex(?:-\w+)?)\b", re.IGNORECASE)


def relation(clause: Clause) -> Found | None:
    """Read "my sister is called Mia", "Tom is my brother-in-law", and the name beside a relation: "my brother
    Tom"."""
    subject = clause.subject
    named = _NAME_OF.match(clause.plain)
    if named:
        return _is_kin(named["name"], named["kin"].lower(), OUTRIGHT)
    if subject.who is Who.PERSON and subject.kin is not None:
        called = _CALLED.match(clause.predicate)
        name = (called["name"] or called["other"]) if called else subject.name
        own = _OWN_KIN.match(subject.words)
        over = own is not None and is_over(subject.kin, own["how"])
        return _is_kin(name, subject.kin, OUTRIGHT if called else CLEAR, subject.owner, over) if name else None
    is_my = _IS_MY.match(clause.plain)
    if is_my and is_my["name"][0].isupper():
        return _was_or_is_kin(is_my)
    pet = _NAMED_PET.search(clause.plain)
    if pet and subject.who in (Who.SELF, Who.US):
        return _is_kin(pet["name"], pet["kin"], CLEAR)
    beside = _BESIDE.search(clause.plain)
    if beside is None or is_not_yet(beside["how"]) or not may_be_name(beside["name"]):
        return None
    kin = beside["kin"].lower()
    if kin in SEVERAL:
        return None
    return _is_kin(beside["name"], kin, CLEAR, over=is_over(kin, beside["how"]))


def is_kin(found: Found) -> bool:
    """Tell whether a find is that somebody is somebody's relation: when they did what is told beside it is no part."""
    return found.kind is StatementKind.RELATIONSHIP


def _was_or_is_kin(is_my: re.Match[str]) -> Found | None:
    kin = is_my["kin"].lower()
    denied = (is_my["no"] or "").lower() == "not" and not is_my["more"]
    if denied or is_not_yet(is_my["how"]):
        return None
    over = is_over(kin, is_my["how"]) or (is_my["be"].lower() != "is" and kin not in BLOOD)
    return _is_kin(is_my["name"], kin, OUTRIGHT, over=over)


def is_only_relation(clause: Clause) -> bool:
    """Tell whether a clause says nothing more than the relation."""
    return bool(_CALLED.match(clause.predicate) or _NAME_OF.match(clause.plain) or _IS_MY.match(clause.plain))


def implied(clause: Clause) -> Found | None:
    """Find what the words presuppose: "my ex", "since the divorce", "my new job as a park ranger"."""
    text = f"{clause.lead} {clause.plain}" if clause.lead else clause.plain
    for pattern, attribute, value, kind in _IMPLIED:
        if pattern.search(text):
            return _presupposed(attribute, value, Category.RELATIONSHIPS, kind)
    if (match := _MY_EX.search(text)) and relation(clause) is None:
        kin = match["kin"].lower()
        return _presupposed(f"has:{kin}", kin, Category.RELATIONSHIPS, StatementKind.RELATIONSHIP)
    if match := _NEW_JOB.search(text):
        value = re.sub(r"\s(?:yesterday|today|last|this|and|in|for|because)\b.*$", "", head(match["v"], 4))
        found = _presupposed("employer" if match["at"] else "job", value, Category.WORK_CAREER)
        over = match["old"] or clause.verb in ("lose", "quit", "leave")
        return replace(found, stance=Stance.ENDED) if over else found
    if match := _SINCE_I.search(text):
        return _presupposed(f"is:{match['v'].lower()}", match["v"], Category.IDENTITY)
    if match := _AS_A.search(text):
        return _presupposed(f"is:{match['v'].lower()}", match["v"], Category.IDENTITY)
    return None


def _is_kin(name: str, kin: str, confidence: float, owner: str | None = None, over: bool = False) -> Found:
    return Found(
        kind=StatementKind.RELATIONSHIP,
        category=Category.RELATIONSHIPS,
        confidence=confidence,
        attribute=kin if kin in SINGLE else f"{kin}:{name.lower()}",
        value=name,
        negated=False,
        about=owner or "",
        stance=Stance.ENDED if over or kin in ENDED else Stance.HOLDS,
        content=f"{kin} {name}",
    )


def _presupposed(
    attribute: str, value: str, category: Category, kind: StatementKind = StatementKind.ATTRIBUTE
) -> Found:
    return Found(
        kind=kind,
        category=category,
        confidence=IMPLIED,
        attribute=attribute,
        value=value,
        about="",
        negated=False,
        stance=Stance.HOLDS,
    )
