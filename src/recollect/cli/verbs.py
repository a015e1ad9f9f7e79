"""Running a verb: open the memory, do it, show what came of it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli import render, render_artifacts, render_attention, render_folding, render_graph, render_layers
from recollect.cli.page import Page
from recollect.cli.parser import DOCTOR, WATCH, Request, UsageError
from recollect.cli.progress import progress
from recollect.cli.terminal import Terminal
from recollect.core.errors import BadLocation, InvalidInput
from recollect.core.paths import expanded, user_folder
from recollect.core.private import make_private_folder
from recollect.operations import Operation
from recollect.operations.asking import ASK
from recollect.operations.log import EVENTS, FORGET, IMPORT

if TYPE_CHECKING:
    from recollect.memory import Memory

_SHOWN_BEFORE_FORGETTING = 5  # events: enough to notice a mistake


def run(request: Request, terminal: Terminal) -> int:
    """Do what a command line asks for; give the exit code."""
    operation = request.operation
    if request.verb == WATCH:
        from recollect.cli.watch import watch

        with _notes(terminal), opened(request) as memory:
            return watch(memory, request, terminal)
    if operation is None:
        assert request.verb == DOCTOR
        from recollect.cli.doctor import doctor

        return doctor(request, memory_path(request), terminal)
    arguments = _arguments(request, operation)
    _check_forgetting(request, terminal)
    _note_scope(request, operation, terminal)
    with _notes(terminal), opened(request, operation) as memory:
        if operation is FORGET:
            return _forget(memory, arguments, request, terminal)
        if operation is IMPORT:
            if "watch" in request.extras:
                from recollect.cli.watching import watch

                return watch(memory, arguments, terminal)
            return _import(memory, arguments, terminal)
        if operation is ASK and request.llm and not terminal.json_wanted:
            # As it is written, on standard error: what is shown in the end has its citations checked.
            arguments["told"] = terminal.say_piece
        if operation.progress:
            with progress(terminal, operation.name) as report:
                result = operation.run(memory, {**arguments, "progress": report})
        else:
            result = operation.run(memory, arguments)
        return _show(operation, result, request, terminal)


@contextmanager
def opened(request: Request, operation: Operation | None = None) -> Generator[Memory]:
    """Open the memory that a command line names; only a verb that writes events makes a new one."""
    from recollect.memory import Memory

    creates = operation is not None and operation.creates
    location = request.memory or default_path(make_folder=creates)
    with Memory.open(
        location, embedder=request.embedder, llm=request.llm, reranker=request.reranker, create=creates
    ) as memory:
        handle = memory if request.space is None else memory.space(request.space)
        takes_wing = operation is not None and operation.parameter("wing") is not None
        yield handle if request.wing is None or takes_wing else handle.wing(request.wing)


def memory_path(request: Request) -> str:
    """Tell where the memory is: as named, or in the user's data folder."""
    return request.memory or default_path()


def default_path(*, make_folder: bool = False) -> str:
    """Tell where the memory is when nobody names one."""
    named = os.environ.get("RECOLLECT_MEMORY")
    if named and "://" in named:
        return named
    location = expanded(named) if named else user_folder("data") / "memory.db"
    if make_folder:
        try:
            make_private_folder(location.parent)
        except OSError as error:
            raise BadLocation(f"The folder of {location} can't be made ({error.strerror}).") from error
    return str(location)


@contextmanager
def _notes(terminal: Terminal) -> Generator[None]:
    """Show the library's notices as notes, not as Python's warnings."""
    with warnings.catch_warnings():
        from recollect.engine.serving import RecollectNotice

        theirs = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, RecollectNotice):
                terminal.note(str(message))
            else:
                theirs(message, category, *where, **more)

        warnings.simplefilter("always", RecollectNotice)
        warnings.showwarning = show
        yield


def _arguments(request: Request, operation: Operation) -> dict[str, Any]:
    arguments = dict(request.arguments)
    for parameter in operation.parameters:
        if parameter.from_stdin and arguments.get(parameter.name, "-") == "-":
            arguments[parameter.name] = _standard_input(parameter.name)
    return arguments


def _standard_input(name: str) -> str:
    stream = sys.stdin
    if stream is None or stream.isatty():  # pyright: ignore[reportUnnecessaryComparison]  it may be closed
        raise UsageError(f"There is no {name}.", fix="Give it as an argument, or pipe it in.")
    try:
        text = stream.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"Standard input is not UTF-8 ({error.reason} at byte {error.start}).", fix="Convert it first."
        ) from error
    # Every tool ends its output with a line break that nobody said.
    return text.removesuffix("\n").removesuffix("\r")


def _note_scope(request: Request, operation: Operation, terminal: Terminal) -> None:
    if operation.scope == "file" and (request.space, request.wing) != (None, None):
        terminal.note(f"{operation.name} is about the whole file; --space and --wing make no difference.")
    elif operation.scope == "space" and request.wing is not None:
        terminal.note(f"{operation.name} is about the whole space; --wing makes no difference.")


# What each verb shows


def _show(operation: Operation, result: Any, request: Request, terminal: Terminal) -> int:
    if terminal.json_wanted:
        if operation is EVENTS:
            from recollect.serial import plain

            terminal.document_of(operation.result, map(plain, result))
        else:
            terminal.document(operation.document(result))
    else:
        _VIEWS[operation.name](terminal.page, result, request)
    return 1 if operation.name == "verify" and not result.ok else 0


