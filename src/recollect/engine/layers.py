"""Where the lines of a wake-up come from: a list of sources, each a function from a scene to candidates.

A new derived layer joins by a function in `SOURCES`; choosing and laying out (`recall/waking.py`) know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.core.artifacts import TO_DO, Artifact, ArtifactKind
from recollect.core.attention import URGENCY_SHARE, Evidence, Intent
from recollect.core.clock import day_in_words
from recollect.core.ids import raw_event_id
from recollect.core.layers import Identity, Told
from recollect.core.rendering import name, one_line
from recollect.core.spans import sentences
from recollect.core.trust import effective_at, may_be_shown_unasked
from recollect.core.values import Citation, Event, Filter, Score, Span
from recollect.recall.priorities import is_over, weigh
from recollect.recall.waking import Candidate, priority
from recollect.store.protocol import Reader

if TYPE_CHECKING:
    from recollect.engine.beholding import Standing  # brings along what reads goals and folds concepts

_LATEST_OF_A_KIND = 40  # statements looked at, the newest: what was said long before and never again seldom matters now
MOST_CONFIRMED = 40  # of those that were said again and again, however long ago
_ABOUT_TOPIC = 60
_SESSION_EVENTS = 20  # in which a session's first words of a person are
_QUOTED_CHARS = 120  # of how a session began
_LOOKED_BACK = 100  # events, for the latest sessions: going through all of them would take too long for a hook
# Priorities of the last sessions: below what was decided lately, above what happened once.
_LATEST_SESSIONS = (0.5, 0.4, 0.3)
_INTENTS_TOLD = 5  # as many as are shown anywhere unasked
_CONCEPTS_TOLD = 3
_CONCEPT = 0.35  # priority of what keeps coming up: between the last session and what was decided lately
# For what stands highest in the window: as much as being said again three times. Recency has its own say, by days.
_STANDING = 0.12
_RULES = "rules"
_ASSISTANTS = ("assistant", "ai", "model", "bot")
# What is told of the person whatever project is at hand; the rest belongs to the project in which it was said.
_EVERYWHERE = (
    ArtifactKind.PREFERENCE,
    ArtifactKind.ATTRIBUTE,
    ArtifactKind.RELATIONSHIP,
    ArtifactKind.REMINDER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a wake-up is for: whose memory, which project, which day."""

    reader: Reader
    space: str
    wing: str | None  # nothing of other wings is seen
    project: str | None  # what is at hand; others are seen where they matter
    topic: str | None
    today: datetime  # a day, not a moment: an hour more or less changes nothing
    latest: datetime  # when the last event happened
    confirmed: Mapping[str, int]  # how often what is known was said again, for the most frequent
    standing: Standing  # how what may be in the window stands


Source = Callable[[Scene], Iterable[Candidate]]


def identity_of(reader: Reader, space: str, wings: Sequence[str | None]) -> Identity | None:
    """Read the identity that was written last for the first of these wings that has one; None: the one for all.

    The order of the log decides, and no date.
    """
    for wing in wings:
        found = reader.latest_identity(space, wing)
        if found is not None:
            return Identity(text=found.text, event_id=found.id, set_at=found.at, wing=found.wing)
    return None


def identity_lines(identity: Identity | None) -> list[Told]:
    """Give an identity sentence by sentence."""
    if identity is None:
        return []
    return [
        Told(
            layer=0,
            kind="identity",
            text=one_line(identity.text[span.start : span.end]),
            citation=Citation(mark="", event_id=identity.event_id, span=span),
            priority=1.0,
            reasons=(Score(stage="identity", score=1.0, why="set by hand"),),
        )
        for span in sentences(identity.text)
    ]


def candidates(scene: Scene) -> list[Candidate]:
    """Gather what every source gives; of one thing that several give, the first."""
    found: dict[str, Candidate] = {}
    for source in SOURCES:
        for candidate in source(scene):
            found.setdefault(candidate.order[1], candidate)
    return list(found.values())


