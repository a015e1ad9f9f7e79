"""Who may use the service, and whom it tells: keys and webhooks, kept in the file."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import UTC
from urllib.parse import urlsplit

from everyword.errors import InvalidInput, NotFound
from everyword.facade.arguments import Time
from everyword.facade.handle import Handle
from everyword.jobs.feed import KINDS, Scope, feed
from everyword.jobs.webhook_outbox import SECRET_PREFIX, FeedToJson, Send, deliver
from everyword.types.api_keys import (
    EVERY_SPACE,
    ApiKey,
    NewKey,
    Permission,
    Presented,
    checked_label,
    checked_permission,
    checked_spaces,
    new_secret,
)
from everyword.types.feed import NOW, NewWebhook, Webhook
from everyword.types.times import as_datetime

_LONGEST_URL = 2_000  # characters


class Access(Handle):
    """Keys and webhooks of a memory."""

    def create_key(
        self,
        name: str,
        *,
        permission: str = Permission.READ,
        spaces: Sequence[str] = (EVERY_SPACE,),
        expires: Time | None = None,
    ) -> NewKey:
        """Make a key for the service. It is shown this once; the file keeps its hash.

        permission: "read", "write" or "admin". spaces: names, "acme/*" for all below acme/, or "*". expires: when it
        ends by itself.
        """
        secret, made = new_secret()
        key = ApiKey(
            id=made.id,
            name=checked_label(name),
            permission=checked_permission(permission),
            spaces=checked_spaces(spaces),
            created_at=self._moment(None),
            expires_at=None if expires is None else as_datetime(expires, "expires").astimezone(UTC),
        )
        if key.expires_at is not None and key.expires_at <= key.created_at:
            raise InvalidInput("The key would have ended already.", fix="Choose a later time.")
        with self._engine.store.writer() as writer:
            writer.put_key(key, made.digest)
        return NewKey(key=key, secret=secret)

    def api_keys(self) -> list[ApiKey]:
        """List keys, also those that ended, without what opens."""
        with self._engine.store.reader() as reader:
            return [stored.key for stored in reader.api_keys()]

    def revoke_key(self, id: str) -> ApiKey:
        """End a key."""
        with self._engine.store.writer() as writer:
            ended = writer.revoke_key(id, at=self._engine.now())
            stored = writer.key(id)
        if stored is None:
            raise NotFound(f"There is no key {id!r}.", fix="See everyword keys list.")
        if not ended:
            raise InvalidInput(f"The key {id} was revoked before.")
        return stored.key

    def key_for(self, given: Presented) -> ApiKey | None:
        """Find the key that somebody presents, whether or not it still counts; None where there is none."""
        with self._engine.store.reader() as reader:
            stored = reader.key(given.id)
        return stored.key if stored is not None and given.matches(stored.hash) else None

    def needs_keys(self) -> bool:
        """Tell whether keys were ever made: from then on the service asks for one."""
        with self._engine.store.reader() as reader:
            return reader.any_key()

    def add_webhook(self, url: str, *, kinds: Sequence[str] = ()) -> NewWebhook:
        """Let an address be told of what happens in this space from now on; `everyword serve` does the telling.

        kinds: which news, such as "event" (default: all). Deliveries are signed with the secret, which is shown this
        once.
        """
        with self._engine.store.writer() as writer:
            position = feed(Scope(reader=writer, space=self._space), NOW, limit=1).position
            webhook = Webhook(
                id=f"wh_{secrets.token_hex(6)}",
                space=self._space,
                url=_checked_url(url),
                kinds=_checked_kinds(kinds),
                created_at=self._moment(None),
                position=position,
            )
            secret = SECRET_PREFIX + b64encode(secrets.token_bytes(32)).decode()
            writer.put_webhook(webhook, secret)
        return NewWebhook(webhook=webhook, secret=secret)

    def webhooks(self) -> list[Webhook]:
        """List the webhooks of all spaces, and how far each got."""
        with self._engine.store.reader() as reader:
            return [stored.webhook for stored in reader.webhooks()]

    def remove_webhook(self, id: str) -> None:
        """Tell an address no more."""
        with self._engine.store.writer() as writer:
            if not writer.delete_webhook(id):
                raise NotFound(f"There is no webhook {id!r}.", fix="See everyword webhooks list.")

    def deliver_webhooks(self, send: Send, lay: FeedToJson, *, going_on: Callable[[], bool] | None = None) -> int:
        """Send every webhook of the file what waits for it; count what was taken. `everyword serve` does this.

        send: posts a body with headers to an address and gives what is wrong, or None. lay: news as a JSON document.
        going_on: called before each delivery; False stops.
        """
        return deliver(self._engine, send, lay, going_on or (lambda: True))


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("idna")  # refuses labels that no name can have
        usable = parts.scheme in ("http", "https") and bool(host) and parts.username is None
        _ = parts.port  # which it may refuse
    except (ValueError, AttributeError, TypeError):
        usable = False
    if not usable or len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
        raise InvalidInput(f"{str(url)[:80]!r} is not an address of http or https.")
    return url


def _checked_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    unknown = [kind for kind in kinds if kind not in KINDS]
    if isinstance(kinds, str) or unknown:
        raise InvalidInput(f"There is no news of {kinds!r}.", fix=f"Known are {', '.join(KINDS)}.")
    return tuple(dict.fromkeys(kinds))
