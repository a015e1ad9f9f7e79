"""The page over a large memory: how long each view takes until all of it is painted, and the calls behind it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from benchmarks.conversations import EMBEDDER, fill
from benchmarks.measure import console, table
from everyword import Memory

ROUNDS = 5
CALLS = 3  # times that each call is made by itself
GOAL_MS = 1_000


class View(NamedTuple):
    """A view of the page."""

    name: str
    address: str  # behind the #
    shows: str  # CSS of what is there when the view has its data


@dataclass(frozen=True, slots=True)
class Opened:
    """How a view did."""

    p50: float  # ms until all of it was painted
    most: float
    calls: int
    slowest: str  # the call that takes longest by itself
    slowest_ms: float


# A driver that asks whether something is there asks ever more rarely, and would add up to half a second. So the page
# itself says when: as soon as what it shows is there and nothing of it is waited for, and two frames later, when what
# was computed for it is on the screen.
WATCH = """
window.painted = new Promise((tell) => {
  const watch = new MutationObserver(() => {
    if (!document.querySelector(SHOWN) || document.querySelector("main :is(.skeleton, [aria-busy=true])")) return;
    watch.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => tell(performance.now())));
  });
  watch.observe(document, { childList: true, subtree: true, attributes: true });
});
"""


def page(folder: Path, *, events: int, filled: str | None = None) -> dict[str, Opened]:
    """Open every view several times, each in a new browser context as somebody who comes for the first time."""
    path = folder / "page.db"
    if filled:
        shutil.copy(filled, path)
    else:
        fill(path, events)
    with Memory.open(path, "none", background=False) as memory:
        held = memory.stats()
    with serving(path) as address:
        results = measure(address)
    stated, facts = sum(held.statements.values()), held.graph.get("facts", 0)
    table(
        f"The page over {held.events:,} events, {stated:,} statements, {facts:,} facts, {held.concepts:,} concepts "
        f"(load {os.getloadavg()[0]:.0f})",
        ["view", "ms p50", "ms most", "goal", "calls", "slowest call, by itself"],
        [
            [
                name,
                f"{one.p50:.0f}",
                f"{one.most:.0f}",
                f"{GOAL_MS:,}",
                one.calls,
                f"{one.slowest} {one.slowest_ms:.0f} ms",
            ]
            for name, one in results.items()
        ],
    )
    return results


def measure(address: str, rounds: int = ROUNDS) -> dict[str, Opened]:
    """Open each view of the page at this address."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    results: dict[str, Opened] = {}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=options)
        for view in views(address):
            asked: set[str] = set()
            # The first round warms up.
            taken = [opened(browser, f"{address}/#/{view.address}", view.shows, asked) for _ in range(rounds + 1)][1:]
            alone = {url: _called(url) for url in sorted(asked)}
            slowest = max(alone, key=lambda url: alone[url], default="")
            called = urlsplit(slowest).path.removeprefix("/v1/")
            results[view.name] = Opened(median(taken), max(taken), len(alone), called, alone.get(slowest, 0.0))
            console.print(f"{view.name}: {results[view.name].p50:.0f} ms", highlight=False)
        browser.close()
    return results


def views(address: str) -> Sequence[View]:
    """List the views, about somebody and some conversation that the memory knows."""
    person = _json(f"{address}/v1/entities?type=person&limit=1")["entities"][0]["name"]
    session = _json(f"{address}/v1/sessions?limit=1")["sessions"][0]["name"]
    return (
        View("ask", "know", ".below p.soft:not(:empty)"),
        View("an answer", f"know?q={quote(f'Where does {person} live?')}", ".know .verdict"),
        View("an answer in the past", f"know?q={quote(f'Where does {person} live?')}&at=2025-03-01", ".know .verdict"),
        View("people", "people", ".name"),
        View("a person", f"people/{quote(person)}", ".person"),
        View("timeline", "timeline", ".time .fact"),
        View("timeline of a person", f"timeline?person={quote(person)}", ".time .saids"),
        View("to do", "intents", ".todo"),
        View("done", "intents?status=resolved", ".todo"),
        View("conversations", "browse", "article.hit"),
        View("conversations, oldest first", "browse?sort=oldest", "article.hit"),
        View("conversations of a wing", "browse?wing=work", "article.hit"),
        View("a conversation", f"browse/session/{quote(session)}", ".message"),
        View("messages", "browse?what=messages", ".message"),
        View(
            "messages, filtered", f"browse?what=messages&speaker={quote(person)}&wing=work&until=2025-01-01", ".message"
        ),
        View("statements", "browse?what=statements", "article.hit"),
        View("statements, filtered", "browse?what=statements&kind=decision&status=superseded", "article.hit"),
        View("a search", "browse?q=birthday+present", "section.hit"),
        View("a search, filtered", "browse?what=messages&q=birthday+present&wing=family&since=2025-01-01", ".message"),
        View("a search of statements", "browse?what=statements&q=birthday", "article.hit"),
        View("graph", "graph", ".node"),
        View("put in", "add", "form"),
        View("forget", "forget", "form"),
        View("health", "health", ".tiles"),
    )


def opened(browser: Any, url: str, shown: str, asked: set[str]) -> float:
    """Tell after how many ms a view is painted, by the browser's own clock; note the calls that it makes."""
    context = browser.new_context(viewport={"width": 1280, "height": 850})
    try:
        view = context.new_page()
        view.on("request", lambda request: asked.add(request.url) if _is_call(request) else None)
        view.add_init_script(WATCH.replace("SHOWN", json.dumps(f"main :is({shown}), .empty")))
        view.goto(url, wait_until="commit")
        return float(view.evaluate("window.painted"))
    finally:
        context.close()


def _is_call(request: Any) -> bool:
    path = urlsplit(request.url).path
    return request.method == "GET" and path.startswith("/v1/") and path != "/v1/stream"


def _called(url: str) -> float:
    taken: list[float] = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        _json(url)
        taken.append((time.perf_counter() - begun) * 1e3)
    return median(taken)


def _json(url: str) -> Any:
    request = urllib.request.Request(url, headers={"x-everyword-page": "1"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """Serve a memory as users do, without the worker and MCP."""
    command = [sys.executable, "-m", "everyword", "serve", "--port", "0", "--memory", str(path), "--no-mcp"]
    command += ["--no-worker", "--rate", "0", "--embedder", EMBEDDER]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split(" at ")[1].split()[0].rstrip("/")
    finally:
        process.terminate()
        process.wait(60)
