"""What can go wrong in an evaluation before a question is asked."""

from __future__ import annotations


class EvalError(Exception):
    """An evaluation can't run as asked; the message says what to do."""


class NotHere(Exception):
    """What a system needs is not on this machine: its row says so."""


class OtherRun(EvalError):
    """The file holds the results of another run."""


class OutOfTime(EvalError):
    """A system had not taken in its lines when its time was over."""
