"""Names in an event: read by rules, offline, with a score and a reason each."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple, Protocol

from everyword.knowledge.legacy.extract.entities import lexicon
from everyword.knowledge.legacy.extract.entities.gazetteer import NAME_WORDS
from everyword.knowledge.legacy.extract.entities.judge import (
    CERTAIN,
    HINTED,
    SHOWN,
    Verdict,
    is_listed,
    is_plain,
    judge,
    scene_of,
)
from everyword.knowledge.legacy.extract.entities.tokens import (
    Run,
    Word,
    bold_headings,
    is_heading,
    is_shouted,
    may_name,
    opaque_spans,
    runs_of,
    whole_sentences,
    words_of,
)
from everyword.knowledge.legacy.extract.noise import MOST_READ, Reason, worth_reading
from everyword.knowledge.legacy.extract.rules.apply import ASSISTANTS
from everyword.knowledge.legacy.extract.rules.kin import is_not_yet
from everyword.text.spans import composed
from everyword.types.events import Event, Span
from everyword.types.graph import EntityType, Mention, name_key

LEAST_SCORE = 0.55  # what is less sure is no mention: a wrong name costs more than a missed one
# An assistant writes of brands, titles and headings far more than of people: weak signs mislead there.
LEAST_OF_ASSISTANT = 0.65
KNOWN = 0.95  # a name that the space has already
_LOOK_BACK = 72  # characters before a name in which the words that make it a relation's name stand
_HASHTAG = re.compile(r"(?<![\w#&/])#(?P<topic>[^\W\d_][\w-]{2,40})")
_UPPER = re.compile(r"[^\W\d_a-z]")


class Names(Protocol):
    """What is known of the names in a space."""

    def type_of(self, key: str) -> EntityType | None:
        """Give the type of what goes by a folded name; None if the name is not known."""
        ...

    def within(self, text: str) -> list[Span]:
        """Find known names in a text whose script has no capitals."""
        ...


class _Candidate(NamedTuple):
    words: list[Word]
    verdict: Verdict | None


def find_mentions(event: Event, known: Names) -> list[Mention]:
    """List the names in an event, in its order; `known` are the names of its space. Pure."""
    if (letters := composed(event.text)) is not None:
        found = find_mentions(replace(event, text=letters.text), known)
        return [replace(one, span=letters.back(one.span), text=letters.quote(one.span)) for one in found]
    text = event.text
    least = LEAST_OF_ASSISTANT if (event.role or "").lower() in ASSISTANTS else LEAST_SCORE
    mentions = _uncased(text, known)
    if _UPPER.search(text, 0, MOST_READ) or "#" in text:
        mentions += _cased(text, known)
    elif len(text) <= MOST_READ:
        mentions += _small(text, known)
    mentions += _relations(text)
    return _apart([mention for mention in mentions if mention.score >= least])


def _cased(text: str, known: Names) -> list[Mention]:
    kept, skipped = worth_reading(text)
    spans = sorted([*kept, *(skip.span for skip in skipped if skip.reason is Reason.SMALL_TALK)])
    opaque = opaque_spans(text, MOST_READ)
    headings = bold_headings(text, MOST_READ)
    candidates: list[_Candidate] = []
    for sentence in whole_sentences(text, spans):
        if not may_name(text, sentence):
            continue
        words = words_of(text, sentence, opaque)
        candidates += _candidates(text, sentence, words, headings, known)
    return [*_topics(text, opaque), *_settled(text, _agreeing(text, candidates))]


def _candidates(text: str, sentence: Span, words: list[Word], headings: list[Span], known: Names) -> list[_Candidate]:
    shouted = is_shouted(words)
    heading = not shouted and is_heading(text, sentence, words)
    found: list[_Candidate] = []
    for run in runs_of(text, words):
        run = _peeled(words, run, known)
        if run is None:
            continue
        own = words[run.first : run.last + 1]
        verdict = _known(own, known, shouted) or _with_kin(text, own)
        headed = heading or any(span.start <= own[0].start < span.end for span in headings)
        if verdict is None and not shouted and (not headed or is_listed(" ".join(word.key for word in own))):
            verdict = judge(scene_of(text, words, run))
        found.append(_Candidate(own, verdict))
    return found


def _peeled(words: list[Word], run: Run, known: Names) -> Run | None:
    """Take off what is in capitals only because it stands first: "Yesterday Ana" is Ana."""
    first, last = run
    while first <= last:
        own = words[first : last + 1]
        key = name_key(" ".join(word.text for word in own))
        if known.type_of(key) is not None or not _comes_off(own):
            break
        first += 1
    while last > first and words[last].key in lexicon.COMMON_WORDS and not _is_tail(words[last].key):
        last -= 1  # "Ana Today" is Ana
    if first > last or (words[first].key in lexicon.CAPITAL_WORDS):
        return None
    return Run(first, last)


def _comes_off(own: list[Word]) -> bool:
    word = own[0]
    if len(own) == 1:
        return False
    if word.key in lexicon.TITLE_WORDS or word.key in lexicon.OF_HEADS or word.key in lexicon.PROJECT_BEFORE:
        return False
    if is_listed(" ".join(other.key for other in own)):
        return False
    # "Poor Mia" is Mia wherever it stands; "New Relic" in the middle of a sentence is not Relic.
    rest = " ".join(other.key for other in own[1:])
    return is_plain(word) and (word.initial or is_listed(rest) or is_listed(own[1].key))


def _is_tail(key: str) -> bool:
    return key in lexicon.ORGANISATION_TAILS or key in lexicon.PLACE_TAILS


def _known(own: list[Word], known: Names, shouted: bool) -> Verdict | None:
    text = " ".join(word.text for word in own)
    key = name_key(text)
    type = known.type_of(key)
    if type is None or (len(own) == 1 and own[0].initial and (key in NAME_WORDS or key in lexicon.COMMON_WORDS)):
        return None
    if shouted and (key in NAME_WORDS or key in lexicon.COMMON_WORDS):
        return None
    return Verdict(type, KNOWN, "known in this space")


def _with_kin(text: str, own: list[Word]) -> Verdict | None:
    kin = _kin(text, own)
    if kin is None or (own[0].text.isupper() and len(own[0].text) > 1):
        return None
    animal = kin[0] in lexicon.ANIMALS
    return Verdict(EntityType.THING if animal else EntityType.PERSON, CERTAIN, f"the name of a {kin[0]}")


def _kin(text: str, own: list[Word]) -> tuple[str, str | None, bool] | None:
    """Give the relation that a name stands beside, whose it is, and whether it is so and somebody's that is known."""
    words = text[max(0, own[0].start - _LOOK_BACK) : own[0].start]
    # Few names have such a word before them; looking for one first saves the search for most.
    word = words.rstrip(" ,(").rpartition(" ")[2].lower()
    before = lexicon.KIN_BEFORE_NAME.search(words) if word in lexicon.KIN_LAST_WORDS else None
    if before is not None and own[0].key not in lexicon.COMMON_WORDS:
        stated = before["be"] or before["been"] or before["named"]  # else it is presupposed, whatever is said
        unreal = is_not_yet(before["how"]) or (stated and lexicon.FRAMED.search(words, 0, before.start()))
        return lexicon.kin_of(before["kin"]), before["owner"], bool(before["mine"] or before["owner"]) and not unreal
    after = lexicon.IS_MY_KIN.match(text, own[-1].end, own[-1].end + _LOOK_BACK)
    if after is not None and not is_plain(own[0]):
        unreal = after["unreal"] or is_not_yet(after["how"]) or (after["be"] and lexicon.FRAMED.search(words))
        return lexicon.kin_of(after["kin"]), None, not unreal
    return None


