"""A bounded log, in memory, of what programs asked the service: off unless `everyword serve --audit N` turns it on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from everyword.types.times import utc_now

AUDITED = ("recall", "context", "ask", "wake_up", "window")  # operations that hand out what the memory holds
_LONGEST_QUESTION = 500  # characters
_COUNTED = {"recall": "hits", "context": "citations", "ask": "citations", "wake_up": "citations"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question, who asked it, and how much was handed out."""

    at: datetime
    who: str  # the name of the key, or "local"
    via: str  # "http" or "mcp"
    operation: str
    space: str
    question: str
    quotes: int | None = None  # handed out; None where that is not known
    tokens: int | None = None


class AuditLog:
    """The last questions. Nothing of it is written to disk; it ends with the process."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._asked: deque[Asked] = deque(maxlen=most)
        self._lock = threading.Lock()

    def note(
        self,
        *,
        who: str,
        via: str,
        operation: str,
        space: str,
        arguments: Mapping[str, Any],
        result: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep a question, if the log is on and the operation hands something out."""
        if not self.most or operation not in AUDITED:
            return
        quotes = None if result is None else result.get(_COUNTED.get(operation, ""))
        asked = Asked(
            at=utc_now(),
            who=who,
            via=via,
            operation=operation,
            space=space,
            question=str(arguments.get("query") or arguments.get("topic") or "")[:_LONGEST_QUESTION],
            quotes=None if quotes is None else len(quotes),
            tokens=None if result is None else result.get("tokens"),
        )
        with self._lock:
            self._asked.append(asked)

    def clear(self) -> None:
        """Drop all entries: after a `forget`, a question may still name what was forgotten."""
        with self._lock:
            self._asked.clear()

    def document(self, space: str) -> dict[str, Any]:
        """List the questions in a space, the latest first."""
        with self._lock:
            asked = [one for one in reversed(self._asked) if one.space == space]
        entries = [{**asdict(one), "at": one.at.isoformat()} for one in asked]
        return {"on": self.most > 0, "most": self.most, "asked": entries}
