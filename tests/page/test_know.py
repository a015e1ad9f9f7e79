"""The first view of the page, in a real browser: a question, a point in time, the answer, the context and the facts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest
from tests.page.browsing import Served, needs_browser, serving, silent_page

from everyword import Memory
from everyword.retrieval import candidates, superseded
from everyword.retrieval.reranking import ABOUT, ASSISTANT, OWN_WORDS, TIME, UNREAD

playwright = pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
Page, expect = playwright.Page, playwright.expect

pytestmark = needs_browser
SAID = [
    ("2026-01-05T09:00Z", "intro", "Ana", "I live in Lisbon, near the river."),
    ("2026-01-05T09:01Z", "intro", "Ana", "I work at Caudal Labs as a data engineer."),
    ("2026-02-10T10:00Z", "kickoff", "Will", "The budget for Heron is 12,000 euros."),
    ("2026-07-11T18:00Z", "moving", "Ana", "I moved to Porto yesterday. The flat is full of boxes."),
    ("2026-09-02T08:30Z", "new job", "Ana", "I quit Caudal Labs. I work at Ribeira Analytics now."),
]
LIVE = "know?q=Where+does+Ana+live%3F"


def fill(memory: Memory) -> None:
    memory.add_many(
        {"at": at, "session": session, "speaker": speaker, "text": text} for at, session, speaker, text in SAID
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the story in a space of its own for each test that edits it."""
    path = tmp_path_factory.mktemp("know") / "memory.db"
    with Memory.open(path, "hashing") as memory:
        for space in ("default", "corrected", "retracted", "forgotten"):
            fill(memory.space(space))
        for text in ("Jonas doesn't eat meat, but he eats fish.", "I no longer eat meat."):
            memory.space("denied").add(text, speaker="Marta", session="food", at="2026-01-05T09:00Z")
        young, now = memory.space("young"), time.time()
        young.add("I live in Lisbon.", speaker="Ana", session="a", at=now - 7_200)
        young.add("I moved to Porto.", speaker="Ana", session="b", at=now - 600)
        memory.admin.settle()
    with serving(path) as running:
        yield running


@pytest.fixture
def page(same_page: Page) -> Page:
    return same_page


@pytest.fixture
def opened(served: Served, page: Page) -> Callable[..., Page]:
    def open_view(view: str, space: str = "default", *, page: Page = page) -> Page:
        page.goto(served.anew(f"{view}{'&' if '?' in view else '?'}space={space}"))
        expect(page.locator("main h1")).to_have_text("What did the agent know?")
        return page

    return open_view


def answer(page: Page) -> Any:
    return page.locator(".verdict")


def scrub_to(page: Page, date: str) -> None:
    page.get_by_label("Date", exact=True).fill(date)


def lane(page: Page, title: str) -> Any:
    return page.get_by_role("article", name=title, exact=True)


def test_the_answer_changes_with_the_scrubber(opened: Callable[..., Page]) -> None:
    page = opened("know")
    page.get_by_label("Question").fill("Where does Ana live?")
    expect(answer(page)).to_contain_text("“I moved to Porto yesterday.")
    expect(answer(page).locator("footer")).to_contain_text(re.compile("Ana.*Jul 11, 2026.*moving"))
    scrub_to(page, "2026-03-01")
    expect(answer(page)).to_contain_text("“I live in Lisbon, near the river.”")
    expect(page.locator(".scrub output")).to_have_text("until Mar 1, 2026")
    slider = page.get_by_label("Point in time")
    slider.press("Home")
    expect(page.locator(".scrub output")).to_have_text("until Jan 5, 2026")
    slider.press("ArrowRight")
    expect(page.locator(".scrub output")).to_have_text("until Jan 6, 2026")
    expect(page).to_have_url(re.compile("at=2026-01-06"))
    # A day counts until its end: what was said on 11 July is known on 11 July.
    scrub_to(page, "2026-07-10")
    expect(answer(page)).to_contain_text("Lisbon")
    scrub_to(page, "2026-07-11")
    expect(answer(page)).to_contain_text("Porto")
    page.get_by_role("button", name="Now", exact=True).click()
    expect(page.locator(".scrub output")).to_have_text("all that is known now")
    expect(page).not_to_have_url(re.compile("at="))


