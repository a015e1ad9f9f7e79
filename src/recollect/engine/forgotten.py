"""Tell which events of an import were forgotten: reading a file again must not bring them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from recollect.capture.drafts import at_was_given
from recollect.core.clock import as_datetime, to_micros
from recollect.core.errors import InvalidInput
from recollect.core.ids import content_hash, identity_of, raw_event_id
from recollect.core.values import Json
from recollect.engine.again import again
from recollect.engine.engine import Engine
from recollect.store.forgotten import Identity

_RECEIPTS_AT_A_TIME = 1_000


class Forgotten:
    """What was forgotten of a space, as far as imports must know."""

    def __init__(self, engine: Engine, space: str) -> None:
        self._engine = engine
        self._space = space
        self._upto = 0  # the number of the last receipt that was read
        self._ids: set[bytes] = set()  # of receipts of schema 17 and before, which name ids

    def among(self, events: Sequence[Mapping[str, Json]], formers: Mapping[str, bytes] | None = None) -> list[bool]:
        """Tell for each event whether it was forgotten and is not there now: what was added since on purpose is.

        formers: by key, the id under which an older version stored the event.
        """
        identities = [identities_of(event, formers or {}) for event in events]
        gone = again(self._engine, lambda: self._among([one for several in identities for one in several]))
        return [not gone.isdisjoint(several) for several in identities]

    def _among(self, identities: Iterable[Identity]) -> set[Identity]:
        asked = set(identities)
        with self._engine.store.reader() as reader:
            while rows := reader.receipts_after(self._space, self._upto, limit=_RECEIPTS_AT_A_TIME):
                self._upto = rows[-1][0]
                self._ids.update(raw for _, receipt in rows for id in receipt.ids if (raw := raw_event_id(id)))
            gone = reader.forgotten(self._space, asked)
            gone.update(one for one in asked if one.raw_id in self._ids)
            there = reader.find(self._space, [one.raw_id for one in gone]) if gone else {}
        return {one for one in gone if one.raw_id not in there}


def identities_of(given: Mapping[str, Json], formers: Mapping[str, bytes]) -> list[Identity]:
    """List what an event that is to be imported may have been forgotten as."""
    raw_ids = {raw_id_of(given), formers.get(cast("str", given.get("key") or ""))} - {None}
    try:
        at = to_micros(as_datetime(given["at"]))[0] if at_was_given(given) else None
    except InvalidInput:  # it will be refused with its reason
        return []
    session, speaker = given.get("session"), given.get("speaker")
    return [Identity(session, speaker, at, raw_id) for raw_id in raw_ids if raw_id is not None]


def raw_id_of(given: Mapping[str, Json]) -> bytes | None:
    """Derive the id that an event will have; None where it is not known before it is written."""
    key, text, at = given.get("key"), given.get("text"), given.get("at")
    if isinstance(key, str):
        return identity_of(key, b"")
    if not isinstance(text, str) or at is None:
        return None
    try:
        content = content_hash(text, given.get("session"), given.get("speaker"), to_micros(as_datetime(at))[0])
    except InvalidInput:  # it will be refused with its reason
        return None
    return identity_of(None, content)
