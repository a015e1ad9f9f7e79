"""What one does in each view, in a real browser: people, timeline, to do, browse, graph, put in, forget, health."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.page.browsing import Served, needs_browser, serving

from everyword import Memory

playwright = pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
Window, Page, expect = playwright.BrowserContext, playwright.Page, playwright.expect

pytestmark = needs_browser
GOALS = ("send the budget report to Will", "renew the passport", "call the notary", "book the ferry to Porto")
DUE = ("in 20 days", "in 3 days", "in 30 days", "in 2 days")  # of each of these
SIZES = "[...document.querySelectorAll('main svg text')].map((one) => parseFloat(getComputedStyle(one).fontSize))"
STORM = "The radar mast at the harbour broke in storm"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a memory with themes in two wings, facts that ended, and goals that nobody has met."""
    path = tmp_path_factory.mktemp("views") / "memory.db"
    with Memory.open(path, "hashing") as memory:
        for number in range(8):
            memory.add(
                f"{STORM} {number}.",
                speaker="Ana",
                session=f"storm-{number}",
                wing="harbour" if number % 2 else "office",
                at=f"2026-03-{number + 1:02}T10:00Z",
            )
        said = {"speaker": "Ana", "session": "moving", "wing": "office"}
        memory.add("I live in Lisbon.", at="2026-03-10T10:00Z", **said)
        memory.add("I work at Caudal Labs.", at="2026-03-10T10:01Z", **said)
        memory.add("My sister Mia lives in Faro.", at="2026-03-10T10:02Z", **said)
        for number in range(40):
            thing = "lantern" if number == 33 else "pile of books"
            memory.add(f"hm, the {thing} is in box number {number}", at=f"2026-04-01T10:{number:02}Z", **said)
        memory.add("I moved to Porto yesterday.", at="2026-04-10T10:00Z", **said)
        memory.add("We decided on 3 March 2026 to paint it green.", speaker="Will", at="2026-04-11T10:00Z")
        goals = memory.space("goals")
        for goal in GOALS:
            goals.add(f"I must {goal} by tomorrow.", speaker="Leo", session="plans")
        for goal, due in zip(GOALS, DUE, strict=True):
            memory.space("due").add(f"I must {goal} {due}.", speaker="Leo", session="plans")
        memory.space("put-in").add("The mill is old.", speaker="Ana", session="mill")
        memory.admin.settle()
    with serving(path, audit=50) as running:
        yield running


def opened(page: Page, served: Served, view: str, space: str = "default") -> None:
    page.goto("about:blank")
    page.goto(f"{served.url}#/{view}{'&' if '?' in view else '?'}space={space}")
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)


def choose(page: Page, menu: Any, action: str) -> None:
    wanted = menu.get_by_text(action).first
    for _ in range(10):  # a list that loads again after an edit closes its menus
        if not wanted.is_visible():
            menu.locator("summary").first.click()
        with suppress(playwright.TimeoutError):
            wanted.click(timeout=3_000)
            return
    pytest.fail(f"{action} can't be chosen")


def toast(page: Page, words: str) -> Any:
    shown = page.locator(".toast", has_text=words)
    expect(shown).to_be_visible()
    return shown


