"""Links between statements."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from everyword.knowledge.drafts import category_of
from everyword.knowledge.links import MOST_FOLLOWS, MOST_REFERENCES, Link, LinkKind, Placed, link
from everyword.types.events import Span
from everyword.types.statements import Statement, StatementDraft, StatementKind, adopt

AT = datetime(2026, 3, 10, 9, 0, tzinfo=UTC)


DECISION = "We decided to use PostgreSQL for billing."
TASK = "I need to migrate the invoices this week."
FACT = "The API allows 500 requests per minute."
EVENT = "I visited my aunt yesterday."
_KINDS = {
    "We decided": StatementKind.DECISION,
    "I need": StatementKind.TASK,
    "The API": StatementKind.FACT,
    "I visited": StatementKind.EVENT,
    "I bought": StatementKind.EVENT,
}


def placed(text: str, turn: int) -> Placed:
    """Make a statement of a text; its first two words tell its kind."""
    kind = _KINDS.get(" ".join(text.split()[:2]), StatementKind.PREFERENCE)
    at = AT + timedelta(minutes=turn)
    draft = StatementDraft(
        kind=kind,
        content=text,
        category=category_of(kind, None),
        quote=text,
        event_id=f"ev_{turn}",
        span=Span(0, len(text)),
        speaker="Ana",
        about="Ana",
        confidence=0.9,
        valid_from=at,
    )
    return Placed(statement=adopt(draft, recorded_at=AT), turn=turn)


def alike(cosine: float) -> Callable[[Statement, Statement], float]:
    return lambda one, other: cosine


def kinds(links: tuple[Link, ...]) -> list[LinkKind]:
    return [found.kind for found in links]


@pytest.mark.parametrize(("cosine", "linked"), [(0.5, True), (0.49, False)])
def test_similar_statements_refer_to_one_another(cosine: float, linked: bool) -> None:
    earlier, later = placed("I love pottery.", 1), placed("I bought a kiln yesterday.", 40)
    links = link([later], [earlier], alike(cosine))
    assert (kinds(links) == [LinkKind.REFERENCE]) is linked
    if linked:
        assert (links[0].source, links[0].target) == (later.statement.id, earlier.statement.id)
        assert links[0].at == later.statement.valid_from
        assert links[0].weight == cosine


def test_shared_words_make_up_for_less_similarity() -> None:
    earlier, later = placed("I love sourdough bread baking.", 1), placed("I enjoy baking rye bread.", 40)
    (found,) = link([later], [earlier], alike(0.3))
    assert "baking bread" in found.reason
    assert link([later], [earlier], alike(0.29)) == ()


@pytest.mark.parametrize(("turns", "linked"), [(5, True), (6, False)])
def test_a_task_comes_of_a_decision_shortly_before(turns: int, linked: bool) -> None:
    cause, effect = placed(DECISION, 1), placed(TASK, 1 + turns)
    links = link([effect], [cause], alike(0.45))
    assert (LinkKind.CAUSAL in kinds(links)) is linked
    if linked:
        assert (links[0].source, links[0].target) == (cause.statement.id, effect.statement.id)


def test_a_task_has_one_decision_behind_it() -> None:
    decisions = [placed("We decided to use Rust.", 1), placed("We decided to rent a bigger office.", 2)]
    task = placed(TASK, 3)
    closeness = {decisions[0].statement.id: 0.46, decisions[1].statement.id: 0.48}
    links = link([task], decisions, lambda one, other: closeness[one.id])
    assert [found.source for found in links if found.kind is LinkKind.CAUSAL] == [decisions[1].statement.id]


def test_order_alone_is_a_weak_link() -> None:
    near = link([placed(DECISION, 2)], [placed(FACT, 1)], alike(0.0))
    far = link([placed(DECISION, 3)], [placed(FACT, 1)], alike(0.0))
    assert kinds(near) == kinds(far) == [LinkKind.TEMPORAL]
    assert 0 < far[0].weight < near[0].weight <= 0.5
    assert link([placed(DECISION, 4)], [placed(FACT, 1)], alike(0.0)) == ()
    assert kinds(link([placed(EVENT, 11)], [placed(DECISION, 1)], alike(0.0))) == [LinkKind.TEMPORAL]
    assert link([placed(EVENT, 12)], [placed(DECISION, 1)], alike(0.0)) == ()


def test_what_follows_is_never_the_cause() -> None:
    assert link([placed(FACT, 9)], [placed(DECISION, 8)], alike(0.0)) == ()


def test_links_are_capped_and_the_nearest_stay() -> None:
    earlier = [placed(f"I love band number {turn}.", turn) for turn in range(20)]
    later = placed("I love music festivals.", 30)
    closeness = {one.statement.id: 0.5 + one.turn / 100 for one in earlier}
    links = link([later], earlier, lambda one, other: closeness[one.id])
    assert len(links) == MOST_REFERENCES
    assert [found.target for found in links] == [one.statement.id for one in reversed(earlier[-MOST_REFERENCES:])]
    decisions = [placed(f"We decided to paint wall number {turn}.", turn) for turn in range(1, 8)]
    assert len(link([placed(EVENT, 9)], decisions, alike(0.0))) == MOST_FOLLOWS


def test_new_statements_are_linked_among_themselves_and_the_same_each_time() -> None:
    new = [placed(DECISION, 1), placed(TASK, 2)]
    links = link(new, [], alike(0.6))
    assert kinds(links) == [LinkKind.REFERENCE, LinkKind.CAUSAL]
    assert link(list(reversed(new)), [], alike(0.6)) == links
