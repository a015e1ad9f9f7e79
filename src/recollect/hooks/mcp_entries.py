"""The entry by which an MCP client finds the server: into the client's settings, and out again.

Claude Code (`~/.claude.json`), Cursor (`~/.cursor/mcp.json`) and others read JSON with `mcpServers`; Codex reads TOML
with a table `mcp_servers`. The change is shown, a backup kept, and `recollect hook uninstall` takes it out again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

from recollect.core.errors import InvalidInput
from recollect.core.paths import expanded
from recollect.hooks.changing import (
    Change,
    Json,
    apply,
    backup_of,
    home_of,
    parsed,
    parsed_toml,
    text_of,
    written_like,
)

NAME = "recollect"
_SERVERS = "mcpServers"
_TABLE = re.compile(rf"^\[mcp_servers\.{NAME}\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE)


def add_server(
    settings_path: str | Path, *, memory: str, home: str | Path | None = None, dry_run: bool = False
) -> Change:
    """Add the server to a client's settings; doing it again changes nothing."""
    path, place = expanded(settings_path).absolute(), home_of(home)
    location = memory if "://" in memory else os.path.abspath(expanded(memory))
    before = text_of(path)
    if path.suffix == ".toml":
        after = _with_server_toml(before or "", location)
    else:
        after = written_like(_with_server(path, parsed(path, before), location), before)
    change = Change(path=path, before=before, after=after, backup=backup_of(path, place, before))
    if not dry_run and after != before:
        apply(change, place)
    return change


def without_server(settings: Json) -> Json:
    """Take the server out of settings that are JSON."""
    servers = settings.get(_SERVERS)
    if not isinstance(servers, dict) or NAME not in servers:
        return settings
    kept: Json = {name: entry for name, entry in servers.items() if name != NAME}  # pyright: ignore[reportUnknownVariableType]
    rest = {name: value for name, value in settings.items() if name != _SERVERS}
    return {**settings, _SERVERS: kept} if kept else rest


def without_server_toml(text: str) -> str:
    """Take the server out of settings that are TOML."""
    return _TABLE.sub("", text)


def entry(memory: str) -> Json:
    """Say how the server is started."""
    program = shutil.which("recollect")
    # -P: the folder that a client works in must not lend us its modules.
    command = [program, "mcp"] if program else [sys.executable, "-P", "-m", "recollect", "mcp"]
    return {"command": command[0], "args": command[1:], "env": {"RECOLLECT_MEMORY": memory}}


def _with_server(path: Path, settings: Json, memory: str) -> Json:
    servers = settings.get(_SERVERS, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"{_SERVERS} in {path} is no object.", fix="Correct it first; it was not touched.")
    return {**settings, _SERVERS: {**servers, NAME: entry(memory)}}


def _with_server_toml(text: str, memory: str) -> str:
    parsed_toml(text)
    ours = entry(memory)
    # Strings and lists of strings are written alike in JSON and in TOML.
    table = "".join(
        (
            f"[mcp_servers.{NAME}]\n",
            f"command = {json.dumps(ours['command'])}\n",
            f"args = {json.dumps(ours['args'])}\n",
            f"env = {{ RECOLLECT_MEMORY = {json.dumps(memory)} }}\n",
        )
    )
    if table in text:
        return text
    rest = without_server_toml(text)
    gap = "" if not rest or rest.endswith("\n\n") else "\n" if rest.endswith("\n") else "\n\n"
    after = f"{rest}{gap}{table}"
    parsed_toml(after)  # a server of this name, written in another way, would now be there twice
    return after
