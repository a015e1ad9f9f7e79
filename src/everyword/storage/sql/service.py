"""Read and write what belongs to no space: models, facts about the file, API keys, webhooks, the job queue."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from everyword.storage.nearest import unit_bounds, unit_of
from everyword.storage.rows import ANALYSIS, EMBED, NOT_OWED, SCRUB_OWED, Job, Model, StoredKey, StoredWebhook
from everyword.storage.sql.snapshot import Row, Snapshot, array
from everyword.text.terms import ANALYSIS_VERSION
from everyword.types.service import ApiKey, Permission, Webhook
from everyword.types.times import from_micros, optional_micros, optional_moment


class FileRows:
    """Reads what belongs to no space."""

    def __init__(self, sql: Snapshot) -> None:
        self.sql = sql

    def spaces(self) -> list[str]:
        """List the spaces that hold or held events."""
        return [str(row[0]) for row in self.sql.rows("space_names")]

    def models(self) -> list[Model]:
        """List the models whose vectors are here."""
        rows = self.sql.rows("models") if self.sql.models is None else self.sql.models
        return [Model(*row) for row in rows]

    def total_events(self) -> int:
        """Count the events of all spaces."""
        return self.sql.one("total_events")

    def fact(self, name: str) -> str | None:
        """Read a fact about the file itself."""
        return self.sql.one("get_fact", (name,)) if self.sql.facts is None else self.sql.facts.get(name)

    def scrub_owed(self) -> str | None:
        """Return a value that changes with each removal while removed words may still be on disk; else None."""
        kept = self.fact(SCRUB_OWED)
        return None if kept == NOT_OWED else kept

    def analysis_version(self) -> int:
        """Return the version of the term analysis that made the postings; the current one where there are none."""
        kept = self.fact(ANALYSIS)
        return ANALYSIS_VERSION if kept is None else int(kept)

    def api_keys(self) -> list[StoredKey]:
        """List keys, the oldest first."""
        return [_key(row) for row in self.sql.rows("keys")]

    def key(self, id: str) -> StoredKey | None:
        """Look a key up."""
        rows = self.sql.rows("key_by_id", (id,))
        return _key(rows[0]) if rows else None

    def any_key(self) -> bool:
        """Tell whether there is a key, or ever was."""
        return bool(self.sql.one("any_key"))

    def webhooks(self) -> list[StoredWebhook]:
        """List webhooks, the oldest first."""
        return [_webhook(row) for row in self.sql.rows("webhooks")]

    def pulse(self) -> str:
        """Give a word that changes whenever anything is added, and when the oldest job is done. Reads no table."""
        return self.sql.one("pulse")

    def jobs(self, *, kind: str | None = None, due_before: int | None = None, limit: int) -> list[Job]:
        """List work that waits, oldest first."""
        return [Job(*row) for row in self.sql.rows("jobs", (kind, due_before, limit))]

    def next_job_due(self) -> int | None:
        """Tell when the first job is due, in microseconds; None where none waits."""
        return self.sql.one("next_job_due")


class FileChanges(FileRows):
    """Changes what belongs to no space."""

    def put_key(self, key: ApiKey, hash: bytes) -> None:
        """Add a key."""
        spaces = json.dumps(key.spaces, ensure_ascii=False)
        times = (optional_micros(key.created_at), optional_micros(key.expires_at))
        self.sql.run("insert_key", (key.id, hash, key.name, key.permission.value, spaces, *times))

    def revoke_key(self, id: str, *, at: int) -> bool:
        """End a key; False where there is none, or it has ended."""
        return self.sql.run("revoke_key", (at, id)) > 0

    def put_webhook(self, webhook: Webhook, secret: str) -> None:
        """Add a webhook."""
        kinds, created = json.dumps(webhook.kinds), optional_micros(webhook.created_at)
        values = (webhook.id, webhook.space, webhook.url, secret, kinds, created, webhook.position)
        self.sql.run("insert_webhook", values)

    def move_webhook(self, webhook: Webhook, position: str, *, delivered: int) -> bool:
        """Note that everything up to a position was delivered; False where another process did."""
        return self.sql.run("move_webhook", (position, delivered, webhook.id, webhook.position)) > 0

    def fail_webhook(self, webhook: Webhook, *, error: str, due_at: int) -> None:
        """Note that a delivery failed, and when to try again."""
        self.sql.run("fail_webhook", (due_at, error, webhook.id, webhook.position))

    def delete_webhook(self, id: str) -> bool:
        """Remove a webhook; False where there is none."""
        return self.sql.run("delete_webhook", (id,)) > 0

    def add_model(
        self, *, name: str, version: str, dims: int, token_dims: int, state: Literal["active", "building"]
    ) -> Model:
        """Register a model."""
        if state == "building":  # one at a time: what an interrupted rebuild had begun is dropped
            self.sql.run("retire_building", ())
        return Model(*self.sql.rows("add_model", (name, version, dims, token_dims, state))[0])

    def activate(self, model: Model) -> None:
        """Search with this model from now on; the one before it is retired, its missing events become jobs."""
        self.sql.run("retire_active", (model.id,))
        self.sql.run("activate_model", (model.id,))
        self.sql.run("queue_events_without_vectors", (EMBED, unit_of(model.id, 0, 0)))

    def drop_vectors(self, model: Model, *, limit: int) -> int:
        """Remove some vectors of a retired model; 0 when none is left and the model is gone."""
        self.sql.run("delete_model_tail", (model.id,))
        self.sql.run("delete_model_blocks", (model.id,))
        dropped = self.sql.run("delete_some_vectors", (*unit_bounds(model.id), limit))
        if dropped == 0:
            self.sql.run("delete_model", (model.id,))
        return dropped

    def fail_job(self, job: Job, *, error: str, due_at: int) -> None:
        """Put a job back for later, with the reason."""
        self.sql.run("fail_job", (storable_error(error), due_at, job.id, self.sql.space_to_write(job.space).id))

    def drop_job(self, job: Job) -> None:
        """Remove a job that has nothing to do any more."""
        self.sql.run("delete_job", (job.id, self.sql.space_to_write(job.space).id))

    def set_fact(self, name: str, value: str) -> None:
        """Keep a fact about the file itself."""
        self.sql.run("set_fact", (name, value))

    def take_jobs(self, kind: str, *, now: int, until: int, limit: int) -> list[Job]:
        """Take work that is due, so that nobody else does before `until`."""
        return [Job(*row) for row in self.sql.rows("take_jobs", (until, kind, now, limit))]

    def finish_jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Remove jobs that are done; give those that were still there."""
        gone = {row[0] for row in self.sql.rows("finish_jobs", (array([job.id for job in jobs]),))}
        return [job for job in jobs if job.id in gone]


def storable_error(error: str) -> str:
    """Replace what can't be encoded, so that the text of an error can be stored."""
    return error.encode("utf-8", "replace").decode()


def _key(row: Row) -> StoredKey:
    id, hash, name, permission, spaces, created_at, expires_at, revoked_at = row
    key = ApiKey(
        id=id,
        name=name,
        permission=Permission(permission),
        spaces=tuple(json.loads(spaces)),
        created_at=from_micros(created_at),
        expires_at=optional_moment(expires_at),
        revoked_at=optional_moment(revoked_at),
    )
    return StoredKey(key, bytes(hash))


def _webhook(row: Row) -> StoredWebhook:
    id, space, url, secret, kinds, created_at, position, delivered, attempts, due_at, error = row
    webhook = Webhook(
        id=id,
        space=space,
        url=url,
        kinds=tuple(json.loads(kinds)),
        created_at=from_micros(created_at),
        position=position,
        delivered=delivered,
        attempts=attempts,
        due_at=optional_moment(due_at or None),
        error=error,
    )
    return StoredWebhook(webhook, secret)