def test_what_one_may_ask_is_taken_from_the_memory(opened: Callable[..., Page]) -> None:
    page = opened("know")
    idea = page.get_by_role("button", name="Where does Ana live?")
    expect(idea).to_be_visible()
    expect(page.get_by_role("link", name="What is still to be done")).to_have_attribute("href", re.compile("#/intents"))
    idea.click()
    expect(answer(page)).to_contain_text("Porto")


def test_what_was_never_said_is_not_in_this_memory(opened: Callable[..., Page]) -> None:
    page = opened("know?q=What+is+Ana%27s+shoe+size%3F")
    expect(answer(page)).to_contain_text("Not in this memory")
    expect(page.locator(".others")).not_to_have_attribute("open", re.compile(".*"))
    expect(page.locator(".facts")).to_contain_text("No fact answers this question.")
    page = opened("know?q=Where+does+Ana+work%3F&at=2026-01-04")
    expect(answer(page)).to_contain_text("Not in this memory by Jan 4, 2026")
    expect(page.locator("[role=alert]")).to_have_count(0)


@pytest.mark.parametrize(("confidence", "words", "is_open"), [(0.97, "Likely", True), (0.6, "Unsure", False)])
def test_confidence_is_told_in_words(
    opened: Callable[..., Page], page: Page, confidence: float, words: str, is_open: bool
) -> None:
    def sure(route: Any) -> None:
        told = route.fetch().json()
        route.fulfill(json={**told, "confidence": confidence})

    page.route("**/v1/ask*", sure)
    page.set_viewport_size({"width": 1440, "height": 900})
    opened(LIVE)
    expect(answer(page).locator(".tag")).to_have_text(words)
    expect(page.locator(".others[open]")).to_have_count(int(is_open))
    expect(page.locator("main")).not_to_contain_text("%")


def test_the_context_is_shown_as_a_difference(opened: Callable[..., Page]) -> None:
    page = opened(f"{LIVE}&at=2026-07-12")
    context = page.get_by_role("region", name="Lines of the context")
    entered = context.locator(".entered")
    expect(entered).to_have_count(1)
    expect(entered).to_contain_text("I moved to Porto yesterday")
    expect(entered.locator(".why")).to_contain_text("says what holds now")
    ended = context.locator(".ended")
    expect(ended).to_contain_text("no longer so since 10 July 2026")
    expect(ended).to_contain_text("superseded since then")
    expect(page.locator(".changes")).to_have_text("1 line entered, 1 no longer so.")
    expect(page.get_by_label("Compare with")).to_contain_text("the conversation before (Feb 10, 2026)")
    page.get_by_label("Only changes").check()
    expect(context.locator(".line")).to_have_count(2)
    page.get_by_label("Compare with").select_option("nothing")
    expect(page.locator(".changes")).to_have_text("4 lines entered.")
    expect(page).to_have_url(re.compile("against=nothing"))
    page.get_by_label("Compare with").select_option("date")
    page.get_by_label("Date to compare with").fill("2026-10-01")
    expect(page.locator(".changes")).to_contain_text("went")
    expect(page.locator(".went")).to_contain_text("I quit Caudal Labs.")


def test_the_context_of_the_page_is_the_agent_s(served: Served, opened: Callable[..., Page]) -> None:
    page = opened(LIVE)
    context = page.get_by_role("region", name="Lines of the context")
    expect(context).to_contain_text("Porto")
    with Memory.open(served.path, "hashing") as memory:
        told = memory.context("Where does Ana live?")
    shown = context.locator(".heading, .words").all_inner_texts()
    assert [line for line in told.text.split("\n") if line] == shown
    expect(page.locator("[data-tokens]")).to_have_text(f"{told.tokens} of 1,200 tokens")


def test_a_small_budget_leaves_lines_out(opened: Callable[..., Page]) -> None:
    page = opened(LIVE)
    page.get_by_role("combobox", name="Budget").select_option("150")
    tokens = page.locator("[data-tokens]")
    expect(tokens).to_contain_text("of 150 tokens")
    assert int(tokens.get_attribute("data-tokens") or "0") <= 150
    expect(page).to_have_url(re.compile("budget=150"))
    expect(page.locator(".cut summary")).to_have_text(re.compile(r"\d match(es)? left out"))


