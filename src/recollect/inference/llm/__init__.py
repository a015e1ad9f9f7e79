"""LLMs, which make Recollect better and are never needed: clients, the check of what they answer, and a daily limit."""

from recollect.core.errors import AllowanceSpent, LLMError, LLMGarbage, LLMRefused, LLMUnavailable
from recollect.inference.llm.allowance import Allowance, Ledger, MemoryLedger
from recollect.inference.llm.registry import LLMSpec, load_llm
from recollect.inference.llm.schema import read_json
from recollect.inference.llm.wire import Patience
from recollect.inference.protocol import LLM, Reply, Schema

__all__ = [
    "LLM",
    "Allowance",
    "AllowanceSpent",
    "LLMError",
    "LLMGarbage",
    "LLMRefused",
    "LLMSpec",
    "LLMUnavailable",
    "Ledger",
    "MemoryLedger",
    "Patience",
    "Reply",
    "Schema",
    "load_llm",
    "read_json",
]
