"""The limits and choices a memory is opened with. Every default has a reason here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recollect.core.errors import InvalidSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a memory behaves, apart from what it holds."""

    # "full" waits for the disk on each commit (survives a power cut); "normal" survives the death of the process.
    durability: Literal["full", "normal"] = "full"
    # How long a writer queues for its turn before StoreBusy. A turn takes milliseconds: this long, a process is stuck.
    busy_timeout_s: float = 30.0
    # A larger text is a file, not a message; refused with a reason rather than indexed for minutes.
    max_text_bytes: int = 16 * 1024 * 1024
    # JSON beside the text is for ids and labels.
    max_meta_bytes: int = 256 * 1024
    # Words in names: sessions, speakers, wings, spaces, keys, roles.
    max_name_chars: int = 1024
    # False: vectors follow when settle() is called, by any process; words are searchable at once either way.
    embed_on_write: bool = True
    # False: artifacts follow when settle() is called; what is said is searchable at once either way.
    extract: bool = True
    # False: concepts follow when settle() is called. They are folded from events one by one, in the order of arrival.
    fold: bool = True
    # How concepts are seen and named: "general", "personal", "software" ..., or a TOML file. A graph begun with
    # one goes on with it until rebuild().
    profile: str = "general"
    # Where there is an LLM: whether settle() lets it read events for what rules miss. False leaves no jobs for it.
    llm_extract: bool = True
    # Where there is an LLM: whether settle() lets it write of many events: summaries of sessions, words and links of
    # concepts. False leaves no jobs for it.
    llm_fold: bool = True
    # How many events from before there was an LLM one settle() queues for it, the newest first. 0: it reads new ones
    # only, since a long past may cost more than anybody meant to spend.
    llm_read_past: int = 0
    # Tokens, in and out together, that an LLM may cost in a day (UTC) for reading events, writing of them, answering,
    # reranking, all processes that share the file together. None: no limit.
    llm_tokens_per_day: int | None = None
    # A JSON file of patterns of secrets: {"name": "regular expression"} adds one, {"name": false} leaves a known one
    # out. None: RECOLLECT_SECRET_PATTERNS, or those that are known alone.
    secret_patterns: str | None = None
    # Connections that a process keeps to a database server, and so how many questions and writes run at once.
    pool_size: int = 16
    read_only: bool = False

    def __post_init__(self) -> None:
        if self.durability not in ("full", "normal"):
            raise InvalidSetting(f"durability must be 'full' or 'normal', not {self.durability!r}.")
        if self.busy_timeout_s <= 0:
            raise InvalidSetting("busy_timeout_s must be more than 0 seconds.")
        if self.llm_read_past < 0:
            raise InvalidSetting("llm_read_past must not be negative.")
        if self.pool_size < 1:
            raise InvalidSetting("pool_size must be at least 1.")
        if self.llm_tokens_per_day is not None and self.llm_tokens_per_day < 0:
            raise InvalidSetting("llm_tokens_per_day must not be negative.")
