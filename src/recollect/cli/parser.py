"""From the table of operations to argparse, and from a command line to what it asks for."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from recollect import __version__
from recollect.core.counts import AUTO
from recollect.core.errors import InvalidInput
from recollect.operations import BY_NAME, OPERATIONS, Kind, Operation, Parameter

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

DOCTOR = "doctor"
WATCH = "watch"
PROGRAMS = {
    "init": "set up a memory: where, what to import, hooks, MCP; each step is shown and optional",
    "mcp": "serve a memory over MCP, to any client that speaks it",
    "serve": "serve a memory over HTTP and MCP, with a web page",
    "keys": "make, list and revoke keys for the service",
    "webhooks": "let the service tell other programs what happens",
    "hook": "let a coding assistant save and recall by itself: install, status, uninstall ...",
    "worker": "do the work that waits on a server, beside any number of other workers",
    "migrate": "copy a whole memory, as from a file to PostgreSQL or back",
}
_WITH_VERBS = ("keys", "webhooks", "hook")  # whose options follow a verb of their own
_WITH_VALUE = ("--memory", "--space", "--wing", "--embedder", "--llm", "--reranker")  # of those that may stand first
_FLAGS = ("--json",)
_WATCH_SUMMARY = "print new events, concepts, intents and jobs as they come, whichever process writes"
_WATCH_OPTIONS = {"every": "seconds between two looks (default: 1)", "count": "end after so many (default: never)"}
_WATCH_KIND = "event, concept, intent or job; may be given more than once (default: all)"
_DOCTOR_SUMMARY = "look at the installation, the file and the model, and say what to do"

# What only the command line knows of: how to show a result, and how to be sure.
_EXTRAS: dict[str, tuple[tuple[str, str], ...]] = {
    "import": (("watch", "go on until stopped: read what comes to the folder, and what its files grow by"),),
    "recall": (("explain", "also a table of the rank and score that each stage gave"),),
    "wake_up": (("explain", "also why each line was chosen"),),
    "forget": (("yes", "do not ask"),),
}

_NO_VERB = re.compile(r"argument VERB: invalid choice: '([^']*)'")

_EPILOG = """\
examples:
  recollect add "I moved to Lisbon in March." --speaker Ana --session s1 --at 2026-04-02T10:00Z
  recollect recall "Where does Ana live?"
  recollect context "Where does Ana live?" --budget 600
  recollect forget --session s1 --dry-run

Options that stand here may also follow the verb. `recollect VERB --help` has the rest.
"""


class UsageError(InvalidInput):
    """The command line can't be understood; see recollect --help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a command line asks for."""

    verb: str
    json: bool
    memory: str | None
    space: str | None
    wing: str | None
    embedder: str | None
    llm: str | None = None
    reranker: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])  # for the operation's method
    extras: frozenset[str] = frozenset()

    @property
    def operation(self) -> Operation | None:
        """Give the operation; None for what only the command line does."""
        return BY_NAME.get(self.verb)


def read(arguments: Sequence[str]) -> Request:
    """Read a command line; UsageError when it is wrong, SystemExit when it asked for help."""
    parser = build()
    given = vars(parser.parse_args(arguments))
    verb = given.get("verb")
    if verb is None:
        raise UsageError("Say what to do.", fix="See recollect --help for the verbs.")
    operation = BY_NAME.get(verb)
    names = {parameter.name for parameter in operation.parameters} if operation else {*_WATCH_OPTIONS, "kinds"}
    return Request(
        verb=verb,
        json=given.get("json", False),
        memory=given.get("memory") or os.environ.get("RECOLLECT_MEMORY") or None,
        space=given.get("space"),
        wing=given.get("wing"),
        embedder=given.get("embedder") or os.environ.get("RECOLLECT_EMBEDDER") or None,
        llm=given.get("llm") or os.environ.get("RECOLLECT_LLM") or None,
        reranker=given.get("reranker") or os.environ.get("RECOLLECT_RERANKER") or None,
        arguments={name: given[name] for name in names if name in given},
        extras=frozenset(name for name, _ in _EXTRAS.get(verb, ()) if given.get(name)),
    )


def program_of(arguments: Sequence[str]) -> tuple[str, list[str]] | None:
    """Find the program that a command line runs, and its arguments, with the options that stood before its name."""
    place = 0
    while place < len(arguments) and arguments[place].partition("=")[0] in (*_WITH_VALUE, *_FLAGS):
        place += 2 if arguments[place] in _WITH_VALUE else 1
    name, rest = "".join(arguments[place : place + 1]), list(arguments[place + 1 :])
    if name not in PROGRAMS:
        return None
    behind = 1 if name in _WITH_VERBS and rest and not rest[0].startswith("-") else 0
    return name, [*rest[:behind], *arguments[:place], *rest[behind:]]


