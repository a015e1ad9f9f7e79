"""Concepts as they are kept: how one is worded, and what is at work of it for the next process."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from everyword.knowledge.legacy.fold.graph import Node, Seen
from everyword.storage.protocol import WorkRow
from everyword.types.events import Json

RULES = "rules"  # who words a concept, where no LLM did


def node_of(row: WorkRow) -> Node:
    """Read a concept at work back."""
    return Node(
        id=row.id,
        label=row.body["label"],
        theme=row.body.get("theme"),
        size=row.size,
        total=np.frombuffer(row.total, np.float64).copy(),
        tail=tuple(Seen.of(seq, terms, names) for seq, terms, names in json.loads(row.recent)),
        touched=row.touched,
        last_at=row.last_at,
    )


def kept_body(body: Mapping[str, Json]) -> dict[str, Json]:
    """Give the wording of a concept with all that belongs to it, and nothing else."""
    empty: dict[str, Json] = {"keys": [], "names": [], "theme": None, "written_by": RULES, "size": 0}
    return {key: body.get(key, empty.get(key)) for key in ("label", "description", *empty)}
