"""Build the command line's parser from the registry of operations, and parse a command line."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from everyword import __version__
from everyword.errors import InvalidInput
from everyword.interfaces.cli.defaults import HELP
from everyword.interfaces.operations import BY_NAME, OPERATIONS, Operation, Parameter
from everyword.interfaces.operations.parameters import FLAG, INTEGER, TEXTS, Kind
from everyword.types.times import LOCAL

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

DOCTOR = "doctor"
WATCH = "watch"
PROGRAMS = {
    "init": "set up a memory: location, imports, hooks, MCP; each step is shown and optional",
    "mcp": "serve a memory over MCP",
    "serve": "serve a memory over HTTP and MCP, with a web page",
    "keys": "create, list and revoke API keys of the service",
    "webhooks": "send changes of a memory to other programs",
    "hook": "let a coding assistant save and recall by itself: install, status, uninstall",
    "worker": "do queued work on a server, beside any number of other workers",
    "sync": "keep a folder of Markdown notes and a memory in step",
    "migrate": "copy a whole memory, such as from a file to PostgreSQL or back",
}
_WITH_VERBS = ("keys", "webhooks", "hook")  # programs that have verbs of their own
# Options of every verb, which may also come before it: placeholder and help.
_GLOBAL_OPTIONS = {
    "--memory": (
        "PATH",
        "a file, or postgresql://... (default: EVERYWORD_MEMORY, or memory.db in the user's data folder)",
    ),
    "--space": ("NAME", "the tenant; spaces are separate"),
    "--wing": ("NAME", "a person or project inside the space"),
    "--embedder": ("NAME", "the embedding model (default: EVERYWORD_EMBEDDER, or the file's own)"),
    "--llm": ("NAME", "an LLM for answers, such as ollama:MODEL (default: EVERYWORD_LLM)"),
    "--reranker": ("NAME", "a reranker for recall (default: EVERYWORD_RERANKER)"),
    "--tz": (
        "ZONE",
        "the time zone of times, given and shown, such as Europe/Lisbon or +02:00 (default: this machine's)",
    ),
}
_JSON = "--json"
_WATCH_SUMMARY = "print new events, concepts, intents and jobs from any process as they arrive"
_WATCH_OPTIONS = {"every": "seconds between checks (default: 1)", "count": "stop after this many (default: never)"}
_WATCH_KIND = "event, concept, intent or job; may be given more than once (default: all)"
_DOCTOR_SUMMARY = "check the installation, the file and the model, and say what to do"

# Options that only the command line has.
_EXTRAS: dict[str, tuple[tuple[str, str], ...]] = {
    "import": (("watch", "keep running, and read new files and what is added to known ones"),),
    "recall": (("explain", "also show the rank and score of each stage"),),
    "wake_up": (("explain", "also show why each line was chosen"),),
    "forget": (("yes", "do not ask for confirmation"),),
}

_NO_VERB = re.compile(r"argument VERB: invalid choice: '([^']*)'")


class UsageError(InvalidInput):
    """The command line can't be understood; see everyword --help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A parsed command line."""

    verb: str
    json: bool
    memory: str | None
    space: str | None
    wing: str | None
    embedder: str | None
    llm: str | None = None
    reranker: str | None = None
    tz: str = LOCAL
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])  # for the operation's method
    extras: frozenset[str] = frozenset()

    @property
    def operation(self) -> Operation | None:
        """Return the operation; None for a verb that only the command line has."""
        return BY_NAME.get(self.verb)


def read(arguments: Sequence[str]) -> Request:
    """Parse a command line; raise UsageError where it is wrong, and SystemExit after --help."""
    arguments = _with_underscores(arguments)
    parser = build(only=_verb_of(arguments))
    parsed = vars(parser.parse_args(arguments))
    verb = parsed.get("verb")
    if verb is None:
        raise UsageError("No verb is given.", fix="See everyword --help for the verbs.")
    operation = BY_NAME.get(verb)
    names = {parameter.name for parameter in operation.parameters} if operation else {*_WATCH_OPTIONS, "kinds"}
    return Request(
        verb=verb,
        json=parsed.get("json", False),
        memory=parsed.get("memory") or os.environ.get("EVERYWORD_MEMORY") or None,
        space=parsed.get("space"),
        wing=parsed.get("wing"),
        embedder=parsed.get("embedder") or os.environ.get("EVERYWORD_EMBEDDER") or None,
        llm=parsed.get("llm") or os.environ.get("EVERYWORD_LLM") or None,
        reranker=parsed.get("reranker") or os.environ.get("EVERYWORD_RERANKER") or None,
        tz=parsed.get("tz", LOCAL),
        arguments={name: parsed[name] for name in names if name in parsed},
        extras=frozenset(name for name, _ in _EXTRAS.get(verb, ()) if parsed.get(name)),
    )