def about_topic(scene: Scene) -> Iterator[Candidate]:
    """Give what is known about the topic that was named."""
    if scene.topic is not None:
        standing = scene.reader.standing(scene.space, scene.topic, limit=_ABOUT_TOPIC)
        yield from _weighed(scene, standing, layer=2)


def statements(scene: Scene) -> Iterator[Candidate]:
    """Give what was decided, is to be done, is preferred and is so: the newest of each kind, and what is said most."""
    reader, space = scene.reader, scene.space
    latest = [
        artifact
        for kind in ArtifactKind
        for artifact in reader.latest_artifacts(space, kind, wing=_seen(scene, kind), limit=_LATEST_OF_A_KIND)
    ]
    known = {artifact.id for artifact in latest}
    often = (id for id in scene.confirmed if id not in known)
    more = [artifact for id in often if (artifact := reader.artifact(space, id)) is not None]
    yield from _weighed(scene, [*latest, *more], layer=1)


def latest_sessions(scene: Scene) -> Iterator[Candidate]:
    """Tell how the latest sessions of the project began."""
    wing = scene.wing or scene.project
    if wing is None:
        return
    rows = scene.reader.page(scene.space, Filter(wing=wing), newest_first=True, limit=_LOOKED_BACK)
    latest = sorted((event for _, event in rows), key=effective_at, reverse=True)
    names = dict.fromkeys(event.session for event in latest if event.session is not None)
    for weight, session in zip(_LATEST_SESSIONS, names, strict=False):
        rows = scene.reader.page(scene.space, Filter(wing=wing, session=session), limit=_SESSION_EVENTS)
        said = next((event for _, event in rows if event.role in (None, "user") and may_be_shown_unasked(event)), None)
        if said is not None:
            yield _session_line(said, weight)


def live_intents(scene: Scene) -> Iterator[Candidate]:
    """Tell which goals are not met, the most pressing first."""
    grounded = [intent for intent in scene.standing.intents if intent.grounds]
    for intent in grounded[:_INTENTS_TOLD]:
        yield _intent_line(intent)


def worded_concepts(scene: Scene) -> Iterator[Candidate]:
    """Tell what keeps coming up, where somebody has worded it: what rules call it are keywords, not news."""
    if scene.wing is not None:
        return  # a concept's words may come from other wings
    ranked = sorted(scene.standing.latest, key=lambda id: (-scene.standing.of[id], id))
    worded = [id for id in ranked if scene.standing.concepts[id].written_by != _RULES]
    for id in worded[:_CONCEPTS_TOLD]:
        yield _concept_line(scene, id)


# What L1 and L2 are chosen from. Each gives its lines with a priority and the reasons for it.
SOURCES: tuple[Source, ...] = (about_topic, statements, live_intents, worded_concepts, latest_sessions)


def _seen(scene: Scene, kind: ArtifactKind) -> str | None:
    """Tell which wing's statements of a kind count."""
    return scene.wing or (None if kind in _EVERYWHERE else scene.project)


def _weighed(scene: Scene, artifacts: list[Artifact], *, layer: int) -> Iterator[Candidate]:
    raw_ids = {artifact.event_id: raw_event_id(artifact.event_id) or b"" for artifact in artifacts}
    events = {
        known.event.id: known.event
        for known in scene.reader.find(scene.space, list(dict.fromkeys(raw_ids.values()))).values()
    }
    for artifact in artifacts:
        event = events.get(artifact.event_id)
        if event is not None and _counts(scene, artifact, event, layer):
            yield _line(scene, artifact, event, scene.confirmed.get(artifact.id, 0), layer)


def _counts(scene: Scene, artifact: Artifact, event: Event, layer: int) -> bool:
    if artifact.status != "current" or is_over(artifact, scene.today):
        return False
    if not may_be_shown_unasked(event):
        return False
    if artifact.kind in TO_DO and any(_is_said_in(ground, artifact) for ground in scene.standing.closed):
        return False
    if scene.wing is not None:
        return event.wing == scene.wing
    elsewhere = scene.project is not None and event.wing not in (None, scene.project)
    return layer == 2 or not elsewhere or artifact.kind in _EVERYWHERE


