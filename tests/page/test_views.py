"""What one does in each view, in a real browser: look closer, walk, answer, replay; and a large memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.page.browsing import Served, needs_browser, serving, silent_page

from everyword import Memory

playwright = pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
Browser, Page, expect = playwright.Browser, playwright.Page, playwright.expect

pytestmark = needs_browser
MANY = 3_000
START = datetime(2024, 1, 1, tzinfo=UTC)
GOALS = ("send the budget report to Will", "renew the passport", "call the notary", "book the ferry to Porto")


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a memory with concepts in two wings, facts that ended, and goals that nobody has met."""
    path = tmp_path_factory.mktemp("views") / "memory.db"
    with Memory.open(path, "hashing") as memory:
        for number in range(8):
            wing = "harbour" if number % 2 else "office"
            memory.add(
                f"The radar mast at the harbour broke in storm {number}.",
                speaker="Ana",
                session=f"storm-{number}",
                wing=wing,
                at=f"2026-03-{number + 1:02}T10:00Z",
            )
        memory.add("I live in Lisbon.", speaker="Ana", wing="office", at="2026-03-10T10:00Z")
        memory.add("I moved to Porto yesterday.", speaker="Ana", wing="office", at="2026-04-10T10:00Z")
        decided = "We decided on 3 March 2026 to paint it green."
        memory.add(decided, speaker="Will", wing="office", at="2026-04-11T10:00Z")
        for goal in GOALS:
            memory.add(f"I must {goal} by tomorrow.", speaker="Leo", wing="office")
    with serving(path) as served:
        yield served


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("views") / "large.db"
    with Memory.open(path, "none", reader="none", fold=False, durability="normal") as memory:
        memory.add_many(
            {
                "text": f"line {number} of many",
                "speaker": f"Speaker {number % 7}",
                "session": f"s{number // 20:03}",
                "wing": f"wing {number % 3}",
                "at": START + timedelta(hours=number),
            }
            for number in range(MANY)
        )
        memory.admin.settle()  # lines that state nothing need not be read by the model
    with serving(path) as served:
        yield served


def test_the_timeline_zooms_moves_and_shows_how_long_facts_held(folded: Served, page: Page) -> None:
    page.goto(f"{folded.url}#/timeline")
    ended = page.locator(".time .fact.over title", has_text="Lisbon")
    expect(ended).to_have_count(1)
    expect(page.locator(".time .dot")).not_to_have_count(0)
    told = page.locator(".soft.small.grow")
    expect(told).to_contain_text(re.compile(r"1\d events"))
    page.locator("svg.time").focus()
    for _ in range(7):
        page.keyboard.press("+")
    expect(told).not_to_contain_text(re.compile(r"1\d events"))
    page.keyboard.press("Home")
    expect(told).to_contain_text(re.compile(r"1\d events"))


def test_the_timeline_is_filtered_by_person_wing_and_kind(folded: Served, page: Page) -> None:
    page.goto(f"{folded.url}#/timeline")
    told = page.locator(".soft.small.grow")
    page.get_by_label("Wing").select_option("harbour")
    expect(told).to_contain_text("4 events")
    expect(page.locator(".time .fact title", has_text="Lisbon")).to_have_count(0)
    page.get_by_label("Wing").select_option("")
    page.get_by_label("Person").select_option("Will")
    expect(told).to_contain_text("1 event,")
    page.get_by_label("Person").select_option("")
    page.get_by_label("Kind").select_option("fact")
    expect(page.locator(".time .dot")).to_have_count(0)
    expect(page.locator("article", has_text="Porto")).to_be_visible()
    page.get_by_label("Kind").select_option("decision")
    expect(page.locator(".time .fact")).to_have_count(0)
    expect(page.locator("article", has_text="green")).to_be_visible()


def test_the_graph_shows_quotes_and_replays_how_it_grew(folded: Served, page: Page) -> None:
    page.goto(f"{folded.url}#/graph")
    expect(page.locator(".graph canvas").first).to_be_visible()
    page.locator("details summary").click()
    nodes = page.locator("details li")
    concept = nodes.filter(has_text=re.compile("concept$")).first
    concept.get_by_role("button").click()
    expect(page.locator(".panel .said", has_text="radar mast").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_have_count(0)
    nodes.filter(has_text=re.compile("^Lisbon")).get_by_role("button").click()
    expect(page.locator(".panel .said").first).to_contain_text("Lisbon")
    slider = page.get_by_label("Show the graph as it was")
    slider.press("Home")
    begun = page.locator(".tabular", has_text="2026").inner_text()
    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".tabular", has_text="2026")).not_to_have_text(begun)


