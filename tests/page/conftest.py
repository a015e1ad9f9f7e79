"""A browser and a window of it for each file of tests, and a tab for each test: windows take long to open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.page.browsing import browsing, silent, silent_page

SIZE = {"width": 1200, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """Give a window, for tests that open more tabs or whose tabs report requests that fail."""
    with browser.new_context(viewport=SIZE) as opened:
        yield opened


@pytest.fixture
def page(window: Any) -> Iterator[Any]:
    with silent_page(window) as opened:
        yield opened


@pytest.fixture(scope="module")
def tab(window: Any) -> Iterator[Any]:
    opened = window.new_page()
    yield opened
    opened.close()


@pytest.fixture
def same_page(tab: Any) -> Iterator[Any]:
    """Give the tab of the file's other tests, for those that load what they need: a new one is a process of its own."""
    with silent(tab):
        yield tab
        tab.unroute_all()
        tab.emulate_media(color_scheme="null", reduced_motion="null")
        tab.set_viewport_size(SIZE)
