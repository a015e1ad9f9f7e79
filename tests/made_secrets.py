"""Secrets made for tests from templates, so that no file here holds a usable key.

`{A36}` stands for 36 random letters and digits, and `{CARD4:53:16}` for the number of a card that starts with 53, has
16 digits and is written in fours. The parts of a hole are what it is, and of what.
"""

from __future__ import annotations

import hashlib
import random
import re
import string
from collections.abc import Callable

from everyword.ingest.redaction.rules import seed_words

ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "W": string.ascii_letters + string.digits + "_-",
    "H": "0123456789abcdef",
    "U": string.ascii_uppercase + "234567",
    "D": string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "P": string.ascii_letters + string.digits + "!#*+",
    "w": string.ascii_lowercase,
}
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
HOLE = re.compile(r"\{([A-Z0-9a-z]+)(?::([^}]*))?\}")


def filled(line: str, chance: random.Random) -> tuple[str, list[str]]:
    """Fill the holes of a template; return the line, and what was put into each hole."""
    made: list[str] = []

    def fill(hole: re.Match[str]) -> str:
        made.append(_made(hole[1], hole[2] or "", chance))
        return made[-1]

    return HOLE.sub(fill, line), made


def _made(what: str, of: str, chance: random.Random) -> str:
    if what in SPECIAL:
        return SPECIAL[what](of, chance)
    made = "".join(chance.choices(ALPHABETS[what[0]], k=int(what[1:])))
    # Every key that a service hands out has letters and digits; a random one of eight characters may lack a digit.
    start = {"D": "7", "H": "a1", "U": "A2", "w": ""}.get(what[0], "aZ1")
    return (start + made)[: int(what[1:])]


def _private_key(name: str, chance: random.Random, *, cut: bool = False) -> list[str]:
    rows = ["".join(chance.choices(ALPHABETS["B"], k=64)) for _ in range(8)]
    return [f"-----BEGIN {name}-----", *(rows[:3] if cut else [*rows, f"-----END {name}-----"])]


def _card(of: str, chance: random.Random) -> str:
    prefix, length = of.split(":")
    body = prefix + "".join(chance.choices(string.digits, k=int(length) - len(prefix) - 1))
    doubled = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(body))]
    return f"{body}{-sum(number // 10 + number % 10 for number in doubled) % 10}"


def _iban(of: str, chance: random.Random) -> str:
    country, length = of.split(":")
    bank = BANKS.get(country, "")
    account = bank + "".join(chance.choices(string.digits, k=int(length) - len(bank)))
    digits = "".join(str(int(char, 36)) for char in f"{account}{country}00")
    return f"{country}{98 - int(digits) % 97:02}{account}"


def _in_fours(number: str) -> str:
    return " ".join(number[place : place + 4] for place in range(0, len(number), 4))


def _bitcoin_key(chance: random.Random, *, compressed: bool) -> str:
    payload = b"\x80" + chance.randbytes(32) + (b"\x01" if compressed else b"")
    number = int.from_bytes(payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4])
    key = ""
    while number:
        number, rest = divmod(number, 58)
        key = BASE58[rest] + key
    return key


def _seed(words: int, of: str, chance: random.Random) -> str:
    entropy = chance.randbytes(words * 4 // 3)
    bits = f"{int.from_bytes(entropy):0{len(entropy) * 8}b}{hashlib.sha256(entropy).digest()[0]:08b}"[: words * 11]
    chosen = [list(seed_words())[int(bits[at : at + 11], 2)] for at in range(0, len(bits), 11)]
    if of == "numbered":
        return "1. «" + "".join(f"{word}\n{place}. " for place, word in enumerate(chosen[:-1], 2)) + f"{chosen[-1]}»"
    return f"«{' '.join(chosen)}»"


BANKS = {"NL": "ABNA"}  # letters with which account numbers of a country begin
SPECIAL: dict[str, Callable[[str, random.Random], str]] = {
    "PEM": lambda of, chance: "\n".join(_private_key(of, chance)),
    "PEMLINE": lambda of, chance: "\\n".join(_private_key(of, chance)),
    "PEMCUT": lambda of, chance: "\n".join(_private_key(of, chance, cut=True)),
    "CARD": _card,
    "CARD4": lambda of, chance: _in_fours(_card(of, chance)),
    "IBAN": _iban,
    "IBAN4": lambda of, chance: _in_fours(_iban(of, chance)),
    "IBANLOW": lambda of, chance: _iban(of, chance).lower(),
    "IBANLOW4": lambda of, chance: _in_fours(_iban(of, chance)).lower(),
    "WIF": lambda of, chance: _bitcoin_key(chance, compressed=True),
    "WIF5": lambda of, chance: _bitcoin_key(chance, compressed=False),
    "SEED12": lambda of, chance: _seed(12, of, chance),
    "SEED24": lambda of, chance: _seed(24, of, chance),
    "UUID": lambda of, chance: "-".join("".join(chance.choices("0123456789abcdef", k=k)) for k in (8, 4, 4, 4, 12)),
}
