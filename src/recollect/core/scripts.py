"""Words in other alphabets than ours: what they are without their points and accents, and without their endings.

A letter tells its script, and a script its language, or a near one whose endings are much the same: Ukrainian is cut as
Russian, Persian as Arabic. Words in Latin letters can't be told apart so, and are cut as English.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, cast

Stemming = Callable[[str], str]

_LONGEST_STEMMED = 40  # characters; what is longer is no word, and stemming a megabyte is slow
_KEPT_CLASSES = frozenset({0, 9})  # of combining characters: vowel signs, and what takes a vowel away
_BREVE = "\u0306"  # й is no и
_HEBREW_PREFIXES = "והבכלמש"  # "and", "the", "in" ... are written with the word
_HEBREW_PLURALS = ("ים", "ות")
_LEAST_LEFT = 3  # letters of a word without them
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HAN_ALONE = re.compile(rf"(?<![{_HAN}])[{_HAN}](?![{_HAN}])")
_NOUN_AND_PARTICLE = re.compile(
    r"([\uac00-\ud7a3])(?:은|는|이|가|을|를|에|의|도|로|와|과|만|에서|에게|으로|까지|부터|이랑|하고|이나|보다)"
)
# Words that say little, where letters tell the language: of Greek, Russian and Ukrainian, Arabic, Hebrew, Hindi.
FUNCTION_WORDS = frozenset(
    """
    ο η το οι τα του της των τον την τη στο στη στην στον στους στις στα και να με για από σε που πού πώς πότε
    ποιος ποια ποιο ποιοι ποιες τι είναι ήταν έχει έχω δεν θα μου σου μας σας ένα ένας μια μία αυτό ή αν ως
    γιατί πόσο
    и в во на с со к ко у о об от до за из по не но а же ли бы то это этот эта что чем как где когда кто кого
    кому какой какая какое какие каком какую куда откуда почему зачем сколько чей я ты он она оно мы вы они мой
    моя моё мои мне меня его её их наш ваш был была было были есть для или та те і й що де коли хто який яка
    чому скільки є
    في من إلى على عن مع هل ما ماذا متى أين كيف لماذا كم أي هو هي هم أنا أنت نحن هذا هذه ذلك التي الذي كان كانت و
    أو ثم قد لا لم لن إن أن
    של את על עם אל מה מי מתי איפה היכן איך למה מדוע כמה איזה איזו באיזה באיזו לאיזה מאיזה הוא היא הם הן אני אתה
    אנחנו זה זאת זו היה הייתה היו יש אין לא כן גם או כי אם
    का की के को में से पर ने है हैं था थी थे हो होगा होगी क्या कौन कब कहाँ कहां कैसे क्यों किस किसने कितना कितने
    कौनसा और या कि यह वह ये वे मैं हम तुम आप मेरा मेरी मेरे हमारा उसका उसकी इसका अपना अपनी अपने तक भी ही नहीं तो
    """.split()
)
_per_thread = threading.local()


def bare(word: str) -> str:
    """Take off what is written or left out at will: accents, vowel points, dots below; figures become ours."""
    letters = [
        char
        for char in unicodedata.normalize("NFD", word.casefold())
        if char == _BREVE or unicodedata.combining(char) in _KEPT_CLASSES
    ]
    joined = unicodedata.normalize("NFC", "".join(letters))
    return "".join(str(unicodedata.decimal(char, char)) for char in joined)


def stemmer_of(word: str) -> Stemming | None:
    """Give what cuts the endings of a word off, by the script of its first letter; None for Latin and unknown ones."""
    first = ord(word[0])
    for start, end, stemming in _SCRIPTS:
        if start <= first <= end:
            return stemming
    return None


def holds_alone(run: str) -> list[str]:
    """List the characters of an unspaced run that are words by themselves: 傘 of 花子の傘, 책 of 책을."""
    noun = _NOUN_AND_PARTICLE.fullmatch(run)
    return [noun[1]] if noun else _HAN_ALONE.findall(run)


def _hebrew(word: str) -> str:
    if word[0] in _HEBREW_PREFIXES and len(word) > _LEAST_LEFT:
        word = word[1:]
    if word.endswith(_HEBREW_PLURALS) and len(word) - 2 >= _LEAST_LEFT:
        word = word[:-2]
    return word


def snowball(language: str) -> Stemming:
    """Give what cuts the endings of a language off."""

    def stemmed(word: str) -> str:
        return word if len(word) > _LONGEST_STEMMED else _stemmer(language).stemWord(word)

    return stemmed


def _stemmer(language: str) -> _Stemmer:
    # One a thread: a Snowball stemmer keeps its work in itself.
    stemmer: _Stemmer | None = getattr(_per_thread, language, None)
    if stemmer is None:
        made: Any = import_module("Stemmer")  # has no type stubs
        stemmer = cast(_Stemmer, made.Stemmer(language))
        setattr(_per_thread, language, stemmer)
    return stemmer


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_SCRIPTS = (
    (0x0370, 0x03FF, snowball("greek")),
    (0x1F00, 0x1FFF, snowball("greek")),
    (0x0400, 0x052F, snowball("russian")),
    (0x0531, 0x058F, snowball("armenian")),
    (0x0590, 0x05FF, _hebrew),
    (0x0600, 0x077F, snowball("arabic")),
    (0x0900, 0x097F, snowball("hindi")),
    (0x0B80, 0x0BFF, snowball("tamil")),
)
