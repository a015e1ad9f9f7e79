"""The MCP tools: which operations agents get, and how they and their results are described.

They are few, because a model reads every tool before every turn. Parameters that only programs use are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from everyword.errors import InvalidFilter, InvalidInput
from everyword.interfaces.operations import BY_NAME, Operation, Parameter, check_arguments
from everyword.interfaces.operations.parameters import COUNT, FLAG, PATH, TEXT, TEXTS, TIME
from everyword.types.events import SAVED_ON_REQUEST

ToolSet = Literal["core", "all"]
TOOL_SETS: tuple[ToolSet, ...] = ("core", "all")
CURSOR = Parameter("cursor", TEXT, "next_cursor of the page before")
NEXT_CURSOR = "next_cursor"


class Offer(Struct, frozen=True, kw_only=True):
    """An operation that agents get, its name as a tool, and advice when to use it."""

    operation: str
    tool: str = ""
    advice: str = ""
    core: tuple[str, ...] = ()  # its parameters in the core set; empty where the set lacks the tool
    core_summary: str = ""  # there, instead of the operation's


OFFERS = (
    Offer(
        operation="add",
        tool="remember",
        advice="Use it when the user states a preference, decision, fact, plan or date worth keeping, or asks to "
        "remember something. Give their own words, verbatim, and who said them; secrets are removed.",
        core=("text", "speaker", "session", "at"),
        core_summary="remember something",
    ),
    Offer(
        operation="recall",
        advice="Use it before answering anything that may rest on earlier conversations. A low confidence means that "
        "the memory may not hold the answer.",
        core=("query", "k", "speaker", "wing", "since", "until"),
    ),
    Offer(
        operation="context",
        advice="Like recall, but one text within a token budget, with dates and sources.",
        core=("query", "budget"),
    ),
    Offer(operation="ask", advice="For a question with one answer: a name, a place, a date.", core=("query",)),
    Offer(operation="wake_up", advice="Use it once, at the start of a conversation.", core=("topic",)),
    Offer(operation="show", advice="Use it to read the full text of a hit."),
    Offer(operation="sessions"),
    Offer(operation="events", advice="Use it to read a session through, in order; recall is better for questions."),
    Offer(operation="statements"),
    Offer(operation="history", advice="Use it when the user asks what was true before, or why it changed."),
    Offer(operation="correct", advice="Only when the user says that a statement is wrong, and what is right."),
    Offer(operation="retract", advice="Only when the user says that a statement was never true or no longer is."),
    Offer(operation="entities"),
    Offer(operation="facts"),
    Offer(operation="timeline"),
    Offer(operation="concepts"),
    Offer(
        operation="intents",
        advice="Use it at the start of a conversation, or when the user asks what is to be done. Mention at most one.",
    ),
    Offer(operation="answer_intent", advice="Only when the user says what to do with it."),
    Offer(operation="window", advice="Use it when there is no question yet."),
    Offer(operation="stats"),
    Offer(
        operation="forget",
        advice="Only when the user asks for it. First with dry_run=true; show the user what would be removed, and ask.",
        core=("ids", "session", "before", "dry_run"),
    ),
)

# Parameters for programs. Agents have the ids that recall returns, and redaction is not their choice.
_NOT_FOR_AGENTS = {"now", "meta", "key", "keys", "parts", "style", "redact", "by", "project"}
# Where the registry's default is more than an answer should take.
_OWN_DEFAULTS: dict[str, dict[str, Any]] = {"window": {"budget": 1200}, "add": {"meta": {SAVED_ON_REQUEST: True}}}
_TIME_HINT = ", ISO 8601"

# What agents get of each result: the members, and whether the result is a list of such objects. The protocol's output
# schemas are made from this table too.
_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "number"}
_COUNT: dict[str, Any] = {"type": "integer"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_COUNTS: dict[str, Any] = {"type": "object"}


def _members(texts: str, **others: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {**dict.fromkeys(texts.split(), _TEXT), **others}


_EVENT = _members("id at speaker role session wing text")
_STATEMENT = _members("id kind content about quote event_id valid_from valid_to status said_at", reasons=_TEXTS)
_FACT = _members("id subject relation object valid_from valid_to said_at", confidence=_NUMBER, quotes=_TEXTS)
_INTENT = _members("id content category status due until last_at", quotes=_TEXTS)
_PACKED = _members("text", tokens=_COUNT)
MEMBERS: dict[str, dict[str, dict[str, Any]]] = {
    "add": {"ids": _TEXTS, "new": _COUNT, "redacted": _COUNTS},
    "recall": _members("id at speaker session wing text replaced_by replaced_at"),
    "context": _PACKED,
    "ask": _members("answer nearest", answered=_FLAG, confidence=_NUMBER, quotes=_TEXTS, event_ids=_TEXTS),
    "wake_up": _PACKED,
    "window": _PACKED,
    "show": {**_EVENT, NEXT_CURSOR: _TEXT},
    "sessions": _members("name first_at last_at", events=_COUNT, speakers=_TEXTS, keys=_TEXTS, summary=_TEXTS),
    "events": _EVENT,
    "statements": _STATEMENT,
    "history": _STATEMENT,
    "correct": _STATEMENT,
    "retract": _STATEMENT,
    "entities": _members("id name type first_at last_at", aliases=_TEXTS, events=_COUNT),
    "facts": _FACT,
    "timeline": _FACT,
    "concepts": _members("id label description first_at last_at", events=_COUNT, entities=_TEXTS),
    "intents": _INTENT,
    "answer_intent": _INTENT,
    "stats": {
        **_members("space model first_at last_at"),
        **dict.fromkeys("events sessions speakers wings vectors pending concepts bytes".split(), _COUNT),
        "statements": _COUNTS,
        "graph": _COUNTS,
        "behind": _COUNTS,
    },
    "forget": {
        "events": _COUNT,
        "dry_run": _FLAG,
        "wing": _TEXT,
        "ids": _TEXTS,
        "removed": _COUNTS,
        "left": _TEXTS,
        "would_remove": {"type": "array", "items": {"type": "object", "properties": _EVENT}},
    },
}
# Results that are lists: the name of the list. Those with a cursor are given in pages.
LISTS = {"recall": "hits", "history": "versions"} | {
    name: name for name in ("sessions", "events", "statements", "entities", "facts", "timeline", "concepts", "intents")
}
_NOT_PAGED = {"recall"}
# What is always there, where it is not the first member.
_REQUIRED = {"ask": ["answered"]}


class AgentTool(Struct, frozen=True, kw_only=True):
    """One tool of the MCP server."""

    name: str
    description: str
    operation: Operation
    parameters: tuple[Parameter, ...]
    defaults: Mapping[str, Any]  # arguments that a call has unless it gives them
    is_core: bool = False  # described in as few tokens as possible

    @property
    def is_paged(self) -> bool:
        """Tell whether its result is a list that is given in pages."""
        return self.operation.name in LISTS and self.operation.name not in _NOT_PAGED

    def listed(self) -> dict[str, Any]:
        """Describe the tool in the protocol's form."""
        annotations = hints(read_only=self.operation.read_only, destructive=self.operation.destructive)
        if self.is_core:
            del annotations["openWorldHint"]
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema(),
            "outputSchema": self.output_schema(),
            "annotations": annotations,
        }

    def output_schema(self) -> dict[str, Any]:
        """Describe the structured result as JSON Schema."""
        name, members = self.operation.name, MEMBERS[self.operation.name]
        if self.is_core:
            first = LISTS.get(name) or (_REQUIRED.get(name) or list(members))[0]
            return {"type": "object", "required": [first]}
        if name not in LISTS:
            return {"type": "object", "properties": members, "required": _REQUIRED.get(name, [next(iter(members))])}
        items = {"type": "object", "properties": members, "required": [next(iter(members))]}
        more = {NEXT_CURSOR: _TEXT} if self.is_paged else {"confidence": _NUMBER}
        listed = {LISTS[name]: {"type": "array", "items": items}, **more}
        return {"type": "object", "properties": listed, "required": [LISTS[name]]}

    def schema(self) -> dict[str, Any]:
        """Describe the arguments as JSON Schema."""
        if self.is_core:
            properties = {one.name: _short_property(one) for one in self.parameters}
            required = [one.name for one in self.parameters if one.required]
            return {"type": "object", "properties": properties, **({"required": required} if required else {})}
        filled = {parameter.fills for parameter in self.parameters}
        return {
            "type": "object",
            "properties": {parameter.name: self._property(parameter) for parameter in self.parameters},
            "required": [one.name for one in self.parameters if one.required and one.name not in filled],
            "additionalProperties": False,
        }

    def arguments(self, received: Mapping[str, Any] | None) -> dict[str, Any]:
        """Check what a client sent; return the operation's arguments."""
        arguments = {**self.defaults, **check_arguments(self.parameters, received or {})}
        conditions = [one.name for one in self.parameters if one.kind is not FLAG]
        if self.operation.destructive and not arguments.keys() & set(conditions):
            raise InvalidFilter(f"Say what to forget: {', '.join(conditions[:-1])} or {conditions[-1]}.")
        return arguments

    def _property(self, parameter: Parameter) -> dict[str, Any]:
        # A format would make clients refuse times that the memory understands, such as a date alone.
        schema = {name: value for name, value in parameter.kind.schema.items() if name != "format"}
        told = parameter.description.split(" (default:")[0] if parameter.default is not None else parameter.description
        schema |= {"description": told + (_TIME_HINT if parameter.kind is TIME else "")}
        default = self.defaults.get(parameter.name, parameter.default)
        return schema if default is None or default is False else {**schema, "default": default}


