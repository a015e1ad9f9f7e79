"""Reading data files: JSON and JSONL with errors that name the file, the hash of what was read, and dates."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.errors import EvalError

# "1:56 pm on 8 May, 2023" and "2023/04/10 (Mon) 23:07"; strptime's %a and %B would follow the machine's language.
_SPOKEN = re.compile(r"(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+(\w+),?\s+(\d{4})", re.IGNORECASE)
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\(\w+\))?(?:\s+(\d{1,2}):(\d{2}))?")
_MONTHS = "january february march april may june july august september october november december".split()


def read_json(path: Path) -> Any:
    """Read one JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EvalError(f"There is no file {path}. Give the data with --data.") from None
    except (OSError, ValueError) as error:
        raise EvalError(f"{path} can't be read as JSON: {error}") from error


def read_jsonl(path: Path) -> list[Any]:
    """Read one JSON value a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    except FileNotFoundError:
        raise EvalError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise EvalError(f"{path} can't be read as JSON lines: {error}") from error


def hash_of(*paths: Path | None) -> str:
    """Name the content of files, in their order, by sixteen hex digits."""
    whole = hashlib.sha256()
    for path in paths:
        if path is not None:
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def moment(text: str) -> datetime | None:
    """Understand a date as the data sets write it, or in ISO form; None where it is neither."""
    if spoken := _SPOKEN.search(text):
        hour, minute, half, day, month, year = spoken.groups()
        if month.lower() in _MONTHS:
            hours = int(hour) % 12 + (12 if half.lower() == "p" else 0)
            return _utc(int(year), _MONTHS.index(month.lower()) + 1, int(day), hours, int(minute))
    if slashed := _SLASHED.search(text):
        year, month, day, hour, minute = slashed.groups()
        return _utc(int(year), int(month), int(day), int(hour or 0), int(minute or 0))
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def listed(remarks: Sequence[str], most: int = 5) -> str:
    """Write a few of many, and how many more there are."""
    shown = ", ".join(remarks[:most])
    return shown if len(remarks) <= most else f"{shown} and {len(remarks) - most} more"


def _utc(year: int, month: int, day: int, hour: int, minute: int) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None
