"""The page in a real browser: every view, an empty memory, an error, hostile words, a phone, keys and colours."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.effort import effort
from tests.page.browsing import Served, needs_browser, serving
from tests.serve.service import free_port

from everyword import Memory

playwright = pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
Window, Page, expect = playwright.BrowserContext, playwright.Page, playwright.expect

pytestmark = needs_browser
ROOT = Path(__file__).parents[2]
UI = ROOT / "src/everyword/interfaces/ui"
AXE = ROOT / "packages/typescript/node_modules/axe-core/axe.min.js"
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
RIGHT_TO_LEFT = "שלום עולם, this is said from right to left \u202e evil"
VIEWS = ["know", "people", "timeline", "intents", "browse", "graph", "add", "forget", "health"]
SAID = [
    ("Ana", "I moved to Lisbon in March."),
    ("Ana", "We decided to ship the radar feed on Friday."),
    ("Will", "Remind me to renew the passport by the end of the year."),
    ("Ana", "I work at Caudal Labs as a data engineer."),
    ("Will", HOSTILE),
    ("Ana", RIGHT_TO_LEFT),
    ("Ana", "long " * 2_000 + "end"),
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("page") / "memory.db"
    with Memory.open(path, "hashing") as memory:
        memory.add_many(
            {
                "text": text,
                "speaker": who,
                "session": f"s{number % 3}",
                "at": f"2026-04-0{number + 1}T10:00Z",
                "wing": "work",
            }
            for number, (who, text) in enumerate(SAID)
        )
    with serving(path) as served:
        yield served


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("page") / "empty.db") as served:
        yield served


def go(page: Page, served: Served, address: str) -> None:
    """Go to another view as a link does, which loads no script again; wait until it is there."""
    view = re.match(r"\w+", address)[0]  # type: ignore[index]
    page.goto(f"{served.url}#/{address}")
    expect(page.locator(f"nav a[href='#/{view}']")).to_have_attribute("aria-current", "page")
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)


def test_every_view_opens(filled: Served, page: Page) -> None:
    for view in VIEWS:
        go(page, filled, view)
        expect(page.locator("[role=alert]")).to_have_count(0)
        assert page.title() == f"{page.locator('nav a[aria-current=page]').inner_text()} · Everyword"


def test_every_view_has_something_to_say_of_an_empty_memory(empty: Served, page: Page) -> None:
    for view in VIEWS:
        go(page, empty, view)
        expect(page.locator("[role=alert]")).to_have_count(0)
        if view in ("know", "timeline", "browse"):
            expect(page.locator("main").get_by_role("link", name=re.compile("Tell it|Put something"))).to_be_visible()


def test_the_page_is_small() -> None:
    files = [one for one in UI.rglob("*") if one.is_file() and one.suffix not in (".txt", ".md")]
    compressed = sum(min(len(gzip.compress(one.read_bytes())), one.stat().st_size) for one in files)
    assert compressed <= 250_000


# Each view, at the widths of a large screen, a small one and a phone, in light and dark.
LOOKS = ((1440, "light"), (390, "dark"), (1440, "dark"), (1024, "light"))[: effort(2, 4)]
# No view beside another one of its kind: then the navigation tells which of them is shown.
SHOWN = ["browse", "people", "timeline", "people/Ana", "intents", "browse?what=messages", "graph", "add"]
SHOWN += ["browse?what=statements", "forget", "health", "browse/session/s0", "know?q=Where+does+Ana+live%3F", "palette"]


@pytest.mark.skipif(not AXE.exists(), reason="NO AXE: run `npm ci` in packages/typescript")
def test_no_view_has_a_serious_problem_of_accessibility(filled: Served, window: Window) -> None:
    serious = "(one) => ['serious', 'critical'].includes(one.impact)"
    # The rules that need preloaded files are none of these: they are about media and turned phones.
    run = f"async () => (await axe.run({{preload: false, resultTypes: ['violations']}})).violations.filter({serious})"
    found: dict[tuple[str, int, str, str], list[str]] = {}
    page = window.new_page()
    page.emulate_media(reduced_motion="reduce")
    for view in SHOWN:
        go(page, filled, "browse" if view == "palette" else view)
        if view == SHOWN[0]:
            page.evaluate(AXE.read_text(encoding="utf-8"))
        if view == "palette":
            page.keyboard.press("Control+k")
            expect(page.locator(".offers li").first).to_be_visible()
        for width, colours in LOOKS:
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(f"document.documentElement.dataset.theme = '{colours}'")
            for one in page.evaluate(run):
                found[view, width, colours, one["id"]] = [node["html"][:200] for node in one["nodes"][:3]]
    page.close()
    assert not found, found


def test_hostile_words_are_words(filled: Served, page: Page) -> None:
    page.goto(f"{filled.url}#/browse?what=messages")
    expect(page.locator(".said", has_text="<script>document.title='owned'</script>")).to_be_visible()
    expect(page.locator(".said", has_text="שלום")).to_be_attached()
    expect(page.locator("button", has_text="Show all 10,003 characters")).to_be_attached()
    assert page.title() == "Browse · Everyword"


def test_an_error_says_what_to_do(filled: Served, window: Window) -> None:
    page = window.new_page()  # a browser reports a request that failed: here that is meant
    page.route("**/v1/stats*", lambda route: route.abort())
    page.goto(f"{filled.url}#/health")
    expect(page.locator("[role=alert]")).to_contain_text("still running")
    page.close()


def test_a_phone_sees_all_of_it_without_scrolling_sideways(filled: Served, window: Window) -> None:
    page = window.new_page()
    page.set_viewport_size({"width": 375, "height": 700})
    for view in VIEWS:
        go(page, filled, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, view
        # Every view can be reached from every other, without scrolling the bar.
        ends = page.evaluate("[...document.querySelectorAll('nav a')].map((a) => a.getBoundingClientRect().right)")
        assert max(ends) <= 375, view
    before = page.locator("html").get_attribute("data-theme")
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("html")).not_to_have_attribute("data-theme", before or "")
    page.close()


def test_long_names_do_not_push_a_phone_s_page_aside(tmp_path: Path, page: Page) -> None:
    mail = "Maximiliane Hohenstaufen <maximiliane.hohenstaufen@verwaltung.example-company.org>"
    session, wing = "migration-of-the-legacy-platform-" * 3, "projects/customer-success/2026/legacy-platform"
    with Memory.open(tmp_path / "long.db", "hashing") as memory:
        for number in range(3):
            memory.add(f"We decided on the legacy radar {number}.", speaker=mail, session=session, wing=wing)
    page.set_viewport_size({"width": 390, "height": 800})
    with serving(tmp_path / "long.db") as served:
        for view in (*VIEWS, f"browse/session/{session}", "know?q=radar", "browse?what=messages", f"people/{mail}"):
            go(page, served, view)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, view


def test_any_date_that_a_memory_holds_is_shown(tmp_path: Path, page: Page) -> None:
    with Memory.open(tmp_path / "dates.db", "hashing") as memory:
        for at in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1900-01-01T00:00:00+00:19:32"):
            memory.add("The radar mast broke.", speaker="Ana", session="s1", at=at)
        memory.add("The radar mast stands again.", speaker="Ana", session="s1", at="2026-04-01T10:00Z")
        rest = memory.space("rest")
        rest.add_many({"text": f"Line {number}.", "at": f"2026-04-{number + 1:02}T10:00Z"} for number in range(25))
        rest.add("A typing error.", at="0206-04-01T10:00Z")
        rest.admin.settle()
    with serving(tmp_path / "dates.db") as served:
        for view in ("timeline", "browse/session/s1", "know?q=radar", "graph", "health"):
            go(page, served, view)
            expect(page.locator("[role=alert]")).to_have_count(0)
        page.goto(f"{served.url}#/timeline")
        expect(page.get_by_role("status").filter(has_text="4 messages")).to_be_visible()
        for key in ("-", "ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"):
            page.locator(".time-box").press(key)
        page.wait_for_timeout(600)  # until what is in sight was asked for
        expect(page.locator("[role=alert]")).to_have_count(0)
        page.goto(f"{served.url}#/browse/session/s1")
        expect(page.locator(".who .tabular")).to_have_count(4)
        expect(page.locator(".who .tabular", has_text=re.compile(r"\dT\d|Invalid"))).to_have_count(0)
        # One of many does not stretch the axes, and is still there.
        page.goto(f"{served.url}#/know?space=rest")
        expect(page.locator(".scrub .ends span").first).to_have_text(re.compile("2026"))
        expect(page.locator("main")).to_contain_text("26 messages")
        page.goto(f"{served.url}#/timeline?space=rest")
        axis = page.locator(".axis text")
        expect(axis.first).to_have_text(re.compile("Apr|2026"))
        page.get_by_role("link", name="1 message from another time").click()
        expect(page.locator(".message").first).to_contain_text("A typing error.")
        page.goto(f"{served.url}#/browse?space=rest")
        expect(page.locator(".empty")).to_contain_text("Nothing was said in a conversation yet")


def test_a_link_to_another_question_asks_it(filled: Served, page: Page) -> None:
    page.goto(f"{filled.url}#/know?q=Where+does+Ana+live%3F")
    expect(page.locator(".verdict .said")).to_contain_text(re.compile("Lisbon|Porto"))  # other tests let her move
    page.evaluate("location.hash = '#/know?q=Where+does+Ana+work%3F'")
    expect(page.get_by_label("Question")).to_have_value("Where does Ana work?")
    expect(page.locator(".verdict .said")).to_contain_text("Caudal Labs")


def test_keys_choose_a_view_ask_and_turn_the_colours(filled: Served, page: Page) -> None:
    page.goto(f"{filled.url}#/health")
    expect(page.locator("main h1")).to_have_text("Health")
    before = page.locator("html").get_attribute("data-theme")
    page.keyboard.press("t")
    expect(page.locator("html")).not_to_have_attribute("data-theme", before or "")
    page.keyboard.press("2")
    expect(page.locator("main h1")).to_have_text("People and things")
    page.keyboard.press("/")
    expect(page.get_by_label("Find a name")).to_be_focused()
    page.keyboard.press("2")  # goes into the field
    expect(page.get_by_label("Find a name")).to_have_value("2")
    go(page, filled, "know")
    page.get_by_label("Point in time").press("ArrowLeft")
    page.keyboard.press("9")  # a slider takes no letters
    expect(page.locator("main h1")).to_have_text("Health")


def test_what_others_write_is_told(filled: Served, page: Page) -> None:
    page.goto(filled.url)
    expect(page.locator("main h1")).to_have_text("What did the agent know?")
    page.wait_for_timeout(500)  # until the page follows the feed
    with Memory.open(filled.path, "hashing") as memory:
        memory.add("The heron is back at the weir.", speaker="Ana")
    expect(page.locator(".toast")).to_contain_text("heron", timeout=15_000)


def test_an_open_inbox_and_an_open_graph_grow_by_what_others_write(tmp_path: Path, window: Window) -> None:
    path = tmp_path / "live.db"
    with Memory.open(path, "hashing") as memory:
        memory.add("Lisbon is where Ana Ferreira lives.", speaker="Will")
    with serving(path) as served:
        inbox, graph = window.new_page(), window.new_page()
        inbox.goto(f"{served.url}#/intents")
        graph.goto(f"{served.url}#/graph")
        expect(inbox.locator(".empty")).to_be_visible()
        names = graph.get_by_role("status").filter(has_text="names")
        drawn = names.inner_text()
        graph.wait_for_timeout(500)  # until the pages follow the feed
        with Memory.open(path, "hashing") as memory:
            memory.add("I must send the budget report to Ana by tomorrow.", speaker="Leo")
        expect(inbox.locator("article h3")).to_contain_text("budget report", timeout=15_000)
        expect(names).not_to_have_text(drawn, timeout=15_000)
        inbox.close()
        graph.close()


def test_a_memory_with_keys_asks_for_one(tmp_path: Path, window: Window) -> None:
    path = tmp_path / "locked.db"
    with Memory.open(path, "hashing") as memory:
        memory.add("I moved to Lisbon.", speaker="Ana")
        secret = memory.admin.create_key("reader", permission="read").secret
    page = window.new_page()
    with serving(path) as served:
        page.goto(served.url)
        page.get_by_label("Key").fill(secret)
        page.get_by_role("button", name="Open").click()
        expect(page.locator("main h1")).to_have_text("What did the agent know?")
        expect(page.locator("nav")).not_to_contain_text("Put in")
        expect(page.locator("nav")).not_to_contain_text("Forget")  # a key that only reads sees no more than it may
        for address, words in (("add", "does not allow this"), ("people/Nobody", "of this name is known")):
            page.goto(f"{served.url}#/{address}")
            expect(page.locator(".empty")).to_contain_text(words)
    page.close()


def test_what_is_in_another_space_is_shown_without_being_asked_for(tmp_path: Path, window: Window) -> None:
    path = tmp_path / "spaces.db"
    with Memory.open(path, "hashing") as memory:
        memory.space("acme/ana").add("I moved to Lisbon.", speaker="Ana", session="s1")
    page = window.new_page()
    with serving(path) as served:
        page.goto(served.url)
        expect(page.locator("main")).to_contain_text("1 message in 1 conversation")
        expect(page.get_by_label("Space")).to_have_count(0)
        with Memory.open(path, "hashing") as memory:
            memory.space("acme/bob").add_many([{"text": "I moved to Porto."}, {"text": "I moved to Faro."}])
        page.reload()
        expect(page.locator("main")).to_contain_text("1 message in 1 conversation")
        expect(page.get_by_label("Space").first).to_have_value("acme/ana")
        page.get_by_label("Space").first.select_option("acme/bob")
        expect(page.locator("main")).to_contain_text("2 messages")
    page.close()


@pytest.mark.parametrize("opened", [["acme/*"], ["acme/ana", "acme/bob"]])
def test_a_key_for_some_spaces_is_shown_one_of_them(tmp_path: Path, window: Window, opened: list[str]) -> None:
    path = tmp_path / "some.db"
    with Memory.open(path, "hashing") as memory:
        memory.add("Nobody else may read this.")
        memory.space("acme/ana").add("I moved to Lisbon.", speaker="Ana")
        secret = memory.admin.create_key("some", permission="read", spaces=opened).secret
    page = window.new_page()
    with serving(path) as served:
        page.goto(served.url)
        page.get_by_label("Key").fill(secret)
        page.get_by_role("button", name="Open").click()
        expect(page.locator("main")).to_contain_text("1 message")
        expect(page.locator("[role=alert]")).to_have_count(0)
    page.close()


def test_a_key_that_is_none_or_has_ended_leaves_room_for_another(tmp_path: Path, window: Window) -> None:
    path = tmp_path / "ended.db"
    with Memory.open(path, "hashing") as memory:
        made, other = (memory.admin.create_key(name, permission="read") for name in ("one", "other"))
    page = window.new_page()
    with serving(path) as served:
        page.goto(served.url)
        field, opened = page.get_by_label("Key"), page.get_by_role("button", name="Open")
        expect(field).to_be_focused()
        expect(page.get_by_role("alert")).to_have_count(0)  # nothing is wrong yet
        field.fill(f"{made.secret}\u200b")
        expect(page.get_by_role("alert")).to_contain_text("not valid in a key")
        expect(opened).to_be_disabled()
        field.fill("nonsense")
        opened.click()
        expect(page.get_by_role("alert")).to_contain_text("not an Everyword key")
        expect(field).to_be_focused()
        page.get_by_label("Key").fill(made.secret)
        opened.click()
        expect(page.locator("main h1")).to_have_text("What did the agent know?")
        with Memory.open(path, "hashing") as memory:
            memory.admin.revoke_key(made.key.id)
        expect(page.locator("main")).to_contain_text("The key was revoked.")  # without anybody asking for anything
        page.goto(f"{served.url}#/browse")
        page.get_by_label("Key").fill(other.secret)
        opened.click()
        expect(page.locator("main h1")).to_have_text("Browse")
    page.close()


def test_what_happens_while_the_service_is_away_is_told_when_it_is_back(tmp_path: Path, window: Window) -> None:
    path, port = tmp_path / "away.db", free_port()
    with Memory.open(path, "hashing") as memory:
        memory.add("The radar mast broke.", speaker="Ana", session="storm")
    page = window.new_page()
    with serving(path, port=port) as served:
        page.goto(f"{served.url}#/know")
        expect(page.locator("main")).to_contain_text("1 message in 1 conversation")
        page.wait_for_timeout(500)  # until the page follows the feed
    expect(page.get_by_role("status").filter(has_text="does not answer")).to_have_count(1)
    page.get_by_label("Question").fill("Where is the heron?")
    expect(page.get_by_role("alert").first).to_contain_text("does not answer")
    with Memory.open(path, "hashing") as memory:
        memory.add("The heron is back at the weir.", speaker="Ana")
    with serving(path, port=port):
        expect(page.locator(".toast")).to_contain_text("heron")
        expect(page.locator(".verdict .said")).to_contain_text("heron")  # what was asked meanwhile is asked anew
        expect(page.get_by_label("Question")).to_have_value("Where is the heron?")
    page.close()
