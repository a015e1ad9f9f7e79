"""Tokenizers: what a budget is counted with."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast
from unicodedata import category

from recollect.core.errors import InvalidSetting, ModelDamaged, ModelMissing
from recollect.core.extras import need
from recollect.inference.protocol import Tokenizer
from recollect.inference.text import well_formed
from recollect.inference.weights import COLBERT_SMALL, find_model

WORDPIECE = "wordpiece"
WORDS = "words"
TIKTOKEN = "tiktoken:"
CHOICES = '"wordpiece", "words", "tiktoken:ENCODING", the path of a tokenizer.json, or a function str -> int'

# What stands for a word that a vocabulary has no pieces for: a Thai sentence, a key of two hundred characters.
_UNKNOWN = frozenset({"[UNK]", "<unk>"})
_LONGEST_KNOWN = 100  # characters: WordPiece takes no longer word apart
# A word, or one mark that is neither a word nor space.
WORD = re.compile(r"\w+|[^\w\s]")

TokenizerSpec = str | os.PathLike[str] | Callable[[str], int] | Tokenizer | None


def load_tokenizer(spec: TokenizerSpec = None) -> Tokenizer:
    """Give the tokenizer that a setting names; its file is read at the first count."""
    if spec is None or spec == WORDPIECE:
        return FileTokenizer(name=WORDPIECE, path=_bundled())
    if spec == WORDS:
        return WordTokenizer()
    if isinstance(spec, str) and spec.startswith(TIKTOKEN):
        return Tiktoken(name=spec)
    if isinstance(spec, str | os.PathLike):
        path = Path(cast("str | os.PathLike[str]", spec))
        if not path.is_file():
            raise InvalidSetting(f"tokenizer={str(path)!r} is not known and no file.", fix=f"Choose {CHOICES}.")
        return FileTokenizer(name=str(path), path=path)
    if callable(getattr(spec, "count", None)):
        return cast(Tokenizer, spec)
    if callable(spec):
        return FunctionTokenizer(name=getattr(spec, "__name__", "function"), function=spec)
    raise InvalidSetting(f"tokenizer={spec!r} is not known.", fix=f"Choose {CHOICES}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTokenizer:
    """A tokenizer.json: the default model's own, or any other."""

    name: str
    path: Path

    def count(self, text: str) -> int:
        """Count the tokens of a text, without the markers that a model puts around it."""
        words = well_formed(text)
        encoding = open_tokenizer(self.path).encode(words, add_special_tokens=False)
        return len(encoding.ids) + (0 if words.isascii() and len(words) < _LONGEST_KNOWN else _unknown(words, encoding))


def _unknown(text: str, encoding: Encoding) -> int:
    """Count what one token for a word of unknown letters leaves out: whoever reads it takes a token for about each."""
    return sum(
        max(0, sum(map(_is_letter, text[start:end])) - 1)
        for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True)
        if token in _UNKNOWN
    )


def _is_letter(char: str) -> bool:
    return char.isalnum() or category(char)[0] == "M"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTokenizer:
    """Words and marks, for where no model may be loaded."""

    name: str = WORDS

    def count(self, text: str) -> int:
        """Count words and marks."""
        return sum(1 for _ in WORD.finditer(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiktoken:
    """An encoding of OpenAI's models."""

    name: str

    def count(self, text: str) -> int:
        """Count the tokens of a text; what looks like a special token is text here."""
        encoding = _tiktoken(self.name.removeprefix(TIKTOKEN))
        return len(encoding.encode(well_formed(text), disallowed_special=()))


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTokenizer:
    """A function of the user's."""

    name: str
    function: Callable[[str], int]

    def count(self, text: str) -> int:
        """Ask the function."""
        return self.function(text)


class Encoding(Protocol):
    """The part of tokenizers.Encoding that is used here."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def tokens(self) -> list[str]: ...

    @property
    def offsets(self) -> list[tuple[int, int]]: ...

    @property
    def word_ids(self) -> list[int | None]: ...


class Encoder(Protocol):
    """The part of tokenizers.Tokenizer that is used here."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Encoding: ...


@lru_cache(maxsize=4)  # loading takes tens of milliseconds, and a process rarely knows two
def open_tokenizer(path: Path) -> Encoder:
    """Read a tokenizer.json and switch off what its file says about lengths: we count and cut ourselves."""
    from tokenizers import Tokenizer as Loaded

    try:
        loaded: Any = Loaded.from_file(str(path))
    except Exception as error:  # the package raises bare Exception
        raise ModelDamaged(f"{path} can't be read as a tokenizer: {error}", fix="Replace the file.") from error
    loaded.no_padding()
    loaded.no_truncation()
    return cast(Encoder, loaded)


@lru_cache(maxsize=4)
def _tiktoken(encoding: str) -> Any:
    tiktoken: Any = need("tiktoken", extra="tiktoken")
    try:
        return tiktoken.get_encoding(encoding)
    except ValueError as error:
        known = ", ".join(tiktoken.list_encoding_names())
        raise InvalidSetting(f"tiktoken has no encoding {encoding!r}.", fix=f"It has: {known}.") from error
    except Exception as error:  # it downloads its tables at the first use: anything of the network
        raise ModelMissing(
            f"tiktoken could not load {encoding!r}: {error}",
            fix="Load it once with a network, or set TIKTOKEN_CACHE_DIR.",
        ) from error


def _bundled() -> Path:
    try:
        return find_model(COLBERT_SMALL, only=("tokenizer.json",)).paths["tokenizer.json"]
    except ModelMissing as error:
        raise ModelMissing(error.detail, fix=f'{error.fix} Or choose tokenizer="words".') from error
