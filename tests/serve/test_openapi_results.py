"""Results are as the OpenAPI document describes them: generated clients rely on every member that it requires."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from tests.serve.service import serving

from everyword import Memory

HISTORY = Path(__file__).parent.parent.parent / "examples" / "history.jsonl"
LINES = 60  # of the history that are told: enough for some of everything but concepts
BOILER = (
    "The boiler broke down again.",
    "The boiler broke down this morning.",
    "The boiler broke down in the night.",
    "The boiler broke down. I must call the plumber by Friday.",
)
QUESTION = {"query": "Where does Ana live?"}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("results")
    told = HISTORY.read_text(encoding="utf-8").splitlines(keepends=True)[:LINES]
    (folder / "history.jsonl").write_text("".join(told), encoding="utf-8")
    with Memory.open(folder / "memory.db", embedder="hashing") as memory:
        memory.import_events(folder / "history.jsonl")
        memory.add_many({"text": text, "speaker": "Ana"} for text in BOILER)
        memory.admin.settle()
        with serving(memory) as address, httpx.Client(base_url=address, timeout=60) as client:
            yield client


@pytest.mark.slow
def test_every_result_has_the_members_that_are_required(web: httpx.Client) -> None:
    described = web.get("/openapi.json").json()

    def answered(name: str, body: dict[str, Any]) -> Any:
        answer = web.post(f"/v1/{name}", json=body)
        assert answer.status_code == 200, f"{name}: {answer.text}"
        schema = described["paths"][f"/v1/{name}"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": described["components"]}).validate(answer.json())
        return answer.json()

    asked = {"recall": QUESTION, "glance": QUESTION, "context": QUESTION, "ask": QUESTION}
    asked |= {"held": {"since": "2025-01-01", "until": "2027-01-01"}, "redacted": {"event": {"text": "Hello."}}}
    asked |= {name: {} for name in ("wake_up", "stats", "verify", "changes", "window", "palace", "map", "activity")}
    found = {name: answered(name, body) for name, body in asked.items()}
    assert found["recall"]["hits"]
    assert found["changes"]["news"]

    lists = ("events", "sessions", "statements", "entities", "facts", "concepts", "intents", "journal", "conflicts")
    found |= {name: answered(name, {}) for name in (*lists, "records", "edits", "jobs")}
    for name in lists:
        (listed,) = (value for value in found[name].values() if isinstance(value, list))
        assert listed, name
    of_one = {"history": "statements", "statement": "statements", "concept": "concepts", "intent": "intents"}
    for name, listed in of_one.items():
        for one in found[listed][listed][:3]:
            answered(name, {"id": one["id"]})
    for entity in found["entities"]["entities"][:3]:
        answered("entity", {"name": entity["name"]})
        answered("timeline", {"entity": entity["name"]})
    event = answered("add", {"text": "I like green tea."})["event"]
    answered("show", {"id": event["id"]})
    answered("add", {"messages": [{"role": "user", "content": "I like black tea."}]})
    answered("forget", {"ids": [event["id"]]})


@pytest.mark.parametrize("path", ["/v1/me", "/v1/spaces", "/healthz", "/readyz"])
def test_what_the_service_says_of_itself_is_as_described(web: httpx.Client, path: str) -> None:
    described = web.get("/openapi.json").json()
    schema = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator(schema).validate(web.get(path).json())
