"""Receipts as JSON, the form in which stores keep them: numbers of events, never their ids or hashes of them.

Receipts of schema 17 and before hold ids; they are read as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from recollect.core.clock import as_datetime
from recollect.core.values import Receipt


def receipt_to_json(receipt: Receipt, seqs: Iterable[int]) -> str:
    """Write a receipt and the numbers of the events that went."""
    return json.dumps(
        {
            "at": receipt.at.isoformat(),
            "space": receipt.space,
            "seqs": _ranges(seqs),
            "removed": dict(receipt.removed),
        }
    )


def receipt_from_json(text: str, *, scrubbed: bool = False) -> Receipt:
    """Read a receipt."""
    kept = json.loads(text)
    return Receipt(
        at=as_datetime(kept["at"]),
        space=kept["space"],
        dry_run=False,
        ids=tuple(kept.get("ids", ())),
        removed=kept["removed"],
        scrubbed=scrubbed,
    )


def seqs_from_json(text: str) -> list[int]:
    """Read the numbers of the events that went; none in a receipt that holds ids."""
    return [seq for first, last in json.loads(text).get("seqs", ()) for seq in range(first, last + 1)]


def _ranges(seqs: Iterable[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for seq in sorted(seqs):
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    return ranges
