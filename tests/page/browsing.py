"""What the tests of the page share: a service as users run it, a real browser, pages that must say nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE_MS = 20_000  # a machine that is busy with other tests is slow; what never comes fails all the same
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="NO BROWSER: install chromium, the page is not tested without one"
)


class Served(NamedTuple):
    """A service that runs, and its file."""

    url: str
    path: Path


@contextmanager
def serving(path: Path, *options: str, port: int = 0) -> Iterator[Served]:
    """Run `everyword serve` with these options."""
    command = [sys.executable, "-m", "everyword", "serve", "--memory", str(path)]
    command += ["--port", str(port), "--embedder", "hashing", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        told = ""
        for line in process.stdout:
            told += line
            if found := re.search(r"http://[\d.:]+", line):
                break
        else:
            pytest.fail(f"the service did not start: {told}")
        try:
            yield Served(found.group().rstrip("/") + "/", path)
        finally:
            process.terminate()
            process.stdout.read()


@contextmanager
def browsing() -> Iterator[Any]:
    """Start a browser."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    options = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=options)
        yield opened
        opened.close()


@contextmanager
def silent_page(browser: Any, **options: Any) -> Iterator[Any]:
    """Open a page that must say nothing on its console."""
    opened = browser.new_page(**{"viewport": {"width": 1200, "height": 800}, **options})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    opened.close()
    # A test may have ended its service before the page; the browser itself reports that.
    said = [one for one in said if not one.endswith("net::ERR_CONNECTION_REFUSED")]
    assert not said, said
