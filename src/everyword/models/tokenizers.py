"""Count the tokens of a text, for context budgets; open tokenizer.json files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast
from unicodedata import category

from everyword.errors import InvalidSetting, ModelDamaged, ModelMissing
from everyword.extras import need
from everyword.lazy_patterns import lazy_pattern
from everyword.models.protocol import Tokenizer, well_formed
from everyword.models.weights import EVERYWORD_SMALL, find_model
from everyword.models.wordpiece import Encoding, WordPiece

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
        return FileTokenizer(name=WORDPIECE, path=_default_file())
    if spec == WORDS:
        return WordTokenizer()
    if isinstance(spec, str) and spec.startswith(TIKTOKEN):
        return Tiktoken(name=spec)
    if isinstance(spec, str | os.PathLike):
        path = Path(cast("str | os.PathLike[str]", spec))
        if not path.is_file():
            raise InvalidSetting(f"Unknown tokenizer {str(path)!r}, and no such file.", fix=f"Choose {CHOICES}.")
        return FileTokenizer(name=str(path), path=path)
    if callable(getattr(spec, "count", None)):
        return cast(Tokenizer, spec)
    if callable(spec):
        return FunctionTokenizer(name=getattr(spec, "__name__", "function"), function=spec)
    raise InvalidSetting(f"Unknown tokenizer {spec!r}.", fix=f"Choose {CHOICES}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTokenizer:
    """A tokenizer.json: the default model's, or any other."""

    name: str
    path: Path

    def count(self, text: str) -> int:
        """Count the tokens of a text, without the special tokens around it."""
        clean = well_formed(text)
        encoding = open_tokenizer(self.path).encode(clean, add_special_tokens=False)
        return len(encoding.ids) + (
            0 if clean.isascii() and len(clean) < _LONGEST_WORD else _hidden_in_unknown(clean, encoding)
        )


def _hidden_in_unknown(text: str, encoding: Encoding) -> int:
    """Count the letters behind [UNK] tokens: the model that reads the context needs about a token for each."""
    return sum(
        max(0, sum(map(_is_letter, text[start:end])) - 1)
        for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True)
        if token in _UNKNOWN
    )


def _is_letter(char: str) -> bool:
    return char.isalnum() or category(char)[0] == "M"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTokenizer:
    """Words and punctuation; needs no model."""

    name: str = WORDS

    def count(self, text: str) -> int:
        """Count words and punctuation marks."""
        return sum(1 for _ in WORD.finditer(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiktoken:
    """An encoding of tiktoken, for OpenAI's models."""

    name: str

    def count(self, text: str) -> int:
        """Count the tokens of a text; special tokens in it count as text."""
        encoding = _tiktoken(self.name.removeprefix(TIKTOKEN))
        return len(encoding.encode(well_formed(text), disallowed_special=()))


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTokenizer:
    """A function given by the user."""

    name: str
    function: Callable[[str], int]

    def count(self, text: str) -> int:
        return self.function(text)


class Encoder(Protocol):
    """A tokenizer as models need it."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Encoding: ...


@lru_cache(maxsize=4)  # loading takes tens of milliseconds, and a process rarely uses two
def open_tokenizer(path: Path) -> Encoder:
    """Read a tokenizer.json: that of a BERT model by ourselves, any other with the tokenizers package."""
    try:
        ours = WordPiece.of(json.loads(path.read_bytes()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
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