def agent_tools(*, wing: str | None = None, tool_set: ToolSet = "all") -> dict[str, AgentTool]:
    """Return the tools by name.

    wing: the server is bound to it, so tools have no wing parameter. tool_set: "core" has six tools, few parameters.
    """
    made = [
        _tool(offer, BY_NAME[offer.operation], wing, tool_set == "core")
        for offer in OFFERS
        # What is not of a wing alone would tell of others.
        if (tool_set == "all" or offer.core) and (wing is None or BY_NAME[offer.operation].scope == "wing")
    ]
    return {tool.name: tool for tool in made}


def tool_set_of(name: str | None) -> ToolSet | None:
    """Check the name of a set of tools."""
    if name not in (None, *TOOL_SETS):
        raise InvalidInput(f"Unknown tools {name!r}.", fix=f"Choose one of {', '.join(TOOL_SETS)}.")
    return name


def hints(*, read_only: bool, destructive: bool) -> dict[str, bool]:
    """Return the protocol's annotations of a tool, without those that have no meaning or their default."""
    if read_only:
        return {"readOnlyHint": True, "openWorldHint": False}
    # Forgetting twice changes nothing more; adding twice makes two events.
    idempotent = {"idempotentHint": True} if destructive else {}
    return {"destructiveHint": destructive, **idempotent, "openWorldHint": False}


