"""What folding reads of events, whoever keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everyword.knowledge.legacy.fold.moments import Moment


class Log(Protocol):
    """What the executor reads of events."""

    def moments(self, seqs: Sequence[int]) -> Mapping[int, Moment]:
        """Read events for folding."""
        ...

    def vectors(self, seqs: Sequence[int]) -> Mapping[int, NDArray[np.int8]]:
        """Read the vectors of events."""
        ...

    def texts(self, seqs: Sequence[int]) -> Mapping[int, str]:
        """Read what was said."""
        ...

    def ids(self, seqs: Sequence[int]) -> Mapping[int, str]:
        """Read the ids of events."""
        ...

    def known(self, ids: Sequence[str]) -> Mapping[str, int]:
        """Tell the seqs of the events that are there."""
        ...
