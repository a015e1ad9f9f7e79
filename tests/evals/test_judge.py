"""The judge, against a real server on loopback that answers, and then misbehaves in every way it can."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest
from evals.errors import EvalError
from evals.judge import (
    Case,
    Endpoint,
    accuracy,
    ask,
    judge_case,
    judge_prompt,
    judge_run,
    main,
    reader_prompt,
    verdict,
)
from evals.results import FORMAT

KEY = "sk-very-secret"
Reply = tuple[int, bytes, dict[str, str]]
Script = Callable[[str], Reply]


def chat(text: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}], "usage": {"total_tokens": 7}}).encode()


def says(text: Any) -> Script:
    return lambda _: (200, chat(text), {})


def fixed(status: int, body: bytes, **headers: str) -> Script:
    return lambda _: (status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def slow(_: str) -> Reply:
    time.sleep(0.6)
    return 200, chat("too late"), {}


def model(prompt: str) -> Reply:
    """Answer "Miso" to everything, and judge that by whether the right answer is Miso."""
    if "CORRECT or WRONG" not in prompt:
        return 200, chat("Miso"), {}
    right = "Right answer: Miso" in prompt
    return 200, chat(f"Because.\n{'CORRECT' if right else 'WRONG'}"), {}


class Server:
    def __init__(self, script: tuple[Script, ...]) -> None:
        self.script = list(script)
        self.prompts: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.lock = Lock()
        self.url = ""

    def next(self, body: dict[str, Any], key: str | None) -> Script:
        with self.lock:
            self.bodies.append(body)
            self.prompts.append(body["messages"][0]["content"])
            self.keys.append(key)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@contextmanager
def serving(*script: Script) -> Iterator[Server]:
    state = Server(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, content, headers = state.next(body, self.headers["authorization"])(state.prompts[-1])
            with suppress(ConnectionError):  # the client may have lost patience
                self.send_response(status)
                for name, value in {"content-length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if headers.get("x-drip"):
                    self.drip(content)
                else:
                    self.wfile.write(content)
            self.close_connection = True

        def drip(self, content: bytes) -> None:
            for byte in content:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.05)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def endpoint(server: Server, **settings: Any) -> Endpoint:
    return Endpoint(**{"url": server.url, "model": "m", "key": KEY, "timeout": 5.0, "attempts": 3, **settings})


def case(**changes: Any) -> Case:
    given = {"id": "q1", "question": "What is the cat called?", "context": "[1 May 2023] Ann: My cat is Miso."}
    return Case(**{**given, "answer": "Miso", "category": "single-hop", **changes})


def test_a_question_is_answered_from_its_context_and_the_answer_judged() -> None:
    with serving(model) as server:
        judged = judge_case(case(now="2023-06-01"), endpoint(server), task="locomo")
    assert (judged.answered, judged.correct, judged.failure) == ("Miso", True, None)
    assert judged.tokens == 14
    reading, judging = server.prompts
    assert "My cat is Miso." in reading
    assert "Today is 2023-06-01." in reading
    assert "Right answer" not in reading  # the reader must not see it
    assert "Given answer: Miso" in judging
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert {body["temperature"] for body in server.bodies} == {0.0}


def test_a_wrong_answer_is_wrong_and_no_failure() -> None:
    with serving(model) as server:
        judged = judge_case(case(answer="Rex"), endpoint(server), task="locomo")
    assert (judged.correct, judged.failure) == (False, None)


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("CORRECT", True),
        ("It names the cat. **CORRECT**.", True),
        ('{"reason": "same", "label": "WRONG"}', False),
        ("The answer is not correct, since it names a dog.\nWRONG", False),
        ("INCORRECT", False),
    ],
)
def test_the_last_word_of_the_judge_counts(reply: str, right: bool) -> None:
    assert verdict(reply) is right


def test_each_type_of_question_is_judged_by_its_rule() -> None:
    def prompt(category: str, task: str = "longmemeval", **changes: Any) -> str:
        return judge_prompt(case(category=category, **changes), task, "Miso")

    assert "off by one" in prompt("temporal-reasoning")
    assert "latest state" in prompt("knowledge-update", task="longmemeval-union")
    assert "suits this user" in prompt("single-session-preference")
    assert "only a part" in prompt("multi-session")
    assert "generous" in prompt("temporal-reasoning", task="locomo")
    unanswerable = prompt("abstention", answerable=False, answer="")
    assert "Right answer" not in unanswerable
    assert "not known" in unanswerable
    assert "(nothing was found)" in reader_prompt(case(context=""), "longmemeval")


def test_what_passes_by_itself_is_asked_again_with_growing_waits() -> None:
    waits: list[float] = []
    half = fixed(200, chat("Miso")[:-20])
    cut = fixed(200, chat("Miso"), content_length="9999")
    with serving(fixed(500, b"oops"), half, cut, says("Miso")) as server:
        assert ask(endpoint(server, attempts=4), "?", sleep=waits.append) == ("Miso", 7)
    assert waits == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("script", "kind", "asked"),
    [
        (fixed(500, b"oops"), "busy", 3),
        (fixed(429, b"slow down"), "busy", 3),
        (fixed(401, b"bad key"), "refused", 1),
        (fixed(404, b"no such model"), "refused", 1),
        (fixed(200, b"<html>hello</html>"), "garbage", 3),
        (fixed(200, b""), "garbage", 3),
        (fixed(200, b"[]"), "garbage", 3),
        (fixed(200, b'{"choices": []}'), "garbage", 3),
        (fixed(200, b"\xff\xfe\x00"), "garbage", 3),
        (fixed(200, chat("Miso")[: len(chat("Miso")) // 2]), "garbage", 3),
        (fixed(200, chat("Miso"), content_length="9999"), "garbage", 3),
        (says(None), "garbage", 3),
        (says(["Miso"]), "garbage", 3),
    ],
)
def test_an_endpoint_that_fails_gives_a_row_that_says_how(script: Script, kind: str, asked: int) -> None:
    with serving(script) as server:
        judged = judge_case(case(), endpoint(server), task="locomo", sleep=lambda _: None)
    assert judged.failure is not None
    assert (judged.failure.kind, judged.failure.stage) == (kind, "reader")
    assert judged.correct is None
    assert len(server.prompts) == asked
    assert KEY not in repr(judged)


@pytest.mark.parametrize("script", [slow, fixed(200, chat("Miso"), x_drip="1")])
def test_an_endpoint_that_is_too_slow_is_not_waited_for(script: Script) -> None:
    with serving(script) as server:
        begun = time.monotonic()
        judged = judge_case(case(), endpoint(server, timeout=0.2, attempts=1), task="locomo")
        took = time.monotonic() - begun
    assert judged.failure is not None
    assert judged.failure.kind == "timeout"
    assert took < 0.6


def test_an_endpoint_that_is_not_there_is_said_to_be_unreachable() -> None:
    with serving(model) as server:
        gone = endpoint(server)
    judged = judge_case(case(), gone, task="locomo", sleep=lambda _: None)
    assert judged.failure is not None
    assert judged.failure.kind == "unreachable"


def test_a_judge_without_a_verdict_leaves_the_answer_unjudged() -> None:
    with serving(says("Miso"), says("Hard to say.")) as server:
        judged = judge_case(case(), endpoint(server), task="locomo")
    assert judged.answered == "Miso"
    assert judged.correct is None
    assert judged.failure is not None
    assert (judged.failure.kind, judged.failure.stage) == ("unclear", "judge")


def run_file(path: Path, answers: dict[str, str], **changes: Any) -> Path:
    header = {
        "kind": "run",
        "format": FORMAT,
        "task": "locomo",
        "system": "bm25",
        "data_hash": "h",
        "code": "c",
        "seed": 0,
    }
    rows = [
        {
            "kind": "question",
            "id": id,
            "question": f"{id}?",
            "answer": answer,
            "category": "single-hop",
            "answerable": True,
            "contexts": {"600": "My cat is Miso.", "1200": "My cat is Miso."},
            **changes,
        }
        for id, answer in answers.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in [header, *rows]))
    return path


def test_a_run_is_judged_once_and_what_failed_is_asked_again(tmp_path: Path) -> None:
    run, out = run_file(tmp_path / "run", {"a": "Miso", "b": "Rex", "c": "Miso"}), tmp_path / "judged"
    with serving(model, model, fixed(400, b"no")) as server:  # the first question, and then nothing
        first = judge_run(run, out, endpoint(server), workers=1)
    assert [one.correct for one in first] == [True, None, None]
    assert accuracy(first)["all"].n == 1
    with out.open("a") as file:
        file.write('{"id": "torn')
    with serving(model) as server:
        second = judge_run(run, out, endpoint(server), workers=2)
    assert len(server.prompts) == 4  # two questions, two calls each
    assert [one.correct for one in second] == [True, False, True]
    assert accuracy(second)["single-hop"].mean == pytest.approx(2 / 3)
    with serving(model) as server:
        assert judge_run(run, out, endpoint(server)) == second
    assert not server.prompts


def test_the_reader_is_told_the_time_of_asking_where_the_run_kept_it(tmp_path: Path) -> None:
    with serving(model) as server:
        judge_run(
            run_file(tmp_path / "run", {"a": "Miso"}, now="2024-06-01 09:30 UTC"), tmp_path / "a", endpoint(server)
        )
        judge_run(run_file(tmp_path / "other", {"a": "Miso"}), tmp_path / "b", endpoint(server))
    assert [("Today is 2024-06-01 09:30 UTC." in prompt) for prompt in server.prompts] == [True, False, False, False]
    assert "Today" not in server.prompts[2]


def test_verdicts_of_another_budget_or_model_are_not_mixed(tmp_path: Path) -> None:
    run, out = run_file(tmp_path / "run", {"a": "Miso"}), tmp_path / "judged"
    with serving(model) as server:
        judge_run(run, out, endpoint(server))
        with pytest.raises(EvalError, match="another run, model or budget"):
            judge_run(run, out, endpoint(server), budget=600)
        with pytest.raises(EvalError, match="packed no context of 50 tokens"):
            judge_run(run, tmp_path / "other", endpoint(server), budget=50)


def test_a_run_without_texts_says_what_to_do(tmp_path: Path) -> None:
    run = run_file(tmp_path / "run", {"a": "Miso"})
    run.write_text(run.read_text().replace('"contexts"', '"other"'))
    with pytest.raises(EvalError, match="--keep-contexts"):
        judge_run(run, tmp_path / "judged", Endpoint(url="http://127.0.0.1:9", model="m"))


def test_the_command_prints_shares_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_file(tmp_path / "run", {"a": "Miso", "b": "Rex"})
    arguments = [str(run), "--json", str(tmp_path / "judged")]
    monkeypatch.delenv("EVAL_LLM_URL", raising=False)
    monkeypatch.setenv("EVAL_LLM_MODEL", "m")
    assert main(arguments) == 2
    assert "set EVAL_LLM_URL" in capsys.readouterr().err
    with serving(model) as server:
        monkeypatch.setenv("EVAL_LLM_URL", f"{server.url}/chat/completions")
        monkeypatch.setenv("EVAL_LLM_TEMPERATURE", "none")
        assert main(arguments) == 0
    assert "single-hop: " in capsys.readouterr().out
    assert "temperature" not in server.bodies[0]


@pytest.mark.parametrize(("name", "value"), [("EVAL_LLM_URL", "localhost:80"), ("EVAL_LLM_TEMPERATURE", "warm")])
def test_a_setting_that_makes_no_sense_is_refused_before_anything_is_asked(name: str, value: str) -> None:
    given = {"EVAL_LLM_URL": "http://127.0.0.1:9/v1", "EVAL_LLM_MODEL": "m", name: value}
    with pytest.raises(EvalError, match=name):
        Endpoint.from_environment(given)