def _agreeing(text: str, candidates: list[_Candidate]) -> list[tuple[list[Word], Verdict]]:
    """Let a name that is sure in one place, or beside its like, be one in the others too."""
    sure: dict[str, Verdict] = {}
    for words, verdict in candidates:
        if verdict is not None and verdict.score >= HINTED:
            key = " ".join(word.key for word in words)
            if key not in sure or sure[key].score < verdict.score:
                sure[key] = verdict
    agreed: list[tuple[list[Word], Verdict]] = []
    for index, (words, verdict) in enumerate(candidates):
        key = " ".join(word.key for word in words)
        plain = is_plain(words[0]) or key in NAME_WORDS
        if key in sure and not (verdict is None and plain) and (verdict is None or sure[key].score > verdict.score):
            verdict = Verdict(sure[key].type, min(sure[key].score, SHOWN), "named in another sentence too")
        elif verdict is None and not plain:
            verdict = _beside(text, candidates, index)
        if verdict is None or (verdict.score < SHOWN and _is_small_too(text, words)):
            continue
        agreed.append((words, verdict))
    return agreed


def _is_small_too(text: str, words: list[Word]) -> bool:
    """A word that stands in small letters elsewhere is a word, unless something strong says otherwise."""
    word = words[0].text.lower()
    return len(words) == 1 and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text[:MOST_READ]) is not None


