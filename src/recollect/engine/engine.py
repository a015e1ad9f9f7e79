"""The parts of an open memory, shared by all handles on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from recollect.core.clock import Clock, to_micros
from recollect.core.settings import Settings
from recollect.engine.accesses import Accesses
from recollect.engine.fences import FenceKey
from recollect.engine.kept_intents import KeptIntents
from recollect.engine.listening import Listeners
from recollect.engine.serving import Models
from recollect.inference.protocol import LLM, Reranker, Tokenizer
from recollect.inference.tokens import TokenizerSpec, load_tokenizer
from recollect.recall.recipes import Recipe
from recollect.store.protocol import Store

if TYPE_CHECKING:
    from recollect.engine.folding import Folds

LLMSpec = str | LLM | None
RerankerSpec = str | Reranker | None


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A store, its models and its settings."""

    store: Store
    models: Models
    settings: Settings
    clock: Clock
    recipe: Recipe
    tokenizer_spec: TokenizerSpec = None
    reranker_spec: RerankerSpec = None
    llm_spec: LLMSpec = None
    accesses: Accesses = field(default_factory=Accesses)
    listeners: Listeners = field(default_factory=Listeners)
    intents: KeptIntents = field(default_factory=KeptIntents)

    @cached_property
    def fence_key(self) -> FenceKey:
        """Give the secret from which fences around recorded text are derived."""
        return FenceKey(self.settings.fence_key)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Load the tokenizer when a budget is first counted."""
        return load_tokenizer(self.tokenizer_spec)

    @cached_property
    def llm(self) -> LLM | None:
        """Give the LLM, where there is one, within its tokens of a day. It is asked for nothing before it is needed."""
        if self.llm_spec is None:
            return None
        from recollect.engine.metering import metered
        from recollect.inference.llm import load_llm  # brings an HTTP client along

        llm = load_llm(self.llm_spec)
        limit = self.settings.llm_tokens_per_day
        return None if llm is None else metered(llm, self.store, tokens_per_day=limit, clock=self.clock)

    @cached_property
    def reranker(self) -> Reranker | None:
        """Give the third stage of recall, where there is one."""
        if self.reranker_spec is None:
            return None
        from recollect.inference.reranking import load_reranker

        return load_reranker(self.reranker_spec, folder=self.models.folder, llm=self.llm)

    @cached_property
    def folds(self) -> Folds:
        """Keep the concept graphs at work."""
        from recollect.engine.folding import Folds  # a process that only asks should not pay for it

        return Folds()

    def close(self) -> None:
        """Let go of what models hold open. What the caller made stays the caller's."""
        self.models.close()
        for spec, made in ((self.llm_spec, self.llm), (self.reranker_spec, self.reranker)):
            end = getattr(made, "close", None) if isinstance(spec, str) else None
            if callable(end):
                end()

    def now(self) -> int:
        """Tell the time in microseconds."""
        return to_micros(self.clock())[0]


Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, of how much


def silent(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""
