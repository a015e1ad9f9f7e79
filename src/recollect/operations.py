"""The table of operations: what can be asked of a memory, by every surface.

The command line and the MCP tools are generated from it. Nothing heavy is imported here, since
`recollect --help` reads this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from recollect.memory import Memory

# time: whatever as_datetime reads. object: a JSON object. texts: a list of strings.
Kind = Literal["text", "texts", "integer", "time", "object", "flag", "path"]
# How far an operation reaches: one wing if asked to, always its whole space, or always the whole file.
Scope = Literal["wing", "space", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One thing that an operation is told."""

    name: str  # as the method of Memory spells it
    kind: Kind
    help: str
    required: bool = False
    default: Any = None
    # How the command line writes it: by place, or by options other than --name. A flag's option negates its default.
    positional: bool = False
    options: tuple[str, ...] = ()
    several: bool = False  # more than one may be given; the operation runs once for each
    from_stdin: bool = False  # read from standard input when left out, or when it is "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that a memory does."""

    name: str
    summary: str
    method: str  # of Memory
    parameters: tuple[Parameter, ...] = ()
    details: str = ""
    scope: Scope = "wing"
    read_only: bool = False
    destructive: bool = False
    creates: bool = False  # makes a new memory where there is none
    progress: bool = False  # the method reports how far it is
    result: str = ""  # what a bare result is called in a JSON document; "" where the result is a document by itself

    def run(self, memory: Memory, arguments: Mapping[str, Any]) -> Any:
        """Call the method."""
        return getattr(memory, self.method)(**arguments)

    def document(self, result: object) -> dict[str, Any]:
        """Lay a result out as one JSON document."""
        from recollect.serial import plain

        written = plain(result)
        return {self.result: True if written is None else written} if self.result else written

    def parameter(self, name: str) -> Parameter | None:
        """Find a parameter by its name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


_WING = Parameter(name="wing", kind="text", help="a person or project inside the space")
_SESSION = Parameter(name="session", kind="text", help="of this session alone")
_SPEAKER = Parameter(name="speaker", kind="text", help="said by this speaker alone")
_SINCE = Parameter(name="since", kind="time", help="happened at this time or later")
_UNTIL = Parameter(name="until", kind="time", help="happened before this time")
_AS_OF = Parameter(name="as_of", kind="time", help="only what was known at this time")
_TAG = Parameter(name="tag", kind="text", help="with this tag alone, as topic:work_career or action:required")
_META = Parameter(name="meta", kind="object", help="a JSON object whose members the event's meta must have")
_QUERY = Parameter(name="query", kind="text", help="the question", required=True, positional=True)
_NOW = Parameter(name="now", kind="time", help="the asker's clock (default: this machine's)")
_ASKING = (_NOW, _AS_OF, _WING, _SESSION, _SPEAKER, _SINCE, _UNTIL, _TAG, _META)

ADD = Operation(
    name="add",
    summary="remember one event",
    details="The event is on disk and searchable when this returns. Adding the same event again changes nothing.",
    method="add",
    parameters=(
        Parameter(
            name="text",
            kind="text",
            help='the words, verbatim; "-" or nothing reads standard input, less its last line break',
            required=True,
            positional=True,
            from_stdin=True,
        ),
        Parameter(name="speaker", kind="text", help="who said it"),
        Parameter(name="session", kind="text", help="the conversation or work session it belongs to"),
        Parameter(name="at", kind="time", help="when it happened, such as 2026-04-02T10:00Z (default: now)"),
        Parameter(name="key", kind="text", help="your own id for it, unique in its space"),
        _WING,
        Parameter(name="role", kind="text", help="such as user, assistant or tool"),
        Parameter(name="meta", kind="object", help="a JSON object kept beside the text"),
    ),
    creates=True,
)

IMPORT = Operation(
    name="import",
    summary="remember what is in files, folders and zips: chats, mail, notes, transcripts, our JSONL",
    details="Knows Claude Code, Claude.ai, ChatGPT, Codex, Gemini CLI, Slack, Telegram, WhatsApp, mbox, Markdown "
    "folders, transcripts, git logs, mem0 and MemPalace stores, and what `recollect export` writes. Events that are "
    "known already are left as they are, so that an import which stopped can be run again.",
    method="import_events",
    parameters=(
        Parameter(name="path", kind="path", help="a file, folder or zip", required=True, positional=True, several=True),
        Parameter(name="format", kind="text", help="what it is, where that can't be told by looking"),
        Parameter(
            name="redact",
            kind="flag",
            help="keep keys, tokens, passwords and card numbers that are found in it",
            default=True,
            options=("--keep-secrets",),
        ),
    ),
    creates=True,
    progress=True,
)

RECALL = Operation(
    name="recall",
    summary="find the events that answer a question, best first",
    method="recall",
    parameters=(
        _QUERY,
        Parameter(name="k", kind="integer", help="how many events at most (default: 10)", default=10, options=("-k",)),
        *_ASKING,
    ),
    read_only=True,
)

CONTEXT = Operation(
    name="context",
    summary="write a prompt-ready, cited context for a question",
    method="context",
    parameters=(
        _QUERY,
        Parameter(name="budget", kind="integer", help="how many tokens at most (default: 1200)", default=1200),
        Parameter(
            name="style",
            kind="text",
            help="plain, or reasoning: with an instruction that fits the question (default: plain)",
            default="plain",
        ),
        *_ASKING,
    ),
    read_only=True,
)

ASK = Operation(
    name="ask",
    summary="answer a question with a citation, or say that the memory holds no answer",
    method="ask",
    parameters=(
        _QUERY,
        Parameter(
            name="budget", kind="integer", help="tokens of context that an LLM is given (default: 1200)", default=1200
        ),
        *_ASKING,
    ),
    read_only=True,
)

_ARTIFACT = Parameter(name="id", kind="text", help="an artifact's id", required=True, positional=True)

ARTIFACTS = Operation(
    name="artifacts",
    summary="list decisions, todos, preferences, facts ..., each with the words that it rests on",
    method="artifacts",
    parameters=(
        Parameter(name="kind", kind="text", help="decision, todo, reminder, key_fact, insight, preference, event ..."),
        Parameter(name="about", kind="text", help="about this person or thing alone"),
        Parameter(
            name="status",
            kind="text",
            help="current, superseded, retracted or any (default: current)",
            default="current",
        ),
        Parameter(name="tag", kind="text", help="with this tag, as topic:work_career"),
        _AS_OF,
        Parameter(name="limit", kind="integer", help="how many at most"),
    ),
    read_only=True,
    result="artifacts",
)

HISTORY = Operation(
    name="history",
    summary="tell how a statement changed, with its quotes and the reasons",
    method="history",
    parameters=(_ARTIFACT,),
    read_only=True,
)

CORRECT = Operation(
    name="correct",
    summary="put a statement right in your own words; the old version stays in its history",
    method="correct",
    parameters=(
        _ARTIFACT,
        Parameter(name="text", kind="text", help="what is so", required=True, positional=True),
    ),
)

RETRACT = Operation(
    name="retract",
    summary="take a statement back; it stays in its history",
    method="retract",
    parameters=(_ARTIFACT,),
)

SESSIONS = Operation(
    name="sessions",
    summary="list sessions, the latest first",
    method="sessions",
    parameters=(_WING, _SPEAKER, _SINCE, _UNTIL, _AS_OF),
    read_only=True,
    result="sessions",
)

EVENTS = Operation(
    name="events",
    summary="list events in the order in which they happened",
    method="events",
    parameters=(
        _WING,
        _SESSION,
        _SPEAKER,
        _SINCE,
        _UNTIL,
        _AS_OF,
        _META,
        Parameter(name="newest_first", kind="flag", help="the latest first", default=False),
        Parameter(name="limit", kind="integer", help="how many at most (default: all)"),
    ),
    read_only=True,
    result="events",
)

SHOW = Operation(
    name="show",
    summary="show one event, all of it",
    method="get",
    parameters=(
        Parameter(name="id", kind="text", help="the event's id, as recall cites it", positional=True),
        Parameter(name="key", kind="text", help="your own id for it, instead"),
    ),
    read_only=True,
)

FORGET = Operation(
    name="forget",
    summary="remove events and every trace of them, for ever",
    details="Several conditions narrow: an event must meet all of them. What is forgotten can't be brought back.",
    method="forget",
    parameters=(
        Parameter(name="ids", kind="texts", help="this event; may be given more than once", options=("--id",)),
        Parameter(name="keys", kind="texts", help="the event with this key; likewise", options=("--key",)),
        Parameter(name="session", kind="text", help="the events of this session"),
        Parameter(name="speaker", kind="text", help="what this speaker said"),
        Parameter(name="wing", kind="text", help="the events of this wing"),
        Parameter(name="before", kind="time", help="what happened before this time"),
        Parameter(name="dry_run", kind="flag", help="only show what would go", default=False),
    ),
    destructive=True,
)

STATS = Operation(
    name="stats",
    summary="count what a space holds and what the file weighs",
    method="stats",
    parameters=(
        Parameter(
            name="parts", kind="flag", help="also what each part of the file takes (reads all of it)", default=False
        ),
    ),
    scope="space",
    read_only=True,
)

VERIFY = Operation(
    name="verify",
    summary="check the file, and every index against the log",
    method="verify",
    parameters=(
        Parameter(name="deep", kind="flag", help="leave out what takes long", default=True, options=("--quick",)),
    ),
    scope="file",
    read_only=True,
)

REBUILD = Operation(
    name="rebuild",
    summary="make every index anew from the log",
    details="The old indexes serve until the new ones are complete.",
    method="rebuild",
    parameters=(
        Parameter(
            name="vectors", kind="flag", help="leave the vectors as they are", default=True, options=("--words-only",)
        ),
    ),
    scope="file",
    progress=True,
    result="rebuilt",
)

SETTLE = Operation(
    name="settle",
    summary="do all work that waits, such as vectors that a failing model owed",
    method="settle",
    scope="file",
    progress=True,
    result="done",
)

BACKUP = Operation(
    name="backup",
    summary="copy the whole file, consistently, while others write",
    method="backup",
    parameters=(
        Parameter(name="path", kind="path", help="a new file; never overwritten", required=True, positional=True),
    ),
    scope="file",
    read_only=True,
    result="written",
)

EXPORT = Operation(
    name="export",
    summary="write a space's events as JSONL, which `import` reads",
    method="export",
    parameters=(
        Parameter(name="path", kind="path", help="a new file; never overwritten", required=True, positional=True),
    ),
    read_only=True,
    result="events",
)

OPERATIONS = (
    ADD,
    IMPORT,
    RECALL,
    CONTEXT,
    ASK,
    ARTIFACTS,
    HISTORY,
    CORRECT,
    RETRACT,
    SHOW,
    SESSIONS,
    EVENTS,
    FORGET,
    STATS,
    VERIFY,
    REBUILD,
    SETTLE,
    BACKUP,
    EXPORT,
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