def build() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    parser = Parser(
        prog="recollect",
        description="Long-term memory for AI agents: every word kept, searchable the moment it is written.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_global_options(parser)
    parser.add_argument("--version", action="version", version=f"recollect {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for operation in OPERATIONS:
        verb = verbs.add_parser(
            operation.name,
            help=operation.summary,
            description=f"{_sentence(operation.summary)} {operation.details}".strip(),
            allow_abbrev=False,
        )
        for parameter in operation.parameters:
            # --wing is an option of every verb; where the method does not take it, the handle does.
            if parameter.name != "wing":
                _add_parameter(verb, parameter)
        for name, text in _EXTRAS.get(operation.name, ()):
            verb.add_argument(f"--{name}", action="store_true", default=argparse.SUPPRESS, help=text)
        _add_global_options(verb.add_argument_group("options of every verb"))
    doctor = verbs.add_parser(DOCTOR, help=_DOCTOR_SUMMARY, description=_sentence(_DOCTOR_SUMMARY), allow_abbrev=False)
    _add_global_options(doctor.add_argument_group("options of every verb"))
    watch = verbs.add_parser(WATCH, help=_WATCH_SUMMARY, description=_sentence(_WATCH_SUMMARY), allow_abbrev=False)
    for name, text in _WATCH_OPTIONS.items():
        watch.add_argument(f"--{name}", metavar="N", type=_integer, default=argparse.SUPPRESS, help=text)
    watch.add_argument("--kind", dest="kinds", action="append", default=argparse.SUPPRESS, help=_WATCH_KIND)
    _add_global_options(watch.add_argument_group("options of every verb"))
    for name, summary in PROGRAMS.items():  # listed here; each reads its own command line
        verbs.add_parser(name, help=summary, add_help=False)
    return parser


class Parser(argparse.ArgumentParser):
    """argparse, with its errors as ours."""

    def error(self, message: str) -> NoReturn:
        mistaken = _NO_VERB.match(message)
        if mistaken is not None:
            known = [*BY_NAME, DOCTOR, WATCH, *PROGRAMS]
            near = get_close_matches(mistaken[1].replace("-", "_"), known, n=1)
            meant = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(f"There is no verb {mistaken[1]!r}.", fix=f"{meant}See {self.prog} --help.")
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", fix=f"See {self.prog} --help.")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # Not as argparse does it, which keeps quiet about a help text that could not be written.
        if file is not None:
            file.write(message)


def _add_global_options(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    # Without defaults: an option that stands before the verb must not be undone by the verb's own parser.
    unset = argparse.SUPPRESS
    parser.add_argument(
        "--memory",
        metavar="PATH",
        default=unset,
        help="the file, or postgresql://... (default: RECOLLECT_MEMORY, or memory.db in the user's data folder)",
    )
    parser.add_argument(
        "--space", metavar="NAME", type=_name, default=unset, help="the tenant; nothing crosses between spaces"
    )
    parser.add_argument(
        "--wing", metavar="NAME", type=_name, default=unset, help="a person or project inside the space"
    )
    parser.add_argument(
        "--embedder", metavar="NAME", default=unset, help="the model (default: RECOLLECT_EMBEDDER, or the file's own)"
    )
    parser.add_argument(
        "--llm", metavar="NAME", default=unset, help="an LLM for answers, as ollama:MODEL (default: RECOLLECT_LLM)"
    )
    parser.add_argument(
        "--reranker", metavar="NAME", default=unset, help="a third stage of recall (default: RECOLLECT_RERANKER)"
    )
    parser.add_argument("--json", action="store_true", default=unset, help="one JSON document instead of text")


def _add_parameter(parser: argparse.ArgumentParser, parameter: Parameter) -> None:
    settings: dict[str, Any] = {
        "help": parameter.help.replace("%", "%%"),
        "default": argparse.SUPPRESS,
        **_BY_KIND.get(parameter.kind, {}),
    }
    if parameter.kind == "flag":
        settings["action"] = "store_false" if parameter.default else "store_true"
    else:
        word = parameter.options[0] if parameter.options else parameter.name
        settings.setdefault("metavar", word.lstrip("-").upper())
    if parameter.positional:
        parser.add_argument(parameter.name, nargs=_count(parameter), **settings)
    else:
        options = parameter.options or (f"--{parameter.name.replace('_', '-')}",)
        parser.add_argument(*options, dest=parameter.name, required=parameter.required, **settings)


def _count(parameter: Parameter) -> str | None:
    if parameter.several:
        return "+"
    return None if parameter.required and not parameter.from_stdin else "?"


def _name(text: str) -> str:
    # An empty one is a shell variable that was not set; nobody means every wing by it.
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number") from None


def _count_or_auto(text: str) -> int | str:
    if text == AUTO:
        return AUTO
    try:
        return _integer(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor {AUTO!r}") from None


def _json_object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f'this is not JSON ({error}); write it as \'{{"name": "value"}}\'') from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('a JSON object is needed, such as \'{"name": "value"}\'')
    return value  # pyright: ignore[reportUnknownVariableType]


def _sentence(summary: str) -> str:
    return f"{summary[:1].upper()}{summary[1:]}."


_BY_KIND: dict[Kind, dict[str, Any]] = {
    "time": {"metavar": "TIME"},
    "path": {"metavar": "PATH"},
    "texts": {"action": "append"},
    "integer": {"metavar": "N", "type": _integer},
    "count": {"metavar": "N", "type": _count_or_auto},
    "object": {"metavar": "JSON", "type": _json_object},
}
