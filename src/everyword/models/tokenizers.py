"""Count the tokens of a text, for context budgets; open tokenizer.json files.

WordPiece, the tokenizer of uncased BERT models, is written here because the usual package for it brings a hub client
and its dependencies along, 40 MB that a memory never uses. A test compares the two on real and random text.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast
from unicodedata import category

import msgspec
from msgspec import Struct

from everyword.errors import InvalidSetting, ModelDamaged, ModelMissing
from everyword.extras import need
from everyword.lazy_patterns import lazy_pattern
from everyword.models.protocol import Tokenizer
from everyword.models.weights import EVERYWORD_SMALL, find_model
from everyword.text.terms import well_formed

WORDPIECE = "wordpiece"
WORDS = "words"
TIKTOKEN = "tiktoken:"
CHOICES = '"wordpiece", "words", "tiktoken:ENCODING", the path of a tokenizer.json, or a function str -> int'

# The token of a word that the vocabulary can't spell: a Thai sentence, a key of two hundred characters.
_UNKNOWN = frozenset({"[UNK]", "<unk>"})
_LONGEST_WORD = 100  # characters: WordPiece does not split longer words
# A word, or one character that is neither a word nor space.
WORD = lazy_pattern(r"\w+|[^\w\s]")

TokenizerSpec = str | os.PathLike[str] | Callable[[str], int] | Tokenizer | None


def load_tokenizer(spec: TokenizerSpec = None) -> Tokenizer:
    """Create the tokenizer that a setting names; its file is read at the first count."""
    if spec is None or spec == WORDPIECE:
        return _Counter(name=WORDPIECE, function=partial(_count_with_file, _default_file()))
    if spec == WORDS:
        return _Counter(name=WORDS, function=lambda text: sum(1 for _ in WORD.finditer(text)))
    if isinstance(spec, str) and spec.startswith(TIKTOKEN):
        return _Counter(name=spec, function=partial(_count_with_tiktoken, spec.removeprefix(TIKTOKEN)))
    if isinstance(spec, str | os.PathLike):
        path = Path(cast("str | os.PathLike[str]", spec))
        if not path.is_file():
            raise InvalidSetting(f"Unknown tokenizer {str(path)!r}, and no such file.", fix=f"Choose {CHOICES}.")
        return _Counter(name=str(path), function=partial(_count_with_file, path))
    if callable(getattr(spec, "count", None)):
        return cast(Tokenizer, spec)
    if callable(spec):
        return _Counter(name=getattr(spec, "__name__", "function"), function=spec)
    raise InvalidSetting(f"Unknown tokenizer {spec!r}.", fix=f"Choose {CHOICES}.")


class _Counter(Struct, frozen=True, kw_only=True):
    """A tokenizer: its name, and the function that counts."""

    name: str
    function: Callable[[str], int]

    def count(self, text: str) -> int:
        return self.function(text)


def _count_with_file(path: Path, text: str) -> int:
    """Count tokens without the special ones around a text.

    The letters behind [UNK] count: the model that reads the context needs about a token for each.
    """
    clean = well_formed(text)
    encoding = open_tokenizer(path).encode(clean, add_special_tokens=False)
    if clean.isascii() and len(clean) < _LONGEST_WORD:
        return len(encoding.ids)
    unknown = (span for token, span in zip(encoding.tokens, encoding.offsets, strict=True) if token in _UNKNOWN)
    return len(encoding.ids) + sum(max(0, sum(map(_is_letter, clean[start:end])) - 1) for start, end in unknown)


def _is_letter(char: str) -> bool:
    return char.isalnum() or category(char)[0] == "M"


def _count_with_tiktoken(encoding: str, text: str) -> int:
    """Count the tokens of OpenAI's models; special tokens in a text count as text."""
    return len(_tiktoken(encoding).encode(well_formed(text), disallowed_special=()))


class Encoder(Protocol):
    """A tokenizer as models need it."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Encoding: ...


@lru_cache(maxsize=4)  # loading takes tens of milliseconds, and a process rarely uses two
def open_tokenizer(path: Path) -> Encoder:
    """Read a tokenizer.json: that of a BERT model by ourselves, any other with the tokenizers package."""
    try:
        ours = WordPiece.of(msgspec.json.decode(path.read_bytes()))
    except (OSError, msgspec.DecodeError, LookupError, TypeError, AttributeError) as error:
        raise _unreadable(path, error) from error
    return ours or open_any_tokenizer(path)


@lru_cache(maxsize=4)
def open_any_tokenizer(path: Path) -> Any:
    """Read a tokenizer.json with the tokenizers package, its truncation and padding off: callers truncate."""
    package: Any = need("tokenizers", extra="tokenizers")
    try:
        loaded: Any = package.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises bare Exception
        raise _unreadable(path, error) from error
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def _unreadable(path: Path, error: Exception) -> ModelDamaged:
    return ModelDamaged(f"{path} can't be read as a tokenizer: {error}", fix="Replace the file.")


@lru_cache(maxsize=4)
def _tiktoken(encoding: str) -> Any:
    tiktoken: Any = need("tiktoken", extra="tiktoken")
    try:
        return tiktoken.get_encoding(encoding)
    except ValueError as error:
        known = ", ".join(tiktoken.list_encoding_names())
        raise InvalidSetting(f"tiktoken has no encoding {encoding!r}.", fix=f"It has: {known}.") from error
    except Exception as error:  # its first use downloads a table: any network error
        raise ModelMissing(
            f"tiktoken could not load {encoding!r}: {error}",
            fix="Load it once while online, or set TIKTOKEN_CACHE_DIR.",
        ) from error


def _default_file() -> Path:
    try:
        return find_model(EVERYWORD_SMALL, only=("tokenizer.json",)).paths["tokenizer.json"]
    except ModelMissing as error:
        raise ModelMissing(error.detail, fix=f'{error.fix} Or choose tokenizer="words".') from error


_CONTINUES = "##"
_CACHED_WORDS = 1 << 15
_ASCII_WORD = lazy_pattern(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_TEXT = lazy_pattern(r"[\t\n\r -~]*")
_CJK = lazy_pattern(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    r"\U0002f800-\U0002fa1f]"
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
        return tuple(pieces) if start == len(word) else ((_UNKNOWN_PIECE, len(word)),)


def unread_share(text: str, encoding: Encoding) -> float:
    """Compute the share of words that are unknown or split into single letters.

    The English vocabulary has the letters of other alphabets, so words in them are not [UNK]; but the model learned
    nothing from single letters.
    """
    known: dict[int, bool] = {}
    for token, (start, end), word in zip(encoding.tokens, encoding.offsets, encoding.word_ids, strict=True):
        if word is not None and any(map(str.isalnum, text[start:end])):
            piece = token.removeprefix(_CONTINUES)
            known[word] = known.get(word, False) or not (
                token == _UNKNOWN_PIECE or (len(piece) == 1 and not piece.isascii())
            )
    return 1 - sum(known.values()) / len(known) if known else 0.0


_START, _END, _UNKNOWN_PIECE = "[CLS]", "[SEP]", "[UNK]"
_SPECIAL = ("[PAD]", _UNKNOWN_PIECE, _START, _END, "[MASK]")


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
            apart = _CJK.match(char) or _is_punctuation(char)
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


@lru_cache(maxsize=4096)
def _is_punctuation(char: str) -> bool:
    return (char.isascii() and char.isprintable() and not char.isalnum() and char != " ") or (
        unicodedata.category(char)[0] == "P"
    )
