"""Read and write artifacts (statements): versions, the journal, edges, tags, LLM readings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from everyword.storage.rows import PLAN, READ, SUMMARISE, ArtifactFilter, Job, Statement
from everyword.storage.sql.snapshot import Row, Snapshot, array, words
from everyword.types.events import Change, Edge, Span
from everyword.types.ids import event_id
from everyword.types.statements import Artifact, ArtifactKind, Category, SaidDate, Slot, Stance, Status
from everyword.types.times import from_micros, to_micros

# All that is derived of a space. Readings stay: nobody offline can make them again.
_DERIVED = (
    "drop_all_keys",
    "drop_all_artifacts",
    "drop_all_changes",
    "drop_all_edges",
    "drop_all_tags",
    "drop_loose_readings",
    "drop_loose_sources",
)


class ArtifactRows(Snapshot):
    """Reads artifacts."""

    def artifact(self, space: str, id: str) -> Artifact | None:
        """Look one up."""
        found = self.space(space)
        rows = self.rows("artifact_by_id", (found.id, id)) if found else []
        return artifact_of(rows[0]) if rows else None

    def artifacts(self, space: str, which: ArtifactFilter, *, after: int = 0, limit: int) -> list[tuple[int, Artifact]]:
        """List artifacts in the order in which they were derived, from behind a number."""
        found = self.space(space)
        if found is None:
            return []
        as_of = None if which.as_of is None else to_micros(which.as_of)[0]
        values = {
            "space": found.id,
            "after": after,
            "kind": which.kind,
            "about": None if which.about is None else which.about.casefold(),
            "status": which.status,
            "tag": which.tag,
            "wing": which.wing,
            "as_of": as_of,
            "limit": limit,
        }
        return [(row[0], _as_known(artifact_of(row), row, as_of)) for row in self.rows("artifacts_by_filter", values)]

    def artifacts_of(self, space: str, seqs: Sequence[int]) -> dict[int, list[Artifact]]:
        """Read what some events state."""
        found = self.space(space)
        stated: dict[int, list[Artifact]] = {}
        if found is not None and len(seqs):
            for row in self.rows("artifacts_of_events", (array(seqs), found.id)):
                stated.setdefault(row[2], []).append(artifact_of(row))
        return stated

    def stated_by(self, space: str, seqs: Sequence[int]) -> dict[int, bool]:
        """Tell of the events that state something whether any of it is still current."""
        found = self.space(space)
        if found is None or not len(seqs):
            return {}
        return {seq: bool(current) for seq, current in self.rows("stated_by", (array(seqs), found.id))}

    def statements(self, space: str, seqs: Sequence[int]) -> list[Statement]:
        """Read what some events state, in few words and fast."""
        found = self.space(space)
        if found is None or not len(seqs):
            return []
        rows = self.rows("statements", (array(seqs), found.id))
        return [Statement(seq, self.read_json(content), bool(now)) for seq, content, now in rows]

    def linked(self, space: str, seqs: Sequence[int]) -> list[tuple[int, int, float]]:
        """Follow the edges of what some events state, both ways, to other events: from, to, weight."""
        found = self.space(space)
        if found is None or not len(seqs):
            return []
        return [(here, there, weight) for here, there, weight in self.rows("linked", (array(seqs), found.id))]

    def standing(self, space: str, about: str, *, limit: int) -> list[Artifact]:
        """Read what is current about somebody, the newest first."""
        found = self.space(space)
        values = (found.id, about.casefold(), Status.CURRENT, limit) if found else ()
        return [artifact_of(row) for row in self.rows("artifacts_standing", values)] if found else []

    def standing_by(self, space: str, keys: Sequence[int], *, limit: int) -> list[Artifact]:
        """Read what is current and was put with one of these keys, the newest first."""
        found = self.space(space)
        if found is None or not len(keys):
            return []
        return [artifact_of(row) for row in self.rows("artifacts_standing_by", (found.id, array(keys), limit))]

    def latest_artifacts(self, space: str, kind: ArtifactKind, *, wing: str | None, limit: int) -> list[Artifact]:
        """Read what is current of a kind, the last derived first."""
        found = self.space(space)
        values = {"space": found.id if found else 0, "kind": kind, "wing": wing, "limit": limit}
        return [artifact_of(row) for row in self.rows("artifacts_latest", values)]

    def confirmations(self, space: str, *, limit: int) -> dict[str, int]:
        """Count how often what is known was said again, for the most frequent, by artifact."""
        found = self.space(space)
        return {row[0]: row[1] for row in self.rows("confirmations", (found.id, limit))} if found else {}

    def versions(self, space: str, id: str) -> list[Artifact]:
        """Read the whole chain that an artifact belongs to, the oldest first."""
        found = self.space(space)
        return [artifact_of(row) for row in self.rows("artifact_versions", (found.id, id))] if found else []

    def changes(self, space: str, ids: Sequence[str]) -> list[Change]:
        """Read the journal of some artifacts, the oldest first."""
        found = self.space(space)
        if found is None or not ids:
            return []
        return [
            Change(
                at=from_micros(at),
                action=action,
                reason=reason,
                artifact_id=artifact,
                target_id=target,
                event_id=event_id(raw_id),
            )
            for at, action, reason, artifact, target, raw_id in self.rows("changes_of", (found.id, words(ids)))
        ]

    def change_counts(self, space: str) -> dict[str, int]:
        """Count the journal's entries by action."""
        found = self.space(space)
        return {row[0]: row[1] for row in self.rows("change_counts", (found.id,))} if found else {}

    def edges(self, space: str, ids: Sequence[str]) -> list[Edge]:
        """Read the edges that touch some artifacts."""
        found = self.space(space)
        if found is None or not ids:
            return []
        return [
            Edge(source=source, target=target, kind=kind, weight=weight, at=_moment(at), reason=reason)
            for source, target, kind, weight, at, reason in self.rows("edges_of", (found.id, words(ids)))
        ]

    def artifact_counts(self, space: str) -> dict[str, int]:
        """Count what is current, by kind."""
        found = self.space(space)
        return {row[0]: row[1] for row in self.rows("artifact_counts", (found.id,))} if found else {}

    def tag_counts(self, space: str) -> dict[str, int]:
        """Count events by tag."""
        found = self.space(space)
        return {row[0]: row[1] for row in self.rows("tag_counts", (found.id,))} if found else {}

    def stating(self, space: str, abouts: Sequence[str]) -> list[int]:
        """List the events that state something about some, or changed what is stated."""
        found = self.space(space)
        return [row[0] for row in self.rows("seqs_stating", (found.id, words(abouts)))] if found and abouts else []

    def abouts_of(self, space: str, seqs: Sequence[int]) -> set[str]:
        """Tell whom or what some events speak about, case-folded."""
        found = self.space(space)
        return {row[0] for row in self.rows("abouts_touched", (found.id, array(seqs)))} if found else set()

    def derived_upto(self, space: str) -> int | None:
        """Tell up to which event a space is derived; None where nothing is behind."""
        found = self.space(space)
        return self.one("derived_upto", (found.id,)) if found else None

    def said_earlier(self, space: str, seq: int, *, limit: int) -> list[int]:
        """List the turns before one in its session that had arrived before it, the nearest first."""
        found = self.space(space)
        return [row[0] for row in self.rows("said_earlier", (found.id, seq, limit))] if found else []

    def said_later(self, space: str, seqs: Sequence[int], *, limit: int, silent: bool = False) -> list[int]:
        """List the events that state something and have one of these in their said_earlier() of so many turns.

        silent: those that state nothing, too.
        """
        found = self.space(space)
        if found is None:
            return []
        firsts: dict[str, tuple[int, int]] = {}
        for seq, session, _, _, at, *_ in self.rows("outlines_by_seq", (array(seqs), found.id)):
            if session is not None:
                firsts[session] = min(firsts.get(session, (at, seq)), (at, seq))
        later: list[int] = []
        for session, first in firsts.items():
            rows = self.rows("said_from", (found.id, session, *first))
            said, among = [row[0] for row in rows], set(seqs)
            later += [
                seq
                for place, (seq, states) in enumerate(rows)
                if (states or silent) and _looks_back_at(said, place, among, limit)
            ]
        return sorted(later)

    def readings(self, space: str, seqs: Sequence[int]) -> dict[int, str]:
        """Read what an LLM found in events, as it was put."""
        found = self.space(space)
        return {row[0]: row[1] for row in self.rows("readings_of_events", (found.id, array(seqs)))} if found else {}

    def unread(self, space: str, *, but_roles: Sequence[str], but_sources: Sequence[str] = (), limit: int) -> list[int]:
        """List events that an LLM has neither read nor is to read, the newest first; without some roles, lower-case."""
        found = self.space(space)
        values = (found.id, words(but_roles), READ, limit, words(but_sources)) if found else ()
        return [row[0] for row in self.rows("unread", values)] if found else []

    def resting_on(self, space: str, seqs: Sequence[int]) -> list[int]:
        """List the events whose readings use words of some others."""
        found = self.space(space)
        return [row[0] for row in self.rows("seqs_resting_on", (found.id, array(seqs)))] if found else []

    def names_known(self, space: str, *, limit: int) -> list[tuple[str, int]]:
        """List whom and what artifacts are about, the most frequent first, each with an event that speaks of it."""
        found = self.space(space)
        rows = self.rows("names_known", (found.id, limit)) if found else []
        return [(self.read_json(about), seq) for about, seq in rows]


