"""Split text into the WordPiece tokens of uncased BERT models, from their tokenizer.json.

Written here because the usual package for it brings a hub client and its dependencies along, 40 MB that a memory never
uses. A test compares the two on real and random text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from everyword.lazy_patterns import lazy_pattern

_CONTINUES = "##"
_LONGEST_WORD = 100  # characters: a longer word is one unknown token
_CACHED_WORDS = 1 << 15
_ASCII_WORD = lazy_pattern(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_TEXT = lazy_pattern(r"[\t\n\r -~]*")
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class Encoding(NamedTuple):
    """The tokens of a text: their ids, their spelling, where they stand, and the number of their word."""

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]


class WordPiece:
    """The tokenizer of uncased BERT models."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._special = re.compile("|".join(re.escape(one) for one in _SPECIAL if one in vocabulary))
        self._pieces = lru_cache(maxsize=_CACHED_WORDS)(self._split)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> WordPiece | None:
        """Read a tokenizer.json; return None where it describes another kind of tokenizer."""
        model: dict[str, Any] = document["model"]
        normalizer: dict[str, Any] = document["normalizer"] or {}
        is_ours = (
            model["type"] == "WordPiece"
            and model["continuing_subword_prefix"] == _CONTINUES
            and model["max_input_chars_per_word"] == _LONGEST_WORD
            and normalizer.get("type") == "BertNormalizer"
            and normalizer.get("lowercase")
            and normalizer.get("clean_text")
            and normalizer.get("handle_chinese_chars")
            and normalizer.get("strip_accents") is not False
            and document["pre_tokenizer"]["type"] == "BertPreTokenizer"
            and {token["content"] for token in document["added_tokens"]} <= set(_SPECIAL)
        )
        return cls(model["vocab"]) if is_ours else None

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Encoding:
        """Split a text into tokens, between [CLS] and [SEP] unless told otherwise."""
        found = Encoding([], [], [], [])
        if add_special_tokens:
            self._put(found, _START, (0, 0), None)
        number, begin = 0, 0
        for special in self._special.finditer(text):
            number = self._encode(text, begin, special.start(), number, found)
            self._put(found, special[0], special.span(), number)
            number, begin = number + 1, special.end()
        self._encode(text, begin, len(text), number, found)
        if add_special_tokens:
            self._put(found, _END, (0, 0), None)
        return found

    def _encode(self, text: str, begin: int, end: int, number: int, found: Encoding) -> int:
        for word, places in _words(text, begin, end):
            at = 0
            for token, length in self._pieces(word):
                first, last = places[at], places[at + length - 1]
                self._put(found, token, (first, last + 1), number)
                at += length
            number += 1
        return number

    def _put(self, found: Encoding, token: str, offset: tuple[int, int], word: int | None) -> None:
        found.ids.append(self._vocabulary[token])
        found.tokens.append(token)
        found.offsets.append(offset)
        found.word_ids.append(word)

    def _split(self, word: str) -> tuple[tuple[str, int], ...]:
        """Split a word into the longest pieces that the vocabulary has, each with its length; or one unknown token."""
        pieces: list[tuple[str, int]] = []
        start = 0
        while start < len(word) <= _LONGEST_WORD:
            prefix = _CONTINUES if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._vocabulary), None)
            if end is None:
                break
            pieces.append((prefix + word[start:end], end - start))
            start = end
        return tuple(pieces) if start == len(word) else ((_UNKNOWN, len(word)),)


_START, _END, _UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
_SPECIAL = ("[PAD]", _UNKNOWN, _START, _END, "[MASK]")


def _words(text: str, begin: int, end: int) -> Iterator[tuple[str, range | list[int]]]:
    """Give the words and punctuation marks of a part of a text, normalised, with the place of each character."""
    if _ASCII_TEXT.fullmatch(text, begin, end):
        for match in _ASCII_WORD.finditer(text, begin, end):
            yield match[0].lower(), range(match.start(), match.end())
        return
    word: list[str] = []
    places: list[int] = []
    for place in range(begin, end):
        for char in _normalised(text[place]):
            apart = _is_cjk(char) or _is_punctuation(char)
            if (apart or char.isspace()) and word:
                yield "".join(word), places
                word, places = [], []
            if apart:
                yield char, [place]
            elif not char.isspace():
                word.append(char)
                places.append(place)
    if word:
        yield "".join(word), places


@lru_cache(maxsize=4096)
def _normalised(char: str) -> str:
    """Give what is left of a character: nothing of a control character, a letter without its accents, in lower case."""
    if char in "\t\n\r":
        return " "
    if char in "\x00�" or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co"):
        return ""
    if char.isspace():
        return " "
    bare = (one for one in unicodedata.normalize("NFD", char) if unicodedata.category(one) != "Mn")
    return "".join(one.lower() for one in bare)


def _is_cjk(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _CJK)


@lru_cache(maxsize=4096)
def _is_punctuation(char: str) -> bool:
    return (char.isascii() and char.isprintable() and not char.isalnum() and char != " ") or (
        unicodedata.category(char)[0] == "P"
    )
