"""Sentences -> words and runs of words in capitals, without code, addresses and file names."""

from __future__ import annotations

import re
from typing import NamedTuple

from everyword.knowledge.legacy.extract.entities.gazetteer import NAME_WORDS, PRODUCTS
from everyword.knowledge.legacy.extract.entities.lexicon import (
    CAPITAL_WORDS,
    COMMON_WORDS,
    OF_HEADS,
    PARTICLES,
    TITLE_WORDS,
)
from everyword.types.events import Span
from everyword.types.graph import folded

MOST_WORDS_OF_A_NAME = 6  # a longer run of capitals is a heading
LONGEST_WORD = 40  # characters; no name is longer
SHOUTED_SHARE = 0.7  # of a sentence's words in capital letters only: it is shouted
HEADED_SHARE = 0.7  # of a line's longer words with a capital: it is a heading
FEWEST_JUDGED = 3  # words; fewer tell nothing about how a sentence is written

_WORD = re.compile(r"[^\W\d_][\w&]*+(?:[’'&-][^\W_]\w*+)*+")
# Left out: code in backticks, addresses, paths, identifiers, handles. A sign without which a form can't be there saves
# the search for it.
_ENDING = (
    r"\.(?:py|js|ts|md|txt|json|csv|pdf|html|yml|yaml|toml|sql|sh|go|rs|java|rb|png|jpg|docx?|xlsx?|zip|com|org|net|io"
    r"|dev)\b"
)
_OPAQUE = tuple(
    (re.compile(sign), re.compile(form))
    for sign, form in (
        (r"`", r"`[^`\n]{1,200}`"),
        (r"://", r"\b(?:https?|ftp|file)://\S{1,500}"),
        (r"www\.", r"\bwww\.\S{1,300}"),
        (r"@", r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{2,32}|(?<!\w)@\w{1,40}"),
        (r"(?<![\w/])~?/\w", r"(?<![\w/])~?/[\w.-]{1,60}(?:/[\w.-]{1,60}){0,12}"),
        (_ENDING, r"\b\w{1,60}" + _ENDING),
        (r"\w_\w", r"\b\w{1,60}_\w{1,200}"),
        (r"\w\(", r"\b\w{1,60}(?:\.\w{1,60}){0,6}\(\)?"),
        (r"[a-z]{2}[A-Z]", r"\b[a-z]{2,20}[A-Z]\w{0,40}\b"),
        (r"::", r"\b\w{1,40}::\w{1,40}"),
        (r"<\w", r"<[^<>\n]{1,80}>"),
        (r"\$[A-Za-z]", r"\$\w{1,40}"),
    )
)
_INNER_CAPITAL = re.compile(r"[^\W\d_a-zI]|I(?=\w)")
_BOLD = re.compile(r"\*\*([^*\n]{1,120})\*\*")
_OPENING = frozenset('.!?:…"“”«»‘([{—–-•*>|/\n\r\t#')
_ABBREVIATED = re.compile(r"(?:^|[\s(,])(?:Mr|Mrs|Ms|Dr|Prof|St|Rev|Mx|Capt|Sgt|(?-i:[A-Z]))\.$", re.IGNORECASE)
_INITIAL = re.compile(r"\.\s?$")


class Word(NamedTuple):
    """A word where it stands."""

    start: int
    end: int  # without a possessive
    text: str
    key: str  # folded
    capital: bool
    initial: bool  # a capital here says nothing: it begins a sentence, a quotation, an item
    possessive: bool


class Run(NamedTuple):
    """Words in capitals that stand together: maybe a name."""

    first: int  # index of its first word in the sentence
    last: int  # index of its last word


def opaque_spans(text: str, limit: int) -> list[Span]:
    """List the parts that hold no prose."""
    spans: list[Span] = []
    for sign, form in _OPAQUE:
        if sign.search(text, 0, limit):
            spans += [Span(*match.span()) for match in form.finditer(text, 0, limit)]
    return spans


def may_name(text: str, sentence: Span) -> bool:
    """Tell at little cost whether a sentence can hold a name: a capital that its first word does not explain."""
    if _INNER_CAPITAL.search(text, sentence.start + 1, sentence.end):
        return True
    first = _WORD.match(text, sentence.start, sentence.end)
    return first is None or (word := first[0].lower()) in NAME_WORDS or word not in COMMON_WORDS


def bold_headings(text: str, limit: int) -> list[Span]:
    """List what is set in bold and written as a heading: "**Watch Engraving Services:**"."""
    if "**" not in text:
        return []
    return [Span(*match.span(1)) for match in _BOLD.finditer(text, 0, limit) if _is_title(match[1])]


def whole_sentences(text: str, spans: list[Span]) -> list[Span]:
    """Join what was cut behind a title or an initial: "Dr. | Alvarez called"."""
    whole: list[Span] = []
    for span in spans:
        if whole and _ABBREVIATED.search(text, max(whole[-1].start, whole[-1].end - 12), whole[-1].end):
            gap = text[whole[-1].end : span.start]
            if gap == " ":
                whole[-1] = Span(whole[-1].start, span.end)
                continue
        whole.append(span)
    return whole


def words_of(text: str, sentence: Span, opaque: list[Span]) -> list[Word]:
    """Read the words of a sentence."""
    words: list[Word] = []
    hidden = [span for span in opaque if span.start < sentence.end and span.end > sentence.start]
    for match in _WORD.finditer(text, sentence.start, sentence.end):
        start, end = match.span()
        if end - start > LONGEST_WORD or (hidden and any(span.start < end and start < span.end for span in hidden)):
            continue
        word = match[0]
        if word.isascii() and word.islower():
            words.append(Word(start, end, word, word, False, False, False))
            continue
        possessive = word[-2:] in ("'s", "’s", "'S", "’S") and len(word) > 3
        if possessive:
            word, end = word[:-2], end - 2
        key = word.lower() if word.isascii() else folded(word.replace("’", "'"))
        capital = word[0].isupper() or word[0].istitle() or (word[1:2].isupper() and key in PRODUCTS)
        words.append(Word(start, end, word, key, capital, capital and _opens(text, start, sentence), possessive))
    return words


def runs_of(text: str, words: list[Word]) -> list[Run]:
    """Join words in capitals that make one name."""
    runs: list[Run] = []
    index = 0
    while index < len(words):
        if not words[index].capital or words[index].key in CAPITAL_WORDS:
            index += 1
            continue
        last = _run_end(text, words, index)
        if last - index < MOST_WORDS_OF_A_NAME:
            runs.append(Run(index, last))
        index = last + 1
    return runs


def is_shouted(words: list[Word]) -> bool:
    """Tell whether a sentence is written in capital letters."""
    long = [word for word in words if len(word.text) > 1]
    return len(long) >= FEWEST_JUDGED and sum(word.text.isupper() for word in long) >= SHOUTED_SHARE * len(long)


def is_heading(text: str, sentence: Span, words: list[Word]) -> bool:
    """Tell whether a sentence is a heading: no full stop, and most words with a capital."""
    ending = text[sentence.end - 1]
    if ending in ".!?…" or len(words) < 2:
        return text[sentence.start] == "#" and text[sentence.start : sentence.start + 7].lstrip("#")[:1] == " "
    if text[sentence.start] == "#" and text[sentence.start : sentence.start + 7].lstrip("#")[:1] in (" ", ""):
        return True
    long = [word for word in words if len(word.text) > 3]
    alone = sentence.start == 0 or text[sentence.start - 1] == "\n"
    return (
        alone
        and len(long) >= 2
        and sum(word.capital for word in long) >= HEADED_SHARE * len(long)
        and all(word.capital or len(word.text) <= 3 for word in words)
    )


def _is_title(words: str) -> bool:
    long = [word for word in words.split() if len(word) > 3 and word[0].isalpha()]
    return len(long) > 1 and all(word[0].isupper() for word in long)


def _opens(text: str, start: int, sentence: Span) -> bool:
    place = start - 1
    while place >= sentence.start and text[place] == " ":
        place -= 1
    if place < sentence.start:
        return True
    before = text[place]
    if before == "." and _INITIAL.match(text, place) and place and text[place - 1].isalpha():
        return False  # the dot of a title or an initial: a full stop would have ended the sentence
    return before in _OPENING or not (before.isalnum() or before in ",;'’&)%+_" or before == "-")


def _run_end(text: str, words: list[Word], first: int) -> int:
    last = first
    while last + 1 < len(words) and not words[last].possessive:
        here, after = words[last], words[last + 1]
        between = text[here.end : after.start]
        if after.capital and after.key not in CAPITAL_WORDS and _joins(here, after, between):
            last += 1
            continue
        beyond = words[last + 2] if last + 2 < len(words) else None
        if (
            beyond is not None
            and beyond.capital
            and beyond.key not in CAPITAL_WORDS
            and between == " "
            and text[after.end : beyond.start] == " "
            and (after.key in PARTICLES or (after.key == "of" and here.key in OF_HEADS))
            and not after.capital
        ):
            last += 2
            continue
        break
    return last


def _joins(here: Word, after: Word, between: str) -> bool:
    if between in (" ", " & "):
        return True
    return between in (". ", ".") and (len(here.text) == 1 or here.key in TITLE_WORDS or here.key == "st")
