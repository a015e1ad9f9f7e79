"""LLM clients, checks of their JSON answers, and a daily token limit. Everyword works without an LLM."""

from everyword.errors import AllowanceSpent, LLMError, LLMGarbage, LLMRefused, LLMUnavailable
from everyword.models.http_client import RetryPolicy
from everyword.models.llm.budget import Allowance, Ledger, MemoryLedger
from everyword.models.llm.client import LLMSpec, load_llm
from everyword.models.llm.json_schema import read_json
from everyword.models.protocol import LLM, Reply, Schema

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
    "Reply",
    "RetryPolicy",
    "Schema",
    "load_llm",
    "read_json",
]
