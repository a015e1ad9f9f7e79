"""The prompts of an LLM, and checks that what it wrote does not go beyond the events that it cites.

Prompts are files. A changed prompt is a new file with the next version: readings name theirs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files

from everyword.text.rendering import one_line, visible
from everyword.text.terms import STOPWORDS, finder, question_terms

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
_NAME = re.compile(r"(?<!^)(?<![.!?:] )(?<![\w'’-])[^\W\d_][\w’'-]+")
_POSSESSIVE = re.compile(r"['’]s?$")


class Refused(Exception):
    """Says why a part of an answer is not let in."""


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
    name = next((word for word in _names(text) if word.casefold() not in folded), None)
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


def _names(text: str) -> Iterable[str]:
    """Give words in capitals that do not begin a sentence."""
    for match in _NAME.finditer(text):
        if match[0][0].isupper():
            yield _POSSESSIVE.sub("", match[0])
