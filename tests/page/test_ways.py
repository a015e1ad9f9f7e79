"""Finding one's way in the page: back and forth, by keys alone, by what a screen reader is told; and very much text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from tests.page.browsing import Served, needs_browser, serving

from everyword import Memory

playwright = pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
Page, expect = playwright.Page, playwright.expect

pytestmark = needs_browser
SESSIONS = 90
STATEMENTS = 160  # more than a timeline draws
LETTERS = 1_000_000
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("ways") / "memory.db"
    with Memory.open(path, "hashing", fold=False, durability="normal") as memory:
        memory.add_many(
            {
                "text": f"I must finish report {number} by Friday.",
                "speaker": "Ana",
                "session": f"talk {number % SESSIONS}",
                "at": (BEGIN + timedelta(days=2 * number)).isoformat(),
            }
            for number in range(STATEMENTS)
        )
        memory.space("pasted").add("x" * LETTERS, speaker="Ana", session="pasted")
        # Two that hang together, and others that nothing joins.
        memory.space("names").add("I live in Porto.", speaker="Ana")
        memory.space("names").add_many(
            {"text": f"hm {name}", "speaker": name} for name in ("Bo", "Cy", "Di", "Ed", "Fay")
        )
        memory.admin.settle()
    with serving(path) as served:
        yield served


def opened(page: Page, served: Served, view: str, space: str = "default") -> None:
    page.goto("about:blank")
    page.goto(f"{served.url}#/{view}")
    page.get_by_label("Space").first.select_option(space)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)


def test_who_goes_back_to_a_list_finds_it_as_it_was_left(filled: Served, page: Page) -> None:
    opened(page, filled, "sessions")
    for _ in range(4):
        page.mouse.move(600, 400)
        page.mouse.wheel(0, 2_000)
        page.wait_for_timeout(300)
    below = page.locator("article h3 a").nth(60)
    below.scroll_into_view_if_needed()
    name, top = below.inner_text(), page.evaluate("(one) => one.getBoundingClientRect().top", below.element_handle())
    below.click()
    expect(page.locator("main h1")).to_have_text(name)
    assert page.evaluate("scrollY") == 0
    page.go_back()
    expect(page.get_by_role("link", name=name, exact=True)).to_be_in_viewport()
    again = page.get_by_role("link", name=name, exact=True).element_handle()
    page.wait_for_timeout(200)
    assert abs(page.evaluate("(one) => one.getBoundingClientRect().top", again) - top) < 200
    page.locator("nav").get_by_role("link", name="Sessions").click()  # not back, but anew
    page.locator("nav").get_by_role("link", name="Health").click()
    page.locator("nav").get_by_role("link", name="Sessions").click()
    expect(page.locator("article").first).to_be_in_viewport()


def test_a_new_question_begins_where_the_view_is_chosen_anew(filled: Served, page: Page) -> None:
    opened(page, filled, "know")
    question = page.get_by_label("Question")
    question.fill("report 7")
    expect(page).to_have_url(re.compile("#/know.*q=report"))
    page.locator("main h1").click()
    page.keyboard.press("/")
    expect(question).to_be_focused()
    expect(question).to_have_value("report 7")  # still there, to be asked in other words
    page.locator("nav").get_by_role("link", name="Ask").click()
    expect(question).to_have_value("")
    expect(page.locator("main")).to_contain_text("What was decided?")
    page.go_back()
    expect(question).to_have_value("report 7")


def test_what_changed_is_told_to_who_does_not_see(filled: Served, page: Page) -> None:
    opened(page, filled, "know")
    page.get_by_label("Question").fill("report 7")
    expect(page.get_by_role("status").filter(has_text=re.compile(r"\d lines? entered"))).to_have_count(1)
    # What is told later must be put into something that is there already, or it is not read out.
    expect(page.locator(".frame > [role=status]")).to_be_attached()


def test_a_closed_dialog_gives_the_focus_back_and_stays_closed(filled: Served, page: Page) -> None:
    opened(page, filled, "statements")
    second = page.locator("article a").nth(1)
    second.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(second).to_be_focused()
    page.go_back()
    page.wait_for_timeout(300)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_node_is_looked_at_by_keys_alone(filled: Served, page: Page) -> None:
    opened(page, filled, "graph", "names")
    page.get_by_text("As a list").press("Enter")
    porto = page.get_by_role("button", name="Porto")
    porto.press("Enter")
    panel = page.get_by_role("complementary", name="Porto")
    expect(panel).to_be_focused()
    page.keyboard.press("Tab")
    expect(panel.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(porto).to_be_focused()


def test_what_nothing_joins_stands_in_rows_that_can_be_read(filled: Served, page: Page) -> None:
    opened(page, filled, "graph", "names")
    page.wait_for_function("document.querySelector('.canvas')?._cyreg?.cy.nodes().length > 4")
    page.wait_for_timeout(300)
    across = page.evaluate(
        "new Set(document.querySelector('.canvas')._cyreg.cy.nodes().map((one) => Math.round(one.position('x')))).size"
    )
    assert across > 3
    assert page.evaluate("document.querySelector('.canvas')._cyreg.cy.zoom()") > 0.6


def test_a_million_letters_are_opened_in_steps_and_do_not_stop_the_page(filled: Served, page: Page) -> None:
    opened(page, filled, "sessions/pasted", "pasted")
    said = page.locator(".said")
    more = page.get_by_role("button", name=f"Show more of {LETTERS:,} characters")
    began = time.monotonic()
    more.click()
    expect(page.get_by_role("button", name="Show less")).to_be_visible()
    assert 10_000 < len(said.inner_text()) < 60_000
    more.click()
    expect(said).to_have_text(re.compile("x{100000}"))
    page.get_by_role("button", name="Show less").click()
    expect(said).to_be_in_viewport()
    assert time.monotonic() - began < 20


def test_a_timeline_says_where_it_draws_not_all_of_it(filled: Served, page: Page) -> None:
    opened(page, filled, "timeline")
    expect(page.locator("main")).to_contain_text("of the 150 oldest")
    page.get_by_label("Kind").select_option("fact")
    expect(page.locator("main")).not_to_contain_text("oldest")