def test_a_person_has_a_page_with_what_holds_and_what_held(served: Served, page: Page) -> None:
    opened(page, served, "people")
    page.get_by_label("Find a name").fill("an")
    expect(page).to_have_url(re.compile(r"people\?.*q=an"))
    expect(page.locator(".name")).to_have_count(1)
    page.locator(".name", has_text="Ana").click()
    now = page.get_by_role("region", name="What holds now")
    home = now.locator(".subject", has_text="Home")
    expect(home).to_contain_text("Porto")
    expect(home).not_to_contain_text("lives in Lisbon")
    expect(now.locator(".subject", has_text="Work")).to_contain_text("Caudal Labs")
    past = page.get_by_role("region", name="History")
    expect(past.locator("li", has_text="Lisbon")).to_contain_text(" to ")
    related = page.locator(".ego")
    expect(related.locator("a", has_text="Porto")).to_be_visible()
    expect(related).to_contain_text("lives in")
    assert min(page.evaluate(SIZES)) >= 11
    expect(page.get_by_role("region", name="Quotes").locator(".message").first).to_be_visible()
    place = related.locator("a", has_text="Porto").locator("rect").get_attribute("x")
    page.reload()
    expect(related.locator("a", has_text="Porto").locator("rect")).to_have_attribute("x", place or "")
    # As of an earlier day, and by a link that keeps it.
    page.get_by_label("As of").fill("2026-03-20")
    held = page.get_by_role("region", name="What held on")
    expect(held).to_contain_text("Lisbon")
    expect(held).not_to_contain_text("Porto")
    expect(page).to_have_url(re.compile("at=2026-03-20"))
    page.go_back()
    expect(now).to_contain_text("Porto")
    related.locator("a", has_text="Porto").click()
    expect(page.locator("main h1")).to_have_text("Porto")


def test_one_browses_finds_and_opens_a_conversation_at_the_line(served: Served, page: Page) -> None:
    opened(page, served, "browse")
    expect(page.locator("article h3")).to_have_count(9)
    page.get_by_label("Sort").select_option("longest")
    expect(page.locator("article h3").first).to_have_text("moving")
    page.get_by_label("Wing").select_option("harbour")
    expect(page.locator("article h3")).to_have_count(4)
    expect(page).to_have_url(re.compile("sort=longest.*wing=harbour|wing=harbour.*sort=longest"))
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("Search").fill("lantern")
    section = page.locator("section", has_text="moving").first
    section.locator("h3 a").click()
    marked = page.locator(".message.marked")
    expect(marked).to_contain_text("box number 33")
    expect(marked).to_be_in_viewport()
    page.get_by_role("button", name="Earlier messages").click()
    expect(page.locator(".message", has_text="I live in Lisbon.")).to_be_attached()
    page.go_back()
    expect(page.get_by_label("Search")).to_have_value("lantern")
    # Messages: facets, the newest first, a link to each.
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("button", name="Messages").click()
    expect(page.locator(".message").first).to_contain_text("paint it green")
    page.get_by_label("Speaker").select_option("Ana")
    page.get_by_label("To", exact=True).fill("2026-03-04")
    expect(page.locator(".message")).to_have_count(4)
    expect(page.locator(".message").first).to_contain_text("storm 3")
    page.get_by_label("As of").fill("2026-03-02")
    expect(page.locator(".message")).to_have_count(2)
    # Statements, by kind and as of a day.
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("button", name="Statements").click()
    page.get_by_label("Kind").select_option("decision")
    expect(page.locator("article", has_text="green")).to_be_visible()
    page.get_by_label("Search").fill("Lisbon")
    page.get_by_label("Kind").select_option("")
    page.get_by_label("Status").select_option("any")
    replaced = page.locator("article", has_text="I live in Lisbon")
    expect(replaced).to_contain_text("replaced later")
    replaced.get_by_role("link").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".version")).to_have_count(2)
    expect(dialog).to_contain_text("superseded")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)


def test_every_message_has_a_menu_with_its_edits(served: Served, page: Page) -> None:
    opened(page, served, "browse/session/moving")
    line = page.locator(".message", has_text="I work at Caudal Labs.")
    line.locator(".menu summary").focus()
    page.keyboard.press("Enter")
    expect(line.get_by_text("Copy link")).to_be_visible()
    page.keyboard.press("Escape")
    expect(line.get_by_text("Copy link")).not_to_be_visible()
    choose(page, line.locator(".menu"), "Correct what was read")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Correct").click()
    dialog.get_by_label("What is right?").fill("I work at Ribeira Analytics.")
    dialog.get_by_role("button", name="Save the correction").click()
    expect(dialog).to_contain_text("edited by you")
    done = toast(page, "You corrected")
    assert not re.search("(st|ev)_[0-9a-f]{8}", done.inner_text())
    dialog.get_by_role("button", name="Close").click()
    opened(page, served, "people/Ana")
    expect(page.locator(".subject", has_text="Work")).to_contain_text("Ribeira Analytics")  # at once, elsewhere
    opened(page, served, "browse/session/moving")
    choose(page, line.locator(".menu"), "Correct what was read")
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog).not_to_contain_text("edited by you")
    dialog.get_by_role("button", name="Close").click()
    box = page.locator(".message", has_text="box number 39")
    choose(page, box.locator(".menu"), "Forget")
    dialog.get_by_role("button", name="Forget it").click()
    toast(page, "Forgotten for good")
    expect(box).to_have_count(0)