def test_every_stage_that_chooses_a_line_has_words() -> None:
    table = (files("everyword.interfaces") / "ui" / "know" / "context.js").read_text()
    told = set(re.findall(r'stage: "([^"]+)"', table))
    arms = {one for name, one in vars(candidates).items() if name.endswith("_ARM")}
    gains = {OWN_WORDS, ASSISTANT, TIME, ABOUT, UNREAD, superseded.STAGE, superseded.NEWEST}
    assert told == {*arms, *gains, "nearby", "chain", "reread"}


def test_facts_are_lanes_of_versions_that_grow_with_time(opened: Callable[..., Page]) -> None:
    page = opened(LIVE)
    home = lane(page, "Ana · lives in")
    expect(home.locator(".version")).to_have_count(2)
    expect(home.locator(".version.current")).to_contain_text("Porto since Jul 10, 2026")
    expect(home.locator(".version.superseded")).to_contain_text("Lisbon Jan 5, 2026 to Jul 10, 2026")
    scrub_to(page, "2026-03-01")
    expect(home.locator(".version")).to_have_count(1)
    expect(home.locator(".version.current")).to_contain_text("Lisbon said Jan 5, 2026")  # since when, nobody has told


def test_a_denial_and_an_end_are_told_in_their_words(opened: Callable[..., Page]) -> None:
    page = opened("know?q=Does+Jonas+eat+meat%3F", "denied")
    for said in ("Jonas doesn't eat meat", "I no longer eat meat"):
        one = page.locator(".lane", has_text=said)
        expect(one).to_have_count(1)
        expect(one.locator(".version")).to_have_text(re.compile(f"^{said} said Jan 5, 2026"))
    expect(page.locator(".lane", has_text="no longer").locator(".bar-of-time")).to_have_count(0)


def test_a_correction_takes_effect_at_once_and_is_undone(opened: Callable[..., Page]) -> None:
    page = opened(f"{LIVE}&at=2026-08-01", "corrected")
    home = lane(page, "Ana · lives in")
    home.get_by_role("button", name="Correct").click()
    expect(page.get_by_label("What is right?")).to_be_focused()
    page.get_by_label("What is right?").fill("I moved to Braga.")
    page.get_by_role("button", name="Save the correction").click()
    toast = page.locator(".toast")
    expect(toast).to_contain_text("You corrected “I moved to Porto yesterday” to “I moved to Braga”.")
    expect(answer(page)).to_contain_text("“I moved to Braga.”")  # as of now: in August nobody knew it
    expect(answer(page)).to_contain_text("edited by you")
    expect(page).not_to_have_url(re.compile("at="))
    expect(home.locator(".version.current")).to_contain_text("edited by you")
    expect(page.locator(".line", has_text="I moved to Braga.").locator(".why")).to_have_text("an edit by you")
    scrub_to(page, "2026-08-01")
    expect(answer(page)).to_contain_text("Porto")
    page.get_by_role("button", name="Now", exact=True).click()
    expect(answer(page)).to_contain_text("Braga")
    toast.get_by_role("button", name="Undo").click()
    expect(answer(page)).to_contain_text("Porto")
    expect(toast).to_have_text("The correction was undone.")
    expect(page.locator("main")).not_to_contain_text("Braga")


def test_what_was_never_true_is_gone_at_once_and_comes_back(opened: Callable[..., Page]) -> None:
    page = opened(LIVE, "retracted")
    home = lane(page, "Ana · lives in")
    home.get_by_role("button", name="Never true").click()
    expect(page.locator(".toast")).to_contain_text("You marked “I moved to Porto yesterday” as never true.")
    expect(answer(page)).to_contain_text("Lisbon")
    expect(home.locator(".version.never-true")).to_contain_text("marked by you")
    expect(home.locator(".version.current")).to_contain_text("Lisbon")
    home.get_by_role("button", name="Undo").click()
    expect(answer(page)).to_contain_text("Porto")
    expect(home.locator(".version.current")).to_contain_text("Porto")


