"""From the table of operations to tools for an agent: which, how they are described, and how arguments are checked.

Few and well described: a model reads every tool before every turn. An operation joins by its name as soon as the table
has it. Parameters that only programs use are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.core.counts import AUTO
from recollect.core.errors import InvalidInput
from recollect.operations import BY_NAME, Kind, Operation, Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An operation that agents get: its name for them, and when to use it."""

    operation: str
    tool: str = ""
    advice: str = ""


OFFERS = (
    Offer(
        operation="add",
        tool="remember",
        advice="Use it when the user states a preference, decision, fact, plan or date worth keeping, or asks to "
        "remember something. Give their own words, verbatim, and who said them; secrets are taken out.",
    ),
    Offer(
        operation="recall",
        advice="Use it before answering anything that may rest on earlier conversations. Each hit has the id of its "
        "event, for `show`. A low confidence means that the memory may not hold the answer.",
    ),
    Offer(
        operation="context",
        advice="Like recall, but one text within a token budget, with dates worked out and a mark for each source.",
    ),
    Offer(operation="wake_up", advice="Use it once, at the start of a conversation."),
    Offer(operation="show", advice="Use it to read all of what a hit quotes."),
    Offer(operation="sessions"),
    Offer(operation="events", advice="Use it to read a session through, in order; recall is better for questions."),
    Offer(operation="artifacts"),
    Offer(operation="history", advice="Use it when the user asks what was so before, or why it is so now."),
    Offer(operation="correct", advice="Only when the user says that a statement is wrong, and what is right."),
    Offer(operation="retract", advice="Only when the user says that a statement never was so, or is so no longer."),
    Offer(operation="entities"),
    Offer(operation="facts"),
    Offer(operation="timeline"),
    Offer(operation="concepts"),
    Offer(
        operation="intents",
        advice="Use it at the start of a conversation, or when the user asks what is to be done. Mention at most one.",
    ),
    Offer(operation="answer_intent", advice="Only when the user says what is to become of it."),
    Offer(operation="beliefs", advice="Use it when it matters who knows of a change, or where a thing is now."),
    Offer(operation="window", advice="Use it when there is no question yet: what is recent, at work and known well."),
    Offer(operation="stats"),
    Offer(
        operation="forget",
        advice="Only when the user asks for it. First with dry_run=true; show the user what would go, and ask.",
    ),
)

# For programs that keep books: an agent has the ids that recall gives. What is taken out is not an agent's choice.
_NOT_FOR_AGENTS = {"now", "meta", "key", "keys", "parts", "style", "redact", "by"}
# Where the table's default would fill a context window.
_OWN_DEFAULTS: dict[str, dict[str, Any]] = {"events": {"limit": 50}}
_TIME_HINT = "; ISO 8601, such as 2026-04-02 or 2026-04-02T10:00:00+01:00"
_SCHEMAS: dict[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "integer": {"type": "integer", "minimum": 1},
    "count": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "enum": [AUTO]}]},
    "time": {"type": "string"},
    "object": {"type": "object"},
    "flag": {"type": "boolean"},
}
_TYPES: dict[Kind, tuple[type, ...]] = {
    "text": (str,),
    "texts": (list,),
    "integer": (int,),
    "count": (int, str),
    "time": (str,),
    "object": (dict,),
    "flag": (bool,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """One tool, as a client sees it."""

    name: str
    description: str
    operation: Operation
    parameters: tuple[Parameter, ...]
    defaults: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Name it for people."""
        return self.name.replace("_", " ").capitalize()

    def listed(self) -> dict[str, Any]:
        """Describe the tool as the protocol writes it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema(),
            "annotations": hints(read_only=self.operation.read_only, destructive=self.operation.destructive),
        }

    def schema(self) -> dict[str, Any]:
        """Describe the arguments as JSON Schema."""
        return {
            "type": "object",
            "properties": {parameter.name: self._property(parameter) for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters if parameter.required],
            "additionalProperties": False,
        }

    def arguments(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Check what a client sent; give what the operation takes."""
        given = {name: value for name, value in (given or {}).items() if value is not None}
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in given.items():
            if name in known and known[name].or_one and isinstance(value, str):
                given[name] = value = [value]
            if name not in known:
                raise InvalidInput(f"{self.name} has no parameter {name!r}.", fix=f"It takes {', '.join(known)}.")
            if not _fits(known[name].kind, value):
                wanted = _SCHEMAS[known[name].kind].get("type", f"integer, or {AUTO!r}")
                raise InvalidInput(f"{name} must be of type {wanted}, not {type(value).__name__}.")
        missing = [
            parameter.name for parameter in self.parameters if parameter.required and parameter.name not in given
        ]
        if missing:
            raise InvalidInput(f"{self.name} needs {' and '.join(missing)}.")
        return {**self.defaults, **given}

    def _property(self, parameter: Parameter) -> dict[str, Any]:
        # Without what the command line adds about standard input.
        about = parameter.help.split('; "-"')[0] + (_TIME_HINT if parameter.kind == "time" else "")
        described = {**_SCHEMAS[parameter.kind], "description": about}
        default = self.defaults.get(parameter.name, parameter.default)
        return described if default is None else {**described, "default": default}


def agent_tools(*, wing: str | None = None) -> dict[str, AgentTool]:
    """Make the tools, by name; a server that is bound to a wing does not ask for one."""
    made = [_tool(offer, BY_NAME[offer.operation], wing) for offer in OFFERS if offer.operation in BY_NAME]
    return {tool.name: tool for tool in made}


def hints(*, read_only: bool, destructive: bool) -> dict[str, bool]:
    """Say what a tool does to a memory."""
    return {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        # What is gone can't go again; what is said twice is two events.
        "idempotentHint": read_only or destructive,
        "openWorldHint": False,
    }


def _tool(offer: Offer, operation: Operation, wing: str | None) -> AgentTool:
    hidden = _NOT_FOR_AGENTS | ({"wing"} if wing is not None else set[str]())
    sentence = f"{operation.summary[:1].upper()}{operation.summary[1:]}."
    return AgentTool(
        name=offer.tool or operation.name,
        description=" ".join(part for part in (sentence, operation.details, offer.advice) if part),
        operation=operation,
        parameters=tuple(
            parameter
            for parameter in operation.parameters
            if parameter.kind in _SCHEMAS and (parameter.required or parameter.name not in hidden)
        ),
        defaults=_OWN_DEFAULTS.get(operation.name, {}),
    )


def _fits(kind: Kind, value: object) -> bool:
    if kind in ("integer", "count") and isinstance(value, bool):
        return False
    if kind == "count" and isinstance(value, str):
        return value == AUTO
    return isinstance(value, _TYPES[kind])
