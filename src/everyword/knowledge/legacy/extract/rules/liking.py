"""Preferences: likes, dislikes, favourites, and how somebody wants things done."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.knowledge.legacy.extract.rules.found import (
    CLEAR,
    LIKELY,
    OUTRIGHT,
    Found,
    dangles,
    head,
    key_of,
    needs_third,
    points_away,
    stance_of,
)
from everyword.types.statements import Category, Stance, StatementKind

_DISLIKES = frozenset("hate dislike detest despise loathe".split())
_PEOPLE = (Who.SELF, Who.US, Who.PERSON)
_KEEN = re.compile(
    r"(?:(?:really|so|very|super|quite|also|still|just|totally|really) )?(?:not )?(?:(?:a|an) (?:(?:big|huge|massive"
    r"|great|avid|real|lifelong|die-hard) )?(?:fan|lover) of|into|fond of|keen on|crazy about|obsessed with"
    r"|interested in|passionate about|partial to|addicted to|hooked on|tired of|sick of|fed up with) (?P<value>.+)",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"(?:(?:my|our|her|his) )?(?:all-time |absolute )?favou?rite (?P<what>[\w\s'-]{2,40}?) (?:is|are|was"
    r"|has always been|would be) (?P<value>.+)",
    re.IGNORECASE,
)
# A liking for something at hand is a reaction: "the way it turned out", "the idea", "exploring the forums".
_REACTION = re.compile(
    r"the (?:way|idea|fact|concept|aspect|look|sound|sounds|vibe|thought|feel|feeling|part|point|song|picture|photo"
    r"|view)\b|the \w+ (?:of|and|in|on|from|that|\w+ )|(?:exploring|learning|trying|knowing|hearing|seeing|finding"
    r"|discussing|checking|using|adding|how|very|so) ?(?:more|out|some|about|the|what|how|if|much)?\b(?= |$)|(?:her"
    r"|his|their|such|this|that|these|those|your)\b",
    re.IGNORECASE,
)
_AVOIDED = re.compile(r"(?:eat|drink|wear|use|watch|touch|do|consume)$")
_IS_FAVOURITE = re.compile(
    r"(?P<value>(?!(?:this|that|it|these|those|he|she|they|what|which|here)\b)[\w\s'…\".-]{2,60}?) (?:is"
    r"|are) (?:definitely |still |probably )?(?:one of )?my (?:all-time "
    r"|absolute )?favou?rite (?P<what>[\w'-]+(?: [\w'-]+)?)",
    re.IGNORECASE,
)
_EMPTY_WANT = re.compile(
    r"(?:to (?:bother|be rude|sound|say|impose|miss|forget|give up|worry|know|think)|any trouble)\b",
    re.IGNORECASE,
)


def likes(clause: Clause) -> Found | None:
    """Read "love", "prefer", "hate", "do not like"."""
    if clause.subject.who not in _PEOPLE or (clause.tense in ("ing", "past", "participle") and not _lasting(clause)):
        return None
    if needs_third(clause) or points_away(clause.rest) or clause.helpers & {"will", "must", "should", "can"}:
        return None
    if clause.verb in ("like", "love") and clause.rest.startswith(("to think", "when you", "how ", "my life", "what ")):
        return None
    return _liking(clause, head(clause.rest), clause.negated != (clause.verb in _DISLIKES))


def cannot_stand(clause: Clause) -> Found | None:
    """Read "can not stand", "can not bear"."""
    if clause.negated and "can" in clause.helpers and not points_away(clause.rest):
        return _liking(clause, head(clause.rest), negative=True)
    return None


def does_without(clause: Clause) -> Found | None:
    """Read "do not eat pork", "can not eat dairy", "never drink coffee"."""
    if not clause.negated or clause.past or points_away(clause.rest) or not _AVOIDED.match(clause.verb):
        return None
    if clause.helpers & {"will", "did", "have", "had", "has", "should", "must"} or clause.subject.who not in _PEOPLE:
        return None
    value = head(clause.rest, 4)
    return Found(
        kind=StatementKind.PREFERENCE,
        category=Category.LIFESTYLE,
        confidence=CLEAR,
        attribute=f"{clause.verb}s:{key_of(value)}",
        value=value,
    )


def cannot_have(clause: Clause) -> Found | None:
    """Read "can't have gluten"."""
    if not clause.negated or "can" not in clause.helpers or clause.subject.who not in _PEOPLE:
        return None
    value = head(clause.rest, 3)
    if not value or dangles(value) or re.match(r"(?:a|an|the|my|to|been|any (?!\w+$))\b", value):
        return None
    return Found(
        kind=StatementKind.PREFERENCE,
        category=Category.WELLNESS,
        confidence=LIKELY,
        attribute=f"haves:{key_of(value)}",
        value=value,
    )


def keen(clause: Clause) -> Found | None:
    """Read "am a fan of", "am into", "am not interested in"."""
    match = _KEEN.match(clause.rest)
    if not match or points_away(match["value"]) or clause.subject.who not in _PEOPLE:
        return None
    if "interested in the " in match[0]:  # what the talk is about just now
        return None
    tired = re.search(r"\b(?:tired|sick|fed up)\b", match[0][: match.start("value")]) is not None
    return _liking(clause, head(match["value"]), (clause.negated or "not " in match[0][:14]) != tired)


def unwanted(clause: Clause) -> Found | None:
    """Read "do not want": what is wanted belongs to the plans."""
    if not clause.negated or clause.past or points_away(clause.rest) or _EMPTY_WANT.match(clause.rest):
        return None
    value = head(clause.rest)
    if dangles(value):
        return None
    return Found(
        kind=StatementKind.PREFERENCE,
        category=Category.PREFERENCES,
        confidence=CLEAR,
        attribute=f"wants:{key_of(value)}",
        value=value,
        negated=True,
    )


def rather(clause: Clause) -> Found | None:
    """Read "would rather": a wish by its form, a preference by its use."""
    if "would rather" not in clause.helpers or clause.verb in ("say", "know", "be") or " if " in clause.rest:
        return None
    return _liking(clause, head(f"{clause.verb} {clause.rest}"), clause.negated)


def favourite(clause: Clause) -> Found | None:
    """Read "my favourite band is"."""
    match = _FAVOURITE.match(clause.plain) or _IS_FAVOURITE.match(clause.plain)
    if not match or points_away(match["value"]) or match["what"].lower().startswith(("part", "thing", "memory")):
        return None
    value = head(match["value"].rstrip(" .!"))
    return Found(
        kind=StatementKind.PREFERENCE,
        category=Category.PREFERENCES,
        confidence=OUTRIGHT,
        attribute=f"favourite:{key_of(match['what'])}",
        value=value,
        about="",
    )


def _liking(clause: Clause, value: str, negative: bool) -> Found | None:
    if not value or dangles(value) or _REACTION.match(value):
        return None
    stance = stance_of(clause)
    return Found(
        kind=StatementKind.PREFERENCE,
        category=Category.PREFERENCES,
        confidence=CLEAR if clause.subject.who is not Who.PERSON else LIKELY,
        attribute=f"likes:{key_of(value)}",
        value=value,
        negated=(negative and stance is not Stance.ENDED) or clause.negated,
        stance=stance,
    )


def _lasting(clause: Clause) -> bool:
    """A liking in the past counts where it reaches the present ("have always loved"), or is of a work with a name."""
    named = re.match(r"(?:(?:reading|watching|playing) )?[\"“]", clause.rest) is not None
    return named or bool(clause.helpers & {"have", "has"})