def test_one_puts_in_words_files_and_an_identity(served: Served, window: Window, tmp_path: Path) -> None:
    page = window.new_page()  # a browser reports requests that failed: here one is meant to
    opened(page, served, "add", "put-in")
    page.get_by_label("What to remember").fill("The heron nests at the weir.")
    page.get_by_label("Who says it").fill("Ana")
    page.get_by_role("button", name="Remember").click()
    toast(page, "Remembered").get_by_role("button", name="Undo").click()
    toast(page, "forgotten again")
    page.get_by_label("What to remember").fill("The heron nests at the mill.")
    page.get_by_label("What to remember").press("Control+Enter")
    page.get_by_role("link", name="Show it").click()
    expect(page.locator(".message.marked")).to_contain_text("at the mill")
    page.go_back()
    for words in ("Remembered", "This was remembered before"):
        page.get_by_label("What to remember").fill("I bought a red bicycle.")
        page.get_by_text("When, and where it belongs").click()
        page.get_by_label("When it was said").fill("2026-05-02T10:00")
        page.get_by_role("button", name="Remember").click()
        told = toast(page, words)
        page.get_by_text("When, and where it belongs").click()
    expect(told.get_by_role("button")).to_have_count(0)  # nothing was done that could be undone
    # A file is previewed, imported with progress, and summed up; another is refused in words.
    file = tmp_path / "talk.jsonl"
    lines = [
        {
            "text": f"Line {number} of the talk.",
            "speaker": "Bo",
            "session": "talk",
            "at": f"2026-05-01T10:{number:02}:00Z",
        }
        for number in range(30)
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    page.get_by_label("Files to import").set_input_files([str(file)])
    one = page.get_by_role("article", name="talk.jsonl")
    expect(one.locator("blockquote").first).to_contain_text("Line 0 of the talk.")
    with Memory.open(served.path, "hashing") as memory:
        assert not list(memory.space("put-in").events(session="talk"))  # a preview stores nothing
    one.get_by_role("button", name="Import 30 messages").click()
    expect(one).to_contain_text("30 new messages")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 nothing")
    page.get_by_label("Files to import").set_input_files([str(broken)])
    expect(page.get_by_role("article", name="broken.zip").get_by_role("alert")).to_be_visible()
    # A format that is not recognised can be chosen; a file without messages is not offered.
    for name, content in (("odd.bin", b"Ana: I moved to Braga.\nBo: When?\n"), ("empty.txt", b"")):
        (tmp_path / name).write_bytes(content)
        page.get_by_label("Files to import").set_input_files([str(tmp_path / name)])
    odd = page.get_by_role("article", name="odd.bin")
    odd.get_by_label("Format").select_option("text")
    expect(odd.get_by_role("button", name=re.compile("Import"))).to_be_visible()
    none = page.get_by_role("article", name="empty.txt")
    expect(none).to_contain_text("There is no message in this file.")
    expect(none.get_by_role("button", name=re.compile("Import"))).to_have_count(0)
    # Dropped files are taken too.
    dropped = page.evaluate_handle("""() => {
        const given = new DataTransfer();
        given.items.add(new File(["Ana: I moved to Braga.\\nBo: When?\\nAna: In May."], "chat.txt"));
        return given;
    }""")
    page.dispatch_event(".drop", "drop", {"dataTransfer": dropped})
    expect(page.get_by_role("article", name="chat.txt")).to_contain_text("Import")
    identity = page.get_by_label("Identity")
    identity.fill("I am Juno, Ana's assistant.")
    page.get_by_role("button", name="Save").click()
    toast(page, "identity was saved")
    page.reload()
    expect(identity).to_have_value("I am Juno, Ana's assistant.")
    page.close()


def test_forgetting_is_picked_previewed_confirmed_and_kept_as_a_receipt(served: Served, page: Page) -> None:
    with Memory.open(served.path, "hashing") as memory:
        space = memory.space("forgetting")
        space.add_many({"text": f"Secret {number}.", "speaker": "Eve", "session": "vault"} for number in range(25))
        space.add("I live in Lisbon.", speaker="Ana", session="home")
    opened(page, served, "forget", "forgetting")
    expect(page.locator("main")).to_contain_text("Nothing was forgotten yet")
    preview = page.get_by_role("button", name="Show what would go")
    expect(preview).to_be_disabled()
    page.get_by_label("Speaker").select_option("Ana")
    preview.click()
    expect(page.locator(".going")).to_contain_text("1 message will be forgotten")
    expect(page.locator(".going .said")).to_have_text("I live in Lisbon.")
    page.get_by_label("Speaker").select_option("")
    conversation = page.get_by_role("combobox", name="Conversation")
    conversation.fill("vault")
    page.evaluate("location.hash += '&before=2100-01-01'")  # the view is drawn again
    expect(page.get_by_label("Said before")).to_have_value("2100-01-01")
    expect(conversation).to_have_value("vault")
    conversation.press("Tab")
    expect(page).to_have_url(re.compile("session=vault"))
    preview.click()
    expect(page.locator(".going")).to_contain_text("25 messages will be forgotten")
    with Memory.open(served.path, "hashing") as memory:
        memory.space("forgetting").add("The safe is blue.", speaker="Eve", session="vault")  # after the preview
    go = page.get_by_role("button", name="Forget 25 messages for good")
    expect(go).to_be_disabled()  # more than 20 need a typed confirmation
    page.get_by_label("Type 25 to confirm").fill("25")
    go.click()
    expect(page.get_by_role("status").filter(has_text="25 messages on")).to_be_visible()
    expect(conversation).to_have_value("")
    expect(page.get_by_role("region", name="Receipts").locator("article")).to_have_count(1)
    with Memory.open(served.path, "hashing") as memory:
        assert [event.text for event in memory.space("forgetting").events(session="vault")] == ["The safe is blue."]
    page.reload()
    expect(page.get_by_role("region", name="Receipts").locator("article")).to_contain_text("25 messages")


def test_goals_are_todos_that_are_done_snoozed_or_none(served: Served, page: Page) -> None:
    opened(page, served, "intents", "goals")
    shown = page.locator(".todo")
    expect(shown).to_have_count(len(GOALS))
    expect(shown.filter(has_text=GOALS[0]).locator(".tag", has_text="due")).to_be_visible()
    shown.filter(has_text=GOALS[0]).get_by_role("button", name="Done").click()
    expect(shown).to_have_count(3)
    toast(page, "is done").get_by_role("button", name="Undo").click()
    expect(shown).to_have_count(4)
    shown.filter(has_text=GOALS[0]).get_by_role("button", name="Done").click()
    expect(shown).to_have_count(3)
    shown.filter(has_text=GOALS[1]).get_by_label("Snooze").select_option("7")
    expect(shown).to_have_count(2)
    shown.filter(has_text=GOALS[2]).get_by_role("button", name="Not a goal").click()
    expect(shown).to_have_count(1)
    choose(page, shown.filter(has_text=GOALS[3]).locator(".menu"), "Reword")
    page.get_by_label("New wording").fill("Book the ferry before noon")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".todo h3", has_text="before noon")).to_be_visible()
    for status, goal in (("deferred", GOALS[1]), ("rejected", GOALS[2]), ("resolved", GOALS[0])):
        page.get_by_label("Show").select_option(status)
        expect(page).to_have_url(re.compile(f"status={status}"))
        expect(shown.filter(has_text=goal)).to_be_visible()
        expect(page.locator("header p")).not_to_contain_text("nobody has reported")
    shown.filter(has_text=GOALS[0]).get_by_role("button", name="To do again").click()
    expect(shown).to_have_count(0)
    page.get_by_label("Show").select_option("")
    expect(shown.filter(has_text=GOALS[0])).to_be_visible()
    opened(page, served, "intents", "due")
    dates = page.locator(".todo .tag").all_inner_texts()
    assert len(dates) == len(DUE)
    assert dates == sorted(dates, key=lambda one: datetime.strptime(one[4:], "%b %d, %Y"))


