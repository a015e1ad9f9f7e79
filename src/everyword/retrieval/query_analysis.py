"""Query analysis: the kind of question, the shape of its answer, the people and times it names.

The rules are for English. A question in another language, or one that no rule knows, is a lookup with the names that
its capitals show. Other stages use the analysis for ranking, so that a wrong guess must cost little.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from functools import cache, lru_cache
from typing import Literal

from msgspec import Struct

from everyword.text.dates import DateMention, Granularity, find_dates
from everyword.text.dates.rules import MONTHS, SHORT_MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from everyword.text.spans import ABBREVIATIONS, asks
from everyword.text.terms import STOPWORDS


class Kind(StrEnum):
    """How a question is answered."""

    LOOKUP = "lookup"
    TEMPORAL = "temporal"
    CAUSAL = "causal"
    LISTING = "listing"
    COUNTING = "counting"
    COMPARING = "comparing"  # two named things, each looked up
    PREFERENCE = "preference"
    ASSISTANT = "assistant"  # "what did you recommend me": what the assistant said


class Shape(StrEnum):
    """The type of the answer."""

    DATE = "date"
    DURATION = "duration"
    NUMBER = "number"
    PERSON = "person"
    PLACE = "place"
    REASON = "reason"
    YES_NO = "yes_no"
    THING = "thing"  # anything


class Window(Struct, frozen=True, kw_only=True):
    """A time that a question names, in UTC; the end is exclusive."""

    start: datetime
    end: datetime
    granularity: Granularity
    certain: bool
    ahead: bool = False  # it was still to come when the question was asked


class Analysis(Struct, frozen=True, kw_only=True):
    """The result of query analysis."""

    kind: Kind
    shape: Shape
    is_question: bool  # it has the form of one; else it is a remark, or words to look for
    names: tuple[str, ...] = ()  # proper names, in order, without possessive
    windows: tuple[Window, ...] = ()
    current: bool = False  # asks what holds now
    says_now: bool = False  # ... and says so: "now", "still", "more often than before"
    past: bool = False  # asks how things were: what was replaced since may be the answer
    first_last: Literal["first", "last"] | None = None  # "the first time", "most recently"
    effects: bool = False  # asks for effects
    addressed: bool = False  # asks what the assistant itself said
    hypothetical: bool = False  # "would she like ...": asks for an inference


MOST_READ = 4_000  # characters from the end; a page pasted before the question is ignored


def analyse(question: str, now: datetime) -> Analysis:
    """Analyse a question asked at `now`."""
    return _analysed(question[-MOST_READ:].replace("’", "'"), now)


@lru_cache(maxsize=64)  # recall and context analyse the same question
def _analysed(text: str, now: datetime) -> Analysis:
    mentions = find_dates(text, now)
    asked, whole, undated = _asked(text), text.lower(), _without(text, mentions)
    names, connective, order = _names(undated), _connective(undated), _order(undated.lower())
    dated = any(not mention.repeats for mention in mentions)
    signs = _Signs(asked, whole, names, dated, connective, order, addressed=_seen(_ADDRESSED, whole))
    kind, advice = _kind(signs), _seen(_ADVICE, signs.whole)
    says_now = _seen(_NOW, signs.whole) or _seen(_COMPARED_TO_PAST, signs.whole)
    asks_past = signs.order == "first" or _seen(_PAST_STATE, signs.whole)
    return Analysis(
        kind=kind,
        shape=_shape(signs, kind),
        is_question=any(map(str.isalnum, text)) and (asks(text) or _has_form_of_question(asked)),
        names=names,
        windows=tuple(_window(mention, now, advice=advice) for mention in mentions if not mention.repeats),
        current=says_now or _asks_present(signs, kind),
        says_now=says_now,
        past=signs.dated or (asks_past and not says_now),
        first_last=signs.order,
        effects=_seen(_EFFECTS, signs.whole) and not _seen(_WHY, asked),
        addressed=signs.addressed,
        hypothetical=_seen(_HYPOTHETICAL, asked) and not advice,
    )


class _Signs(Struct, frozen=True):
    asked: str  # the sentence that asks, from its question word on, in lower case
    whole: str  # the whole text, in lower case
    names: tuple[str, ...]
    dated: bool
    connective: str | None  # the word that relates the question to another event
    order: Literal["first", "last"] | None
    addressed: bool


# The sentence that asks

_ABBREVIATION = rf"\b({'|'.join(re.escape(word) for word in sorted(ABBREVIATIONS))}|[a-z])\.(?= )"
_SENTENCE = r"[^.!?\n]*(?:\.(?!\s|$)[^.!?\n]*){0,20}[.!?\n]?"
_QUESTION_WORD = r"\b(?:what|which|when|where|who|whom|whose|why|how)\b(?:'s|'re|'d)?"
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|might|may|isn't|aren't|wasn't|weren't|"
    r"don't|doesn't|didn't|hasn't|haven't|won't|wouldn't|couldn't)\b"
)
_ASKING_POLITELY = (
    r"(?:(?:can|could|would|will|do|did|are|were) you\b|tell me|remind me|i was wondering|i wonder|please|explain|"
    r"i(?:'m| am) (?:curious|wondering)|let me know|remember)"
)


def _asked(text: str) -> str:
    """Return the last question, from its question word on, or from its verb for a yes-or-no question."""
    spaced = " ".join(_compiled(_ABBREVIATION).sub(r"\1 ", text.lower()).split())
    sentences = [found.strip() for found in _compiled(_SENTENCE).findall(spaced) if found.strip()]
    questions = [sentence for sentence in sentences if sentence.endswith("?")]
    sentence = (questions or sentences or [""])[-1]
    opening = _compiled(r"(?:and|but|so|also|hey|hi|ok|okay|well|now)\b,?\s*").match(sentence)
    sentence = sentence[opening.end() :] if opening else sentence
    words = [found.start() for found in _compiled(_QUESTION_WORD).finditer(sentence)]
    if _compiled(_AUXILIARY).match(sentence) and not _compiled(_ASKING_POLITELY).match(sentence):
        return sentence
    if not words:
        return sentence
    if words[0] == 0 and sentence.startswith(("when", "where", "while")) and len(words) > 1:
        clause = sentence[: words[1]].rstrip()
        if clause.endswith(","):  # "When I was in Rome, what did I eat?"
            return sentence[words[1] :]
    return sentence[words[0] :]


def _has_form_of_question(asked: str) -> bool:
    forms = _QUESTION_WORD, _AUXILIARY, _ASKING_POLITELY
    return any(_compiled(form).match(asked) for form in forms)


# Names

_CASED = r"[^\s,;:!?()\[\]{}\"“”]+|[,;:!?()\[\]{}\"“”]"
_TITLES = frozenset("dr. mr. mrs. ms. st. prof. dr mr mrs ms prof".split())
_OPENERS = STOPWORDS | frozenset(
    """list name give remind explain describe show find compare any hey hi hello yes ok okay thanks thank earlier around
    since today yesterday tomorrow recently lately currently based according besides regarding concerning considering
    speaking would should might may will shall must isn't aren't wasn't weren't don't doesn't didn't hasn't haven't
    won't number what's who's where's when's how's that's there's i i'm i've i'd i'll we've we're you've previously last
    next apart aside given assuming suppose let's help every everything maybe perhaps actually also although though
    total which's it's he's she's they're christmas easter thanksgiving halloween""".split()
)
_WEEKDAY_NAMES = WEEKDAYS.keys() - SHORT_WEEKDAYS
_NEVER = (
    frozenset("i i'm i've i'd i'll tv ok pm am christmas easter thanksgiving halloween".split())
    | (MONTHS.keys() - SHORT_MONTHS - {"may"})
    | _WEEKDAY_NAMES
    | {f"{name}s" for name in _WEEKDAY_NAMES}
)
_LONGEST_NAME = 60  # characters; longer runs are not names


