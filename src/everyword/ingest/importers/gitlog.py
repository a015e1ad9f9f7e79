"""The history of a git repository, or a saved `git log`: one event per commit, with its message verbatim."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from shutil import which
from tempfile import TemporaryFile
from typing import IO, cast

from msgspec.structs import replace

from everyword.errors import InvalidInput
from everyword.ingest.importers.records import Item, Position, Read, day_of, item, mail_moment, skipped
from everyword.ingest.importers.sources import Format, Source, holds
from everyword.ingest.importers.streaming import blocks

HISTORY = ".git"  # the part that stands for a repository's own history

_FIELD, _RECORD = "\x1f", "\x1e"
_FORMAT = "%x1f".join(("%H", "%an", "%ae", "%aI", "%P", "%B")) + "%x1e"
# A repository's settings may start programs, and a missing object may start a fetch, which starts programs too; reading
# a log must do neither. No protocol is named "none", so none is allowed, whatever the repository's settings say.
_SAFE_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
_SAFE_OPTIONS = ("-c", "log.showSignature=false", "-c", "core.fsmonitor=false", "-c", "core.pager=cat", "--no-pager")
_COMMIT = re.compile(r"commit ([0-9a-f]{7,64})(?: \(.{0,400}\))?")
_HEADER = re.compile(r"(Author|AuthorDate|Date|Merge|Commit|CommitDate):\s{1,12}(.*)")
_CHUNK_BYTES = 1 << 16


def is_repository(source: Source) -> bool:
    """Check whether a folder has a history."""
    bare = {"HEAD", "config"} <= set(source.names) and (source.path / "objects").is_dir()
    return source.kind == "folder" and (bare or (source.path / HISTORY).exists())


def _read(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    """Read commits; from a repository, the oldest first."""
    return _history(source, after) if part == HISTORY else _saved(source, part, after)


def _history(source: Source, after: Position | None) -> Iterator[Item]:
    repository = source.title.removesuffix(".git")
    last = str((after or {}).get("commit", ""))
    # Parents come before children, so what is not behind the last one was not read yet. It may be gone by now.
    since = ["--ignore-missing", f"^{last}", "HEAD"] if re.fullmatch(r"[0-9a-f]{40,64}", last) else []
    for record in _records(source.path, "--topo-order", "--reverse", f"--format=tformat:{_FORMAT}", *since, "--"):
        fields = record.strip("\n").split(_FIELD, 5)
        if len(fields) != 6:
            yield skipped("a commit that can't be read", record)
            continue
        commit, name, address, date, parents, message = fields
        merges = len(parents.split()) > 1
        one = _item(message.strip("\n"), commit, name, address, date, repository, merges=merges)
        one = replace(one, folder=str(source.path.resolve())) if isinstance(one, Read) else one
        yield replace(one, position={"commit": commit})


def _records(repository: Path, *arguments: str) -> Iterator[str]:
    program = which("git")
    if program is None:
        raise InvalidInput(
            "git is not installed here; save the log elsewhere with `git log > log.txt` and import that."
        )
    command = [program, *_SAFE_OPTIONS, "-C", str(repository), "log", *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment = {**kept, **_SAFE_ENVIRONMENT, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}
    with (
        TemporaryFile() as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, env=environment
        ) as process,
    ):
        try:
            yield from _split(cast("IO[bytes]", process.stdout))
            if process.wait():
                errors.seek(0)
                message = errors.read(2000).decode("utf-8", "replace").strip()
                if "does not have any commits" not in message:
                    raise InvalidInput(f"git can't read the history ({message or process.returncode}).")
        finally:
            process.kill()


def _split(output: IO[bytes]) -> Iterator[str]:
    rest = b""
    while chunk := output.read(_CHUNK_BYTES):
        *whole, rest = (rest + chunk).split(_RECORD.encode())
        yield from (record.decode("utf-8", "replace") for record in whole)


def _saved(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    """Parse the output of `git log`: headers, then the indented message; diffs are skipped."""
    repository = PurePosixPath(part).stem
    with source.open(part) as file:
        for block in blocks(file, after, lambda line: _COMMIT.fullmatch(line.text)):
            rows = [line.text for line in block.lines]
            if block.head is None:
                yield skipped("before the first commit", rows[0], where=block.where)
                continue
            headers = {header[1]: header[2] for row in rows[1:] if (header := _HEADER.fullmatch(row))}
            author = re.fullmatch(r"([^<]{0,300})<([^<>]{0,300})>", headers.get("Author", ""))
            name, address = (author[1].strip(), author[2]) if author else (headers.get("Author", ""), "")
            date = headers.get("AuthorDate") or headers.get("Date") or ""
            message = "\n".join(row[4:] for row in rows if row.startswith("    ") or not row).strip("\n")
            one = _item(message, block.head[1], name, address, mail_moment(date), repository, merges="Merge" in headers)
            yield replace(one, position=block.position)


def _item(
    message: str, commit: str, name: str, address: str, date: str | None, repository: str, *, merges: bool
) -> Item:
    return item(
        message,
        key=commit,
        source={"repository": repository, "commit": commit},
        at=date,
        session=f"git/{repository}/{day_of(date)}",
        speaker=name or address or None,
        role="commit",
        wing=repository,
        meta={"email": address, "merge": merges or None},
    )


GITLOG = Format(
    "git",
    (".txt", ".log", ".git", ""),
    holds(rb"\Acommit [0-9a-f]{7,64}(?: \(.{0,400}\))?\r?\n(?:.*\n){0,6}Author:"),
    _read,
    GROWS=True,
)
