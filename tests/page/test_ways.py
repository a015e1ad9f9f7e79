"""Finding one's way in the page: back and forth, by what a screen reader is told; very much text; a large memory."""

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
MANY = 6_000
SESSIONS = 300
LETTERS = 1_000_000
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("ways") / "memory.db"
    with Memory.open(path, "none", reader="none", fold=False, durability="normal") as memory:
        memory.add_many(
            {
                "text": f"line {number} of many",
                "speaker": f"Speaker {number % 7}",
                "session": f"talk {number * SESSIONS // MANY:03}",
                "wing": f"wing {number % 3}",
                "at": BEGIN + timedelta(hours=2 * number),
            }
            for number in range(MANY)
        )
        memory.space("pasted").add("x" * LETTERS, speaker="Ana", session="pasted")
        memory.admin.settle()  # lines that state nothing need not be read by the model
    with serving(path) as served:
        yield served


def opened(page: Page, served: Served, view: str, space: str = "default") -> None:
    page.goto("about:blank")
    page.goto(f"{served.url}#/{view}")
    page.get_by_label("Space").first.select_option(space)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)


def test_a_large_memory_is_listed_to_its_end_with_few_rows_in_the_page(filled: Served, page: Page) -> None:
    opened(page, filled, "timeline")
    expect(page.get_by_role("status").filter(has_text=f"{MANY:,} messages")).to_be_visible()
    opened(page, filled, "browse")
    expect(page.locator("article").first).to_contain_text("talk 299")
    page.mouse.move(600, 400)
    last = page.locator("article", has_text="talk 000")
    for _ in range(300):  # a busy machine takes a while to bring more
        if last.count():
            break
        page.mouse.wheel(0, 4_000)
        page.wait_for_timeout(100)
    expect(last).to_be_attached()
    assert int(page.locator(".long-list").get_attribute("data-count") or 0) == SESSIONS
    expect(page.locator("article", has_text="talk 299")).to_have_count(0)  # far above: only its height is kept
    assert page.locator("article").count() <= 200
    page.mouse.wheel(0, -1_000_000)
    expect(page.locator("article", has_text="talk 299")).to_be_visible()
    opened(page, filled, "health")
    expect(page.locator(".tiles").first).to_contain_text(f"{MANY:,}")


def test_who_goes_back_to_a_list_finds_it_as_it_was_left(filled: Served, page: Page) -> None:
    opened(page, filled, "browse")
    links = page.locator("article h3 a")
    expect(links.first).to_be_visible()
    for _ in range(60):
        if links.count() > 60:
            break
        page.mouse.move(600, 400)
        page.mouse.wheel(0, 2_000)
        page.wait_for_timeout(300)
    below = links.nth(60)
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
    page.locator("nav").get_by_role("link", name="Health").click()
    page.locator("nav").get_by_role("link", name="Browse").click()  # not back, but anew
    expect(page.locator("article").first).to_be_in_viewport()


def test_a_new_question_begins_where_the_view_is_chosen_anew(filled: Served, page: Page) -> None:
    opened(page, filled, "know")
    question = page.get_by_label("Question")
    question.fill("line 7")
    expect(page).to_have_url(re.compile("#/know.*q=line"))
    # What changed is told to who does not see, in something that is there before.
    expect(page.get_by_role("status").filter(has_text=re.compile(r"\d lines? entered"))).to_have_count(1)
    expect(page.locator(".frame > [role=status]")).to_be_attached()
    page.locator("main h1").click()
    page.keyboard.press("/")
    expect(question).to_be_focused()
    expect(question).to_have_value("line 7")  # still there, to be asked in other words
    page.locator("nav").get_by_role("link", name="Ask").click()
    expect(question).to_have_value("")
    expect(page.locator("main")).to_contain_text("What is still to be done")
    page.go_back()
    expect(question).to_have_value("line 7")


def test_the_keyboard_alone_reaches_everything(filled: Served, page: Page) -> None:
    opened(page, filled, "browse")
    page.locator(".brand").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("As of")).to_be_focused()
    link = page.locator("article a").first
    link.focus()
    name = link.inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text(name)
    page.keyboard.press("2")
    expect(page.locator("main h1")).to_have_text("People and things")


def test_a_million_letters_are_opened_in_steps_and_do_not_stop_the_page(filled: Served, page: Page) -> None:
    opened(page, filled, "browse/session/pasted", "pasted")
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
