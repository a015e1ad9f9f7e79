"""`recollect doctor`: look at the installation, the file and the model, and say what to do about what is not well."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recollect import __version__
from recollect.cli.page import Column, Page, Style, Styled
from recollect.cli.parser import Request
from recollect.cli.render import size
from recollect.cli.terminal import Terminal
from recollect.core.errors import ModelDamaged, ModelMissing, RecollectError, StoreBusy

if TYPE_CHECKING:
    from recollect.inference.weights import ModelFiles
    from recollect.memory import Memory
    from recollect.store.protocol import Job

State = Literal["ok", "warning", "problem"]

_PACKAGES = ("apsw", "numpy", "onnxruntime", "tokenizers")
_WAL_LARGE_BYTES = 256 * 1024 * 1024  # four times what a write-ahead log is cut back to: some reader never lets go
_UNREAD_COUNTED = 10_000  # events that no LLM has read; more are told as at least so many
_JOBS_COUNTED = 1_000_000  # of a queue; a longer one is told as so many
_LOCK_WAIT_S = 0.5  # a turn to write takes milliseconds
_CONFLICTS_SHOWN = 5  # facts; `recollect conflicts` lists all
_QUESTION = "Is everything all right?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    detail: str
    state: State = "ok"
    fix: str = ""


def doctor(request: Request, location: str, terminal: Terminal) -> int:
    """Look at everything, show it, and fail if there is a problem."""
    with _notices_kept_quiet():
        checks = list(_checks(request, location))
    ok = all(check.state != "problem" for check in checks)
    if terminal.json_wanted:
        terminal.document({"ok": ok, "checks": [_to_json(check) for check in checks]})
    else:
        _show(terminal.page, checks)
    return 0 if ok else 1


def _checks(request: Request, location: str) -> Iterator[Check]:
    yield Check(name="recollect", detail=__version__)
    yield Check(name="python", detail=f"{platform.python_version()} ({platform.system()} {platform.machine()})")
    for package in _PACKAGES:
        yield _package(package)
    yield from _guarded("model", lambda: _model(request.embedder))
    yield from _guarded("tokenizer", _tokenizer)
    yield from _guarded("memory", lambda: _memory(request, location))


def _guarded(name: str, look: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """Whatever fails is itself a finding; what comes after it is still looked at."""
    try:
        yield from look()
    except RecollectError as error:
        detail, fix = _said(error)
        yield Check(name=name, detail=detail, state="problem", fix=fix)
    except Exception as error:
        yield Check(
            name=name, detail=f"{type(error).__name__}: {error}", state="problem", fix="Please report this line."
        )


def _said(error: RecollectError) -> tuple[str, str]:
    """Part what happened from what to do, which many a message says in its second half."""
    if error.fix:
        return error.detail, error.fix
    parting = re.search(r"[.;] ", error.detail)
    if parting is None:
        return error.detail, ""
    fix = error.detail[parting.end() :]
    return error.detail[: parting.start()], f"{fix[:1].upper()}{fix[1:]}"


# The installation


def _package(name: str) -> Check:
    from recollect.inference.sessions import load_runtime

    try:
        module = load_runtime() if name == "onnxruntime" else import_module(name)
        detail = metadata.version(name)
    except Exception as error:  # a package for another processor fails in its own way
        return Check(
            name=name,
            detail=f"can't be imported ({error})",
            state="problem",
            fix=f"pip install --force-reinstall {name}",
        )
    if name == "apsw":
        detail += f" with SQLite {module.sqlite_lib_version()}"
    return Check(name=name, detail=detail)


def _model(spec: str | None) -> Iterator[Check]:
    from recollect.inference.registry import DEFAULT, load_embedder
    from recollect.inference.weights import COLBERT_SMALL, find_model

    if spec == "none":
        yield Check(name="model", detail="none: words are searched alone")
        return
    try:
        embedder = load_embedder(spec)
    except ModelMissing as error:
        yield Check(
            name="model",
            detail=f"{error.detail} Words are searched alone.",
            state="warning" if spec is None else "problem",
            fix=error.fix or "",
        )
        return
    if embedder is None:
        return
    started = time.perf_counter()
    embedder.question(_QUESTION)
    took = time.perf_counter() - started
    yield Check(name="model", detail=f"{embedder.card.label}, {embedder.card.dims} dimensions, ready in {took:.2f} s")
    if spec in (None, DEFAULT):
        yield _weights(find_model(COLBERT_SMALL))


def _weights(files: ModelFiles) -> Check:
    # Hashed here even if the files were trusted before: this is the place to doubt them.
    for name, path in files.paths.items():
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != files.sha256[name]:
                raise ModelDamaged(
                    f"{path} is not the file that was pinned.", fix="Reinstall the package that holds it."
                )
    bulk = sum(path.stat().st_size for path in files.paths.values())
    folders = ", ".join(sorted({str(path.parent) for path in files.paths.values()}))
    return Check(name="weights", detail=f"{size(bulk)} in {folders}, SHA-256 as pinned")


def _tokenizer() -> Iterator[Check]:
    from recollect.inference.tokens import load_tokenizer

    tokenizer = load_tokenizer()
    yield Check(name="tokenizer", detail=f"{tokenizer.name}: {tokenizer.count(_QUESTION)} tokens in a short question")


# The file


def _memory(request: Request, location: str) -> Iterator[Check]:
    path = Path(location).expanduser()
    is_file = "://" not in location and location != ":memory:"
    if is_file:
        if not path.exists():
            yield _absent(path)
            return
        yield from _file(path)

    from recollect.memory import Memory

    with Memory.open(location, embedder=request.embedder, create=False) as memory:
        if is_file:
            yield _lock(path)
        elif "://" in location:
            yield from _server(location)
        here = memory if request.space is None else memory.space(request.space)
        yield from _contents(here, location, llm=request.llm is not None)


def _server(location: str) -> Iterator[Check]:
    """Say what a database server is, and whether it keeps tenants apart by itself."""
    from recollect.core.settings import Settings
    from recollect.store.opening import open_store
    from recollect.store.working import Workplace

    with closing(open_store(location, Settings(read_only=True), create=False)) as store:
        if not isinstance(store, Workplace):
            return
        server = store.about()
    yield Check(name="server", detail=f"PostgreSQL {server.version}, pgvector {server.vectors}")
    yield Check(name="search", detail=f"words by our own BM25; {server.indexed} spaces have an index of vectors")
    if server.walled:
        yield Check(name="wall", detail="the server keeps every transaction to its space")
    else:
        yield Check(
            name="wall",
            detail="this user is not bound by row-level security",
            state="warning",
            fix="Connect as a role without SUPERUSER and BYPASSRLS.",
        )


def _file(path: Path) -> Iterator[Check]:
    yield Check(name="memory", detail=f"{path} ({size(path.stat().st_size)})")
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        yield Check(
            name="writable",
            detail="it can be read only",
            state="warning",
            fix="Check the permissions of the file and its folder.",
        )
    else:
        yield Check(name="writable", detail="yes")
    yield _write_ahead_log(path)
    yield _free_space(path)


def _absent(path: Path) -> Check:
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not os.access(folder, os.W_OK) or not folder.is_dir():
        return Check(
            name="memory",
            detail=f"there is none at {path}, and {folder} can't be written",
            state="problem",
            fix="Name another file with --memory or RECOLLECT_MEMORY.",
        )
    return Check(
        name="memory", detail=f"there is none yet at {path}", state="warning", fix='Make it: recollect add "..."'
    )


def _write_ahead_log(path: Path) -> Check:
    log = Path(f"{path}-wal")
    length = log.stat().st_size if log.exists() else 0
    if length > _WAL_LARGE_BYTES:
        return Check(
            name="write-ahead log",
            detail=size(length),
            state="warning",
            fix="Some process reads for very long; it shrinks when that one ends.",
        )
    return Check(name="write-ahead log", detail=size(length))


def _free_space(path: Path) -> Check:
    free, needed = shutil.disk_usage(path.parent).free, 2 * path.stat().st_size
    if free < needed:
        return Check(
            name="disk",
            detail=f"{size(free)} free",
            state="warning",
            fix=f"Forgetting rewrites the file and needs up to {size(needed)}.",
        )
    return Check(name="disk", detail=f"{size(free)} free")


def _lock(path: Path) -> Check:
    from recollect.store.sqlite.turn import Turn

    lock = Path(f"{path}-lock")
    if not lock.exists():
        return Check(name="lock file", detail="none; the first write makes it")
    if not os.access(lock, os.W_OK):
        return Check(
            name="lock file", detail=f"{lock} can't be written", state="problem", fix="Check its permissions and owner."
        )
    turn = Turn(lock, _LOCK_WAIT_S)
    try:
        with turn.taken():
            return Check(name="lock file", detail="free")
    except StoreBusy:
        holders = _holders(lock)
        who = f"process {', '.join(map(str, holders))}" if holders else "another process"
        return Check(
            name="lock file", detail=f"{who} is writing", state="warning", fix="Wait, or see what that process does."
        )
    finally:
        turn.close()


def _holders(lock: Path) -> list[int]:
    """Read who holds a lock, where the system tells (Linux)."""
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    inode = str(lock.stat().st_ino)
    fields = [line.split() for line in lines if "->" not in line]
    holders = {int(field[4]) for field in fields if len(field) > 5 and field[5].rpartition(":")[2] == inode}
    return sorted(pid for pid in holders if pid not in (0, os.getpid()))


def _contents(memory: Memory, location: str, *, llm: bool) -> Iterator[Check]:
    stats = memory.stats()
    yield Check(name="schema", detail=str(stats.schema))
    vectors = f"{stats.vectors:,} vectors of {stats.model}" if stats.model else "no vectors yet"
    yield Check(name="events", detail=f"{stats.events:,} in space {stats.space}, {vectors}")
    if stats.pending:
        yield from _waiting(location, stats.space)
    else:
        yield Check(name="waiting", detail="nothing")
    yield from _conflicts(memory)
    yield from _behind(location, stats.space, llm=llm)
    started = time.perf_counter()
    memory.recall(_QUESTION, k=1)
    yield Check(name="recall", detail=f"answered in {1000 * (time.perf_counter() - started):.0f} ms")
    for notice in memory.notices:
        yield Check(name="notice", detail=notice, state="warning")
    report = memory.verify(deep=False)
    for problem in report.problems:
        yield Check(name="verify", detail=f"{problem.where}: {problem.what}", state="problem", fix=problem.fix)
    if report.ok:
        yield Check(name="verify", detail="quick checks passed; `recollect verify --deep` looks at everything")


def _conflicts(memory: Memory) -> Iterator[Check]:
    """Name what was said both ways of one time: only a person can decide."""
    found = memory.conflicts()
    for fact in found[:_CONFLICTS_SHOWN]:
        yield Check(
            name="conflict",
            detail=f"{fact.subject_name} {fact.relation.replace('_', ' ')} {fact.object_name}",
            state="warning",
            fix="Say which holds, in an event of its own; recollect conflicts shows all.",
        )
    if not found:
        yield Check(name="conflicts", detail="none among the facts")


def _waiting(location: str, space: str) -> Iterator[Check]:
    """Say what waits, for what, and what went wrong with it last."""
    from recollect.core.settings import Settings
    from recollect.store.artifacts import READ
    from recollect.store.opening import open_store
    from recollect.store.protocol import EMBED
    from recollect.store.written import PLAN, SUMMARISE

    with closing(open_store(location, Settings(read_only=True), create=False)) as store, store.reader() as reader:
        jobs = [job for job in reader.jobs(limit=_JOBS_COUNTED) if job.space == space]
    with_llm = "Open it with llm=... and call settle()."
    for kind, what, fix in (
        (EMBED, "event for vectors", "recollect settle"),
        (READ, "event to be read by an LLM; rules have read them", with_llm),
        (SUMMARISE, "session to be summarised by an LLM; rules have summarised them", with_llm),
        (PLAN, "change of concepts to be worded by an LLM; rules have worded them", with_llm),
    ):
        those = [job for job in jobs if job.kind == kind]
        if those:
            yield Check(name="waiting", detail=_queue_in_words(those, what), state="warning", fix=fix)


def _behind(location: str, space: str, *, llm: bool) -> Iterator[Check]:
    """Say what is behind the log, and how many events no LLM has read though there is one."""
    from recollect.core.settings import Settings
    from recollect.engine.behind import WORDS, behind
    from recollect.store.opening import open_store
    from recollect.store.protocol import IN_MEMORY

    if location == IN_MEMORY:
        return
    with closing(open_store(location, Settings(read_only=True), create=False)) as store, store.reader() as reader:
        not_yet = behind(reader, space)
        refused = reader.refusals(space)
        unread = 0
        if llm:
            from recollect.core.trust import UNVOUCHED
            from recollect.extract.llm.scene import NOT_FOR_LLM

            roles = sorted(NOT_FOR_LLM)
            unread = len(reader.unread(space, but_roles=roles, but_sources=UNVOUCHED, limit=_UNREAD_COUNTED))
    for what, count in not_yet.items():
        events = f"{count:,} event{'s' if count > 1 else ''}"
        detail = f"not yet derived of {events}; each write does some of it"
        if what == WORDS:
            detail = f"of {events}, indexed by an older version and found as before; not yet by what is new"
        yield Check(name=what, detail=detail, state="warning", fix="recollect settle")
    if refused:
        detail = f"{refused:,} of what was read or written was refused: nobody had said it"
        yield Check(name="refused", detail=detail)
    if unread:
        least = "at least " if unread == _UNREAD_COUNTED else ""
        detail = (
            f"{least}{unread:,} event{'s' if unread > 1 else ''} from before there was an LLM: rules alone read them"
        )
        yield Check(
            name="llm", detail=detail, fix="Memory.open(..., llm_read_past=100) and settle() reads the newest 100."
        )


def _queue_in_words(jobs: Sequence[Job], what: str) -> str:
    noun, _, rest = what.partition(" ")
    detail = f"{len(jobs):,} {noun}{'s wait' if len(jobs) > 1 else ' waits'} {rest}"
    failed = [job for job in jobs if job.error]
    if not failed:
        return detail
    worst = max(failed, key=lambda job: job.attempts)
    if not worst.attempts:  # since the event was written, when it failed
        return f"{detail}: {worst.error}"
    return f"{detail}; tried {worst.attempts} time{'s' if worst.attempts > 1 else ''}, last: {worst.error}"


# Showing


def _show(page: Page, checks: Sequence[Check]) -> None:
    looks: dict[State, Style] = {"ok": "good", "warning": "warning", "problem": "bad"}
    page.table(
        (Column(""), Column("what", style="strong"), Column("found"), Column("what to do")),
        [(Styled(check.state, looks[check.state]), check.name, check.detail, check.fix) for check in checks],
    )
    page.gap()
    warned, failed = (sum(check.state == state for check in checks) for state in ("warning", "problem"))
    if failed:
        page.line(Styled(f"{failed} to be mended", "bad"), f", {warned} to be noted" if warned else "")
    elif warned:
        page.line(Styled(f"{warned} to be noted", "warning"), ", no problem")
    else:
        page.line(Styled("Everything is well.", "good"))


def _to_json(check: Check) -> dict[str, str | None]:
    return {"name": check.name, "state": check.state, "detail": check.detail, "fix": check.fix or None}


@contextmanager
def _notices_kept_quiet() -> Generator[None]:
    """Keep notices off standard error: they are lines of the table."""
    with warnings.catch_warnings():
        # By their base: importing RecollectNotice needs numpy, and numpy is among what may be broken.
        warnings.simplefilter("ignore", UserWarning)
        yield
