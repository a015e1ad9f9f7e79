"""What a store must do for artifacts: keep versions, close them, tell why, and link them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.core.artifacts import Artifact, ArtifactKind, Status
from recollect.core.values import Change, Edge

if TYPE_CHECKING:
    from recollect.store.protocol import Job

READ = "extract"  # the kind of job that lets an LLM read an event


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFilter:
    """Which artifacts count. None means any; all conditions must hold."""

    kind: ArtifactKind | None = None
    about: str | None = None
    status: Status | None = None
    tag: str | None = None
    wing: str | None = None
    as_of: datetime | None = None  # what was known then, and as it was known then


class Statement(NamedTuple):
    """The little of an artifact that ranking needs."""

    seq: int  # of the event that states it
    content: str
    current: bool


class ArtifactReader(Protocol):
    """The artifacts of a snapshot."""

    def artifact(self, space: str, id: str) -> Artifact | None:
        """Look one up."""
        ...

    def artifacts(self, space: str, which: ArtifactFilter, *, after: int = 0, limit: int) -> list[tuple[int, Artifact]]:
        """List artifacts in the order in which they were derived, from behind a number."""
        ...

    def artifacts_of(self, space: str, seqs: Sequence[int]) -> dict[int, list[Artifact]]:
        """Read what some events state."""
        ...

    def stated_by(self, space: str, seqs: Sequence[int]) -> dict[int, bool]:
        """Tell of the events that state something whether any of it is still current."""
        ...

    def statements(self, space: str, seqs: Sequence[int]) -> list[Statement]:
        """Read what some events state, in few words and fast."""
        ...

    def linked(self, space: str, seqs: Sequence[int]) -> list[tuple[int, int, float]]:
        """Follow the edges of what some events state, both ways, to other events: from, to, weight."""
        ...

    def standing(self, space: str, about: str, *, limit: int) -> list[Artifact]:
        """Read what is current about somebody, the newest first."""
        ...

    def standing_by(self, space: str, keys: Sequence[int], *, limit: int) -> list[Artifact]:
        """Read what is current and was put with one of these keys, the newest first."""
        ...

    def latest_artifacts(self, space: str, kind: ArtifactKind, *, wing: str | None, limit: int) -> list[Artifact]:
        """Read what is current of a kind, the last derived first."""
        ...

    def confirmations(self, space: str, *, limit: int) -> dict[str, int]:
        """Count how often what is known was said again, for the most frequent, by artifact."""
        ...

    def versions(self, space: str, id: str) -> list[Artifact]:
        """Read the whole chain that an artifact belongs to, the oldest first."""
        ...

    def changes(self, space: str, ids: Sequence[str]) -> list[Change]:
        """Read the journal of some artifacts, the oldest first."""
        ...

    def change_counts(self, space: str) -> dict[str, int]:
        """Count the journal's entries by action."""
        ...

    def edges(self, space: str, ids: Sequence[str]) -> list[Edge]:
        """Read the edges that touch some artifacts."""
        ...

    def artifact_counts(self, space: str) -> dict[str, int]:
        """Count what is current, by kind."""
        ...

    def tag_counts(self, space: str) -> dict[str, int]:
        """Count events by tag."""
        ...

    def stating(self, space: str, abouts: Sequence[str]) -> list[int]:
        """List the events that state something about some, or changed what is stated."""
        ...

    def abouts_of(self, space: str, seqs: Sequence[int]) -> set[str]:
        """Tell whom or what some events speak about, case-folded."""
        ...

    def derived_upto(self, space: str) -> int | None:
        """Tell up to which event a space is derived; None where nothing is behind."""
        ...

    def said_earlier(self, space: str, seq: int, *, limit: int) -> list[int]:
        """List the turns before one in its session that had arrived before it, the nearest first."""
        ...

    def said_later(self, space: str, seqs: Sequence[int], *, limit: int, silent: bool = False) -> list[int]:
        """List the events that state something and have one of these in their said_earlier() of so many turns.

        silent: those that state nothing, too.
        """
        ...

    def readings(self, space: str, seqs: Sequence[int]) -> dict[int, str]:
        """Read what an LLM found in events, as it was put."""
        ...

    def unread(self, space: str, *, but_roles: Sequence[str], but_sources: Sequence[str] = (), limit: int) -> list[int]:
        """List events that an LLM has neither read nor is to read, the newest first; without some roles, lower-case."""
        ...

    def resting_on(self, space: str, seqs: Sequence[int]) -> list[int]:
        """List the events whose readings use words of some others."""
        ...

    def names_known(self, space: str, *, limit: int) -> list[tuple[str, int]]:
        """List whom and what artifacts are about, the most frequent first, each with an event that speaks of it."""
        ...


class ArtifactWriter(ArtifactReader, Protocol):
    """Changes to artifacts, within a transaction."""

    def put_artifact(self, space: str, seq: int, artifact: Artifact, keys: Sequence[int] = ()) -> None:
        """Add an artifact that an event states; while it is current, standing_by() finds it by its keys."""
        ...

    def close_artifact(self, space: str, id: str, *, status: Status, valid_to: datetime | None, at: int) -> None:
        """End an artifact; `at` is when the memory learned it."""
        ...

    def reopen_artifact(self, space: str, id: str, keys: Sequence[int]) -> None:
        """Let an artifact hold again that was closed by one which never was so; standing_by() finds it by its keys."""
        ...

    def put_changes(self, space: str, changes: Iterable[tuple[int, Change]]) -> None:
        """Write entries of the journal, each with the event that caused it."""
        ...

    def put_edges(self, space: str, edges: Iterable[Edge]) -> None:
        """Add edges; one that is there already stays."""
        ...

    def put_tags(self, space: str, tags: Mapping[int, Sequence[str]]) -> None:
        """Tag events."""
        ...

    def drop_artifacts(self, space: str, abouts: Sequence[str] | None) -> None:
        """Remove artifacts about some, or all, and their journal, to be derived anew; with all, what points nowhere."""
        ...

    def drop_loose_edges(self, space: str) -> None:
        """Remove edges to what is no more."""
        ...

    def owe_derivation(self, space: str, upto: int | None) -> None:
        """Note up to which event a space is derived; None: all of it is."""
        ...

    def put_reading(self, space: str, seq: int, *, extractor: str, body: str, sources: Sequence[int]) -> None:
        """Keep what an LLM found in an event; `sources` are other events whose words it uses."""
        ...

    def drop_readings(self, space: str, seqs: Sequence[int]) -> None:
        """Remove what an LLM found in events, and what servers said of why others wait: it may repeat their words."""
        ...

    def drop_refusals(self, space: str, seqs: Sequence[int]) -> None:
        """Remove from the journal what was refused of events."""
        ...

    def drop_links(self, space: str, ids: Sequence[str]) -> None:
        """Remove the edges by which artifacts are linked to earlier ones."""
        ...

    def owe_readings(self, space: str, seqs: Sequence[int]) -> None:
        """Leave a job for each event that an LLM is to read; one that is there already stays."""
        ...

    def take_jobs(self, kind: str, *, now: int, until: int, limit: int) -> list[Job]:
        """Take work that is due, so that nobody else does before `until`."""
        ...

    def finish_jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Remove jobs that are done; give those that were still there."""
        ...
