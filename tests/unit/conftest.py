"""Unit tests derive when they read: a thread that works meanwhile would make them depend on the machine's load."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everyword import Memory
from everyword.jobs.deriver import BackgroundDeriver


@pytest.fixture(autouse=True)
def _no_background(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "background" not in request.keywords:
        monkeypatch.setattr(BackgroundDeriver, "wake", lambda *_, **__: None)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="none") as opened:
        yield opened