def _names(undated: str) -> tuple[str, ...]:
    """List capitalised names; the first word of a sentence counts unless it commonly opens one."""
    names: dict[str, None] = {}
    run: list[str] = []
    opening = True
    for found in _compiled(_CASED).finditer(undated):
        token = found[0].strip("'*_`")
        word = token.rstrip(".")
        bare = _owner(word)
        if _is_name(bare, opening, token, bool(run)):
            run.append(token if token.lower() in _TITLES or _is_initial(token) else bare)
            ends = bare != word or (token.endswith(".") and token.lower() not in _TITLES and not _is_initial(token))
        else:
            ends = True
        opening = token[-1:] in {".", "!", "?"} and token.lower() not in _TITLES and not _is_initial(token)
        if ends and run:
            names.setdefault(" ".join(run))
            run = []
    if run:
        names.setdefault(" ".join(run))
    return tuple(name for name in names if len(name) <= _LONGEST_NAME and name.lower() not in _TITLES)


def _owner(word: str) -> str:
    for ending in ("'s", "'S", "s'"):
        if word.endswith(ending) and len(word) > len(ending):
            return word[:-2] if ending != "s'" else word[:-1]
    return word


def _is_name(bare: str, opening: bool, token: str, running: bool) -> bool:
    lowered = bare.lower()
    if not bare[:1].isupper() or lowered in _NEVER:
        return False
    if token.lower() in _TITLES:
        return True
    if opening or not running:
        # A capitalised common word only begins a sentence or a title.
        return lowered not in _OPENERS
    return lowered not in {"and", "or"}


