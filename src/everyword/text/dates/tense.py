"""The context of a date: its anchor, the words around it, and whether the verbs put it in the past or the future."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile

from msgspec import Struct

from everyword.lazy_patterns import lazy_pattern
from everyword.text.dates.calendar import DAY, Interval, parts

_CLAUSE_CHARS = 120  # characters searched for a verb on either side of a date
_AFTER_PENALTY = 4  # words: the verb mostly precedes its date, so one after it counts as farther away

_CLAUSE_END = lazy_pattern(r"[.!?;\n](?=\s|$)|\n")
_VERB_WORD = lazy_pattern(r"[A-Za-z]+(?:'[a-z]{1,3})?")
# After a date these words start another clause with its own verb.
_OTHER_CLAUSE = frozenset("and but because so which that since while if".split())
_FUTURE = frozenset(
    """will won't shall gonna tomorrow upcoming scheduled postponed rescheduled hopefully deadline due let's should
    might could plan plans planning wanna remind reminder expect expects expecting appointment starts begins leaves
    arrives flies i'll we'll he'll she'll they'll you'll it'll ahead would i'd we'd he'd she'd they'd
    you'd it'd""".split()
)
_FUTURE_PAIRS = frozenset(
    """going-to about-to hope-to hoping-to want-to wants-to need-to needs-to have-to has-to like-to love-to supposed-to
    set-to looking-forward can't-wait see-you thinking-of thinking-about""".split()
)
# Verbs of scheduled events, in the present tense: "we ship on 14 May", "the sync moves to Thursday".
_SCHEDULED_VERBS = frozenset(
    """ship launch release start begin leave arrive fly travel move meet open close end finish land depart return come
    go present deploy deliver publish submit kick host graduate retire resume expire renew migrate switch play perform
    compete interview freeze merge premiere debut ride drive""".split()
)
_PLURAL_PRONOUNS = frozenset("i we they you".split())
_CONJUNCTIONS = frozenset("and then but".split())  # "I quit here and start there on Monday"; before _NEVER_NOUNS
_NEVER_NOUNS = frozenset("start begin leave arrive fly go come depart resume".split())
# Words that precede a plural noun, not a verb.
_BEFORE_NOUNS = frozenset(
    """the a an two three four five six some several many few more most all both my your his her its our their these
    those new old other first last next of in on for with from by""".split()
)
_IS = frozenset("is are isn't aren't it's that's".split())
_TIME_PREPOSITIONS = frozenset("on at in by this the for until till".split())
_BE_FORMS = frozenset("am are is i'm we're you're they're he's she's it's be".split())
_PAST = frozenset(
    """was were wasn't weren't did didn't had hadn't i've we've they've you've been ago yesterday finally went
    got came saw met took made gave told said found bought ate drank ran began left felt lost won spent
    wrote sold sent taught thought caught brought flew drove rode swam sang slept broke chose grew knew
    heard held kept paid became built fell forgot led woke wore threw spoke stood hit fought sat shot
    stuck drew swore gone done seen""".split()
)
_NOT_PAST = frozenset(
    """need feed speed indeed exceed excited interested supposed tired hundred sacred wicked unexpected embed bed red
    shed wed seed weed""".split()
)

# What stands before a participle decides its tense, the first that occurs: "was delivered" is past, "will be delivered"
# and "must be paid" are not. Without an auxiliary it is a preterite.
_PARTICIPLES = frozenset(
    """been met made told said found bought left felt lost won spent sold sent taught thought caught brought heard held
    kept paid built led hit shot stuck gone done seen""".split()
)
_AUXILIARIES = (
    (frozenset("will won't shall gonna i'll we'll he'll she'll they'll you'll it'll".split()), False),
    (frozenset(("been",)), True),
    (frozenset(("be", "gets")), False),
    (frozenset("have has had hadn't was were wasn't weren't did didn't".split()), True),
    (frozenset("get getting he's she's it's that's who's what's there's".split()), None),  # another verb decides
    (frozenset("am are is isn't aren't i'm we're you're they're to".split()), False),
)
_BETWEEN = frozenset("being not also already just still soon now never ever always all both fully back".split())
_BEFORE_PARTICIPLES = _BETWEEN.union(*(words for words, _ in _AUXILIARIES))


def verbs_look_back(text: str, start: int, end: int) -> bool | None:
    """Return whether the verbs around a date put it in the past (True) or the future (False); None if unclear.

    Nouns ("my appointment") and former plans ("I was going to fly") count as well.
    """
    before = text[max(0, start - _CLAUSE_CHARS) : start]
    ends = [found.end() for found in _CLAUSE_END.finditer(before)]
    behind = _VERB_WORD.findall(before[ends[-1] :].lower() if ends else before.lower())
    after = text[end : end + _CLAUSE_CHARS]
    stop = _CLAUSE_END.search(after)
    ahead = _VERB_WORD.findall(after[: stop.start()].lower() if stop else after.lower())
    for distance in range(max(len(behind), len(ahead) + _AFTER_PENALTY)):
        if distance < len(behind):
            hint = _tense_of(behind, len(behind) - 1 - distance)
            if hint is not None:
                return hint
        place = distance - _AFTER_PENALTY
        if 0 <= place < len(ahead):
            if ahead[place] in _OTHER_CLAUSE:
                ahead = ahead[:place]
                continue
            hint = _tense_of(ahead, place)
            if hint is not None:
                return hint
    return None


