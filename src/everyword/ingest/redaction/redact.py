"""Take secrets out of what comes in: each is replaced by a mark that names it, and reported.

What secrets look like is in `redaction_rules.py`. A memory has a level: "credentials" takes out what opens something,
"personal" also numbers of persons, "none" nothing. A user's JSON file adds to the rules and leaves some out:

    {"employee number": "EMP-[0-9]{6}", "vault token": "vt:(?P<secret>\\\\w{20})", "card number": false}

The expressions of that file run on every text that comes in, so that their cost is the user's own.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, cast

from everyword.errors import InvalidSetting
from everyword.ingest.redaction.rules import LONG_WORD, RULES, Rule
from everyword.settings import Settings, checked_redaction
from everyword.types.events import Json, Span

LEVEL_VARIABLE = "EVERYWORD_REDACT"
PATTERNS_VARIABLE = "EVERYWORD_SECRET_PATTERNS"
_RULES_VERSION = 2  # of the checks behind the expressions: a file that was imported with others is read again
_NAMES = ("session", "speaker", "wing", "role")  # not the key: two events whose keys became one would conflict
_LOWERED = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_LABEL_CHARS = 64  # a name, or a string of meta, that is likely to come again
_TELLING = r"pass|pwd?|secret|token|key|credential|authorization|cookie|pin|cv[cv]|code|otp|ssn|tax|steuer|phrase|seed"
_MOST_NESTED = 64  # levels of meta that are looked into; drafts.py refuses what is deeper
_MOST_PATTERN_CHARS = 2000  # characters of an expression; more is a mistake in the settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One secret: what it is, and where it stood in the text that was given."""

    kind: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A text without its secrets, and what they were; never the secrets themselves."""

    text: str
    found: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The rules that are applied, in the order of rank, and by which keyword each is tried."""

    every: tuple[Rule, ...]
    _by_keyword: dict[str, dict[str, list[tuple[int, Rule]]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_keyword: dict[str, dict[str, list[tuple[int, Rule]]]] = {"text": {}, "lowered": {}, "long words": {}}
        for rank, rule in enumerate(self.every):
            where = "long words" if rule.in_long_word else "lowered" if rule.ignore_case or rule.find else "text"
            for keyword in rule.keywords or ("",):
                by_keyword[where].setdefault(keyword, []).append((rank, rule))
        object.__setattr__(self, "_by_keyword", by_keyword)

    def matches(self, text: str) -> list[tuple[Span, int, str]]:
        """List what the rules find: where, with which rank, and what it is."""
        lowered = text.lower() if text.isascii() else text.translate(_LOWERED)  # character for character: places stay
        words = lowered.replace(",", " ").split()
        matches: list[tuple[Span, int, str]] = []
        done: set[int] = set()  # ranks of rules that search all of a text, which is enough once
        for where, searched in (("lowered", lowered), ("text", text), ("long words", "")):
            looked_in = searched
            if where == "long words":
                if max(map(len, words), default=0) < LONG_WORD:
                    continue
                searched, looked_in = text, "\n".join([word for word in text.split() if len(word) >= LONG_WORD])
            for keyword in [keyword for keyword in self._by_keyword[where] if keyword in looked_in]:
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
        """Name this set: what was read with another one may hold what this one would take out."""
        said = "\n".join([str(_RULES_VERSION), *(f"{one.name}\t{one.pattern}" for one in self.every)])
        return hashlib.sha256(said.encode()).hexdigest()[:16]


CREDENTIALS = Rules(tuple(rule for rule in RULES if not rule.personal))
PERSONAL = Rules(RULES)
NONE = Rules(())
_BY_LEVEL = {"credentials": CREDENTIALS, "personal": PERSONAL, "none": NONE}


def rules_of(settings: Settings, redact: str | None = None) -> Rules:
    """Give the rules that a call asks for, else those that the memory or the environment is set to."""
    level = settings.redact if redact is None else redact
    if level is None:
        level = os.environ.get(LEVEL_VARIABLE) or "credentials"
    return rules_for(level, settings.secret_patterns)


def rules_for(level: str, patterns: str | None = None) -> Rules:
    """Give the rules of a level, with those of a user's file (`secret_patterns`, or the environment's)."""
    checked_redaction(level)
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
    """Redact an event's text, names and the values of its meta; each span counts within its own string."""
    clean = dict(event)
    if not rules.every:
        return clean, ()
    found: list[Found] = []
    for name in ("text", "meta", *_NAMES):
        if clean.get(name) is not None:
            clean[name] = _redacted_value(clean[name], rules, found, _MOST_NESTED)
    if "text_bytes" in clean and found:
        del clean["text_bytes"]  # the exact bytes of the text would bring back what was just taken out
    return clean, tuple(found)


def make_rule(name: str, regex: str) -> Rule:
    """Make a rule of a setting; a group named `secret` limits what is taken out."""
    if not name or name.isspace() or len(regex) > _MOST_PATTERN_CHARS:
        raise InvalidSetting(f"A pattern needs a name and an expression of at most {_MOST_PATTERN_CHARS} characters.")
    try:
        compiled = re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidSetting(f"The pattern {name!r} is not a regular expression ({error}).") from error
    if compiled.match("") is not None:
        raise InvalidSetting(f"The pattern {name!r} matches the empty text, and so would everything.")
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
    """Join what overlaps, so that nothing of a secret is left; the rule that stands first names it."""
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
    """Redact a short string: names of branches, models and sessions come again with every event."""
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
    """Redact a value of JSON; where its name tells what it is, as `password` does, also what tells nothing alone."""
    said = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(name, str) or not isinstance(said, str) or not _tells(name):
        return _redacted_value(value, rules, found, levels)
    lead = f'{name}: "'
    whole = redact(f'{lead}{said}"', rules)
    ends = len(lead) + len(said)
    if not whole.found or whole.found[0].span.start < len(lead) or whole.found[-1].span.end > ends:
        return _redacted_value(value, rules, found, levels)
    found += (replace(one, span=Span(one.span.start - len(lead), one.span.end - len(lead))) for one in whole.found)
    return whole.text[len(lead) : -1]


@lru_cache(maxsize=1024)
def _tells(name: str) -> bool:
    return len(name) <= _LABEL_CHARS and re.search(_TELLING, name, re.IGNORECASE) is not None


@lru_cache(maxsize=8)
def _with_file(level: str, path: str, _changed: int) -> Rules:
    try:
        given: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSetting(f"The patterns of secrets in {path} can't be read ({error}).") from error
    if not isinstance(given, dict):
        raise InvalidSetting(f"{path} must hold a JSON object of names and expressions.")
    named = cast("dict[str, Any]", given)
    known = {rule.name for rule in RULES}
    for name, value in named.items():
        if value is False and name not in known:
            raise InvalidSetting(f"{path}: there is no pattern {name!r}.", fix=f"Known: {', '.join(sorted(known))}.")
        if value is not False and not isinstance(value, str):
            raise InvalidSetting(f"{path}: {name!r} must be a regular expression or false.")
    kept = (rule for rule in _BY_LEVEL[level].every if named.get(rule.name) is not False)
    return Rules((*kept, *(make_rule(name, value) for name, value in named.items() if value)))
