"""Who may: no route, parameter, filter, cursor, id or search leads from one space into another."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.fences import inside
from tests.serve.service import JSON, bearer, problem, serving

from everyword import Memory
from everyword.errors import InvalidInput, InvalidSetting, TooManyRequests
from everyword.interfaces.http.routes import operation_routes
from everyword.interfaces.http.server import check_reach
from everyword.interfaces.http.service import RateLimiter
from everyword.interfaces.http.settings import ServiceSettings
from everyword.interfaces.operations import API_OPERATIONS, OPERATIONS
from everyword.types.service import checked_spaces, presented

SECRET = "flamingo"  # what only acme's events say
MCP = {**JSON, "accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Tenants:
    """A service for two tenants, and what one of them must never see of the other."""

    web: httpx.Client
    memory: Memory
    keys: dict[str, str]
    event_id: str
    statement_id: str
    cursor: str


@pytest.fixture(scope="module", params=["file", "postgresql"])
def tenants(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    if request.param == "file":
        location = str(tmp_path_factory.mktemp("access") / "memory.db")
    else:
        location = f"{request.getfixturevalue('postgres').location}?schema=access"
    with Memory.open(location, embedder="hashing") as memory:
        acme, other = memory.space("acme/ana"), memory.space("other/bob")
        for number in range(4):
            acme.add(f"We decided to buy the {SECRET} number {number}.", speaker="Ana", session="zoo", key=f"f{number}")
            other.add(f"I moved to Oslo in year {2000 + number}.", speaker="Bob", session="fjord", key=f"o{number}")
        made = {
            "acme": memory.admin.create_key("acme", permission="admin", spaces=["acme/*"]),
            "acme reads": memory.admin.create_key("reader", permission="read", spaces=["acme/ana"]),
            "other reads": memory.admin.create_key("o", permission="read", spaces=["other/bob"]),
            "other writes": memory.admin.create_key("o", permission="write", spaces=["other/*"]),
            "other admins": memory.admin.create_key("o", permission="admin", spaces=["other/bob", "acme", "acme/an"]),
            "like acme": memory.admin.create_key(
                "o", permission="admin", spaces=["acme-corp/*", "acm/*", "acme/ana/*"]
            ),
            "everything": memory.admin.create_key("root", permission="admin"),
        }
        memory.admin.settle()  # nothing is derived while a test compares counts
        page = acme.admin.page_of_events(limit=1)
        with serving(memory, mcp=True, requests_per_s=0.0) as address, httpx.Client(base_url=address) as web:
            yield Tenants(
                web=web,
                memory=memory,
                keys={name: one.secret for name, one in made.items()},
                event_id=next(iter(acme.events())).id,
                statement_id=acme.statements()[0].id,
                cursor=page.next or "",
            )


WRONG = ["other reads", "other writes", "other admins", "like acme"]

# Every way to name something of another's: as arguments, each for the operations that have such a parameter.
REACHING: dict[str, list[Any]] = {
    "query": [SECRET, f"which {SECRET} did we decide to buy?"],
    "id": ["EVENT", "STATEMENT"],
    "key": ["f0"],
    "keys": [["f0", "f1"]],
    "ids": [["EVENT"]],
    "session": ["zoo"],
    "speaker": ["Ana"],
    "about": ["Ana", "we"],
    "cursor": ["CURSOR"],
    "after": ["statement.0,event.0,forgotten.0"],
    "text": ["harmless"],
    "path": [],
    "events": [[{"text": "harmless", "space": "acme/ana"}]],
    "before": ["2100-01-01"],
    "since": ["1900-01-01"],
    "subject": ["Ana"],
    "prefix": ["A"],
    "holder": ["Ana"],
    "topic": [SECRET],
}
REQUIRED: dict[str, Any] = {
    "query": SECRET,
    "id": "EVENT",
    "text": "harmless",
    "events": [{"text": "harmless"}],
    "event": {"text": "harmless"},
    "name": "Ana",
    "entity": "Ana",
    "gone": "Ana",
    "into": "Will",
    "names": ["Ana"],
    "number": 1,
    "since": "1900-01-01",
    "until": "2100-01-01",
    "answer": "accept",
}


def attempts(tenants: Tenants) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """List every route with every reaching argument."""
    stand_ins = {"EVENT": tenants.event_id, "STATEMENT": tenants.statement_id, "CURSOR": tenants.cursor}

    def real(value: Any) -> Any:
        return [real(one) for one in value] if isinstance(value, list) else stand_ins.get(str(value), value)

    for one in operation_routes():
        required = {
            parameter.name: real(REQUIRED[parameter.name]) for parameter in one.parameters if parameter.required
        }
        tries = [required]
        # What one calls an event of one's own reaches nobody.
        for parameter in () if one.operation.name == "add" else one.parameters:
            tries += [{**required, parameter.name: real(value)} for value in REACHING.get(parameter.name, [])]
        for method in one.methods:
            yield from ((method, one.path, arguments) for arguments in tries)


def sent(tenants: Tenants, secret: str, method: str, path: str, arguments: Any, **query: str) -> httpx.Response:
    headers = bearer(secret)
    if method == "POST":
        return tenants.web.post(path, params=query, content=json.dumps(arguments), headers={**headers, **JSON})
    params = {name: json.dumps(one) if isinstance(one, dict) else one for name, one in arguments.items()}
    return tenants.web.get(path, params={**params, **query}, headers=headers)


@pytest.mark.parametrize("who", WRONG)
def test_no_route_opens_another_s_space(tenants: Tenants, who: str) -> None:
    """Asking for the space itself is refused everywhere, with every argument, before anything is done."""
    before = tenants.memory.space("acme/ana", walled=True).stats()
    tried = 0
    for method, path, arguments in attempts(tenants):
        query = {} if path in FILE_PATHS else {"space": "acme/ana"}
        answer = sent(tenants, tenants.keys[who], method, path, arguments, **query)
        assert problem(answer) == (403, "NotAllowed"), (method, path, arguments)
        assert SECRET not in answer.text
        tried += 1
    for path in ("/v1/export", "/v1/stream"):
        answer = tenants.web.get(path, params={"space": "acme/ana"}, headers=bearer(tenants.keys[who]))
        assert problem(answer) == (403, "NotAllowed")
    imported = tenants.web.post(
        "/v1/import", params={"space": "acme/ana", "name": "a.jsonl"}, headers=bearer(tenants.keys[who]), content=b"{}"
    )
    assert problem(imported) == (403, "NotAllowed")
    assert problem(tenants.web.get("/v1/backup", headers=bearer(tenants.keys[who]))) == (403, "NotAllowed")
    assert problem(tenants.web.get("/metrics", headers=bearer(tenants.keys[who]))) == (403, "NotAllowed")
    assert tried > 60
    assert tenants.memory.space("acme/ana", walled=True).stats() == before


FILE_PATHS = {one.path for one in operation_routes() if one.all_spaces}


@pytest.mark.parametrize("who", ["other writes", "other admins"])
def test_nothing_of_another_s_is_found_from_one_s_own_space(tenants: Tenants, who: str) -> None:
    """Ids, keys, cursors, filters and searches of the other space, used where the key may be used."""
    before = tenants.memory.space("acme/ana", walled=True).stats()
    for method, path, arguments in attempts(tenants):
        if path in FILE_PATHS:
            continue
        if path == "/v1/forget" and who == "other admins":
            arguments = {**arguments, "dry_run": "true" if method == "GET" else True}
        answer = sent(tenants, tenants.keys[who], method, path, arguments, space="other/bob")
        assert answer.status_code in (200, 400, 403, 404), (method, path, arguments, answer.text)
        told = answer.text if answer.status_code == 200 else answer.json()["detail"]
        if arguments.get("query") is None:
            assert SECRET not in told, (method, path, arguments)
        else:
            # The question itself may be repeated (`ask` does); what was said may not be.
            assert f"the {SECRET} number" not in told, (method, path, arguments)
        if path == "/v1/forget" and answer.status_code == 200 and set(arguments) & {"ids", "keys", "session"}:
            assert answer.json()["events"] == 0
        assert "acme" not in told.replace("acme/ana'}", "")
    assert tenants.memory.space("acme/ana", walled=True).stats() == before


def test_a_key_sees_only_its_own_spaces_in_lists_and_counts(tenants: Tenants) -> None:
    def asked(who: str, path: str, **params: str) -> Any:
        return tenants.web.get(path, params=params, headers=bearer(tenants.keys[who])).json()

    assert asked("other writes", "/v1/spaces") == {"spaces": ["other/bob"]}
    assert asked("like acme", "/v1/spaces") == {"spaces": []}
    assert set(asked("everything", "/v1/spaces")["spaces"]) >= {"acme/ana", "other/bob"}
    stats = asked("other reads", "/v1/stats")
    assert (stats["space"], stats["spaces"], stats["location"], stats["bytes"]) == ("other/bob", 1, "", 0)
    assert stats["events_total"] == stats["events"]
    assert asked("everything", "/v1/stats", space="other/bob")["spaces"] >= 2
    spaces = {who: asked(who, "/v1/me")["space"] for who in ("other reads", "other writes", "everything")}
    assert spaces == {"other reads": "other/bob", "other writes": None, "everything": "default"}
    assert asked("other reads", "/v1/me")["operations"] == [
        one.operation.name for one in operation_routes() if one.needs == "read"
    ]


def test_streams_tell_nothing_of_another_s(tenants: Tenants) -> None:
    headers = bearer(tenants.keys["other reads"])
    params = {"after": "statement.0,event.0,forgotten.0"}
    with tenants.web.stream("GET", "/v1/stream", params=params, headers=headers) as answer:
        heard = ""
        for piece in answer.iter_text():
            heard += piece
            if "event: jobs" in heard:
                break
    assert heard.count("event: event") == tenants.memory.space("other/bob").stats().events
    assert SECRET not in heard


def test_mcp_stays_within_the_key(tenants: Tenants) -> None:
    def call(who: str, tool: str, arguments: dict[str, Any], **params: str) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {**MCP, **bearer(tenants.keys[who])}
        return tenants.web.post("/mcp", params=params, content=json.dumps(body), headers=headers)

    def told(answer: httpx.Response) -> str:
        return answer.json()["result"]["content"][0]["text"]

    assert SECRET in told(call("acme reads", "recall", {"query": SECRET}))
    assert SECRET not in told(call("other reads", "recall", {"query": "which bird?"}))
    assert problem(call("other reads", "recall", {"query": SECRET}, space="acme/ana")) == (403, "NotAllowed")
    assert problem(tenants.web.post("/mcp", content=b"{}", headers=MCP)) == (401, "KeyNeeded")
    assert "NotFound" in told(call("other reads", "show", {"id": tenants.event_id}))
    for tool, arguments in (("remember", {"text": "x"}), ("forget", {"session": "fjord"})):
        assert "NotAllowed" in told(call("other reads", tool, arguments))
    assert "NotAllowed" in told(call("other writes", "forget", {"session": "fjord"}, space="other/bob"))
    listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    def listed(who: str, **params: str) -> set[str]:
        answer = tenants.web.post("/mcp", params=params, content=listing, headers={**MCP, **bearer(tenants.keys[who])})
        return {tool["name"] for tool in answer.json()["result"]["tools"]}

    assert listed("other reads", tools="core") == {"recall", "context", "ask", "wake_up"}
    assert listed("other writes", space="other/bob") - listed("other reads") >= {"remember", "correct"}
    wrong = tenants.web.post(
        "/mcp", params={"tools": "x"}, content=listing, headers=bearer(tenants.keys["other reads"])
    )
    assert problem(wrong) == (400, "InvalidInput")
    counted = json.loads(inside(told(call("other reads", "stats", {}))))
    assert counted.keys().isdisjoint({"spaces", "location"})
    body = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "everyword://session/zoo"}}
    headers = {**MCP, **bearer(tenants.keys["other reads"])}
    assert SECRET not in tenants.web.post("/mcp", content=json.dumps(body), headers=headers).text


def test_mcp_takes_out_what_the_served_memory_calls_a_secret(tmp_path: Path) -> None:
    patterns = tmp_path / "patterns.json"
    patterns.write_text(json.dumps({"employee number": "EMP-[0-9]{6}"}))
    call = {"name": "remember", "arguments": {"text": "Ana is EMP-123456."}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with (
        Memory.open(tmp_path / "m.db", embedder="none", secret_patterns=str(patterns)) as memory,
        serving(memory, mcp=True) as address,
    ):
        answer = httpx.post(f"{address}/mcp", content=json.dumps(body), headers=MCP)
        assert "Redacted: employee number." in answer.json()["result"]["content"][0]["text"]
        assert [event.text for event in memory.events()] == ["Ana is [redacted: employee number]."]


# What a key may do


def test_reading_writing_and_forgetting_need_their_own_keys(tenants: Tenants) -> None:
    tried = 0
    for operation in (*OPERATIONS, *API_OPERATIONS):
        found = [one for one in operation_routes() if one.operation is operation]
        if not found or operation.read_only:
            continue
        body = {operation.sets: "x"} if operation.sets else dict(REQUIRED)
        answer = sent(tenants, tenants.keys["acme reads"], "POST", found[0].path, body)
        assert problem(answer) == (403, "NotAllowed"), operation.name
        if operation.sets:  # to see what is set changes nothing
            assert sent(tenants, tenants.keys["acme reads"], "POST", found[0].path, {}).status_code == 200
        if operation.destructive:
            refused = sent(tenants, tenants.keys["other writes"], "POST", found[0].path, {}, space="other/bob")
            assert problem(refused) == (403, "NotAllowed"), operation.name
        tried += 1
    assert tried > 10


def test_without_a_key_that_counts_nothing_is_told(tenants: Tenants) -> None:
    known = tenants.keys["acme"]
    changed = known[:-1] + ("A" if known[-1] != "A" else "B")
    for headers in (
        {},
        bearer("nonsense"),
        bearer(changed),
        bearer(known + "A"),
        bearer(known.upper()),
        {"authorization": known},
        {"authorization": f"Basic {known}"},
    ):
        answer = tenants.web.get("/v1/events", params={"space": "acme/ana"}, headers=headers)
        assert problem(answer) == (401, "KeyNeeded")
        assert "bearer" in answer.headers["www-authenticate"].lower()
    assert tenants.web.get("/healthz").status_code == 200
    assert problem(tenants.web.get("/v1/me", params={"key": known})) == (400, "InvalidInput")


def test_a_revoked_or_ended_key_counts_no_more(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        lasting, ending = memory.admin.create_key("a"), memory.admin.create_key("b", expires="2100-01-01")
        with serving(memory) as address:

            def status(secret: str) -> int:
                return httpx.get(f"{address}/v1/me", headers=bearer(secret)).status_code

            assert [status(lasting.secret), status(ending.secret)] == [200, 200]
            memory.admin.revoke_key(lasting.key.id)
            _wait_for(lambda: status(lasting.secret) == 401)
            assert status(ending.secret) == 200
        assert memory.admin.api_keys()[0].revoked_at is not None
        with pytest.raises(InvalidInput, match="revoked before"):
            memory.admin.revoke_key(lasting.key.id)
        with pytest.raises(InvalidInput, match="would have expired already"):
            memory.admin.create_key("c", expires="2000-01-01")


def _wait_for(happened: Any) -> None:
    import time

    until = time.monotonic() + 5
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_the_file_does_not_hold_the_key(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        made = memory.admin.create_key("a")
        found = presented(made.secret)
        assert found is not None
        key = memory.admin.key_for(found)
        assert key is not None
        assert key.name == "a"
    random = made.secret.split("_", 2)[2]
    for path in tmp_path.iterdir():
        assert random.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("pattern", "opened", "shut"),
    [
        ("acme/*", ["acme/ana", "acme/a/b", "acme/*"], ["acme", "acme/", "acme-corp/x", "xacme/ana", "ACME/ana"]),
        ("acme", ["acme"], ["acme/ana", "acm", "acme "]),
        ("*", ["acme", "x/y", "default"], []),
        ("a/b/*", ["a/b/c"], ["a/b", "a/c", "a/bb/c"]),
    ],
)
def test_a_pattern_opens_what_it_says_and_no_more(
    tmp_path: Path, pattern: str, opened: list[str], shut: list[str]
) -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        key = memory.admin.create_key("a", spaces=[pattern]).key
    assert [space for space in opened if not key.opens(space)] == []
    assert [space for space in shut if key.opens(space)] == []


@pytest.mark.parametrize("pattern", ["ac*", "*/ana", "a*b/*", "/*", "**", "", " ", "a/**", "a\x00/*"])
def test_a_pattern_that_could_mean_anything_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput):
        checked_spaces([pattern])


# Without keys


def test_without_keys_only_this_machine_s_own_pages_are_answered(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory, serving(memory) as address:
        port = address.rsplit(":", 1)[1]

        def status(**headers: str) -> int:
            return httpx.get(f"{address}/v1/stats", headers=headers).status_code

        assert status() == 200
        assert status(host=f"localhost:{port}") == 200
        assert status(host=f"127.0.0.1:{port}", origin=f"http://127.0.0.1:{port}") == 200
        # A name that was pointed at this machine, and pages from elsewhere.
        forged = ("evil.example@127.0.0.1", "127.0.0.1/evil.example", "localhost#evil.example")
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1.evil.example",
            "localhost.evil",
            "",
            "[::",
            *forged,
        ):
            assert status(host=host) == 403, host
        for origin in ("http://evil.example", "null", "https://127.0.0.1.evil", f"http://localhost:{port}", "file://"):
            assert status(origin=origin) == 403, origin
        assert httpx.get(f"{address}/", headers={"host": "evil.example"}).status_code == 403
        # From the first key on, everybody needs one.
        made = memory.admin.create_key("first", permission="admin")
        _wait_for(lambda: status() == 401)
        assert status(**bearer(made.secret), host="behind.a.proxy") == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_other_addresses_need_a_key_that_counts(tmp_path: Path, host: str) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        settings = ServiceSettings(host=host)
        with pytest.raises(InvalidSetting, match="needs an API key"):
            check_reach(memory, settings)
        made = memory.admin.create_key("a")
        check_reach(memory, settings)
        memory.admin.revoke_key(made.key.id)
        with pytest.raises(InvalidSetting, match="needs an API key"):
            check_reach(memory, settings)


# Limits


@pytest.mark.parametrize("more", [b"a" * 100_000, b"x-more: y\r\n" * 10_000], ids=["one header", "many headers"])
def test_a_head_without_an_end_is_not_read_without_an_end(tmp_path: Path, more: bytes) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory, serving(memory) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as web:
            web.sendall(f"GET /healthz HTTP/1.1\r\nhost: {host}:{port}\r\nx: ".encode())
            answer, sent = b"", 0
            with suppress(OSError):
                while sent < 20_000_000 and not select.select([web], [], [], 0)[0]:
                    web.sendall(more)
                    sent += len(more)
                answer = web.recv(1_000)
            assert sent < 20_000_000, "nobody stopped us"
            assert answer.startswith(b"HTTP/1.1 400") or not answer
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_a_key_that_asks_too_often_has_to_wait(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        busy, calm = memory.admin.create_key("busy").secret, memory.admin.create_key("calm").secret
        with serving(memory, requests_per_s=0.001, burst=5) as address, httpx.Client(base_url=address) as web:
            statuses = [web.get("/v1/me", headers=bearer(busy)).status_code for _ in range(7)]
            assert statuses == [200] * 5 + [429] * 2
            refused = web.get("/v1/me", headers=bearer(busy))
            assert problem(refused) == (429, "TooManyRequests")
            assert int(refused.headers["retry-after"]) >= 1
            assert web.get("/v1/me", headers=bearer(calm)).status_code == 200


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    rates = RateLimiter(2.0, 2, clock=lambda: now[0])
    rates.take("a")
    rates.take("a")
    with pytest.raises(TooManyRequests):
        rates.take("a")
    now[0] += 0.5
    rates.take("a")
    with pytest.raises(TooManyRequests):
        rates.take("a")
    now[0] += 1_000
    rates.take("a")
    rates.take("a")
    with pytest.raises(TooManyRequests):
        rates.take("a")
