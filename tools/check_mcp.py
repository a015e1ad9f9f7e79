"""Run the protocol's own conformance suite on `everyword mcp` and the service's /mcp, and compare the reference server.

    npm install --prefix FOLDER @modelcontextprotocol/conformance @modelcontextprotocol/server-memory
    python tools/check_mcp.py FOLDER [--node PATH]                     # Node.js 22 or later

The suite asks for tools, prompts and resources of a server that is made for it. Where a memory has the like, its own
names are put in their place; the rest (images, sound, sampling, elicitation, progress) is left out and listed. Then the
nine tools of the reference memory server are called in the same 35 steps on that server and on `--reference-tools`.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from everyword import Memory

# What a scenario of the suite asks for, and what it gets of a memory.
OURS = {
    "name:`test_simple_text`": "name:`stats`",
    "name:`test_error_handling`": "name:`ask`",  # without a question
    "name:`test_simple_prompt`": "name:`remember_this_conversation`",
    "name:`test_prompt_with_arguments`,arguments:{arg1:`testValue1`,arg2:`testValue2`}": (
        "name:`recall_before_answering`,arguments:{question:`testValue1 testValue2`}"
    ),
    "uri:`test://static-text`": "uri:`everyword://stats`",
    "uri:`test://template/123/data`": "uri:`everyword://session/123`",
    "uri:`test://watched-resource`": "uri:`everyword://stats`",
}
LEFT_OUT = """tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content
tools-call-with-logging tools-call-with-progress tools-call-sampling tools-call-elicitation json-schema-2020-12
elicitation-sep1034-defaults elicitation-sep1330-enums resources-read-binary prompts-get-embedded-resource
prompts-get-with-image""".split()
# The service keeps no connections, so it declares neither messages to clients nor subscriptions; see docs/agents.md.
NOT_DECLARED = {"/mcp of the service": {"logging-set-level", "resources-subscribe", "resources-unsubscribe"}}
SERVERS = {"everyword mcp": ("mcp", "--transport", "http"), "/mcp of the service": ("serve",)}
START_S, SCENARIO_S = 60, 60


def main() -> int:
    """Print what each scenario found; return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--node", default="node")
    given = parser.parse_args()
    suite = _with_our_names(given.folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist")
    listed = subprocess.run([given.node, str(suite), "list"], capture_output=True, text=True, check=True).stdout
    wanted = re.findall(r"^  - (\S+)", listed.partition("Client scenarios")[0], re.MULTILINE)
    failed = 0
    for server, command in SERVERS.items():
        names = [name for name in wanted if name not in {*LEFT_OUT, *NOT_DECLARED.get(server, ())}]
        with tempfile.TemporaryDirectory() as folder:
            wrong = _failing(names, [given.node, str(suite)], command, Path(folder))
        print(f"{server}: {len(names) - len(wrong)} of {len(names)} scenarios pass")
        if server in NOT_DECLARED:
            print(f"  not declared, so not asked for: {', '.join(sorted(NOT_DECLARED[server]))}")
        for name, told in wrong.items():
            print(f"  fails: {name}: {told}")
        failed += len(wrong)
    print(f"left out: {', '.join(LEFT_OUT)}")
    return min(failed + _differing(given.folder, given.node), 100)


def _with_our_names(folder: Path) -> Path:
    """Write a copy of the suite that asks for our names, beside it, where its own imports are found."""
    text = (folder / "index.js").read_text()
    for asked, ours in OURS.items():
        if asked not in text:
            raise SystemExit(f"This version of the suite does not ask for {asked}: mend OURS.")
        text = text.replace(asked, ours)
    written = folder / "with_our_names.js"
    written.write_text(text)
    return written


def _failing(names: list[str], suite: list[str], command: tuple[str, ...], folder: Path) -> dict[str, str]:
    """Serve a memory, run scenarios one by one, and return what the suite says of those that fail."""
    path = folder / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Room 123 is booked for testValue1 testValue2.", session="123")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [sys.executable, "-m", "everyword", *command, "--memory", str(path), "--port", str(port)]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wrong: dict[str, str] = {}
    try:
        _wait_for(port)
        for name in names:
            ask = [*suite, "server", "--url", f"http://127.0.0.1:{port}/mcp", "--scenario", name]
            ran = subprocess.run(ask, capture_output=True, text=True, timeout=SCENARIO_S, cwd=folder)
            if ran.returncode:
                wrong[name] = ran.stdout.strip()[-300:]
    finally:
        server.terminate()
        server.wait(30)
    return wrong


def _wait_for(port: int) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("The server did not start.")


# The reference memory server


def _differing(packages: Path, node: str) -> int:
    """Call both servers in the same steps; print and count the steps that are answered differently."""
    reference = packages / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
    with tempfile.TemporaryDirectory() as folder:
        memory = ("--memory", f"{folder}/m.db", "--embedder", "hashing", "--reference-tools")
        theirs = _answers(node, [str(reference)], {"MEMORY_FILE_PATH": f"{folder}/memory.jsonl"})
        ours = _answers(sys.executable, ["-m", "everyword", "mcp", *memory], {})
    wrong = [number for number, pair in enumerate(zip(theirs, ours, strict=True)) if pair[0] != pair[1]]
    print(f"reference memory server: {len(STEPS) - len(wrong)} of {len(STEPS)} steps are answered alike")
    for number in wrong:
        print(f"  differs: {STEPS[number]}\n    theirs: {theirs[number]}\n    ours:   {ours[number]}")
    return len(wrong)


def _answers(command: str, arguments: list[str], environment: dict[str, str]) -> list[Any]:
    server = StdioServerParameters(command=command, args=arguments, env={**os.environ, **environment})

    async def ask() -> list[Any]:
        async with Client(server) as client:
            return [await _answer(client, tool, given) for tool, given in STEPS]

    return anyio.run(ask)


async def _answer(client: Client, tool: str, given: dict[str, Any]) -> Any:
    result = await client.call_tool(tool, given)
    if result.is_error and not given:  # each server says in its own words what is missing
        return "error"
    return result.is_error, [getattr(part, "text", part) for part in result.content], result.structured_content


def _entity(name: str, kind: str = "person", *observations: str) -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def _relation(source: str, kind: str, target: str) -> dict[str, str]:
    return {"from": source, "to": target, "relationType": kind}


def _observed(name: str, *contents: str) -> dict[str, Any]:
    return {"entityName": name, "contents": list(contents)}


_ANA, _BEN, _BOAT = (
    _entity("Ana", "person", "Lives in Porto", "Likes tea"), _entity("Ben"), _entity("Aurora", "boat", "Is red")
)  # fmt: skip
_KNOWS, _OWNS = _relation("Ana", "knows", "Ben"), _relation("Ana", "owns", "Aurora")
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("read_graph", {}),
    ("create_entities", {"entities": [_ANA, _BEN]}),
    ("create_entities", {"entities": [_ANA, _BOAT]}),
    ("create_entities", {"entities": []}),
    ("create_entities", {"entities": [_entity("Twice", "ship", "Sinks", "Sinks")]}),
    ("create_relations", {"relations": [_KNOWS, _OWNS]}),
    ("create_relations", {"relations": [_KNOWS]}),
    ("create_relations", {"relations": [_relation("Ana", "misses", "Nobody")]}),
    ("read_graph", {}),
    ("add_observations", {"observations": [_observed("Ana", "Likes tea", "Sails")]}),
    ("add_observations", {"observations": [_observed("Ben", "Rows", "Rows")]}),
    ("add_observations", {"observations": [_observed("Nobody", "x")]}),
    ("add_observations", {"observations": []}),
    ("search_nodes", {"query": "tea"}),
    ("search_nodes", {"query": "BOAT"}),
    ("search_nodes", {"query": ""}),
    ("search_nodes", {"query": "nothing like it"}),
    ("open_nodes", {"names": ["Ana"]}),
    ("open_nodes", {"names": ["Aurora", "Nobody"]}),
    ("open_nodes", {"names": []}),
    ("delete_observations", {"deletions": [{"entityName": "Ana", "observations": ["Likes tea", "never said"]}]}),
    ("delete_observations", {"deletions": [{"entityName": "Nobody", "observations": ["x"]}]}),
    ("open_nodes", {"names": ["Ana"]}),
    ("delete_relations", {"relations": [_OWNS]}),
    ("delete_relations", {"relations": [_OWNS]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["Ben"]}),
    ("delete_entities", {"entityNames": ["Ben"]}),
    ("read_graph", {}),
    ("create_entities", {"entities": [_BEN]}),
    ("open_nodes", {"names": ["Ben"]}),
    ("create_entities", {"entities": [_entity("Zoë 🚢", "navio", "Ancora\nem Faro")]}),
    ("search_nodes", {"query": "zoë"}),
    ("open_nodes", {}),
    ("read_graph", {}),
]


if __name__ == "__main__":
    sys.exit(main())
