"""What a row of the table of operations is, and the parameters that many rows share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from recollect.core.counts import AUTO

if TYPE_CHECKING:
    from recollect.memory import Memory

# time: whatever as_datetime reads. object: a JSON object. texts, objects: a list of strings, of objects.
# count: a whole number, or AUTO where the memory shall find one.
Kind = Literal["text", "texts", "integer", "count", "time", "object", "objects", "flag", "path"]
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
    or_one: bool = False  # of texts: a single one may be given without a list
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
    maybe: bool = False  # the method may find nothing, and gives None then
    result: str = ""  # what a bare result is called in a JSON document; "" where the result is a document by itself

    def run(self, memory: Memory, arguments: Mapping[str, Any]) -> Any:
        """Call the method."""
        return getattr(memory, self.method)(**arguments)

    def document(self, result: object) -> dict[str, Any]:
        """Lay a result out as one JSON document."""
        from recollect.serial import plain

        written = plain(result)
        if not self.result:
            return written
        # What gives nothing has been done; what may give nothing has found nothing.
        return {self.result: True if written is None and not self.maybe else written}

    def parameter(self, name: str) -> Parameter | None:
        """Find a parameter by its name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


WING = Parameter(name="wing", kind="text", help="a person or project inside the space")
SESSION = Parameter(name="session", kind="text", help="of this session alone")
SPEAKER = Parameter(name="speaker", kind="text", help="said by this speaker alone")
SINCE = Parameter(name="since", kind="time", help="happened at this time or later")
UNTIL = Parameter(name="until", kind="time", help="happened before this time")
AS_OF = Parameter(name="as_of", kind="time", help="only what was known at this time")
TAG = Parameter(name="tag", kind="text", help="with this tag alone, as topic:work_career or action:required")
ROLE = Parameter(
    name="role",
    kind="texts",
    help="of this role; '!tool' excludes a role; may be given more than once",
    or_one=True,
)
SOURCE = Parameter(
    name="source",
    kind="texts",
    help="from this source: user, assistant, import, tool or web; '!tool' excludes one; may be given more than once",
    or_one=True,
)
META = Parameter(name="meta", kind="object", help="a JSON object whose members the event's meta must have")
QUERY = Parameter(name="query", kind="text", help="the question", required=True, positional=True)
BY = Parameter(name="by", kind="text", help="who edits (default: user; on a service, the name of the key)")
NOW = Parameter(name="now", kind="time", help="the asker's clock (default: this machine's)")
COUNT_HELP = f"how many events at most, or {AUTO}: as many as the question asks for"
REDACT = Parameter(
    name="redact",
    kind="text",
    help="what to take out: credentials, personal (also personal numbers) or none (default: as the memory is set)",
)
ASKING = (NOW, AS_OF, WING, SESSION, SPEAKER, SINCE, UNTIL, TAG, ROLE, SOURCE, META)
