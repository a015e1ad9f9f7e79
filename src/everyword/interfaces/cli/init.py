"""`everyword init`: set up a memory, imports, hooks and MCP. Each step is shown, confirmed and optional."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from everyword.errors import EverywordError, InvalidInput, InvalidSetting
from everyword.ingest.projects import root_of
from everyword.interfaces.cli.parser import Request
from everyword.interfaces.cli.terminal import Terminal
from everyword.interfaces.hooks.agents import AGENTS, Agent
from everyword.interfaces.hooks.install import ALL, add_server, has_plugin, install, located, undo
from everyword.interfaces.hooks.state import home_of, load
from everyword.private_files import make_folder_of
from everyword.settings import default_path

STEPS = ("import", "vectors", "hooks", "mcp")
_MEGABYTE = 1_000_000


def run(request: Request, terminal: Terminal) -> int:
    """Run the steps; return the exit code."""
    given = request.arguments
    if not given.get("yes") and not (sys.stdin and sys.stdin.isatty()):
        skip = "" if given.get("undo") else ", and --skip STEP to skip a step"
        _show(f"Nothing was done: there is no terminal to ask. Give --yes to do it{skip}.")
        return 2
    if given.get("undo"):  # puts back every settings file that was changed; the memory stays
        home = {"home": given["hooks_home"]} if "hooks_home" in given else {}
        return undo(replace(request, arguments={"agent": ALL, "yes": given.get("yes", False), **home}), terminal)
    if unknown := sorted(set(given.get("skip", ())).difference(STEPS)):
        raise InvalidInput(f"Unknown step {unknown[0]!r}.", fix=f"Valid steps: {', '.join(STEPS)}.")
    return _Setup(request, terminal).run()


class _Setup:
    def __init__(self, request: Request, terminal: Terminal) -> None:
        self._request = request
        self._terminal = terminal
        self._yes: bool = request.arguments.get("yes", False)
        self._skipped: list[str] = request.arguments.get("skip", [])
        self._hooks_home: str | None = request.arguments.get("hooks_home")
        self._failed: list[tuple[str, EverywordError]] = []  # changes that could not be made

    def run(self) -> int:
        from everyword.memory import Memory

        project = root_of(str(Path.cwd()))
        folder = Path(project).name if project else ""
        location = located(self._answer("Where should the memory be?", self._request.memory or default_path()))
        wing = self._request.wing or folder
        wing = self._answer("Which wing should this folder's sessions use?", wing) if project else wing
        there = "://" in location or Path(location).exists()
        make_folder_of(location)
        with Memory.open(location, embedder=self._request.embedder) as memory:
            _show(f"Memory: {memory.location} ({'exists' if there else 'created'})")
            _show(f"Wing of this folder: {wing or 'none'}")
            self._import(memory)
            self._vectors(memory)
        agents = _found()
        self._hooks(agents, location, {project: wing} if project and wing != folder else {})
        self._mcp(agents, location)
        for what, error in self._failed:
            _show(f"Not done: {what}. {error}")
        done = "The rest is done" if self._failed else "Done"
        advice = "Try: everyword wake_up, everyword ask QUESTION. Check: everyword doctor. Undo: everyword init --undo"
        _show(f"{done}. {advice}")
        if location != located(default_path()):
            _show("Commands use this memory with --memory, or with EVERYWORD_MEMORY set to it.")
        return self._failed[0][1].exit_code if self._failed else 0

    def _import(self, memory: Any) -> None:
        """Import the sessions of the agents on this machine: what hooks would have saved of them."""
        from everyword.api.imports import import_path

        try:
            tools = load(str(home_of(self._hooks_home))).save_tools
        except InvalidSetting:  # no hooks are installed yet
            tools = False
        for agent in AGENTS.values():
            path, _, pattern = agent.sessions.partition("/")
            path = agent.folder / path
            sizes = [one.stat().st_size for one in path.glob(pattern) if one.is_file()] if pattern else []
            size = f"{len(sizes):,} files, {sum(sizes) / _MEGABYTE:.1f} MB"
            if sizes and self._wants("import", f"Import the sessions of {agent.title} in {path} ({size})?"):
                done = import_path(
                    memory.scope, path, format=agent.format, redact=None, tz="UTC", encode=False, tools=tools
                )
                _show(f"{agent.title}: read {done.read:,}, stored {done.added:,}, already there {done.known:,}")

    def _vectors(self, memory: Any) -> None:
        waiting = memory.stats().pending
        question = f"Compute the vectors of {waiting:,} events now? Words are searchable already."
        if waiting and self._wants("vectors", question):
            with self._terminal.progress("settle") as report:
                memory.admin.settle(progress=report)
        elif waiting:
            _show(f"{waiting:,} events have no vectors yet. Compute them with: everyword settle")

    def _hooks(self, agents: dict[str, Agent], memory: str, wings: dict[str, str]) -> None:
        embedder = {"embedder": self._request.embedder} if self._request.embedder else {}
        for name, agent in agents.items():
            change = partial(install, agent.hooks_path, agent=name, wings=wings, memory=memory, home=self._hooks_home)
            self._change("hooks", f"Let {agent.title} save and recall automatically", partial(change, **embedder))
        if "codex" in agents and "hooks" not in self._skipped:
            _show("Codex runs new hooks only after you have trusted them: type /hooks in a session of Codex.")

    def _mcp(self, agents: dict[str, Agent], memory: str) -> None:
        if find_spec("mcp") is None:
            _show("MCP: skipped, not installed. To add it: pip install 'everyword[mcp]', then run this again.")
            return
        for agent in agents.values():
            add = partial(add_server, agent.servers_path, memory=memory, home=self._hooks_home)
            self._change("mcp", f"Add the MCP server to {agent.title}", add)

    def _change(self, step: str, what: str, change: Callable[..., Any]) -> None:
        """Show a change of a settings file, ask, and apply it. A change that fails does not stop the others."""
        try:
            shown = change(dry_run=True)
            if shown.before == shown.after:
                _show(f"{what}: already set up ({shown.path})")
                if step == "hooks":
                    change()  # updates the settings of the hooks themselves
                return
            if step not in self._skipped:
                _show(f"\n{shown.diff}")
            if self._wants(step, f"{what}?"):
                done = change()
                _show(f"{what}: done." + (f" A backup is in {done.backup}." if done.backup else ""))
        except EverywordError as error:
            _show(f"{what}: failed. {error}")
            self._failed.append((what, error))

    def _wants(self, step: str, question: str) -> bool:
        """Ask whether to do a step, unless --yes or --skip decides."""
        if step in self._skipped or self._yes:
            return step not in self._skipped
        answer = _asked(f"{question} [Y/n] ")
        return bool(answer) and answer.strip().lower() in ("", "y", "yes")

    def _answer(self, question: str, default: str) -> str:
        return default if self._yes else _asked(f"{question} [{default}] ").strip() or default


def _found() -> dict[str, Agent]:
    """Return the assistants on this machine, without one that has the plugin."""
    there = {name: agent for name, agent in AGENTS.items() if agent.folder.is_dir()}
    _show(f"Assistants: {', '.join(agent.title for agent in there.values()) or 'none found'}")
    if "claude-code" in there and has_plugin():
        _show("Claude Code has the plugin, which brings hooks and MCP along.")
        del there["claude-code"]
    return there


def _asked(question: str) -> str:
    sys.stdout.write(question)
    sys.stdout.flush()
    return sys.stdin.readline()


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
