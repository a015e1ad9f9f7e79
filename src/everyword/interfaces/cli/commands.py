"""Run a verb of the command line: open the memory, run its operation, show the result."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec.structs import asdict

from everyword.api.arguments import NO_LIMIT, EventConditions
from everyword.engine.encoding import EverywordNotice
from everyword.engine.retry import when_there
from everyword.errors import EverywordError, InvalidInput, InvalidTime, StoreUnreachable
from everyword.interfaces.cli import results
from everyword.interfaces.cli.parser import STANDARD_INPUT, Request, UsageError
from everyword.interfaces.cli.terminal import Page, Terminal
from everyword.interfaces.operations import BY_NAME, Operation
from everyword.interfaces.operations.parameters import TIME
from everyword.memory import Memory
from everyword.private_files import make_folder_of
from everyword.settings import Settings, default_path
from everyword.storage.copy import copy_store
from everyword.storage.opening import open_store
from everyword.text.terms import count_of
from everyword.text.written_times import UnclearOrder, read_time
from everyword.types.events import SHORTEST_ID, Answer, Context, Event, Imported
from everyword.types.intents import Intent, WakeUp, Window
from everyword.types.serialization import to_json
from everyword.types.service import ApiKey
from everyword.types.statements import Statement
from everyword.types.times import Zone, in_zone, shown_in, utc_now, zone_of

_TOPIC = 2  # the layer of a wake-up's lines about its topic
_ID_DIGITS = 32  # of a whole id
_FORGET_PREVIEW = 5  # events: enough to notice a mistake
_TIMES = "Write it as 2026-04-02, 2026-04-02T10:00+01:00, yesterday, last Monday or 3 days ago."
_SIGNAL_CHECK_S = 1.0  # how soon a signal is noticed on systems where it does not end a wait
_WAIT_FOR_SERVER_S = 60.0  # both may start together; after that, a supervisor may restart us


# What lists the things whose id a verb takes.
_LISTED_BY: dict[str, Callable[[Memory], Sequence[Statement | Intent]]] = {
    **dict.fromkeys(("history", "correct", "retract"), lambda memory: memory.statements(status="any")),
    "answer_intent": lambda memory: memory.intents.list(status="any", limit=NO_LIMIT),
}


def run(request: Request, terminal: Terminal) -> int:
    """Run the verb; return the exit code."""
    operation = request.operation
    results.show_times_in(zone_of(request.tz))
    terminal.page.explain = "explain" in request.extras
    with _notices_as_notes(terminal):
        if own := _OWN.get(operation.name):
            return own(request, terminal)
        arguments = _with_times(request, _with_standard_input(request))
        _check_forget_is_confirmed(request, terminal)
        _note_unused_scope(request, terminal)
        with _open_memory(request) as memory:
            if operation.name == "forget":
                return _forget(memory, arguments, request, terminal)
            if operation.name == "import":
                if "watch" in request.extras:
                    return _watch_files(memory, arguments, terminal)
                return _import(memory, arguments, terminal)
            arguments = _with_whole_id(memory, operation, arguments)
            if operation.name == "ask" and request.llm and not terminal.json_wanted:
                # Streamed to standard error; the final answer, with checked citations, goes to standard output.
                arguments["on_text"] = terminal.say_piece
            if operation.progress:
                with terminal.progress(operation.name) as report:
                    result = operation.run(memory, {**arguments, "progress": report})
            else:
                result = operation.run(memory, arguments)
            if operation.name == "events":
                result = _empty_or_all(result)
            _explain_nothing(memory, request, arguments, result, terminal)
            return _show(result, request, terminal)


@contextmanager
def _open_memory(request: Request) -> Generator[Memory]:
    """Open the memory of a request. Only operations that write create a missing one."""
    creates = request.operation.creates
    location = request.memory or default_path()
    if creates and not request.memory:
        make_folder_of(location)
    with Memory.open(
        location, embedder=request.embedder, llm=request.llm, reranker=request.reranker, create=creates
    ) as memory:
        handle = memory if request.space is None else memory.space(request.space)
        takes_wing = request.operation.parameter("wing") is not None
        yield handle if request.wing is None or takes_wing else handle.wing(request.wing)


@contextmanager
def _notices_as_notes(terminal: Terminal) -> Generator[None]:
    """Show notices of the library as notes instead of Python warnings."""
    with warnings.catch_warnings():
        show_warning = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, EverywordNotice):
                terminal.note(str(message))
            else:
                show_warning(message, category, *where, **more)

        warnings.simplefilter("always", EverywordNotice)
        warnings.showwarning = show
        yield


def _with_standard_input(request: Request) -> dict[str, Any]:
    arguments, parameters = dict(request.arguments), request.operation.parameters
    given = [one for one in parameters if one.name in arguments]
    if two := next((one for one in given if one.fills in arguments), None):
        raise UsageError(f"Give either {two.fills} or --{two.name}.")
    for parameter in parameters:
        is_left_out = parameter.required and parameter.name not in [one.argument for one in given]
        if parameter.from_stdin and (is_left_out or arguments.get(parameter.name) == STANDARD_INPUT):
            text = _read_standard_input(parameter.name)
            try:
                arguments[parameter.name] = parameter.kind.parse(text)
            except ValueError as error:
                raise InvalidInput(f"{parameter.name}: {error}.") from error
    return arguments


def _with_whole_id(memory: Memory, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
    """Complete the id of a statement or intent of which only the first digits are given."""
    start, listed = arguments.get("id", ""), _LISTED_BY.get(operation.name)
    if listed is None or not SHORTEST_ID <= len(start.partition("_")[2]) < _ID_DIGITS:
        return arguments
    found = [one.id for one in listed(memory) if one.id.startswith(start)]
    if len(found) > 1:
        raise InvalidInput(f"{len(found)} ids begin with {start!r}.", fix="Give more of its digits.")
    return {**arguments, "id": found[0]} if found else arguments


def _with_times(request: Request, arguments: dict[str, Any]) -> dict[str, Any]:
    """Read times in the user's zone, in words too."""
    operation, zone = request.operation, zone_of(request.tz)
    if operation.parameter("tz") is not None:
        arguments["tz"] = request.tz
    for parameter in operation.parameters:
        if parameter.kind is TIME and parameter.name in arguments:
            arguments[parameter.name] = _time(arguments[parameter.name], parameter.name, zone)
    return arguments


