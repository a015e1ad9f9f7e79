"""Goals, deeds and answers -> intents. Pure: the same marks, concepts and clock give the same intents.

Goals that speak of one thing are one intent. It is shown once the density around it crosses its category's threshold,
which answers move. A later deed settles it without anybody saying so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from everyword.knowledge.legacy.fold.clusters import Deed, Goal, Reply, Said, gathered, order_of, words_in
from everyword.knowledge.legacy.fold.density import Density, Topic, density
from everyword.knowledge.legacy.fold.goal_words import MEND, mends, objects_of, told_apart, verbs_of, words_of
from everyword.knowledge.legacy.fold.goals import EVIDENT, done_in
from everyword.knowledge.legacy.fold.wanting import DOUBTED, OPEN, OTHERS, OWN
from everyword.types.events import Span
from everyword.types.intents import Evidence, Intent, IntentAnswer, IntentCategory, IntentStatus
from everyword.types.times import later

# Feedback, as CogniFold has it: w = (1 - RATE) w + RATE s, held within bounds; a threshold is divided by its w.
RATE = 0.3
SIGNALS = {
    IntentAnswer.ACCEPT: 1.5,
    IntentAnswer.MODIFY: 1.1,
    IntentAnswer.DEFER: 0.8,
    IntentAnswer.REJECT: 0.3,
}
LEAST_WEIGHT, MOST_WEIGHT = 0.1, 2.0
# One's own goal that is said to be unmet has .39 when it is said, a dated one .6: both are over the threshold; the
# second still is after two rejections, not after three.
THRESHOLDS: Mapping[IntentCategory, float] = {
    IntentCategory.TASK: 0.38,
    IntentCategory.PROMISE: 0.38,
    IntentCategory.WISH: 0.38,
    IntentCategory.QUESTION: 0.38,
    IntentCategory.REMINDER: 0.3,  # somebody asked for it
}
MOST_THRESHOLD = 1.0  # a density can reach it: what is certain enough is shown whatever was rejected before

WORDS_OF_TROUBLE = 2  # that trouble shares with what is only said to be open
EXPIRES_DAYS = 60  # without a deadline, and nobody spoke of it
GRACE = timedelta(days=1)  # after a deadline, in which it may still be told that it was met
VAGUE_GRACE = timedelta(days=30)  # after one that was no day: "this month", "in spring"
STAYS_OPEN = timedelta(days=21)  # after a deadline: so long trouble shows that it was not met
DEFERRED = timedelta(days=7)  # where nobody says until when
POINTS_BACK = timedelta(days=7)  # "I sent it" settles what was to be sent lately
COVERED = 0.5  # share of a goal's words that must come back in what is said to be finished
LEAST_COVERED = 2  # and how many at least
# Urgency: what is spoken of now is warmer; a deadline adds its bonus, and doubles all of it inside a day.
BASE_URGENCY, WARMTH, COOLS_PER_HOUR = 0.2, 0.2, 0.01
DEADLINE_BONUS = ((24, 0.3), (48, 0.2), (168, 0.1))  # hours, bonus
DOUBLES_WITHIN_H = 24


def crystallise(
    goals: Sequence[Goal],
    deeds: Sequence[Deed],
    replies: Sequence[Reply],
    topics: Mapping[str, Topic],
    *,
    now: datetime,
    troubles: Sequence[Goal] = (),
) -> list[Intent]:
    """Make intents of what was said; those that never crossed their threshold are left out. The most pressing first."""
    met = _met(goals, deeds)
    clusters = [part for cluster in gathered(goals, troubles) for part in _settled(cluster, met)]
    answers = _answers(clusters, replies)
    thresholds = _thresholds(clusters, replies)
    intents = [
        _intent(cluster, answers.get(place, []), topics, thresholds, now) for place, cluster in enumerate(clusters)
    ]
    shown = [intent for intent in intents if intent is not None]
    return sorted(shown, key=lambda intent: (-intent.priority, intent.first_at, intent.id))


# What settled them


def _met(goals: Sequence[Goal], deeds: Sequence[Deed]) -> dict[_Place, list[Deed]]:
    """Find the deeds that meet each goal, by the words that both have: few of the pairs need a closer look."""
    read = [(deed, done) for deed in deeds if (done := done_in(deed.ground.quote)) is not None]
    verbs = {done.verb for _, done in read}
    having: dict[str, list[int]] = {}  # a verb of its clause -> goals
    doing: dict[tuple[str, str], list[int]] = {}  # such a verb, and a word of what it is done to -> goals
    naming: dict[str, list[int]] = {}  # a word that tells what it is about -> goals
    for place, goal in enumerate(goals):
        for verb in verbs & verbs_of(goal.clause):
            having.setdefault(verb, []).append(place)
            for word in _objects(goal, verb):
                doing.setdefault((verb, word), []).append(place)
        for word in words_of(goal.clause):
            naming.setdefault(word, []).append(place)
    orders = [order_of(goal) for goal in goals]
    met: dict[_Place, list[Deed]] = {}
    for deed, done in read:
        said = words_of(deed.ground.quote) - {done.verb}
        places = set(having.get(done.verb, ()) if done.points_back else ())
        places.update(place for word in said for place in doing.get((done.verb, word), ()))
        if done.finished:
            shared = Counter(place for word in said for place in naming.get(word, ()))
            places |= {place for place, count in shared.items() if count >= LEAST_COVERED}
        order = order_of(deed)
        for place in sorted(places):
            if orders[place] < order and meets(deed, goals[place]):
                met.setdefault(_place(goals[place]), []).append(deed)
    return met


_Place = tuple[int, Span]  # an event, and where in it


def _place(said: Said) -> _Place:
    return said.seq, said.ground.span


def _settled(cluster: list[Goal], met: Mapping[_Place, Sequence[Deed]]) -> list[_Cluster]:
    """Cut a cluster where a deed settled all that was said before it; what is said again later is a new intent."""
    parts: list[_Cluster] = []
    open_goals: list[Goal] = []
    ends = sorted(_ends(cluster, met), key=lambda end: (end[0], end[1].event_id))
    for goal in cluster:
        while ends and ends[0][0] < (goal.ground.at, goal.seq):
            end = ends.pop(0)
            if open_goals:
                parts.append(_Cluster(goals=tuple(open_goals), settled_by=end[1]))
                open_goals = []
        open_goals.append(goal)
    parts.append(_Cluster(goals=tuple(open_goals), settled_by=ends[0][1] if ends else None))
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cluster:
    goals: tuple[Goal, ...]
    settled_by: Evidence | None


def _ends(
    cluster: Sequence[Goal], met: Mapping[_Place, Sequence[Deed]]
) -> Iterable[tuple[tuple[datetime, int], Evidence]]:
    for goal in cluster:
        if goal.closed_by is not None:
            yield (goal.closed_by.at, goal.seq + 1), goal.closed_by
        for deed in met.get(_place(goal), ()):
            yield (deed.ground.at, deed.seq), deed.ground


def meets(deed: Deed, goal: Goal) -> bool:
    """Tell whether a deed meets a goal: the same verb with a word of its object, or the thing itself said finished."""
    done = done_in(deed.ground.quote)
    if done is None:
        return False
    if told_apart(deed.ground.quote, goal.near or goal.clause, done.verb):
        return False
    said = words_of(deed.ground.quote) - {done.verb}
    if done.verb in verbs_of(goal.clause):
        return bool(said & _objects(goal, done.verb)) or (done.points_back and _near(deed, goal))
    named = words_of(goal.clause)
    return done.finished and len(named & said) >= max(LEAST_COVERED, math.ceil(COVERED * len(named)))


def _objects(goal: Goal, verb: str) -> frozenset[str]:
    """Give what a verb of a goal is done to; where the clause has "it", what stands beside the clause tells."""
    if verb == MEND and mends(goal.clause):
        return words_of(goal.near or goal.ground.quote)
    return objects_of(goal.clause, verb) or words_of(goal.near or "")


def _near(deed: Deed, goal: Goal) -> bool:
    if deed.ground.at - goal.ground.at > POINTS_BACK:
        return False
    return deed.ground.speaker == goal.ground.speaker or (deed.session is not None and deed.session == goal.session)


# Answers


def _answers(clusters: Sequence[_Cluster], replies: Sequence[Reply]) -> dict[int, list[Reply]]:
    """Give each cluster the answers to any of its goals, in their order: a cluster that grew is still the same."""
    place_of = {goal.id: place for place, cluster in enumerate(clusters) for goal in cluster.goals}
    answers: dict[int, list[Reply]] = {}
    for reply in sorted(replies, key=lambda reply: (reply.ground.at, reply.seq)):
        if reply.intent in place_of:
            answers.setdefault(place_of[reply.intent], []).append(reply)
    return answers


def _thresholds(clusters: Sequence[_Cluster], replies: Sequence[Reply]) -> dict[IntentCategory, float]:
    category_of = {goal.id: _category(cluster.goals) for cluster in clusters for goal in cluster.goals}
    weights = dict.fromkeys(IntentCategory, 1.0)
    for reply in sorted(replies, key=lambda reply: (reply.ground.at, reply.seq)):
        category, signal = category_of.get(reply.intent), SIGNALS.get(reply.answer)
        if category is not None and signal is not None:
            weights[category] = min(MOST_WEIGHT, max(LEAST_WEIGHT, (1 - RATE) * weights[category] + RATE * signal))
    return {category: min(MOST_THRESHOLD, THRESHOLDS[category] / weight) for category, weight in weights.items()}


def _category(goals: Sequence[Goal]) -> IntentCategory:
    """Take the category of the strongest goal, the first among equals: it stays when others join."""
    return max(goals, key=lambda goal: goal.strength).category


# One intent


def _intent(
    cluster: _Cluster,
    answers: Sequence[Reply],
    topics: Mapping[str, Topic],
    thresholds: Mapping[IntentCategory, float],
    now: datetime,
) -> Intent | None:
    goals = cluster.goals
    first = next((goal for goal in goals if not goal.trouble), None)
    if first is None:  # all that was wanted is settled
        return None
    strongest = max(goals, key=lambda goal: goal.strength)
    category, last_at, deadline = strongest.category, goals[-1].ground.at, _deadline(goals, now)
    around = [topics[id] for id in dict.fromkeys(id for goal in goals for id in goal.topics) if id in topics]
    # The same words again weigh nothing new: they count once, as strongly as they were ever said.
    weak_first = sorted(goals, key=lambda goal: goal.strength)
    strengths = list({words_in(goal): goal.strength for goal in weak_first}.values())
    gathers, then = (  # what is long past was as dense as it ever was when it was said
        density(strengths, around, said=len(goals), last_at=last_at, now=moment, deadline=deadline)
        for moment in (now, last_at)
    )
    if not answers and not (_unmet(strengths, goals) and then.value >= thresholds[category]):
        return None
    reworded = next((one for one in reversed(answers) if one.answer is IntentAnswer.MODIFY), None)
    intent = Intent(
        id=first.id,
        statement=reworded.ground.quote if reworded else strongest.clause,
        category=category,
        status=IntentStatus.PENDING,
        urgency=_urgency(last_at, deadline, now),
        importance=gathers.importance,
        density=gathers.value,
        threshold=thresholds[category],
        grounds=tuple(goal.ground for goal in goals),
        first_at=goals[0].ground.at,
        last_at=last_at,
        concepts=tuple(topic.id for topic in around),
        topics=tuple(topic.label for topic in around),
        deadline=deadline,
        reason=_reason(then, thresholds[category]),
    )
    return _with_status(intent, cluster, answers, now)


def _unmet(strengths: Sequence[float], goals: Sequence[Goal]) -> bool:
    """Tell whether the words show that a goal is not met: they say so, name a time, come back, or it goes wrong."""
    strongest = max(strengths)
    # Beside what is open, what others want counts as well; by themselves, two things that others want do not.
    least = OTHERS if strongest >= OPEN else DOUBTED
    if strongest >= EVIDENT or sum(strength >= least for strength in strengths) > 1:
        return True
    wanted = [goal for goal in goals if not goal.trouble and goal.strength >= OPEN]
    return any(_speaks_for(trouble, goal) for trouble in goals if trouble.trouble for goal in wanted)


def _speaks_for(trouble: Goal, goal: Goal) -> bool:
    """Tell whether trouble shows that a goal is not met; it takes more than a word where it is only said to be open."""
    return goal.strength >= OWN or len(words_in(trouble) & words_in(goal)) >= WORDS_OF_TROUBLE


def _with_status(intent: Intent, cluster: _Cluster, answers: Sequence[Reply], now: datetime) -> Intent:
    settled_by = cluster.settled_by
    last = next((one for one in reversed(answers)), None)
    if last is not None and last.answer is IntentAnswer.REJECT:
        return replace(intent, status=IntentStatus.REJECTED, settled_by=last.ground)
    if last is not None and last.answer is IntentAnswer.DONE:
        return replace(intent, status=IntentStatus.RESOLVED, settled_by=last.ground)
    if settled_by is not None:
        return replace(intent, status=IntentStatus.RESOLVED, settled_by=settled_by)
    if last is not None and last.answer is IntentAnswer.DEFER:
        until = last.until or later(last.ground.at, DEFERRED)
        if until > now:
            return replace(intent, status=IntentStatus.DEFERRED, until=until)
    if _expired(cluster.goals, last, now):
        return replace(intent, status=IntentStatus.EXPIRED)
    if last is not None and last.answer is IntentAnswer.ACCEPT:
        return replace(intent, status=IntentStatus.SCHEDULED)
    return intent


def _expired(goals: Sequence[Goal], last: Reply | None, now: datetime) -> bool:
    """Tell whether the time of every goal is over: past its deadline, or nobody spoke of it for long."""
    touched = max(goals[-1].ground.at, last.ground.at) if last else goals[-1].ground.at
    silent = now - touched > timedelta(days=EXPIRES_DAYS)
    over = [now - goal.deadline > (GRACE if goal.exact else VAGUE_GRACE) for goal in goals if goal.deadline is not None]
    if not over or not all(over):
        return silent and not over
    # What is past does not come back, weeks later, with some trouble or with what is hardly a goal.
    late = max(goal.deadline for goal in goals if goal.deadline is not None) + STAYS_OPEN
    return silent or all(
        goal.deadline is not None or (goal.ground.at > late and (goal.trouble or goal.strength < OPEN))
        for goal in goals
    )


def _deadline(goals: Sequence[Goal], now: datetime) -> datetime | None:
    """Take the nearest time ahead, or the last one where all are past; what was said before it was moved is void."""
    since = max((place for place, goal in enumerate(goals) if goal.moved), default=0)
    said = sorted(goal.deadline for goal in goals[since:] if goal.deadline is not None)
    return next((deadline for deadline in said if deadline > now), said[-1] if said else None)


def _urgency(last_at: datetime, deadline: datetime | None, now: datetime) -> float:
    hours = max(0.0, (now - last_at).total_seconds() / 3600)
    urgency = BASE_URGENCY + WARMTH * math.exp(-COOLS_PER_HOUR * hours)
    if deadline is None or deadline <= now:
        return urgency
    left = (deadline - now).total_seconds() / 3600
    urgency += next((bonus for within, bonus in DEADLINE_BONUS if left <= within), 0.0)
    return min(1.0, urgency * 2 if left <= DOUBLES_WITHIN_H else urgency)


def _reason(gathers: Density, threshold: float) -> str:
    return f"density {gathers.value:.2f} (threshold {threshold:.2f}): {gathers.explain()}"
