"""What was said that attention rests on, and which goals are one: those that speak of one thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from everyword.knowledge.legacy.fold.goal_words import names_in, numbered_among, things_in, words_of
from everyword.knowledge.legacy.fold.wanting import OPEN
from everyword.types.concepts import INTENT_PREFIX
from everyword.types.events import Span
from everyword.types.ids import fingerprint
from everyword.types.intents import Evidence, IntentAnswer, IntentCategory

TROUBLE = 0.25  # strength of what goes wrong: less than any goal, so that it never names the intent
SHARED_WORDS = 2  # from which on two goals speak of one thing
CORE_SHARE = 0.34  # of a cluster's goals that have a word of what it is about: so it does not drift from goal to goal
SAME_THING_DAYS = 60  # between two goals of one thing; what comes later is another


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Words that attention rests on, with who said them, where and when."""

    seq: int
    ground: Evidence
    session: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal(Said):
    """A goal as somebody said it."""

    category: IntentCategory
    strength: float
    clause: str  # the words that name it
    deadline: datetime | None = None
    exact: bool = True  # the deadline is a day or a moment
    moved: bool = False  # it says itself that this is the new deadline
    closed_by: Evidence | None = None  # where the statement that it makes was settled by another
    near: str | None = None  # what stands together with it in its event, where that is more than its sentence
    topics: tuple[str, ...] = ()  # ids of the concepts that its event grounds
    trouble: bool = False  # what goes wrong: it shows that a goal is not met, and is none by itself

    @property
    def id(self) -> str:
        """Derive the id that an intent has where this is its first goal."""
        span = self.ground.span
        return INTENT_PREFIX + fingerprint("intent", self.ground.event_id, span.start, span.end).hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed(Said):
    """Something said to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Said):
    """What a person said to an intent."""

    intent: str
    answer: IntentAnswer
    until: datetime | None = None


def trouble(seq: int, ground: Evidence, session: str | None) -> Goal:
    """Make of what goes wrong something that may stand with the goals that it is about."""
    category = IntentCategory.TASK
    return Goal(
        seq=seq, ground=ground, session=session, category=category, strength=TROUBLE, clause=ground.quote, trouble=True
    )


def order_of(said: Said) -> tuple[datetime, int, Span]:
    """Give what things that were said are ordered by."""
    return said.ground.at, said.seq, said.ground.span


def gathered(goals: Sequence[Goal], troubles: Sequence[Goal] = ()) -> list[list[Goal]]:
    """Gather the goals that speak of one thing, each list in the order in which they were said, and what shows it."""
    clusters = _joined_by_name(_alike(sorted(goals, key=order_of)))
    return _with_troubles(clusters, sorted(troubles, key=order_of)) if troubles else clusters


def _alike(ordered: Sequence[Goal]) -> list[list[Goal]]:
    clusters: list[list[Goal]] = []
    wordings: list[set[frozenset[str]]] = []  # of each cluster: the same words again need no second look
    counts: list[Counter[str]] = []  # of each cluster: how many of its goals have a word
    holding: dict[str, set[int]] = {}  # word -> the clusters that have it
    for goal in ordered:
        words = words_in(goal)
        common = Counter(place for word in words for place in holding.get(word, ()))
        near = [place for place, shared in sorted(common.items()) if shared >= SHARED_WORDS]
        near = [place for place in near if _within_reach(goal, clusters[place][-1])]
        alike = (
            (_likeness(words, wordings[place]), -place)
            for place in near
            if _at_its_core(words, counts[place], len(clusters[place]))
        )
        likeness, place = max(alike, default=(0.0, 0))
        if likeness >= SHARED_WORDS:
            clusters[-place].append(goal)
        else:
            clusters.append([goal])
            wordings.append(set())
            counts.append(Counter())
            place = 1 - len(clusters)
        counts[-place].update(words)
        wordings[-place].add(words)
        for word in words:
            holding.setdefault(word, set()).add(-place)
    return clusters


def _at_its_core(words: frozenset[str], counts: Counter[str], goals: int) -> bool:
    """Tell whether a goal has words that a good part of a cluster has, not only of the goal that came last."""
    return sum(counts[word] >= CORE_SHARE * goals for word in words) >= SHARED_WORDS


def _within_reach(goal: Goal, last: Goal) -> bool:
    return (goal.ground.at - last.ground.at).days <= SAME_THING_DAYS


def _likeness(mine: frozenset[str], wordings: Iterable[frozenset[str]]) -> float:
    """Count the words that a goal shares with one of a cluster; the share of all their words decides among equals."""
    best = 0.0
    for theirs in wordings:
        shared = len(mine & theirs)
        if shared + 1 >= best and _may_be_one(mine, theirs):
            best = max(best, shared + shared / max(1, len(mine | theirs)))
    return best


def _may_be_one(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Tell two numbered things apart: invoice 4711 is not invoice 4712."""
    numbers, others = numbered_among(mine), numbered_among(theirs)
    return not numbers or not others or not numbers.isdisjoint(others)