def _done(page: Page, result: int, _: Request) -> None:
    page.line(f"done: {result:,}" if result else "nothing was waiting")


def _rebuilt(page: Page, _result: None, request: Request) -> None:
    page.line("rebuilt the words" if request.arguments.get("vectors") is False else "rebuilt words and vectors")


def _backed_up(page: Page, _result: None, request: Request) -> None:
    path = request.arguments["path"]
    page.line(f"wrote {path} ({render.size(os.path.getsize(os.path.expanduser(path)))})")


def _exported(page: Page, result: int, request: Request) -> None:
    for name, what in (("path", "events"), ("wiki", "notes"), ("graph", "nodes and edges")):
        if where := request.arguments.get(name):
            page.line(f"wrote {result:,} {what} to {where}")


_VIEWS: dict[str, Callable[[Page, Any, Request], None]] = {
    "add": lambda page, result, _: render.written(page, result),
    "recall": lambda page, result, request: render.hits(page, result, explain="explain" in request.extras),
    "context": lambda page, result, _: render.context(page, result),
    "ask": lambda page, result, _: render_artifacts.answer(page, result),
    "wake_up": lambda page, result, request: render_layers.wake_up(page, result, explain="explain" in request.extras),
    "identity": lambda page, result, _: render_layers.identity(page, result),
    "artifacts": lambda page, result, _: render_artifacts.artifacts(page, result),
    "history": lambda page, result, _: render_artifacts.history(page, result),
    "correct": lambda page, result, _: render_artifacts.artifacts(page, [result]),
    "retract": lambda page, result, _: render_artifacts.artifacts(page, [result]),
    "records": lambda page, result, _: render_artifacts.records(page, result),
    "intents": lambda page, result, _: render_attention.intents(page, result),
    "answer_intent": lambda page, result, _: render_attention.intents(page, [result]),
    "beliefs": lambda page, result, _: render_attention.beliefs(page, result),
    "window": lambda page, result, _: render_attention.window(page, result),
    "palace": lambda page, result, _: render_attention.palace(page, result),
    "concepts": lambda page, result, _: render_folding.concepts(page, result),
    "concept": lambda page, result, _: render_folding.concept(page, result),
    "fold": lambda page, result, _: render_folding.folded(page, result),
    "journal": lambda page, result, _: render_folding.journal(page, result),
    "unfold": lambda page, result, _: render_folding.journal(page, [result]),
    "show": lambda page, result, _: render.event(page, result),
    "entities": lambda page, result, _: render_graph.entities(page, result),
    "entity": lambda page, result, _: render_graph.entity(page, result),
    "facts": lambda page, result, _: render_graph.facts(page, result),
    "timeline": lambda page, result, _: render_graph.facts(page, result),
    "conflicts": lambda page, result, _: render_graph.facts(page, result),
    "merge": lambda page, result, _: render_graph.entity(page, result),
    "split": lambda page, result, _: render_graph.entity(page, result),
    "edits": lambda page, result, _: render_graph.edits(page, result),
    "undo": lambda page, result, _: render_graph.edits(page, [result]),
    "sessions": lambda page, result, _: render.sessions(page, result),
    "events": lambda page, result, _: render.events(page, result),
    "stats": lambda page, result, _: render.stats(page, result),
    "verify": lambda page, result, _: render.report(page, result),
    "rebuild": _rebuilt,
    "settle": _done,
    "backup": _backed_up,
    "export": _exported,
}


# Importing


def _import(memory: Memory, arguments: dict[str, Any], terminal: Terminal) -> int:
    files: list[dict[str, Any]] = []
    for path in arguments["path"]:
        with progress(terminal, Path(path).name) as report:
            done = IMPORT.run(memory, {**arguments, "path": path, "progress": report})
        files.append({"path": path, **IMPORT.document(done)})
        if not terminal.json_wanted:
            render.imported(terminal.page, done)
    if arguments.get("defer_embeddings"):
        terminal.note("Words are searchable now; vectors and statements follow with: recollect settle")
    if terminal.json_wanted:
        read, added, known = (sum(file[name] for file in files) for name in ("read", "added", "known"))
        terminal.document({"read": read, "added": added, "known": known, "files": files})
    return 0


# Forgetting


def _check_forgetting(request: Request, terminal: Terminal) -> None:
    if request.operation is not FORGET or "yes" in request.extras or request.arguments.get("dry_run"):
        return
    if not terminal.can_ask:
        raise UsageError(
            "What is forgotten can't be brought back, and there is no terminal to ask at.",
            fix="Look with --dry-run, then give --yes.",
        )


def _forget(memory: Memory, arguments: dict[str, Any], request: Request, terminal: Terminal) -> int:
    sure = "yes" in request.extras
    if arguments.get("dry_run") or not sure:
        preview = FORGET.run(memory, {**arguments, "dry_run": True})
        if terminal.json_wanted:
            terminal.document(FORGET.document(preview))
            return 0
        some = [memory.get(id) for id in preview.ids[:_SHOWN_BEFORE_FORGETTING]]
        render.would_go(terminal.page, preview, some)
        if arguments.get("dry_run") or not preview.events:
            return 0
        if not terminal.ask("Forget them for ever?"):
            terminal.page.line("Nothing was forgotten.")
            return 1
    receipt = FORGET.run(memory, arguments)
    if terminal.json_wanted:
        terminal.document(FORGET.document(receipt))
    else:
        render.forgotten(terminal.page, receipt)
    return 0
