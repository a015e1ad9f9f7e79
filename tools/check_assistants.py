"""Run real coding assistants with Everyword set up by `everyword init`, and check what they keep and are told.

    npm install --prefix FOLDER @anthropic-ai/claude-code @openai/codex @google/gemini-cli @github/copilot
    python tools/check_assistants.py FOLDER/node_modules/.bin

Each assistant gets a home of its own and two sessions. Only the LLM is made up: a server on this machine that calls
the tool `remember` when it is asked to, and otherwise says "Noted.". An assistant that is not there is reported so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from everyword import Memory

TOLD = "Please remember that our staging database moved to eu-west."
ASKED = "Where is the staging database?"
KEPT = "The release train leaves on Thursdays."  # what the made-up LLM puts into the tool
REPLY = "Noted."
LIMIT_S = 120
SETTLE_S = 4  # the resident process saves the rest and ends two seconds after its agent

Json = dict[str, Any]
Events = list[tuple[str, Json]]


@dataclass(frozen=True)
class Assistant:
    """How an assistant is started with a made-up LLM at an address."""

    folder: str  # in the home; `everyword init` recognises the assistant by it
    command: tuple[str, ...]  # the prompt comes last
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


ASSISTANTS = {
    "claude": Assistant(
        ".claude",
        ("--dangerously-skip-permissions", "-p"),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "none",
            "IS_SANDBOX": "1",
            "MCP_CONNECTION_NONBLOCKING": "0",  # the first prompt waits for the MCP server, also on a loaded machine
            "MCP_CONNECT_TIMEOUT_MS": "60000",
            "MCP_TIMEOUT": "60000",
        },
    ),
    "codex": Assistant(
        ".codex",
        ("exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"),
        {"OPENAI_API_KEY": "none"},
        {
            ".codex/config.toml": 'model = "made-up"\nmodel_provider = "here"\n[model_providers.here]\nname = "here"\n'
            'base_url = "{url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
        },
    ),
    "gemini": Assistant(
        ".gemini",
        ("--yolo", "-m", "gemini-2.5-flash", "-p"),
        {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n'},
    ),
    "copilot": Assistant(
        ".copilot",
        ("--allow-all-tools", "-p"),
        {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_MODEL": "made-up"},
    ),
}


class MadeUpLLM(BaseHTTPRequestHandler):
    """Answers the four APIs, and keeps what it was sent."""

    sent: list[str]

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._answer({"data": [], "models": []})

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        self.sent.append(text)
        asked: Json = json.loads(text) if text.startswith("{") else {}
        answer = _answer_of(self.path, asked, wants=TOLD in text and KEPT not in text)
        if asked.get("stream") or "stream" in self.path:
            self._stream(answer)
        else:
            self._answer(answer[-1][1])

    def _answer(self, document: Json) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Events) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for name, document in events:
            self.wfile.write((f"event: {name}\n" if name else "").encode())
            self.wfile.write(f"data: {json.dumps(document)}\n\n".encode())
        if "/chat/" in self.path:
            self.wfile.write(b"data: [DONE]\n\n")


def _answer_of(path: str, asked: Json, *, wants: bool) -> Events:
    """Say something, or call the tool, as the API of a path does."""
    if "count" in path.lower():
        return [("", {"input_tokens": 1, "totalTokens": 1})]
    if "/messages" in path:
        return _anthropic(asked, wants)
    if "/responses" in path:
        return _responses(asked, wants)
    return _chat(asked, wants) if "/chat/" in path else _gemini(asked, wants)


def _named(names: list[str], wants: bool) -> str | None:
    return next((one for one in names if one.endswith("remember")), None) if wants else None


def _anthropic(asked: Json, wants: bool) -> Events:
    tool = _named([one["name"] for one in asked.get("tools", [])], wants)
    if tool:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"text": KEPT})}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": REPLY}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "made-up", "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    stop = "tool_use" if tool else "end_turn"
    events: list[Json] = [
        {"type": "message_start", "message": {**whole, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [(one["type"], one) for one in events]


def _responses(asked: Json, wants: bool) -> Events:
    spaces = {one["name"]: one["tools"] for one in asked.get("tools", []) if one.get("type") == "namespace"}
    places = {one["name"]: space for space, tools in spaces.items() for one in tools}
    tool = _named(list(places), wants)
    item: Json = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": REPLY}]}
    if tool:
        item = {"type": "function_call", "call_id": "call_1", "name": tool, "arguments": json.dumps({"text": KEPT})}
        item["namespace"] = places[tool]
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    parts = (("created", {}), ("output_item.done", {"item": item}))
    events = [
        (f"response.{name}", {"type": f"response.{name}", **part, "response": {"id": "r"}}) for name, part in parts
    ]
    last = {"type": "response.completed", "response": {"id": "r", "usage": usage}}
    return [*events, ("response.completed", last)]


def _chat(asked: Json, wants: bool) -> Events:
    tool = _named([one.get("function", {}).get("name", "") for one in asked.get("tools", [])], wants)
    message: Json = {"role": "assistant", "content": REPLY}
    if tool:
        called = {"name": tool, "arguments": json.dumps({"text": KEPT})}
        message = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": called}],
        }
    whole = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "made-up"}
    last: Json = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if tool else "stop"}
    first: Json = {"index": 0, "delta": message, "finish_reason": None}
    return [("", {**whole, "choices": [choice]}) for choice in (first, last)]


def _gemini(asked: Json, wants: bool) -> Events:
    tool = _named([f["name"] for one in asked.get("tools", []) for f in one.get("functionDeclarations", [])], wants)
    part: Json = {"functionCall": {"name": tool, "args": {"text": KEPT}}} if tool else {"text": REPLY}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [("", {"candidates": [candidate], "usageMetadata": {"totalTokenCount": 1}})]


@contextmanager
def made_up_llm() -> Generator[tuple[str, list[str]]]:
    """Serve the made-up LLM; yield its address and what it is sent."""
    sent: list[str] = []
    handler = type("Handler", (MadeUpLLM,), {"sent": sent})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", sent
        server.shutdown()


def check(program: Path, assistant: Assistant) -> dict[str, bool]:
    """Have two sessions with an assistant; return what is as it should be."""
    # What an assistant started may still write while the folder is removed.
    with made_up_llm() as (url, sent), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home, project = Path(folder) / "home", Path(folder) / "harbour"
        project.mkdir()
        (home / assistant.folder).mkdir(parents=True)
        for name, text in assistant.files.items():
            (home / name).write_text(text.replace("{url}", url))
        path = os.pathsep.join((str(Path(sys.executable).parent), str(program.parent), os.environ["PATH"]))
        given = {name: value.replace("{url}", url) for name, value in assistant.environment.items()}
        environment = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", **given}
        if "PYTHONPATH" in os.environ:  # the hooks run these sources too
            environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

        def run(*command: str) -> None:
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    command,
                    cwd=project,
                    env=environment,
                    timeout=LIMIT_S,
                    capture_output=True,
                    stdin=subprocess.DEVNULL,
                )

        run("git", "init")
        run("everyword", "init", "--yes")
        run(str(program), *assistant.command, TOLD)
        first = len(sent)
        run(str(program), *assistant.command, ASKED)
        second = "".join(sent[first:])
        time.sleep(SETTLE_S)
        with Memory.open(home / ".local/share/everyword/memory.db") as memory:
            texts = [event.text for event in memory.events()]
            wings = {event.wing for event in memory.events()}
        return {
            "what was said is kept as it was said": TOLD in texts,
            "the reply is kept": REPLY in texts,
            "the tool keeps what it is given": KEPT in texts,
            "both are in the project's wing": wings == {project.name},
            "the next session is told": "staging database moved to eu-west" in second and KEPT[:-1] in second,
        }


def main(arguments: list[str]) -> int:
    """Check every assistant in a folder of programs; return how many checks failed."""
    failed = 0
    for name, assistant in ASSISTANTS.items():
        program = Path(arguments[0] if arguments else ".").resolve() / name
        if not program.exists():
            print(f"{name}: not installed")
            continue
        for what, holds in check(program, assistant).items():
            failed += not holds
            print(f"{name}: {what}: {'yes' if holds else 'NO'}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
