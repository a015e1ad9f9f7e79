"""The registry of operations: everything that can be asked of a memory, for every surface.

The command line, the MCP tools, the HTTP routes and the client are made from it. A new operation is a method of Memory,
an entry here and a passage in the docs. Nothing heavy is imported: `everyword --help` reads this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from everyword.interfaces.operations.parameters import (
    COUNT,
    FLAG,
    INTEGER,
    OBJECT,
    OBJECTS,
    PATH,
    TEXT,
    TEXTS,
    TIME,
    Kind,
    Parameter,
)
from everyword.settings import AUTO

if TYPE_CHECKING:
    from everyword.memory import Memory


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a memory."""

    name: str
    summary: str
    method: str = ""  # of Memory, or of one of its parts: "graph.entities"; the operation's name where it is left out
    parameters: tuple[Parameter, ...] = ()
    details: str = ""
    # What it works on: one wing where the caller names one, or always the whole space, or always the whole file.
    scope: Literal["wing", "space", "file"] = "wing"
    read_only: bool = False
    sets: str = ""  # the parameter without which it only shows what is set, which needs no permission to write
    destructive: bool = False
    creates: bool = False  # creates the memory where there is none
    progress: bool = False  # the method takes a progress callback
    may_be_none: bool = False  # the method may find nothing and return None
    several: str = ""  # the name of the result where it is a list, of a method that returns one or many
    result: str = ""  # the name of the result in a JSON document; "" where the result is a document itself

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", self.method or self.name)

    def run(self, memory: Memory, arguments: Mapping[str, Any]) -> Any:
        """Call the method."""
        fills = {parameter.name: parameter.argument for parameter in self.parameters}
        return attrgetter(self.method)(memory)(**{fills.get(name, name): value for name, value in arguments.items()})

    def document(self, result: object) -> dict[str, Any]:
        """Convert a result to one JSON document."""
        from everyword.types.serialization import to_json

        converted = to_json(result)
        if not self.result:
            return {self.several: converted} if self.several and isinstance(result, list) else converted
        # A method that returns nothing has done its work; one that may find nothing has found nothing.
        return {self.result: True if converted is None and not self.may_be_none else converted}

    def parameter(self, name: str) -> Parameter | None:
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


def required(name: str, help: str, kind: Kind = TEXT) -> Parameter:
    """Make a parameter that is needed and, on the command line, given by place."""
    return Parameter(name, kind, help, required=True, positional=True)


def _number(name: str, default: int, help: str) -> Parameter:
    return Parameter(name, INTEGER, f"{help} (default: {default})", default=default)


def _budget(default: int) -> Parameter:
    return _number("budget", default, "at most this many tokens")


def _limit(default: int) -> Parameter:
    return _number("limit", default, "return at most this many")


def _text(name: str, help: str, *, default: str) -> Parameter:
    return Parameter(name, TEXT, f"{help} (default: {default})", default=default)


def flag(name: str, help: str) -> Parameter:
    """Make a flag that is off unless it is given."""
    return Parameter(name, FLAG, help, default=False)


Unnamed = Callable[[str], Operation]


def writes(summary: str, *parameters: Parameter, **more: Any) -> Unnamed:
    """Make an operation that may change the memory."""
    return lambda name: Operation(name, summary, parameters=parameters, **more)


def _reads(summary: str, *parameters: Parameter, **more: Any) -> Unnamed:
    return lambda name: Operation(name, summary, parameters=parameters, read_only=True, **more)


def _lists(summary: str, *parameters: Parameter, **more: Any) -> Unnamed:
    return lambda name: _reads(summary, *parameters, result=name, **more)(name)


def named(operations: Mapping[str, Unnamed]) -> tuple[Operation, ...]:
    """Give operations the names under which they are listed."""
    return tuple(operation(name) for name, operation in operations.items())


