"""Parse the setting that names an LLM.

openai:MODEL              OpenAI
openai:MODEL@URL          any server of chat completions: vLLM, LM Studio, llama.cpp, OpenRouter ...
ollama:MODEL              Ollama on this machine (ollama:MODEL@URL: on another)
anthropic:MODEL           Anthropic (anthropic:MODEL@URL: another server of its messages)
URL#MODEL                 the same as openai:MODEL@URL
"""

from __future__ import annotations

from dataclasses import dataclass, field

from everyword.errors import InvalidSetting
from everyword.models.http_client import check_url, find_key

FORM = "PROVIDER:MODEL@URL, as in openai:qwen3@http://localhost:8000/v1, ollama:llama3.2 or anthropic:claude-sonnet-4-5"
KEY_VARIABLE = "EVERYWORD_LLM_KEY"
URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "ollama": "http://localhost:11434/v1",
}
# Each key goes to its own provider only: a user who names another host did not mean to show it this key.
OWN_KEYS = {URLS["openai"]: "OPENAI_API_KEY", URLS["anthropic"]: "ANTHROPIC_API_KEY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMSettings:
    """Model and server of an LLM. The key is never shown."""

    provider: str
    model: str
    url: str
    api_key: str | None = field(default=None, repr=False)  # default: from the environment

    def __post_init__(self) -> None:
        if self.provider not in URLS or not self.model.strip():
            raise InvalidSetting("An LLM needs a provider and a model.", fix=f"Use {FORM}.")
        check_url(self.url, form=FORM)

    @classmethod
    def parse(cls, spec: str, *, api_key: str | None = None) -> LLMSettings:
        """Read PROVIDER:MODEL, PROVIDER:MODEL@URL or URL#MODEL."""
        if spec.startswith(("http://", "https://")):
            provider, (url, _, model) = "openai", spec.partition("#")
        else:
            provider, _, rest = spec.partition(":")
            model, _, url = rest.partition("@http")
            url = f"http{url}" if url else URLS.get(provider, "")
        return cls(provider=provider, model=model, url=url.rstrip("/"), api_key=api_key)

    @property
    def name(self) -> str:
        """The setting without the key, as parse() reads it."""
        where = "" if self.url == URLS[self.provider] else f"@{self.url}"
        return f"{self.provider}:{self.model}{where}"

    @property
    def key(self) -> str | None:
        """The key to send, from the settings or the environment."""
        return find_key(self.api_key, KEY_VARIABLE, OWN_KEYS.get(self.url, ""))
