"""Artifacts, as users ask for them: what was decided, promised, liked; how it changed, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from everyword.engine.retry import again
from everyword.errors import InvalidInput, NotFound, OutOfDate
from everyword.facade.arguments import Time, checked_count, checked_id, checked_question, chosen
from everyword.facade.handle import Handle
from everyword.storage.protocol import ArtifactFilter, Reader
from everyword.types.events import Change, Event, Json
from everyword.types.records import Reason, Record, RecordKind, record_of
from everyword.types.statements import Artifact, ArtifactKind, History, Status, Version
from everyword.types.times import as_datetime

_PAGE = 500  # artifacts read at a time
_ANY = "any"


class Statements(Handle):
    """What a memory knows, statement by statement."""

    def artifacts(
        self,
        *,
        kind: str | None = None,
        about: str | None = None,
        status: str = Status.CURRENT,
        tag: str | None = None,
        as_of: Time | None = None,
        limit: int | None = None,
    ) -> list[Artifact]:
        """List typed statements, each with the words that it rests on, in the order in which they were learned.

        status: "current", "superseded", "retracted" or "any". as_of: what was known then, as it was known then.
        """
        which = self._artifact_filter(kind=kind, about=about, status=status, tag=tag, as_of=as_of)
        most = 1 << 62 if limit is None else checked_count("limit", limit, 1 << 62)
        return list(self._artifact_pages(which, most))

    def artifact(self, id: str) -> Artifact:
        """Read one artifact by its id."""
        with self._engine.store.reader() as reader:
            found = reader.artifact(self._space, id) if isinstance(id, str) else None
        if found is None or (self._wing is not None and self._source(found).wing != self._wing):
            raise NotFound(f"There is no artifact with id {id!r} here.")
        return found

    def history(self, id: str) -> History:
        """Tell the story of an artifact: every version, with its quote, and why each followed the one before."""
        known = self.artifact(id)
        with self._engine.store.reader() as reader:
            chain = reader.versions(self._space, known.id)
            changes = reader.changes(self._space, [one.id for one in chain])
            if self._wing is not None:
                chain, changes = self._within_wing(reader, chain, changes)
        return History(versions=tuple(Version(artifact=one, changes=_changes_of(one, changes)) for one in chain))

    def correct(self, id: str, text: str, *, by: str | None = None) -> Artifact:
        """Put a statement right in your own words, and the facts that rest on it; the old version stays in the history.

        by: who corrects it (default: "user").
        """
        from everyword.knowledge.legacy.extract.corrections import payload_of  # not for a process that only asks

        known, words = self._current(id), checked_question(text)
        source = self._source(known)
        payload = payload_of(known, speaker=_speaker_of(source))
        return self._edit(known, source, RecordKind.CORRECTION, payload, words, by)

    def retract(
        self, id: str, *, reason: str = Reason.ENDED, at: Time | None = None, by: str | None = None
    ) -> Artifact:
        """Take a statement back, and end the facts that rest on it; it stays in the history.

        reason: "ended", it was so and is no longer, since `at` (default: now); or "never_true", so that also what is
        asked of the past is answered without it, and what it had replaced holds again. by: who takes it back
        (default: "user").
        """
        why = chosen(Reason, "reason", reason) or Reason.ENDED
        if at is not None and why is not Reason.ENDED:
            raise InvalidInput("at is for what has ended; what was never true has no end.")
        known = self._current(id)
        ended = None if at is None else as_datetime(at, "at")
        if ended is not None and known.valid_from is not None and ended < known.valid_from:
            raise InvalidInput(f"It can't have ended before it began, {known.valid_from.isoformat()}.")
        from everyword.knowledge.legacy.extract.corrections import payload_of  # not for a process that only asks

        payload = payload_of(known, reason=why, until=ended)
        return self._edit(known, self._source(known), RecordKind.RETRACTION, payload, "", by)

    def records(self, *, kind: str | None = None, limit: int | None = None) -> list[Record]:
        """List edits, the oldest first: what was done to what the memory holds, by whom and when.

        kind: "identity", "correction", "retraction", "feedback" or "unfold".
        """
        most = 1 << 62 if limit is None else checked_count("limit", limit, 1 << 62)
        wanted = chosen(RecordKind, "kind", kind)
        with self._engine.store.reader() as reader:
            found = reader.records(self._space, [one.value for one in RecordKind] if wanted is None else [wanted.value])
        return [record_of(one.event) for one in found if self._wing in (None, one.event.wing)][:most]

    def _artifact_filter(
        self, *, kind: str | None, about: str | None, status: str, tag: str | None, as_of: Time | None
    ) -> ArtifactFilter:
        return ArtifactFilter(
            kind=chosen(ArtifactKind, "kind", kind),
            about=about,
            status=None if status == _ANY else chosen(Status, "status", status, also=_ANY),
            tag=tag,
            wing=self._wing,
            as_of=None if as_of is None else as_datetime(as_of, "as_of"),
        )

    def _within_wing(
        self, reader: Reader, chain: Sequence[Artifact], changes: Sequence[Change]
    ) -> tuple[list[Artifact], list[Change]]:
        """Leave out what other wings said; a reason quotes both sides, so both must be of this wing."""
        said = {*(one.event_id for one in chain), *(change.event_id for change in changes if change.event_id)}
        found = reader.find(self._space, [checked_id(id) for id in said]).values()
        here = {known.event.id for known in found if known.event.wing == self._wing}
        kept = [one for one in chain if one.event_id in here]
        ids = {None, *(one.id for one in kept)}
        told = [one for one in changes if one.event_id in here and {one.artifact_id, one.target_id} <= ids]
        return kept, told

    def _artifact_pages(self, which: ArtifactFilter, left: int) -> Iterator[Artifact]:
        after = 0
        while left > 0:
            with self._engine.store.reader() as reader:
                rows = reader.artifacts(self._space, which, after=after, limit=min(left, _PAGE))
            yield from (artifact for _, artifact in rows)
            if len(rows) < _PAGE:
                return
            after, left = rows[-1][0], left - len(rows)

    def _current(self, id: str) -> Artifact:
        known = self.artifact(id)
        if known.status is not Status.CURRENT:
            raise OutOfDate(f"{id} is {known.status}; only what is current changes.", fix="See its history().")
        return known

    def _edit(
        self, known: Artifact, source: Event, kind: RecordKind, payload: Mapping[str, Json], text: str, by: str | None
    ) -> Artifact:
        """Write the record that changes an artifact; give what holds then, or the artifact that was taken back."""
        # Imported here: a process that only asks should not pay for what reads events.
        from everyword.ingest.edit_records import write_record

        write_record(
            self._engine,
            self._space,
            kind,
            payload,
            by=self._by(by),
            events=[source.id],
            text=text,
            wing=source.wing,
        )
        self._catch_up()  # where deriving is behind the log, the correction waits in it
        chain = again(self._engine, lambda: self._chain(known.id))
        return next((one for one in chain if one.replaces == known.id), None) or self.artifact(known.id)

    def _catch_up(self) -> None:
        from everyword.knowledge.statements import catch_up

        def some() -> bool:
            with self._engine.store.reader() as reader:
                if reader.derived_upto(self._space) is None:
                    return False
            with self._engine.store.writer() as writer:
                return catch_up(writer, self._space, limit=_PAGE) == _PAGE

        while again(self._engine, some):
            pass

    def _chain(self, id: str) -> list[Artifact]:
        with self._engine.store.reader() as reader:
            return reader.versions(self._space, id)

    def _source(self, known: Artifact) -> Event:
        with self._engine.store.reader() as reader:
            return next(iter(reader.find(self._space, [checked_id(known.event_id)]).values())).event


def _speaker_of(source: Event) -> str | None:
    """Name whose statement an event holds: a correction of it speaks for them."""
    from everyword.knowledge.graph import speaker_of

    return speaker_of(source)


def _changes_of(artifact: Artifact, changes: Sequence[Change]) -> tuple[Change, ...]:
    return tuple(change for change in changes if artifact.id in (change.artifact_id, change.target_id))
