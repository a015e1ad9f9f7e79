"""The MCP tools: which operations agents get, and how they are described.

They are few, because a model reads every tool before every turn. Parameters that only programs use are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from everyword.interfaces.operations import BY_NAME, Operation, Parameter, check_arguments
from everyword.interfaces.operations.parameters import PATH, TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An operation that agents get, its name as a tool, and advice when to use it."""

    operation: str
    tool: str = ""
    advice: str = ""


OFFERS = (
    Offer(
        operation="add",
        tool="remember",
        advice="Use it when the user states a preference, decision, fact, plan or date worth keeping, or asks to "
        "remember something. Give their own words, verbatim, and who said them; secrets are removed.",
    ),
    Offer(
        operation="recall",
        advice="Use it before answering anything that may rest on earlier conversations. Each hit has the id of its "
        "event, for `show`. A low confidence means that the memory may not hold the answer.",
    ),
    Offer(
        operation="context",
        advice="Like recall, but one text within a token budget, with resolved dates and a mark for each source.",
    ),
    Offer(operation="wake_up", advice="Use it once, at the start of a conversation."),
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
    ),
)

# Parameters for programs. Agents have the ids that recall returns, and redaction is not their choice.
_NOT_FOR_AGENTS = {"now", "meta", "key", "keys", "parts", "style", "redact", "by"}
# Where the registry's default would fill a context window.
_OWN_DEFAULTS: dict[str, dict[str, Any]] = {"events": {"limit": 50}}
_TIME_HINT = "; ISO 8601, such as 2026-04-02 or 2026-04-02T10:00:00+01:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """One tool of the MCP server."""

    name: str
    description: str
    operation: Operation
    parameters: tuple[Parameter, ...]
    defaults: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Return the name for people."""
        return self.name.replace("_", " ").capitalize()

    def listed(self) -> dict[str, Any]:
        """Describe the tool in the protocol's form."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema(),
            "annotations": hints(read_only=self.operation.read_only, destructive=self.operation.destructive),
        }

    def schema(self) -> dict[str, Any]:
        """Describe the arguments as JSON Schema."""
        filled = {parameter.fills for parameter in self.parameters}
        return {
            "type": "object",
            "properties": {parameter.name: self._property(parameter) for parameter in self.parameters},
            "required": [one.name for one in self.parameters if one.required and one.name not in filled],
            "additionalProperties": False,
        }

    def arguments(self, received: Mapping[str, Any] | None) -> dict[str, Any]:
        """Check what a client sent; return the operation's arguments."""
        return {**self.defaults, **check_arguments(self.parameters, received or {})}

    def _property(self, parameter: Parameter) -> dict[str, Any]:
        description = parameter.description + (_TIME_HINT if parameter.kind is TIME else "")
        schema = {**parameter.kind.schema, "description": description}
        default = self.defaults.get(parameter.name, parameter.default)
        return schema if default is None else {**schema, "default": default}


def agent_tools(*, wing: str | None = None) -> dict[str, AgentTool]:
    """Return the tools by name; a server that is bound to a wing has no wing parameter."""
    made = [_tool(offer, BY_NAME[offer.operation], wing) for offer in OFFERS if offer.operation in BY_NAME]
    return {tool.name: tool for tool in made}


def hints(*, read_only: bool, destructive: bool) -> dict[str, bool]:
    """Return the protocol's annotations of a tool."""
    return {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        # Forgetting twice changes nothing more; adding twice makes two events.
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
            if parameter.kind is not PATH and (parameter.required or parameter.name not in hidden)
        ),
        defaults=_OWN_DEFAULTS.get(operation.name, {}),
    )
