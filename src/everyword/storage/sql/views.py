"""How far each view of a space has applied the log."""

from __future__ import annotations

from everyword.storage.rows import EMBED, VIEWS
from everyword.storage.sql.snapshot import SpaceRows


class ViewRows(SpaceRows):
    """Reads the cursors of views."""

    def cursors(self) -> dict[str, int]:
        """Tell the last event that each view has applied; 0 where it must begin again."""
        found = {(name, version): upto for name, upto, version in self.sql.cursors(self.space)}
        return {name: found.get((name, version), 0) for name, version in VIEWS.items()}

    def cursor(self, view: str) -> int:
        """Tell the last event that a view has applied."""
        return self.cursors()[view]

    def count_behind(self, upto: int) -> int:
        """Count the events after one."""
        return self.sql.one("events_behind", (self.id, upto)) if upto < self.last_seq else 0

    def count_pending_vectors(self) -> int:
        """Count the events whose vectors are still to be made."""
        return self.sql.one("count_jobs_of_kind", (EMBED, self.id))


class ViewChanges(ViewRows):
    """Moves the cursors of views."""

    def set_cursor(self, view: str, upto: int) -> None:
        """Note the last event that a view has applied."""
        self.sql.run("set_cursor", (self.into, view, VIEWS[view], upto))

    def note_last_seq(self, seq: int) -> None:
        """Note that events up to one were copied into the log."""
        self.sql.run("count_space", (0, 0, 0, seq, self.into))
