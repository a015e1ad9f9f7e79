"""The parts of an open memory, shared by all handles on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from everyword.engine.access_counts import AccessCounts
from everyword.engine.encoding import Models
from everyword.engine.fences import FenceKey
from everyword.errors import ModelError
from everyword.models.protocol import LLM, Reranker, Tokenizer
from everyword.models.tokenizers import TokenizerSpec, load_tokenizer
from everyword.retrieval.config import SearchConfig
from everyword.settings import Settings
from everyword.storage.protocol import Store
from everyword.types.times import Clock, to_micros

if TYPE_CHECKING:
    from everyword.models.reader.reader import Reader

LLMSpec = str | LLM | None
RerankerSpec = str | Reranker | None
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A store, its models and its settings.

    `replace(engine, ...)` makes an engine with counts, subscribers and caches of its own.
    """

    store: Store
    models: Models
    settings: Settings
    clock: Clock
    recipe: SearchConfig
    tokenizer_spec: TokenizerSpec = None
    reranker_spec: RerankerSpec = None
    llm_spec: LLMSpec = None
    accesses: AccessCounts = field(default_factory=AccessCounts, init=False)
    # Called with the name of a space after its log or its views have changed.
    listeners: list[Callable[[str], None]] = field(default_factory=list[Callable[[str], None]], init=False)
    _caches: dict[type, object] = field(default_factory=dict[type, object], init=False, repr=False)

    def cache(self, kind: type[T]) -> T:
        """Return the engine's one instance of a cache class; create it on first use."""
        return cast("T", self._caches.setdefault(kind, kind()))

    def changed(self, space: str) -> None:
        """Tell listeners that the log of a space, or what is derived from it, has changed."""
        for listener in tuple(self.listeners):
            listener(space)

    @cached_property
    def fence_key(self) -> FenceKey:
        """Return the secret key of the fences around recorded text."""
        return FenceKey(self.settings.fence_key)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Load the tokenizer that counts budgets."""
        return load_tokenizer(self.tokenizer_spec)

    @cached_property
    def llm(self) -> LLM | None:
        """Load the LLM, if one is configured, limited to its daily token budget. Sends no request."""
        if self.llm_spec is None:
            return None
        from everyword.engine.llm_budget import metered  # imports an HTTP client
        from everyword.models.llm import load_llm

        llm = load_llm(self.llm_spec)
        limit = self.settings.llm_tokens_per_day
        return None if llm is None else metered(llm, self.store, tokens_per_day=limit, clock=self.clock)

    @cached_property
    def reranker(self) -> Reranker | None:
        """Load the reranker, if one is configured."""
        if self.reranker_spec is None:
            return None
        from everyword.models.rerankers import load_reranker

        return load_reranker(self.reranker_spec, folder=self.models.folder, llm=self.llm)

    @cached_property
    def reader(self) -> Reader | None:
        """Load the model that reads events into statements and names; None where there is none."""
        from everyword.models.reader.reader import load_reader  # imports numpy

        try:
            return load_reader(self.settings.reader)
        except ModelError as error:
            if self.settings.reader is not None:
                raise
            self.models.say(f"Events are not read into statements until the model is available: {error}")
            return None

    @property
    def waits_for_reader(self) -> bool:
        """Tell whether events must wait to be read, since the reader can't be loaded now."""
        from everyword.models.reader.reader import is_switched_off

        return self.reader is None and not is_switched_off(self.settings.reader)

    def close(self) -> None:
        """Close the models that the engine loaded. Models that the caller passed in stay open."""
        self.models.close()
        for spec, made in ((self.llm_spec, self.llm), (self.reranker_spec, self.reranker)):
            end = getattr(made, "close", None) if isinstance(spec, str) else None
            if callable(end):
                end()

    def now(self) -> int:
        """Return the time in microseconds."""
        return to_micros(self.clock())[0]


Progress = Callable[[str, int, int], None]  # the task, units done, units in total


def silent(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""
