"""Sentences and clauses that say something without claiming it: hypotheses, wishes, other people's words, irony."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.noise import Reason
from everyword.knowledge.legacy.extract.rules.clauses import Clause

_IRONY = re.compile(
    r"^(?:oh|yeah|yes|sure|wow|ah)[, ]+(?:sure|right|great|yeah|and i'?m|of course|joy|fantastic|wonderful|perfect)\b"
    r"|^sure, and\b|\s/s$|\bsaid (?:nobody|no one)\b|\b(?:exactly|just) what i (?:needed|wanted)\b"
    r"|\ball the time in the world\b|^great, another\b|^as if i\b|^not that i\b|\bnot like i\b"
    r"|\b(?:just|only) (?:kidding|joking)\b|^jk\b|\bjk[.!]*$",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"(?:(?:haha|lol|no|nah|ok|okay|well)[,!. ]+)*(?:i(?:['’]m| am) )?(?:(?:just|only) (?:kidding|joking)|kidding|jk)"
    r"[.!… ]*(?::-?[)DP])?",
    re.IGNORECASE,
)
_SUPPOSING = re.compile(
    r"^(?:and |but |so |well,? |even |like |say |or ){0,2}(?:if|unless|suppose|supposing|imagine|pretend|assuming"
    r"|assume|what if|let(?:'s| us) (?:say|pretend|assume|imagine)|maybe|perhaps|should (?:i|we)|had (?:i|we)"
    r"|were (?:i|we)|whether|now that|in another life|in a perfect world|in theory|ideally|hopefully|i wonder|act as"
    r"|you are an?|you're an?|let's imagine)\b",
    re.IGNORECASE,
)
_UNCLAIMED = re.compile(
    r"\b(?:i wish|i wonder|wondering (?:if|whether|what|how)|not sure|not certain|unsure|i doubt|i'm not saying"
    r"|i am not saying|never said|did not say|thinking (?:of|about|that)|considering|toying with|in two minds"
    r"|torn between|debating (?:whether|if)|have not decided|has not decided|not decided|undecided|did not decide"
    r"|not yet decided|trying to decide|deciding whether|dreamt|dreamed that|in my dream|could be that|for example"
    r"|e\.g\.|hypothetically)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|unless|whether|as long as|in case|depending on)\b", re.IGNORECASE)
_OTHERS_WORDS = re.compile(
    r"^(?:according to|rumou?r has it|they say|people say|(?:he|she|they|someone|somebody|everyone|nobody"
    r"|no one)\b.{0,30}\b(?:said|says|told|claims?|claimed|thinks?|wrote|writes|asked|keeps? saying)\b|in the (?:film"
    r"|movie|book|novel|story|show|series|game|episode|song|play)\b|the (?:sign|article|song|narrator|author|email"
    r"|e-mail|letter|poem|story|film|movie|book|headline|paper|lyrics|poster|hero|heroine|protagonist|character)\b"
    r"|my character\b|quote of\b|as the saying|the saying)|\b(?:whispered|shouted|replied|yelled|muttered)\b",
    re.IGNORECASE,
)
_SPEECH = re.compile(
    r"\b(?:sa(?:id|ys?)|told|tells?|wrote|writes|reads?|goes|asked|like|titled|called|quoted|shouted"
    r"|sang)\b[^\"“]{0,20}$",
)
_QUOTATION = re.compile(
    r"[\"“](?P<double>[^\"“”]{3,300})[\"”]|(?<![\w])['‘](?P<single>[^'‘\n]{3,200}(?:'\w[^'\n]{0,100})?)['’](?!\w)",
)
QUOTED_WORDS = 3  # so many words between quotation marks are a sentence or a title, not a term

# Helpers that make a statement a possibility.
_POSSIBLE = frozenset(("would", "could", "might", "may", "was going to", "were going to"))


def sentence_reason(sentence: str) -> Reason | None:
    """Tell why a sentence claims nothing, if so."""
    if _IRONY.search(sentence):
        return Reason.SARCASM
    if _SUPPOSING.match(sentence):
        return Reason.HYPOTHETICAL
    return None


def takes_back(sentence: str) -> bool:
    """Tell whether a sentence says that the one before was a joke: "Just kidding!"."""
    return _TAKEN_BACK.fullmatch(sentence) is not None


def hide_quotations(text: str) -> str:
    """Put dots in the place of sentences and titles between quotation marks; every other character keeps its
    place."""
    if '"' not in text and "“" not in text and "'" not in text and "‘" not in text:
        return text
    return _QUOTATION.sub(_dots, text)


def clause_reason(clause: Clause, verbatim: str) -> Reason | None:
    """Tell why a clause claims nothing, if so."""
    plain = clause.plain
    if _SUPPOSING.match(plain) or _UNCLAIMED.search(plain):
        return Reason.HYPOTHETICAL
    if _OTHERS_WORDS.search(plain):
        return Reason.QUOTED
    if "…" in verbatim and _SPEECH.search(verbatim[: verbatim.index("…")]):
        return Reason.QUOTED
    if clause.helpers & _POSSIBLE or clause.adverbs & {"almost", "nearly"}:
        return Reason.HYPOTHETICAL
    return None


def is_conditional(clause: Clause) -> bool:
    """Tell whether a clause holds only under a condition."""
    condition = _CONDITION.search(clause.plain)
    if condition is None:
        return False
    return not re.search(r"\b(?:ask|check|see|know)\s$", clause.plain[: condition.start()])


def _dots(match: re.Match[str]) -> str:
    inner = match["double"] or match["single"] or ""
    if len(inner.split()) < QUOTED_WORDS:
        return match[0]
    return match[0][0] + "…" * (len(match[0]) - 2) + match[0][-1]