def _tool(offer: Offer, operation: Operation, wing: str | None, core: bool) -> AgentTool:
    hidden = _NOT_FOR_AGENTS | ({"wing"} if wing is not None else set[str]())
    summary = (offer.core_summary if core else "") or operation.summary
    sentence = f"{summary[:1].upper()}{summary[1:]}."
    parameters = [
        parameter
        for parameter in operation.parameters
        if parameter.kind is not PATH and (parameter.required or parameter.name not in hidden)
    ]
    if core:
        parameters = [parameter for parameter in parameters if parameter.name in offer.core]
    elif operation.name == "show" or (operation.name in LISTS and operation.name not in _NOT_PAGED):
        parameters.append(CURSOR)
    told = (sentence, offer.advice) if core else (sentence, operation.details, offer.advice)
    return AgentTool(
        name=offer.tool or operation.name,
        description=" ".join(part for part in told if part),
        operation=operation,
        parameters=tuple(parameters),
        defaults=_OWN_DEFAULTS.get(operation.name, {}),
        is_core=core,
    )


def _short_property(parameter: Parameter) -> dict[str, Any]:
    schema = {"type": "integer"} if parameter.kind is COUNT else {"type": parameter.kind.schema["type"]}
    if parameter.kind is TEXTS:
        schema = dict(parameter.kind.schema)
    told = parameter.description.split(" (default:")[0].split("; may be")[0].split(", or auto")[0]
    return schema if parameter.name in ("query", "ids", "wing") else {**schema, "description": told}