def _is_initial(token: str) -> bool:
    return len(token) == 2 and token[0].isupper() and token[1] == "."


# Times


def _window(mention: DateMention, now: datetime, *, advice: bool) -> Window:
    # "Any tips for this weekend?" asks about what is left of it.
    start = max(mention.start, now) if advice and mention.end > now else mention.start
    return Window(
        start=start, end=mention.end, granularity=mention.granularity, certain=mention.certain, ahead=start >= now
    )


def _without(text: str, mentions: list[DateMention]) -> str:
    """Blank out dates, so that "last" in "last week" does not ask for the last one, and "May" is no name."""
    for mention in mentions:
        start, end = mention.span
        text = text[:start] + ";" + " " * (end - start - 1) + text[end:]
    return text


_CONNECTIVE = (
    r"\b(before|after|since|until|when|while|during|following|prior to|between)\s+"
    r"(?:the|my|his|her|their|our|your|its|a|an|i|he|she|we|they|you|that|this|[a-z]+ing|[a-z]+'s|[a-z]+ed)\b"
)
_CONNECTIVE_NAME = r"\b([Bb]efore|[Aa]fter|[Ss]ince|[Uu]ntil|[Ww]hen|[Ww]hile)\s+[A-Z][a-z]+"
_ASKS_WHEN = r"\b(?:know|tell me|remember|remind me|wondering|recall|say|explain|exactly|since)\s+$"
_PASSES = r"\b(?:days?|weeks?|months?|years?|hours?|time|long|passed|elapsed|happened)\b"


def _connective(undated: str) -> str | None:
    """Find the word that relates the question to an event: "after the trip", "when Ana moved"."""
    lowered = undated.lower()
    for found in (*_compiled(_CONNECTIVE).finditer(lowered), *_compiled(_CONNECTIVE_NAME).finditer(undated)):
        word = found[1].lower()
        if word == "when" and _is_asked(lowered, found.start()):
            continue
        if word == "between" and not _seen(_PASSES, lowered):
            continue  # "the difference between the two"
        return word
    return None


def _is_asked(lowered: str, start: int) -> bool:
    """Tell whether a "when" asks the question, and does not begin a clause."""
    if lowered[:start].strip():
        return _compiled(_ASKS_WHEN).search(lowered, max(0, start - 24), start) is not None
    comma = lowered.find(",")
    return comma < 0 or not _seen(_QUESTION_WORD, lowered[comma:])


_FIRST = r"\b(?:first(?! (?:name|aid|class|lady|place))|earliest|initially|originally|in the beginning)\b"
_LAST = r"\b(?:last(?! (?:name|resort|minute))|latest|newest|most recent(?:ly)?|final)\b"


def _order(undated: str) -> Literal["first", "last"] | None:
    first, last = _compiled(_FIRST).search(undated), _compiled(_LAST).search(undated)
    if first and (last is None or first.start() < last.start()):
        return "first"
    return "last" if last else None


# Kinds

