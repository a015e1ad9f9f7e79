"""The table of operations: what can be asked of a memory, by every surface.

The command line and the MCP tools are generated from it. Nothing heavy is imported here, since
`recollect --help` reads this table. One module a domain; the order here is the one that surfaces show.
"""

from __future__ import annotations

from recollect.operations.asking import ASK, CONTEXT, RECALL
from recollect.operations.attention import ANSWER_INTENT, BELIEFS, INTENTS, PALACE, WINDOW
from recollect.operations.folding import CONCEPT, CONCEPTS, FOLD, JOURNAL, UNFOLD
from recollect.operations.graph import (
    CONFLICTS,
    EDITS,
    ENTITIES,
    ENTITY,
    FACTS,
    MERGE,
    SPLIT,
    TIMELINE,
    UNDO,
)
from recollect.operations.layers import IDENTITY, WAKE_UP
from recollect.operations.log import ADD, EVENTS, EXPORT, FORGET, IMPORT, SESSIONS, SHOW
from recollect.operations.statements import ARTIFACTS, CORRECT, HISTORY, RECORDS, RETRACT
from recollect.operations.table import Kind, Operation, Parameter, Scope
from recollect.operations.upkeep import BACKUP, REBUILD, SETTLE, STATS, VERIFY

__all__ = ["BY_NAME", "OPERATIONS", "Kind", "Operation", "Parameter", "Scope"]

OPERATIONS = (
    ADD,
    IMPORT,
    RECALL,
    CONTEXT,
    ASK,
    WAKE_UP,
    IDENTITY,
    ARTIFACTS,
    HISTORY,
    CORRECT,
    RETRACT,
    RECORDS,
    ENTITIES,
    ENTITY,
    FACTS,
    TIMELINE,
    CONFLICTS,
    MERGE,
    SPLIT,
    EDITS,
    UNDO,
    INTENTS,
    ANSWER_INTENT,
    BELIEFS,
    WINDOW,
    PALACE,
    CONCEPTS,
    CONCEPT,
    FOLD,
    JOURNAL,
    UNFOLD,
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
