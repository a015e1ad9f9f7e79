"""Where a time expression stands: its text, its anchor, its neighbours, and whether its verbs look back or ahead."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from recollect.core.dates.almanac import DAY, Stretch, parts

_NEIGHBOUR = 24  # characters in which the word before or after a place is looked for
_CLAUSE = 120  # characters on either side of a place in which its verb is looked for
_AFTER_PENALTY = 4  # words: the verb mostly stands before its time, so that a hint behind counts as farther away

# Words that look ahead where no verb says otherwise, and those that do so whatever it says: "a week from Friday",
# "the launch was moved to Friday".
_AHEAD = re.compile(
    r"\b(?:until|till|by|through|(?:day|week|month|year)s? from)(?: the)?(?: (?:end|start|beginning|middle) of)?"
    r"(?: the| early| late)?(?: | mid-)$",
    re.IGNORECASE,
)
_FROM_ONE = re.compile(
    r"\b(?:(?:day|week|month|year)s? from|(?:moved|pushed|shifted|changed|delayed)(?: back| out| forward)? to"
    r"(?: the)?) $",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r"\s{1,3}([A-Za-z][A-Za-z']*)")
_CLAUSE_END = re.compile(r"[.!?;\n](?=\s|$)|\n")
# Words before a number, or between a part and its whole, that make it a year or a month.
YEAR_WORDS = frozenset("in since until till by during before after around circa year of from to late early mid".split())
_PART_OF = re.compile(
    r"\b(?:morning|afternoon|evening|night|end|start|beginning|middle|week|weekend|rest|half|all|\w{0,6}day) of $",
    re.IGNORECASE,
)
_CENTURY_TURN = 70  # of years with two digits, those from here on are of the last century
_VERB_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]{1,3})?")
# Behind a time these begin another clause, with a verb of its own.
_OTHER_CLAUSE = frozenset("and but because so which that since while if".split())
_FUTURE = frozenset(
    """will won't shall gonna tomorrow upcoming scheduled postponed rescheduled hopefully deadline due let's should
    might could plan plans planning wanna remind reminder expect expects expecting appointment starts begins leaves
    arrives flies i'll we'll he'll she'll they'll you'll it'll ahead""".split()
)
_FUTURE_PAIRS = frozenset(
    """going-to about-to hope-to hoping-to want-to wants-to need-to needs-to have-to has-to like-to love-to supposed-to
    set-to looking-forward can't-wait see-you thinking-of thinking-about""".split()
)
# What is fixed for a day is told in the present: "we ship on 14 May", "the sync moves to Thursday".
_FIXED = frozenset(
    """ship launch release start begin leave arrive fly travel move meet open close end finish land depart return come
    go present deploy deliver publish submit kick host graduate retire resume expire renew migrate switch play perform
    compete interview freeze merge premiere debut ride drive""".split()
)
_WHO_DOES = frozenset("i we they you".split())
# Before a plural, and not before a verb.
_COUNTING = frozenset(
    """the a an two three four five six some several many few more most all both my your his her its our their these
    those new old other first last next of in on for with from by""".split()
)
_IS = frozenset("is are isn't aren't it's that's".split())
_AT_A_TIME = frozenset("on at in by this the for until till".split())
_BEING = frozenset("am are is i'm we're you're they're he's she's it's be".split())
_NOT_DOING = frozenset("being during evening morning thing something anything nothing everything spring".split())
_PAST = frozenset(
    """was were wasn't weren't did didn't had hadn't i've we've they've you've been ago yesterday finally went
    got came saw met took made gave told said found bought ate drank ran began left felt lost won spent
    wrote sold sent taught thought caught brought flew drove rode swam sang slept broke chose grew knew
    heard held kept paid became built fell forgot led woke wore threw spoke stood hit fought sat shot
    stuck drew swore gone done seen""".split()
)
_HAVING = frozenset("have haven't has hasn't".split())  # past with a participle: "have you seen", not "have a visit"
_OWNED = frozenset("a an my our another".split())  # "I have a meeting on Friday"
_NOT_PAST = frozenset(
    """need feed speed indeed exceed excited interested planned scheduled supposed tired hundred sacred wicked
    unexpected embed bed red shed wed seed weed""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A text, read at its anchor; `past` overrides what its verbs say."""

    text: str
    now: int  # seconds, as `almanac` counts
    past: bool | None
    unsaid: bool = True  # what is taken to be past where nothing says which

    @property
    def day(self) -> int:
        return self.now // DAY

    def leaning(self, start: int, end: int) -> bool | None:
        """Tell whether what stands around a place looks back (True) or ahead (False), by the nearest verb."""
        if self.past is not None:
            return self.past
        return _leaning(self.text, start, end)

    def looks_back(self, match: re.Match[str]) -> bool:
        """Tell whether a find without a direction of its own lies behind; `unsaid` where nothing says which."""
        leaning = self.leaning(match.start(), match.end())
        if leaning is not None and (self.past is not None or not leaning):
            return leaning
        ahead = _AHEAD if leaning is None else _FROM_ONE
        if ahead.search(self.text, max(0, match.start() - _NEIGHBOUR), match.start()) is not None:
            return False
        return self.unsaid if leaning is None else leaning

    def before(self, place: int) -> str:
        """Give the word, in small letters, that stands right before a place; with its punctuation, if it has any."""
        words = self.text[max(0, place - _NEIGHBOUR) : place].rsplit(None, 1)
        return words[-1].lower().lstrip("(\"'“‘[") if words else ""

    def after(self, place: int) -> str:
        """Give the word that stands right after a place, as it is written; nothing if punctuation comes first."""
        found = _NEXT_WORD.match(self.text, place, place + _NEIGHBOUR)
        return found[1] if found else ""


Resolve = Callable[[re.Match[str], Scene], Stretch | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A form that times take: the words it can begin with ("#" for a digit), its pattern, what it means."""

    heads: frozenset[str]
    source: str  # compiled when first needed
    resolve: Resolve


def rule(heads: str, source: str, resolve: Resolve) -> Rule:
    """Make a rule; heads are written as words with spaces between."""
    return Rule(heads=frozenset(heads.split()), source=source, resolve=resolve)


def year_after(match: re.Match[str], scene: Scene) -> int | None:
    """Read the year that stands behind a month, a season, a holiday: 2019, '98, of last year."""
    groups = match.groupdict()
    if groups.get("year"):
        return full_year(int(match["year"].lstrip("'")))
    if groups.get("ryear"):
        return parts(scene.day)[0] + {"last": -1, "this": 0, "next": 1}[match["ryear"].lower()]
    return None


def full_year(written: int) -> int:
    """Complete a year that was written with two digits."""
    return written if written >= 100 else written + (1900 if written >= _CENTURY_TURN else 2000)


def part_of(scene: Scene, start: int) -> bool:
    """Tell whether "the end of" or the like stands before a place."""
    return _PART_OF.search(scene.text, max(0, start - 16), start) is not None


def _leaning(text: str, start: int, end: int) -> bool | None:
    before = text[max(0, start - _CLAUSE) : start]
    ends = [found.end() for found in _CLAUSE_END.finditer(before)]
    behind = _VERB_WORD.findall(before[ends[-1] :].lower() if ends else before.lower())
    after = text[end : end + _CLAUSE]
    stop = _CLAUSE_END.search(after)
    ahead = _VERB_WORD.findall(after[: stop.start()].lower() if stop else after.lower())
    for distance in range(max(len(behind), len(ahead) + _AFTER_PENALTY)):
        if distance < len(behind):
            hint = _hint(behind, len(behind) - 1 - distance)
            if hint is not None:
                return hint
        place = distance - _AFTER_PENALTY
        if 0 <= place < len(ahead):
            if ahead[place] in _OTHER_CLAUSE:
                ahead = ahead[:place]
                continue
            hint = _hint(ahead, place)
            if hint is not None:
                return hint
    return None


def _hint(words: list[str], place: int) -> bool | None:
    """Tell what one word says of the tense: True for what is past, False for what is to come."""
    word = words[place]
    follows = words[place + 1] if place + 1 < len(words) else ""
    if word in _FUTURE or f"{word}-{follows}" in _FUTURE_PAIRS:
        return False
    if word in _PAST:
        return True
    if word in _HAVING:
        if any(map(_is_done, words[place + 1 : place + 4])):
            return True
        return False if follows in _OWNED else None
    if word.endswith("ed"):
        return None if word in _NOT_PAST else True
    if _is_fixed(word, words[place - 1] if place else "") or (word in _IS and (not follows or follows in _AT_A_TIME)):
        return False
    if word.endswith("ing") and word not in _NOT_DOING and place:
        aide = words[place - 2] if words[place - 1].endswith("ly") and place > 1 else words[place - 1]
        return False if aide in _BEING or words[place - 1] == "not" else None
    return None


def _is_fixed(word: str, before: str) -> bool:
    if word in _FIXED:
        return before in _WHO_DOES
    verb = word.removesuffix("s")
    return (verb in _FIXED or verb.removesuffix("e") in _FIXED) and verb != word and before not in _COUNTING


def _is_done(word: str) -> bool:
    return word in _PAST or (word.endswith(("ed", "en", "wn")) and word not in _NOT_PAST)
