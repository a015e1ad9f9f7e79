"""Programs that parse their own command lines: `everyword migrate`, `worker`, `keys` and `webhooks`."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

from everyword.engine.retry import when_there
from everyword.errors import InvalidInput, StoreUnreachable
from everyword.interfaces.cli.defaults import default_path
from everyword.interfaces.cli.page import Column, Piece, Styled
from everyword.interfaces.cli.parser import Parser, UsageError, add_options
from everyword.interfaces.cli.terminal import Terminal, progress
from everyword.memory import Memory
from everyword.settings import Settings
from everyword.storage.copy import copy_store
from everyword.storage.opening import open_store
from everyword.types.serialization import to_json
from everyword.types.service import EVERY_SPACE, ApiKey, Permission, Webhook
from everyword.types.times import utc_now

_WAIT_FOR_SERVER_S = 60.0  # both may start together; after that, a supervisor may restart us
_DAY_S = 86_400
_UNITS_S = {"h": 3_600, "d": _DAY_S, "w": 7 * _DAY_S, "y": 365 * _DAY_S}


def main(name: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Run a program; return the exit code."""
    match name:
        case "migrate":
            return _migrate(arguments, terminal)
        case "worker":
            return _worker(arguments, terminal)
        case "keys":
            return _administer(_keys_parser(), arguments, terminal)
        case _:
            return _administer(_webhooks_parser(), arguments, terminal)


def _migrate(arguments: Sequence[str], terminal: Terminal) -> int:
    """Copy a memory; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="everyword migrate",
        description="Copy a whole memory into an empty one, such as from a file to PostgreSQL or back. It can be "
        "interrupted and run again. All rows are compared at the end. The source is not changed.",
        allow_abbrev=False,
    )
    parser.add_argument("source", metavar="FROM", help="a path, or postgresql://...")
    parser.add_argument("target", metavar="TO", help="a path, or postgresql://...; empty, or an interrupted copy")
    add_options(parser)
    parsed = parser.parse_args(arguments)
    with (
        closing(open_store(parsed.source, Settings(), create=False)) as old,
        closing(open_store(parsed.target, Settings(), unfinished=True)) as new,
        progress(terminal, "migrate") as report,
    ):
        copied = copy_store(old, new, report)
        source, target = old.location, new.location
    if terminal.json_wanted:
        terminal.document({"rows": copied.rows, "tables": dict(copied.tables), "resumed": copied.resumed})
    else:
        resumed = " (resumed an interrupted copy)" if copied.resumed else ""
        terminal.page.line(f"copied {copied.rows:,} rows from {source} to {target}{resumed}; all compared")
    return 0


def _worker(arguments: Sequence[str], terminal: Terminal) -> int:
    """Run queued work until told to stop; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="everyword worker",
        description="Run the queued work of a memory on PostgreSQL (vectors, statements, LLM readings), one space at "
        "a time. Start as many workers as you like, on any machine: one works on a space at a time.",
        allow_abbrev=False,
    )
    parser.add_argument("--memory", metavar="LOCATION", help="postgresql://... (default: EVERYWORD_MEMORY)")
    parser.add_argument("--embedder", metavar="NAME", help="the model (default: EVERYWORD_EMBEDDER, or the memory's)")
    parser.add_argument("--llm", metavar="NAME", help="an LLM that reads events (default: EVERYWORD_LLM)")
    parser.add_argument("--once", action="store_true", help="stop when no work is left")
    parsed = parser.parse_args(arguments)
    location = parsed.memory or os.environ.get("EVERYWORD_MEMORY")
    if not location:
        raise InvalidInput("No memory given.", fix="Give --memory postgresql://... or set EVERYWORD_MEMORY.")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())

    def open_memory() -> Memory:
        return Memory.open(
            location,
            embedder=parsed.embedder or os.environ.get("EVERYWORD_EMBEDDER"),
            llm=parsed.llm or os.environ.get("EVERYWORD_LLM"),
            create=False,
        )

    memory = _open_or_wait(open_memory, parsed.once, stop, terminal)
    if memory is None:  # told to stop before the server answered
        return 0
    with memory:
        terminal.note(f"working on {memory.location}")
        done = memory.admin.work(
            once=parsed.once, stop=stop, on_done=lambda space, count: terminal.note(f"{space}: {count:,} done")
        )
    terminal.page.line(f"done: {done:,}")
    return 0


def _open_or_wait(
    open_memory: Callable[[], Memory], once: bool, stop: threading.Event, terminal: Terminal
) -> Memory | None:
    try:
        return open_memory()
    except StoreUnreachable as error:
        if once:
            raise
        terminal.note(f"waiting for the server, {_WAIT_FOR_SERVER_S:g} s at most: {error}")
    return when_there(open_memory, within_s=_WAIT_FOR_SERVER_S, stop=stop)


# Keys and webhooks of the service

Answer = tuple[dict[str, Any], Callable[[Terminal], None]]  # a JSON document, and what shows the same as text


def _administer(parser: argparse.ArgumentParser, arguments: Sequence[str], terminal: Terminal) -> int:
    """Run a verb of `everyword keys` or `everyword webhooks`."""
    parsed = parser.parse_args(arguments)
    if parsed.verb is None:
        raise UsageError(f"Missing verb after {parser.prog.split()[-1]}.", fix=f"See {parser.prog} --help.")
    terminal.json_wanted = parsed.json
    with Memory.open(parsed.memory or default_path(make_folder=True), embedder="none") as memory:
        document, show = parsed.run(memory, parsed)
    if terminal.json_wanted:
        terminal.document(document)
    else:
        show(terminal)
    return 0


