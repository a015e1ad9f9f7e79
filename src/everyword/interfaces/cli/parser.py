"""Parse a command line: its verb, an operation or one of the command line's own, and the parameters of that."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct, field

from everyword import __version__
from everyword.errors import InvalidInput
from everyword.interfaces.cli import HELP
from everyword.interfaces.operations import BY_NAME, Operation, Parameter
from everyword.interfaces.operations.parameters import FLAG, INTEGER, PATH, TEXT, TEXTS, Kind
from everyword.interfaces.operations.registry import Unnamed, flag, named, required, writes
from everyword.types.times import LOCAL

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

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
STANDARD_INPUT = "-"  # as the value of a parameter that may be read from there
# Options that only the command line has.
_EXTRAS: dict[str, tuple[tuple[str, str], ...]] = {
    "import": (("watch", "keep running, and read new files and what is added to known ones"),),
    "recall": (("explain", "also show the rank and score of each stage"),),
    "wake_up": (("explain", "also show why each line was chosen"),),
    "forget": (("yes", "do not ask for confirmation"),),
}
# Last arguments that may have several words, and what to call them.
_QUOTED = {"query": "question", "text": "text", "name": "name", "subject": "name", "entity": "name"}
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1), "y": timedelta(days=365)}


def _expiry(text: str) -> str | datetime:
    """Parse a duration such as 30d; return any other text unchanged, as a time."""
    number, unit = text[:-1], text[-1:]
    if unit in _UNITS and number.isascii() and number.isdecimal() and len(number) < 6:
        return datetime.now(UTC) + int(number) * _UNITS[unit]
    return text


_EXPIRY = Kind("a time or a duration", (str,), {}, "TIME", parse=_expiry)
_ID = required("id", "as `list` shows it")
_KINDS = Parameter(
    "kinds", TEXTS, "only this kind: event, statement ...; may be repeated (default: all)", options=("--kind",)
)
_DRY_RUN = flag("dry_run", "show the change without making it")
_YES = flag("yes", "do not ask")
_HOME = Parameter("home", PATH, "the folder of the hooks' own files")
_SETTINGS = Parameter("settings", PATH, "the agent's settings (default: those of this user)")
_AGENT = Parameter("agent", TEXT, "claude-code (default), codex, gemini, cursor or copilot", positional=True)
_HOOK = required(
    "name", "SessionStart, UserPromptSubmit, PreCompact, Stop, SessionEnd, inject_prompt, resident or save_tools"
)

_NUMBER = Kind("a number", (float,), {}, "N", parse=float)
# The servers, and the options of every verb that they take.
_SERVERS = {
    "serve": ("--memory", "--embedder", "--llm", "--reranker"),
    "mcp": ("--memory", "--space", "--wing", "--embedder"),
}

# The verbs that only the command line has. A verb of two words belongs to a group, which its first word names.
_OWN_VERBS: dict[str, Unnamed] = {
    "doctor": writes("check the installation, the file and the model, and say what to do"),
    "watch": writes(
        "print new events, concepts, intents and jobs from any process as they arrive",
        Parameter("every", INTEGER, "seconds between checks (default: 1)"),
        Parameter("count", INTEGER, "stop after this many (default: never)"),
        Parameter(
            "kinds",
            TEXTS,
            "event, concept, intent or job; may be given more than once (default: all)",
            options=("--kind",),
        ),
    ),
    "init": writes(
        "set up a memory: location, imports, hooks, MCP",
        Parameter("skip", TEXTS, "skip a step: import, vectors, hooks or mcp; may be repeated"),
        flag("yes", "run every step without asking"),
        flag("undo", "put back the settings files that init has changed"),
        Parameter("hooks_home", PATH, "where hooks keep their own files"),
        details="Every step is shown, confirmed and optional. It is safe to run again. --wing: the wing of this "
        "folder's sessions (default: its name).",
    ),
    "sync": writes(
        "keep a folder of Markdown notes and a memory in step",
        required("folder", "a folder of .md files", PATH),
        details="It imports the notes, writes the statements of each note into a generated section at its end, and "
        "takes edits of that section as corrections. Everything else in a note stays as it is.",
        creates=True,
    ),
    "migrate": writes(
        "copy a whole memory into an empty one, such as from a file to PostgreSQL or back",
        required("source", "a path, or postgresql://...", PATH),
        required("target", "a path, or postgresql://...; empty, or an interrupted copy", PATH),
        details="It can be interrupted and run again. All rows are compared at the end. The source is not changed.",
    ),
    "worker": writes(
        "run the queued work of a memory on PostgreSQL (vectors, statements, LLM readings)",
        flag("once", "stop when no work is left"),
        details="Start as many workers as you like, on any machine: one works on a space at a time.",
    ),
    "keys create": writes(
        "create a key and show it once",
        required("name", "a label for the key"),
        Parameter("permission", TEXT, "read, write or admin (default: read)", options=("--may",)),
        Parameter(
            "spaces",
            TEXTS,
            'a space that the key opens; "acme/*" means all below acme/, "*" every space; may be repeated',
            required=True,
            options=("--space",),
        ),
        Parameter("expires", _EXPIRY, "expiry: a time, or a duration such as 12h, 30d, 8w, 1y"),
        method="admin.create_key",
        creates=True,
    ),
    "keys list": writes("list keys, including expired ones", method="admin.api_keys", creates=True, result="keys"),
    "keys revoke": writes("revoke a key", _ID, method="admin.revoke_key", creates=True, result="key"),
    "webhooks add": writes(
        "add an address that the service sends the changes of a space to",
        required("url", "accepts a POST with JSON"),
        _KINDS,
        method="admin.add_webhook",
        creates=True,
    ),
    "webhooks list": writes("list webhooks and their state", method="admin.webhooks", creates=True, result="webhooks"),
    "webhooks remove": writes("remove a webhook", _ID, method="admin.remove_webhook", creates=True, result="removed"),
    "serve": writes(
        "serve a memory over HTTP and MCP, with a web page, and run queued work",
        Parameter("host", TEXT, "an address that others can reach needs an API key (default: 127.0.0.1)"),
        Parameter("port", INTEGER, "the port; 0 for any free one (default: 7330)"),
        Parameter(
            "requests_per_s", _NUMBER, "requests per second and key; 0: no limit (default: 50)", options=("--rate",)
        ),
        Parameter(
            "limit", TEXTS, "NAME=VALUE, a limit that docs/service.md lists: most_connections=500; may be repeated"
        ),
        flag("open", "open the web page in a browser"),
        Parameter("worker", FLAG, "run queued work", default=True, options=("--no-worker",)),
        Parameter("fold", FLAG, "fold concepts", default=True, options=("--no-fold",)),
        Parameter("mcp", FLAG, "serve /mcp", default=True, options=("--no-mcp",)),
        Parameter("processes", INTEGER, "processes that share the address (default: 1)"),
        Parameter(
            "wait_for_store_s",
            _NUMBER,
            "seconds to wait for the database server; 0: fail at once (default: 60)",
            options=("--wait",),
        ),
        Parameter("socket", INTEGER, argparse.SUPPRESS),  # file descriptor of a listening socket
        Parameter("audit", INTEGER, "keep the last N questions of programs, with who asked, for the Health view"),
        flag("tracing", "trace requests with OpenTelemetry (see OTEL_...)"),
    ),
    "mcp": writes(
        "serve a memory over MCP",
        Parameter("transport", TEXT, "stdio (default) or http"),
        Parameter(
            "project",
            PATH,
            "the project at hand: remember and wake_up use its wing, questions search it first (default: this folder)",
            alone="",
        ),
        Parameter("tools", TEXT, "all (default), or core: only remember, recall, context, ask, wake_up and forget"),
        flag("reference_tools", "also offer the reference server's nine tools"),
        Parameter("host", TEXT, "for http (default: 127.0.0.1)"),
        Parameter("port", INTEGER, "for http (default: 7331)"),
    ),
    "hook install": writes(
        "save an agent's conversations, and tell it what the memory knows",
        *(_AGENT, _SETTINGS, _DRY_RUN, _YES, _HOME),
        Parameter("save_every", INTEGER, "messages between two saves (default: 15)", options=("--every",)),
        Parameter("redact", TEXT, "what to remove: credentials (default), personal or none"),
        Parameter("secret_patterns", PATH, "a JSON file with patterns of secrets"),
    ),
    "hook uninstall": writes(
        "remove the hooks of an agent, or, as `all`, of every file that was changed",
        *(_AGENT, _SETTINGS, _DRY_RUN, _YES, _HOME),
    ),
    "hook status": writes("show what is installed and switched on, and the last errors", _HOME),
    "hook on": writes("switch a hook on", _HOOK, _HOME),
    "hook off": writes("switch a hook off", _HOOK, _HOME),
}
OWN_VERBS = named(_OWN_VERBS)
VERBS = BY_NAME | {verb.name: verb for verb in OWN_VERBS}
GROUPS = {name.split()[0] for name in VERBS if " " in name}


class UsageError(InvalidInput):
    """The command line can't be understood; see everyword --help."""