def test_forgetting_asks_first(served: Served, opened: Callable[..., Page]) -> None:
    page = opened(LIVE, "forgotten")
    home = lane(page, "Ana · lives in")
    home.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“I moved to Porto yesterday”")
    expect(dialog).to_contain_text("can’t be undone")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(answer(page)).to_contain_text("Porto")
    home.get_by_role("button", name="Forget").click()
    dialog.get_by_role("button", name="Forget it").click()
    expect(answer(page)).to_contain_text("Lisbon")
    expect(page.locator(".toast")).to_contain_text("Forgotten")
    expect(page.locator(".toast")).not_to_contain_text("ev_")
    with Memory.open(served.path, "hashing") as memory:
        assert not any("Porto" in event.text for event in memory.space("forgotten").events())


def test_the_address_holds_all_of_it(opened: Callable[..., Page]) -> None:
    page = opened(f"{LIVE}&at=2026-07-12&against=2026-03-01&budget=300", "corrected")
    expect(page.get_by_label("Question")).to_have_value("Where does Ana live?")
    expect(page.get_by_label("Date", exact=True)).to_have_value("2026-07-12")
    expect(page.get_by_label("Date to compare with")).to_have_value("2026-03-01")
    expect(page.get_by_role("combobox", name="Budget")).to_have_value("300")
    expect(page.get_by_label("Space").first).to_have_value("corrected")
    expect(answer(page)).to_contain_text("Porto")


def test_back_and_forward_go_through_questions_and_times(opened: Callable[..., Page]) -> None:
    page = opened("know?q=budget")
    expect(answer(page)).to_contain_text("12,000")
    page.get_by_label("Question").fill("Where does Ana live?")
    expect(answer(page)).to_contain_text("Porto")
    scrub_to(page, "2026-03-01")
    expect(answer(page)).to_contain_text("Lisbon")
    page.wait_for_url(re.compile("at=2026-03-01"))
    page.go_back()
    expect(answer(page)).to_contain_text("Porto")
    page.go_back()
    expect(page.get_by_label("Question")).to_have_value("budget")
    expect(answer(page)).to_contain_text("12,000")
    page.go_forward()
    page.go_forward()
    expect(answer(page)).to_contain_text("Lisbon")
    expect(page.get_by_label("Date", exact=True)).to_have_value("2026-03-01")


def test_a_space_is_in_the_address_of_every_view(opened: Callable[..., Page]) -> None:
    page = opened(LIVE, "retracted")
    page.locator("nav").get_by_role("link", name="Browse").click()
    expect(page).to_have_url(re.compile("#/browse.*space=retracted"))
    page.get_by_label("Space").first.select_option("default")
    expect(page).to_have_url(re.compile("#/browse.*space=default"))
    page.go_back()
    expect(page.get_by_label("Space").first).to_have_value("retracted")
    page.goto("about:blank")
    page.go_back()
    expect(page.get_by_label("Space").first).to_have_value("retracted")


SEEN = """() => {
    const output = document.querySelector(".scrub output");
    window.seen = [];
    const watch = new MutationObserver(() => seen.push(output.innerText));
    watch.observe(output, {subtree: true, childList: true, characterData: true});
}"""
LATE = """() => {  // a second date, when the pause after the first is over and its timer due
    const field = document.querySelector(".scrub input[aria-label=Date]");
    const until = performance.now() + 500;
    while (performance.now() < until);
    field.value = "2026-08-02";
    field.dispatchEvent(new Event("change", {bubbles: true}));
    field.dispatchEvent(new Event("input", {bubbles: true}));
}"""
MOVED = """() => new Promise((tell) => {
    addEventListener("hashchange", () => tell(location.hash), {once: true});
    document.querySelector("nav a[href='#/browse']").click();
})"""


def test_the_scrubber_does_not_go_back_while_the_address_is_written(opened: Callable[..., Page]) -> None:
    page = opened(LIVE)
    expect(page.locator(".scrub output")).to_have_text("all that is known now")
    page.evaluate(SEEN)
    scrub_to(page, "2026-03-01")
    expect(page).to_have_url(re.compile("at=2026-03-01"))
    expect(answer(page)).to_contain_text("Lisbon")
    assert set(page.evaluate("seen")) == {"until Mar 1, 2026"}