def _keys_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="everyword keys",
        description="API keys of the service. Once one exists, every request needs a key.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    create = _add_verb(verbs, "create", "create a key and show it once", _create_key)
    create.add_argument("name", metavar="NAME", help="a label for the key")
    create.add_argument(
        "--may", choices=[one.value for one in Permission], default=Permission.READ.value, help="default: read"
    )
    create.add_argument(
        "--space",
        action="append",
        metavar="NAME",
        help='a space that the key opens; "acme/*" means all below acme/; may be repeated (default: all)',
    )
    create.add_argument("--expires", metavar="TIME", help="expiry: a time, or a duration such as 12h, 30d, 8w, 1y")
    _add_verb(verbs, "list", "list keys, including expired ones", _list_keys)
    revoke = _add_verb(verbs, "revoke", "revoke a key", _revoke_key)
    revoke.add_argument("id", metavar="ID", help="as `list` shows it")
    return parser


def _webhooks_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="everyword webhooks",
        description="Addresses that the service sends the changes of a space to.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    add = _add_verb(verbs, "add", "add a webhook", _add_webhook)
    add.add_argument("url", metavar="URL", help="accepts a POST with JSON")
    add.add_argument("--space", metavar="NAME", help="the space (default: `default`)")
    kinds = "only this kind: event, statement ...; may be repeated (default: all)"
    add.add_argument("--kind", action="append", metavar="KIND", help=kinds)
    _add_verb(verbs, "list", "list webhooks and their state", _list_webhooks)
    remove = _add_verb(verbs, "remove", "remove a webhook", _remove_webhook)
    remove.add_argument("id", metavar="ID", help="as `list` shows it")
    return parser


def _add_verb(
    verbs: Any, name: str, summary: str, run: Callable[[Memory, argparse.Namespace], Answer]
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=summary, allow_abbrev=False)
    add_options(verb, "--memory")
    verb.set_defaults(run=run)
    return verb


def _create_key(memory: Memory, parsed: argparse.Namespace) -> Answer:
    created = memory.admin.create_key(
        parsed.name,
        permission=parsed.may,
        spaces=parsed.space or [EVERY_SPACE],
        expires=None if parsed.expires is None else _expiry(parsed.expires),
    )

    def show(terminal: Terminal) -> None:
        terminal.page.line(Styled(created.secret, "strong"))
        terminal.note("The key is shown only once. Send it as: Authorization: Bearer KEY")

    return {"secret": created.secret, "key": to_json(created.key)}, show


def _list_keys(memory: Memory, _: argparse.Namespace) -> Answer:
    keys = memory.admin.api_keys()
    columns = (Column("id", style="name"), Column("name"), Column("permission"), Column("spaces"), Column("state"))
    rows = [(key.id, key.name, key.permission.value, ", ".join(key.spaces), _key_state(key)) for key in keys]
    return {"keys": to_json(keys)}, _table(columns, rows, "no keys; only this machine can use the service")


def _revoke_key(memory: Memory, parsed: argparse.Namespace) -> Answer:
    key = memory.admin.revoke_key(parsed.id)
    return {"key": to_json(key)}, lambda terminal: terminal.page.line(f"revoked {key.id} ({key.name})")


def _key_state(key: ApiKey) -> Piece:
    if key.revoked_at is not None:
        return Styled(f"revoked {_when(key.revoked_at)}", "bad")
    if key.expires_at is None:
        return Styled("valid", "good")
    ends = _when(key.expires_at)
    return Styled(f"valid until {ends}", "good") if key.usable(utc_now()) else Styled(f"expired {ends}", "warning")


def _expiry(text: str) -> str | datetime:
    """Parse a duration such as 30d; return any other text unchanged, as a time."""
    number, unit = text[:-1], text[-1:]
    if unit in _UNITS_S and number.isascii() and number.isdecimal() and len(number) < 6:
        return datetime.now(UTC) + timedelta(seconds=int(number) * _UNITS_S[unit])
    return text


def _add_webhook(memory: Memory, parsed: argparse.Namespace) -> Answer:
    handle = memory if parsed.space is None else memory.space(parsed.space)
    created = handle.admin.add_webhook(parsed.url, kinds=parsed.kind or ())

    def show(terminal: Terminal) -> None:
        terminal.page.line(created.webhook.id, "  ", Styled(created.secret, "strong"))
        terminal.note("The secret is shown only once. It signs the deliveries (Standard Webhooks).")

    return {"secret": created.secret, "webhook": to_json(created.webhook)}, show


def _list_webhooks(memory: Memory, _: argparse.Namespace) -> Answer:
    webhooks = memory.admin.webhooks()
    names = (Column("id", style="name"), Column("space"), Column("address"))
    columns = (*names, Column("delivered", right=True), Column("state"))
    rows = [(one.id, one.space, one.url, f"{one.delivered:,}", _webhook_state(one)) for one in webhooks]
    return {"webhooks": to_json(webhooks)}, _table(columns, rows, "no webhooks")


def _webhook_state(webhook: Webhook) -> Piece:
    if not webhook.attempts:
        return Styled("ok", "good")
    again = "" if webhook.due_at is None else f", next attempt at {_when(webhook.due_at)}"
    return Styled(f"failed {webhook.attempts} times{again}: {webhook.error}", "warning")


def _remove_webhook(memory: Memory, parsed: argparse.Namespace) -> Answer:
    memory.admin.remove_webhook(parsed.id)
    return {"removed": parsed.id}, lambda terminal: terminal.page.line(f"removed {parsed.id}")


def _table(columns: Sequence[Column], rows: Sequence[Sequence[Piece]], empty: str) -> Callable[[Terminal], None]:
    return lambda terminal: terminal.page.table(columns, rows) if rows else terminal.page.line(empty)


def _when(moment: datetime) -> str:
    return moment.isoformat(" ", "minutes").removesuffix("+00:00")
