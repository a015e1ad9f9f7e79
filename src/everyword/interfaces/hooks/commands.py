"""The verbs of `everyword hook`: install, uninstall, status, on, off."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from everyword.errors import InvalidInput
from everyword.interfaces.cli.defaults import default_path
from everyword.interfaces.cli.parser import Request
from everyword.interfaces.cli.terminal import Page, Terminal
from everyword.interfaces.hooks import install as installing
from everyword.interfaces.hooks.agents import AGENTS
from everyword.interfaces.hooks.state import home_of
from everyword.settings import checked_redaction, expanded

ALL = "all"  # every changed file, also those changed by `everyword init`


def run(request: Request, terminal: Terminal) -> int:
    """Run a verb; return the exit code."""
    verb, given = request.operation.name.split()[1], request.arguments
    if verb == "install":
        _install(request, terminal.page)
    elif verb == "uninstall":
        undo(request, terminal)
    elif verb == "status":
        _status(given.get("home"), terminal)
    else:
        installing.switch(given["name"], on=verb == "on", home=given.get("home"))
    return 0


def undo(request: Request, terminal: Terminal) -> int:
    """Remove the hooks from a settings file, or from all that were changed."""
    page, home = terminal.page, request.arguments.get("home")
    every = request.arguments.get("agent") == ALL
    paths = [Path(path) for path in installing.installed(home_of(home))] if every else [_settings_path(request)]
    for path in paths:
        page.text(installing.uninstall(path, home=home, dry_run=True).diff or "Nothing changes.")
    if not paths:
        page.line("Nothing to undo.")
    elif _is_confirmed(request, page):
        for path in paths:
            installing.uninstall(path, home=home)
        page.line("Removed. The memory stays as it is.")
    return 0


def _install(request: Request, page: Page) -> None:
    path, options = _settings_path(request), dict(request.arguments)
    for name in ("settings", "dry_run", "yes"):
        options.pop(name, None)
    if "redact" in options:
        checked_redaction(options["redact"])
    if "secret_patterns" in options:
        options["secret_patterns"] = os.path.abspath(expanded(options["secret_patterns"]))
    options["memory"] = request.memory or default_path()
    if request.embedder:
        options["embedder"] = request.embedder
    page.text(installing.install(path, **options, dry_run=True).diff or "Nothing changes.")
    if _is_confirmed(request, page):
        done = installing.install(path, **options)
        page.line(f"Installed into {done.path}." + (f" A backup is in {done.backup}." if done.backup else ""))


def _status(home: str | None, terminal: Terminal) -> None:
    found, page = installing.status(home), terminal.page
    if terminal.json_wanted:
        terminal.document(found)
        return
    if not found["installed"]:
        page.line("No hooks are installed. To install them: everyword init")
    for one in found["installed"]:
        page.line(f"{one['settings']}: {', '.join(one['hooks']) or 'the MCP server'}")
    if "memory" not in found:
        return
    off = [event for event, on in found["on"].items() if not on]
    resident = "running" if found["resident"] else "not running"
    page.line(f"memory: {found['memory']}")
    page.line(f"switched off: {', '.join(off) or 'nothing'}")
    page.line(f"resident process: {resident}; saved transcripts: {found['transcripts']}; log: {found['log']}")
    for error in found["errors"]:
        page.line(f"error: {error}")


def _settings_path(request: Request) -> Path:
    settings, agent = request.arguments.get("settings"), request.arguments.get("agent", "claude-code")
    if agent not in AGENTS:
        raise InvalidInput(f"Unknown agent {agent!r}.", fix=f"Valid agents: {', '.join(AGENTS)}.")
    return expanded(settings) if settings else AGENTS[agent].hooks_path


def _is_confirmed(request: Request, page: Page) -> Any:
    given = request.arguments
    if given.get("dry_run") or given.get("yes"):
        return not given.get("dry_run")
    if not (sys.stdin and sys.stdin.isatty()):
        page.line("Nothing was changed. Pass --yes to confirm.")
        return False
    return input("Continue? [y/N] ").strip().lower() in ("y", "yes")
