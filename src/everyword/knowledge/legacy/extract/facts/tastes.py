"""What somebody likes, and which languages somebody speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from everyword.knowledge.legacy.extract.facts.claims import Claim, Course, ends_now
from everyword.knowledge.legacy.extract.rules.clauses import Clause
from everyword.knowledge.legacy.extract.rules.found import dangles, head, points_away

# What is liked only here and now, or points at something that was said: "these ideas", "the colour", "watching them".
_OF_THE_TALK = re.compile(
    r"^(?:to|that|how|when|what|idea|seeing|hearing|your|this|these|those|their|his|its|(?-i:the (?=[a-z])))\b"
    r"|\b(?:them|it|him|those|these|this|that|you|your|ideas?|suggestions?|tips?|thought)\b",
    re.IGNORECASE,
)
_TASTE_WORDS = 7  # a longer taste is cut back to where a phrase ends
_JOINTS = frozenset("with and about into of in on for at to from by or".split())
_TRAILING = re.compile(r"\s(?:any ?more|a lot|so much|very much|too|best|now|lately)$")
_LEANING = re.compile(r"ed (?:at|on|to|about|for|with|by)[.!]?$")  # "being looked at": half of it would be left
_AGAINST = frozenset("hate dislike detest despise loathe".split())
_LANGUAGE = re.compile(
    r"\b(?:English|French|German|Spanish|Portuguese|Italian|Dutch|Swedish|Norwegian|Danish|Finnish|Icelandic|Russian"
    r"|Ukrainian|Polish|Czech|Slovak|Hungarian|Romanian|Bulgarian|Serbian|Croatian|Slovenian|Greek|Turkish|Arabic|Hebrew"
    r"|Persian|Farsi|Urdu|Hindi|Bengali|Punjabi|Tamil|Telugu|Chinese|Mandarin|Cantonese|Japanese|Korean|Vietnamese|Thai"
    r"|Indonesian|Malay|Tagalog|Swahili|Zulu|Yoruba|Igbo|Hausa|Amharic|Latin|Welsh|Irish|Gaelic|Basque|Catalan)\b"
)
_SPOKEN = re.compile(r"(?:\w+ ){0,2}?[A-Z]")
_SPOKEN_REACH = 80  # characters in which the languages are listed


def liking(clause: Clause) -> Iterator[Claim]:
    """Read "love", "hate", "do not like", "no longer enjoy"."""
    if clause.tense not in ("base", "third") or clause.helpers - {"do", "does", "no longer"}:
        return
    value = _taste(clause.rest)
    if _LEANING.search(clause.rest):
        return
    if not value or points_away(clause.rest) or dangles(value) or _OF_THE_TALK.search(value):
        return
    against, ended = clause.verb in _AGAINST, ends_now(clause)
    if clause.negated and against and not ended:
        return
    relation = "dislikes" if against or (clause.negated and not ended) else "likes"
    yield Claim(relation=relation, object=value, course=Course.ENDED if ended else Course.HOLDS, entity=False)


def speaking(clause: Clause) -> Iterator[Claim]:
    """Read "speak French and a little Arabic"."""
    if clause.negated or clause.tense not in ("base", "third") or not _SPOKEN.match(clause.rest):
        return
    for match in _LANGUAGE.finditer(clause.rest, 0, _SPOKEN_REACH):
        yield Claim(relation="speaks", object=match[0], entity=False)


def _taste(rest: str) -> str:
    words = head(rest, _TASTE_WORDS + 1).split()
    if len(words) > _TASTE_WORDS:
        joints = [place for place, word in enumerate(words) if word.lower() in _JOINTS and place]
        words = words[: joints[-1]] if joints else words[:_TASTE_WORDS]
    return _TRAILING.sub("", " ".join(words))