def program_of(arguments: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return the program that a command line runs and its arguments, including options before its name."""
    place = _place_of_verb(arguments)
    name, rest = "".join(arguments[place : place + 1]), list(arguments[place + 1 :])
    if name not in PROGRAMS:
        return None
    behind = 1 if name in _WITH_VERBS and rest and not rest[0].startswith("-") else 0
    return name, [*rest[:behind], *arguments[:place], *rest[behind:]]


def _place_of_verb(arguments: Sequence[str]) -> int:
    place = 0
    while place < len(arguments) and arguments[place].partition("=")[0] in (*_GLOBAL_OPTIONS, _JSON):
        place += 2 if arguments[place] in _GLOBAL_OPTIONS else 1
    return place


def _with_underscores(arguments: Sequence[str]) -> list[str]:
    """Accept `wake-up` for `wake_up`."""
    place = _place_of_verb(arguments)
    name = "".join(arguments[place : place + 1]).replace("-", "_")
    return [*arguments[:place], name, *arguments[place + 1 :]] if name in BY_NAME else list(arguments)


def _verb_of(arguments: Sequence[str]) -> str | None:
    place = _place_of_verb(arguments)
    return arguments[place] if place < len(arguments) and arguments[place] in (*BY_NAME, DOCTOR, WATCH) else None


def build(only: str | None = None) -> argparse.ArgumentParser:
    """Build the parser of the whole command line, or, since that takes a while, of one verb."""
    parser = Parser(prog="everyword", usage="everyword VERB ...", allow_abbrev=False)
    # The same text wherever --help stands.
    parser.format_help = lambda: HELP
    _add_global_options(parser)
    parser.add_argument("--version", action="version", version=f"everyword {__version__}")
    verbs = parser.add_subparsers(prog="everyword", dest="verb", metavar="VERB", title="verbs")
    for operation in OPERATIONS if only is None else [BY_NAME[only]] if only in BY_NAME else []:
        verb = verbs.add_parser(
            operation.name,
            help=operation.summary,
            description=f"{_sentence(operation.summary)} {operation.details}".strip(),
            allow_abbrev=False,
        )
        for parameter in operation.parameters:
            # --wing and --tz are options of every verb.
            if parameter.name not in ("wing", "tz") and not parameter.fills:
                _add_parameter(verb, parameter)
        for name, text in _EXTRAS.get(operation.name, ()):
            verb.add_argument(f"--{name}", action="store_true", default=argparse.SUPPRESS, help=text)
        _add_global_options(verb.add_argument_group("options of every verb"))
    if only in BY_NAME:
        return parser
    doctor = verbs.add_parser(DOCTOR, help=_DOCTOR_SUMMARY, description=_sentence(_DOCTOR_SUMMARY), allow_abbrev=False)
    _add_global_options(doctor.add_argument_group("options of every verb"))
    watch = verbs.add_parser(WATCH, help=_WATCH_SUMMARY, description=_sentence(_WATCH_SUMMARY), allow_abbrev=False)
    for name, text in _WATCH_OPTIONS.items():
        watch.add_argument(f"--{name}", metavar="N", type=_parser(INTEGER), default=argparse.SUPPRESS, help=text)
    watch.add_argument("--kind", dest="kinds", action="append", default=argparse.SUPPRESS, help=_WATCH_KIND)
    _add_global_options(watch.add_argument_group("options of every verb"))
    for name, summary in PROGRAMS.items():  # each parses its own command line
        verbs.add_parser(name, help=summary, add_help=False)
    return parser


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises our errors."""

    def error(self, message: str) -> NoReturn:
        unknown_verb = _NO_VERB.match(message)
        if unknown_verb is not None:
            known = [*BY_NAME, DOCTOR, WATCH, *PROGRAMS]
            near = get_close_matches(unknown_verb[1], known, n=1)
            suggestion = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(f"Unknown verb {unknown_verb[1]!r}.", fix=f"{suggestion}See {self.prog} --help.")
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", fix=f"See {self.prog} --help.")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse ignores errors while it writes the help text; we do not.
        if file is not None:
            file.write(message)


def add_options(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,  # pyright: ignore[reportPrivateUsage]
    *names: str,
    default: str | None = None,
) -> None:
    """Add some of the options of every verb, and --json."""
    for option in names:
        metavar, text = _GLOBAL_OPTIONS[option]
        read = _name if option in ("--space", "--wing") else str
        parser.add_argument(option, metavar=metavar, type=read, default=default, help=text)
    parser.add_argument(
        _JSON, action="store_true", default=default or False, help="print one JSON document instead of text"
    )


def _add_global_options(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    # No defaults: the verb's parser must not reset an option that comes before the verb.
    add_options(parser, *_GLOBAL_OPTIONS, default=argparse.SUPPRESS)


def _add_parameter(parser: argparse.ArgumentParser, parameter: Parameter) -> None:
    settings: dict[str, Any] = {"help": parameter.help.replace("%", "%%"), "default": argparse.SUPPRESS}
    if parameter.kind is FLAG:
        settings["action"] = "store_false" if parameter.default else "store_true"
    else:
        word = parameter.options[0] if parameter.options else parameter.name
        settings["metavar"] = parameter.kind.metavar or word.lstrip("-").upper()
        settings["type"] = _parser(parameter.kind)
    if parameter.kind is TEXTS:
        settings["action"] = "append"
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
    # An empty name is usually an unset shell variable.
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def _parser(kind: Kind) -> Callable[[str], Any]:
    """Make argparse show what is wrong with a value."""

    def parse(text: str) -> Any:
        try:
            return kind.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def _sentence(summary: str) -> str:
    return f"{summary[:1].upper()}{summary[1:]}."
