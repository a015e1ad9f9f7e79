"""`recollect watch`: what is new, as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli import render_attention
from recollect.cli.parser import Request
from recollect.cli.terminal import Terminal

if TYPE_CHECKING:
    from recollect.memory import Memory


def watch(memory: Memory, request: Request, terminal: Terminal) -> int:
    """Print what is new until as many came as were asked for, or somebody interrupts."""
    wanted = dict(request.arguments)
    left: int | None = wanted.pop("count", None)
    if not terminal.json_wanted:
        terminal.note("watching; Ctrl-C ends it")
    for kind, one in memory.watch(**wanted):
        if terminal.json_wanted:
            from recollect.serial import plain

            terminal.document({kind: plain(one)})
        else:
            render_attention.news(terminal.page, kind, one)
        terminal.flush()
        if left is not None:
            left -= 1
            if left <= 0:
                break
    return 0
