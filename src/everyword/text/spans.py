"""Split a text into sentences and windows, as spans of characters; map spans between composed and original letters.

Code, logs, tables, quotations and encoded data are told from what people wrote. Vectors represent such a block by its
first lines; its words are still found. The reader sees nothing of it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from everyword.lazy_patterns import lazy_pattern
from everyword.types.events import Span

# A sentence ends at its punctuation (with closing quotes) before white space, at an unspaced full stop, at a line end.
# Possessive, and only from a run's first mark: else a text of a hundred thousand dots takes minutes.
_SENTENCE_END = lazy_pattern(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？｡؟۔।॥։።။។]+[」』”’）»\"]*|\n+")
_QUESTION_ENDS = ("?", "？", "؟", "՞", "፧", "⸮")
_GREEK_QUESTION_ENDS = (";", "\u037e")
_GREEK = lazy_pattern(r"[\u0370-\u03ff\u1f00-\u1fff]")
# Abbreviations that never end a sentence; in lower case, without the last full stop.
ABBREVIATIONS = frozenset(
    """dr mr mrs ms mx prof rev st mt capt sgt lt gen sen gov hon messrs mme mlle vs e.g i.e cf approx ca bzw z.b d.h
    u.a vgl""".split()
)
# Abbreviations before a number, and before a lower-case letter: "no." and "art." are also words, "etc." may end one.
_BEFORE_NUMBERS = frozenset("no nos nr fig figs p pp vol ch sec art eq tab abs pt approx".split())
_BEFORE_LOWER = frozenset("jr sr etc inc ltd co corp llc a.m p.m usw dept est resp incl max min".split())
# Words before a German ordinal: "im 3. Stock", "zum 50. Geburtstag".
_BEFORE_ORDINALS = frozenset("im der die das dem den des vom zum zur beim ab bis jeden jeder jedes".split())
_MONTH = lazy_pattern(
    r"(?:jan(?:uary?)?|feb(?:ruary?)?|march|märz|apr(?:il)?|ma[iy]|june?|juni|july?|juli|aug(?:ust)?"
    r"|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)\b",
    re.IGNORECASE,
)
# After a single letter these words start a sentence: "plan B. We left". Other capitalised words are names: "J. Ode".
_SENTENCE_START = lazy_pattern(
    r"(?:I|We|You|He|She|It|They|The|An?|This|That|These|Those|There|Here|My|Our|Your|His|Her|Their|Its|And|But|So|Or|If"
    r"|In|On|At|As|By|For|From|With|To|Then|Now|When|While|What|Who|Why|How|Where|Which|Is|Are|Was|Were|Do|Does|Did|Not"
    r"|No|Yes|Please|Let|After|Before|Because|Also|Maybe|Only|Just|Wir|Ich|Er|Sie|Es|Der|Die|Das|Und|Aber)\b"
)
_LONGEST_ABBREVIATION = 8  # characters
_WIDE = lazy_pattern(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]")

WINDOW_CHARS = 1000  # about 220 tokens of English: late interaction loses detail beyond, and the model takes 512
WIDE_WEIGHT = 4  # a Chinese character is about a token; so are four Latin letters
MAX_WINDOWS = 64  # some 10,000 words; the rest of a longer text is found by its words


class TextWindow(NamedTuple):
    """A part of a text that gets one vector: where it lies, and what of it is encoded."""

    span: Span
    text: str


def sentences(text: str, within: Span | None = None) -> list[Span]:
    """Cut a text, or a part of it, into sentences without their surrounding white space."""
    start, end = within or Span(0, len(text))
    cuts = [start]
    for match in _SENTENCE_END.finditer(text, start, end):
        if match[0] != "." or text[match.end()] == "\n" or not _ends_abbreviation(text, cuts[-1], match.start()):
            cuts.append(match.end())
    spans = (trimmed(text, *cut) for cut in pairwise([*cuts, end]))
    return [one for one in spans if one.start < one.end]


def trimmed(text: str, start: int, end: int) -> Span:
    """Leave out the white space at both ends of a part of a text."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))


