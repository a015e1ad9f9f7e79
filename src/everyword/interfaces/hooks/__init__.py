"""Hooks of coding agents: save conversations, and give the agent context from memory without being asked.

An agent starts a process for each hook and waits for it. So this module, and `run_hook`, `client` and `state`,
import nothing heavy. Long work goes to a resident process (`daemon`) or to a detached one.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import BinaryIO


def main(argv: Sequence[str] | None = None, stdin: BinaryIO | None = None) -> int:
    """Run a hook, or a process that a hook started. Return the exit code, which is 0."""
    from everyword.interfaces.hooks import run_hook

    arguments = list(sys.argv[1:] if argv is None else argv)
    # sys.stdin is None if the agent closed standard input.
    return run_hook.main(arguments, stdin or getattr(sys.stdin, "buffer", None) or io.BytesIO())
