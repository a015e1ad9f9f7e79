"""Redact secrets in new events: replace each by a mark that names its kind, and report it.

`rules.py` defines the kinds of secrets. A memory has a level: "credentials" redacts passwords, keys and codes,
"personal" also personal numbers, "none" nothing. A user's JSON file adds rules and switches rules off:

    {"employee number": "EMP-[0-9]{6}", "vault token": "vt:(?P<secret>\\\\w{20})", "card number": false}

The expressions of that file run on every new text; nothing limits their cost.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from everyword.errors import InvalidSetting
from everyword.ingest.redaction.rules import LONG_WORD, RULES, Rule
from everyword.settings import Settings, checked_redaction
from everyword.types.events import Json, Span

LEVEL_VARIABLE = "EVERYWORD_REDACT"
PATTERNS_VARIABLE = "EVERYWORD_SECRET_PATTERNS"
_RULES_VERSION = 2  # increase it when a check changes: imported files are then read again
_NAMES = ("session", "speaker", "wing", "role")  # not the key: two redacted keys could be equal and conflict
_LOWERED = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_LABEL_CHARS = 64  # a string up to this length is probably a label that recurs
_REVEALING = (  # names of JSON members whose values are secrets
    r"pass|pwd?|secret|token|key|credential|authorization|cookie|pin|cv[cv]|code|otp|ssn|tax|steuer|phrase|seed"
)
_MAX_DEPTH = 64  # levels of meta; validation.py refuses deeper ones
_MAX_PATTERN_CHARS = 2000  # characters; a longer expression is a mistake


class Found(Struct, frozen=True, kw_only=True):
    """The kind of a secret and its span in the original text."""

    kind: str
    span: Span


class Redacted(Struct, frozen=True, kw_only=True):
    """A redacted text and the kinds of its secrets, never the secrets themselves."""

    text: str
    found: tuple[Found, ...] = ()


class Rules:
    """A set of rules in order of rank, indexed by keyword."""

    def __init__(self, every: Iterable[Rule]) -> None:
        self.every = tuple(every)
        self._by_keyword: dict[str, dict[str, list[tuple[int, Rule]]]] = {"text": {}, "lowered": {}, "long words": {}}
        for rank, rule in enumerate(self.every):
            where = "long words" if rule.in_long_word else "lowered" if rule.ignore_case or rule.find else "text"
            for keyword in rule.keywords or ("",):
                self._by_keyword[where].setdefault(keyword, []).append((rank, rule))

    def matches(self, text: str) -> list[tuple[Span, int, str]]:
        """List all matches, each with the rank and name of its rule."""
        lowered = text.lower() if text.isascii() else text.translate(_LOWERED)  # of the same length
        words = lowered.replace(",", " ").split()
        matches: list[tuple[Span, int, str]] = []
        done: set[int] = set()  # ranks of rules that already searched the whole text
        for where, searched in (("lowered", lowered), ("text", text), ("long words", "")):
            keyword_text = searched
            if where == "long words":
                if max(map(len, words), default=0) < LONG_WORD:
                    continue
                searched, keyword_text = text, "\n".join([word for word in text.split() if len(word) >= LONG_WORD])
            for keyword in [keyword for keyword in self._by_keyword[where] if keyword in keyword_text]:
                for rank, rule in self._by_keyword[where][keyword]:
                    if rule.find is not None:
                        spans = rule.find(lowered, words)
                    elif rule.anchored:
                        spans = _at_keyword(rule, text, searched, keyword)
                    elif rank in done:
                        continue
                    else:
                        done.add(rank)
                        spans = chain.from_iterable(map(rule.spans, rule.regex.finditer(text)))
                    matches += ((span, rank, rule.name) for span in spans)
        return matches

    @property
    def fingerprint(self) -> str:
        """Identify this set of rules: a file imported with another set may hold secrets that this one redacts."""
        lines = [str(_RULES_VERSION), *(f"{one.name}\t{one.pattern}" for one in self.every)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


CREDENTIALS = Rules(rule for rule in RULES if not rule.personal)
PERSONAL = Rules(RULES)
NONE = Rules(())
_BY_LEVEL = {"credentials": CREDENTIALS, "personal": PERSONAL, "none": NONE}


def rules_of(settings: Settings, redact: str | None = None) -> Rules:
    """Return the rules of a call, by default those of the settings or the environment."""
    level = settings.redact if redact is None else redact
    if level is None:
        level = os.environ.get(LEVEL_VARIABLE) or "credentials"
    return rules_for(level, settings.secret_patterns)


def rules_for(level: str, patterns: str | None = None) -> Rules:
    """Return the rules of a level with those of the user's file (`secret_patterns`, or from the environment)."""
    if level not in _BY_LEVEL:
        checked_redaction(level)  # says which there are
    chosen = patterns or os.environ.get(PATTERNS_VARIABLE)
    if not chosen or level == "none":
        return _BY_LEVEL[level]
    file = Path(chosen).expanduser()
    try:
        changed = file.stat().st_mtime_ns
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"The patterns of secrets in {file} can't be read ({error}).") from error
    return _with_file(level, str(file), changed)