def test_health_tells_lag_queue_size_and_what_programs_asked(served: Served, page: Page) -> None:
    # The worker is quick: it is held up by what the page is told.
    waiting = {"id": 1, "kind": "embed", "event_id": None, "attempts": 3, "due_at": "2026-05-01T10:00:00Z"}
    body = json.dumps({"jobs": [{**waiting, "error": "No model here."}], "next": None})
    page.route("**/v1/jobs*", lambda route: route.fulfill(body=body, content_type="application/json"))
    httpx.get(f"{served.url}v1/recall", params={"query": "Where is the mast?"}).raise_for_status()
    httpx.get(f"{served.url}v1/context", params={"query": "Where is Ana?"}).raise_for_status()
    opened(page, served, "health")
    expect(page.get_by_role("region", name="Progress")).to_contain_text("No model here.")
    expect(page.get_by_role("region", name="Progress")).to_contain_text("Everything that was said is searchable")
    expect(page.get_by_role("region", name="Size", exact=True)).to_contain_text("Statements")
    asked = page.get_by_role("region", name="What programs asked").first
    expect(asked.locator("tbody tr")).to_have_count(2)
    expect(asked.locator("tbody tr").first).to_contain_text("Where is Ana?")
    expect(asked.locator("tbody tr").first).to_contain_text("tokens")
    page.get_by_role("button", name="Check the file").click()
    expect(page.locator("main")).to_contain_text("No problems found")