def whole_sentences(text: str, place: Span) -> Span:
    """Widen a place to the sentences that it is in."""
    touched = [one for one in sentences(text) if one.start < place.end and place.start < one.end] or [place]
    return Span(touched[0].start, touched[-1].end)


def asks(text: str) -> bool:
    """Return whether a text ends as a question, in any script."""
    ending = text.rstrip().rstrip("\"'”’»)]」』）").rstrip()
    if ending.endswith(_QUESTION_ENDS):
        return True
    return ending.endswith(_GREEK_QUESTION_ENDS) and _GREEK.search(ending, max(0, len(ending) - 100)) is not None


_ANSWER = lazy_pattern(
    r"\W*(?:yes|yeah|yep|yup|no|nope|nah|sure|exactly|absolutely|definitely|true|same|both|neither|maybe|probably|"
    r"of course|me too|then|so|because)\b",
    re.IGNORECASE,
)
_POINTER = lazy_pattern(r"\W*(?:(?-i:[Ii]t)|that|this|these|those|they|he|his|she|her|their|there)\b", re.IGNORECASE)
_POINTER_WITHIN = lazy_pattern(r"\b(?:(?-i:[Ii]t)|they|them|he|him|she|there|the same)\b", re.IGNORECASE)


def begins_with_pronoun(text: str) -> bool:
    """Tell whether a text begins with a word for somebody or something that was named before."""
    return _POINTER.match(text) is not None


def points_back(text: str) -> bool:
    """Tell whether a text has a word for somebody or something that was named before."""
    return _POINTER.match(text) is not None or _POINTER_WITHIN.search(text) is not None


def refers_back(text: str) -> bool:
    """Tell whether a text begins with an answer or points back, so that it means little without what came before."""
    return _POINTER.match(text) is not None or _ANSWER.match(text) is not None


def windows(text: str) -> list[TextWindow]:
    """Divide what is searchable of a text into windows of about the same size, which end where a sentence ends."""
    most = _window_chars(text)
    parts = searchable_spans(text)
    total = sum(end - start for start, end in parts)
    if total <= most:
        return [_window(text, parts)]
    each = total / math.ceil(total / most)
    found: list[TextWindow] = []
    pieces: list[Span] = []
    size = 0
    for piece in _pieces(text, parts, most):
        length = piece.end - piece.start + 1  # and what parts it from the next
        if pieces and (size >= each or size + length > most + 1):
            found.append(_window(text, pieces))
            pieces, size = [], 0
            if len(found) == MAX_WINDOWS:
                return found
        pieces.append(piece)
        size += length
    return [*found, _window(text, pieces or [Span(0, most)])]  # without pieces it is all white space


def _window_chars(text: str) -> int:
    if len(text) * WIDE_WEIGHT <= WINDOW_CHARS or not _WIDE.search(text):
        return WINDOW_CHARS
    beginning = text[: WINDOW_CHARS * MAX_WINDOWS]
    share = len(_WIDE.findall(beginning)) / len(beginning)
    return int(WINDOW_CHARS / (1 + (WIDE_WEIGHT - 1) * share))


