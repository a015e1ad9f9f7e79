"""What was forgotten, by the ids that receipts keep: reading a file again must not bring it back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from recollect.core.clock import as_datetime, to_micros
from recollect.core.errors import InvalidInput
from recollect.core.ids import content_hash, identity_of, raw_event_id
from recollect.core.values import Json
from recollect.engine.again import again
from recollect.engine.engine import Engine

_RECEIPTS_AT_A_TIME = 1_000


class Forgotten:
    """The ids that a space's receipts name, as far as they were read."""

    def __init__(self, engine: Engine, space: str) -> None:
        self._engine = engine
        self._space = space
        self._upto = 0  # the number of the last receipt that was read
        self._ids: set[bytes] = set()

    def among(self, raw_ids: Iterable[bytes]) -> set[bytes]:
        """Tell which of these were forgotten, and are not there now: what was added since on purpose is."""
        asked = list(raw_ids)
        return again(self._engine, lambda: self._among(asked))

    def _among(self, raw_ids: Collection[bytes]) -> set[bytes]:
        with self._engine.store.reader() as reader:
            while rows := reader.receipts_after(self._space, self._upto, limit=_RECEIPTS_AT_A_TIME):
                self._upto = rows[-1][0]
                self._ids.update(raw for _, receipt in rows for id in receipt.ids if (raw := raw_event_id(id)))
            gone = self._ids.intersection(raw_ids)
            return gone - reader.find(self._space, list(gone)).keys() if gone else gone


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