def test_the_timeline_shows_lanes_and_what_was_true_at_the_cursor(served: Served, page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    opened(page, served, "timeline")
    ended = page.locator(".time .fact.over + .label, .time a:has(.fact.over)", has_text="Lisbon").first
    expect(ended).to_be_visible()
    true = page.get_by_role("complementary", name="True now")
    expect(true).to_contain_text("Porto")
    expect(true).not_to_contain_text("Lisbon")
    page.get_by_label("As of").fill("2026-03-20")
    true = page.get_by_role("complementary", name="True on")
    expect(true).to_contain_text("Lisbon")
    expect(true).not_to_contain_text("Porto")
    page.get_by_label("Cursor").press("End")
    expect(page.get_by_role("complementary", name="True now")).to_be_visible()
    told = page.get_by_role("status").filter(has_text="messages,")
    everything = told.inner_text()
    page.get_by_role("group", name=re.compile("^Timeline")).focus()
    for _ in range(7):
        page.keyboard.press("+")
    expect(told).not_to_have_text(everything)
    expect(page).to_have_url(re.compile("from=.*to="))
    expect(told).to_contain_text(" 0 messages, 4 facts.")
    zoomed = told.inner_text()
    page.reload()
    expect(told).to_have_text(zoomed)  # a link opens the same part
    page.get_by_role("button", name="All", exact=True).click()
    expect(told).to_have_text(everything)
    page.get_by_label("Kind").select_option("decision")
    expect(page.locator(".time .dot")).to_have_count(1)
    expect(page.locator(".time .fact")).to_have_count(0)
    page.get_by_label("Kind").select_option("facts")
    page.get_by_label("Wing").select_option("harbour")
    expect(page.locator(".time .fact")).to_have_count(0)
    page.get_by_label("Wing").select_option("")
    page.locator(".time a:has(.fact.over)", has_text="Lisbon").click()
    expect(page.locator(".message.marked")).to_contain_text("I live in Lisbon.")


def test_the_graph_is_searched_and_shows_relations_and_quotes(served: Served, page: Page) -> None:
    opened(page, served, "graph")
    expect(page.locator(".node").first).to_be_visible()
    places = "[...document.querySelectorAll('.node')].map((one) => one.getAttribute('transform')).sort().join()"
    before = page.evaluate(places)
    page.reload()
    expect(page.locator(".node").first).to_be_visible()
    assert page.evaluate(places) == before  # the same graph looks the same
    assert min(page.evaluate(SIZES)) >= 11
    theme = page.locator(".chip", has_text=re.compile("radar|mast|harbour|storm|broke"))
    expect(theme.first).to_be_visible()  # it is not connected yet
    page.locator(".node.entity", has_text="Ana").first.focus()
    page.keyboard.press("Enter")
    panel = page.locator(".panel")
    expect(panel).to_be_focused()
    expect(panel.locator(".said").first).to_contain_text("“")
    expect(panel).to_contain_text("Relations")
    expect(page.locator(".node.near").first).to_be_visible()
    expect(page).to_have_url(re.compile("node="))
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    page.get_by_label("Find in the graph").fill("ana")
    expect(page.get_by_role("status").filter(has_text="match")).to_contain_text("1 match")
    expect(page.locator(".match")).to_have_count(1)
    page.get_by_label("As of").fill("2026-01-01")
    expect(page.locator(".node")).to_have_count(0)


def test_the_palette_and_keys_lead_everywhere(served: Served, page: Page) -> None:
    opened(page, served, "health")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Go to")
    expect(field).to_be_focused()
    field.fill("brow")
    expect(page.locator(".offers li").first).to_contain_text("Browse")
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text("Browse")
    page.keyboard.press("Control+k")
    field.fill("Ana")
    expect(page.locator(".offers li", has_text=re.compile("^Ana"))).to_be_visible()
    page.locator(".offers li", has_text=re.compile("^Ana")).click()
    expect(page.locator("main h1")).to_have_text("Ana")
    page.keyboard.press("Control+k")
    field.fill("where is the mast")
    page.locator(".offers li", has_text=re.compile("^Ask")).click()
    expect(page.get_by_label("Question")).to_have_value("where is the mast")
    page.locator("main h1").click()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("light or dark")
    page.keyboard.press("2")  # nothing happens behind a dialog
    page.keyboard.press("Escape")
    expect(page.locator("main h1")).to_have_text("What did the agent know?")
    page.keyboard.press("5")
    expect(page.locator("main h1")).to_have_text("Browse")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+k")
    page.keyboard.press("Control+k")
    expect(field).to_have_count(0)
    # Addresses of views that were merged into others.
    opened(page, served, "sessions/moving")
    expect(page.locator("main h1")).to_have_text("moving")


def test_a_service_that_went_away_is_told_and_comes_back(tmp_path: Path, window: Window) -> None:
    path = tmp_path / "gone.db"
    with Memory.open(path, "hashing") as memory:
        memory.add("I moved to Lisbon.", speaker="Ana", session="s")
    page = window.new_page()  # a browser reports requests that failed: here they are meant to
    with serving(path) as served:
        page.goto(f"{served.url}#/browse")
        expect(page.locator("article")).to_have_count(1)
        page.wait_for_timeout(500)  # until the page follows the feed
    expect(page.locator(".toast.lost")).to_be_visible(timeout=15_000)
    page.keyboard.press("9")
    expect(page.locator("[role=alert]").first).to_contain_text("still running")
    with serving(path, port=urlsplit(served.url).port or 0):
        expect(page.locator(".toast.lost")).to_have_count(0, timeout=15_000)
        expect(page.locator(".tiles").first).to_be_visible()
    page.close()
