"""Operations on the log itself: remember, read, forget."""

from __future__ import annotations

from recollect.operations.table import (
    AS_OF,
    META,
    REDACT,
    ROLE,
    SESSION,
    SINCE,
    SOURCE,
    SPEAKER,
    UNTIL,
    WING,
    Operation,
    Parameter,
)

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
        WING,
        Parameter(name="role", kind="text", help="such as user, assistant or tool"),
        Parameter(
            name="source",
            kind="text",
            help="where it comes from: user, assistant, import, tool or web (default: as the role says)",
        ),
        Parameter(name="meta", kind="object", help="a JSON object kept beside the text"),
        REDACT,
    ),
    creates=True,
)

IMPORT = Operation(
    name="import",
    summary="remember what is in files, folders and zips: chats, mail, notes, transcripts, another memory",
    details="Knows Claude Code, Claude.ai, ChatGPT, Codex, Gemini CLI, Slack, Telegram, WhatsApp, mbox, Markdown "
    "folders, transcripts, git logs, mem0 and MemPalace stores, other memories' files, and what `recollect export` "
    "writes. Run it again and it reads what is new: files that have not changed are skipped, those that have grown are "
    "read from where it stopped. Events that are known already are left as they are.",
    method="import_events",
    parameters=(
        Parameter(name="path", kind="path", help="a file, folder or zip", required=True, positional=True, several=True),
        Parameter(name="format", kind="text", help="what it is, where that can't be told by looking"),
        REDACT,
        Parameter(
            name="defer_embeddings",
            kind="flag",
            help="make words searchable at once; vectors and statements follow with `recollect settle`",
            default=False,
        ),
        Parameter(
            name="again",
            kind="flag",
            help="read also files that have not changed since, and bring back what was forgotten of them",
            default=False,
        ),
    ),
    creates=True,
    progress=True,
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

SESSIONS = Operation(
    name="sessions",
    summary="list sessions, the latest first",
    method="sessions",
    parameters=(
        WING,
        SPEAKER,
        SINCE,
        UNTIL,
        AS_OF,
        Parameter(name="limit", kind="integer", help="how many at most (default: all)"),
    ),
    read_only=True,
    result="sessions",
)

EVENTS = Operation(
    name="events",
    summary="list events in the order in which they happened",
    method="events",
    parameters=(
        WING,
        SESSION,
        SPEAKER,
        SINCE,
        UNTIL,
        AS_OF,
        ROLE,
        SOURCE,
        META,
        Parameter(name="newest_first", kind="flag", help="the latest first", default=False),
        Parameter(name="limit", kind="integer", help="how many at most (default: all)"),
    ),
    read_only=True,
    result="events",
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
        Parameter(
            name="scrub",
            kind="flag",
            help="on a server, rewrite its tables at once, which locks them for everybody meanwhile",
            default=False,
        ),
    ),
    destructive=True,
)

EXPORT = Operation(
    name="export",
    summary="write a space's events as JSONL, which `import` reads; or its graph, or notes made of it",
    method="export",
    parameters=(
        Parameter(name="path", kind="path", help="a new file for the events; never overwritten", positional=True),
        Parameter(
            name="wiki",
            kind="path",
            help="instead, a folder of Markdown notes with wiki links; unchanged ones and yours are left alone",
        ),
        Parameter(name="graph", kind="path", help="instead, a new file for the graph, .graphml or .json"),
    ),
    read_only=True,
    result="events",
)
