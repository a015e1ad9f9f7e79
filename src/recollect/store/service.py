"""What a store must do for the service: keep keys and webhooks, and number what happens so that it can be followed."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from recollect.core.feed import Webhook
from recollect.core.keys import ApiKey
from recollect.core.values import Receipt


class StoredKey(NamedTuple):
    """A key, and the hash by which it is known again."""

    key: ApiKey
    hash: bytes


class StoredWebhook(NamedTuple):
    """A webhook, and what its deliveries are signed with."""

    webhook: Webhook
    secret: str


class JobRow(NamedTuple):
    """A job, as `jobs` lists it."""

    id: int
    kind: str
    seq: int
    attempts: int
    due_at: int  # microseconds
    error: str | None


class ServiceReader(Protocol):
    """Keys, webhooks and news of a snapshot."""

    def api_keys(self) -> list[StoredKey]:
        """List keys, the oldest first."""
        ...

    def key(self, id: str) -> StoredKey | None:
        """Look a key up."""
        ...

    def any_key(self) -> bool:
        """Tell whether there is a key, or ever was."""
        ...

    def webhooks(self) -> list[StoredWebhook]:
        """List webhooks, the oldest first."""
        ...

    def receipts_after(self, space: str, number: int, *, limit: int) -> list[tuple[int, Receipt]]:
        """Read what was forgotten, from behind a number."""
        ...

    def last_number(self, space: str, table: str) -> int:
        """Tell where a space's rows of a table stand: none is behind that number now, all to come will be."""
        ...

    def jobs_of(self, space: str, *, after: int = 0, limit: int) -> list[JobRow]:
        """List the work of a space that waits, oldest first, from behind a number."""
        ...

    def job_counts(self, space: str) -> dict[str, tuple[int, int]]:
        """Count by kind what waits, and what of it failed before."""
        ...

    def pulse(self) -> str:
        """Give a word that changes whenever anything is added, and when the oldest job is done. Reads no table."""
        ...

    def next_job_due(self) -> int | None:
        """Tell when the first job is due, in microseconds; None where none waits."""
        ...


class ServiceWriter(ServiceReader, Protocol):
    """Changes to keys and webhooks, within a transaction."""

    def put_key(self, key: ApiKey, hash: bytes) -> None:
        """Add a key."""
        ...

    def revoke_key(self, id: str, *, at: int) -> bool:
        """End a key; False where there is none, or it has ended."""
        ...

    def put_webhook(self, webhook: Webhook, secret: str) -> None:
        """Add a webhook."""
        ...

    def move_webhook(self, webhook: Webhook, position: str, *, delivered: int) -> bool:
        """Note that everything up to a position was delivered; False where another process did."""
        ...

    def fail_webhook(self, webhook: Webhook, *, error: str, due_at: int) -> None:
        """Note that a delivery failed, and when to try again."""
        ...

    def delete_webhook(self, id: str) -> bool:
        """Remove a webhook; False where there is none."""
        ...
