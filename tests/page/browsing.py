"""What the tests of the page share: a service as users run it, a real browser, pages that must say nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.serve import service

from everyword import Memory

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE_MS = 20_000  # a machine that is busy with other tests is slow; what never comes fails all the same
# Each window renders a page of suggestions for its address bar, which takes as much time as opening a page of ours.
WITHOUT = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "PreloadTopChromeWebUI")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="NO BROWSER: install chromium, the page is not tested without one"
)


_loads = count()


class Served(NamedTuple):
    """A service that runs, and its file."""

    url: str
    path: Path

    def anew(self, view: str) -> str:
        """Give an address that a tab with another view of the page must load, without a new process for it."""
        return f"{self.url}?{next(_loads)}#/{view}"


@contextmanager
def serving(path: Path, **options: Any) -> Iterator[Served]:
    """Serve a file as `everyword serve` does, in a thread: a process would take two seconds to start."""
    options.setdefault("worker", True)
    with Memory.open(path, "hashing") as memory, service.serving(memory, **options) as url:
        yield Served(url.rstrip("/") + "/", path)


@contextmanager
def browsing() -> Iterator[Any]:
    """Start a browser."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    options = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
    # Tabs share a process, which then knows the page's scripts.
    options += [f"--disable-features={','.join(WITHOUT)}", "--renderer-process-limit=1"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=options)
        yield opened
        opened.close()


@contextmanager
def silent_page(window: Any) -> Iterator[Any]:
    """Open a page that must say nothing on its console."""
    opened = window.new_page()
    with silent(opened):
        yield opened
        opened.close()


@contextmanager
def silent(page: Any) -> Iterator[None]:
    """Check that a page says nothing on its console meanwhile."""
    said: list[str] = []
    heard = {
        "console": lambda message: said.append(message.text) if message.type == "error" else None,
        "pageerror": lambda error: said.append(str(error)),
    }
    for event, hear in heard.items():
        page.on(event, hear)
    yield
    for event, hear in heard.items():
        page.remove_listener(event, hear)
    # A test may have ended its service before the page; the browser itself reports that.
    said = [one for one in said if not one.endswith("net::ERR_CONNECTION_REFUSED")]
    assert not said, said
