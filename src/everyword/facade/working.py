"""A memory's part in the work that waits on a server."""

from __future__ import annotations

import threading
from collections.abc import Callable

from everyword.facade.handle import Handle


class Working(Handle):
    """What workers call."""

    def work(
        self,
        *,
        once: bool = False,
        stop: threading.Event | None = None,
        told: Callable[[str, int], None] | None = None,
    ) -> int:
        """Do the work that waits on a server, a space at a time, beside any number of other workers.

        Until `stop` is set, or `once`: until none is left. told: gets a space and how much was done for it.
        """
        from everyword.jobs.worker import work

        return work(self._engine, stop=stop or threading.Event(), once=once, told=told or (lambda _space, _done: None))
