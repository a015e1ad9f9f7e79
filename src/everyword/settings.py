"""The settings of a memory, each with the reason for its default."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

from everyword.errors import BadLocation, InvalidSetting

DEFAULT_PROFILE = "general"
REDACTION_LEVELS = ("credentials", "personal", "none")
LONGEST_WAIT_S = 2_000_000  # three weeks: databases count milliseconds in 31 bits

_MINIMUMS = {
    "max_text_bytes": 1,
    "max_meta_bytes": 0,
    "max_name_chars": 1,
    "llm_read_past": 0,
    "llm_tokens_per_day": 0,
    "pool_size": 1,
}
_SWITCHES = ("background", "embed_on_write", "extract", "fold", "llm_extract", "llm_fold", "read_only")
_STRINGS: dict[str, tuple[type, ...]] = {
    "profile": (str, type(None)),
    "reader": (str, os.PathLike, type(None)),
    "secret_patterns": (str, os.PathLike, type(None)),
    "fence_key": (str, type(None)),
}


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of an open memory."""

    # "full" waits for the disk on each commit (survives a power cut); "normal" survives the death of the process.
    durability: Literal["full", "normal"] = "full"
    # How long a writer waits for the lock before StoreBusy. A write takes milliseconds: after that, a process hangs.
    busy_timeout_s: float = 30.0
    # A larger text is a file, not a message; it is refused, because indexing it would take minutes.
    max_text_bytes: int = 16 * 1024 * 1024
    # Meta is for ids and labels.
    max_meta_bytes: int = 256 * 1024
    # Names of sessions, speakers, wings, spaces, keys, roles.
    max_name_chars: int = 1024
    # False: settle() computes the vectors, in any process. Words are searchable at once either way.
    embed_on_write: bool = True
    # Whether a thread encodes and derives after writes. False: what is derived is brought up to date when it is read. A
    # database server has workers for this: everyword worker.
    background: bool = True
    # False: only settle() derives statements, facts and what rests on them.
    extract: bool = True
    # The model that reads events into statements and names: "none", or a folder with reader.onnx and reader.json. None:
    # EVERYWORD_READER, or the installed one.
    reader: str | None = None
    # False: only settle() derives concepts.
    fold: bool = True
    # What an LLM that names concepts is told about the domain: "general", "personal", "software" ..., or a TOML file,
    # which may also set how readily concepts are found. A graph keeps its profile until rebuild(). None:
    # EVERYWORD_PROFILE, or "general".
    profile: str | None = None
    # Whether settle() lets an LLM, if there is one, read events for what the reader misses. False queues no jobs.
    llm_extract: bool = True
    # Whether settle() lets an LLM, if there is one, summarise sessions and word and link concepts. False queues no jobs
    # for it.
    llm_fold: bool = True
    # How many events from before the LLM was set one settle() queues for it, the newest first. 0: only new events,
    # because a long history may cost more than intended.
    llm_read_past: int = 0
    # Tokens, input and output together, that all processes of this memory may spend on the LLM per day (UTC). None: no
    # limit.
    llm_tokens_per_day: int | None = None
    # What is redacted in new events: "credentials" (passwords, keys, tokens, codes, card numbers), "personal" (also
    # account, tax, passport and social security numbers), or "none". Each write may override it. None:
    # EVERYWORD_REDACT, or "credentials".
    redact: str | None = None
    # A JSON file of patterns of secrets: {"name": "regular expression"} adds one, {"name": false} switches off a
    # built-in one. None: EVERYWORD_SECRET_PATTERNS, or only the built-in patterns.
    secret_patterns: str | None = None
    # The secret from which the fence around recorded text is derived. None: a random one, kept in the store. Set it if
    # several stores must render the same text identically.
    fence_key: str | None = None
    # Connections of this process to a database server, and so its number of concurrent questions and writes.
    pool_size: int = 16
    read_only: bool = False

    @property
    def chosen_profile(self) -> str:
        """Give the profile that is set here or in the environment."""
        return self.profile or os.environ.get("EVERYWORD_PROFILE") or DEFAULT_PROFILE

    def __post_init__(self) -> None:
        if self.durability not in ("full", "normal"):
            raise InvalidSetting(f"durability must be 'full' or 'normal', not {self.durability!r}.")
        if self.redact is not None:
            checked_redaction(self.redact)
        wait: object = self.busy_timeout_s
        if not isinstance(wait, int | float) or isinstance(wait, bool) or not 0 < wait <= LONGEST_WAIT_S:
            raise InvalidSetting(
                f"busy_timeout_s must be more than 0 and at most {LONGEST_WAIT_S:,} seconds, not {wait!r}."
            )
        for name, least in _MINIMUMS.items():
            number: object = getattr(self, name)
            if number is None and name == "llm_tokens_per_day":
                continue  # no limit
            if not isinstance(number, int) or isinstance(number, bool) or number < least:
                raise InvalidSetting(f"{name} must be a whole number of at least {least}, not {number!r}.")
        for name in _SWITCHES:
            if getattr(self, name) not in (True, False):
                raise InvalidSetting(f"{name} must be True or False, not {getattr(self, name)!r}.")
        for name, kinds in _STRINGS.items():
            if not isinstance(getattr(self, name), kinds):
                raise InvalidSetting(f"{name} must be a string, not {getattr(self, name)!r}.")


def checked_redaction(level: object) -> str:
    """Check the level of redaction."""
    if level not in REDACTION_LEVELS:
        raise InvalidSetting(f"redact must be one of {', '.join(map(repr, REDACTION_LEVELS))}, not {level!r}.")
    return str(level)


_KEPT_CHARS = 50  # of a file name, so that with a suffix it is valid on every system
_FIX = "Set HOME, or give the path in full."


def expanded(path: str | os.PathLike[str]) -> Path:
    """Expand a ~ at the start of a path; a user without a home, as in a container, gets an error."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise BadLocation(f"{os.fspath(path)} is in an unknown home folder.", fix=_FIX) from error


def beside(target: Path) -> Path:
    """Return a unique path beside a target, for a file that is written completely and then renamed."""
    return target.with_name(f"{target.name[:_KEPT_CHARS]}.{os.urandom(4).hex()}.partial")


def user_folder(kind: Literal["data", "state"]) -> Path:
    """Return our folder for this user's data or state."""
    # Imported here: a process that gets its paths from the user does not need it.
    from platformdirs import user_data_path, user_state_path

    try:
        return expanded((user_data_path if kind == "data" else user_state_path)("everyword", appauthor=False))
    except RuntimeError as error:
        raise BadLocation("The home folder of this user is unknown.", fix=_FIX) from error


def default_path() -> str:
    """Return where the memory is if nothing names one: EVERYWORD_MEMORY, or memory.db in the user's data folder."""
    named = os.environ.get("EVERYWORD_MEMORY")
    if named is None:
        return str(user_folder("data") / "memory.db")
    if not named.strip():
        raise BadLocation("EVERYWORD_MEMORY is set, but empty.", fix="Name a memory in it, or unset it.")
    return named if "://" in named else str(expanded(named))


AUTO = "auto"
