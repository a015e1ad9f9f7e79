"""The parts of an open memory, shared by all handles on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from recollect.core.clock import Clock, to_micros
from recollect.core.settings import Settings
from recollect.engine.serving import Models
from recollect.inference.protocol import Tokenizer
from recollect.inference.tokens import TokenizerSpec, load_tokenizer
from recollect.recall.recipes import Recipe
from recollect.store.protocol import Store


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A store, its models and its settings."""

    store: Store
    models: Models
    settings: Settings
    clock: Clock
    recipe: Recipe
    tokenizer_spec: TokenizerSpec = None

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Load the tokenizer when a budget is first counted."""
        return load_tokenizer(self.tokenizer_spec)

    def now(self) -> int:
        """Tell the time in microseconds."""
        return to_micros(self.clock())[0]


Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, of how much


def silent(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""