class Request(Struct, frozen=True, kw_only=True):
    """A parsed command line."""

    operation: Operation
    json: bool
    memory: str | None
    space: str | None
    wing: str | None
    embedder: str | None
    llm: str | None
    reranker: str | None
    tz: str = LOCAL
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])  # for the operation's method
    extras: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()  # as they were given, without the verb


def read(arguments: Sequence[str]) -> Request:
    """Parse a command line. Raises UsageError where it is wrong, and SystemExit after --help."""
    verb, rest = _verb_of(arguments)
    operation = VERBS[verb]
    parsed = _parsed(operation, rest)
    chosen = {
        name: parsed.get(name) or os.environ.get(f"EVERYWORD_{name.upper()}") or None
        for name in ("memory", "embedder", "llm", "reranker")
    }
    return Request(
        operation=operation,
        json=parsed.get("json", False),
        **chosen,
        space=parsed.get("space"),
        wing=parsed.get("wing"),
        tz=parsed.get("tz", LOCAL),
        arguments={one.name: parsed[one.name] for one in operation.parameters if one.name in parsed},
        extras=frozenset(name for name, _ in _EXTRAS.get(verb, ()) if parsed[name]),
        words=tuple(rest),
    )


def _parsed(operation: Operation, arguments: Sequence[str]) -> dict[str, Any]:
    """Parse the arguments of a verb; words beyond its last argument are mostly a question without quotes."""
    known, left = parser_of(operation).parse_known_args(arguments)
    parsed = vars(known)
    if not left:
        return parsed
    last = next((one.name for one in reversed(operation.parameters) if one.positional), "")
    fix = f"See everyword {operation.name} --help."
    if last in _QUOTED and last in parsed and not any(word.startswith("-") for word in left):
        fix = f'Quote the {_QUOTED[last]}: "{" ".join([parsed[last], *left])}".'
    raise UsageError(f"Unrecognized arguments: {' '.join(left)}.", fix=fix)