def _time(text: str, name: str, zone: Zone) -> datetime:
    """Read a time as written, or in words: yesterday, last Monday, 3 days ago; of a span, its start."""
    with suppress(ValueError):
        return in_zone(datetime.fromisoformat(text.strip()), zone)
    try:
        read = read_time(text, shown_in(utc_now(), zone), past=None if name == "until" else True)
    except ValueError as error:
        why = str(error) if isinstance(error, UnclearOrder) else f"{text[:80]!r} is not a time"
        raise InvalidTime(f"{name}: {why}.", fix=_TIMES) from error
    return in_zone(read.replace(tzinfo=None), zone)


def _read_standard_input(name: str) -> str:
    stream = sys.stdin
    if stream is None or stream.isatty():  # pyright: ignore[reportUnnecessaryComparison]  it may be closed
        raise UsageError(f"Missing argument {name}.", fix="Give it as an argument, or pipe it in.")
    try:
        text = stream.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"Standard input is not UTF-8 ({error.reason} at byte {error.start}).", fix="Convert it first."
        ) from error
    # Drop the final line break, which tools add.
    return text.removesuffix("\n").removesuffix("\r")


def _note_unused_scope(request: Request, terminal: Terminal) -> None:
    operation = request.operation
    if operation.scope == "file" and (request.space, request.wing) != (None, None):
        terminal.note(f"{operation.name} concerns the whole file; --space and --wing are ignored.")
    elif operation.scope == "space" and request.wing is not None:
        terminal.note(f"{operation.name} concerns the whole space; --wing is ignored.")


# Results


