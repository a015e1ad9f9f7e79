"""Read the pages of a PDF in a process of its own: a hostile file can neither hang nor fill this one.

The same file is the program of that process. It needs pypdf, which the extra `pdf` installs.
"""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from importlib import import_module
from typing import Any

_MAX_PAGES = 5_000
_MAX_CHARS = 32_000_000  # of all pages
_MAX_MEMORY_BYTES = 2 << 30
_MAX_SECONDS = 120  # for one file; what was read by then is kept


def pdf_pages(part: str, content: bytes) -> tuple[list[tuple[int, str]], dict[str, str], str]:
    """Return the text of each page with its number, title and date, and why the rest was not read."""
    from everyword.errors import InvalidInput
    from everyword.extras import need

    need("pypdf", extra="pdf")
    command = [sys.executable, "-P", __file__]
    problem = ""
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=_MAX_SECONDS, check=False)
        output, code = done.stdout, done.returncode
        if code:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it was stopped"]
            problem = f"the PDF can't be read further ({last[0][:200]})"
    except subprocess.TimeoutExpired as late:
        output, problem = late.stdout or b"", f"the PDF takes longer than {_MAX_SECONDS} s to read further"
    pages: list[tuple[int, str]] = []
    about: dict[str, str] = {}
    for row in output.splitlines(keepends=True):
        if row.endswith(b"\n"):
            record = json.loads(row)
            problem = record.get("problem") or problem
            about |= record.get("about") or {}
            if "page" in record:
                pages.append((record["page"], record["text"]))
    if problem and not pages:
        raise InvalidInput(f"{part}: {problem}.")
    return pages, about, problem


def main() -> None:
    """Write a PDF from standard input as lines of JSON: what it says about itself, then each page."""
    _limit_memory()
    logging.disable()  # pypdf tells of each oddity
    reader: Any = import_module("pypdf").PdfReader(io.BytesIO(sys.stdin.buffer.read()))
    if reader.is_encrypted and not reader.decrypt(""):
        _write({"problem": "the PDF has a password"})
        return
    _write({"about": _about(reader)})
    chars = 0
    for number, page in enumerate(reader.pages, 1):
        if number > _MAX_PAGES or chars > _MAX_CHARS:
            _write({"problem": f"the PDF is too long; its first {number - 1:,} pages were read"})
            return
        text = page.extract_text()
        chars += len(text)
        _write({"page": number, "text": text})


def _about(reader: Any) -> dict[str, str]:
    try:
        found = reader.metadata
        made = found.modification_date or found.creation_date
        about = {"title": found.title, "date": made and made.isoformat()}
    except Exception:  # metadata is often malformed, and pypdf raises anything then
        return {}
    return {name: str(value) for name, value in about.items() if value}


def _write(record: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))


if __name__ == "__main__":
    main()