def _tense_of(words: list[str], place: int) -> bool | None:
    """Return the tense of one word: True for past, False for future, None if unclear."""
    word = words[place]
    before = words[place - 1] if place else ""
    follows = words[place + 1] if place + 1 < len(words) else ""
    if word in _FUTURE or f"{word}-{follows}" in _FUTURE_PAIRS:
        return False
    if word in _NOT_PAST:
        return None
    if word in _PARTICIPLES or word.endswith("ed"):
        return _participle_tense(words, place)
    if word in _PAST:
        return True
    if _is_scheduled(word, before) or (word in _IS and (not follows or follows in _TIME_PREPOSITIONS)):
        return False
    if word.endswith("ing") and place:
        auxiliary = words[place - 2] if before.endswith("ly") and place > 1 else before
        return False if auxiliary in _BE_FORMS or before == "not" else None
    return None


def _is_scheduled(word: str, before: str) -> bool:
    if word in _SCHEDULED_VERBS:
        return before in _PLURAL_PRONOUNS or (word in _NEVER_NOUNS and before in _CONJUNCTIONS)
    verb = word.removesuffix("s")
    scheduled = verb in _SCHEDULED_VERBS or verb.removesuffix("e") in _SCHEDULED_VERBS
    return scheduled and verb != word and before not in _BEFORE_NOUNS


def _participle_tense(words: list[str], place: int) -> bool | None:
    """Return the tense of a participle or preterite, by its auxiliaries."""
    before = reversed(words[:place])
    found = set(takewhile(lambda word: word in _BEFORE_PARTICIPLES or word.endswith("ly"), before))
    return next((past for words, past in _AUXILIARIES if not found.isdisjoint(words)), True)


_WORD_REACH = 24  # characters searched for the word before or after a position
_AHEAD_REACH = 32  # characters searched for words that point ahead

# Words that point to the future unless a verb contradicts: "a week from Friday", "by close of business on Friday".
_AHEAD = lazy_pattern(
    r"\b(?:until|till|by|through|(?:day|week|month|year)s? from)(?: the)?"
    r"(?: (?:eod|cob|(?:end|close) of (?:day|business|play|work))(?: on)?| (?:end|start|beginning|middle) of)?"
    r"(?: the| early| late)?(?: | mid-)$",
    re.IGNORECASE,
)
_NEXT_WORD = lazy_pattern(r"\s{1,3}([A-Za-z][A-Za-z']*)")
# Words before a number that show that it is a year.
YEAR_WORDS = frozenset("in since until till by during before after around circa year of from to late early mid".split())
_PART_OF = lazy_pattern(
    r"\b(?:morning|afternoon|evening|night|end|start|beginning|middle|week|weekend|rest|half|all|\w{0,6}day) of $",
    re.IGNORECASE,
)
_CENTURY_TURN = 70  # two-digit years from this one on belong to the last century


class DateContext(Struct, frozen=True, kw_only=True):
    """A text and its anchor; `past` overrides the verbs."""

    text: str
    now: int  # seconds, as in calendar.py
    past: bool | None
    default_past: bool = True  # if nothing decides

    @property
    def day(self) -> int:
        return self.now // DAY

    def is_past(self, start: int, end: int) -> bool | None:
        """Return whether "since" or the nearest verb puts a date in the past (True) or the future (False)."""
        if self.before(start) == "since":
            return True
        return verbs_look_back(self.text, start, end) if self.past is None else self.past

    def looks_back(self, match: re.Match[str]) -> bool:
        """Return whether an ambiguous date is in the past; `default_past` if nothing decides."""
        past = self.is_past(match.start(), match.end())
        if past is not None:
            return past
        if _AHEAD.search(self.text, max(0, match.start() - _AHEAD_REACH), match.start()) is not None:
            return False
        return self.default_past

    def before(self, place: int) -> str:
        """Return the word right before a position, in lower case, with its punctuation."""
        words = self.text[max(0, place - _WORD_REACH) : place].rsplit(None, 1)
        return words[-1].lower().lstrip("(\"'“‘[") if words else ""

    def after(self, place: int) -> str:
        """Return the word right after a position as written; empty if punctuation comes first."""
        found = _NEXT_WORD.match(self.text, place, place + _WORD_REACH)
        return found[1] if found else ""


class Rule(Struct, frozen=True):
    """A form of dates: its possible first words ("#" for a digit), its pattern, and its resolver."""

    heads: str
    source: str  # compiled on first use
    resolve: Callable[[re.Match[str], DateContext], Interval | None]


def year_after(match: re.Match[str], context: DateContext) -> int | None:
    """Read the year after a month, season or holiday: 2019, '98, of last year."""
    groups = match.groupdict()
    if groups.get("year"):
        return full_year(int(match["year"].lstrip("'")))
    if groups.get("ryear"):
        return parts(context.day)[0] + {"last": -1, "this": 0, "next": 1}[match["ryear"].lower()]
    return None


def full_year(written: int) -> int:
    """Complete a year with two digits."""
    return written if written >= 100 else written + (1900 if written >= _CENTURY_TURN else 2000)


def part_of(context: DateContext, start: int) -> bool:
    """Return whether "the end of" or the like precedes a position."""
    return _PART_OF.search(context.text, max(0, start - 16), start) is not None