def _show(result: Any, request: Request, terminal: Terminal) -> int:
    operation = request.operation
    if not terminal.json_wanted:
        if view := _REQUEST_VIEWS.get(operation.name):
            view(terminal.page, result, request)
        else:
            results.VIEWS[operation.name](terminal.page, result)
        if note := _NOTES.get(operation.name):
            terminal.note(note(result))
        if operation.name == "recall" and not terminal.page.for_people and (sure := results.sureness_of(result)):
            terminal.note(sure.text)
    elif operation.name == "events":
        terminal.document_of(operation.result, map(to_json, result))
    else:
        terminal.document(operation.document(result))
    return 1 if operation.name == "verify" and not result.ok else 0


def _exported(page: Page, result: int, request: Request) -> None:
    for name, what in (("path", "events"), ("wiki", "notes"), ("graph", "nodes and edges")):
        if where := request.arguments.get(name):
            page.line(f"wrote {result:,} {what} to {where}")


def _backed_up(page: Page, _result: None, request: Request) -> None:
    path = request.arguments["path"]
    page.line(f"wrote {path} ({results.size(os.path.getsize(os.path.expanduser(path)))})")


# Views that depend on the request; results.VIEWS has the others.
_REQUEST_VIEWS: dict[str, Callable[[Page, Any, Request], None]] = {
    "rebuild": lambda page, _, request: page.line(
        "rebuilt words and vectors" if request.arguments.get("vectors", True) else "rebuilt the word index"
    ),
    "backup": _backed_up,
    "export": _exported,
    "webhooks remove": lambda page, _, request: page.line(f"removed {request.arguments['id']}"),
}
_NOTES: dict[str, Callable[[Any], str]] = {
    "keys create": lambda made: (
        f"The key is shown only once. Send it as: Authorization: Bearer KEY\n{_opened(made.key)}"
    ),
    "webhooks add": lambda _: "The secret is shown only once. It signs the deliveries (Standard Webhooks).",
}


def _opened(key: ApiKey) -> str:
    where = "every space" if key.everywhere else " and ".join(key.spaces)
    return f"Permission: {key.permission.value}, in {where}."


# Why nothing was found

_NAMES = ("session", "speaker", "wing", "role", "source")  # conditions on events that take any name
_TAGS_NAMED = 8  # the most frequent; `stats` counts them


def _explain_nothing(
    memory: Memory, request: Request, arguments: dict[str, Any], result: Any, terminal: Terminal
) -> None:
    """Say why nothing was found, where a condition that takes any value has one that nothing has."""
    if isinstance(result, Context | Window) and not result.text and "budget" in arguments:
        with_default = request.operation.run(
            memory, {name: given for name, given in arguments.items() if name != "budget"}
        )
        if with_default.text:
            tokens = count_of(result.budget, "token")
            raise InvalidInput(f"A budget of {tokens} is too small for any line.", fix="Give a larger --budget.")
    topic = arguments.get("topic")
    if isinstance(result, WakeUp) and topic and all(line.layer != _TOPIC for line in result.lines):
        terminal.note(f"Nothing that lasts is known of {topic!r}; recall searches all events.")
    elif _is_empty(result) or isinstance(result, WakeUp):  # which also tells what other wings know
        for reason in _reasons(memory, request, arguments):
            terminal.note(reason)


def _empty_or_all(listed: Iterator[Event]) -> Iterator[Event] | list[Event]:
    """Make an empty list of an iterator that gives nothing."""
    first = list(islice(listed, 1))
    return chain(first, listed) if first else first


def _is_empty(result: Any) -> bool:
    if isinstance(result, Context):
        return not result.citations
    return not result.answered if isinstance(result, Answer) else isinstance(result, list) and not result


