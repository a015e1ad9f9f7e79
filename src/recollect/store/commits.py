"""How much each thread has written to a store."""

from __future__ import annotations

import threading


class Commits(threading.local):
    """Transactions that were committed, counted for each thread by itself."""

    count = 0