def _pieces(text: str, parts: list[Span], most: int) -> Iterator[Span]:
    """Give sentences, and what is longer than a window in pieces that end at a space."""
    for part in parts:
        for start, end in sentences(text, part):
            while end - start > most:
                cut = _space_before(text, start + most, most // 5)
                yield Span(start, cut)
                start = cut
            yield Span(start, end)


def _window(text: str, pieces: list[Span]) -> TextWindow:
    """Join pieces by one space or line end; what is skipped between two of them counts as a line end."""
    joined = text[pieces[0].start : pieces[0].end]
    for before, (start, end) in pairwise(pieces):
        gap = text[before.end : start]
        joined += ("" if not gap else " " if gap.isspace() and "\n" not in gap else "\n") + text[start:end]
    return TextWindow(Span(pieces[0].start, pieces[-1].end), joined)


def _ends_abbreviation(text: str, begin: int, dot: int) -> bool:
    """Return whether a full stop ends an abbreviation: "Dr. Brandt", "No. 5", "J. Ode", "z. B.", "3. Mai"."""
    gap = text.rfind(" ", max(begin, dot - _LONGEST_ABBREVIATION), dot)
    if gap < 0 and dot - begin > _LONGEST_ABBREVIATION:
        return False
    written = text[max(gap + 1, begin) : dot].strip("\t([{\"'“‘„/-")
    word = written.lower()
    following = text[dot + 2 : dot + 26].lstrip()
    if not word or not following:
        return False
    if word in ABBREVIATIONS:
        return True
    if word.isdigit():
        return len(word) < 4 and _is_ordinal(following, _word_before(text, begin, gap))
    if len(word) == 1 and word != "i" and word.isalpha():
        return _is_initial(written, following, _word_before(text, begin, gap))
    return (word in _BEFORE_NUMBERS and following[0].isdigit()) or (word in _BEFORE_LOWER and following[0].islower())


def _is_ordinal(following: str, before: str) -> bool:
    if _MONTH.match(following):
        return True
    return before in _BEFORE_ORDINALS and following[0].isupper() and _SENTENCE_START.match(following) is None


def _is_initial(letter: str, following: str, before: str) -> bool:
    if len(following) > 1 and following[1] == "." and following[0].isalpha():
        return True  # the first of several: "z. B.", "J. K. Ode"
    several = len(before) == 2 and before[1] == "."
    named = several or (letter.isupper() and following[0].isupper())
    return named and _SENTENCE_START.match(following) is None


def _word_before(text: str, begin: int, gap: int) -> str:
    if gap < 0:
        return ""
    return text[max(begin, gap - _LONGEST_ABBREVIATION) : gap].rpartition(" ")[2].lower()


def _space_before(text: str, position: int, reach: int) -> int:
    for index in range(position, max(0, position - reach), -1):
        if text[index - 1].isspace():
            return index
    return position


class Composed:
    """A text with composed letters (NFC), and the position of each in the original text."""

    def __init__(self, said: str) -> None:
        self.said = said
        pieces: list[str] = []
        self._starts: list[int] = []  # of each composed character, in the original text
        for start, end in _letters(said):
            piece = unicodedata.normalize("NFC", said[start:end])
            pieces.append(piece)
            # Letters that do not compose to one character are cited together with their marks.
            self._starts += [start, *[end] * (len(piece) - 1)]
        self.text = "".join(pieces)
        self._starts.append(len(said))

    def back(self, span: Span) -> Span:
        return Span(self._starts[span.start], self._starts[span.end])

    def quote(self, span: Span) -> str:
        start, end = self.back(span)
        return self.said[start:end]


def composed(said: str) -> Composed | None:
    """Compose the letters of a text; None if they already are."""
    return None if said.isascii() or unicodedata.is_normalized("NFC", said) else Composed(said)


def _letters(said: str) -> list[tuple[int, int]]:
    """Split a text into letters with their combining marks."""
    cuts: list[int] = []
    for place, char in enumerate(said):
        joins = cuts and (unicodedata.combining(char) or _joins(said[cuts[-1] : place], char))
        if not joins:
            cuts.append(place)
    return list(zip(cuts, [*cuts[1:], len(said)], strict=True))


def _joins(letter: str, char: str) -> bool:
    # Korean syllables, and vowels of some Indian scripts, are composed of characters that are letters themselves.
    return not char.isascii() and len(unicodedata.normalize("NFC", letter + char)) == 1


FIRST_LINES = 3  # of a block: they say what it is
LONGEST_RUN = 120  # ASCII characters without a space; longer ones are keys, base64 or minified code
_RUN = lazy_pattern(rf"[!-~]{{{LONGEST_RUN},}}")
_DIGIT_OR_SIGN = lazy_pattern(r"[!-@\[-`{-~]")
_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+\Z")
_CODE_FENCE = lazy_pattern(r"[ \t]*(`{3,}|~{3,})")
_WORD = lazy_pattern(r"[^\W\d_]+")
_VISIBLE = lazy_pattern(r"[^\n]")
_LOG = lazy_pattern(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
    r"|\[?(?:INFO|DEBUG|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL)\b[\]:\s]"
)
_CAPTION = lazy_pattern(
    r"\[(?:photo|image|picture|video|sticker|gif|file|attachment|voice|audio|redacted)\b[^\]\n]{0,1000}\]",
    re.IGNORECASE,
)
_FEWEST_LINES = FIRST_LINES + 2  # a text with fewer is prose


def searchable_spans(text: str) -> list[Span]:
    """List the parts of a text that are worth a vector, in order; never none."""
    skipped = [*_skipped_lines(text), *_skipped_runs(text)] if _may_skip(text) else []
    spans: list[Span] = []
    begin = 0
    for start, end in sorted(skipped):
        if start > begin and not text[begin:start].isspace():
            spans.append(Span(begin, start))
        begin = max(begin, end)
    if not text[begin:].isspace():
        spans.append(Span(begin, len(text)))
    return spans or [Span(0, len(text))]


def prose(text: str) -> str:
    """Blank out what is not somebody's own prose: code, logs, tables, quotations, captions, marks. Offsets stay."""
    is_short = text.count("\n") < _FEWEST_LINES
    kept = [
        match[0] if not code and _is_prose(match[0].strip(), is_short) else _blank(match[0])
        for match, code in _lines(text)
    ]
    return _CAPTION.sub(lambda found: _blank(found[0]), "".join(kept))


def _lines(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Give each line, with "fence" for one that begins or ends a block of code, and "code" for those between."""
    fence = ""
    for match in _LINE.finditer(text):
        mark = _CODE_FENCE.match(match[0])
        if mark and (not fence or (match[0].strip() == mark[1] and mark[1].startswith(fence))):
            fence = "" if fence else mark[1]
            yield match, "fence"
        else:
            yield match, "code" if fence else ""


def _is_prose(line: str, is_short: bool) -> bool:
    """Tell whether a line is prose. In a short text a line of numbers is: "09:30" answers a question."""
    if line.startswith(("|", ">")) or line.count(" | ") > 1 or _LOG.match(line) or _RUN.search(line):
        return False
    return is_short or _kind(line, set(), set()) == ""


def _blank(text: str) -> str:
    return _VISIBLE.sub(" ", text)


def _may_skip(text: str) -> bool:
    return text.count("\n") >= _FEWEST_LINES or _RUN.search(text) is not None


def _skipped_lines(text: str) -> Iterator[Span]:
    """Give the lines of each block beyond its first ones; a block is a run of lines of one kind."""
    block, lines = "", 0
    seen: set[str] = set()
    for match, code in _lines(text):
        if code == "fence":
            block, lines = "code", 0
            yield Span(*match.span())
            continue
        line = match[0].strip()
        words = {word.lower() for word in _WORD.findall(line)}
        kind = code or _kind(line, words, seen)
        seen |= words
        if not line:
            continue
        block, lines = kind, lines + 1 if kind == block else 1
        if kind and lines > FIRST_LINES:
            yield Span(*match.span())


def _kind(line: str, words: set[str], seen: set[str]) -> str:
    if line.startswith(">"):
        return "quotation"
    # Data has more digits and signs than letters. A line of a log has no word that was not in the lines before it.
    if 2 * len(_DIGIT_OR_SIGN.findall(line)) > len(line) - line.count(" "):
        return "data"
    return "repetition" if len(words) > 2 and words <= seen else ""


def _skipped_runs(text: str) -> Iterator[Span]:
    for match in _RUN.finditer(text):
        yield Span(match.start() + LONGEST_RUN // 2, match.end())