def _reasons(memory: Memory, request: Request, arguments: dict[str, Any]) -> Iterator[str]:
    """Name each condition that no event meets."""
    counted = memory.stats()
    if not counted.events:
        yield "There are no events here. Check --memory and --space, or add some."
        return
    if request.wing is not None:
        arguments = {**arguments, "wing": request.wing}
    for name in _NAMES:
        given: str | list[str] = arguments.get(name, [])
        for value in [given] if isinstance(given, str) else given:
            which: EventConditions = {name: value}  # type: ignore[misc]  # checked by the memory
            if not value.startswith("!") and not _has_events(memory, which):
                yield f"No event has the {name} {value!r}."
    if "tag" in arguments and arguments["tag"] not in (tags := counted.tags):
        some = ", ".join(islice(tags, _TAGS_NAMED))
        yield f"No event has the tag {arguments['tag']!r}." + (f" The most frequent tags are {some}." if some else "")
    # Facts have two times: when they hold, and when they were known.
    moment = arguments.get("known_at" if request.operation.name == "facts" else "as_of")
    if moment is not None and not _has_events(memory, {"as_of": moment}):
        until = "; to leave out what happened later, use --until" if request.operation.parameter("until") else ""
        yield f"Nothing was recorded by {results.when(moment)}{until}."


def _has_events(memory: Memory, which: EventConditions) -> bool:
    return next(memory.events(limit=1, **which), None) is not None


# Import


def _import(memory: Memory, arguments: dict[str, Any], terminal: Terminal) -> int:
    files: list[dict[str, Any]] = []
    for path in arguments["path"]:
        with terminal.progress(Path(path).name) as report:
            done = BY_NAME["import"].run(memory, {**arguments, "path": path, "progress": report})
        files.append({"path": path, **BY_NAME["import"].document(done)})
        if not terminal.json_wanted:
            results.imported(terminal.page, done)
    is_left = sum(file["added"] for file in files) or memory.stats().pending  # perhaps by an interrupted import
    if is_left and not arguments.get("wait"):
        with terminal.progress("indexing") as report:
            memory.admin.settle(progress=report)
    if terminal.json_wanted:
        read, added, known = (sum(file[name] for file in files) for name in ("read", "added", "known"))
        terminal.document({"read": read, "added": added, "known": known, "files": files})
    return 0


def _watch_files(memory: Memory, arguments: dict[str, Any], terminal: Terminal) -> int:
    """Import files as they grow, each path in a thread, until told to stop."""
    paths: list[str] = arguments["path"]
    options: dict[str, Any] = {name: value for name, value in arguments.items() if name not in ("path", "again")}
    for path in paths if arguments.get("again") else ():
        memory.import_events(path, again=True, **options)
    stop, showing = threading.Event(), threading.Lock()
    failed: list[EverywordError] = []

    def follow(path: str) -> None:
        try:
            for found in memory.admin.follow(path, stop=stop, **options):
                with showing:
                    _show_followed(terminal, path, found)
        except EverywordError as error:
            failed.append(error)
            stop.set()

    threads = [threading.Thread(target=follow, args=(path,), name=f"everyword-watch-{path}") for path in paths]
    with _stop_on_signals(stop):
        for thread in threads:
            thread.start()
        terminal.note(f"Watching {', '.join(paths)}; stop with Ctrl-C.")
        while not stop.wait(_SIGNAL_CHECK_S):
            pass
        for thread in threads:  # each finishes its current batch
            thread.join()
    if failed:
        raise failed[0]
    return 0


