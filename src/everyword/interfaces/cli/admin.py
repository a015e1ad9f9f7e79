"""`everyword keys` and `everyword webhooks`: API keys of the service, and addresses that get its changes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from everyword.interfaces.cli.location import default_path
from everyword.interfaces.cli.page import Column, Piece, Styled
from everyword.interfaces.cli.parser import Parser, UsageError
from everyword.interfaces.cli.terminal import Terminal
from everyword.memory import Memory
from everyword.types.api_keys import EVERY_SPACE, ApiKey, Permission
from everyword.types.feed import Webhook
from everyword.types.serialization import to_json
from everyword.types.times import utc_now

_DAY_S = 86_400
_UNITS_S = {"h": 3_600, "d": _DAY_S, "w": 7 * _DAY_S, "y": 365 * _DAY_S}


def main(program: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Run `everyword keys ...` or `everyword webhooks ...`; return the exit code."""
    parsed = _PARSERS[program]().parse_args(arguments)
    if parsed.verb is None:
        raise UsageError(f"Missing verb after {program}.", fix=f"See everyword {program} --help.")
    terminal.json_wanted = parsed.json
    with Memory.open(parsed.memory or default_path(make_folder=True), embedder="none") as memory:
        parsed.run(memory, parsed, terminal)
    return 0


def _keys_parser() -> argparse.ArgumentParser:
    parser, verbs = _with_verbs("keys", "API keys of the service. Once one exists, every request needs a key.")
    create = verbs.add_parser("create", help="create a key and show it once", allow_abbrev=False)
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
    listed = verbs.add_parser("list", help="list keys, including expired ones", allow_abbrev=False)
    revoke = verbs.add_parser("revoke", help="revoke a key", allow_abbrev=False)
    revoke.add_argument("id", metavar="ID", help="as `list` shows it")
    for verb, run in ((create, _create), (listed, _list), (revoke, _revoke)):
        _add_options(verb, run)
    return parser


def _webhooks_parser() -> argparse.ArgumentParser:
    parser, verbs = _with_verbs("webhooks", "Addresses that the service sends the changes of a space to.")
    add = verbs.add_parser("add", help="add a webhook", allow_abbrev=False)
    add.add_argument("url", metavar="URL", help="accepts a POST with JSON")
    add.add_argument("--space", metavar="NAME", help="the space (default: `default`)")
    kinds = "only this kind: event, statement ...; may be repeated (default: all)"
    add.add_argument("--kind", action="append", metavar="KIND", help=kinds)
    listed = verbs.add_parser("list", help="list webhooks and their state", allow_abbrev=False)
    remove = verbs.add_parser("remove", help="remove a webhook", allow_abbrev=False)
    remove.add_argument("id", metavar="ID", help="as `list` shows it")
    for verb, run in ((add, _add_webhook), (listed, _list_webhooks), (remove, _remove_webhook)):
        _add_options(verb, run)
    return parser


_PARSERS = {"keys": _keys_parser, "webhooks": _webhooks_parser}


def _with_verbs(name: str, description: str) -> tuple[argparse.ArgumentParser, Any]:
    parser = Parser(prog=f"everyword {name}", description=description, allow_abbrev=False)
    return parser, parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")


def _add_options(parser: argparse.ArgumentParser, run: object) -> None:
    parser.add_argument("--memory", metavar="PATH", default=os.environ.get("EVERYWORD_MEMORY") or None, help="the file")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    parser.set_defaults(run=run)


# Keys


def _create(memory: Memory, parsed: argparse.Namespace, terminal: Terminal) -> None:
    created = memory.admin.create_key(
        parsed.name,
        permission=parsed.may,
        spaces=parsed.space or [EVERY_SPACE],
        expires=None if parsed.expires is None else _expiry(parsed.expires),
    )
    if terminal.json_wanted:
        terminal.document({"secret": created.secret, "key": to_json(created.key)})
        return
    terminal.page.line(Styled(created.secret, "strong"))
    terminal.note("The key is shown only once. Send it as: Authorization: Bearer KEY")


def _list(memory: Memory, _: argparse.Namespace, terminal: Terminal) -> None:
    keys = memory.admin.api_keys()
    if terminal.json_wanted:
        terminal.document({"keys": to_json(keys)})
        return
    if not keys:
        terminal.page.line("no keys; only this machine can use the service")
        return
    columns = (Column("id", style="name"), Column("name"), Column("permission"), Column("spaces"), Column("state"))
    terminal.page.table(
        columns, [(key.id, key.name, key.permission.value, ", ".join(key.spaces), _state(key)) for key in keys]
    )


def _revoke(memory: Memory, parsed: argparse.Namespace, terminal: Terminal) -> None:
    key = memory.admin.revoke_key(parsed.id)
    if terminal.json_wanted:
        terminal.document({"key": to_json(key)})
        return
    terminal.page.line(f"revoked {key.id} ({key.name})")


def _state(key: ApiKey) -> Piece:
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


# Webhooks


def _add_webhook(memory: Memory, parsed: argparse.Namespace, terminal: Terminal) -> None:
    handle = memory if parsed.space is None else memory.space(parsed.space)
    created = handle.admin.add_webhook(parsed.url, kinds=parsed.kind or ())
    if terminal.json_wanted:
        terminal.document({"secret": created.secret, "webhook": to_json(created.webhook)})
        return
    terminal.page.line(created.webhook.id, "  ", Styled(created.secret, "strong"))
    terminal.note("The secret is shown only once. It signs the deliveries (Standard Webhooks).")


def _list_webhooks(memory: Memory, _: argparse.Namespace, terminal: Terminal) -> None:
    webhooks = memory.admin.webhooks()
    if terminal.json_wanted:
        terminal.document({"webhooks": to_json(webhooks)})
        return
    if not webhooks:
        terminal.page.line("no webhooks")
        return
    columns = (
        Column("id", style="name"),
        Column("space"),
        Column("address"),
        Column("delivered", right=True),
        Column("state"),
    )
    terminal.page.table(
        columns, [(one.id, one.space, one.url, f"{one.delivered:,}", _webhook_state(one)) for one in webhooks]
    )


def _webhook_state(webhook: Webhook) -> Piece:
    if not webhook.attempts:
        return Styled("ok", "good")
    again = "" if webhook.due_at is None else f", next attempt at {_when(webhook.due_at)}"
    return Styled(f"failed {webhook.attempts} times{again}: {webhook.error}", "warning")


def _remove_webhook(memory: Memory, parsed: argparse.Namespace, terminal: Terminal) -> None:
    memory.admin.remove_webhook(parsed.id)
    if terminal.json_wanted:
        terminal.document({"removed": parsed.id})
        return
    terminal.page.line(f"removed {parsed.id}")


def _when(moment: datetime) -> str:
    return moment.isoformat(" ", "minutes").removesuffix("+00:00")