def test_one_walks_through_the_palace_and_back(folded: Served, page: Page) -> None:
    page.goto(f"{folded.url}#/palace")
    page.locator(".door", has_text="harbour").click()
    page.locator(".door").first.click()
    page.locator(".door").first.click()
    expect(page.locator(".closet .said").first).to_contain_text("radar mast")
    for _ in range(3):
        page.go_back()
    expect(page.locator(".door", has_text="office")).to_be_visible()
    # A tunnel leads into the same room of another wing.
    page.locator(".tunnel a", has_text="office").first.click()
    expect(page.locator(".crumbs")).to_contain_text("office")
    expect(page.locator(".tunnel a", has_text="harbour")).to_be_visible()


def test_intents_are_answered_each_with_its_evidence(folded: Served, page: Page) -> None:
    page.goto(f"{folded.url}#/intents")
    shown = page.locator("article")
    expect(shown).to_have_count(len(GOALS))
    for goal in GOALS:
        expect(shown.filter(has_text=goal).locator(".said")).to_contain_text(goal)
    shown.filter(has_text=GOALS[0]).get_by_role("button", name="Reject").click()
    expect(shown).to_have_count(3)
    shown.filter(has_text=GOALS[1]).get_by_role("button", name="Defer").click()
    expect(shown).to_have_count(2)
    shown.filter(has_text=GOALS[2]).get_by_role("button", name="Modify").click()
    page.get_by_label("New wording").fill("Call the notary before noon")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("article h3", has_text="before noon")).to_be_visible()
    shown.filter(has_text=GOALS[3]).get_by_role("button", name="Accept").click()
    page.get_by_label("Status").select_option("scheduled")
    expect(shown.filter(has_text=GOALS[3])).to_be_visible()
    page.get_by_label("Status").select_option("rejected")
    expect(shown.filter(has_text=GOALS[0])).to_be_visible()
    page.get_by_label("Status").select_option("deferred")
    expect(shown.filter(has_text=GOALS[1])).to_be_visible()


def test_work_that_waits_and_the_health_of_the_file_are_shown(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "waiting.db"
    with Memory.open(path, "hashing", embed_on_write=False) as memory:
        memory.add("Its vectors follow.")
    with serving(path) as served, silent_page(browser) as page:
        # The worker is quick: it is held up by what the page is told.
        waiting = {"id": 1, "kind": "embed", "event_id": None, "attempts": 3, "due_at": "2026-05-01T10:00:00Z"}
        body = json.dumps({"jobs": [{**waiting, "error": "No model here."}], "next": None})
        page.route("**/v1/jobs*", lambda route: route.fulfill(body=body, content_type="application/json"))
        page.goto(f"{served.url}#/health")
        expect(page.locator("table")).to_contain_text("No model here.")
        page.get_by_role("button", name="Verify").click()
        expect(page.locator("main")).to_contain_text("No problems found")


def test_a_large_memory_is_shown_in_parts_and_all_of_it_counted(large: Served, page: Page) -> None:
    page.goto(f"{large.url}#/timeline")
    expect(page.locator(".soft.small.grow")).to_contain_text(f"{MANY:,} events")
    assert page.locator(".time .saids").count() > 100
    assert page.locator("article").count() <= 100
    page.goto(f"{large.url}#/sessions")
    expect(page.locator("article").first).to_contain_text("s149")
    seen = page.locator("article").count()
    assert seen < MANY // 20
    page.mouse.move(600, 400)
    last = page.locator("article", has_text="s000")
    for _ in range(200):  # a busy machine takes a while to bring more
        if last.count():
            break
        page.mouse.wheel(0, 4_000)
        page.wait_for_timeout(100)
    expect(last).to_be_attached()
    page.goto(f"{large.url}#/health")
    expect(page.locator(".tiles").first).to_contain_text(f"{MANY:,}")


def test_a_service_that_went_away_is_told_and_comes_back(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "gone.db"
    with Memory.open(path, "hashing") as memory:
        memory.add("I moved to Lisbon.", speaker="Ana", session="s")
    page = browser.new_page()  # a browser reports requests that failed: here they are meant to
    with serving(path) as served:
        page.goto(f"{served.url}#/sessions")
        expect(page.locator("article")).to_have_count(1)
        page.wait_for_timeout(500)  # until the page follows the feed
    expect(page.locator(".toast.lost")).to_be_visible(timeout=15_000)
    page.keyboard.press("9")
    expect(page.locator("[role=alert]")).to_contain_text("still running")
    with serving(path, port=urlsplit(served.url).port or 0):
        expect(page.locator(".toast.lost")).to_have_count(0, timeout=15_000)
        expect(page.locator(".tiles").first).to_be_visible()
    page.close()


def test_the_keyboard_alone_reaches_everything(folded: Served, page: Page) -> None:
    page.goto(f"{folded.url}#/sessions")
    expect(page.locator("article").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("article a").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".crumbs")).to_be_visible()
    page.keyboard.press("4")
    expect(page.locator("main h1")).to_have_text("Palace")
    expect(page.locator(".door").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".door").first).to_be_focused()