def _is_said_in(ground: Evidence, artifact: Artifact) -> bool:
    if ground.event_id != artifact.event_id:
        return False
    return ground.span.start < artifact.span.end and artifact.span.start < ground.span.end


def _line(scene: Scene, artifact: Artifact, event: Event, confirmed: int, layer: int) -> Candidate:
    project = scene.wing or scene.project
    reasons = weigh(
        artifact,
        said_at=effective_at(event),
        latest=scene.latest,
        today=scene.today,
        confirmed=confirmed,
        here=project is not None and event.wing == project and artifact.kind not in _EVERYWHERE,
        by_assistant=(event.role or "").lower() in _ASSISTANTS,
    )
    standing = scene.standing.of.get(event.id, 0.0)
    if standing:
        score = round(_STANDING * standing, 4)
        reasons = (*reasons, Score(stage="window", score=score, why="how it stands in the window"))
    told = Told(
        layer=layer,
        kind=f"{artifact.kind.value.replace('_', ' ')}, {day_in_words(event.at)}",
        text=one_line(artifact.content),
        citation=Citation(mark="", event_id=event.id, key=event.key, span=artifact.span),
        priority=priority(reasons),
        reasons=reasons,
    )
    return Candidate(told=told, order=(effective_at(event).timestamp(), artifact.id), group=artifact.kind)


def _intent_line(intent: Intent) -> Candidate:
    # Where its own words are; reworded by a person, it has none there.
    ground = next((one for one in intent.grounds if intent.statement in one.quote), intent.grounds[-1])
    due = "" if intent.due is None else f", due {day_in_words(intent.due)}"
    reasons = (
        Score(stage="urgency", score=round(URGENCY_SHARE * intent.urgency, 4), why=intent.reason or "a goal not met"),
        Score(stage="importance", score=round((1 - URGENCY_SHARE) * intent.importance, 4), why=intent.category.value),
    )
    told = Told(
        layer=1,
        kind=f"intent{due}",
        text=one_line(intent.statement),
        citation=Citation(mark="", event_id=ground.event_id, span=ground.span),
        priority=priority(reasons),
        reasons=reasons,
    )
    # A todo is told as a todo: an intent beside it would say the same twice.
    return Candidate(told=told, order=(intent.last_at.timestamp(), intent.id), group="intent", quotes=True)


def _concept_line(scene: Scene, id: str) -> Candidate:
    concept, event = scene.standing.concepts[id], scene.standing.latest[id]
    reasons = (
        Score(stage="concept", score=_CONCEPT, why=f"{concept.events} events come to it"),
        Score(stage="window", score=round(_STANDING * scene.standing.of[id], 4), why="how it stands among the others"),
    )
    told = Told(
        layer=1,
        kind="concept",
        text=f"{name(concept.label)}: {one_line(concept.description)}",
        citation=Citation(mark="", event_id=event.id, key=event.key, span=Span(0, len(event.text))),
        priority=priority(reasons),
        reasons=reasons,
    )
    return Candidate(told=told, order=(event.at.timestamp(), id), group="concept")


def _session_line(said: Event, weight: float) -> Candidate:
    end = min(len(said.text), _QUOTED_CHARS)
    quoted = one_line(said.text[:end]) + ("..." if end < len(said.text) else "")
    reasons = (Score(stage="session", score=weight, why="how one of the latest sessions of the project began"),)
    told = Told(
        layer=1,
        kind=f"session, {day_in_words(said.at)}",
        text=f'began with "{quoted}"',
        citation=Citation(mark="", event_id=said.id, key=said.key, span=Span(0, end)),
        priority=priority(reasons),
        reasons=reasons,
    )
    return Candidate(told=told, order=(said.at.timestamp(), said.id), group="session", quotes=True)
