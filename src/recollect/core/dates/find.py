"""Find the times that a text speaks of: one pass over its words, the longest form at each place."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.core.dates.almanac import Stretch, as_utc, to_seconds
from recollect.core.dates.calendar_rules import RULES as CALENDAR_RULES
from recollect.core.dates.context import composed
from recollect.core.dates.due_rules import RULES as DUE_RULES
from recollect.core.dates.lexicon import MONTHS, WEEKDAYS, pattern
from recollect.core.dates.period_rules import RULES as PERIOD_RULES
from recollect.core.dates.relative_rules import RULES as RELATIVE_RULES
from recollect.core.dates.scene import Rule, Scene
from recollect.core.dates.values import Bound, DateMention
from recollect.core.values import Span

MOST_READ = 64_000  # characters of a text that are looked through, about what a model is given of it
MOST_FOUND = 1_000  # times in one text; one with more is a table, and its first rows are enough
_LONGEST_HEAD = 12  # letters of the longest word that a time can begin with

_WORD = re.compile(r"[^\W\d_]+|\d+")
_DIGIT = re.compile(r"[0-9]")
_GLUE = frozenset("/.:-$€£#@&+%,\\=_")  # what ties a number to another thing: a price, a path, a phone number
_JOIN = r"\s?(?:[-–—]|\b(?:to|until|till|through|and)\b)\s?(?:the\s)?"
_AND = r"(?:,|,? (?:and|or)) (?:on )?(?:the )?"
_RANGE_BEFORE = r"\b(?P<word>from|between)\s(?:the\s)?$"

# No time is told without one of these words or a digit, so that a text without them costs one look.
_TELLING = (
    frozenset(
        """today tonight yesterday tomorrow ago back week weeks weekend weekends weekdays month months year years decade
    decades day days night nights morning afternoon evening hour hours minute minutes mins fortnight quarter recently
    lately now hence q spring summer autumn fall winter christmas xmas boxing halloween valentine valentines easter
    thanksgiving memorial labor labour mlk juneteenth independence patrick april veterans twenties thirties forties
    fifties sixties seventies eighties nineties teens youth childhood college kindergarten university school kid kids
    child children boy girl baby teen teenager teenagers toddler student students young younger little small growing
    daily weekly biweekly monthly yearly annually quarterly nightly freshman sophomore senior undergrad youngster
    ten eleven twelve thirteen fourteen fifteen sixteen eighteen twenty years eod eow eom eoq eoy cob business play
    work""".split()
    )
    | MONTHS.keys()
    | WEEKDAYS.keys()
    | {f"{name}s" for name in WEEKDAYS}
)


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    stretch: Stretch
    rule: Rule
    match: re.Match[str]
    guessed: bool = False


def find_dates(
    text: str, anchor: datetime, *, past: bool | None = None, mostly: bool = False, nearest: bool = False
) -> list[DateMention]:
    """List the times that a text speaks of, in its order, each as a window in UTC.

    `anchor` is when the text was said (or the question's now); its own clock says what "yesterday" was. Without an
    offset it is taken as UTC. "On Friday" is behind or ahead as the verbs say; `past` decides instead of them, or with
    `mostly` unless a verb or a thing in between has that time: "I hired a cook who starts on Friday". Where none does
    it is `guessed`: behind, or with `nearest` the one that lies nearer.
    """
    read = text[:MOST_READ]
    if _TELLING.isdisjoint(_WORD.findall(read.lower())) and not _DIGIT.search(read):
        return []
    scene = Scene(text=read.replace("’", "'"), now=to_seconds(anchor), past=past, mostly=mostly)
    offset = anchor.utcoffset() or timedelta(0)
    mentions = (_mention(text, found, offset) for found in _ranges(scene, _scan(scene, nearest)))
    return [mention for mention in mentions if mention is not None]


def _scan(scene: Scene, nearest: bool) -> list[_Found]:
    finds: list[_Found] = []
    reached = 0
    for word in _WORD.finditer(scene.text):
        start, end = word.span()
        if len(finds) >= MOST_FOUND:
            break
        if start < reached or end - start > _LONGEST_HEAD:
            continue
        head = word[0]
        rules = RULES_BY_HEAD.get("#" if head[0].isdigit() else head.lower())
        found = _longest(scene, start, rules) if rules and _begins(scene.text, start) else None
        if found is None:
            continue
        found = _directed(scene, found, nearest)
        begin, stretch = composed(scene, found.start, found.stretch)
        while finds and finds[-1].end > begin:
            if finds[-1].start < begin:
                begin, stretch = found.start, found.stretch
                break
            finds.pop()
        finds.append(replace(found, start=begin, stretch=stretch))
        reached = found.end
    return finds


def _longest(scene: Scene, start: int, rules: tuple[Rule, ...]) -> _Found | None:
    best: _Found | None = None
    for rule in rules:
        match = pattern(rule.source).match(scene.text, start)
        if match is None or (best is not None and match.end() <= best.end) or not _ends(scene.text, match.end()):
            continue
        stretch = rule.resolve(match, scene)
        if stretch is not None:
            best = _Found(start, match.end(), stretch, rule, match)
    return best


def _directed(scene: Scene, found: _Found, nearest: bool) -> _Found:
    """Note where a time could as well lie ahead; choose the nearer one if that is asked for."""
    ahead = found.rule.resolve(found.match, replace(scene, unsaid=False))
    if ahead is None or ahead == found.stretch:
        return found
    nearer = ahead.start - scene.now < scene.now - found.stretch.end
    if not nearer and scene.by_verb(*found.match.span()):
        return found  # the deed lies there, and what it arranged would lie farther off
    return replace(found, stretch=ahead if nearest and nearer else found.stretch, guessed=True)


def _begins(text: str, start: int) -> bool:
    """Tell whether a time can begin here: not inside a word, a path, a price, a phone number."""
    if not start:
        return True
    before = text[start - 1]
    if before.isalnum() or before == "_":
        return False
    if text[start].isdigit() and before in _GLUE:
        return before == "-" and start > 1 and not text[start - 2].isalnum()
    return True


def _ends(text: str, end: int) -> bool:
    follows = text[end : end + 2]
    if follows[:1] == "." and follows[1:].islower():
        return False  # a host, a file
    return not (follows[:1].isalnum() or follows[:1] == "_")


def _ranges(scene: Scene, finds: list[_Found]) -> list[_Found]:
    """Join two times that "from ... to", "between ... and" or a dash makes one."""
    joined: list[_Found] = []
    for found in finds:
        if joined and (pair := _pair(scene, joined[-1], found)) is not None:
            joined[-1] = pair
        else:
            joined.append(_alike(scene, joined[-1], found) if joined else found)
    return joined


def _alike(scene: Scene, one: _Found, two: _Found) -> _Found:
    """Give the second of "this Thursday and Friday" the direction of the first."""
    if two.start != two.match.start() or not pattern(_AND).fullmatch(scene.text, one.end, two.start):
        return two
    if scene.past is not None or not one.stretch.joinable:
        return two
    resolved = two.rule.resolve(two.match, replace(scene, past=one.stretch.start <= scene.now))
    if resolved is None:
        return two
    return replace(two, stretch=replace(resolved, bound=two.stretch.bound), guessed=one.guessed)


def _pair(scene: Scene, one: _Found, two: _Found) -> _Found | None:
    begin = two.match.start() if two.stretch.bound is Bound.UNTIL else two.start  # its "through" joins them
    join = pattern(_JOIN).fullmatch(scene.text, one.end, begin)
    if join is None or not (one.stretch.joinable and two.stretch.joinable):
        return None
    opening = pattern(_RANGE_BEFORE).search(scene.text, max(0, one.start - 16), one.start)
    if opening is None and "and" in join[0]:
        return None
    if scene.moved_from(one.match.start()):
        return None
    first, last = one.stretch, two.stretch
    if not first.dated:
        nearer = Scene(text=scene.text, now=last.end - 1, past=True)
        first = one.rule.resolve(one.match, nearer) if one.start == one.match.start() else first
    elif not last.dated:
        farther = Scene(text=scene.text, now=first.start, past=False)
        last = two.rule.resolve(two.match, farther) if two.start == two.match.start() else last
    if first is None or last is None or first.start >= last.end:
        return None
    stretch = replace(last, start=first.start, certain=first.certain and last.certain, bound=None)
    guessed = (one.guessed or two.guessed) and not (first.dated or last.dated)
    return replace(two, start=opening.start() if opening else one.start, stretch=stretch, guessed=guessed)


def _mention(text: str, found: _Found, offset: timedelta) -> DateMention | None:
    start, end = as_utc(found.stretch.start, offset), as_utc(found.stretch.end, offset)
    if start >= end:
        return None  # outside the calendar
    return DateMention(
        span=Span(found.start, found.end),
        text=text[found.start : found.end],
        start=start,
        end=end,
        granularity=found.stretch.granularity,
        certain=found.stretch.certain,
        repeats=found.stretch.repeats,
        bound=found.stretch.bound,
        guessed=found.guessed,
    )


def _by_head(rules: tuple[Rule, ...]) -> dict[str, tuple[Rule, ...]]:
    heads: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        for head in rule.heads:
            heads[head].append(rule)
    return {head: tuple(found) for head, found in heads.items()}


RULES_BY_HEAD = _by_head((*CALENDAR_RULES, *PERIOD_RULES, *RELATIVE_RULES, *DUE_RULES))
