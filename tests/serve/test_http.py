"""The service as its users see it: a real server on loopback, asked by a plain HTTP client."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.service import JSON, problem, serving

from everyword import Memory
from everyword.interfaces.http.routes import operation_routes
from everyword.interfaces.operations import OPERATIONS


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory.open(tmp_path_factory.mktemp("http") / "memory.db", embedder="hashing") as memory:
        memory.add_many(
            {
                "text": f"On day {number} we decided to paint room {number} green.",
                "speaker": "Ana" if number % 2 else "Rui",
                "session": f"s{number // 10}",
                "at": f"2026-03-{1 + number // 2:02}T10:00Z",
                "key": f"k{number}",
            }
            for number in range(30)
        )
        memory.admin.settle()
        yield memory


@pytest.fixture(scope="module")
def web(memory: Memory) -> Iterator[httpx.Client]:
    with serving(memory) as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


def posted(web: httpx.Client, path: str, body: Any, **params: str) -> httpx.Response:
    return web.post(path, content=json.dumps(body), headers=JSON, params=params)


# Asking


def test_a_question_by_a_link_and_by_a_body_get_the_same_answer(web: httpx.Client) -> None:
    by_link = web.get("/v1/recall", params={"query": "Which room is green on day 7?", "k": 3, "speaker": "Ana"})
    by_body = posted(web, "/v1/recall", {"query": "Which room is green on day 7?", "k": 3, "speaker": "Ana"})
    assert by_link.status_code == by_body.status_code == 200
    assert by_link.json() == by_body.json()
    assert len(by_link.json()["hits"]) == 3
    assert all(hit["event"]["speaker"] == "Ana" for hit in by_link.json()["hits"])
    assert by_link.headers["content-type"] == "application/json"


def test_how_many_hits_may_be_left_to_the_question(web: httpx.Client, memory: Memory) -> None:
    question = "Which room is green on day 7?"
    wanted = [hit.event.id for hit in memory.recall(question, k=None)]
    for answer in (
        web.get("/v1/recall", params={"query": question, "k": "auto"}),
        posted(web, "/v1/recall", {"query": question, "k": "auto"}),
    ):
        assert answer.status_code == 200, answer.text
        assert [hit["event"]["id"] for hit in answer.json()["hits"]] == wanted
    for wrong in ("ten", [1], True, 2.5, "1"):
        assert problem(posted(web, "/v1/recall", {"query": question, "k": wrong})) == (400, "InvalidInput")


def test_what_is_added_is_found_and_adding_it_again_changes_nothing(web: httpx.Client) -> None:
    event = {"text": "The zebra sleeps in the barn.", "key": "zebra", "meta": {"n": 1}, "at": "2026-05-01T09:00Z"}
    first, again = posted(web, "/v1/add", event), posted(web, "/v1/add", event)
    assert (first.json()["new"], again.json()["new"]) == (True, False)
    assert first.json()["id"] == again.json()["id"]
    hits = web.get("/v1/recall", params={"query": "zebra barn", "k": 1}).json()["hits"]
    assert hits[0]["quote"] == event["text"]
    assert web.get("/v1/show", params={"key": "zebra"}).json()["meta"] == {"n": 1}
    other = posted(web, "/v1/add", {**event, "text": "The zebra left."})
    assert problem(other) == (409, "KeyConflict")


def test_a_batch_comes_whole_or_not_at_all(web: httpx.Client) -> None:
    good = {"text": "A yak arrived.", "key": "yak"}
    refused = posted(web, "/v1/add_many", {"events": [good, {"text": ""}]})
    assert problem(refused) == (400, "InvalidEvent")
    assert problem(web.get("/v1/show", params={"key": "yak"})) == (404, "NotFound")
    many = posted(web, "/v1/add_many", {"events": [{"text": "a"}] * 20_001})
    assert (many.status_code, "20,000" in many.text) == (400, True)
    taken = posted(web, "/v1/add_many", {"events": [good, {"text": "Two yaks."}]})
    assert [one["new"] for one in taken.json()["written"]] == [True, True]


def test_half_a_character_and_other_oddities_travel_unharmed(web: httpx.Client) -> None:
    text = 'half \ud800, nul \x00, "quotes", <script>alert(1)</script>, \u202eright to left'
    added = posted(web, "/v1/add", {"text": text, "session": "odd"})
    assert added.status_code == 200
    assert web.get("/v1/show", params={"id": added.json()["id"]}).json()["text"] == text


def test_a_wing_and_a_space_are_said_in_the_query(web: httpx.Client) -> None:
    posted(web, "/v1/add", {"text": "The roof leaks."}, space="house", wing="attic")
    posted(web, "/v1/add", {"text": "The boiler hums.", "wing": "cellar"}, space="house")
    here = web.get("/v1/events", params={"space": "house"}).json()["events"]
    assert {event["wing"] for event in here} == {"attic", "cellar"}
    attic = web.get("/v1/events", params={"space": "house", "wing": "attic"}).json()["events"]
    assert [event["text"] for event in attic] == ["The roof leaks."]
    both = posted(web, "/v1/add", {"text": "x", "wing": "cellar"}, space="house", wing="attic")
    assert problem(both) == (400, "InvalidEvent")
    assert "house" in web.get("/v1/spaces").json()["spaces"]


# Pages


def test_pages_of_events_hold_each_event_once_while_others_write(web: httpx.Client, memory: Memory) -> None:
    space = memory.space("paged")
    space.add_many({"text": f"line {number}", "at": f"2026-01-01T00:{number:02}:00Z"} for number in range(25))
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = web.get("/v1/events", params={"space": "paged", "limit": 10, "newest_first": "true", **cursor}).json()
        seen += [event["text"] for event in page["events"]]
        space.add(f"newer than {len(seen)}", at="2026-02-01T00:00Z")
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == [f"line {number}" for number in range(24, -1, -1)]


def test_pages_of_statements_and_sessions_go_on_where_they_ended(web: httpx.Client, memory: Memory) -> None:
    statements = [one.id for one in memory.statements()]
    assert len(statements) > 20
    assert collected(web, "statements", "id", limit=7) == statements
    sessions = [one.name for one in memory.sessions()]
    assert collected(web, "sessions", "name", limit=2) == sessions


def collected(web: httpx.Client, name: str, member: str, *, limit: int) -> list[str]:
    found: list[str] = []
    params: dict[str, Any] = {"limit": limit}
    while True:
        page = web.get(f"/v1/{name}", params=params).json()
        assert len(page[name]) <= limit
        found += [one[member] for one in page[name]]
        if page["next"] is None:
            return found
        params["cursor"] = page["next"]


@pytest.mark.parametrize("name", ["events", "statements", "sessions"])
@pytest.mark.parametrize("cursor", ["x", "", "1.x y", "é", "9" * 500, "1..2", "٣.١", "1.2.3"])
def test_a_cursor_that_was_never_given_is_refused(web: httpx.Client, name: str, cursor: str) -> None:
    assert problem(web.get(f"/v1/{name}", params={"cursor": cursor})) == (400, "InvalidInput")


# What is refused


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({}, "InvalidInput"),
        ({"query": " "}, "InvalidInput"),
        ({"query": "a", "k": "0"}, "InvalidInput"),
        ({"query": "a", "k": "ten"}, "InvalidInput"),
        ({"query": "a", "k": "٣"}, "InvalidInput"),
        ({"query": "a", "k": "9" * 400}, "InvalidInput"),
        ({"query": ["a", "b"]}, "InvalidInput"),
        ({"query": "a", "colour": "red"}, "InvalidInput"),
        ({"query": "a", "since": "soon"}, "InvalidTime"),
        ({"query": "a", "meta": "{"}, "InvalidInput"),
        ({"query": "a", "meta": "[" * 100_0}, "InvalidInput"),
        ({"query": "a", "meta": "3"}, "InvalidInput"),
        ({"query": "a", "space": ""}, "InvalidEvent"),
        ({"query": "a", "space": "x" * 5000}, "InvalidEvent"),
    ],
)
def test_what_can_not_be_understood_is_refused_with_a_reason(
    web: httpx.Client, params: dict[str, Any], error: str
) -> None:
    assert problem(web.get("/v1/recall", params=params)) == (400, error)


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b"{", JSON),
        (b"[1]", JSON),
        (b"\xff\xfe", JSON),
        (b"[" * 100_000, JSON),
        (b'{"text": 5}', JSON),
        (b'{"text": true}', JSON),
        (b'{"text": "a", "colour": 1}', JSON),
        (b'{"text": "a", "meta": {"n": NaN}}', JSON),
        (b'{"text": "a", "meta": {"n": ' + b"9" * 5000 + b"}}", JSON),
        (b"{}", JSON),
        (b"", JSON),
        (b'{"text": "sent by a form"}', {"content-type": "text/plain"}),
    ],
)
def test_a_body_that_is_no_request_is_refused(web: httpx.Client, content: bytes, headers: dict[str, str]) -> None:
    status, _ = problem(web.post("/v1/add", content=content, headers=headers))
    assert status == 400


def test_paths_and_methods_that_are_not_there(web: httpx.Client) -> None:
    assert problem(web.get("/v1/nothing")) == (404, "NotFound")
    assert problem(web.get("/../etc/passwd")) == (404, "NotFound")
    assert problem(web.get("/v1/add"))[0] == 405
    assert problem(web.delete("/v1/events"))[0] == 405
    assert problem(web.get("/mcp"))[0] in (405, 501)


def test_a_body_that_is_too_large_is_refused_before_it_was_sent(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        with serving(memory, max_body_bytes=1_000, max_import_bytes=2_000) as address:
            large = json.dumps({"text": "x" * 2_000})
            assert problem(httpx.post(f"{address}/v1/add", content=large, headers=JSON)) == (413, "TooLarge")
            # Without saying how large it is.
            chunks = iter([b'{"text": "', *[b"x" * 500] * 10, b'"}'])
            assert problem(httpx.post(f"{address}/v1/add", content=chunks, headers=JSON)) == (413, "TooLarge")
            imported = httpx.post(f"{address}/v1/import", params={"name": "a.jsonl"}, content=b"x" * 3_000)
            assert problem(imported) == (413, "TooLarge")
        assert memory.stats().events == 0


# Files


def test_an_export_can_be_imported_elsewhere(web: httpx.Client, memory: Memory) -> None:
    exported = web.get("/v1/export", params={"space": "default"})
    assert exported.headers["content-type"] == "application/x-ndjson"
    params = {"space": "copied", "name": "../../copied.jsonl"}
    taken = web.post("/v1/import", params=params, content=exported.content)
    assert taken.json()["added"] == memory.stats().events
    assert [one.text for one in memory.space("copied").events()] == [one.text for one in memory.events()]
    again = web.post("/v1/import", params=params, content=exported.content)
    assert (again.json()["added"], again.json()["known"]) == (0, memory.stats().events)
    assert problem(web.post("/v1/import", params={"name": ".."}, content=b"x"))[0] == 400


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b'{"text": 5}', b"\x00\x01\x02"])
def test_a_file_that_can_not_be_imported_is_told_by_its_own_name(web: httpx.Client, content: bytes) -> None:
    answer = web.post("/v1/import", params={"name": "history.zip"}, content=content)
    assert answer.status_code == 400
    assert "history.zip" in answer.json()["detail"]
    assert "/tmp" not in answer.text
    assert "everyword-" not in answer.text


def test_a_backup_is_a_memory(web: httpx.Client, memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_bytes(web.get("/v1/backup").content)
    with Memory.open(tmp_path / "copy.db", embedder="hashing", create=False) as copy:
        assert copy.stats().events == memory.stats().events
        assert copy.admin.verify().ok


# What it says of itself


def test_every_operation_has_a_route_and_a_description(web: httpx.Client) -> None:
    described = web.get("/openapi.json").json()
    assert described["openapi"] == "3.1.0"
    for operation in OPERATIONS:
        assert f"/v1/{operation.name}" in described["paths"]
    for one in operation_routes():
        methods = {"get", "post"} if one.operation.read_only else {"post"}
        assert set(described["paths"][one.path]) == methods
    names = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(described))
    assert set(names) <= set(described["components"]["schemas"])


def test_health_readiness_and_metrics(web: httpx.Client) -> None:
    assert web.get("/healthz").json() == {"ok": True}
    assert web.get("/readyz").json() == {"ok": True}
    web.get("/v1/sessions")
    text = web.get("/metrics").text
    assert re.search(r'^everyword_requests_total\{operation="sessions",status="200"\} \d+$', text, re.MULTILINE)
    assert 'everyword_request_seconds_bucket{operation="sessions",le="+Inf"}' in text
    assert "everyword_pool_asking 0" in text
    # A path that nobody serves leaves no name behind: there would be no end of them.
    web.get("/v1/whatever-else")
    assert "whatever-else" not in web.get("/metrics").text


def test_answers_are_compressed_for_those_who_understand_it(web: httpx.Client) -> None:
    with web.stream("GET", "/v1/events", headers={"accept-encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        packed = b"".join(answer.iter_raw())
    plain = web.get("/v1/events", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(packed) == plain.content
    assert len(packed) < len(plain.content) / 3


def test_the_page_is_served_with_a_policy_and_asked_for_only_once(web: httpx.Client) -> None:
    page = web.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    again = web.get("/", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_path_with_a_slash_too_many_leads_nowhere(web: httpx.Client) -> None:
    assert problem(web.get("/v1/stats/", headers={"host": "127.0.0.1"})) == (404, "NotFound")


def test_every_answer_has_the_secure_headers(web: httpx.Client) -> None:
    for path in ("/", "/v1/me", "/v1/nothing", "/openapi.json", "/healthz", "/v1/export"):
        headers = web.get(path).headers
        assert headers["x-frame-options"] == "DENY", path
        assert headers["referrer-policy"] == "no-referrer", path
        assert headers["cache-control"] in ("no-store", "no-cache"), path
        assert "server" not in headers, path


def test_requests_are_traced_by_those_who_ask_for_it(tmp_path: Path) -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exported = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    trace.set_tracer_provider(provider)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory, serving(memory, tracing=True) as address:
        httpx.get(f"{address}/v1/sessions", headers={"traceparent": parent})
        # The span of a request ends a moment after its answer was sent.
        deadline = time.monotonic() + 10
        spans: dict[str, Any] = {}
        while "GET /v1/sessions" not in spans and time.monotonic() < deadline:
            spans = {span.name: span for span in exported.get_finished_spans()}
            time.sleep(0.01)
    span = spans["GET /v1/sessions"]
    inner = spans["everyword.admin.page_of_sessions"].parent  # the library's own
    assert inner is not None
    assert inner.span_id == span.context.span_id
    assert span.attributes is not None
    assert span.attributes["everyword.operation"] == "sessions"
    assert span.attributes["http.response.status_code"] == 200
    assert f"{span.context.trace_id:032x}" == parent.split("-")[1]


# What the page needs


def test_the_audit_log_is_off_by_default_bounded_and_only_for_admins(tmp_path: Path, web: httpx.Client) -> None:
    assert web.get("/v1/audit").json() == {"on": False, "most": 0, "asked": []}
    with Memory.open(tmp_path / "audited.db", embedder="hashing") as memory:
        event = memory.add("I live in Lisbon.", speaker="Ana")
        reader, admin = (
            memory.admin.create_key(name, permission=name, spaces=["default"]).secret for name in ("read", "admin")
        )
        with serving(memory, audit=2, mcp=True) as address, httpx.Client(base_url=address, timeout=30) as client:
            ask = {"authorization": f"Bearer {reader}"}
            for question in ("one?", "two?", "Where does Ana live?"):
                client.get("/v1/recall", params={"query": question}, headers=ask).raise_for_status()
            client.get("/v1/context", params={"query": "page?"}, headers={**ask, "x-everyword-page": "1"})
            client.get("/v1/events", headers=ask)  # hands out nothing by a question
            assert problem(client.get("/v1/audit", headers=ask)) == (403, "NotAllowed")
            see = {"authorization": f"Bearer {admin}"}
            asked = client.get("/v1/audit", headers=see).json()["asked"]
            assert [(one["question"], one["who"], one["quotes"]) for one in asked] == [
                ("Where does Ana live?", "read", 1),
                ("two?", "read", 1),
            ]
            other = memory.admin.create_key("other", permission="admin", spaces=["other"]).secret
            memory.space("other").add("I live in Porto.", speaker="Bo")
            for key, before in ((admin, "1999-01-01"), (other, "9999-01-01")):
                headers = {**JSON, "authorization": f"Bearer {key}"}
                client.post("/v1/forget", json={"before": before}, headers=headers).raise_for_status()
            assert len(client.get("/v1/audit", headers=see).json()["asked"]) == 2  # nothing of this space was forgotten
            body = json.dumps({"ids": [event.id]})
            client.post("/v1/forget", content=body, headers={**JSON, **see}).raise_for_status()
            assert client.get("/v1/audit", headers=see).json()["asked"] == []  # a question may name what was forgotten
            said = memory.add("I live in Faro.", speaker="Ana")
            client.get("/v1/recall", params={"query": "Faro?"}, headers=ask).raise_for_status()
            call = {"method": "tools/call", "params": {"name": "forget", "arguments": {"ids": [said.id]}}}
            headers = {**JSON, **see, "accept": "application/json, text/event-stream"}
            client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, **call}, headers=headers).raise_for_status()
            assert client.get("/v1/audit", headers=see).json()["asked"] == []
            receipts = client.get("/v1/receipts", headers=see).json()["receipts"]
            assert [one["removed"]["events"] for one in receipts] == [1, 1]
            assert "Lisbon" not in json.dumps(receipts)


def test_a_preview_of_an_import_stores_nothing(web: httpx.Client, memory: Memory) -> None:
    lines = [{"text": f"Line {number}.", "speaker": "Bo", "at": f"2026-05-01T10:0{number}:00Z"} for number in range(8)]
    content = "\n".join(map(json.dumps, lines)).encode()
    found = web.post("/v1/import", content=content, params={"name": "talk.jsonl", "preview": "true"}).json()
    assert (found["read"], found["added"]) == (8, 8)
    assert [event["text"] for event in found["sample"]] == [f"Line {number}." for number in range(5)]
    assert not list(memory.events(speaker="Bo"))


def test_statements_are_listed_from_either_end(web: httpx.Client, memory: Memory) -> None:
    oldest = [one.id for one in memory.statements()]
    assert [one.id for one in memory.statements(newest_first=True)] == oldest[::-1]
    ids, cursor = [], None
    while True:
        params = {"newest_first": "true", "limit": "20"} | ({"cursor": cursor} if cursor else {})
        page = web.get("/v1/statements", params=params).json()
        ids += [one["id"] for one in page["statements"]]
        if not (cursor := page["next"]):
            break
    assert ids == oldest[::-1]
    assert len(ids) > 20
