"""The page over a large memory: how long each view takes until it shows what it is for, in a real browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.material import lines
from benchmarks.measure import console, table
from everyword import Memory

BATCH = 1_000
WINGS = 6
ROUNDS = 5
GOAL_MS = 1_000
# What a view shows when it is there; where the memory holds nothing of the kind, it says so (.empty).
SHOWS = {
    "know": ".chip",
    "know?q=What+was+decided+about+the+radar+vendor%3F": ".verdict",
    "people": ".name",
    "timeline": ".time .saids",
    "intents": ".todo",
    "browse": "article",
    "browse?what=messages": ".message",
    "browse?what=statements": "article",
    "browse?q=radar+vendor": "section.hit",
    "graph": ".node",
    "add": "form",
    "forget": "form",
    "health": ".tiles",
}


# A driver that asks whether something is there asks ever more rarely, and would add up to half a second. So the page
# itself says when: as soon as it is there, and two frames later, when what was computed for it is on the screen.
WATCH = """
window.painted = new Promise((tell) => {
  const watch = new MutationObserver(() => {
    if (!document.querySelector(SHOWN)) return;
    watch.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => tell(performance.now())));
  });
  watch.observe(document, { childList: true, subtree: true });
});
"""


def page(folder: Path, *, events: int, filled: str | None = None) -> dict[str, tuple[float, float]]:
    """Open every view several times, each in a new browser context as somebody who comes for the first time."""
    from playwright.sync_api import sync_playwright

    path = folder / "page.db"
    if filled:
        shutil.copy(filled, path)
    else:
        _fill(path, events)
    with Memory.open(path, embedder="none") as memory:
        held = memory.stats()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    results: dict[str, tuple[float, float]] = {}
    with _serving(path) as address, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=options)
        for view, shown in SHOWS.items():
            taken = sorted(_opened(browser, f"{address}/#/{view}", shown) for _ in range(ROUNDS + 1))[:ROUNDS]
            results["an answer" if view.startswith("know?") else view] = (taken[len(taken) // 2], taken[-1])
        browser.close()
    table(
        f"The page over {held.events:,} events and {held.concepts:,} concepts, load {os.getloadavg()[0]:.0f}",
        ["view", "ms p50", "ms most", "goal"],
        [[name, f"{median:.0f}", f"{most:.0f}", f"{GOAL_MS:,}"] for name, (median, most) in results.items()],
    )
    return results


def _opened(browser: Any, url: str, shown: str) -> float:
    """Tell after how many ms a view is there and painted, by the browser's own clock."""
    context = browser.new_context(viewport={"width": 1280, "height": 850})
    try:
        view = context.new_page()
        view.add_init_script(WATCH.replace("SHOWN", json.dumps(f"main :is({shown}), .empty")))
        view.goto(url, wait_until="commit")
        return float(view.evaluate("window.painted"))
    finally:
        context.close()


def _fill(path: Path, events: int) -> None:
    source = lines(1)
    with Memory.open(path, embedder="hashing", durability="normal", fold=False) as memory:
        for first in range(0, events, BATCH):
            batch = list(islice(source, BATCH))
            memory.add_many({**one, "wing": f"project-{(first + n) // 20 % WINGS}"} for n, one in enumerate(batch))
            if first % (10 * BATCH) == 0:
                console.print(f"{first:,} of {events:,} events", highlight=False)


@contextmanager
def _serving(path: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "everyword", "serve", "--port", "0", "--memory", str(path)]
    # Without the worker: concepts of a memory that was filled without them would be folded meanwhile.
    command += ["--no-mcp", "--no-worker"]
    environment = {**os.environ, "EVERYWORD_EMBEDDER": "hashing"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split(" at ")[1].split()[0].rstrip("/")
    finally:
        process.terminate()
        process.wait(60)
