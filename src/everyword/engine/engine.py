"""The parts of an open memory, shared by all handles on it."""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from everyword.engine.encoding import Models
from everyword.errors import EverywordError, ModelError
from everyword.models.protocol import LLM, LLMSpec, Reranker, RerankerSpec, Tokenizer, close_model
from everyword.models.tokenizers import TokenizerSpec, load_tokenizer
from everyword.retrieval.config import SearchConfig
from everyword.settings import Settings
from everyword.storage.protocol import FileReader, FileWriter, Store, Writer
from everyword.storage.rows import FENCE_KEY, Access
from everyword.types.times import Clock, to_micros

MANY = 64  # events counted, from which on a write carries the counts: each is a row more in its transaction
_DOUBLINGS = 20  # of a wait: enough to reach any longest one
_LOCK_TIMEOUT_S = 0.1  # closing a memory must not wait long for counts, which only affect ranking


@dataclass(slots=True)
class AccessCounts:
    """Recalls since the last write, kept in this process so that recall never waits for the write lock."""

    _found: dict[str, dict[int, Access]] = field(default_factory=dict[str, dict[int, Access]])
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def note(self, space: str, seqs: Iterable[int], now: datetime) -> None:
        """Count one recall of each event."""
        at = to_micros(now)[0]
        with self._guard:
            held = self._found.setdefault(space, {})
            for seq in seqs:
                held[seq] = Access(held[seq].times + 1 if seq in held else 1, at)

    def flush(self, writer: Writer, *, least: int = 1) -> None:
        """Write the counts of a space within a running transaction, if it has at least some; a rollback loses them.

        Other spaces keep theirs: each space has its own write lock, and taking two could deadlock.
        """
        with self._guard:
            found = self._found.pop(writer.space, {}) if len(self._found.get(writer.space, ())) >= least else {}
        if found:
            writer.put_accesses(found)

    def flush_all(self, store: Store) -> None:
        """Write all counts in transactions of their own; drop them if the store can't be written now."""
        if store.read_only or not self._found:
            return
        try:
            for space in list(self._found):
                with store.writer(space, patience_s=_LOCK_TIMEOUT_S) as writer:
                    self.flush(writer)
        except EverywordError:
            return


@dataclass(slots=True)
class FenceKey:
    """The key from which `text/rendering.py` derives fences.

    The store keeps it, so that the same lines get the same fence in every process. Until the first write, and in a
    read-only store without a key, each process uses a random key of its own.
    """

    chosen: str | None = None  # `Settings.fence_key`
    _own: str = field(default_factory=secrets.token_hex)
    _kept: str | None = None

    def of(self, reader: FileReader) -> bytes:
        if self.chosen is not None:
            return self.chosen.encode("utf-8", "surrogatepass")
        if self._kept is None:
            self._kept = reader.fact(FENCE_KEY)
        return (self._kept or self._own).encode()

    def keep(self, writer: FileWriter) -> None:
        """Store the key if the store has none."""
        if self._kept is None and writer.fact(FENCE_KEY) is None:
            writer.set_fact(FENCE_KEY, self._own)


if TYPE_CHECKING:
    from everyword.models.reader.reader import TextReader

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A store, its models and its settings."""

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
    # Set when the memory closes or its service stops: background work ends behind the text that is being encoded.
    stopping: threading.Event = field(default_factory=threading.Event, init=False)
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
        from everyword.engine.llm_budget import Allowance, Metered  # imports an HTTP client
        from everyword.models.llm.client import load_llm

        llm = load_llm(self.llm_spec)
        if llm is None or isinstance(llm, Metered):  # passed on by a worker; do not count its tokens twice
            return llm
        limit = self.settings.llm_tokens_per_day
        allowance = None if limit is None else Allowance(self.store, tokens_per_day=limit, clock=self.clock)
        return Metered(llm, allowance)

    @cached_property
    def reranker(self) -> Reranker | None:
        if self.reranker_spec is None:
            return None
        from everyword.models.rerankers import load_reranker

        return load_reranker(self.reranker_spec, folder=self.models.folder, llm=self.llm)

    @cached_property
    def reader(self) -> TextReader | None:
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

    def on(self, store: Store, **changes: Any) -> Engine:
        """Return an engine for another store: the same models; counts, subscribers and caches of its own."""
        # Models that are loaded are passed on: loading them again would take seconds.
        loaded = {f"{name}_spec": vars(self)[name] for name in ("llm", "reranker") if name in vars(self)}
        other = dataclasses.replace(self, **{"store": store, **loaded, **changes})
        vars(other)["reader"] = self.reader
        return other

    def close(self) -> None:
        """Close the models that the engine loaded. Models that the caller passed in stay open."""
        self.models.close()
        for spec, name in ((self.llm_spec, "llm"), (self.reranker_spec, "reranker")):
            if isinstance(spec, str):
                close_model(vars(self).get(name))  # without loading one now

    def now(self) -> int:
        return to_micros(self.clock())[0]

    def next_attempt(self, attempts: int, *, first_s: int, most_s: int) -> int:
        """Return when to try again after some failures, in microseconds: each wait is twice the one before."""
        return self.now() + min(most_s, first_s * 2 ** min(attempts, _DOUBLINGS)) * 1_000_000


Progress = Callable[[str, int, int], None]  # the task, units done, units in total


def silent(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""
