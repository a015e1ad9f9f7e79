"""Read and write API keys, webhooks, the job queue and the change feed."""

from __future__ import annotations

import json
from datetime import datetime

from everyword.storage.rows import NOT_OWED, SCRUB_OWED, JobRow, StoredKey, StoredWebhook
from everyword.storage.sql.row_mapping import receipt_from_json
from everyword.storage.sql.snapshot import Row, Snapshot
from everyword.types.api_keys import ApiKey, Permission
from everyword.types.events import Receipt
from everyword.types.feed import Webhook
from everyword.types.times import from_micros, to_micros


class ServiceRows(Snapshot):
    """Reads what the service needs."""

    def api_keys(self) -> list[StoredKey]:
        """List keys, the oldest first."""
        return [_key(row) for row in self.rows("keys")]

    def key(self, id: str) -> StoredKey | None:
        """Look a key up."""
        rows = self.rows("key_by_id", (id,))
        return _key(rows[0]) if rows else None

    def any_key(self) -> bool:
        """Tell whether there is a key, or ever was."""
        return bool(self.one("any_key"))

    def webhooks(self) -> list[StoredWebhook]:
        """List webhooks, the oldest first."""
        return [_webhook(row) for row in self.rows("webhooks")]

    def receipts_after(self, space: str, number: int, *, limit: int) -> list[tuple[int, Receipt]]:
        """Read what was forgotten, from behind a number."""
        found = self.space(space)
        rows = self.rows("receipts_after", (found.id, number, limit)) if found else []
        scrubbed = self.one("get_fact", (SCRUB_OWED,)) in (None, NOT_OWED)
        return [(row[0], receipt_from_json(row[1], scrubbed=scrubbed)) for row in rows]

    def last_number(self, space: str, table: str) -> int:
        """Tell where a space's rows of a table stand: none is behind that number now, all to come will be."""
        found = self.space(space)
        return (self.one("last_number", {"space": found.id, "table": table}) or 0) if found else 0

    def jobs_of(self, space: str, *, after: int = 0, limit: int) -> list[JobRow]:
        """List the work of a space that waits, oldest first, from behind a number."""
        found = self.space(space)
        return [JobRow(*row) for row in self.rows("jobs_of_space", (found.id, after, limit))] if found else []

    def job_counts(self, space: str) -> dict[str, tuple[int, int]]:
        """Count by kind what waits, and what of it failed before."""
        found = self.space(space)
        rows = self.rows("jobs_by_kind", (found.id,)) if found else []
        return {kind: (waiting, failed) for kind, waiting, failed in rows}

    def pulse(self) -> str:
        """Give a word that changes whenever anything is added, and when the oldest job is done. Reads no table."""
        return self.one("pulse")

    def next_job_due(self) -> int | None:
        """Tell when the first job is due, in microseconds; None where none waits."""
        return self.one("next_job_due")


class ServiceChanges(ServiceRows):
    """Changes keys and webhooks."""

    def put_key(self, key: ApiKey, hash: bytes) -> None:
        """Add a key."""
        spaces = json.dumps(key.spaces, ensure_ascii=False)
        times = (_micros(key.created_at), _micros(key.expires_at))
        self.run("insert_key", (key.id, hash, key.name, key.permission.value, spaces, *times))

    def revoke_key(self, id: str, *, at: int) -> bool:
        """End a key; False where there is none, or it has ended."""
        return self.run("revoke_key", (at, id)) > 0

    def put_webhook(self, webhook: Webhook, secret: str) -> None:
        """Add a webhook."""
        kinds, created = json.dumps(webhook.kinds), _micros(webhook.created_at)
        values = (webhook.id, webhook.space, webhook.url, secret, kinds, created, webhook.position)
        self.run("insert_webhook", values)

    def move_webhook(self, webhook: Webhook, position: str, *, delivered: int) -> bool:
        """Note that everything up to a position was delivered; False where another process did."""
        return self.run("move_webhook", (position, delivered, webhook.id, webhook.position)) > 0

    def fail_webhook(self, webhook: Webhook, *, error: str, due_at: int) -> None:
        """Note that a delivery failed, and when to try again."""
        self.run("fail_webhook", (due_at, error, webhook.id, webhook.position))

    def delete_webhook(self, id: str) -> bool:
        """Remove a webhook; False where there is none."""
        return self.run("delete_webhook", (id,)) > 0


def _key(row: Row) -> StoredKey:
    id, hash, name, permission, spaces, created_at, expires_at, revoked_at = row
    key = ApiKey(
        id=id,
        name=name,
        permission=Permission(permission),
        spaces=tuple(json.loads(spaces)),
        created_at=from_micros(created_at),
        expires_at=_moment(expires_at),
        revoked_at=_moment(revoked_at),
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
        due_at=_moment(due_at or None),
        error=error,
    )
    return StoredWebhook(webhook, secret)


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)[0]


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
