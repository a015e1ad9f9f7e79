"""The commands of `everyword hook`: install, uninstall, status, on, off."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from everyword.errors import EverywordError
from everyword.interfaces.cli.defaults import default_path
from everyword.interfaces.hooks import install as installing
from everyword.interfaces.hooks.agents import AGENTS, EVENTS
from everyword.interfaces.hooks.state import home_of
from everyword.settings import REDACTION_LEVELS, expanded

_ALL = "all"  # every changed file, also those changed by `everyword init`


def main(arguments: Sequence[str]) -> int:
    """Run a command; return the exit code."""
    try:
        parsed = _parser().parse_args(arguments)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    try:
        _COMMANDS[parsed.verb](parsed)
    except EverywordError as error:
        sys.stderr.write(f"everyword: {error}\n")
        return error.exit_code
    return 0


def _install(parsed: Any) -> None:
    path = _settings_path(parsed)
    patterns = os.path.abspath(expanded(parsed.secret_patterns)) if parsed.secret_patterns else None
    options: dict[str, Any] = {
        "save_every": parsed.every,
        "embedder": parsed.embedder,
        "redact": parsed.redact,
        "secret_patterns": patterns,
    }
    options = {name: value for name, value in options.items() if value}
    options |= {"memory": parsed.memory or default_path(), "home": parsed.home, "agent": parsed.agent}
    change = installing.install(path, **options, dry_run=True)
    _show(change.diff or "Nothing changes.\n")
    if parsed.dry_run or not _is_confirmed(parsed):
        return
    done = installing.install(path, **options)
    _show(f"Installed into {done.path}." + (f" A backup is in {done.backup}.\n" if done.backup else "\n"))


def _uninstall(parsed: Any) -> None:
    every = parsed.agent == _ALL
    paths = [Path(path) for path in installing.installed(home_of(parsed.home))] if every else [_settings_path(parsed)]
    for path in paths:
        _show(installing.uninstall(path, home=parsed.home, dry_run=True).diff or "Nothing changes.\n")
    if not paths:
        _show("Nothing to undo.\n")
    elif not parsed.dry_run and _is_confirmed(parsed):
        for path in paths:
            installing.uninstall(path, home=parsed.home)
        _show("Removed. The memory stays as it is.\n")


def _status(parsed: Any) -> None:
    found = installing.status(parsed.home)
    if parsed.json:
        _show(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return
    if not found["installed"]:
        _show("No hooks are installed. To install them: everyword init\n")
    for one in found["installed"]:
        _show(f"{one['settings']}: {', '.join(one['hooks']) or 'the MCP server'}\n")
    if "memory" not in found:
        return
    off = [event for event, on in found["on"].items() if not on]
    resident = "running" if found["resident"] else "not running"
    _show(f"memory: {found['memory']}\n")
    _show(f"switched off: {', '.join(off) or 'nothing'}\n")
    _show(f"resident process: {resident}; saved transcripts: {found['transcripts']}; log: {found['log']}\n")
    for error in found["errors"]:
        _show(f"error: {error}\n")


def _switch(parsed: Any) -> None:
    installing.switch(parsed.name, on=parsed.verb == "on", home=parsed.home)


_COMMANDS = {
    "install": _install,
    "uninstall": _uninstall,
    "status": _status,
    "on": _switch,
    "off": _switch,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="everyword hook", description="Hooks of coding agents.", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, about in (
        ("install", "save an agent's conversations, and tell it what the memory knows"),
        ("uninstall", "remove the hooks"),
    ):
        verb = verbs.add_parser(name, help=about)
        agents = tuple(AGENTS) if name == "install" else (*AGENTS, _ALL)
        verb.add_argument("agent", choices=agents, nargs="?", default="claude-code")
        verb.add_argument("--settings", metavar="PATH", help="the agent's settings (default: those of this user)")
        verb.add_argument("--dry-run", action="store_true", help="show the change without making it")
        verb.add_argument("--yes", action="store_true", help="do not ask")
        if name == "install":
            verb.add_argument("--memory", metavar="PATH", help="the memory to save to")
            verb.add_argument("--embedder", metavar="NAME")
            verb.add_argument("--every", type=int, metavar="N", help="messages between two saves (default: 15)")
            verb.add_argument("--redact", choices=REDACTION_LEVELS, help="what to remove (default: credentials)")
            verb.add_argument("--secret-patterns", metavar="PATH", help="a JSON file with patterns of secrets")
    status = verbs.add_parser("status", help="show what is installed and switched on, and the last errors")
    status.add_argument("--json", action="store_true", help="one JSON document")
    for name in ("on", "off"):
        verb = verbs.add_parser(name, help=f"switch a hook {name}")
        verb.add_argument("name", metavar="HOOK", help=f"{', '.join(EVENTS)}, inject_prompt, resident, save_tools")
    for verb in verbs.choices.values():
        verb.add_argument("--home", metavar="PATH", help="the folder of the hooks' own files")
    return parser


def _settings_path(parsed: Any) -> Path:
    return expanded(parsed.settings) if parsed.settings else AGENTS[parsed.agent].hooks_path


def _is_confirmed(parsed: Any) -> bool:
    if parsed.yes:
        return True
    if not (sys.stdin and sys.stdin.isatty()):
        _show("Nothing was changed. Pass --yes to confirm.\n")
        return False
    return input("Continue? [y/N] ").strip().lower() in ("y", "yes")


def _show(text: str) -> None:
    sys.stdout.write(text)