def _joined_by_name(clusters: list[list[Goal]]) -> list[list[Goal]]:
    """Join two goals that stand alone and share one telling word: a name or thing of these alone, or a concept."""
    # What others want counts for nothing here: their names are everywhere.
    own = [[one for one in cluster if one.strength >= OPEN] for cluster in clusters]
    held = Counter(word for cluster in own for word in {word for one in cluster for word in words_in(one)})
    alone: dict[str, list[list[Goal]]] = {}  # word -> clusters of one goal that have it
    joined: list[list[Goal]] = []
    for cluster in clusters:
        words = sorted(words_in(cluster[0])) if len(cluster) == 1 else []
        partners = [other for word in words for other in alone.get(word, ()) if len(other) == 1]
        partner = next((other for other in partners if _name_joins(cluster[0], other[0], held)), None)
        if partner is not None:
            partner.append(cluster[0])
            continue
        joined.append(cluster)
        for word in words:
            alone.setdefault(word, []).append(cluster)
    return joined


def words_in(goal: Goal) -> frozenset[str]:
    """Give the words that tell what a goal is about, as it was said."""
    return words_of(goal.near or goal.ground.quote)


def _name_joins(goal: Goal, earlier: Goal, held: Mapping[str, int]) -> bool:
    if (goal.ground.at - earlier.ground.at).days > SAME_THING_DAYS:
        return False
    if min(goal.strength, earlier.strength) < OPEN or not _may_be_one(words_in(goal), words_in(earlier)):
        return False
    shared = words_in(goal) & words_in(earlier)
    names = names_in(goal.ground.quote) & names_in(earlier.ground.quote)
    telling = names
    if not _named_apart(goal, earlier):  # the meeting with Ana is not the meeting with Bob
        telling |= things_in(goal.ground.quote) & things_in(earlier.ground.quote)
    alone = any(held[word] == 2 for word in shared & telling)  # in these two clusters, and no other
    return alone or bool(shared and set(goal.topics) & set(earlier.topics))


def _with_troubles(clusters: list[list[Goal]], troubles: Sequence[Goal]) -> list[list[Goal]]:
    """Add each trouble to the goals that it is about: those that it shares most words with, if any.

    The evidence of an intent is what was wanted. No more troubles stand beside it than goals, the likest: long events
    share some words with everything.
    """
    holding: dict[str, set[int]] = {}
    for place, cluster in enumerate(clusters):
        for word in {word for goal in cluster for word in words_in(goal)}:
            holding.setdefault(word, set()).add(place)
    wordings = [{words_in(goal) for goal in cluster} for cluster in clusters]
    beside: list[list[tuple[float, Goal]]] = [[] for _ in clusters]
    for one in troubles:
        common = Counter(place for word in words_in(one) for place in holding.get(word, ()))
        near = [place for place, shared in sorted(common.items()) if shared >= SHARED_WORDS]
        alike = (
            (_likeness(words_in(one), wordings[place]), -place) for place in near if _spoken_of(one, clusters[place])
        )
        likeness, place = max(alike, default=(0.0, 0))
        if likeness >= SHARED_WORDS:
            beside[-place].append((likeness, one))
        elif (only := _of_one(one, common, holding, clusters)) is not None:
            beside[only].append((1.0, one))
    return [
        sorted([*cluster, *_likest(found, len(cluster))], key=order_of)
        for cluster, found in zip(clusters, beside, strict=True)
    ]


def _likest(found: Sequence[tuple[float, Goal]], most: int) -> list[Goal]:
    ranked = sorted(found, key=lambda pair: (-pair[0], order_of(pair[1])))
    return [one for _, one in ranked[:most]]


def _of_one(
    one: Goal, common: Iterable[int], holding: Mapping[str, set[int]], clusters: Sequence[Sequence[Goal]]
) -> int | None:
    """Find the goals that alone spoke of a thing that goes wrong after them."""
    things = things_in(one.ground.quote) | names_in(one.ground.quote)
    for place in sorted(common):
        goal = clusters[place][-1]
        if order_of(goal) > order_of(one) or goal.strength < OPEN:
            continue
        shared = things & (things_in(goal.ground.quote) | names_in(goal.ground.quote))
        if any(holding.get(word) == {place} for word in shared) and not _named_apart(one, goal):
            return place if _spoken_of(one, clusters[place]) else None
    return None


def _spoken_of(one: Goal, cluster: Sequence[Goal]) -> bool:
    return any(abs((one.ground.at - goal.ground.at).days) <= SAME_THING_DAYS for goal in cluster)


def _named_apart(goal: Goal, earlier: Goal) -> bool:
    names, others = names_in(goal.ground.quote), names_in(earlier.ground.quote)
    return bool(names and others) and names.isdisjoint(others)