_WING = Parameter("wing", TEXT, "a person or project inside the space")
_PROJECT = Parameter("project", TEXT, "the wing at hand: its events and those of no wing; others only if these fail")
_SESSION = Parameter("session", TEXT, "only this session")
_SPEAKER = Parameter("speaker", TEXT, "only this speaker")
_SINCE = Parameter("since", TIME, "only events that happened at this time or later")
_UNTIL = Parameter("until", TIME, "only events that happened before this time")
_AS_OF = Parameter("as_of", TIME, "only what was recorded by this time, whenever it happened")
_TAG = Parameter("tag", TEXT, "only this tag, such as category:work_career or action:required")
_ROLE = Parameter("role", TEXTS, "only this role; '!tool' excludes a role; may be given more than once", or_one=True)
_SOURCE = Parameter(
    "source",
    TEXTS,
    "only this source: user, assistant, import, tool or web; '!tool' excludes one; may be given more than once",
    or_one=True,
)
_META = Parameter(
    "meta", OBJECT, 'only events whose meta has these members, or numbers within limits: {"n": {"$gte": 3}}'
)
_QUERY = required("query", "the question")
_BY = Parameter("by", TEXT, "who makes the edit (default: user; on a service, the name of the key)")
_NOW = Parameter("now", TIME, "the time that counts as now (default: this machine's clock)")
_REDACT = Parameter(
    "redact",
    TEXT,
    "what to remove: credentials, personal (also personal numbers) or none (default: the memory's setting)",
)
_WAIT = Parameter("wait", FLAG, "wait for the vectors, which follow the words", default=True, options=("--no-wait",))
_SCOPE = (_NOW, _AS_OF, _WING, _PROJECT, _SESSION, _SPEAKER, _SINCE, _UNTIL, _TAG, _ROLE, _SOURCE, _META)
_LIMIT = Parameter("limit", INTEGER, "return at most this many (default: all)")
_NEWEST_FIRST = flag("newest_first", "latest first")
_STATEMENT = required("id", "a statement's id")
_RECALL = (
    _QUERY,
    Parameter(
        "k",
        COUNT,
        f"at most this many events, or {AUTO}: as many as the question needs (default: 10)",
        default=10,
        options=("-k",),
    ),
    *_SCOPE,
)

