"""Make hits of candidates: drop those that repeat a better one, choose what to quote, and explain the scores."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache

from everyword.lazy_patterns import lazy_pattern
from everyword.retrieval.candidates import STATEMENTS_ARM, TIMES_ARM, VECTORS_ARM, WORDS_ARM, Candidate
from everyword.retrieval.config import SearchConfig
from everyword.retrieval.reranking import BOOSTS, SOURCE, Matched
from everyword.text.dates import find_dates
from everyword.text.spans import WINDOW_CHARS, asks, sentences, trimmed
from everyword.text.terms import count_unspaced, finder, term_counts, whole_until
from everyword.types.events import Event, Score, Span
from everyword.types.trust import is_vouched

# Includes signs that change the meaning: C++ and C#, 40 € and 40 $, -5 and 5.
_pattern = finder(r"ALNUM(?:['’]ALNUM)?(?:\+\+|#)?|[$€£¥₹₽₺₩₪%<>=±×÷]|(?<!\S)[-−](?=[\d.,$€£¥])")
_MOST_READ = 20_000  # characters compared; texts that differ only later count as equal
_LEAST_WORDS = 4  # shorter messages, as "thanks", are said again and are no repetition
# Words that do not change what a message says.
_FILLERS = frozenset(
    """a an the well so oh hey hi hello yes yeah yep yup ok okay right sure please just really very also and but then
    actually basically anyway um uh hmm wow great thanks thank you again btw by way""".split()
)


class Dedup:
    """Takes candidates, the best first, and drops those that repeat a better one.

    A repetition has the same speaker and source and the same words except fillers. With a date in it, "I start
    tomorrow", it repeats only what was said on the same day.
    """

    def __init__(self, question: str, config: SearchConfig) -> None:
        self._config = config
        self._asked = _words(question) if config.echo and asks(question) else []
        self._days_said: dict[tuple[str | None, str, tuple[str, ...]], set[date]] = {}
        self._seen = NearDuplicates()
        self.kept: list[Candidate] = []
        self.repeats: list[Candidate] = []  # near-duplicates by one tool or page; they follow all others
        self.echoes: list[Candidate] = []  # stored questions that ask the same; they come last

    @property
    def in_order(self) -> list[Candidate]:
        """List all candidates that were not dropped, the best first."""
        return [*self.kept, *self.repeats, *self.echoes]

    def add(self, candidate: Candidate, event: Event) -> None:
        """Take the next candidate."""
        words = _words(event.text)
        if self._asked and _is_echo(event.text, words, self._asked, self._config.echo):
            self.echoes.append(candidate)
            return
        said = tuple(word for word in words if word not in _FILLERS)
        if self._config.dedup and len(said) >= _LEAST_WORDS:
            days = self._days_said.setdefault((event.speaker, event.source, said), set())
            if days and (event.at.date() in days or not find_dates(event.text, event.at)):
                return
            days.add(event.at.date())
        repeats = (
            self._config.dedup and not is_vouched(event.source) and self._seen.seen_before(event.source, event.text)
        )
        (self.repeats if repeats else self.kept).append(candidate)


def _is_echo(text: str, words: list[str], asked: list[str], least: float) -> bool:
    """Tell whether a message asks the same question: both share at least that share of all their words."""
    if words == asked:
        return True
    if not asks(text):
        return False
    both = set(asked), set(words)
    return len(both[0] & both[1]) >= least * len(both[0] | both[1])


def _words(text: str) -> list[str]:
    read = unicodedata.normalize("NFC", text[:_MOST_READ]).casefold()
    return _pattern(read).findall(read)


# Share of all words of two texts that both contain. "Ana lives in Evilville (record 17)" repeats "Ana lives in
# Evilville"; two sentences that share a subject and a verb do not.
SIMILAR = 0.6
_MOST_COMPARED = 4_000  # characters of a text
_WORD = lazy_pattern(r"[^\W_]+")


class NearDuplicates:
    """Groups texts of each source by similarity as they come; a text joins the first similar group."""

    def __init__(self) -> None:
        self._groups: dict[str, list[frozenset[str]]] = {}

    def seen_before(self, source: str, text: str) -> bool:
        """Tell whether an earlier text of the source says nearly the same; if not, remember this one."""
        words = frozenset(_WORD.findall(text[:_MOST_COMPARED].casefold()))
        groups = self._groups.setdefault(source, [])
        if any(_similar(words, group) for group in groups):
            return True
        groups.append(words)
        return False


def _similar(one: frozenset[str], other: frozenset[str]) -> bool:
    shorter, longer = sorted((len(one), len(other)))
    if shorter < SIMILAR * longer:
        return False
    both = len(one & other)
    return both >= SIMILAR * (shorter + longer - both)


# What to quote: the sentences of an event, of its best window, with the most words of the question

_SHORT = 240  # characters: a message up to this size is quoted whole, of a longer one about as much
_DENSE = 3  # letters that carry as much as one character of a script without spaces
_GREETING = 3  # words up to which a sentence counts as a greeting
_FULLNESS = 0.5  # worth of a quote's full length, in terms
_KEPT = 4_000  # characters of a message whose sentences are cached
_MOST_SEARCHED = 200_000  # characters searched where no model chose a window: 40 ms


def choose_quote(text: str, window: Span | None, terms: Mapping[int, float]) -> Span:
    """Choose adjacent sentences that together contain the most terms, in few characters."""
    within = window or Span(0, min(len(text), _MOST_SEARCHED))
    short = _target_length(text[within.start : within.end])
    if within.end - within.start <= short:
        return trimmed(text, *within)
    parts = _parts(text, within) if len(text) <= _KEPT else _sentences(text, within)
    if len(parts) < 2:
        return trimmed(text, *within)
    spans = [span for span, _ in parts]
    held = [contained & terms.keys() for _, contained in parts]
    best, most = within, 0.0
    matched = any(held)
    for first, last in _runs(spans, short):
        if matched and not held[first]:  # begin at the match: its explanation mostly follows
            continue
        found = set[int]().union(*held[first : last + 1])
        # Of two with the same terms prefer the longer one: not "Hey Ana!" for its name.
        score = sum(terms[term] for term in found) + _FULLNESS * (spans[last].end - spans[first].start) / short
        if score > most:
            best, most = Span(spans[first].start, spans[last].end), score
    return best


def _sentences(text: str, within: Span) -> list[tuple[Span, frozenset[int]]]:
    """List the sentences of a window with their terms; cut overlong ones into pieces."""
    whole = [piece for span in sentences(text, within) for piece in _cut(text, span)]
    return [(span, _content_terms(text[span.start : span.end])) for span in whole]


def _cut(text: str, sentence: Span) -> list[Span]:
    """Cut an overlong sentence at white space, or else between two characters.

    Thai has no full stops and a log has no sentences, but a quote must stay readable.
    """
    most = _target_length(text[sentence.start : sentence.end])
    if sentence.end - sentence.start <= (WINDOW_CHARS if most == _SHORT else 2 * most):
        return [sentence]
    pieces: list[Span] = []
    start = sentence.start
    while start < sentence.end:
        end = min(sentence.end, start + most)
        if end < sentence.end:
            space = max(text.rfind(char, start + 1, end) for char in " \t")
            end = space if space > start else whole_until(text, end)
        pieces.append(trimmed(text, start, end))
        start = end
    return [piece for piece in pieces if piece.end > piece.start]


def _target_length(words: str) -> int:
    return _SHORT // _DENSE if _unspaced(words) else _SHORT


def _unspaced(words: str) -> bool:
    return count_unspaced(words) > len(words) // 2


_parts = lru_cache(maxsize=4096)(_sentences)  # many questions find the same messages


def _content_terms(sentence: str) -> frozenset[int]:
    # "Hey Ana!" contains a name and says nothing.
    if len(sentence.split(None, _GREETING)) <= _GREETING and not _unspaced(sentence):
        return frozenset()
    return frozenset(term_counts(sentence))


def _runs(spans: Sequence[Span], short: int) -> list[tuple[int, int]]:
    """List for each sentence the longest run from it on that is short enough, at least the sentence itself."""
    runs: list[tuple[int, int]] = []
    last = 0
    for first, span in enumerate(spans):
        last = max(last, first)
        while last + 1 < len(spans) and spans[last + 1].end - span.start <= short:
            last += 1
        runs.append((first, last))
    return runs


# Explanations

_ARMS = {
    WORDS_ARM: "BM25 over the words of the question",
    VECTORS_ARM: "cosine of the pooled vectors",
    TIMES_ARM: "in or near the time that the question names",
    STATEMENTS_ARM: "share of the question's words in one of its statements",
}


def explained(candidate: Candidate, matched: Matched | None) -> tuple[Score, ...]:
    """List the stages that touched a candidate, in their order."""
    seq, of = candidate.seq, candidate.of
    arms = {arm: place for arm, places in of.arms.items() if (place := places.place_of(seq)) is not None}
    scores = [Score(stage=arm, score=place.score, rank=place.rank, why=_ARMS[arm]) for arm, place in arms.items()]
    fused = of.fused.place_of(seq)
    if fused is not None:
        found = " and ".join(f"{arm} at {place.rank}" for arm, place in arms.items())
        scores.append(Score(stage="fuse", score=fused.score, rank=fused.rank, why=f"found by {found}"))
    if seq in of.distrust:
        scores.append(Score(stage=SOURCE, score=of.distrust[seq], why=BOOSTS[SOURCE]))
    row = None if matched is None else matched.rows.get(seq)
    if matched is not None and row is not None:
        why = "how well it matches each token of the question; telling tokens count more"
        scores.append(Score(stage="late", score=float(matched.late[row]), why=why))
        if (nearby := float(matched.nearby[row])) or fused is None:
            why = f"added by the turns around it{', which found it' if fused is None else ''}"
            scores.append(Score(stage="nearby", score=nearby, why=why))
        gains = zip(BOOSTS, matched.boosts[row].tolist(), strict=True)
        scores += [Score(stage=name, score=gain, why=BOOSTS[name]) for name, gain in gains if gain]
        why = "the sum of match and boosts"
        scores.append(Score(stage="rank", score=candidate.score, rank=int(matched.ranks[row]), why=why))
    if (link := of.links.get(seq)) is not None:
        why = f"shares rare words with a better hit, {link.hop} step(s) from the question"
        scores.append(Score(stage="chain", score=link.strength, why=why))
    if (place := candidate.reranked) is not None:
        why = "the reranker's score for question and event together, blended with the rank before"
        scores.append(Score(stage="reread", score=place.score, rank=place.rank, why=why))
    return tuple(scores)
