"""A browser and a window of it for each file of tests, and a tab for each test: windows take long to open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.page.browsing import browsing, silent_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """Give a window, for tests that open more tabs or whose tabs report requests that fail."""
    with browser.new_context(viewport={"width": 1200, "height": 800}) as opened:
        yield opened


@pytest.fixture
def page(window: Any) -> Iterator[Any]:
    with silent_page(window) as opened:
        yield opened