@contextmanager
def _stop_on_signals(stop: threading.Event) -> Generator[None]:
    def set_stop(number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)  # the second ends the process at once

    before = {number: signal.signal(number, set_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show_followed(terminal: Terminal, path: str, found: Imported | EverywordError) -> None:
    if isinstance(found, EverywordError):
        terminal.error(found)
    elif terminal.json_wanted:
        terminal.document({"path": path, "imported": to_json(found)})
    else:
        results.imported(terminal.page, found)
    terminal.flush()


# Watch


def _watch(request: Request, terminal: Terminal) -> int:
    """Print changes until the requested number has come, or until interrupted."""
    options = dict(request.arguments)
    count: int | None = options.pop("count", None)
    if not terminal.json_wanted:
        terminal.note("watching; stop with Ctrl-C")
    with _open_memory(request) as memory:
        for kind, one in islice(memory.watch(**options), count):
            if terminal.json_wanted:
                terminal.document({kind: to_json(one)})
            else:
                results.news(terminal.page, kind, one)
            terminal.flush()
    return 0


# Forget


def _check_forget_is_confirmed(request: Request, terminal: Terminal) -> None:
    if request.operation.name != "forget" or "yes" in request.extras or request.arguments.get("dry_run"):
        return
    says_what = request.arguments.keys() - {"dry_run", "scrub"}  # else the memory refuses, whatever is confirmed
    if says_what and not terminal.can_ask:
        raise UsageError(
            "Forgetting can't be undone, and there is no terminal to confirm it.",
            fix="Preview with --dry-run, then confirm with --yes.",
        )


def _forget(memory: Memory, arguments: dict[str, Any], request: Request, terminal: Terminal) -> int:
    dry_run: bool = arguments.get("dry_run", False)
    if dry_run or "yes" not in request.extras:
        preview = request.operation.run(memory, {**arguments, "dry_run": True})
        if terminal.json_wanted:
            return _show(preview, request, terminal)
        results.forget_preview(terminal.page, preview, [memory.get(id) for id in preview.ids[:_FORGET_PREVIEW]])
        if dry_run or not preview.events:
            return 0
        if not terminal.ask("Forget them permanently?"):
            terminal.page.line("Nothing was forgotten.")
            return 1
    return _show(request.operation.run(memory, arguments), request, terminal)


# Verbs that only the command line has


def _sync(request: Request, terminal: Terminal) -> int:
    """Sync a folder of notes."""
    from everyword.interfaces.cli.sync import sync  # only this verb needs it

    folder = request.arguments["folder"]
    with _open_memory(request) as memory, terminal.progress(folder) as report:
        done = sync(memory, Path(folder), tz=request.tz)
        memory.admin.settle(progress=report)
    if terminal.json_wanted:
        terminal.document({**asdict(done), "written": len(done.written)})
        return 0
    terminal.page.line(
        f"{done.notes:,} notes: {done.added:,} new events, {done.corrected:,} corrected, "
        f"{done.retracted:,} taken back; wrote {len(done.written):,}"
    )
    for one in done.left:
        terminal.note(one)
    return 0


def _migrate(request: Request, terminal: Terminal) -> int:
    """Copy a memory."""
    with (
        closing(open_store(request.arguments["source"], Settings(), create=False)) as old,
        closing(open_store(request.arguments["target"], Settings(), unfinished=True)) as new,
        terminal.progress("migrate") as report,
    ):
        copied = copy_store(old, new, report)
        source, target = old.location, new.location
    if terminal.json_wanted:
        terminal.document({"rows": copied.rows, "tables": dict(copied.tables), "resumed": copied.resumed})
    else:
        resumed = " (resumed an interrupted copy)" if copied.resumed else ""
        terminal.page.line(f"copied {copied.rows:,} rows from {source} to {target}{resumed}; all compared")
    return 0


def _worker(request: Request, terminal: Terminal) -> int:
    """Run queued work until told to stop."""
    once: bool = request.arguments.get("once", False)
    if not request.memory:
        raise InvalidInput("No memory given.", fix="Give --memory postgresql://... or set EVERYWORD_MEMORY.")
    open_memory = partial(Memory.open, request.memory, embedder=request.embedder, llm=request.llm, create=False)
    stop = threading.Event()
    with _stop_on_signals(stop):
        try:
            memory = open_memory()
        except StoreUnreachable as error:
            if once:
                raise
            terminal.note(f"waiting for the server, {_WAIT_FOR_SERVER_S:g} s at most: {error}")
            memory = when_there(open_memory, within_s=_WAIT_FOR_SERVER_S, stop=stop)
            if memory is None:  # told to stop before the server answered
                return 0
        with memory:
            terminal.note(f"working on {memory.location}")
            done = memory.admin.work(
                once=once, stop=stop, on_done=lambda space, count: terminal.note(f"{space}: {count:,} done")
            )
    terminal.page.line(f"done: {done:,}")
    return 0


_OWN = {"watch": _watch, "sync": _sync, "migrate": _migrate, "worker": _worker}
