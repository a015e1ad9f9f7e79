"""Receipts as JSON, the form in which stores keep them."""

from __future__ import annotations

import json

from recollect.core.clock import as_datetime
from recollect.core.values import Receipt


def receipt_to_json(receipt: Receipt) -> str:
    """Write a receipt."""
    return json.dumps(
        {
            "at": receipt.at.isoformat(),
            "space": receipt.space,
            "ids": receipt.ids,
            "hashes": receipt.hashes,
            "removed": dict(receipt.removed),
        }
    )


def receipt_from_json(text: str) -> Receipt:
    """Read a receipt."""
    kept = json.loads(text)
    return Receipt(
        at=as_datetime(kept["at"]),
        space=kept["space"],
        dry_run=False,
        ids=tuple(kept["ids"]),
        hashes=tuple(kept["hashes"]),
        removed=kept["removed"],
        scrubbed=True,
    )