_SAID = (
    r"(?:told|said|recommended|suggested|mentioned|gave|given|listed|provided|explained|described|wrote|shared|advised|"
    r"referred|referring|showed|proposed|outlined|talked|came up)"
)
_SAY = (
    r"(?:tell|say|recommend|suggest|mention|give|list|provide|explain|describe|write|share|advise|refer|show|propose|"
    r"outline)"
)
_ADDRESSED = (
    r"\byou(?:'d|'ve| had| have| were| specifically| just| previously| once| already| also| last| first){0,2} "
    rf"{_SAID}\b|\bdid you (?:last |first |originally |already )?{_SAY}\b"
    r"|\byour (?:advice|recommendations?|suggestions?|answer|list)\b"
    r"|\bour (?:\w+ )?(?:previous|last|earlier|past|recent) (?:chat|conversation|discussion|session|talk|exchange)"
)
_ADVICE = (
    r"\b(?:can|could|would|will) you (?:please )?(?:recommend|suggest|advise)\b|\bany (?:\w+ ){0,2}(?:tips?|advice|"
    r"suggestions?|recommendations?|ideas?|thoughts)\b|\bwhat should (?:i|we)\b|\bwhat do you think\b|\bdo you think\b"
    r"|\b(?:suggestions|recommendations|ideas|tips) for\b|\bhelp me (?:choose|decide|pick)\b"
)
_WHY = (
    r"^why\b|\b(?:and|explain|know|tell me|remember|wondering) why\b|\bhow come\b|\bwhat for\b|\breasons?\b"
    r"|\bwhat(?:'s| is| was| were)? (?:it that )?(?:really |originally |first |initially )?(?:made|caused|motivated|"
    r"causes(?! (?:do|does|did|has|have|is|are|was|were)\b)|motivates|inspired|inspires|prompted|led|drove|drives|"
    r"convinced|triggered|behind|pushed|encouraged|persuaded)\b|\bhow (?:did|does) it come\b|\bcome about\b"
    r"|\bmotivations?\b|\bwhat (?:is|was) the (?:cause|purpose)\b"
)
_EFFECTS = (
    r"\blead to\b|\bled to\b|\bleads to\b|\bconsequences?\b|\brepercussions?\b|\boutcomes?\b|\bimpact(?:s|ed)?\b"
    r"|\beffects?\b|\baffect(?:s|ed)?\b|\bfollow(?:s|ed)? from\b|\bresult(?:s|ed)? (?:of|from|in)\b|\bc[oa]me of\b"
    r"|\bcause\b|\bbecause of\b|\bas a result\b|\bdue to\b|\bmean(?:s|t)? for\b|\bchange[sd]? for\b|\bset off\b"
    r"|\bbring about\b|\bmake (?:it )?possible\b|\btrigger(?:s|ed)?\b"
)
_SPANS = r"(?:days?|weeks?|months?|years?|decades?)"
_HOW_LONG = (
    rf"\bhow (?:long|soon)\b|\bhow many (?:\w+ )?{_SPANS}\b(?! (?:a|per|each|every)\b)|\bhow much (?:time|longer)\b"
    r"|\bhow many (?:hours|minutes)\b"
)
_SUMMED = r"\bhow many (?:hours|minutes)\b|\bhow much time (?:do|does|did|have|has) \w+ (?:spend|spent|dedicate|devote)"
_ASKS_DATE = (
    r"^when\b|\b(?:what|which)(?: \w+)? (?:year|month|week|date|day|weekday|holiday|season|decade)\b(?! (?:trip|job))"
    r"|\bwhat time\b|\b(?:know|tell me|remember|remind me|wondering|recall|exactly|and|since) when\b"
)
_COUNTS = (
    r"^number of\b|\bhow many\b|\bhow much\b(?! does \w+ (?:like|love|enjoy))|\bhow often\b"
    r"|\bhow frequently\b|\btotal\b|\bin all\b"
    r"|\b(?:what|which)(?:'s| is| was| were| are)? the (?:\w+ )?(?:number|amount|count|sum|average|percentage) \b"
    r"|\bthe (?:average|number of|amount of|sum of)\b|\baltogether\b"
)
_COMPARES = (
    r"\bin common\b|\bdifferences?\b|\bdiffer\b|\bcompared? (?:to|with)\b|\bsimilar(?:ity|ities|ly)?\b"
    r"|\b(?:more|less|fewer|\w{2,10}er|worse) (?:\w+ )?than\b"
)
_BOTH = r"\bboth\b|\band\b[^?]*\bshared?\b(?! with)|\bmutual\b|\btogether\b|\beach other\b"
_CHOICE = r",[^,?]+\bor\b"
_WHO_IS_MORE = r"^(?:who|which)(?:'s| \w+){0,2} (?:more|less|better|worse|\w{2,8}er)\b"
_COMES_FIRST = r"\b(?:first|earlier|later|sooner|before|after|recently|longest|last)\b"
_ORDERED = r"\b(?:(?:in )?what order|chronological|order of|sequence|timeline)\b"
_LIKES = (
    r"\bfavou?rites?\b|\bprefer(?:s|red|ence|ences)?\b|\bfan of\b|\bcan(?:'t|not) (?:\w+ )?stand\b|\btaste in\b"
    r"|\binterested in\b|\b(?:is|are|am|be|really|more)(?: [^\s?]+){0,2} into\b"
    r"|\b(?:do|does|did|would|might|n't|not)(?: [^\s?]+){1,3} (?:dis)?like\b|\b(?:dis)?likes\b|\benjoys?\b|\bhates?\b"
    r"|(?<!his )(?<!her )(?<!my )(?<!eir )\bloves?\b|\bfond of\b|\bkeen on\b"
)
_NOT_LIKES = (
    r"\b(?:look|looks|looked|feel|feels|felt|sound|sounds|taste|smell|seem|seems|be|been|it|was|is)(?: \w+)? like\b"
    r"|\b(?:would|'d) like (?:me|you) to\b|\blike (?:the|a|an) \w+ (?:did|was|said)"
)
_LISTS = (
    r"^(?:list|name|enumerate)\b|\b(?:give|show|tell) me (?:all|every\w*|a list|the names)\b"
    r"|\ball (?:of )?(?:the|my|his|her|their)\b|^(?:who|what|where) all\b|^what(?: else)? (?:has|have)\b"
    r"|^(?:what|which|who)(?:'re| are| were)\b(?! (?:you|we|they|i|he|she)\b)|\bwhat (?:kinds|types|sorts|all)\b"
)
_PLURALS = frozenset("people children men women kids feet teeth mice media".split())
_NOT_PLURALS = frozenset(
    "news series species kids' always does is was has this his its business class address bus".split()
)
_NOUN_PHRASE = (
    r"^(?:what|which) ((?:[a-z'-]+ ){1,4}?)"
    r"(?:did|does|do|has|have|had|is|are|am|was|were|can|will|would|could|should|might|that)\b"
)


