"""A browser for each file of tests, and pages of it that must say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.page.browsing import browsing, silent_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as opened:
        yield opened


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with silent_page(browser) as opened:
        yield opened
