"""The worker in the service's own process: vectors and readings that wait, and webhooks."""

from __future__ import annotations

import logging
import threading

from recollect.core.clock import utc_now
from recollect.core.errors import RecollectError
from recollect.memory import Memory
from recollect.serial import plain
from recollect.serve.http.metrics import Metrics
from recollect.serve.http.webhooks import Sender

log = logging.getLogger("recollect.serve")

_EVERY_S = 2.0  # how late what another process left is noticed
_SETTLE_EVERY_S = 60.0  # also without a job that is due: a scrub that is owed, statements that are behind
_AFTER_A_FAULT_S = 30.0
_STOP_WITHIN_S = 10.0


class Worker:
    """A thread that does what waits, one thing after the other."""

    def __init__(self, memory: Memory, metrics: Metrics) -> None:
        self._memory = memory
        self._metrics = metrics
        self._sender = Sender(metrics)
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recollect-worker", daemon=True)
        self._since_settled = _SETTLE_EVERY_S

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Look now."""
        self._woken.set()

    def stop(self) -> None:
        """Finish what is being done, and end."""
        self._stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_WITHIN_S)  # an LLM may take longer; what it reads is asked for again later

    def _run(self) -> None:
        while not self._stopping.is_set():
            wait_s = _EVERY_S
            try:
                self._settle()
                self._memory.deliver_webhooks(self._sender.send, plain, going_on=lambda: not self._stopping.is_set())
            except RecollectError as error:
                if self._stopping.is_set():  # the memory was closed while it was at work: what it left is still owed
                    return
                log.warning("Work has to wait: %s", error)
                wait_s = _AFTER_A_FAULT_S
            except Exception:
                log.exception("The worker met a fault; it goes on.")
                wait_s = _AFTER_A_FAULT_S
            self._since_settled += wait_s
            self._woken.wait(wait_s)
            self._woken.clear()

    def _settle(self) -> None:
        due = self._memory.next_job_due()
        if (due is not None and due <= utc_now()) or self._since_settled >= _SETTLE_EVERY_S:
            self._since_settled = 0.0
            self._memory.settle()
