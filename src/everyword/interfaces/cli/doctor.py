"""`everyword doctor`: check the installation, the model and the memory, and say how to fix problems."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import asdict

from everyword import __version__
from everyword.errors import EverywordError, ModelDamaged, ModelMissing, StoreBusy, usual_fix
from everyword.interfaces.cli.parser import Request
from everyword.interfaces.cli.results import size
from everyword.interfaces.cli.terminal import Page, Piece, Terminal, bold, green, red, yellow
from everyword.settings import default_path
from everyword.text.terms import count_of

if TYPE_CHECKING:
    from everyword.memory import Memory
    from everyword.models.weights import ModelFiles
    from everyword.storage.protocol import Store
    from everyword.storage.rows import Job

State = Literal["ok", "warning", "problem"]

_PACKAGES = ("apsw", "numpy", "onnxruntime")
_WAL_LARGE_BYTES = 256 * 1024 * 1024  # four times its normal limit: some reader holds it open
_UNREAD_COUNTED = 10_000  # unread events; more are shown as "at least"
_JOBS_COUNTED = 1_000_000  # the most that are counted
_LOCK_WAIT_S = 0.5  # a write takes milliseconds
_CONFLICTS_SHOWN = 5  # facts; `everyword conflicts` lists all
_PATIENCE_S = 2.0  # that a check waits for another process that is writing
_SERVER_WAIT_S = 60  # for an MCP server to start and answer
_QUESTION = "Is everything all right?"


class Check(Struct, frozen=True):
    """The result of one check."""

    name: str
    detail: str
    state: State = "ok"
    fix: str = ""


def _warning(name: str, detail: str, fix: str, *, only_if: bool = True) -> Check:
    return Check(name, detail, "warning", fix) if only_if else Check(name, detail)


def _problem(name: str, detail: str, fix: str) -> Check:
    return Check(name, detail, "problem", fix)


def run(request: Request, terminal: Terminal) -> int:
    """Run all checks and show them; return 1 if there is a problem."""
    location = request.memory or default_path()
    with warnings.catch_warnings():
        # The table shows notices. By base class: importing EverywordNotice needs numpy, which may be broken.
        warnings.simplefilter("ignore", UserWarning)
        checks = list(_checks(request, location))
    ok = all(check.state != "problem" for check in checks)
    if terminal.json_wanted:
        terminal.document({"ok": ok, "checks": [{**asdict(check), "fix": check.fix or None} for check in checks]})
    else:
        _show(terminal.page, checks)
    return 0 if ok else 1


def _checks(request: Request, location: str) -> Iterator[Check]:
    yield Check("everyword", __version__)
    yield Check("python", f"{platform.python_version()} ({platform.system()} {platform.machine()})")
    for package in _PACKAGES:
        yield _package(package)
    yield from _guarded("model", lambda: _model(request.embedder))
    yield from _guarded("tokenizer", _tokenizer)
    yield from _guarded("memory", lambda: _memory(request, location))
    yield from _guarded("assistants", lambda: _assistants(location))


def _guarded(name: str, check: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """Run checks; report an exception as a problem and go on."""
    try:
        yield from check()
    except EverywordError as error:
        yield _problem(name, error.detail, error.fix or usual_fix(type(error)))
    except Exception as error:
        yield _problem(name, f"{type(error).__name__}: {error}", "Please report this line.")


# The installation


def _package(name: str) -> Check:
    from everyword.models.onnx import load_runtime

    try:
        module = load_runtime() if name == "onnxruntime" else import_module(name)
        detail = metadata.version(name)
    except Exception as error:  # a package for another processor may raise anything
        return _problem(name, f"can't be imported ({error})", f"pip install --force-reinstall {name}")
    if name == "apsw":
        detail += f" with SQLite {module.sqlite_lib_version()}"
    return Check(name, detail)


def _assistants(location: str) -> Iterator[Check]:
    """Check the hooks and the MCP server of each coding assistant on this machine."""
    from everyword.interfaces.hooks import install
    from everyword.interfaces.hooks.agents import AGENTS

    set_up: dict[str, Sequence[str]] = {}  # the command of an MCP server, by the memory that it serves
    for name, agent in AGENTS.items():
        if not agent.folder.is_dir():
            continue
        hooks, server = install.hooks_in(agent.hooks_path), install.server_in(agent.servers_path)
        plugin = name == "claude-code" and install.has_plugin()
        found = [f"hooks ({', '.join(hooks)})"] if hooks else []
        found += ["MCP"] if server else []
        found += ["the plugin"] if plugin else []
        if plugin and (hooks or server):
            yield _warning(agent.title, f"has {' and '.join(found)}: twice", "everyword init --undo")
            continue
        yield Check(agent.title, " and ".join(found) or "not set up (everyword init sets it up)")
        if server:
            set_up[server.memory or location] = server.command
            if shutil.which(server.command[0]) is None:
                detail = f"{agent.servers_path}: {server.command[0]} is not there"
                yield _problem("mcp server", detail, "everyword init")
    yield from _hook_memory(set_up)
    for command in {tuple(command): None for command in set_up.values() if shutil.which(command[0])}:
        yield _server_start(command)


def _hook_memory(served: Mapping[str, Sequence[str]]) -> Iterator[Check]:
    """Check that hooks write to the memory that MCP serves, and that they had no errors lately."""
    from everyword.interfaces.hooks.install import status

    found = status()
    if "memory" not in found:
        return
    other = [memory for memory in served if memory != found["memory"]]
    if other:
        yield _warning("hooks", f"save to {found['memory']}, but MCP serves {', '.join(other)}", "everyword init")
    elif found["errors"]:
        yield _warning("hooks", f"last error: {found['errors'][-1]}", f"See {found['log']}")
    else:
        yield Check("hooks", f"save to {found['memory']}; no errors")


def _server_start(command: Sequence[str]) -> Check:
    """Start an MCP server as an assistant does, and wait for its first reply."""
    import json
    import subprocess
    import threading

    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "doctor", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked})
    started = time.perf_counter()
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            limit = threading.Timer(_SERVER_WAIT_S, server.kill)
            limit.start()
            server.stdin.write(f"{line}\n".encode())
            server.stdin.flush()
            reply = server.stdout.readline()
            limit.cancel()
            server.kill()
        version = json.loads(reply)["result"]["serverInfo"]["version"]
    except (OSError, ValueError, LookupError):
        fix = "Run it by hand to see why; the extra is: pip install 'everyword[mcp]'"
        return _problem("mcp server", f"{' '.join(command)} does not answer", fix)
    return Check("mcp server", f"{version}, answers after {time.perf_counter() - started:.1f} s")


def _model(spec: str | None) -> Iterator[Check]:
    from everyword.models.embedders import DEFAULT, load_embedder
    from everyword.models.weights import EVERYWORD_SMALL, find_model

    if spec == "none":
        yield Check("model", "none: only words are searched")
        return
    try:
        embedder = load_embedder(spec)
    except ModelMissing as error:
        told = _warning if spec is None else _problem
        yield told("model", f"{error.detail} Only words are searched.", error.fix or "")
        return
    if embedder is None:
        return
    started = time.perf_counter()
    embedder.question(_QUESTION)
    took = time.perf_counter() - started
    yield Check("model", f"{embedder.card.label}, {embedder.card.dims} dimensions, ready in {took:.2f} s")
    if spec in (None, DEFAULT):
        yield _weights(find_model(EVERYWORD_SMALL))


def _weights(files: ModelFiles) -> Check:
    # Always hash the files here, even if they were verified before.
    for name, path in files.paths.items():
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != files.sha256[name]:
                raise ModelDamaged(
                    f"{path} does not match its pinned SHA-256.", fix="Reinstall the package that holds it."
                )
    bulk = sum(path.stat().st_size for path in files.paths.values())
    folders = ", ".join(sorted({str(path.parent) for path in files.paths.values()}))
    return Check("weights", f"{size(bulk)} in {folders}, SHA-256 as pinned")


def _tokenizer() -> Iterator[Check]:
    from everyword.models.tokenizers import load_tokenizer

    tokenizer = load_tokenizer()
    yield Check("tokenizer", f"{tokenizer.name}: {tokenizer.count(_QUESTION)} tokens in a short question")


# The file


def _memory(request: Request, location: str) -> Iterator[Check]:
    path = Path(location).expanduser()
    is_file = "://" not in location and location != ":memory:"
    if is_file:
        if not path.exists():
            yield _absent(path)
            return
        yield from _file(path)

    from everyword.memory import Memory

    with Memory.open(location, embedder=request.embedder, create=False, busy_timeout_s=_PATIENCE_S) as memory:
        if is_file:
            yield _lock(path)
        yield from _server(memory.scope.engine.store)
        here = memory if request.space is None else memory.space(request.space)
        yield from _contents(here, llm=request.llm is not None)


def _server(store: Store) -> Iterator[Check]:
    """Describe the database server, if there is one, and check that row-level security applies."""
    from everyword.storage.protocol import Workplace

    if not isinstance(store, Workplace):
        return
    server = store.about()
    yield Check("server", f"PostgreSQL {server.version}, pgvector {server.vectors}")
    yield Check("search", f"words by BM25; {server.indexed} spaces have a vector index")
    limited = "every transaction is limited to its space" if server.walled else "does not apply to this user"
    fix = "Connect as a role without SUPERUSER and BYPASSRLS."
    yield _warning("row-level security", limited, fix, only_if=not server.walled)


def _file(path: Path) -> Iterator[Check]:
    length = path.stat().st_size
    yield Check("memory", f"{path} ({size(length)})")
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        yield Check("writable", "yes")
    else:
        yield _warning("writable", "no, the file is read-only", "Check the permissions of the file and its folder.")
    log = Path(f"{path}-wal")
    logged = log.stat().st_size if log.exists() else 0
    fix = "A process has been reading for very long; the log shrinks when it ends."
    yield _warning("write-ahead log", size(logged), fix, only_if=logged > _WAL_LARGE_BYTES)
    free = shutil.disk_usage(path.parent).free
    fix = f"Free some space: forgetting rewrites the file and needs up to {size(2 * length)}."
    yield _warning("disk", f"{size(free)} free", fix, only_if=free < 2 * length)


def _absent(path: Path) -> Check:
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if os.access(folder, os.W_OK) and folder.is_dir():
        return _warning("memory", f"none yet at {path}", 'Create it: everyword add "..."')
    detail = f"none at {path}, and {folder} is not writable"
    return _problem("memory", detail, "Name another file with --memory or EVERYWORD_MEMORY.")


def _lock(path: Path) -> Check:
    from everyword.storage.sqlite.write_lock import Turn

    lock = Path(f"{path}-lock")
    if not lock.exists():
        return Check("lock file", "none; the first write creates it")
    if not os.access(lock, os.W_OK):
        return _problem("lock file", f"{lock} is not writable", "Check its permissions and owner.")
    turn = Turn(lock, _LOCK_WAIT_S)
    try:
        with turn.taken():
            return Check("lock file", "free")
    except StoreBusy:
        return _warning("lock file", "another process is writing", "Wait, or check what that process does.")
    finally:
        turn.close()


def _contents(memory: Memory, *, llm: bool) -> Iterator[Check]:
    stats = memory.stats()
    yield Check("schema", str(stats.schema))
    vectors = f"{stats.vectors:,} vectors of {stats.model}" if stats.model else "no vectors yet"
    yield Check("events", f"{stats.events:,} in space {stats.space}, {vectors}")
    if stats.pending:
        yield from _waiting(memory)
    else:
        yield Check("queue", "empty")
    yield from _conflicts(memory)
    yield from _behind(memory, llm=llm)
    started = time.perf_counter()
    memory.recall(_QUESTION, k=1)
    yield Check("recall", f"answered in {1000 * (time.perf_counter() - started):.0f} ms")
    for notice in memory.notices:
        yield Check("notice", notice, state="warning")
    report = memory.admin.verify(deep=False)
    for problem in report.problems:
        yield _problem("verify", f"{problem.where}: {problem.what}", problem.fix)
    if report.ok:
        yield Check("verify", "quick checks passed; `everyword verify --deep` checks everything")


def _conflicts(memory: Memory) -> Iterator[Check]:
    """List contradicting facts, which only a person can resolve."""
    found = memory.graph.conflicts()
    for fact in found[:_CONFLICTS_SHOWN]:
        claim = f"{fact.subject_name} {fact.relation.replace('_', ' ')} {fact.object_name}"
        yield _warning("conflict", claim, "Add an event that says which is true. everyword conflicts lists all.")
    if not found:
        yield Check("conflicts", "none among the facts")


def _waiting(memory: Memory) -> Iterator[Check]:
    """Describe the queue: kinds of jobs and their last errors."""
    from everyword.storage.rows import EMBED, PLAN, READ, SUMMARISE

    with memory.scope.reader() as reader:
        jobs = reader.jobs_of(after=0, limit=_JOBS_COUNTED)
    with_llm = "everyword settle --llm NAME"
    for kind, what, fix in (
        (EMBED, "event without vectors", "everyword settle"),
        (READ, "event not yet read by an LLM, only by the reader", with_llm),
        (SUMMARISE, "session not yet summarised by an LLM", with_llm),
        (PLAN, "change of concepts not yet worded by an LLM", with_llm),
    ):
        same_kind = [job for job in jobs if job.kind == kind]
        if same_kind:
            yield _warning("queue", _describe_jobs(same_kind, what), fix)


def _behind(memory: Memory, *, llm: bool) -> Iterator[Check]:
    """Report derived data that lags behind the log, and events that no LLM has read though there is one."""
    from everyword.jobs.deriver import WORDS, lag

    with memory.scope.reader() as reader:
        not_yet = lag(reader)
        refused = reader.refusals()
        unread = 0
        if llm:
            from everyword.types.events import PROGRAMS
            from everyword.types.trust import UNVOUCHED

            roles = sorted(PROGRAMS)
            unread = len(reader.unread(but_roles=roles, but_sources=UNVOUCHED, limit=_UNREAD_COUNTED))
    for what, count in not_yet.items():
        events = count_of(count, "event")
        if what == WORDS:
            detail = f"of {events} indexed by an older version; new search features do not cover them yet"
            yield _warning(what, detail, "everyword settle")
        else:
            yield Check(what, f"{events} behind; they catch up before they are read")
    if refused:
        detail = f"{refused:,} results of an LLM were rejected, since no event supports them"
        yield Check("refused", detail)
    if unread:
        least = "at least " if unread == _UNREAD_COUNTED else ""
        detail = f"{least}{count_of(unread, 'event')} from before an LLM was set; only the reader read them"
        yield Check("llm", detail, fix="Memory.open(..., llm_read_past=100) and settle() read the newest 100.")


def _describe_jobs(jobs: Sequence[Job], what: str) -> str:
    noun, _, rest = what.partition(" ")
    detail = f"{count_of(len(jobs), noun)} {rest}"
    failed = [job for job in jobs if job.error]
    if not failed:
        return detail
    worst = max(failed, key=lambda job: job.attempts)
    if not worst.attempts:  # it failed when the event was written
        return f"{detail}: {worst.error}"
    return f"{detail}; tried {count_of(worst.attempts, 'time')}, last: {worst.error}"


# Showing


def _show(page: Page, checks: Sequence[Check]) -> None:
    looks = {"ok": green, "warning": yellow, "problem": red}
    rows: list[tuple[Piece, Piece, Piece]] = []
    for check in checks:
        rows.append((looks[check.state](check.state), bold(check.name), check.detail))
        if check.fix:
            rows.append(("", "", green(f"→ {check.fix}")))
    page.table(("", "check", "result"), rows)
    page.gap()
    warned, failed = (sum(check.state == state for check in checks) for state in ("warning", "problem"))
    if failed:
        page.line(red(count_of(failed, "problem")), f", {count_of(warned, 'warning')}" if warned else "")
    elif warned:
        page.line(yellow(count_of(warned, "warning")), ", no problems")
    else:
        page.line(green("No problems."))
