"""The limits and choices a memory is opened with. Every default has a reason here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from everyword.errors import BadLocation, InvalidSetting

REDACTION_LEVELS = ("credentials", "personal", "none")
LONGEST_WAIT_S = 2_000_000  # three weeks: databases count milliseconds in 31 bits

_LEAST = {
    "max_text_bytes": 1,
    "max_meta_bytes": 0,
    "max_name_chars": 1,
    "llm_read_past": 0,
    "llm_tokens_per_day": 0,
    "pool_size": 1,
}
_SWITCHES = ("embed_on_write", "extract", "fold", "llm_extract", "llm_fold", "read_only")
_WORDS: dict[str, tuple[type, ...]] = {
    "profile": (str,),
    "secret_patterns": (str, os.PathLike, type(None)),
    "fence_key": (str, type(None)),
}


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
    # What is taken out of what comes in: "credentials" (passwords, keys, tokens, codes, card numbers), "personal" (also
    # account, tax, passport and social security numbers), or "none". Each call that writes may say otherwise. None:
    # EVERYWORD_REDACT, or "credentials".
    redact: str | None = None
    # A JSON file of patterns of secrets: {"name": "regular expression"} adds one, {"name": false} leaves a known one
    # out. None: EVERYWORD_SECRET_PATTERNS, or those that are known alone.
    secret_patterns: str | None = None
    # The secret from which the fence around recorded text is derived. None: a random one that the store keeps. Give one
    # where the same text must look the same from several stores.
    fence_key: str | None = None
    # Connections that a process keeps to a database server, and so how many questions and writes run at once.
    pool_size: int = 16
    read_only: bool = False

    def __post_init__(self) -> None:
        if self.durability not in ("full", "normal"):
            raise InvalidSetting(f"durability must be 'full' or 'normal', not {self.durability!r}.")
        if self.redact is not None:
            checked_redaction(self.redact)
        wait: object = self.busy_timeout_s
        if not isinstance(wait, int | float) or isinstance(wait, bool) or not 0 < wait <= LONGEST_WAIT_S:
            raise InvalidSetting(
                f"busy_timeout_s must be a number of seconds above 0, {LONGEST_WAIT_S:,} at most, not {wait!r}."
            )
        for name, least in _LEAST.items():
            number: object = getattr(self, name)
            if number is None and name == "llm_tokens_per_day":
                continue  # no limit
            if not isinstance(number, int) or isinstance(number, bool) or number < least:
                raise InvalidSetting(f"{name} must be a whole number from {least} on, not {number!r}.")
        for name in _SWITCHES:
            if getattr(self, name) not in (True, False):
                raise InvalidSetting(f"{name} must be True or False, not {getattr(self, name)!r}.")
        for name, kinds in _WORDS.items():
            if not isinstance(getattr(self, name), kinds):
                raise InvalidSetting(f"{name} must be a name or a path as a string, not {getattr(self, name)!r}.")


def checked_redaction(level: object) -> str:
    """Check what is to be taken out of what comes in."""
    if level not in REDACTION_LEVELS:
        raise InvalidSetting(f"redact must be one of {', '.join(map(repr, REDACTION_LEVELS))}, not {level!r}.")
    return str(level)


_KEPT_CHARS = 50  # of a name: with what is put behind it, it must stay one that every system takes
_FIX = "Set HOME, or give the path in full."


def expanded(path: str | os.PathLike[str]) -> Path:
    """Write out whose home a ~ at the beginning means; not everybody has one, in a container for example."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise BadLocation(f"{os.fspath(path)} is in a home that is not known.", fix=_FIX) from error


def beside(target: Path) -> Path:
    """Name a file to be written in full before it takes the name of the target: one that nobody else writes to."""
    return target.with_name(f"{target.name[:_KEPT_CHARS]}.{os.urandom(4).hex()}.partial")


def user_folder(kind: Literal["data", "state"]) -> Path:
    """Tell where this user's programs keep what is theirs, in a folder of ours."""
    # Imported here: a process that is told where things are should not pay for it.
    from platformdirs import user_data_path, user_state_path

    try:
        return expanded((user_data_path if kind == "data" else user_state_path)("everyword", appauthor=False))
    except RuntimeError as error:
        raise BadLocation("This user's home is not known.", fix=_FIX) from error


AUTO = "auto"
