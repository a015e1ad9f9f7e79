"""Deliver the feed to webhooks, at least once and in order.

Each webhook is a durable queue by itself: its position in the feed moves only after its address has accepted everything
up to there.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping

from everyword.engine.engine import Engine
from everyword.errors import EverywordError
from everyword.jobs.feed import feed, feed_scope
from everyword.storage.protocol import StoredWebhook
from everyword.types.feed import Feed, Webhook

Send = Callable[[str, Mapping[str, str], bytes], str | None]  # address, headers, body; returns an error or None
FeedToJson = Callable[[Feed], object]

SECRET_PREFIX = "whsec_"
_MOST_OF_A_KIND = 100  # items in one delivery
_RETRY_FIRST_S = 2  # after a failed delivery; doubles up to an hour
_RETRY_MOST_S = 3_600
_DOUBLINGS = 12  # enough to reach that hour
_LONGEST_ERROR = 500  # characters
_SECOND = 1_000_000  # microseconds


def deliver(engine: Engine, send: Send, to_json: FeedToJson, going_on: Callable[[], bool]) -> int:
    """Send every webhook that is due what waits for it; return the number of accepted deliveries."""
    due = [stored for stored in _webhooks(engine) if _is_due(stored.webhook, engine.now())]
    return sum(_deliver_to(engine, stored, send, to_json, going_on) for stored in due)


def sign(secret: str, id: str, at_s: int, body: bytes) -> dict[str, str]:
    """Make the headers of a delivery, signed as Standard Webhooks specifies."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.new(key, f"{id}.{at_s}.".encode() + body, hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _webhooks(engine: Engine) -> list[StoredWebhook]:
    with engine.store.file_reader() as reader:
        return reader.webhooks()


def _is_due(webhook: Webhook, now: int) -> bool:
    if webhook.due_at is None:
        return True
    left = int(webhook.due_at.timestamp() * _SECOND) - now
    return not 0 < left <= _RETRY_MOST_S * _SECOND  # a longer wait means that the clock was set back


def _deliver_to(
    engine: Engine, stored: StoredWebhook, send: Send, to_json: FeedToJson, going_on: Callable[[], bool]
) -> int:
    accepted, webhook = 0, stored.webhook
    while going_on():
        with engine.store.reader(webhook.space) as reader:
            found = feed(feed_scope(engine, reader), webhook.position, limit=_MOST_OF_A_KIND)
        if found.position == webhook.position:
            return accepted
        wanted = Feed([one for one in found if not webhook.kinds or one.kind in webhook.kinds], position=found.position)
        failure = _post(engine, stored, wanted, send, to_json) if wanted else None
        with engine.store.file_writer() as writer:
            if failure is not None:
                writer.fail_webhook(webhook, error=failure[:_LONGEST_ERROR], due_at=_next_attempt(engine, webhook))
                return accepted
            if not writer.move_webhook(webhook, found.position, delivered=len(wanted)):
                return accepted  # another process moved or removed it meanwhile
        accepted += bool(wanted)
        webhook = next((one.webhook for one in _webhooks(engine) if one.webhook.id == webhook.id), webhook)
    return accepted


def _post(engine: Engine, stored: StoredWebhook, wanted: Feed, send: Send, to_json: FeedToJson) -> str | None:
    webhook = stored.webhook
    # Every attempt at the same position has the same id, so that the receiver can drop duplicates.
    id = f"{webhook.id}_{hashlib.sha256(webhook.position.encode()).hexdigest()[:16]}"
    try:
        body = json.dumps({"webhook": webhook.id, "space": webhook.space, "changes": to_json(wanted)}).encode("ascii")
        return send(webhook.url, sign(stored.secret, id, engine.now() // _SECOND, body), body)
    except EverywordError as error:
        return str(error)
    except Exception as error:  # must not keep the other webhooks from being served
        return f"{type(error).__name__}: {error}"


def _next_attempt(engine: Engine, webhook: Webhook) -> int:
    return engine.now() + min(_RETRY_MOST_S, _RETRY_FIRST_S * 2 ** min(webhook.attempts, _DOUBLINGS)) * _SECOND