def _verb_of(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Split a command line into its verb and the rest, to which options before the verb belong."""
    place = 0
    while place < len(arguments) and arguments[place].partition("=")[0] in (*_GLOBAL_OPTIONS, _JSON):
        place += 2 if arguments[place] in _GLOBAL_OPTIONS else 1
    before, (verb, *rest) = arguments[:place], arguments[place:] or [""]
    if verb in ("-h", "--help", "--version", "-V") or (verb == "help" and not rest):
        sys.stdout.write(f"everyword {__version__}\n" if verb in ("--version", "-V") else HELP)
        raise SystemExit(0)
    if verb == "help":
        verb, rest = rest[0], [*rest[1:], "--help"]
    if not verb:
        raise UsageError("No verb is given.", fix="See everyword --help for the verbs.")
    if verb.startswith("-"):
        raise UsageError(f"Unrecognized arguments: {verb}.", fix="See everyword --help.")
    if verb in GROUPS:
        named = [name for name in VERBS if name.startswith(f"{verb} ")]
        if rest[:1] in (["-h"], ["--help"]):
            lines = (f"  everyword {name:<16}{VERBS[name].summary}\n" for name in named)
            sys.stdout.write(f"usage: everyword {verb} VERB ...\n\n{''.join(lines)}")
            raise SystemExit(0)
        if not rest or rest[0].startswith("-"):
            raise UsageError(f"Missing verb after {verb}.", fix=f"See everyword {verb} --help.")
        verb, rest = f"{verb} {rest[0]}", rest[1:]
    if verb not in VERBS and verb.replace("-", "_") in VERBS:
        verb = verb.replace("-", "_")  # wake-up for wake_up
    if verb not in VERBS:
        near = get_close_matches(verb, VERBS, n=1)
        suggestion = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(f"Unknown verb {verb!r}.", fix=f"{suggestion}See everyword --help.")
    return verb, [*before, *rest]


def parser_of(operation: Operation) -> argparse.ArgumentParser:
    """Build the parser of a verb."""
    verb = _Parser(
        prog=f"everyword {operation.name}",
        description=f"{operation.summary[:1].upper()}{operation.summary[1:]}. {operation.details}".strip(),
        allow_abbrev=False,
        conflict_handler="resolve",  # a verb's own --space instead of that of every verb
    )
    everywhere = verb.add_argument_group("options of every verb")
    for option in _SERVERS.get(operation.name, _GLOBAL_OPTIONS):
        metavar, text = _GLOBAL_OPTIONS[option]
        everywhere.add_argument(option, metavar=metavar, type=_not_empty, default=argparse.SUPPRESS, help=text)
    if operation.name not in _SERVERS:
        everywhere.add_argument(_JSON, action="store_true", help="print one JSON document instead of text")
    for parameter in operation.parameters:
        # --wing and --tz are options of every verb.
        if parameter.name not in ("wing", "tz"):
            _add_parameter(verb, parameter)
    for name, text in _EXTRAS.get(operation.name, ()):
        verb.add_argument(f"--{name}", action="store_true", help=text)
    return verb


class _Parser(argparse.ArgumentParser):
    """An argparse parser that raises our errors."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", fix=f"See {self.prog} --help.")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse ignores errors while it writes the help text; we do not.
        if file is not None:
            file.write(message)


