"""Vectors are compared as seen from the centre of all events: what they share says nothing about any of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from everyword.knowledge.concept_graph import Graph, Moment, Node, Vector, joining, load_profile, summed
from everyword.knowledge.concept_labels import label_of

DIMS = 64
THEMES = 6
EACH = 80  # events of a theme
SHARED = 3  # parts of what all have in common to one of its theme


def vector(rng: np.random.Generator, theme: int) -> NDArray[np.int8]:
    """Make the vector of an event: the manner of the talk, a theme, and a little of its own."""
    parts = rng.normal(0, 0.2, DIMS)
    parts[0] += SHARED
    parts[1 + theme] += 1
    return np.rint(127 * parts / np.linalg.norm(parts)).astype(np.int8)


def node(id: str, vectors: list[NDArray[np.int8]]) -> Node:
    return Node(id=id, label=id, size=len(vectors), total=summed(vectors))


def nearest_to(graph: Graph, vector: NDArray[np.int8]) -> list[tuple[str, float]]:
    return graph.near(vector, 1, most=9, least=-1.0)


@pytest.fixture
def talk() -> tuple[Graph, list[list[NDArray[np.int8]]]]:
    """Make a graph of one concept a theme, and one that holds a little of everything and is the largest."""
    rng = np.random.default_rng(7)
    told = [[vector(rng, theme) for _ in range(EACH)] for theme in range(THEMES)]
    graph = Graph("s", load_profile("general"), None)
    for theme in range(THEMES):
        graph.put(node(f"theme {theme}", told[theme][:3]))
    graph.put(node("all", [one for theme in told for one in theme[3:-2]]))
    return graph, [theme[-2:] for theme in told]


def test_what_holds_a_little_of_everything_is_nearest_to_nothing(
    talk: tuple[Graph, list[list[NDArray[np.int8]]]],
) -> None:
    graph, fresh = talk
    nearest = [nearest_to(graph, one)[0][0] for events in fresh for one in events]
    wanted = [f"theme {theme}" for theme, events in enumerate(fresh) for _ in events]
    assert nearest == wanted
    # Without the centre the largest would have been the nearest to many of them.
    totals = {id: one.total for id, one in graph.nodes.items()}
    by_cosine = [max(totals, key=lambda id: _cosine(totals[id], one)) for events in fresh for one in events]
    assert by_cosine.count("all") >= len(by_cosine) / 4


def test_events_of_two_themes_lie_apart_and_of_one_theme_near(
    talk: tuple[Graph, list[list[NDArray[np.int8]]]],
) -> None:
    graph, fresh = talk
    first, second = (_moment(seq, one) for seq, one in enumerate(fresh[0]))
    other = _moment(2, fresh[1][0])
    alike, apart = graph.cosine(first, second), graph.cosine(first, other)
    assert alike > 0.2 > apart
    assert _cosine(fresh[0][0], fresh[1][0]) > 0.6  # as vectors they are hardly told apart


def test_the_centre_is_the_same_by_whatever_way_it_came_about(
    talk: tuple[Graph, list[list[NDArray[np.int8]]]],
) -> None:
    graph, fresh = talk
    again = Graph("s", graph.profile, None)
    for one in reversed(list(graph.nodes.values())):
        again.put(Node(id=one.id, label=one.label, size=2, total=2 * one.total))
        again.put(one)
    again.put(node("gone", fresh[3]))
    again.drop("gone")
    assert again.centre.square == graph.centre.square
    assert nearest_to(again, fresh[0][0]) == nearest_to(graph, fresh[0][0])


def test_an_event_that_does_not_say_the_label_must_be_nearer_to_join() -> None:
    graph = Graph("s", load_profile("general"), None)
    axes = np.eye(DIMS)
    for axis in range(8, 32):  # so many others that thresholds are near to those of the profile
        graph.put(node(f"other {axis}", [np.rint(127 * axes[axis]).astype(np.int8)] * EACH))
    graph.put(Node(id="co_boiler", label="the boiler", size=3, total=3 * 127 * axes[0]))
    vectors = [np.rint(127 * (near * axes[0] + (1 - near**2) ** 0.5 * axes[1])).astype(np.int8) for near in (0.63, 0.7)]

    def joined(vector: NDArray[np.int8], *terms: str) -> bool:
        moment = Moment(seq=1, event_id="ev", at=0, founds=True, vector=vector, terms=terms)
        return bool(joining(graph, moment).operations)

    near, nearer = vectors
    assert joined(near, "boiler", "kitchen")
    assert not joined(near, "kitchen")
    assert joined(nearer, "kitchen")


def test_a_label_covers_three_of_four_events_or_those_that_are_like_the_others() -> None:
    said = [["The boiler broke."], ["The boiler leaks."], ["No hot water."]]
    things = [["boiler"], ["boiler"], ["hot water"]]

    def label(near: tuple[bool, ...]) -> str:
        return label_of(said, things, "The boiler broke.", ({}, 50), near=near).label

    assert label((True, True, True)) == "boiler"
    assert label((False, False, True)) == "boiler"
    assert label((True, True, False)) == ""


def test_a_graph_of_nothing_and_of_another_model_has_no_centre() -> None:
    graph = Graph("s", load_profile("general"), None)
    assert graph.centre.square == 0
    assert nearest_to(graph, np.ones(DIMS, np.int8)) == []
    graph.put(node("old", [np.ones(8, np.int8)] * 3))
    graph.put(node("new", [np.arange(DIMS).astype(np.int8)] * 3))
    assert [id for id, _ in nearest_to(graph, np.arange(DIMS).astype(np.int8))] == ["new"]


def _moment(seq: int, vector: NDArray[np.int8]) -> Moment:
    return Moment(seq=seq, event_id=str(seq), at=0, founds=True, vector=vector)


def _cosine(one: Vector | NDArray[np.int8], other: Vector | NDArray[np.int8]) -> float:
    mine, theirs = np.asarray(one, np.float64), np.asarray(other, np.float64)
    return float(mine @ theirs / np.linalg.norm(mine) / np.linalg.norm(theirs))