def test_a_date_chosen_while_the_page_is_busy_is_not_undone_by_the_one_before(opened: Callable[..., Page]) -> None:
    page = opened(LIVE)
    expect(answer(page)).to_contain_text("Porto")
    scrub_to(page, "2026-03-01")
    page.evaluate(LATE)
    expect(page).to_have_url(re.compile("at=2026-0"))
    expect(page.locator(".scrub output")).to_have_text("until Aug 2, 2026")
    expect(page).to_have_url(re.compile("at=2026-08-02"))


def test_back_drops_a_date_that_is_not_yet_in_the_address(opened: Callable[..., Page]) -> None:
    page = opened("know?q=budget")
    expect(answer(page)).to_contain_text("12,000")
    page.get_by_label("Question").fill("Where does Ana live?")
    expect(answer(page)).to_contain_text("Porto")
    page.evaluate("addEventListener('input', () => history.back(), {once: true})")
    scrub_to(page, "2026-03-01")
    expect(page.get_by_label("Question")).to_have_value("budget")
    page.wait_for_timeout(500)  # longer than the pause before an address is written
    assert "at=" not in page.url
    expect(page.locator(".scrub output")).to_have_text("all that is known now")


def test_an_address_names_its_space_from_the_start(opened: Callable[..., Page]) -> None:
    """Else Back might name the entry that it leads to after the space that was left."""
    page = opened(LIVE, "retracted")
    expect(answer(page)).to_contain_text("Porto")
    assert "space=retracted" in page.evaluate(MOVED)


def test_playing_replays_the_growth_and_can_be_paused(opened: Callable[..., Page]) -> None:
    page = opened(LIVE)
    expect(answer(page)).to_contain_text("Porto")
    page.get_by_role("button", name="Play the memory's growth").click()
    expect(answer(page)).to_contain_text("Lisbon")
    expect(lane(page, "Ana · lives in").locator(".version")).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    expect(page).to_have_url(re.compile("at=2026-0"))
    expect(page.locator(".scrub output")).to_contain_text("until")
    paused = page.locator(".scrub output").inner_text()
    page.wait_for_timeout(600)
    assert page.locator(".scrub output").inner_text() == paused


def test_playing_ends_after_twenty_seconds_with_what_is_known_now(opened: Callable[..., Page], window: Any) -> None:
    with silent_page(window) as page:  # whose clock stays with it
        page.clock.install()
        opened(LIVE, page=page)
        expect(answer(page)).to_contain_text("Porto")
        page.get_by_role("button", name="Play the memory's growth").click()
        expect(page.locator(".scrub output")).to_contain_text("until")
        page.clock.run_for(19_000)
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        page.clock.run_for(1_500)
        expect(page.get_by_role("button", name="Play the memory's growth")).to_be_visible()
        expect(page.locator(".scrub output")).to_have_text("all that is known now")


def test_who_wants_less_motion_sees_a_few_steps(opened: Callable[..., Page], page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    opened(LIVE)
    expect(answer(page)).to_contain_text("Porto")
    page.get_by_role("button", name="Play the memory's growth").click()
    expect(page.locator(".scrub output")).to_have_text("until Jan 5, 2026")
    page.wait_for_timeout(1_000)  # five frames of those who want motion
    expect(page.locator(".scrub output")).to_have_text("until Jan 5, 2026")


def test_a_memory_of_one_day_is_scrubbed_by_the_minute(opened: Callable[..., Page]) -> None:
    page = opened(LIVE, "young")
    expect(answer(page)).to_contain_text("Porto")
    page.get_by_label("Point in time").press("Home")
    expect(answer(page)).to_contain_text("Lisbon")
    expect(page).to_have_url(re.compile(r"at=\d{4}-\d\d-\d\dT\d\d%3A\d\d"))


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_is_cut_off_at_any_width(opened: Callable[..., Page], page: Page, colours: str) -> None:
    page.emulate_media(color_scheme=colours)
    opened(LIVE)
    for width, expected in ((1440, 3), (1024, 2), (390, 1)):
        page.set_viewport_size({"width": width, "height": 844})
        expect(lane(page, "Ana · lives in")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        columns = page.evaluate(
            "new Set([...document.querySelectorAll('.know > section')]"
            ".map((one) => Math.round(one.getBoundingClientRect().left))).size"
        )
        assert columns == expected
    expect(page.locator("html")).to_have_attribute("data-theme", colours)