def _add_parameter(parser: argparse.ArgumentParser, parameter: Parameter) -> None:
    settings: dict[str, Any] = {"help": parameter.option_help.replace("%", "%%"), "default": argparse.SUPPRESS}
    if parameter.kind is FLAG:
        settings["action"] = "store_false" if parameter.default else "store_true"
    else:
        word = parameter.options[0] if parameter.options else parameter.name
        settings["metavar"] = parameter.kind.metavar or word.lstrip("-").upper()
        settings["type"] = _parser(parameter)
    if parameter.kind is TEXTS:
        settings["action"] = "append"
    if parameter.alone is not None:
        settings |= {"nargs": "?", "const": parameter.alone}
    if parameter.positional:
        parser.add_argument(parameter.name, nargs=_count(parameter), **settings)
    else:
        options = parameter.options or (f"--{parameter.name.replace('_', '-')}",)
        parser.add_argument(*options, dest=parameter.name, required=parameter.required, **settings)


def _count(parameter: Parameter) -> str | None:
    if parameter.several:
        return "+"
    return None if parameter.required and not parameter.from_stdin else "?"


def _not_empty(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty, perhaps an unset variable")
    return text


def _parser(parameter: Parameter) -> Callable[[str], Any]:
    """Make argparse show what is wrong with a value."""

    def parse(text: str) -> Any:
        if text == STANDARD_INPUT and parameter.from_stdin:
            return text
        try:
            return parameter.kind.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse
