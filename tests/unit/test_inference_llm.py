"""LLM clients against a real server on loopback that misbehaves in every way it can."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import formatdate
from threading import Event, Semaphore
from typing import Any

import pytest

from everyword.engine.llm_budget import Allowance, Metered
from everyword.errors import (
    AllowanceSpent,
    InvalidInput,
    InvalidSetting,
    LLMError,
    LLMGarbage,
    LLMRefused,
    LLMUnavailable,
    ModelError,
)
from everyword.models.http_client import RetryPolicy
from everyword.models.llm.client import estimate_tokens, load_llm
from everyword.models.llm.json_schema import JsonAnswer, ask_json, object_schema, read_json
from everyword.models.protocol import LLM, Reply
from everyword.settings import Settings
from everyword.storage.opening import open_store
from llm_server import (
    Asked,
    LLMServer,
    Sent,
    Step,
    chat,
    closing_midway,
    delta,
    dripping,
    events,
    flooding,
    late,
    message,
    raw,
    refusing,
    serving,
    text_block,
    tool_block,
)

KEY = "sk-very-secret"
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "year": {"type": ["integer", "null"]}},
    "required": ["city", "year"],
    "additionalProperties": False,
}
GOOD = '{"city": "Lisbon", "year": null}'


@pytest.fixture(autouse=True)
def no_keys_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EVERYWORD_LLM_KEY", KEY)


@contextmanager
def asking(
    server: LLMServer, provider: str = "openai", *, allowance: Allowance | None = None, **patience: Any
) -> Iterator[tuple[LLM, list[float]]]:
    waits: list[float] = []
    patience = {"attempts": 3, "sleep": waits.append, "jitter": lambda: 1.0, **patience}
    llm = load_llm(f"{provider}:m@{server.url}", retry=RetryPolicy(**patience))
    assert llm is not None
    try:
        yield (llm if allowance is None else Metered(llm, allowance)), waits
    finally:
        llm.close()  # type: ignore[attr-defined]


def asked_json(llm: LLM, max_tokens: int = 1024) -> JsonAnswer:
    return ask_json(llm, system="", prompt="Where?", schema=CITY, max_tokens=max_tokens)


class Bookkeeping(Allowance):
    """An allowance of a process, which tells what was spent on a day."""

    def __init__(self, tokens_per_day: int, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(open_store(":memory:", Settings()), tokens_per_day=tokens_per_day, clock=clock)

    @property
    def spent(self) -> int:
        return sum(self._unwritten.values())


def ask(llm: LLM, **more: Any) -> Reply:
    return llm.complete(system="Be brief.", prompt="Where does Ana live?", **more)


def told(llm: LLM) -> list[str]:
    return list(llm.stream(system="", prompt="Where does Ana live?"))


# What is sent, and what comes back


def test_a_chat_completion_is_asked_and_read() -> None:
    with serving(chat("In Lisbon.", usage=(12, 4))) as server, asking(server) as (llm, _):
        assert ask(llm, max_tokens=50, temperature=0.5) == Reply(
            text="In Lisbon.", tokens_in=12, tokens_out=4, model="served-model"
        )
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where does Ana live?"},
        ],
        "max_tokens": 50,
        "temperature": 0.5,
    }


def test_a_message_of_anthropic_s_is_asked_and_read() -> None:
    blocks = ({"type": "thinking", "thinking": "hm"}, text_block("In "), text_block("Lisbon."))
    with serving(message(*blocks, usage=(12, 4))) as server, asking(server, "anthropic") as (llm, _):
        assert ask(llm) == Reply(text="In Lisbon.", tokens_in=12, tokens_out=4, model="served-model")
        llm.complete(system="", prompt="x")
    first, second = server.asked
    assert first.path == "/v1/messages"
    assert first.headers["x-api-key"] == KEY
    assert first.headers["anthropic-version"]
    assert first.body["system"] == "Be brief."
    assert "system" not in second.body  # an empty one would be refused


def test_a_schema_holds_both_apis_to_json() -> None:
    with serving(chat(GOOD)) as server, asking(server) as (llm, _):
        assert json.loads(ask(llm, schema=CITY).text) == {"city": "Lisbon", "year": None}
        wanted = server.asked[0].body["response_format"]
        assert wanted == {"type": "json_schema", "json_schema": {"name": "answer", "schema": CITY, "strict": True}}
    call = message(tool_block(json.loads(GOOD)), stop="tool_use")
    with serving(call) as server, asking(server, "anthropic") as (llm, _):
        assert json.loads(ask(llm, schema=CITY).text) == {"city": "Lisbon", "year": None}
        assert server.asked[0].body["tools"][0]["input_schema"] == CITY
        assert server.asked[0].body["tool_choice"] == {"type": "tool", "name": "answer"}


def test_any_text_can_be_sent() -> None:
    with serving(chat("ok")) as server, asking(server) as (llm, _):
        for text in ("\ud800 half", "\x00\x01", "مرحبا 🙂", "x" * 1_000_000, ""):
            llm.complete(system=text, prompt=text)
        assert server.asked[0].prompt == "\ufffd half"
        assert len(server.asked[3].prompt) == 1_000_000
    with serving(chat("half \ud800 \x00")) as server, asking(server) as (llm, _):
        assert ask(llm).text == "half \ufffd \x00"


def test_a_server_that_does_not_count_is_counted_for() -> None:
    for usage in (None, ("many", -3)):
        with serving(chat("In Lisbon.", usage=usage)) as server, asking(server) as (llm, _):
            reply = ask(llm)
            assert reply.tokens_in > 5
            assert reply.tokens_out > 1


# Servers that know less


@pytest.mark.parametrize(
    ("refused", "forms"),
    [
        (("json_schema",), ["json_schema", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", "plain"]),
    ],
)
def test_a_server_that_refuses_schemas_is_asked_with_less_and_this_is_remembered(
    refused: tuple[str, ...], forms: list[str]
) -> None:
    with serving(refusing(*refused, then=chat(f"Sure:\n```json\n{GOOD}\n```"))) as server, asking(server) as (llm, _):
        for _ in range(2):
            assert asked_json(llm).value["city"] == "Lisbon"
    assert [asked.form for asked in server.asked] == [*forms, forms[-1]]
    assert '"required"' not in server.asked[0].system
    assert '"required"' in server.asked[-1].system  # where the server does not know the schema, the prompt tells it


def test_anthropic_s_messages_without_tools_get_the_schema_in_words() -> None:
    with serving(refusing("tool", then=message(text_block(GOOD)))) as server, asking(server, "anthropic") as (llm, _):
        assert asked_json(llm).value["city"] == "Lisbon"
        assert '"required"' in server.asked[-1].system


def test_models_that_take_no_temperature_or_another_limit_are_served() -> None:
    def picky(asked: Asked) -> Sent:
        if "max_tokens" in asked.body:
            return raw("use 'max_completion_tokens' instead", 400)(asked)
        if "temperature" in asked.body:
            return raw("'temperature' is not supported with this model", 400)(asked)
        return chat("ok")(asked)

    with serving(picky) as server, asking(server) as (llm, _):
        assert ask(llm).text == ask(llm).text == "ok"
        assert len(server.asked) == 4  # found out once
        assert server.asked[-1].body["max_completion_tokens"] == 1024


# Trouble


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_what_passes_by_itself_is_asked_again_with_growing_waits(provider: str) -> None:
    good = chat("ok") if provider == "openai" else message(text_block("ok"))
    with serving(raw("", 500), raw("", 529), good) as server, asking(server, provider) as (llm, waits):
        assert ask(llm).text == "ok"
        assert waits == [0.5, 1.0]


@pytest.mark.parametrize("kind", ["seconds", "date"])
def test_the_server_may_say_how_long_to_wait(kind: str) -> None:
    header = "7" if kind == "seconds" else formatdate(time.time() + 8, usegmt=True)
    with serving(raw("", 429, retry_after=header), chat("ok")) as server, asking(server) as (llm, waits):
        ask(llm)
        assert 6 <= waits[0] <= 8


def test_jitter_stretches_the_wait() -> None:
    with serving(raw("", 503), chat("ok")) as server, asking(server, jitter=lambda: 1.2) as (llm, waits):
        ask(llm)
        assert waits == [0.6]
    assert 1.0 <= RetryPolicy().jitter() <= 1.25


def test_a_wait_that_is_too_long_and_endless_trouble_are_given_up() -> None:
    with serving(raw("", 429, retry_after="3600")) as server, asking(server) as (llm, waits):
        with pytest.raises(LLMUnavailable, match="3600 s"):
            ask(llm)
        assert not waits
    with serving(raw("overloaded", 502)) as server, asking(server) as (llm, waits):
        with pytest.raises(LLMUnavailable, match=r"HTTP 502 overloaded \(3 attempts\)") as caught:
            ask(llm)
        assert len(waits) == 2
        assert caught.value.retryable
        assert isinstance(caught.value, ModelError)


def test_slow_dripping_and_absent_servers_fail_in_time() -> None:
    start = time.monotonic()
    with serving(late(1.0, chat("ok"))) as server, asking(server, timeout=0.1, attempts=2) as (llm, waits):
        with pytest.raises(LLMUnavailable, match="ReadTimeout"):
            ask(llm)
        assert len(waits) == 1
    with (
        serving(dripping(0.05, chat("ok" * 100))) as server,
        asking(server, timeout=0.2, attempts=1) as (llm, _),
        pytest.raises(LLMUnavailable, match="took too long"),
    ):
        ask(llm)
    with asking(server, attempts=1) as (llm, _), pytest.raises(LLMUnavailable, match="ConnectError"):
        ask(llm)
    assert time.monotonic() - start < 5


def test_a_connection_that_closes_in_the_middle_is_tried_again() -> None:
    with serving(closing_midway(), chat("ok")) as server, asking(server) as (llm, _):
        assert ask(llm).text == "ok"
    with (
        serving(closing_midway()) as server,
        asking(server) as (llm, _),
        pytest.raises(LLMUnavailable, match="RemoteProtocolError"),
    ):
        ask(llm)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "answer",
    [
        "<html>Welcome</html>",
        "",
        '{"choices": [{"message": {"content": "half',
        "[]",
        "3",
        "[" * 100_000,
        '{"choices": []}',
        '{"choices": [{}]}',
        '{"choices": [{"message": 3}]}',
        '{"choices": [{"message": {"content": {"text": 3}}}]}',
        '{"content": 3}',
        '{"content": [{"text": "no type"}]}',
        '{"error": {"message": "with status 200"}}',
        b"\xff\xfe\x00",
    ],
)
def test_an_answer_that_is_none_is_garbage_and_not_asked_for_again(provider: str, answer: str | bytes) -> None:
    with serving(raw(answer)) as server, asking(server, provider) as (llm, _):
        with pytest.raises(LLMGarbage, match="not of this API") as caught:
            ask(llm)
        assert len(server.asked) == 1
        assert not caught.value.retryable
        assert len(str(caught.value)) < 1000


def test_an_endless_answer_is_cut_and_not_read_on() -> None:
    with (
        serving(flooding(40)) as server,
        asking(server) as (llm, _),
        pytest.raises(LLMGarbage, match="more than 8 MiB"),
    ):
        ask(llm)


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (raw("", 401), "EVERYWORD_LLM_KEY"),
        (raw("no such model", 404), "no such model.*name"),
        (raw("context length exceeded", 400), "context length exceeded"),
        (raw("", 302, location="http://127.0.0.1:9/"), "HTTP 302"),
        (raw("x" * 1_000_000, 413), "HTTP 413 x{100}"),
        (chat(None, refusal="I can't help with that"), "I can't help with that"),
        (chat("", finish="content_filter"), "filter"),
    ],
)
def test_refusals_are_final(step: Step, says: str) -> None:
    with serving(step) as server, asking(server) as (llm, waits):
        with pytest.raises(LLMRefused, match=says) as caught:
            ask(llm)
        assert len(server.asked) == 1
        assert not waits
        assert not caught.value.retryable
        assert len(str(caught.value)) < 1000


def test_a_refusal_of_anthropic_s_is_one() -> None:
    with serving(message(stop="refusal")) as server, asking(server, "anthropic") as (llm, _), pytest.raises(LLMRefused):
        ask(llm)


# JSON that is none


@pytest.mark.parametrize(
    "bad", ["I live in Lisbon.", "", '{"city": "Lisbon"', '{"city": 3, "year": 1}', '{"city": "x"}']
)
def test_one_repair_is_asked_for_with_the_reason(bad: str) -> None:
    with serving(chat(bad), chat(GOOD)) as server, asking(server) as (llm, _):
        assert asked_json(llm) == JsonAnswer({"city": "Lisbon", "year": None}, "served-model")
    assert "can't be used" in server.asked[1].prompt
    assert json.dumps(bad) in server.asked[1].prompt


def test_a_second_bad_answer_is_garbage() -> None:
    with serving(chat('{"city": "Lisbon", "year": "old"}')) as server, asking(server) as (llm, _):
        with pytest.raises(LLMGarbage, match=r"\$\.year must be integer or null, not \"old\""):
            asked_json(llm)
        assert len(server.asked) == 2
    with serving(message(text_block("no tool"))) as server, asking(server, "anthropic") as (llm, _):
        with pytest.raises(LLMGarbage, match="not JSON"):
            asked_json(llm)
        assert len(server.asked) == 2


def test_json_that_was_cut_off_says_so_and_is_not_repaired() -> None:
    for step, provider in [
        (chat(GOOD[:10], finish="length"), "openai"),
        (message(tool_block({}), stop="max_tokens"), "anthropic"),
    ]:
        with serving(step) as server, asking(server, provider) as (llm, _):
            with pytest.raises(LLMGarbage, match="cut off at 7 tokens"):
                asked_json(llm, max_tokens=7)
            assert len(server.asked) == 1
    with serving(chat("half a sent", finish="length")) as server, asking(server) as (llm, _):
        assert ask(llm).text == "half a sent"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"<think>Perhaps {{city}}? Or {{}}...</think>\n{GOOD}",
        f"Of the form {{city, year}}: {GOOD} I hope this helps {{}}.",
        '{"year": null, "city": "Lisbon"} {"city": "Porto", "year": 1}',
    ],
)
def test_json_is_found_among_words(text: str) -> None:
    assert read_json(text, CITY) == {"city": "Lisbon", "year": None}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("nothing here", "not JSON"),
        ("[]", "not JSON"),
        ('{"city": "x", "year": NaN}', "not JSON"),
        ('{"city": "x", "year": ' + "9" * 5000 + "}", "not JSON"),
        ('{"city": "x", "year": true}', "year must be integer or null, not true"),
        ('{"city": "x", "year": 1.5}', "year must be integer"),
        ('{"city": "x", "year": 1, "mood": "good"}', "must not have 'mood'"),
        ('{"city": null, "year": 1}', "city must be string, not null"),
        ('{"year": 1}', "lacks 'city'"),
    ],
)
def test_what_does_not_meet_the_schema_is_garbage(text: str, says: str) -> None:
    with pytest.raises(LLMGarbage, match=says):
        read_json(text, CITY)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], [1, "2"]),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 1}, [0], [0, 1]),
        ({"type": "number"}, 1.5, "1.5"),
        ({"type": "number"}, 1, False),
        ({"type": "integer", "minimum": 1, "maximum": 3}, 3, 4),
        ({"type": "integer", "minimum": 1}, 1, 0),
        ({"type": "boolean"}, True, 1),
        ({"type": "string", "enum": ["a", "b"]}, "a", "c"),
        ({"type": ["string", "null"], "enum": ["a", None]}, None, "b"),
        (object_schema(b=object_schema(c={"type": "null"})), {"b": {"c": None}}, {"b": {}}),
    ],
)
def test_every_rule_of_a_schema_is_checked(rule: dict[str, Any], good: Any, bad: Any) -> None:
    schema = object_schema(x=rule)
    assert read_json(json.dumps({"x": good}), schema) == {"x": good}
    with pytest.raises(LLMGarbage, match=r"\$\.x"):
        read_json(json.dumps({"x": bad}), schema)


def test_hostile_answers_are_read_quickly() -> None:
    anything = object_schema(a={"type": "string"})
    start = time.monotonic()
    for text in (
        "{" * 1_000_000,
        '{"a":' * 200_000,
        '{"a":[' * 200_000,
        '{"' * 500_000,
        "<think>" * 200_000,
        '{"a": "' + "\\" * 1_000_000,
        "\x00" * 1_000_000,
    ):
        with pytest.raises(LLMGarbage):
            read_json(text, anything)
    assert time.monotonic() - start < 5
    assert read_json('{"a": "\\ud800 \\u0000"}', anything) == {"a": "\ufffd \x00"}


# Streams


def test_a_stream_gives_pieces_as_they_come() -> None:
    others = (": a comment\n\n", "event: x\r\n", {"choices": []})
    step = events(delta("In "), *others, delta("Lis"), delta("bon"), delta(".", "stop"), *others)
    with serving(step) as server, asking(server) as (llm, _):
        assert told(llm) == ["In ", "Lis", "bon", "."]
        assert server.asked[0].body["stream"] is True


def test_the_first_piece_comes_before_the_last_is_made() -> None:
    came = Event()

    def chunks() -> Iterator[bytes]:
        yield f"data: {json.dumps(delta('a'))}\n\n".encode()
        if came.wait(10):
            yield f"data: {json.dumps(delta('b', 'stop'))}\n\n".encode()

    with serving(lambda _: Sent(chunks=chunks())) as server, asking(server) as (llm, _):
        pieces = llm.stream(system="", prompt="x")
        assert next(pieces) == "a"
        came.set()
        assert list(pieces) == ["b"]


def test_anthropic_s_stream_gives_pieces() -> None:
    def piece(text: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}

    rows = (
        {"type": "message_start", "message": {"usage": {"input_tokens": 7}}},
        piece("In "),
        {"type": "ping"},
        piece("Lisbon."),
        {"type": "message_delta", "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )
    allowance = Bookkeeping(2000)
    with serving(events(*rows, after="")) as server, asking(server, "anthropic", allowance=allowance) as (llm, _):
        assert told(llm) == ["In ", "Lisbon."]
    assert allowance.spent == 11


def test_a_character_in_two_halves_is_put_together() -> None:
    step = events(delta("a\ud83d"), delta("\ude42b"), delta("", "stop"))
    with serving(step) as server, asking(server) as (llm, _):
        assert "".join(told(llm)) == "a🙂b"


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (events(delta("In "), delta("Lis"), after=""), LLMUnavailable),
        (
            lambda _: Sent(chunks=(f"data: {json.dumps(delta('In '))}\n\n".encode(), b"data: {"), promised=9000),
            LLMUnavailable,
        ),
        (events(delta("In "), {"error": {"message": "overloaded"}}), LLMUnavailable),
        (events(delta("In "), "data: {not json\n"), LLMGarbage),
        (events(delta("In "), "data: [3]\n"), LLMGarbage),
        (lambda _: Sent(chunks=[f"data: {json.dumps(delta('In '))}\n".encode(), *[b"x" * 2**20] * 20]), LLMGarbage),
    ],
)
def test_a_stream_that_dies_gives_what_came_and_then_fails(step: Step, error: type[Exception]) -> None:
    came: list[str] = []
    allowance = Bookkeeping(5000)
    with serving(step) as server, asking(server, allowance=allowance) as (llm, _):
        with pytest.raises(error):
            came.extend(llm.stream(system="", prompt="x"))
        pieces = llm.stream(system="", prompt="x")
        assert next(pieces) == "In "
        with pytest.raises(error):
            list(pieces)
    assert 0 < allowance.spent < 5000  # what came was made, and is counted


def test_a_stream_that_can_t_start_is_tried_again_or_refused() -> None:
    with serving(raw("", 503), events(delta("ok", "stop"))) as server, asking(server) as (llm, waits):
        assert told(llm) == ["ok"]
        assert len(waits) == 1
    with serving(raw("no", 403)) as server, asking(server) as (llm, _), pytest.raises(LLMRefused):
        told(llm)
    with (
        serving(late(1, raw(""))) as server,
        asking(server, timeout=0.05, attempts=1) as (llm, _),
        pytest.raises(LLMUnavailable, match="ReadTimeout"),
    ):
        told(llm)


# Allowance


class Day:
    """A clock that a test can turn."""

    def __init__(self) -> None:
        self.now = datetime(2026, 4, 2, 23, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_nothing_is_sent_once_the_day_s_tokens_are_spent_and_the_next_day_is_free() -> None:
    day = Day()
    allowance = Bookkeeping(1200, day)
    with serving(chat("ok", usage=(100, 150))) as server, asking(server, allowance=allowance) as (llm, _):
        ask(llm)
        with pytest.raises(AllowanceSpent, match="950 of 1,200 are left on 2026-04-02"):
            ask(llm)  # 1,024 tokens of answer would not fit
        with pytest.raises(AllowanceSpent):
            told(llm)
        assert len(server.asked) == 1
        ask(llm, max_tokens=100)
        assert allowance.spent == 500
        day.now = datetime(2026, 4, 3, tzinfo=UTC)
        ask(llm)
    assert allowance.spent == 750


def test_a_long_prompt_and_a_long_schema_count_before_they_are_sent() -> None:
    wide = object_schema(**{f"field{i}": {"type": "string"} for i in range(200)})
    with serving(chat("{}")) as server, asking(server, allowance=Bookkeeping(1500)) as (llm, _):
        for more in ({"prompt": "word " * 1000}, {"prompt": "x", "schema": wide}):
            with pytest.raises(AllowanceSpent):
                llm.complete(system="", **more)
        assert not server.asked


def test_failures_and_repairs_are_counted_too() -> None:
    allowance = Bookkeeping(10_000)
    refusal = chat(None, refusal="I won't.", usage=(40, 2))
    for step, used in (
        (chat("nonsense", usage=(100, 50)), 300),
        (refusal, 42),
        (raw("no", 401), 0),
        (raw("", 500), 0),
    ):
        before = allowance.spent
        with serving(step) as server, asking(server, allowance=allowance) as (llm, _), pytest.raises(LLMError):
            asked_json(llm)
        assert allowance.spent - before == used
    before = allowance.spent
    with serving(raw("<html>")) as server, asking(server, allowance=allowance) as (llm, _), pytest.raises(LLMGarbage):
        ask(llm)
    assert allowance.spent - before > 1024  # nobody says how much: the most that it can have been


def test_tokens_of_other_scripts_are_not_guessed_too_low() -> None:
    assert estimate_tokens("東京は今日も晴れです。") >= 10
    assert estimate_tokens("Сегодня в Москве дождь.") >= 10
    assert estimate_tokens("a" * 300) == 101


def test_requests_under_way_can_t_spend_the_same_tokens_twice() -> None:
    allowance = Bookkeeping(1500)
    refused = Semaphore(0)

    def patient(asked: Asked) -> Sent:
        for _ in range(3):
            refused.acquire(timeout=10)
        return chat("ok", usage=(10, 10))(asked)

    with serving(patient) as server, asking(server, allowance=allowance) as (llm, _):

        def attempt(_: int) -> bool:
            try:
                ask(llm)
            except AllowanceSpent:
                refused.release()
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(attempt, range(4))) == 1
    assert allowance.spent == 20


# Settings


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("openai:gpt-4.1-mini", "openai:gpt-4.1-mini"),
        ("openai:gpt-4.1-mini@https://api.openai.com/v1", "openai:gpt-4.1-mini"),
        ("anthropic:claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("ollama:llama3.2:3b", "ollama:llama3.2:3b"),
        ("ollama:m@http://box:1/v1/", "ollama:m@http://box:1/v1"),
        ("openai:a/b@c@https://h/v1", "openai:a/b@c@https://h/v1"),
        ("http://[::1]:8000/v1#m", "openai:m@http://[::1]:8000/v1"),
    ],
)
def test_specs_are_read_and_written(spec: str, name: str) -> None:
    for written in (spec, name):
        llm = load_llm(written)
        assert llm is not None
        assert llm.name == name


@pytest.mark.parametrize(
    "spec",
    [
        "gpt-4",
        "openai:",
        "mystery:m",
        "openai:m@http://",
        "http://h/v1",
        "http://me:secret@h/v1#m",
        "openai:m@http://[::1/v1",
        "openai:m@http://h:99999/v1",
        "openai:m@http://h/v1?key=secret",
        "openai:m@http://h\x00/v1",
        "",
    ],
)
def test_bad_specs_are_refused(spec: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        load_llm(spec)
    assert "secret@" not in str(caught.value)


def test_none_and_objects_are_taken_as_they_are() -> None:
    assert load_llm(None) is None
    assert load_llm("none") is None
    own = load_llm("ollama:m")
    assert load_llm(own) is own
    with pytest.raises(InvalidSetting):
        load_llm(3)  # type: ignore[arg-type]


def test_bad_arguments_are_refused() -> None:
    llm = load_llm("ollama:m")
    assert llm is not None
    for wrong in ({"max_tokens": 0}, {"temperature": -1.0}, {"temperature": float("nan")}):
        with pytest.raises(InvalidInput):
            ask(llm, **wrong)
    with pytest.raises(InvalidSetting):
        RetryPolicy(attempts=0)


def test_keys_go_to_their_own_provider_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(spec: str) -> str | None:
        return vars(load_llm(spec))["_http"].key

    monkeypatch.delenv("EVERYWORD_LLM_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "openai's")
    monkeypatch.setenv("ANTHROPIC_API_KEY", " anthropic's\n")
    assert key("openai:m") == "openai's"
    assert key("anthropic:m") == "anthropic's"
    for elsewhere in ("openai:m@http://localhost:1/v1", "anthropic:m@https://api.openai.com.evil/v1", "ollama:m"):
        assert key(elsewhere) is None
    monkeypatch.setenv("EVERYWORD_LLM_KEY", "ours")
    assert key("openai:m@http://localhost:1/v1") == "ours"


def test_the_key_is_never_shown(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.DEBUG)
    seen = ""
    for step in (raw(f"bad key {KEY}", 400), raw(f"bad key {KEY}", 500), raw(f"<{KEY}>"), chat("", refusal=KEY)):
        with serving(step) as server, asking(server) as (llm, _):
            with pytest.raises(ModelError, match=r"\[key\]") as caught:
                ask(llm)
            seen += f"{caught.value} {llm!r} {vars(llm)!r}"
    assert KEY not in seen + caplog.text
    for bad in (f"{KEY}\nx: y", f"{KEY}ü"):
        monkeypatch.setenv("EVERYWORD_LLM_KEY", bad)
        with pytest.raises(InvalidSetting, match="EVERYWORD_LLM_KEY") as refused:
            load_llm("openai:m@http://localhost:1/v1")
        assert KEY not in str(refused.value)


def test_a_client_that_was_closed_opens_again() -> None:
    with serving(chat("ok")) as server, asking(server) as (llm, _):
        ask(llm)
        llm.close()  # type: ignore[attr-defined]
        assert ask(llm).text == "ok"