def _beside(text: str, candidates: list[_Candidate], index: int) -> Verdict | None:
    """A name that "and" or a comma joins to another is of its type."""
    words = candidates[index].words
    if words[0].initial and len(words) == 1 and index + 1 == len(candidates):
        return None
    if words[0].text.isupper() and len(words[0].text) > 1:
        return None
    for other in (index - 1, index + 1):
        if not 0 <= other < len(candidates) or candidates[other].verdict is None:
            continue
        neighbour = candidates[other]
        verdict = neighbour.verdict
        left, right = (neighbour.words, words) if other < index else (words, neighbour.words)
        between = text[left[-1].end : right[0].start]
        joined = between in (" and ", ", and ", " & ") or (between == ", " and not words[0].initial)
        if between == " to " and other < index:
            joined = text[max(0, left[0].start - 5) : left[0].start].lower() == "from "
        if joined and verdict is not None and verdict.score >= HINTED:
            return Verdict(verdict.type, HINTED, f'beside "{neighbour.words[0].text}"')
    return None


def _settled(text: str, agreed: list[tuple[list[Word], Verdict]]) -> list[Mention]:
    mentions: list[Mention] = []
    for words, verdict in agreed:
        span = Span(words[0].start, words[-1].end)
        if words[0].key in lexicon.PROJECT_BEFORE and len(words) > 1:
            span = Span(words[1].start, span.end)
        kin = _kin(text, words) if verdict.type in (EntityType.PERSON, EntityType.THING) else None
        mine = kin is not None and kin[2]
        mentions.append(
            Mention(
                span=span,
                text=text[span.start : span.end],
                type=verdict.type,
                score=verdict.score,
                kin=kin[0] if kin and mine else None,
                owner=kin[1] if kin and mine else None,
                why=verdict.why,
            )
        )
    return mentions


def _topics(text: str, opaque: list[Span]) -> list[Mention]:
    if "#" not in text:
        return []
    found: list[Mention] = []
    for match in _HASHTAG.finditer(text, 0, MOST_READ):
        span = Span(match.start("topic"), match.end("topic"))
        if not any(hidden.start < span.end and span.start < hidden.end for hidden in opaque):
            found.append(Mention(span=span, text=match["topic"], type=EntityType.TOPIC, score=SHOWN, why="a hashtag"))
    return found


_SMALL_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SHORTEST_SMALL = 3  # letters: "al" and "jo" in small letters are too often something else


def _small(text: str, known: Names) -> list[Mention]:
    """Find known names in a text that has no capitals at all: its writer does not use them."""
    found: list[Mention] = []
    for match in _SMALL_WORD.finditer(text):
        word = re.sub(r"['’]s$", "", match[0])
        if len(word) < _SHORTEST_SMALL or word in NAME_WORDS or word in lexicon.COMMON_WORDS:
            continue
        type = known.type_of(name_key(word))
        if type is not None:
            span = Span(match.start(), match.start() + len(word))
            found.append(Mention(span=span, text=word, type=type, score=HINTED, why="known in this space"))
    return found


def _uncased(text: str, known: Names) -> list[Mention]:
    if text.isascii():
        return []
    return [
        Mention(
            span=span,
            text=text[span.start : span.end],
            type=known.type_of(name_key(text[span.start : span.end])) or EntityType.THING,
            score=KNOWN,
            why="known in this space",
        )
        for span in known.within(text[:MOST_READ])
    ]


def _relations(text: str) -> list[Mention]:
    """Find people who are named only by whose relation they are: "my sister", "Ana's boss"."""
    found: list[Mention] = []
    for match in lexicon.BARE_KIN_HERE.finditer(text, 0, MOST_READ):
        kin = lexicon.kin_of(match["kin"])
        type = EntityType.THING if kin in lexicon.ANIMALS else EntityType.PERSON
        span = Span(*match.span())
        found.append(
            Mention(
                span=span, text=match[0], type=type, score=SHOWN, kin=kin, owner=match["owner"], bare=True,
                why="named by the relation",
            )
        )  # fmt: skip
    return found


_NAME_FOLLOWS = 24  # characters between "my sister" and the name that says who she is: ", ", " is called "


def _apart(mentions: list[Mention]) -> list[Mention]:
    """Drop what overlaps something surer, and relations whose name follows at once."""
    named = [mention for mention in mentions if not mention.bare]
    chosen: list[Mention] = []
    ends = -1
    for mention in sorted(named, key=lambda mention: (mention.span.start, -mention.span.end, -mention.score)):
        if mention.span.start >= ends:
            chosen.append(mention)
            ends = mention.span.end
    for mention in mentions:
        if mention.bare and not any(
            other.kin == mention.kin and abs(other.span.start - mention.span.end) <= _NAME_FOLLOWS
            for other in chosen
            if not other.bare
        ):
            chosen.append(mention)
    return sorted(chosen, key=lambda mention: mention.span)
