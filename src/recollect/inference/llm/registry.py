"""From a setting to an LLM."""

from __future__ import annotations

from recollect.core.errors import InvalidSetting
from recollect.inference.llm.allowance import Allowance
from recollect.inference.llm.anthropic import Messages
from recollect.inference.llm.client import HttpLLM
from recollect.inference.llm.openai import ChatCompletions
from recollect.inference.llm.settings import FORM, LLMSettings
from recollect.inference.llm.wire import Patience
from recollect.inference.protocol import LLM

LLMSpec = str | LLM | None


def load_llm(
    spec: LLMSpec = None,
    *,
    api_key: str | None = None,
    allowance: Allowance | None = None,
    patience: Patience | None = None,
) -> LLM | None:
    """Give the LLM that a setting names (see `settings.py`), or None for none; an LLM object is taken as it is."""
    if spec is None or spec == "none":
        return None
    if isinstance(spec, str):
        settings = LLMSettings.parse(spec, api_key=api_key)
        api = Messages() if settings.provider == "anthropic" else ChatCompletions()
        return HttpLLM(settings, api, allowance=allowance, patience=patience)
    if not callable(getattr(spec, "complete", None)):
        raise InvalidSetting(f"llm={type(spec).__name__} is not known.", fix=f"Use {FORM}, or an LLM object.")
    if api_key or allowance or patience:
        raise InvalidSetting("api_key, allowance and patience are for an LLM that is named, not for an object.")
    return spec
