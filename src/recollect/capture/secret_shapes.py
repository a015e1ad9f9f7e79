"""What a pattern of a secret is, and how several are put together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from recollect.core.errors import InvalidSetting
from recollect.core.values import Span

Check = Callable[[re.Match[str]], Span | None]
_IGNORES_CASE = int(re.IGNORECASE)  # a plain number: asking an enum would cost more than the search
LONG_WORD = 20  # characters without a space: the shortest keys that services hand out have as many
_MOST_PATTERN_CHARS = 2000  # characters of an expression; more is a mistake in the settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """The shape of one kind of secret."""

    name: str  # as the mark says it: "github token"
    regex: re.Pattern[str]
    hints: tuple[str, ...] = ()  # a text without any of these is not searched; lower case where the regex ignores case
    anchored: bool = False  # each match starts with a hint, so that it is tried there alone
    unbroken: int = 0  # characters without a space that each match has at least
    check: Check | None = None  # gives the characters to take out, or None: not a secret after all
    each: Callable[[re.Match[str]], Iterable[Span]] | None = None  # instead, where a match may hold several secrets

    @property
    def ignores_case(self) -> bool:
        """Tell whether hints are looked for in the lowered text."""
        return bool(self.regex.flags & _IGNORES_CASE)

    @property
    def group(self) -> int | str:
        """Name the group that is taken out: `secret` where there is one, else the whole match."""
        return "secret" if "secret" in self.regex.groupindex else 0

    def spans(self, match: re.Match[str]) -> Iterable[Span]:
        """Tell what of a match is to be taken out."""
        if self.each is not None:
            return self.each(match)
        span = self.check(match) if self.check else Span(*match.span(self.group))
        return () if span is None else (span,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Patterns:
    """What is looked for, in the order of rank; those that need a long word apart, since few texts have one."""

    every: tuple[Pattern, ...]
    in_any_text: tuple[tuple[int, Pattern], ...] = field(init=False, repr=False, compare=False)
    in_long_words: tuple[tuple[int, Pattern], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ranked = tuple(enumerate(self.every))
        object.__setattr__(self, "in_any_text", tuple(one for one in ranked if one[1].unbroken < LONG_WORD))
        object.__setattr__(self, "in_long_words", tuple(one for one in ranked if one[1].unbroken >= LONG_WORD))

    @property
    def fingerprint(self) -> str:
        """Name this set: what was read with another one may hold what this one would take out."""
        said = "\n".join(f"{one.name}\t{one.regex.pattern}" for one in self.every)
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def without(self, *names: str) -> Patterns:
        """Leave out those of these names."""
        return Patterns(every=tuple(one for one in self.every if one.name not in names))

    def plus(self, *more: Pattern) -> Patterns:
        """Add patterns, which rank after these."""
        return Patterns(every=(*self.every, *more))


def make_pattern(name: str, regex: str, *, hints: tuple[str, ...] = ()) -> Pattern:
    """Make a pattern of a setting; a group named `secret` limits what is taken out."""
    if not name or name.isspace() or len(regex) > _MOST_PATTERN_CHARS:
        raise InvalidSetting(f"A pattern needs a name and an expression of at most {_MOST_PATTERN_CHARS} characters.")
    try:
        compiled = re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidSetting(f"The pattern {name!r} is not a regular expression ({error}).") from error
    if compiled.match("") is not None:
        raise InvalidSetting(f"The pattern {name!r} matches the empty text, and so would everything.")
    return Pattern(name=name, regex=compiled, hints=hints)
