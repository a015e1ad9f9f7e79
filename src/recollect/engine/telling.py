"""Telling webhooks what happened. Each is its own durable queue: what lies behind its position has not been taken yet.

At least once, in order: a position moves only after the address has taken everything up to it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping

from recollect.core.errors import RecollectError
from recollect.core.feed import Feed, Webhook
from recollect.engine.engine import Engine
from recollect.engine.feed import Scene, feed
from recollect.store.protocol import Reader
from recollect.store.service import StoredWebhook

# The address, the headers, the body; gives what is wrong, or None where it was taken.
Send = Callable[[str, Mapping[str, str], bytes], str | None]
# News as a JSON document.
Lay = Callable[[Feed], object]

SECRET_PREFIX = "whsec_"
_NEWS_AT_ONCE = 100  # of each kind, in one delivery
_RETRY_FIRST_S = 2  # after a failed delivery; doubles up to an hour
_RETRY_MOST_S = 3_600
_DOUBLINGS = 12  # more than the limit needs
_LONGEST_ERROR = 500  # characters
_SECOND = 1_000_000  # microseconds


def deliver(engine: Engine, send: Send, lay: Lay, going_on: Callable[[], bool]) -> int:
    """Send every webhook what waits for it; count the deliveries that were taken."""
    with engine.store.reader() as reader:
        due = [stored for stored in reader.webhooks() if _is_due(stored.webhook, engine.now())]
    return sum(_deliver_to(engine, stored, send, lay, going_on) for stored in due)


def scene_of(engine: Engine, reader: Reader, space: str, wing: str | None = None) -> Scene:
    """Say whose news are read; intents as they stand this minute."""
    minute = engine.clock().replace(second=0, microsecond=0)
    return Scene(
        reader=reader,
        space=space,
        wing=wing,
        intents=lambda: engine.intents.of(reader, space, wing=wing, now=minute),
    )


def always() -> bool:
    """Go on."""
    return True


def signed(secret: str, id: str, at_s: int, body: bytes) -> dict[str, str]:
    """Sign a delivery as Standard Webhooks has it, so that its libraries can check it."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.new(key, f"{id}.{at_s}.".encode() + body, hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _deliver_to(engine: Engine, stored: StoredWebhook, send: Send, lay: Lay, going_on: Callable[[], bool]) -> int:
    taken, webhook = 0, stored.webhook
    while going_on():
        with engine.store.reader() as reader:
            found = feed(scene_of(engine, reader, webhook.space), webhook.position, limit=_NEWS_AT_ONCE)
        if found.position == webhook.position:
            return taken
        wanted = Feed([one for one in found if not webhook.kinds or one.kind in webhook.kinds], position=found.position)
        wrong = _sent(engine, stored, wanted, send, lay) if wanted else None
        with engine.store.writer() as writer:
            if wrong is not None:
                writer.fail_webhook(webhook, error=wrong[:_LONGEST_ERROR], due_at=_again(engine, webhook))
                return taken
            if not writer.move_webhook(webhook, found.position, delivered=len(wanted)):
                return taken  # another process did, or it was removed meanwhile
        taken += bool(wanted)
        webhook = next((one.webhook for one in _webhooks(engine) if one.webhook.id == webhook.id), webhook)
    return taken


def _sent(engine: Engine, stored: StoredWebhook, wanted: Feed, send: Send, lay: Lay) -> str | None:
    webhook = stored.webhook
    # The same for every attempt at the same news, so that the address can tell that it has them already.
    id = f"{webhook.id}_{hashlib.sha256(webhook.position.encode()).hexdigest()[:16]}"
    try:
        body = json.dumps({"webhook": webhook.id, "space": webhook.space, "changes": lay(wanted)}).encode("ascii")
        return send(webhook.url, signed(stored.secret, id, engine.now() // _SECOND, body), body)
    except RecollectError as error:
        return str(error)
    except Exception as error:  # whatever is wrong with this one, those behind it are told all the same
        return f"{type(error).__name__}: {error}"


def _webhooks(engine: Engine) -> list[StoredWebhook]:
    with engine.store.reader() as reader:
        return reader.webhooks()


def _is_due(webhook: Webhook, now: int) -> bool:
    if webhook.due_at is None:
        return True
    left = int(webhook.due_at.timestamp() * _SECOND) - now
    return not 0 < left <= _RETRY_MOST_S * _SECOND  # longer than anybody waits: the clock was set back


def _again(engine: Engine, webhook: Webhook) -> int:
    return engine.now() + min(_RETRY_MOST_S, _RETRY_FIRST_S * 2 ** min(webhook.attempts, _DOUBLINGS)) * _SECOND
