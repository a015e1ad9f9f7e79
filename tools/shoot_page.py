"""Take the pictures of docs/images anew: the page on the sample history, in a real browser (chromium)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
HISTORY = ROOT / "examples" / "history.jsonl"
IMAGES = ROOT / "docs" / "images"
WIDE, PHONE = (1280, 860), (390, 844)  # px
SETTLE_MS = 1_500  # until fonts are there and the graph stands


class Picture(NamedTuple):
    """What is shown, and how."""

    name: str
    view: str
    size: tuple[int, int] = WIDE
    colours: str = "light"


PICTURES = (
    Picture("know", "know?q=Where does Ana live%3F&at=2026-07-12&against=2026-07-01"),
    Picture("timeline", "timeline"),
    Picture("graph", "graph"),
    Picture("statements", "statements", colours="dark"),
    Picture("phone", "know?q=Where does Ana live%3F&at=2026-03-01", PHONE),
)


def main() -> None:
    """Serve the sample history, and shoot."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with _serving() as address, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=options)
        for picture in PICTURES:
            _shoot(browser, address, picture)
        browser.close()


def _shoot(browser: Any, address: str, picture: Picture) -> None:
    width, height = picture.size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=picture.colours, device_scale_factor=1.5
    )
    page.goto(f"{address}/#/{picture.view}")
    page.wait_for_selector("main h1")
    page.wait_for_selector(".skeleton", state="detached")
    page.evaluate("document.activeElement?.blur()")
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=str(IMAGES / f"{picture.name}.png"))
    page.close()


@contextmanager
def _serving() -> Iterator[str]:
    everyword = [sys.executable, "-m", "everyword"]
    with tempfile.TemporaryDirectory() as folder:
        memory = ["--memory", str(Path(folder) / "memory.db")]
        for step in (["import", str(HISTORY)], ["settle"]):
            subprocess.run([*everyword, *step, *memory], check=True, stdout=subprocess.DEVNULL)
        serve = [*everyword, "serve", *memory, "--port", "0", "--no-mcp"]
        service = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        assert service.stdout is not None
        try:
            yield service.stdout.readline().split(" at ")[1].split()[0].rstrip("/")
        finally:
            service.terminate()
            service.wait(60)


if __name__ == "__main__":
    main()
