"""The page over a memory of some years: every view is there in a second, or as fast as the machine shows any view."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.conversations import fill
from benchmarks.page import GOAL_MS, View, opened, views
from tests.effort import LONG, effort
from tests.page.browsing import needs_browser, serving

pytestmark = [needs_browser, pytest.mark.slow]

EVENTS = effort(1_500, 100_000)
# One of each kind of question to a large memory; `python -m benchmarks --only page` opens all views.
KINDS = {
    "an answer",
    "a person",
    "timeline",
    "to do",
    "conversations",
    "messages, filtered",
    "statements",
    "a search",
    "graph",
    "health",
}
ROUNDS = 3
QUIET_MS = 250  # until a view that asks for nothing is painted on a quiet machine


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path: Path = tmp_path_factory.mktemp("large") / "memory.db"
    fill(path, EVENTS)
    with serving(path, worker=False, requests_per_s=0) as service:
        yield service.url.rstrip("/")


def test_every_view_is_painted_within_a_second(browser: Any, served: str) -> None:
    chosen = [view for view in views(served) if LONG or view.name in KINDS]
    slow = [told for view in chosen if (told := _slow(browser, served, view)) is not None]
    assert not slow, slow


def _slow(browser: Any, address: str, view: View) -> str | None:
    taken, plain = 0.0, 0.0
    for _ in range(ROUNDS):
        taken = opened(browser, f"{address}/#/{view.address}", view.shows, set())
        if taken <= GOAL_MS:
            return None
        # A busy machine shows all views later: one that asks for nothing says by how much.
        plain = opened(browser, f"{address}/#/add", "form", set())
        if taken <= GOAL_MS * max(1.0, plain / QUIET_MS):
            return None
    return f"{view.name}: {taken:.0f} ms, an empty view {plain:.0f} ms"
