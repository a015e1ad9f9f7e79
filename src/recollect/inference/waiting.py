"""How patiently a server is asked: what passes by itself, and how long to leave it alone."""

from __future__ import annotations

import email.utils
import time

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # statuses that pass by themselves
FIRST_WAIT = 0.5  # seconds; doubled at each further attempt
LONGEST_WAIT = 30.0  # seconds; who asks for more is better served by the job queue
# Whoever keeps failing is asked once a call, and then left alone this many times as long as its failing took: no more
# than a tenth of anybody's time is spent waiting for it, and one that refuses at once is found as soon as it is back.
RESTS = 10
LONGEST_REST = 60.0  # seconds
SHOWN_CHARACTERS = 200  # of an endpoint's own words in an error


def retry_after(header: str | None) -> float | None:
    """Read seconds or a date; None where there is neither."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
