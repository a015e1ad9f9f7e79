"""`recollect migrate FROM TO`: copy a whole memory, as between a file and a server."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing

from recollect.cli.progress import progress
from recollect.cli.terminal import Terminal
from recollect.core.errors import RecollectError


def main(arguments: Sequence[str]) -> int:
    """Copy a memory; give the exit code."""
    parser = argparse.ArgumentParser(
        prog="recollect migrate",
        description="Copy all that a memory holds into an empty one, as from a file to PostgreSQL or back. Can be "
        "interrupted and run again; every row is compared at the end. The source is not changed.",
        allow_abbrev=False,
    )
    parser.add_argument("source", metavar="FROM", help="a path, or postgresql://...")
    parser.add_argument("target", metavar="TO", help="a path, or postgresql://...; empty, or begun by this command")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    given = parser.parse_args(arguments)
    terminal = Terminal(json_wanted=given.json)
    try:
        return _migrate(given.source, given.target, terminal)
    except RecollectError as error:
        terminal.error(error)
        return error.exit_code
    finally:
        terminal.flush()


def _migrate(source: str, target: str, terminal: Terminal) -> int:
    from recollect.core.settings import Settings
    from recollect.store.migrating import copy_store
    from recollect.store.opening import open_store

    with (
        closing(open_store(source, Settings(), create=False)) as old,
        closing(open_store(target, Settings(), unfinished=True)) as new,
        progress(terminal, "migrate") as report,
    ):
        copied = copy_store(old, new, report)
        places = old.location, new.location
    if terminal.json_wanted:
        terminal.document({"rows": copied.rows, "tables": dict(copied.tables), "resumed": copied.resumed})
    else:
        went_on = " (went on where it had stopped)" if copied.resumed else ""
        terminal.page.line(f"copied {copied.rows:,} rows from {places[0]} to {places[1]}{went_on}; all compared")
    return 0
