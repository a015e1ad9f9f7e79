"""`everyword init`: set up a memory, imports, hooks and MCP. Each step is shown, confirmed and optional."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everyword.errors import EverywordError, InvalidInput
from everyword.interfaces.cli.defaults import default_path
from everyword.interfaces.cli.parser import Request
from everyword.interfaces.cli.terminal import Terminal
from everyword.interfaces.hooks.commands import ALL, undo
from everyword.private_files import make_private_folder
from everyword.settings import expanded

if TYPE_CHECKING:
    from everyword.interfaces.hooks.agents import Agent

STEPS = ("import", "vectors", "hooks", "mcp")
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The chosen options."""

    memory: str
    wing: str
    folder: str
    embedder: str | None
    hooks_home: str | None
    skipped: frozenset[str]
    yes: bool

    def wants(self, step: str, question: str) -> bool:
        """Ask whether to do a step, unless --yes or --skip decides."""
        if step in self.skipped:
            return False
        return self.yes or _confirmed(question)


def run(request: Request, terminal: Terminal) -> int:
    """Run the steps; return the exit code."""
    given = request.arguments
    if not given.get("yes") and not (sys.stdin and sys.stdin.isatty()):
        _show("Nothing was done: there is no terminal to ask. Give --yes to do it, and --skip STEP to skip a step.")
        return 2
    if given.get("undo"):  # puts back every settings file that was changed; the memory stays
        home = {"home": given["hooks_home"]} if "hooks_home" in given else {}
        return undo(replace(request, arguments={"agent": ALL, "yes": given.get("yes", False), **home}), terminal)
    _set_up(_plan(request), terminal)
    return 0


def _set_up(plan: _Plan, terminal: Terminal) -> None:
    from everyword.memory import Memory

    with suppress(OSError):  # opening the memory reports it better
        make_private_folder(Path(plan.memory).parent)
    there = Path(plan.memory).exists()
    with Memory.open(plan.memory, embedder=plan.embedder) as memory:
        _show(f"Memory: {plan.memory} ({'exists' if there else 'created'})")
        _show(f"Wing of this folder: {plan.wing}")
        _import(memory, plan)
        _vectors(memory, plan, terminal)
    found = _found()
    _hooks(plan, found)
    _mcp(plan, found)
    _show("Done. Try: everyword wake_up, everyword ask QUESTION. Check: everyword doctor. Undo: everyword init --undo")


def _import(memory: Any, plan: _Plan) -> None:
    """Import the sessions of the agents on this machine."""
    from everyword.interfaces.hooks.agents import AGENTS

    for agent in AGENTS.values():
        path, _, pattern = agent.sessions.partition("/")
        path = agent.folder / path
        sizes = [one.stat().st_size for one in path.glob(pattern) if one.is_file()] if pattern else []
        size = f"{len(sizes):,} files, {sum(sizes) / _MEGABYTE:.1f} MB"
        if sizes and plan.wants("import", f"Import the sessions of {agent.title} in {path} ({size})?"):
            done = memory.import_events(path, format=agent.format)
            _show(f"{agent.title}: read {done.read:,}, stored {done.added:,}, already there {done.known:,}")


def _vectors(memory: Any, plan: _Plan, terminal: Terminal) -> None:
    waiting = memory.stats().pending
    if waiting and plan.wants(
        "vectors", f"Compute the vectors of {waiting:,} events now? Words are searchable already."
    ):
        with terminal.progress("settle") as report:
            memory.admin.settle(progress=report)
    elif waiting:
        _show(f"{waiting:,} events have no vectors yet. Compute them with: everyword settle")


def _hooks(plan: _Plan, found: Mapping[str, Agent]) -> None:
    from everyword.interfaces.hooks.install import install

    wings = {} if plan.wing == plan.folder else {plan.folder: plan.wing}
    asked: dict[str, Any] = {"memory": plan.memory, "home": plan.hooks_home}
    if plan.embedder:
        asked["embedder"] = plan.embedder
    for name, agent in found.items():
        change = partial(install, agent.hooks_path, agent=name, wings=wings, **asked)
        _change(plan, "hooks", f"Let {agent.title} save and recall automatically", change)
    if "codex" in found and "hooks" not in plan.skipped:
        _show("Codex runs new hooks only after you have trusted them: type /hooks in a session of Codex.")


def _mcp(plan: _Plan, found: Mapping[str, Agent]) -> None:
    from everyword.interfaces.hooks.install import add_server

    if find_spec("mcp") is None:
        _show("MCP: skipped, not installed. To add it: pip install 'everyword[mcp]', then run this again.")
        return
    for agent in found.values():
        add = partial(add_server, agent.servers_path, memory=plan.memory, home=plan.hooks_home)
        _change(plan, "mcp", f"Add the MCP server to {agent.title}", add)


def _found() -> dict[str, Agent]:
    """Return the assistants on this machine, without one that has the plugin."""
    from everyword.interfaces.hooks.agents import AGENTS
    from everyword.interfaces.hooks.install import has_plugin

    there = {name: agent for name, agent in AGENTS.items() if agent.folder.is_dir()}
    _show(f"Assistants: {', '.join(agent.title for agent in there.values()) or 'none found'}")
    if "claude-code" in there and has_plugin():
        _show("Claude Code has the plugin, which brings hooks and MCP along.")
        del there["claude-code"]
    return there


def _change(plan: _Plan, step: str, what: str, change: Callable[..., Any]) -> None:
    """Show a change of a settings file, ask, and apply it. A change that fails does not stop the others."""
    try:
        shown = change(dry_run=True)
        if shown.before == shown.after:
            _show(f"{what}: already set up ({shown.path})")
            if step == "hooks":
                change()  # updates the settings of the hooks themselves
            return
        if step not in plan.skipped:
            _show(f"\n{shown.diff}")
        if plan.wants(step, f"{what}?"):
            done = change()
            _show(f"{what}: done." + (f" A backup is in {done.backup}." if done.backup else ""))
    except EverywordError as error:
        _show(f"{what}: skipped. {error}")


def _plan(request: Request) -> _Plan:
    folder = Path.cwd().name
    memory, wing = request.memory or default_path(), request.wing or folder
    skipped, yes = frozenset(request.arguments.get("skip", ())), request.arguments.get("yes", False)
    if unknown := sorted(skipped.difference(STEPS)):
        raise InvalidInput(f"Unknown step {unknown[0]!r}.", fix=f"Valid steps: {', '.join(STEPS)}.")
    if not yes:
        memory = _answer("Where should the memory be?", memory)
        wing = _answer("Which wing should this folder's sessions use?", wing)
    return _Plan(
        memory=os.path.abspath(expanded(memory)),
        wing=wing,
        folder=folder,
        embedder=request.embedder,
        hooks_home=request.arguments.get("hooks_home"),
        skipped=skipped,
        yes=yes,
    )


def _answer(question: str, default: str) -> str:
    sys.stdout.write(f"{question} [{default}] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip() or default


def _confirmed(question: str) -> bool:
    sys.stdout.write(f"{question} [Y/n] ")
    sys.stdout.flush()
    answer = sys.stdin.readline()
    return bool(answer) and answer.strip().lower() in ("", "y", "yes")


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
