"""Units: one number for a model, an event and a window, so that vectors need no index but their primary key.

bits 62..52  model (up to 2,047)      bits 51..10  seq of the event      bits 9..0  window
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WINDOW_BITS = 10
_SEQ_BITS = 42


def unit_of(model: int, seq: int, window: int) -> int:
    """Join the three numbers."""
    return (model << (_SEQ_BITS + _WINDOW_BITS)) | (seq << _WINDOW_BITS) | window


def unit_range(model: int, first_seq: int, last_seq: int) -> tuple[int, int]:
    """Give the lowest and highest unit of a model's events from `first_seq` to `last_seq`."""
    return unit_of(model, first_seq, 0), unit_of(model, last_seq + 1, 0) - 1


def unit_bounds(model: int) -> tuple[int, int]:
    """Give the lowest and highest unit of a model."""
    return unit_of(model, 0, 0), unit_of(model + 1, 0, 0) - 1


def seq_of(unit: int) -> int:
    """Tell the event of a unit."""
    return (unit >> _WINDOW_BITS) & ((1 << _SEQ_BITS) - 1)


def seqs_of(units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tell the event of each unit."""
    return (units >> _WINDOW_BITS) & ((1 << _SEQ_BITS) - 1)
