"""The prompts of an LLM, and checks that what it wrote does not go beyond the events that it cites.

Prompts are files. A changed prompt is a new file with the next version: readings name theirs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from unicodedata import normalize

from everyword.text.rendering import one_line, visible
from everyword.text.terms import STOPWORDS, finder, question_terms
from everyword.types.events import Event

EXTRACT = "extract.v3"
GLEAN = "glean.v3"
SUMMARY_PROMPT = "summarise.v1"
PLAN_PROMPT = "plan.v3"
EXTRACTOR = f"llm/{EXTRACT}+{GLEAN}"
LONGEST_MODEL = 80  # characters of the model's name as its server gives it


@cache
def prompt(name: str) -> str:
    return files(__package__).joinpath("prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


def extractor_of(name: str, model: str) -> str:
    """Name who wrote: the prompt and the model."""
    return f"llm/{name} {model[:LONGEST_MODEL]}"


# Share of the words that must have been said. Not all: a summary joins and shortens, and "I've been running" becomes
# "Ana runs regularly"; but a sentence of which less than half was said was made up.
SAID_WORDS = 0.5
_words = finder("ALNUM(?:['’-]ALNUM)*")
_NUMBER = re.compile(r"\d+")
# A word that does not begin a sentence.
_NAME = re.compile(r"(?<!^)(?<![.!?:] )(?<![\w'’-])[^\W\d_][\w’'-]+")
_POSSESSIVE = re.compile(r"['’]s?$")


class Refused(Exception):
    """Says why a part of an answer is rejected."""


def beyond(text: str, said: Sequence[str], names: Iterable[str] = ()) -> str | None:
    """Say what of a text was not said in some others; None where nothing is. `names` may stand in it all the same."""
    if visible(text) != text:
        return "it has characters that are no text"
    whole = " ".join((*said, *names))
    if not mostly_said(text, question_terms(whole)):
        return "most of its words were not said"
    numbers = set(_NUMBER.findall(whole))
    number = next((one for one in _NUMBER.findall(text) if one not in numbers), None)
    if number is not None:
        return f"nobody said {number}"
    folded = whole.casefold()
    names_in = (_POSSESSIVE.sub("", word) for word in _NAME.findall(text) if word[0].isupper())
    name = next((word for word in names_in if word.casefold() not in folded), None)
    return None if name is None else f"nobody said {name}"


def mostly_said(text: str, said: Collection[int]) -> bool:
    """Tell whether most words of a text are among some terms."""
    words = question_terms(text)
    return sum(word in said for word in words) >= SAID_WORDS * len(words)


def unheard(label: str, said: Sequence[str]) -> str | None:
    """Say which name or number of a heading was not said; None where all were.

    A heading may sum up in a word that nobody said: "healthy eating", of soup and fish. One with a capital may be a
    name, and must have been said.
    """
    if one_line(label) != label:
        return "it has characters that are no text"
    words = _words(label).findall(label)
    if not words:
        return "its label has no word"
    known = question_terms(" ".join(said))
    for word in words:
        small = word.lower()
        plain = word == small and not _NUMBER.search(word)
        if not (plain or small in STOPWORDS) and not all(term in known for term in question_terms(small)):
            return f"nobody said {word}"
    return None


def as_written(label: str, said: Sequence[str]) -> str:
    """Write a heading in small letters, but for what is said in capitals: a name, or an abbreviation."""
    written = {word for text in said for word in _words(text).findall(text)}

    def cased(match: re.Match[str]) -> str:
        word = match[0]
        small = word.lower()
        return word if word in written and small not in written else small

    return _words(label).sub(cased, label)


# Content of statements

SHORTEST_STEM = 3  # letters that two forms of a word share at least: "prefer", "preferring"
_FIGURES = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
# Words that content begins with although nobody said them.
_COMMON = frozenset(
    "the a an user assistant speaker they he she it we i their his her this that these those no not in on at".split()
)


def foreign_number(content: str, event: Event, about: str) -> str | None:
    """Find a number in the content of a statement that its event does not have, in digits or in words."""
    said = {_digits(number) for text in (event.text, event.speaker or "", about) for number in _FIGURES.findall(text)}
    words = {word.lower() for word in _words_of(event.text)}
    said |= {digits for word, digits in _NUMBER_WORDS.items() if word in words}
    for number in _FIGURES.findall(content):
        if _digits(number) not in said and not all(part in said for part in re.split(r"[.,:]", number)):
            return number
    for word in _words_of(content):
        digits = _NUMBER_WORDS.get(word.lower())
        if digits is not None and word.lower() != "one" and digits not in said:
            return word
    return None


def foreign_name(texts: Iterable[str], event: Event, known: Iterable[str]) -> str | None:
    """Find a word in capitals in texts about an event that neither the event nor a known name has."""
    said = {word.lower() for word in _words_of(event.text)}
    said |= {part for word in said for part in re.split(r"['’-]", word)}
    for name in (event.speaker or "", event.role or "", *known):
        said |= {word.lower() for word in _words_of(name)}
    stems = {word[:SHORTEST_STEM] for word in said if len(word) >= SHORTEST_STEM}
    for text in (normalize("NFC", one) for one in texts):
        begins = True
        for match in _WORD.finditer(text):
            plain = _POSSESSIVE.sub("", match[0].lower())
            # The first word is in capitals whatever it is: a verb, or a form of a word that was said.
            is_plain = begins and plain[:SHORTEST_STEM] in stems
            if match[0][0].isupper() and plain not in said | _COMMON and not is_plain:
                return match[0]
            begins = text[match.end() : match.end() + 1] in (":", ".")
    return None


def _words_of(text: str) -> list[str]:
    return _WORD.findall(normalize("NFC", text))


def _digits(number: str) -> str:
    return re.sub(r"[.,:]", "", number)