def redact(text: str, rules: Rules = CREDENTIALS) -> Redacted:
    """Replace each secret by a mark such as `[redacted: github token]`."""
    found = _merged(rules.matches(text))
    if not found:
        return Redacted(text=text)
    pieces: list[str] = []
    upto = 0
    for one in found:
        pieces += (text[upto : one.span.start], f"[redacted: {one.kind}]")
        upto = one.span.end
    return Redacted(text="".join([*pieces, text[upto:]]), found=tuple(found))


def redact_event(event: Mapping[str, Json], rules: Rules = CREDENTIALS) -> tuple[dict[str, Json], tuple[Found, ...]]:
    """Redact an event's text, names and the values of its meta; a span refers to its own string."""
    clean = dict(event)
    if not rules.every:
        return clean, ()
    found: list[Found] = []
    for name in ("text", "meta", *_NAMES):
        if clean.get(name) is not None:
            clean[name] = _redacted_value(clean[name], rules, found, _MAX_DEPTH)
    if "text_bytes" in clean and found:
        del clean["text_bytes"]  # the original bytes still hold the secret
    return clean, tuple(found)


def make_rule(name: str, regex: str) -> Rule:
    """Make a rule from a setting; if it has a group named `secret`, only that group is redacted."""
    if not name or name.isspace() or len(regex) > _MAX_PATTERN_CHARS:
        raise InvalidSetting(f"A pattern needs a name and an expression of at most {_MAX_PATTERN_CHARS} characters.")
    try:
        compiled = re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidSetting(f"The pattern {name!r} is not a regular expression ({error}).") from error
    if compiled.match("") is not None:
        raise InvalidSetting(f"The pattern {name!r} matches the empty text, so it would match everywhere.")
    return Rule(name, pattern=regex, anchored=False)


def _at_keyword(rule: Rule, text: str, searched: str, keyword: str) -> Iterator[Span]:
    regex = rule.regex
    at = searched.find(keyword)
    while at >= 0:
        match = regex.match(text, at)
        if match is not None:
            yield from rule.spans(match)
        at = searched.find(keyword, at + 1)


def _merged(matches: list[tuple[Span, int, str]]) -> list[Found]:
    """Join overlapping matches, so that no part of a secret is left; the rule of the higher rank names it."""
    merged: list[tuple[Span, int, str]] = []
    for span, rank, name in sorted(matches):
        if merged and span.start < merged[-1][0].end:
            before = merged[-1]
            named = before[1:] if before[1] <= rank else (rank, name)
            merged[-1] = (Span(before[0].start, max(before[0].end, span.end)), *named)
        else:
            merged.append((span, rank, name))
    return [Found(kind=name, span=span) for span, _, name in merged]


@lru_cache(maxsize=4096)
def _label(text: str, rules: Rules) -> Redacted:
    """Redact a short string, cached: names of branches, models and sessions recur with every event."""
    return redact(text, rules)


def _redacted_value(value: Json, rules: Rules, found: list[Found], levels: int) -> Json:
    if isinstance(value, str):
        redacted = _label(value, rules) if len(value) <= _LABEL_CHARS else redact(value, rules)
        found += redacted.found
        return redacted.text
    if levels == 0:
        return value
    if isinstance(value, Mapping):
        members = cast("Mapping[Json, Json]", value)
        return {name: _redacted_member(name, inner, rules, found, levels - 1) for name, inner in members.items()}
    if isinstance(value, list | tuple):
        return [_redacted_value(inner, rules, found, levels - 1) for inner in cast("Sequence[Json]", value)]
    return value


def _redacted_member(name: Json, value: Json, rules: Rules, found: list[Found], levels: int) -> Json:
    """Redact a value of JSON; a name such as `password` makes a value secret that would not look like one by itself."""
    written = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(name, str) or not isinstance(written, str) or not _names_secret(name):
        return _redacted_value(value, rules, found, levels)
    lead = f'{name}: "'
    whole = redact(f'{lead}{written}"', rules)
    ends = len(lead) + len(written)
    if not whole.found or whole.found[0].span.start < len(lead) or whole.found[-1].span.end > ends:
        return _redacted_value(value, rules, found, levels)
    found += (replace(one, span=Span(one.span.start - len(lead), one.span.end - len(lead))) for one in whole.found)
    return whole.text[len(lead) : -1]


@lru_cache(maxsize=1024)
def _names_secret(name: str) -> bool:
    return len(name) <= _LABEL_CHARS and re.search(_REVEALING, name, re.IGNORECASE) is not None


@lru_cache(maxsize=8)
def _with_file(level: str, path: str, _changed: int) -> Rules:
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSetting(f"The patterns of secrets in {path} can't be read ({error}).") from error
    if not isinstance(content, dict):
        raise InvalidSetting(f"{path} must hold a JSON object of names and expressions.")
    named = cast("dict[str, Any]", content)
    known = {rule.name for rule in RULES}
    for name, value in named.items():
        if value is False and name not in known:
            raise InvalidSetting(f"{path}: unknown pattern {name!r}.", fix=f"Known: {', '.join(sorted(known))}.")
        if value is not False and not isinstance(value, str):
            raise InvalidSetting(f"{path}: {name!r} must be a regular expression or false.")
    kept = (rule for rule in _BY_LEVEL[level].every if named.get(rule.name) is not False)
    return Rules((*kept, *(make_rule(name, value) for name, value in named.items() if value)))
