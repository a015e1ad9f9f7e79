"""Set and read an agent's identity, and write what it should know before the first word."""

from __future__ import annotations

from datetime import UTC, datetime

from everyword.api.arguments import Time, checked_count, checked_text
from everyword.api.scope import Scope
from everyword.errors import InvalidInput
from everyword.retrieval.wake_up import WakeUpRequest, candidates, identity_lines, identity_of, wake_up
from everyword.storage.protocol import Reader
from everyword.storage.rows import CONCEPTS, FACTS
from everyword.text.rendering import name
from everyword.types.events import Filter
from everyword.types.intents import Identity, WakeUp
from everyword.types.records import RecordKind
from everyword.types.trust import effective_at

_MOST_IDENTITY_CHARS = 2_000  # what is longer is a document, and would never be told whole
_PATIENCE_S = 5.0  # that a wake-up waits for what was written before; a long import is derived in the background
_LOOKED_BACK = 20  # events, since some may be dated ahead


def write_wake_up(scope: Scope, budget: int, *, wing: str | None, topic: str | None, now: Time | None) -> WakeUp:
    """Choose and write the lines of a wake-up."""
    from everyword.knowledge.intents import cached_intents  # not for a process that only asks

    checked_count("budget", budget, 1_000_000)
    scope.filter(wing=wing or None)
    about = None if topic is None else checked_text("topic", topic).strip()
    moment = scope.moment(now)
    today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    with scope.reader(FACTS, CONCEPTS, within_s=_PATIENCE_S) as reader:
        recent = (event for _, event in reader.page(Filter(wing=scope.wing), newest_first=True, limit=_LOOKED_BACK))
        last = max(recent, key=effective_at, default=None)
        project = scope.wing or ((last.wing if last else None) if wing is None else wing)
        request = WakeUpRequest(
            reader=reader,
            wing=scope.wing,
            project=project,
            topic=about,
            today=today,
            # What claims to come from the future must not make everything else look old.
            latest=min(effective_at(last), moment) if last else datetime(1970, 1, 1, tzinfo=UTC),
            intents=cached_intents(scope.engine, reader, wing=scope.wing, now=today),
        )
        first = identity_lines(read_identity(scope, reader, project))
        found = candidates(request)
        key = scope.engine.fence_key.of(reader.file)
    headings = {1: f"Now, in {name(project)}:" if project else "Now:", 2: f"About {name(about or '')}:"}
    return wake_up(first, found, budget, scope.engine.tokenizer, headings=headings, fence_key=key)


def set_identity(scope: Scope, text: str, *, wing: str | None, by: str | None, redact: str | None) -> None:
    """Write a new identity into the log."""
    words = checked_text("text", text).strip()
    if len(words) > _MOST_IDENTITY_CHARS:
        raise InvalidInput(
            f"An identity has at most {_MOST_IDENTITY_CHARS:,} characters; this one has {len(words):,}.",
            fix="Say who the agent is in two or three sentences, and `add` the rest.",
        )
    scope.record(RecordKind.IDENTITY, {}, by=by, text=words, wing=wing, redact=redact)


def read_identity(scope: Scope, reader: Reader, wing: str | None) -> Identity | None:
    """Read a wing's identity, or else the space's; a handle on a wing never sees beyond it."""
    return identity_of(reader, [wing] if wing is None or scope.wing is not None else [wing, None])