class ArtifactChanges(ArtifactRows):
    """Changes artifacts."""

    def put_artifact(self, space: str, seq: int, artifact: Artifact, keys: Sequence[int] = ()) -> None:
        """Add an artifact that an event states; while it is current, standing_by() finds it by its keys."""
        into = self.space_to_write(space).id
        number = self.rows("insert_artifact", _values(into, seq, artifact))[0][0]
        if artifact.status is Status.CURRENT:
            self.run_many("insert_artifact_key", ((into, key, number) for key in keys))

    def close_artifact(self, space: str, id: str, *, status: Status, valid_to: datetime | None, at: int) -> None:
        """End an artifact; `at` is when the memory learned it."""
        into = self.space_to_write(space).id
        self.run("close_artifact", (status, _micros(valid_to), at, into, id))
        self.run("delete_artifact_keys", (into, id))

    def reopen_artifact(self, space: str, id: str, keys: Sequence[int]) -> None:
        """Let an artifact hold again that was closed by one which never was so; standing_by() finds it by its keys."""
        into = self.space_to_write(space).id
        number = self.rows("reopen_artifact", (into, id))[0][0]
        self.run_many("insert_artifact_key", ((into, key, number) for key in keys))

    def put_changes(self, space: str, changes: Iterable[tuple[int, Change]]) -> None:
        """Write entries of the journal, each with the event that caused it."""
        into = self.space_to_write(space).id
        self.run_many(
            "insert_change",
            (
                (into, seq, _micros(one.at), one.action, one.artifact_id, one.target_id, one.reason)
                for seq, one in changes
            ),
        )

    def put_edges(self, space: str, edges: Iterable[Edge]) -> None:
        """Add edges; one that is there already stays."""
        into = self.space_to_write(space).id
        self.run_many(
            "insert_edge",
            ((into, one.source, one.target, one.kind, one.weight, _micros(one.at), one.reason) for one in edges),
        )

    def put_tags(self, space: str, tags: Mapping[int, Sequence[str]]) -> None:
        """Tag events."""
        into = self.space_to_write(space).id
        self.run_many("insert_tag", ((into, tag, seq) for seq, all_of_it in tags.items() for tag in all_of_it))

    def drop_artifacts(self, space: str, abouts: Sequence[str] | None) -> None:
        """Remove artifacts about some, or all, and their journal, to be derived anew; with all, what points nowhere."""
        into = self.space_to_write(space).id
        if abouts is None:
            for name in _DERIVED:
                self.run(name, (into,))
            return
        for name in ("drop_changes_about", "drop_artifacts_about"):
            self.run(name, (into, words(abouts)))

    def drop_loose_edges(self, space: str) -> None:
        """Remove edges to what is no more."""
        self.run("drop_loose_edges", (self.space_to_write(space).id,))

    def owe_derivation(self, space: str, upto: int | None) -> None:
        """Note up to which event a space is derived; None: all of it is."""
        into = self.space_to_write(space).id
        if upto is None:
            self.run("derivation_done", (into,))
        else:
            self.run("owe_derivation", (into, upto))

    def put_reading(self, space: str, seq: int, *, extractor: str, body: str, sources: Sequence[int]) -> None:
        """Keep what an LLM found in an event; `sources` are other events whose words it uses."""
        into = self.space_to_write(space).id
        self.run("put_reading", (into, seq, extractor, body))
        self.run("delete_sources_of", (into, array([seq])))
        self.run_many("insert_reading_source", ((into, source, seq) for source in sources))

    def drop_readings(self, space: str, seqs: Sequence[int]) -> None:
        """Remove what an LLM found in events, and what servers said of why others wait: it may repeat their words."""
        into = self.space_to_write(space).id
        for name in ("delete_readings_of", "delete_sources_of"):
            self.run(name, (into, array(seqs)))
        for kind in (READ, SUMMARISE, PLAN):
            self.run("clear_errors_of", (into, kind))

    def drop_refusals(self, space: str, seqs: Sequence[int]) -> None:
        """Remove from the journal what was refused of events."""
        self.run("delete_refusals_of", (self.space_to_write(space).id, array(seqs)))

    def drop_links(self, space: str, ids: Sequence[str]) -> None:
        """Remove the edges by which artifacts are linked to earlier ones."""
        self.run("delete_edges_of_later", (self.space_to_write(space).id, words(ids)))

    def owe_readings(self, space: str, seqs: Sequence[int]) -> None:
        """Leave a job for each event that an LLM is to read; one that is there already stays."""
        into = self.space_to_write(space).id
        self.run_many("insert_job", ((into, READ, seq) for seq in seqs))

    def take_jobs(self, kind: str, *, now: int, until: int, limit: int) -> list[Job]:
        """Take work that is due, so that nobody else does before `until`."""
        return [
            Job(id=number, space=space, kind=what, seq=seq, attempts=attempts, error=error)
            for number, space, what, seq, attempts, error in self.rows("take_jobs", (until, kind, now, limit))
        ]

    def finish_jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Remove jobs that are done; give those that were still there."""
        gone = {row[0] for row in self.rows("finish_jobs", (array([job.id for job in jobs]),))}
        return [job for job in jobs if job.id in gone]


def _values(space: int, seq: int, artifact: Artifact) -> tuple[Any, ...]:
    date = artifact.date
    body = {
        "content": artifact.content,
        "category": artifact.category,
        "span": artifact.span,
        "speaker": artifact.speaker,
        "about": artifact.about,
        "confidence": artifact.confidence,
        "date": date and [_micros(date.start), _micros(date.end), date.words, date.certain],
        "entities": artifact.entities,
        "negated": artifact.negated,
        "tags": artifact.tags,
        "slot": artifact.slot,
        "value": artifact.value,
        "stance": artifact.stance,
        "extractor": artifact.extractor,
    }
    return (
        space,
        artifact.id,
        seq,
        artifact.kind,
        (artifact.about or "").casefold(),
        artifact.status,
        artifact.replaces,
        _micros(artifact.recorded_at),
        None if artifact.status is Status.CURRENT else _micros(artifact.recorded_at),
        _micros(artifact.valid_from),
        _micros(artifact.valid_to),
        json.dumps(body, ensure_ascii=True, separators=(",", ":")),
    )


def artifact_of(row: Row) -> Artifact:
    """Read an artifact; columns as every query of artifacts selects them.

    Days are days of the speaker's clock, so times come back in the zone of the event.
    """
    _, id, _, kind, status, replaces, recorded_at, _, valid_from, valid_to, body, raw_id, said, zone = row
    text = said if isinstance(said, str) else bytes(said).decode("utf-8", "surrogatepass")
    held: dict[str, Any] = json.loads(body)
    span = Span(*held["span"])
    date = held["date"]
    return Artifact(
        id=id,
        kind=ArtifactKind(kind),
        content=held["content"],
        category=Category(held["category"]),
        quote=text[span.start : span.end],
        event_id=event_id(raw_id),
        span=span,
        speaker=held["speaker"],
        about=held["about"],
        confidence=held["confidence"],
        date=SaidDate(from_micros(date[0], zone), from_micros(date[1], zone), date[2], date[3]) if date else None,
        valid_from=_moment(valid_from, zone),
        valid_to=_moment(valid_to, zone),
        entities=tuple(held["entities"]),
        negated=held["negated"],
        tags=tuple(held["tags"]),
        slot=Slot(*held["slot"]) if held["slot"] else None,
        value=held["value"],
        stance=Stance(held["stance"]),
        extractor=held["extractor"],
        recorded_at=from_micros(recorded_at),
        status=Status(status),
        replaces=replaces,
    )


def _looks_back_at(said: Sequence[int], place: int, among: set[int], limit: int) -> bool:
    """Tell whether one of some is in what said_earlier gives for a place; in one pass, since a session may be long."""
    seen = 0
    for earlier in range(place - 1, -1, -1):
        if said[earlier] < said[place]:
            if said[earlier] in among:
                return True
            seen += 1
            if seen == limit:
                return False
    return False


def _as_known(artifact: Artifact, row: Row, as_of: int | None) -> Artifact:
    """Show an artifact as it was known at a time: what was closed later was current then."""
    closed_at = row[7]
    if as_of is None or closed_at is None or closed_at <= as_of:
        return artifact
    return replace(artifact, status=Status.CURRENT, valid_to=None)


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)[0]


def _moment(micros: int | None, zone: int = 0) -> datetime | None:
    return None if micros is None else from_micros(micros, zone)