def _kind(signs: _Signs) -> Kind:
    asked, whole = signs.asked, signs.whole
    if signs.addressed:
        return Kind.ASSISTANT
    if _seen(_ADVICE, whole):
        return Kind.PREFERENCE
    if _seen(_HOW_LONG, asked):
        return Kind.COUNTING if _seen(_SUMMED, asked) and not signs.connective else Kind.TEMPORAL
    if _seen(_ASKS_DATE, asked) or _seen(_ASKS_DATE, whole):
        return Kind.TEMPORAL
    if _seen(_WHY, asked):
        return Kind.CAUSAL
    return _kind_of_set(signs)


def _kind_of_set(signs: _Signs) -> Kind:
    """Classify questions about several things or about preferences; the rest are lookups."""
    asked, pair = signs.asked, len(signs.names) > 1
    if _seen(_CHOICE, asked) and _seen(_COMES_FIRST, asked):
        return Kind.TEMPORAL
    if _seen(_COMPARES, asked) or (pair and any(_seen(sign, asked) for sign in (_BOTH, _CHOICE, _WHO_IS_MORE))):
        return Kind.COMPARING
    if _seen(_COUNTS, asked):
        return Kind.COUNTING
    if signs.dated or signs.order or signs.connective in {"before", "after", "between"} or _seen(_ORDERED, signs.whole):
        return Kind.TEMPORAL
    if _seen(_LIKES, asked) and not _seen(_NOT_LIKES, asked):
        return Kind.PREFERENCE
    if _seen(_LISTS, asked) or _seen(_LISTS, signs.whole) or _asks_for_several(asked):
        return Kind.LISTING
    return Kind.LOOKUP


