"""The coding agents that hooks are for. What differs between them is in this table.

Every hook imports this, so it imports nothing heavy: a NamedTuple, because dataclasses import `inspect`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
_SAME_NAMES = {event: event for event in EVENTS}


class Agent(NamedTuple):
    """Where an agent keeps its settings and sessions, and what its hooks look like."""

    title: str
    home: str  # its folder, which is there if the agent is installed
    hooks: str  # the file with hooks, in its folder
    servers: str  # the file with MCP servers, in its folder
    events: dict[str, str]  # its name for each of our events, where it has such a hook
    home_variable: str = ""  # an environment variable that names another folder
    # A hook in its settings. Limits are ten seconds: HookSettings.timeout_s ends a hook much earlier.
    hook: dict[str, Any] = {"type": "command", "timeout": 10}  # noqa: RUF012
    command: str = "command"  # the member of a hook that holds the command
    in_groups: bool = True  # an event has groups with a list of hooks each; otherwise, hooks
    server: dict[str, Any] = {}  # noqa: RUF012  members that an MCP server needs besides its command
    sessions: str = ""  # its session files, as a pattern in its folder
    format: str = ""  # of the session files, as `everyword import` names it; none: hooks save what each payload says
    answer: str = ""  # the member of a hook's output that holds context, if it is not Claude Code's
    takes_context_of_prompt: bool = True  # reads what a hook says beside a prompt

    @property
    def folder(self) -> Path:
        """Return its folder for this user."""
        from everyword.settings import expanded  # takes time; no hook needs it

        named = os.environ.get(self.home_variable) if self.home_variable else None
        return expanded(named or self.home)

    @property
    def hooks_path(self) -> Path:
        """Return the file with its hooks."""
        return self.folder / self.hooks

    @property
    def servers_path(self) -> Path:
        """Return the file with its MCP servers."""
        from everyword.settings import expanded

        return self.folder / expanded(self.servers)


AGENTS = {
    "claude-code": Agent(
        title="Claude Code",
        home="~/.claude",
        home_variable="CLAUDE_CONFIG_DIR",
        hooks="settings.json",
        servers="~/.claude.json",
        events=_SAME_NAMES,
        sessions="projects/**/*.jsonl",
        format="claude-code",
    ),
    "codex": Agent(
        title="Codex",
        home="~/.codex",
        home_variable="CODEX_HOME",
        hooks="hooks.json",
        servers="config.toml",
        events={event: event for event in EVENTS if event != "SessionEnd"},
        sessions="sessions/**/*.jsonl",
        format="codex",
    ),
    "gemini": Agent(
        title="Gemini CLI",
        home="~/.gemini",
        hooks="settings.json",
        servers="settings.json",
        events=_SAME_NAMES | {"UserPromptSubmit": "BeforeAgent", "PreCompact": "PreCompress", "Stop": "AfterAgent"},
        hook={"name": "everyword", "type": "command", "timeout": 10_000},  # in milliseconds
        sessions="tmp/**/*.json",
        format="gemini-cli",
    ),
    "cursor": Agent(
        title="Cursor",
        home="~/.cursor",
        hooks="hooks.json",
        servers="mcp.json",
        # It has no hook after which its transcript could be read, so each reply is saved as it comes.
        events={"SessionStart": "sessionStart", "UserPromptSubmit": "beforeSubmitPrompt", "Stop": "afterAgentResponse"},
        hook={"timeout": 10},
        in_groups=False,
        answer="additional_context",
        takes_context_of_prompt=False,
    ),
    "copilot": Agent(
        title="Copilot CLI",
        home="~/.copilot",
        home_variable="COPILOT_HOME",
        hooks="hooks/everyword.json",
        servers="mcp-config.json",
        events=_SAME_NAMES,
        hook={"type": "command", "timeoutSec": 10},
        command="bash",
        in_groups=False,
        server={"type": "local", "tools": ["*"]},
        sessions="session-state/**/*.jsonl",
        format="copilot-cli",
        answer="additionalContext",
        takes_context_of_prompt=False,
    ),
}