# In the order in which surfaces list them.
_OPERATIONS: dict[str, Unnamed] = {
    "add": writes(
        "remember one event, or a list of chat messages",
        Parameter(
            "text",
            TEXT,
            'the words, verbatim; "-" or nothing reads standard input without its last line break',
            required=True,
            positional=True,
            from_stdin=True,
        ),
        Parameter(
            "messages",
            OBJECTS,
            "instead of text: chat messages with role and content, as the SDKs of OpenAI and Anthropic have them; "
            '"-" reads standard input',
            fills="text",
            from_stdin=True,
        ),
        Parameter("speaker", TEXT, "who said it"),
        Parameter("session", TEXT, "the conversation or work session"),
        Parameter("at", TIME, "when it happened, such as 2026-04-02T10:00Z (default: now)"),
        Parameter("key", TEXT, "your own id for the event, unique in its space"),
        _WING,
        Parameter("role", TEXT, "such as user, assistant or tool"),
        Parameter("source", TEXT, "where it comes from: user, assistant, import, tool or web (default: by role)"),
        Parameter("meta", OBJECT, "a JSON object kept beside the text"),
        _REDACT,
        _WAIT,
        details="The event is on disk and searchable when this returns. Adding the same event again changes nothing.",
        several="written",
        creates=True,
    ),
    "import": writes(
        "remember files, folders and zips: chats, mail, notes, documents, tables, another memory",
        Parameter("path", PATH, "a file, folder or zip", required=True, positional=True, several=True),
        Parameter("format", TEXT, "the format, where it can't be detected"),
        _REDACT,
        Parameter(
            "tz", TEXT, "the time zone of times that name none, such as Europe/Lisbon, +02:00 or local", default="UTC"
        ),
        flag("wait", "encode each batch before reading the next"),
        flag("again", "also read unchanged files, and restore events from them that were forgotten"),
        method="import_events",
        details="Reads Claude Code, Claude.ai, ChatGPT, Codex, Copilot CLI, Gemini CLI, Slack, Telegram, WhatsApp, "
        "mbox, chat messages in JSON, Markdown, text, PDF and Word files, CSV, transcripts, git logs, mem0, MemPalace "
        "and MCP memory stores, other memories' files, and files that `everyword export` writes. Each file of a folder "
        "is read by its own format. A second run reads only what is new: it skips unchanged files and continues in "
        "grown files. Known events stay as they are.",
        creates=True,
        progress=True,
    ),
    "recall": _reads("find the events that answer a question, best first", *_RECALL),
    "context": _reads(
        "write a prompt-ready, cited context for a question",
        _QUERY,
        _budget(1200),
        _text(
            "style",
            "plain; reasoning: add an instruction that fits the question; layered: sessions and facts come first",
            default="plain",
        ),
        *_SCOPE,
    ),
    "ask": _reads(
        "answer a question with a citation, or say that the memory holds no answer",
        _QUERY,
        _number("budget", 1200, "at most this many tokens of context for an LLM"),
        *_SCOPE,
    ),
    "wake_up": _reads(
        "list what an agent should know before a conversation: who it is, and what matters now",
        _budget(170),
        _WING,
        Parameter("topic", TEXT, "also tell what is known about this person or thing"),
        _NOW,
        details="Each line is cited. The lines stay the same until something new happens.",
    ),
    "identity": writes(
        "show or set who the agent is; every wake_up starts with it",
        Parameter("text", TEXT, "the identity, in about 50 tokens (default: show it)", positional=True),
        _WING,
        _BY,
        _REDACT,
        sets="text",
        creates=True,
        may_be_none=True,
        result="identity",
    ),
    "statements": _lists(
        "list attributes, preferences, plans, tasks, decisions and other statements, each with its quote",
        Parameter("kind", TEXT, "attribute, fact, preference, habit, event, plan, task, decision ..."),
        Parameter("about", TEXT, "only about this person or thing"),
        _text("status", "current, superseded, retracted or any", default="current"),
        Parameter("tag", TEXT, "only with this tag, such as category:work_career"),
        _AS_OF,
        _NEWEST_FIRST,
        _LIMIT,
    ),
    "history": _reads(
        "show how a statement changed, with quotes and reasons",
        Parameter("id", TEXT, "a statement's id", positional=True),
        Parameter(
            "events",
            TEXTS,
            "instead of ID: everything that the event with this id states; may be given more than once",
            options=("--event",),
        ),
    ),
    "correct": writes(
        "correct a statement, and its facts, in your own words; its history keeps the old version",
        _STATEMENT,
        required("text", "the correct statement"),
        _BY,
    ),
    "retract": writes(
        "retract a statement and end its facts; it stays in its history",
        _STATEMENT,
        _text("reason", "ended: it was true and no longer is; never_true: it was never true", default="ended"),
        Parameter("at", TIME, "for ended: when it ceased to be true (default: now)"),
        _BY,
    ),
    "records": _lists(
        "list edits: identities, corrections, retractions, answers to intents, undone changes",
        Parameter("kind", TEXT, "identity, correction, retraction, feedback or undo_change"),
        _LIMIT,
        method="admin.records",
    ),
    "entities": _lists(
        "list people, organisations, projects, places and things, the most mentioned first",
        Parameter("type", TEXT, "person, organisation, project, place, thing or topic"),
        Parameter("prefix", TEXT, "the beginning of one of its names", positional=True),
        _LIMIT,
        method="graph.entities",
    ),
    "entity": _reads(
        "show who or what a name refers to: its names, its type, and when it was mentioned",
        required("name", "any of its names, or its id"),
        method="graph.entity",
    ),
    "facts": _lists(
        "list what is true of a person or thing, with its time and its quotes",
        Parameter("subject", TEXT, "only this person or thing; any of its names", positional=True),
        Parameter("relation", TEXT, "such as lives_in, works_at, married_to or likes; an unknown one lists all"),
        Parameter("as_of", TIME, "only what was true at this time, whenever it was recorded"),
        Parameter("known_at", TIME, "only what was recorded by this time; as_of means that elsewhere"),
        _LIMIT,
    ),
    "timeline": _lists(
        "list what was true of a person or thing and what happened to it, in order of time",
        required("entity", "any of its names"),
        Parameter("since", TIME, "only what was true or happened at this time or later"),
        Parameter("until", TIME, "only what was true or happened before this time"),
        _LIMIT,
        method="graph.timeline",
    ),
    "conflicts": _lists(
        "list facts that contradict each other where no later statement decides", method="graph.conflicts"
    ),
    "merge": writes(
        "merge two names that mean one person or thing",
        required("gone", "the name that is merged"),
        required("into", "the name that stays"),
        method="graph.merge",
        details="Events stay as they are. `undo` reverts it.",
    ),
    "split": writes(
        "split names off a person or thing that is really two",
        required("entity", "the person or thing that is two"),
        Parameter(
            "names", TEXTS, "a name of the second one; may be given more than once", required=True, options=("--name",)
        ),
        method="graph.split",
        details="Events stay as they are. `undo` reverts it.",
    ),
    "edits": _lists("list merges and splits, with the numbers that `undo` takes", method="graph.edits"),
    "undo": writes(
        "revert a merge or split", required("number", "its number, as `edits` lists it", INTEGER), method="graph.undo"
    ),
    "intents": _lists(
        "list open goals, each with its quotes",
        Parameter("status", TEXT, "resolved, rejected, deferred, expired or any (default: pending and scheduled)"),
        Parameter("category", TEXT, "task or plan"),
        _limit(5),
        _NOW,
        _AS_OF,
        method="intents.list",
    ),
    "answer_intent": writes(
        "answer an intent: accept, modify, defer, reject, done or undo",
        required("id", "an intent's id"),
        required("answer", "accept, modify, defer, reject, done, or undo, which takes the last answer back"),
        Parameter("text", TEXT, "for modify: the intent in your own words"),
        Parameter("until", TIME, "for defer: not before this time (default: in a week)"),
        _BY,
        method="intents.answer",
        details="The log keeps the answer. It changes how readily intents of the same category are shown; a rejected "
        "intent is never shown again.",
    ),
    "window": _reads(
        "show what matters now, without a question: events, concepts and intents in three tiers",
        _budget(2000),
        _NOW,
        _AS_OF,
        method="concepts.window",
    ),
    "palace": _reads(
        "show the memory as a place: wing, room (concept), hall (kind), closet (summary), drawer (event)",
        _number("rooms", 20, "at most this many rooms of a wing"),
        _number("drawers", 10, "at most this many events of a room"),
        _AS_OF,
        method="concepts.palace",
    ),
    "concepts": _lists(
        "list concepts: themes that three or more events share",
        Parameter("about", TEXT, "only concepts with this word in their label, keys or names"),
        _AS_OF,
        _LIMIT,
        method="concepts.list",
    ),
    "concept": _reads(
        "show one concept with its events, its edges and its journal",
        required("id", "a concept's id"),
        _AS_OF,
        method="concepts.get",
    ),
    "fold": writes(
        "fold queued events into concepts, or show what that would change",
        flag("dry_run", "change nothing"),
        method="concepts.fold",
        details="Events are folded as they are written. Some wait after an import, or where folding is off.",
        scope="space",
    ),
    "journal": _reads(
        "list changes of the concept graph, with reasons and events",
        Parameter("about", TEXT, "only changes around a concept or an event, by its id"),
        _limit(50),
        method="concepts.journal",
        result="entries",
    ),
    "undo_change": writes(
        "revert a change of the concept graph, for good",
        required("id", "the id of a journal entry"),
        _BY,
        method="concepts.undo",
    ),
    "show": _reads(
        "show one event in full",
        Parameter("id", TEXT, "the event's id, as recall cites it; its first six digits are enough", positional=True),
        Parameter("key", TEXT, "instead of ID: your own id for the event"),
        method="get",
    ),
    "sessions": _lists(
        "list sessions, latest first",
        _WING,
        _SPEAKER,
        _SINCE,
        _UNTIL,
        _AS_OF,
        _text("order", "latest, oldest or longest first", default="latest"),
        _LIMIT,
    ),
    "events": _lists(
        "list events in the order in which they happened",
        _WING,
        _SESSION,
        _SPEAKER,
        _SINCE,
        _UNTIL,
        _AS_OF,
        _ROLE,
        _SOURCE,
        _META,
        _NEWEST_FIRST,
        _LIMIT,
    ),
    "forget": writes(
        "remove events and everything derived from them, for good",
        Parameter("ids", TEXTS, "this event; may be given more than once", options=("--id",)),
        Parameter("keys", TEXTS, "the event with this key; may be given more than once", options=("--key",)),
        Parameter("session", TEXT, "the events of this session"),
        Parameter("speaker", TEXT, "the events of this speaker"),
        Parameter("wing", TEXT, "the events of this wing"),
        Parameter("before", TIME, "the events before this time"),
        flag("dry_run", "only show what would be removed"),
        flag("scrub", "on PostgreSQL, rewrite the tables now, which locks them"),
        details="An event must meet all conditions. Forgotten events can't be brought back.",
        destructive=True,
    ),
    "stats": _reads(
        "count what a space holds, and show the size of the file",
        flag("parts", "also show the size of each part of the file (reads all of it)"),
        scope="space",
    ),
    "verify": _reads(
        "check the file, and compare every index with the log",
        flag("deep", "also derive everything again and compare (takes as long as rebuild)"),
        method="admin.verify",
        scope="file",
        progress=True,
    ),
    "rebuild": writes(
        "rebuild every index from the log",
        Parameter("vectors", FLAG, "compute the vectors again", default=True, options=("--words-only",)),
        method="admin.rebuild",
        details="The old indexes serve until the new ones are complete.",
        scope="file",
        progress=True,
        result="rebuilt",
    ),
    "settle": writes(
        "do all queued work, such as vectors that a model failed to compute",
        flag("scrub", "on PostgreSQL, also rewrite the tables after a forget, which locks them"),
        method="admin.settle",
        scope="file",
        progress=True,
        result="done",
    ),
    "backup": _reads(
        "make a consistent copy of the whole file while others write",
        required("path", "a new file; never overwritten", PATH),
        method="admin.backup",
        scope="file",
        result="written",
    ),
    "export": _reads(
        "write a space's events as JSONL for `import`, or its graph, or Markdown notes",
        Parameter("path", PATH, "a new file for the events; never overwritten", positional=True),
        Parameter(
            "wiki",
            PATH,
            "instead of PATH: a folder for Markdown notes with wiki links; your own notes stay as they are",
        ),
        Parameter("graph", PATH, "instead of PATH: a new file for the graph, .graphml or .json"),
        method="admin.export",
        result="events",
    ),
}
OPERATIONS = named(_OPERATIONS)
# Operations for programs, which only the HTTP service and its client offer. The command line has other ways: `import`
# for many events, `history` for one statement, `doctor` for waiting jobs.
_API_OPERATIONS: dict[str, Unnamed] = {
    "activity": _reads(
        "count events in equal parts of time, and list speakers and wings",
        _SPEAKER,
        _SESSION,
        _SINCE,
        _UNTIL,
        _number("parts", 120, "number of parts"),
        method="admin.activity",
    ),
    "add_many": writes(
        "remember a batch of events in one transaction: all or none",
        Parameter("events", OBJECTS, "events, each with the parameters of `add`", required=True),
        _REDACT,
        _WAIT,
        creates=True,
        result="written",
    ),
    "statement": _reads("read one statement by its id", required("id", "a statement's id")),
    "changes": _reads(
        "read changes after a position: events, statements, concepts, intents, jobs, forgotten events",
        Parameter("after", TEXT, 'the position that the previous call returned; "now" for the newest position'),
        _number("limit", 100, "at most this many changes of each kind"),
    ),
    "glance": _reads("find events by their words alone; faster than `recall`", *_RECALL, method="admin.glance"),
    "held": _reads(
        "list the facts that were true in a span of time, those that covered most of it first",
        Parameter("since", TIME, "start of the span", required=True),
        Parameter("until", TIME, "end of the span", required=True),
        Parameter("subject", TEXT, "only this person or thing; any of its names"),
        _limit(100),
        method="graph.held",
        result="facts",
    ),
    "intent": _reads(
        "read one intent by its id, whatever its status", required("id", "an intent's id"), _NOW, method="intents.get"
    ),
    "jobs": _lists("list queued jobs, oldest first", _limit(100), method="admin.jobs"),
    "map": _reads(
        "list the strongest concepts, entities and intents, and the edges between them",
        _number("limit", 150, "at most this many nodes"),
        method="graph.map",
    ),
    "meta_values": _reads(
        "list the different values that a member of `meta` has",
        required("name", "the name of the member"),
        method="admin.meta_values",
        result="values",
    ),
    "receipts": _lists(
        "list what was forgotten, latest first: when and how much, never what was said",
        _limit(100),
        method="admin.receipts",
    ),
    "redacted": _reads(
        "remove secrets from an event as `add` would, without writing it",
        Parameter("event", OBJECT, "an event, with the parameters of `add`", required=True),
        _REDACT,
        method="admin.redacted",
        result="event",
    ),
}
API_OPERATIONS = named(_API_OPERATIONS)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