def _asks_for_several(asked: str) -> bool:
    """Tell whether a plural follows "what" or "which"."""
    phrase = _compiled(_NOUN_PHRASE).match(asked)
    if phrase is None:
        return False
    noun = phrase[1].split(" of ")[0].split()[-1]  # "jars of honey": jars
    return noun in _PLURALS or (
        len(noun) > 3 and noun.endswith("s") and not noun.endswith(("ss", "us", "'s")) and noun not in _NOT_PLURALS
    )


# Shapes

_PLACE = (
    r"^(?:where\b|(?:what|which) (?:\w+ ){0,2}?(?:city|cities|country|countries|town|towns|place|places|state|states|"
    r"village|location|locations|continent|region|neighbou?rhood|area|areas|island|street)\b)"
)
_PERSON = (
    r"^(?:who|whom|whose|who's)\b|\b(?:from|with|to|by|for) whom\b|^(?:what|which) (?:\w+ )?(?:person|people|friends?|"
    r"colleagues?|relatives?|teacher|doctor)\b"
)
_NUMBER = (
    r"^how (?:many|much|often|frequently|old|tall|big|far|heavy|fast|high|large|wide|deep)\b|\bcosts?\b"
    r"|\b(?:phone |house |account )?number\b|\b(?:what|which) (?:percentage|amount|price|age)\b"
)


def _shape(signs: _Signs, kind: Kind) -> Shape:
    asked = signs.asked
    if kind is Kind.CAUSAL:
        return Shape.REASON
    if _seen(_HOW_LONG, asked):
        return Shape.DURATION
    if kind is Kind.TEMPORAL and (_seen(_ASKS_DATE, asked) or _seen(_ASKS_DATE, signs.whole)):
        return Shape.DATE
    if kind is Kind.COUNTING:
        return Shape.NUMBER
    for pattern, shape in ((_PLACE, Shape.PLACE), (_PERSON, Shape.PERSON), (_NUMBER, Shape.NUMBER)):
        if _seen(pattern, asked):
            return shape
    if _seen(_ADVICE, signs.whole) or _seen(r"\bor\b", asked) or _compiled(_ASKING_POLITELY).match(asked):
        return Shape.THING
    return Shape.YES_NO if _compiled(_AUXILIARY).match(asked) else Shape.THING


# Other features

_HYPOTHETICAL = (
    r"\b(?:would|might|likely|probably|potentially|possibly)\b(?! (?:you|like (?:me|you) to)\b)"
    r"|^could (?!you\b|i\b|we\b)|\bwhat could\b|\bbe considered\b"
)
_NOW = (
    r"\b(?:now|currently|current|these days|at the moment|nowadays|still|at present|presently|right now|as of today|"
    r"anymore|so far)\b"
)
_PRESENT = (
    r"^(?:(?:what|which|who|whom|whose|where|how)(?:'s|'re)\s|(?:is|are|am|does|do)\b|(?:what|which|who|whom|whose|where|how)"
    r"(?: [a-z'-]+){0,4}? (?:is|are|am|does|do)\b)"
)
_PAST = (
    r"\b(?:did|was|were|had|been|ago|used to|ever|spent|got|bought|sold|paid|took|went|made|won|gave|saw|met|"
    r"[a-z]{3,}ed)\b"
)

_PAST_STATE = (
    r"\b(?:before|initial|initially|original|originally|previous|previously|earlier|used to|first|back then|"
    r"at the time)\b"
)
_COMPARED_TO_PAST = r"\bthan\b.{0,40}\b(?:before|previously|earlier|used to|did|was|were)\b"


def _asks_present(signs: _Signs, kind: Kind) -> bool:
    if kind in {Kind.TEMPORAL, Kind.CAUSAL, Kind.ASSISTANT} or signs.dated or _seen(_ADVICE, signs.whole):
        return False
    return _seen(_PRESENT, signs.asked) and not _seen(_PAST, signs.asked)


def _seen(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
