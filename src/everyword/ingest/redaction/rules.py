"""The rules for secrets: one table of patterns, and checks that reject what only resembles a secret.

A rule is tried only where one of its keywords occurs, so that an ordinary text costs a few substring searches. Every
expression is bounded, so that the cost of a hostile text grows linearly. Expressions are compiled on first use. If two
rules overlap, the earlier one names the secret.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from everyword.types.events import Span

LONG_WORD = 20  # characters without a space: the length of the shortest service keys

Check = Callable[[re.Match[str], str], bool]


class Rule(Struct, frozen=True):
    """One form of one kind of secret."""

    name: str  # as the mark shows it: "github token"
    example: str = ""  # for the documentation; never a whole secret
    keywords: tuple[str, ...] = ()  # only texts with one of them are searched; lower case if case is ignored
    pattern: str = ""  # if it has a group named `secret`, only that is redacted
    check: Check | None = None  # whether a match and its value are a secret
    each: Callable[[re.Match[str]], Iterable[Span]] | None = None  # instead of `check`, for several secrets
    find: Callable[[str, Sequence[str]], Iterable[Span]] | None = None  # instead of a pattern; in lower case
    anchored: bool = True  # every match starts with a keyword, so only those places are tried
    ignore_case: bool = False
    in_long_word: bool = False  # every match starts within LONG_WORD characters without a space
    personal: bool = False  # a personal number, not a credential
    closing: str = ""  # marks at the end of a match that are not part of the value

    @property
    def regex(self) -> re.Pattern[str]:
        return _re(self.pattern, re.IGNORECASE if self.ignore_case else re.NOFLAG)

    def spans(self, match: re.Match[str]) -> Iterable[Span]:
        """Return the spans of a match to redact."""
        if self.each is not None:
            return self.each(match)
        group = "secret" if "secret" in match.re.groupindex else 0
        value, start = match[group].rstrip(self.closing), match.start(group)
        if self.check is None or self.check(match, value):
            return (Span(start, start + len(value)),)
        return ()


@cache
def _re(pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(pattern, flags)


# --- Checks of numbers and keys ---------------------------------------------------------------------------------------


def _if_mixed(_match: re.Match[str], value: str) -> bool:
    """Require a digit and both cases: keys are random, names are not."""
    return any(map(str.isdigit, value)) and value.lower() != value and value.upper() != value


def _if_random(match: re.Match[str], value: str) -> bool:
    """Require also a letter after a digit: in `sk-circle-Dot1` the digit numbers a name."""
    return _if_mixed(match, value) and _re(r"\d[A-Za-z]").search(value) is not None


def _if_digit(_match: re.Match[str], value: str) -> bool:
    return any(map(str.isdigit, value))


_AWS_ENTROPY = 4.2  # bits per character: forty random base64 characters have at least 4.5, paths and names fewer


def _if_aws_secret(match: re.Match[str], value: str) -> bool:
    """Require randomness and a mention of AWS before it: forty characters have no typical form."""
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
    mentioned = _re(r"aws|AKIA|secret.?access.?key").search(_text_before(match, 120))
    return entropy >= _AWS_ENTROPY and mentioned is not None and _if_mixed(match, value)


# Prefixes and lengths of cards, the most common first (ISO/IEC 7812, as published by the networks).
_CARDS = (
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|"
    r"6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}"
)


def _if_card(_match: re.Match[str], value: str) -> bool:
    """Check the network's prefix and the Luhn check digit."""
    digits = re.sub(r"[ -]", "", value)
    if not _re(_CARDS).fullmatch(digits) or len(set(digits)) < 2:
        return False
    return sum(sum(divmod(int(digit) * (1 + place % 2), 10)) for place, digit in enumerate(reversed(digits))) % 10 == 0


# Countries by the length of their account numbers (SWIFT's IBAN registry).
_IBAN_COUNTRIES = (
    "NO15 BE16 DK18 FI18 FO18 GL18 NL18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 XK20 CH21 HR21 LI21 LV21 BG22 BH22 "
    "CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 DZ24 ES24 MD24 PK24 RO24 "
    "SA24 SE24 SK24 TN24 VG24 LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27 AL28 AZ28 BY28 CY28 "
    "DO28 EG28 GT28 HN28 HU28 LB28 LK28 PL28 SD28 SV28 BR29 PS29 QA29 UA29 JO30 KW30 MU30 YE30 MT31 SC31 LC32 RU33"
)
_IBAN_LENGTHS = {one[:2]: int(one[2:]) for one in _IBAN_COUNTRIES.split()}


def _ibans(match: re.Match[str]) -> Iterator[Span]:
    """Take as many characters as the country's IBANs have; check their remainder."""
    text = match[0].upper()
    length = _IBAN_LENGTHS.get(text[:2])
    places = [place for place, char in enumerate(text) if char != " "]
    if length is None or len(places) < length:
        return
    end = places[length - 1] + 1
    account = text[:end].replace(" ", "")
    remainder = int("".join(str(int(char, 36)) for char in account[4:] + account[:4])) % 97
    if remainder == 1 and not text[end : end + 1].strip():
        yield Span(match.start(), match.start() + end)


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _if_base58check(_match: re.Match[str], value: str) -> bool:
    number = 0
    for char in value:
        number = number * 58 + _BASE58.index(char)
    raw = number.to_bytes(-(-number.bit_length() // 8))
    return hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


@cache
def seed_words() -> dict[str, int]:
    """Map each word of BIP-39 to its number."""
    words = Path(__file__).with_name("bip39_words.txt").read_text(encoding="ascii").split()
    return {word: number for number, word in enumerate(words)}


_SEED_LENGTHS = (24, 21, 18, 15, 12)
_MAX_SEED_WORDS = 60  # consecutive; a longer run is a word list
_SEED_MENTION = r"seed|mnemonic|recovery (?:phrase|words)|secret (?:phrase|words)"


def _seed_phrases(lowered: str, words: Sequence[str]) -> Iterator[Span]:
    """Find runs of at least twelve words of BIP-39 with a valid checksum or after a mention of a seed."""
    known = seed_words()
    in_a_row = b"\x01" * _SEED_LENGTHS[-1] in bytes(map(known.__contains__, words))
    if not in_a_row and not _re(_SEED_MENTION, re.NOFLAG).search(lowered):
        return
    run: list[re.Match[str]] = []
    for match in _re("[a-z]+", re.NOFLAG).finditer(lowered):
        joined = not run or _re(r"[\s\d,;.)\"'`|-]{1,12}").fullmatch(lowered, run[-1].end(), match.start())
        if match[0] in known and joined:
            run.append(match)
            continue
        yield from _seeds_in(lowered, run)
        run = [match] if match[0] in known else []
    yield from _seeds_in(lowered, run)


def _seeds_in(lowered: str, run: Sequence[re.Match[str]]) -> Iterator[Span]:
    if not _SEED_LENGTHS[-1] <= len(run) <= _MAX_SEED_WORDS:
        return
    for length in _SEED_LENGTHS:
        for at in range(len(run) - length + 1):
            if _is_seed([match[0] for match in run[at : at + length]]):
                yield Span(run[at].start(), run[at + length - 1].end())
                return
    start = run[0].start()
    if _re(_SEED_MENTION).search(lowered, max(0, start - 80), start):
        yield Span(start, run[-1].end())


def _is_seed(words: Sequence[str]) -> bool:
    if len(set(words)) < len(words) // 2:
        return False
    number = 0
    for word in words:
        number = number << 11 | seed_words()[word]
    check_bits = len(words) // 3
    entropy = (number >> check_bits).to_bytes(check_bits * 4)
    return hashlib.sha256(entropy).digest()[0] >> (8 - check_bits) == number & ((1 << check_bits) - 1)


# --- Values that only their context shows to be secrets ---------------------------------------------------------------
# Most text in the place of a password is none: an identifier, a placeholder, a path, a message.

_PLACEHOLDER = (
    r"x{3,}|\*{2,}|\.{3}|<[^>]{0,80}>?|[${%[@].*|"
    r"(?:my|the|a|some|new|old|user|db|root|admin|test|fake)?[-_ ]?(?:password|passwd|passphrase|pass|pwd|secret|token|"
    r"api_?key|key|value|string|str|none|null|nil|true|false|undefined|empty|optional|required|username|user|passwort|"
    r"kennwort|contrase[nñ]a|senha)[-_ ]?\d{0,3}|"
    r"(?:in)?(?:valid|correct)|mismatch|wrong|missing|weak|hashed|success|required\|.*"
)
_PLACEHOLDER_PART = (
    r"your|example|placeholder|change_?me|redacted|dummy|insert|replace|todo|foobar|(?:secret|token|key)_here"
)
_CODE = r"(?s:[A-Za-z_][\w.]*(?:\(.*|\[.*|\.\w+.*|->.*|,|;)|[A-Za-z_]\w*\)+[,;:]*)"
# Paths consist of lower-case words; a key that happens to start with a slash does not.
_PATH = r"(?s:[\w+.-]{2,20}://.*|(?:\.{1,2}|~)?(?:/[A-Z]?[a-z0-9_.-]*){2,}|[A-Za-z]:[\\/].*)"
# Suffixes of names whose value is not the password: PASSWORD_MIN_LENGTH, reset_password_url.
_NOT_A_PASSWORD_NAME = (
    r"[_-](?:ur[il]|link|path|file|dir|name|id|len|length|min|max|size|count|type|field|label|regex|pattern|policy|rules?|"
    r"address|expir\w*|ttl|timeout|prompt|hint|placeholder|error|message|template|hashers)$"
)
_NOT_A_PASSWORD_PREFIX = r"(?:errors?|labels?|messages?|placeholders?|hints?|titles?|types?)(?:\[['\"]|[._])$"
# Descriptions of a password: its type, its length, how it is stored.
_DESCRIPTION = (
    r"[a-z]*(?:char|text|int|string|str|blob|binary|byte|bit|sha|md|base|hash|crypt|argon|kdf|hmac|rsa|aes|utf|oauth|saml|"
    r"totp|min|max|step|level|version|case|field|line|page|figure|table|type|ipv|iso)[-_]?\d+\w*|"
    r"\d+[-_]?(?:chars?|characters?|bits?|bytes?|days?|hours?|weeks?|months?|years?|digits?|letters?|times?)\w*|"
    r".*password.*"
)
# One-word predicates of a password: "is expired". Any other word after "is" counts as the password.
_PREDICATE = (
    r"\w*(?:ed|ing|[ai]ble|onal|ical|ive|ous|ful|less|tten|olen|oken|dden|ever|known|correct|valid|secure|safe)|"
    r"unique|random|default|common|simple|complex|strong|public|private|secret|different|important|enough|identical|"
    r"unclear|boolean|integer|always|people|access|nothing|myself|falsch|sicher|unsicher|richtig|gleich"
)
# Words of almost every sentence, but of no passphrase of random words.
_FUNCTION_WORD = r"an?|and|are|as|at|be|by|for|from|in|is|it|my|not?|of|on|or|our|that|the|then|this|to|with|your?"
# Nouns between "password" and "is": then the sentence is not about the password.
_OTHER_SUBJECT = (
    r"\b(?:polic(?:y|ies)|rules?|managers?|resets?|hash\w*|length|fields?|format|generators?|version|protocol|hint|history|"
    r"score|strength|expir\w*|requirements?|algorithm|encryption|standard|library|code|file|page|form|box|prompt)\b"
)
_CHANGE_VERB = r"\b(?:chang|set|reset|updat|switch|rotat|renam|turn)\w{0,4}\b"
_CLAUSE_END = (
    r"[\"'`*]{0,3}[.,;:!?)\"'`}\]]*(?:\s*$|\s*\n|[.,;:!?)\"'`}\]]\s|[<&]|"
    r"\s{1,2}(?:[-–—(&]|(?:and|but|so|for|on|if|in|btw|thanks|please|und|für)\b))"
)
# The end of one value in a list, `a=1&b=2`, `a=1;b=2`, `a: 1, b: 2`, or before a tag.
_NEXT_VALUE = r"[&;,|](?=[\w .-]{1,40}[=:])|<"
_CLOSING = ".,;:!?)\"'`"
_SHORTEST_QUOTED = 5  # characters; shorter quoted words are types, modes and prompts
_SHORTEST_KEY = 16  # characters of a key without a known prefix: half the usual length
_SHORTEST_UNQUOTED = 7  # characters of an unquoted password
_SHORTEST_WORD = 6  # letters of a password that is a plain word
_SHORTEST_NUMBER = 8  # digits of a numeric password: the minimum of wireless networks
_SHORTEST_LISTED = 4  # characters of a password in a list of logins, where it can't be anything else
_NAME_REACH = 40  # characters before the word "password" that may belong to its name, as in PROD_DB_
_AFTER_REACH = 60  # characters after a value in which others may follow

_WORDS = (
    r"pass(?:word|wd|wort|phrase|code|(?<![a-z]pass))|(?<![a-z])(?:pwd|pw(?![a-z]))|"
    r"kennwort|contrase[nñ]a|mot de passe|(?<![a-z])senha"
)
_OTHER_SCRIPTS = "пароль|密[码碼]|口令|パスワード|비밀번호"  # written without spaces around them
_NAME = (
    rf"(?:{_WORDS}|{_OTHER_SCRIPTS}|secret|token|credentials?|"
    r"(?:(?<=api)|(?<=api[_ -])|(?<=(?:access|client|secret))|(?<=(?:access|client|secret)[_ -])|(?<=private)|"
    r"(?<=private[_ -])|(?<=auth[_ -])|(?<=account[_-])|(?<=encryption[_ -])|(?<=signing[_ -]))key)"
    r"(?:[_-][a-z]{1,16}){0,2}"
)
_SIGN = r"=>|->|→|:=|=|:|："
_OWNER_WORD = r"\s{1,2}[\w'’-]{1,30}(?:[@./][\w-]{1,30}){0,4}"  # one word of "for the printer", "of ana@example.org"
_PREPOSITION = r"for|to|of|on|at|from|in|für|zum|zur|vom|von|pour|de|du|para|do|da"

_PASSWORD_KEYWORDS = ("pass", "pw", "kennwort", "contrase", "mot de p", "senha")
_SCRIPT_KEYWORDS = ("пароль", "Пароль", "密码", "密碼", "口令", "パスワード", "비밀번호")
_NAME_KEYWORDS = (*_PASSWORD_KEYWORDS, "secret", "token", "key", "credential", *_SCRIPT_KEYWORDS)


def _is_placeholder(value: str) -> bool:
    """Check for a placeholder, or a word for what is wrong with a password."""
    return bool(_re(_PLACEHOLDER_PART).search(value) or _re(_PLACEHOLDER).fullmatch(value))


def _is_mixed(value: str) -> bool:
    return bool(_re(r"\d").search(value) and _re(r"[^\W\d_]").search(value))


def _is_key_name(name: str) -> bool:
    """Check for the name of a key or token; all other names are of passwords."""
    is_key = name.lower().startswith(("secret", "token", "credential", "key"))
    return is_key and not _re("pass|pwd").search(name)


def _is_unquoted_password(value: str) -> bool:
    fits = _is_mixed(value) and len(value) >= _SHORTEST_UNQUOTED and not _re(r"[()\[\]{};]").search(value)
    return fits and not _re(_CODE).fullmatch(value)


def _is_bare_key(value: str) -> bool:
    fits = len(value) >= _SHORTEST_KEY and _re(r"[\w+/=.~:-]+").fullmatch(value) is not None
    return fits and _is_mixed(value) and not _re(_CODE).fullmatch(value)


def _is_word(value: str) -> bool:
    """Check for a plain word that can be a password and does not describe one."""
    return value.isalpha() and len(value) >= _SHORTEST_WORD and not _re(_PREDICATE).fullmatch(value)


def _is_hyphenated(value: str) -> bool:
    """Check for the form of `correct-horse-battery-staple`."""
    words = value.split("-")
    return len(words) >= 4 and all(word.isalpha() and word.islower() for word in words)


def _is_plain_password(value: str) -> bool:
    number = value.isdecimal() and len(value) >= _SHORTEST_NUMBER
    return number or _is_unquoted_password(value) or _is_hyphenated(value)


def _is_path(value: str) -> bool:
    return _re(_PATH).fullmatch(value) is not None


def _is_description(value: str) -> bool:
    return _re(_DESCRIPTION).fullmatch(value) is not None


def _ends_clause(match: re.Match[str], value: str) -> bool:
    """Require that the value ends its clause: "is 4711", not "is 4711 lines long"."""
    end = match.start("secret") + len(value)
    return _re(_CLAUSE_END).match(match.string[end : end + _AFTER_REACH]) is not None


def _text_before(match: re.Match[str], reach: int = _NAME_REACH) -> str:
    return match.string[max(0, match.start() - reach) : match.start()]


def _assigned(match: re.Match[str]) -> Iterator[Span]:
    """Accept `password = "tr0ub4dor"` but not `password = getpass()`: a literal, not a placeholder."""
    group = match.lastgroup or "bare"
    start, end = match.span(group)
    value = match[group] if group != "bare" else _trimmed(match[group])
    if not value or _is_not_the_value(match, value) or _is_placeholder(value):
        return
    is_key = _is_key_name(match["name"])
    if group == "bare":
        fits = _is_bare_key(value) if is_key else _is_bare_password(match, value)
        secret = fits and (not _is_on_next_line(match) or _fills_line(match, value))
    elif any(map(str.isspace, value)):
        secret = not is_key and any(_is_mixed(word) and len(word) >= _SHORTEST_UNQUOTED for word in value.split())
    else:
        secret = _is_mixed(value) and len(value) >= _SHORTEST_KEY if is_key else len(value) >= _SHORTEST_QUOTED
    if secret:
        yield Span(start, min(end, start + len(value)))


def _trimmed(value: str) -> str:
    """Cut what follows an unquoted value: the next value, a tag, the end of a sentence or call."""
    following = _re(_NEXT_VALUE).search(value)
    value = value[: following.start()] if following else value
    value = value.rstrip(",.|&*")
    return value.rstrip(")") if "(" not in value else value


def _is_not_the_value(match: re.Match[str], value: str) -> bool:
    """Check for a value that is not the password: a folder, an address, or a text about passwords."""
    if _is_path(value) or _re(_NOT_A_PASSWORD_NAME).search(match["name"]):
        return True
    if match["name"].lower() == "pwd" and value[0] in "/~":  # the working folder of a shell
        return True
    return _re(_NOT_A_PASSWORD_PREFIX).search(_text_before(match)) is not None


def _is_on_next_line(match: re.Match[str]) -> bool:
    before = match.string[max(match.start(), match.start("bare") - _NAME_REACH) : match.start("bare")]
    return "\n" in before[len(before.rstrip()) :]


def _fills_line(match: re.Match[str], value: str) -> bool:
    """Accept a value alone on its line; reject the first word of a sentence and another assignment: `HOST=db1`."""
    start = match.start("bare") + len(value)
    rest = match.string[start : start + _AFTER_REACH].split("\n", 1)[0]
    return not _re(r"[\w.-]{1,60}(?:[:=][^=]|:$)").match(value) and not rest.strip(" \t\r.,;`'\"*")


def _is_bare_password(match: re.Match[str], value: str) -> bool:
    if _is_in_connection_string(match, value):  # `Server=db;Password=tr0ub4dor;` is never code
        return len(value.rstrip(";")) >= _SHORTEST_QUOTED and not _re(r"[()\[\]{};]").search(value.rstrip(";"))
    if _re(_CODE).fullmatch(value):
        return False
    is_word = _is_word(value) and match["sign"] == ":" and _fills_line(match, value) and _follows_words(match)
    is_environment = len(value) >= _SHORTEST_QUOTED and _is_environment(match)
    return _is_unquoted_password(value) or is_word or is_environment or _is_hyphenated(value)


def _follows_words(match: re.Match[str]) -> bool:
    """Accept "wifi password: …", which people write, but not `password: …`, mostly a type or a setting."""
    return _re(r"(?:^|\n)[^\W\d_][\w'’ -]{0,38} $").search(_text_before(match)) is not None


def _is_in_connection_string(match: re.Match[str], value: str) -> bool:
    if match["sign"] != "=" or match.end("sign") != match.start("bare"):
        return False
    end = match.start("bare") + len(value.rstrip(";"))
    after = match.string[end : end + _AFTER_REACH]
    before = _re(r"[\w ]=[^;=\s]{1,40};\s?$").search(_text_before(match))
    return bool(before or _re(r";\s?[A-Za-z][\w ]{1,30}=").match(after))


def _is_environment(match: re.Match[str]) -> bool:
    """Check for a line of an environment file, such as PGPASSWORD=...: the whole name is in upper case."""
    if match["sign"] != "=" or not match["name"].isupper():
        return False
    return not any(map(str.islower, re.split(r"[^\w.-]", _text_before(match))[-1]))


def _if_stated(match: re.Match[str], value: str) -> bool:
    """Accept "the password is Tr0ub4dor" but not "the password is wrong" or "the password is sha256"."""
    if _is_description(value):
        return False
    odd = any(char in "!@#$%^&*?_+=~" for char in value) or (value.lower() != value and value.upper() != value)
    if len(value) > _SHORTEST_QUOTED and _is_mixed(value) and odd:
        return True
    if _re(_OTHER_SUBJECT).search(match["of"] or ""):
        return False  # "the password policy is iso27001"
    to = (match["verb"] or "").lower() == "to"  # no verb: "the password's sunflower"
    if _is_word(value) and not to:
        return match.string[match.start("secret") - 1] in "\"'`" or _ends_clause(match, value)
    if not _is_plain_password(value) or (to and not _re(_CHANGE_VERB).search(_text_before(match))):
        return False
    return _ends_clause(match, value)


def _if_named_for(match: re.Match[str], value: str) -> bool:
    """Accept "password for the printer: hunter2xyz" but not "password for the printer: see page12"."""
    fits = _is_plain_password(value) and not _is_description(value) and not _is_path(value)
    return fits and _ends_clause(match, value)


def _if_passphrase(_match: re.Match[str], value: str) -> bool:
    """Accept "correct horse battery staple" but not "stored in the vault": no verb first, no function word."""
    words = value.split()
    return not _re(r"\w+(?:ed|ing)|see|ask").fullmatch(words[0]) and not any(map(_re(_FUNCTION_WORD).fullmatch, words))


def _if_option_value(_match: re.Match[str], value: str) -> bool:
    """Accept `--password hunter2xyz` but not `--password sha256`."""
    return _is_mixed(value) and len(value) > _SHORTEST_QUOTED and not _is_description(value)


def _if_beside_user(match: re.Match[str], value: str) -> bool:
    """Accept "username ana, password hunter2xyz" but not "the password hunter2xyz fell for"."""
    beside = _re(r"(?:user(?:name)?|login|e-?mail|account|benutzer|@)[^\n]{0,60}$").search(_text_before(match, 80))
    return beside is not None and _if_option_value(match, value)


def _if_login(match: re.Match[str], value: str) -> bool:
    """Accept `login: ana@example.org / hunter2xyz` but not `login: ana@example.org / Berlin`."""
    word = "@" in match["user"] and _is_word(value) and value.islower() and _ends_clause(match, value)
    return not _is_path(value) and (word or _is_unquoted_password(value))


def _if_login_line(match: re.Match[str], value: str) -> bool:
    """Require a line of only an address and a password: `ana@example.org:hunter2xyz`."""
    line = _text_before(match, 80).rpartition("\n")[2]
    return "/" not in value and bool(_re(r"[\w.+-]{1,64}").fullmatch(line)) and _is_unquoted_password(value)


def _if_tagged(match: re.Match[str], value: str) -> bool:
    shortest = _SHORTEST_QUOTED if _re("pass|pwd").search(match["name"]) else _SHORTEST_KEY
    return len(value) >= shortest and _is_mixed(value) and not _is_path(value)


def _code_before(match: re.Match[str]) -> Iterator[Span]:
    """Find the number before the label: "482913 is your verification code", "use 482913 as your login code"."""
    pattern = (
        rf"(?<![\w.-])(?P<secret>{_ONE_TIME})\s{{1,2}}(?:is|as|ist)\s{{1,2}}(?:your|the|my|ihr|dein)"
        r"(?:\s{1,2}[\w-]{1,30}){0,2}?\s{1,2}[\w-]{0,30}[ -]?$"
    )
    if found := _re(pattern).search(match.string, max(0, match.start() - 100), match.start()):
        yield Span(*found.span("secret"))


def _cookie_values(match: re.Match[str]) -> Iterator[Span]:
    """Find random values and session ids, not `theme=dark`."""
    for pair in _re(r"(?P<name>[\w.-]{1,60})=(?P<secret>[^;\s,]{8,2000})").finditer(match.string, *match.span("pairs")):
        value = pair["secret"]
        is_session = _re("sess|sid|auth|token|login|jwt").search(pair["name"]) is not None
        if _is_mixed(value) and (is_session or len(value) >= _SHORTEST_KEY) and not _is_placeholder(value):
            yield Span(*pair.span("secret"))


def _unless_part_number(match: re.Match[str], _value: str) -> bool:
    about = _re(r"\b(?:part|order|item|ref|model|serial|invoice|case|ticket|sku|no|nr|number|#)[.:# ]{0,3}$")
    return about.search(_text_before(match)) is None


# --- Tables in Markdown, HTML or separated values: the cell beside a name, or the column below it ---------------------
# In a list of logins, with a column of users or addresses, every value below "password" is one.

_LINE_REACH = 1000  # characters of a line that may head a table
_ROW_REACH = 4000  # characters of a row
_MAX_ROWS = 5000  # below one header
_TITLE = r"[^.!?\n]{0,60}"  # of a column; not a sentence
_NAME_CELL = rf"(?:[^|\n]{{0,60}}[\s_.*`-])?[*`_]{{0,3}}(?P<name>{_NAME})[*`_\"' ]{{0,4}}"
_LOGIN_COLUMN = r"user|login|e-?mail|url|account|benutzer|konto|usuario|utilisateur"
_TABLE_RULE = r"[ \t>]{0,8}\|[ \t:|-]{0,1000}-[ \t:|-]{0,1000}"  # between the header of a Markdown table and its rows
_MARKUP = "*`_\"' \t"
_HTML_ROW = r"<tr\b[^<>]{0,300}>(?P<cells>(?:[^<]|<(?!/?tr\b|/?table\b)){0,4000})"
_HTML_CELL = r"<t[hd]\b[^<>]{0,300}>(?P<cell>(?:[^<]|<(?!/?t[hd]\b)){0,2000})"
_HTML_TEXT = r"\s{0,300}(?:<[^<>]{0,200}>\s{0,300}){0,8}(?P<text>[^<>]{0,300})"
_HTML_BETWEEN = r"\s{0,300}(?:</?(?:tr|tbody|thead)\b[^<>]{0,100}>\s{0,300}){0,4}(?=<tr\b)"

Cells = Sequence[tuple[int, int]]  # start and end of each cell in the text


class _Row(NamedTuple):
    """A row of a table: its cells, and what they say as the head of a table."""

    cells: Cells
    columns: Sequence[tuple[int, str]]  # the number and the text of each cell that names a password
    is_head: bool  # no cell is empty or a sentence
    is_listed: bool  # it also names users or addresses


def _in_lines(match: re.Match[str]) -> Iterator[Span]:
    """Read the line of a name as a row of a Markdown table or of separated values."""
    text = match.string
    reach = max(0, match.start() - _LINE_REACH)
    start = text.rfind("\n", reach, match.start()) + 1
    end = _line_end(text, start)
    if (reach and start == 0) or end - start > _LINE_REACH:
        return
    separator, head = _row(text[start:end])
    if not head.columns or start + head.cells[head.columns[0][0]][1] < match.start():  # another match of this line
        return
    below, piped = _next_line(text, end), separator == "|"
    ruled = piped and _re(_TABLE_RULE).fullmatch(text, *below) is not None
    if ruled:
        below = _next_line(text, below[1])
    if not piped and not head.is_head:
        return
    beside = not ruled and (piped or (len(head.cells) == 2 and head.columns[0][0] == 0))
    rows = () if piped and not ruled else _rows_below(text, below, separator, len(head.cells))
    yield from _secrets_of_table(text, (start, head), rows, beside=beside)


def _rows_below(text: str, line: tuple[int, int], separator: str, width: int) -> Iterator[tuple[int, _Row]]:
    while line[0] < line[1] <= line[0] + _ROW_REACH and not _re(_TABLE_RULE).fullmatch(text, *line):
        _, row = _row(text[slice(*line)], separator)
        if not row.cells or (separator != "|" and len(row.cells) != width):
            return
        yield line[0], row
        line = _next_line(text, line[1])


@lru_cache(maxsize=4)  # a line with several names is read once for each
def _row(line: str, separator: str = "") -> tuple[str, _Row]:
    """Split a line at its separator: `|` if the line starts with one, else the most frequent of `,`, `;` and tab."""
    piped = line.lstrip(" \t>").startswith("|")
    separator = separator or ("|" if piped else max(",;\t", key=line.count))
    if separator not in line or (separator == "|" and not piped):
        return separator, _read_row(line, ())
    cells: list[tuple[int, int]] = []
    at = line.find("|") + 1 if separator == "|" else 0
    while at <= len(line):
        quoted = _re(r'"(?P<inner>(?:[^"\n]|""){0,1000})"').match(line, at)
        if quoted and line[quoted.end() : quoted.end() + 1] in ("", separator):
            cells.append(quoted.span("inner"))
            at = quoted.end() + 1
            continue
        found = line.find(separator, at)
        cells.append((at, len(line) if found < 0 else found))
        at = cells[-1][1] + 1
    if separator == "|" and not line[slice(*cells[-1])].strip():
        cells.pop()
    row = _read_row(line, cells)
    if separator != "|":
        is_head = row.is_head and all(first < last for first, last in cells)
        spaced = any(line[first].isspace() for first, last in cells if first < last)
        row = row._replace(is_head=is_head, is_listed=row.is_listed and not spaced)
    return separator, row


def _read_row(text: str, cells: Cells) -> _Row:
    titles = [text[first:last].strip(" \t\r\n:") for first, last in cells]
    named = [_re(_NAME_CELL).fullmatch(title) for title in titles]
    columns = [(place, found["name"]) for place, found in enumerate(named) if found]
    is_listed = any(_re(_LOGIN_COLUMN).search(title) for title, found in zip(titles, named, strict=True) if not found)
    return _Row(cells, columns, bool(titles) and all(map(_re(_TITLE).fullmatch, titles)), is_listed)


def _in_html_rows(match: re.Match[str]) -> Iterator[Span]:
    rows = _html_rows(match)
    head = next(rows)
    if head[1].columns and head[1].is_head:
        yield from _secrets_of_table(match.string, head, rows, beside=True)


def _html_rows(row: re.Match[str] | None) -> Iterator[tuple[int, _Row]]:
    """Read a row and those below it."""
    while row:
        cells = [cell.span("cell") for cell in _re(_HTML_CELL).finditer(row.string, *row.span("cells"))]
        words = [_re(_HTML_TEXT).match(row.string, *span) for span in cells]
        shown = [one.span("text") if one else span for one, span in zip(words, cells, strict=True)]
        yield 0, _read_row(row.string, shown)
        between = _re(_HTML_BETWEEN).match(row.string, row.end())
        row = _re(_HTML_ROW).match(row.string, between.end()) if between else None


def _secrets_of_table(
    text: str, head: tuple[int, _Row], rows: Iterable[tuple[int, _Row]], *, beside: bool
) -> Iterator[Span]:
    """Find the values beside a name in its row, else below it in its column; a row of names begins another table."""
    columns, listed = head[1].columns, head[1].is_listed
    found = list(_secrets_in(text, *head, columns, 1)) if beside else []
    yield from found
    for start, row in () if found else islice(rows, _MAX_ROWS):
        if row.columns and row.is_head:
            return
        yield from _secrets_in(text, start, row, columns, 0, listed=listed)


def _secrets_in(
    text: str, start: int, row: _Row, columns: Sequence[tuple[int, str]], step: int, *, listed: bool = False
) -> Iterator[Span]:
    for place, name in columns:
        first, last = row.cells[place + step] if place + step < len(row.cells) else (0, 0)
        cell = text[start + first : start + last].rstrip("\r\n")
        value = cell.strip(_MARKUP)
        if value and _is_in_cell(name, value, listed=listed):
            first += start + len(cell) - len(cell.lstrip(_MARKUP))
            yield Span(first, first + len(value))


def _is_in_cell(name: str, value: str, *, listed: bool) -> bool:
    if _is_placeholder(value) or any(map(str.isspace, value)):
        return False
    if _re(_NOT_A_PASSWORD_NAME).search(name) or _is_path(value) or _is_description(value):
        return False
    if _is_key_name(name):
        return _is_bare_key(value)
    return len(value) >= _SHORTEST_LISTED if listed else _is_unquoted_password(value)


def _next_line(text: str, end: int) -> tuple[int, int]:
    start = end + 1 + text.startswith("\r\n", end)
    return start, _line_end(text, start)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return (end if end >= 0 else len(text)) - (end > start and text[end - 1] == "\r")


# --- The table --------------------------------------------------------------------------------------------------------

_W, _A, _H, _B58 = "[A-Za-z0-9_-]", "[A-Za-z0-9]", "[0-9a-f]", "[1-9A-HJ-NP-Za-km-z]"
_ONE_TIME = r"[A-Z]-\d{6}|\d{3}[ -]\d{3}|\d{4,8}"
_LINK = (
    r"[\"'`*]{0,3}(?:\s{0,2}(?:=>|->|→|:=|[=:：])|\s{1,2}(?:is|ist|lautet|es|est)(?:\s{1,2}(?:now|still|jetzt))?:?)"
    r"\s{0,3}[\"'`*]{0,3}"
)


def _token(name: str, pattern: str, *keywords: str, example: str = "", check: Check | None = None) -> Rule:
    """Make a rule for a token with a fixed form, without a letter or digit on either side."""
    whole = rf"(?<![A-Za-z0-9_-])(?:{pattern})(?![A-Za-z0-9_-])"
    shown = example or " ".join(f"{keyword}…" for keyword in keywords)
    return Rule(name, shown, keywords, whole, check, in_long_word=True, anchored=not keywords[0].startswith(_INFIXES))


def _words(
    name: str, example: str, keywords: Iterable[str], pattern: str, check: Check | None = None, closing: str = ""
) -> Rule:
    """Make a rule for a value after certain words, in upper or lower case; a placeholder is no value."""

    def accepts(match: re.Match[str], value: str) -> bool:
        return not _is_placeholder(value) and (check is None or check(match, value))

    return Rule(name, example, tuple(keywords), pattern, accepts, ignore_case=True, closing=closing)


def _number(
    name: str, example: str, label: str, value: str, keywords: str, *, bare: str = "", personal: bool = False
) -> Rule:
    """Make a rule for a number after a label; after the labels in `bare` it needs no "is" or sign."""
    whose = rf"(?:\s{{1,2}}(?:{_PREPOSITION})(?:{_OWNER_WORD}){{1,4}}?)?"
    pattern = rf"(?:{label}){whose}(?:{_LINK}|(?:{bare or '(?!)'})\s)(?P<secret>{value})(?![\w-])"
    kinds = tuple(keywords.split("|"))
    return Rule(name, example, kinds, pattern, _ends_clause, ignore_case=True, personal=personal)


def _after(words: str) -> str:
    """Make a lookbehind for one of these words, with or without a space or hyphen."""
    return "(?:" + "|".join(f"(?<={word}[ -])|(?<={word})" for word in words.split()) + ")"


_INFIXES = ("-us", ".atlas", "Q~")  # keywords that are not at the start of their token
_DOORS = _after("alarm door gate garage safe lock entry access keypad building lockbox house tür tor zugangs")
_LOGINS = _after(
    "verification one-time onetime login sign-in signin auth authentication 2fa mfa backup recovery bestätigungs einmal"
)

# fmt: off
RULES: tuple[Rule, ...] = (
    # If the end of the key is missing: line by line, with the prefixes of quotes, diffs and listings.
    Rule("private key", "-----BEGIN RSA PRIVATE KEY-----…", ("-----BEGIN ",),
         r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
         r"(?:(?:[^-]|-(?!----)){40,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
         r"|(?:[\s>|+#*]{0,8}[A-Z][A-Za-z-]{1,30}: [^\n]{1,100}){0,4}"
         r"(?:(?:\\[nr]|[\s>|+#*:\d→-]){0,16}[A-Za-z0-9+/=]{40,200}){1,400}"
         r"(?:(?:\\[nr]|[\s>|+#*:\d→-]){0,16}[A-Za-z0-9+/]{1,200}={1,2})?)"),
    # Tokens with a prefix of their service
    _token("anthropic key", rf"sk-ant-{_W}{{20,250}}", "sk-ant-"),
    _token("openrouter key", rf"sk-or-v1-{_H}{{64}}", "sk-or-"),
    _token("openai key", rf"sk-(?:proj-|svcacct-|admin-)?{_W}{{20,250}}", "sk-", check=_if_random),
    _token("api key", rf"sk-{_H}{{32,64}}", "sk-", check=_if_digit),
    _token("aws access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _token("github token", rf"gh[pousr]_{_A}{{36,251}}|github_pat_[A-Za-z0-9_]{{22,255}}",
           "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", check=_if_digit),
    _token("gitlab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w.-]{20,300}", "gl",
           example="glpat-…", check=_if_digit),
    _token("slack token", rf"xox[abceoprs](?:-|\.xox[bp]-){_W}{{15,250}}|xapp-\d-{_W}{{20,250}}", "xox", "xapp-"),
    _token("google key", rf"AIza{_W}{{35}}|GOCSPX-{_W}{{28}}|ya29\.{_W}{{20,1000}}", "AIza", "GOCSPX-", "ya29."),
    _token("facebook token", rf"EAA{_A}{{90,400}}", "EAA", check=_if_mixed),
    _token("stripe key", rf"[spr]k_(?:live|test)_{_A}{{12,250}}", "sk_", "pk_", "rk_", example="sk_live_…"),
    _token("webhook secret", r"whsec_[A-Za-z0-9+/]{24,100}=?", "whsec_"),
    _token("hugging face token", rf"(?:hf|api_org)_{_A}{{30,60}}", "hf_", "api_org_", check=_if_mixed),
    _token("npm token", rf"npm_{_A}{{36}}", "npm_"),
    _token("pypi token", rf"pypi-{_W}{{50,1000}}", "pypi-"),
    _token("sendgrid key", rf"SG\.{_W}{{16,32}}\.{_W}{{32,64}}", "SG."),
    _token("twilio key", rf"(?:SK|AC){_H}{{32}}", "SK", "AC"),
    _token("mailgun key", rf"key-{_H}{{32}}", "key-"),
    _token("mailchimp key", rf"{_H}{{32}}-us\d{{1,2}}", "-us", example="…-us14"),
    _token("digitalocean token", rf"do[opr]_v1_{_H}{{64}}", "doo_v1_", "dop_v1_", "dor_v1_"),
    _token("shopify token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "shp", example="shpat_…"),
    _token("square token", rf"sq0[a-z]{{3}}-{_W}{{22,60}}|EAAA{_W}{{60}}", "sq0", "EAAA"),
    _token("groq key", rf"gsk_{_A}{{40,80}}", "gsk_"),
    _token("xai key", rf"xai-{_A}{{60,120}}", "xai-"),
    _token("perplexity key", rf"pplx-{_A}{{40,80}}", "pplx-"),
    _token("replicate token", rf"r8_{_A}{{32,60}}", "r8_"),
    _token("notion token", rf"(?:ntn_|secret_){_A}{{40,60}}", "ntn_", "secret_", check=_if_mixed),
    _token("linear key", rf"lin_(?:api|oauth)_{_A}{{32,80}}", "lin_api_", "lin_oauth_"),
    _token("figma token", rf"fig[dou]_{_W}{{36,60}}", "figd_", "figo_", "figu_"),
    _token("vault token", rf"hv[sbr]\.{_W}{{24,300}}", "hvs.", "hvb.", "hvr."),
    _token("databricks token", rf"dapi{_H}{{32}}(?:-\d)?", "dapi"),
    _token("docker token", rf"dckr_[op]at_{_W}{{20,60}}", "dckr_", example="dckr_pat_…"),
    _token("grafana token", r"gl(?:sa|c)_[A-Za-z0-9_+/=]{32,400}", "glsa_", "glc_"),
    _token("sentry token", r"sntry[su]_[A-Za-z0-9_+/=]{40,400}", "sntry", example="sntrys_…"),
    _token("supabase token", rf"sb(?:p|_secret)_{_W}{{30,80}}", "sbp_", "sb_secret_"),
    _token("airtable token", rf"pat{_A}{{14}}\.{_H}{{64}}", "pat"),
    _token("postman key", rf"PMAK-{_H}{{24}}-{_H}{{34}}", "PMAK-"),
    _token("new relic key", rf"NR(?:AK|JS|II)-{_W}{{20,60}}", "NRAK-", "NRJS-", "NRII-"),
    _token("terraform token", rf"{_A}{{14}}\.atlasv1\.{_W}{{60,80}}", ".atlasv1.", example="….atlasv1.…"),
    _token("planetscale token", r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,80}", "pscale_", example="pscale_tkn_…"),
    _token("atlassian token", rf"AT[AC]TT3{_W}{{150,250}}(?:=[0-9A-F]{{8}})?", "ATATT3", "ATCTT3"),
    _token("azure secret", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", "Q~", example="…8Q~…"),
    _token("cloudflare key", rf"v1\.0-{_H}{{24}}-{_H}{{146}}", "v1.0-"),
    _token("contentful token", rf"CFPAT-{_W}{{43}}", "CFPAT-"),
    _token("doppler token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,60}", "dp.", example="dp.pt.…"),
    _token("dynatrace token", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}", "dt0", example="dt0c01.…"),
    _token("easypost key", rf"EZ[AT]K{_A}{{54}}", "EZAK", "EZTK"),
    _token("flutterwave key", rf"FLWSECK(?:_TEST)?-{_A}{{12,64}}(?:-X)?", "FLWSECK"),
    _token("fly token", r"f(?:m[12][ar]?|o1)_[A-Za-z0-9+/=_-]{40,2000}", "fm1", "fm2", "fo1_", example="fo1_… fm2_…"),
    _token("heroku key", rf"HRKU-AA{_W}{{58}}", "HRKU-"),
    _token("hubspot token", rf"pat-(?:na|eu)\d-{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}", "pat-na", "pat-eu"),
    _token("jfrog token", rf"AKCp{_A}{{69}}", "AKCp"),
    _token("langsmith key", rf"lsv2_(?:pt|sk)_{_H}{{32}}_{_H}{{10}}", "lsv2_"),
    _token("mapbox token", rf"sk\.eyJ{_W}{{50,250}}\.{_W}{{20,40}}", "sk.eyJ"),
    _token("netlify token", rf"nfp_{_A}{{36,60}}", "nfp_"),
    _token("nuget key", r"oy2[a-z0-9]{43}", "oy2", check=_if_digit),
    _token("1password token", r"ops_eyJ[A-Za-z0-9+/]{200,2000}={0,2}", "ops_eyJ"),
    _token("openshift token", rf"sha256~{_W}{{43}}", "sha256~"),
    _token("prefect key", rf"pn[bu]_{_A}{{36}}", "pnu_", "pnb_"),
    _token("pulumi token", rf"pul-{_H}{{40}}", "pul-"),
    _token("readme key", rf"rdme_{_A}{{70}}", "rdme_"),
    _token("rubygems key", rf"rubygems_{_H}{{48}}", "rubygems_"),
    _token("sendinblue key", rf"xkeysib-{_H}{{64}}-{_A}{{16}}", "xkeysib-"),
    _token("shippo token", rf"shippo_(?:live|test)_{_H}{{40}}", "shippo_"),
    _token("sourcegraph token", rf"sgp_(?:{_H}{{16}}_|local_)?{_H}{{40}}", "sgp_"),
    _token("typeform token", r"tfp_[A-Za-z0-9_.=-]{44,60}", "tfp_"),
    _token("discord token", rf"[MNO]{_W}{{23,27}}\.{_W}{{6}}\.{_W}{{27,40}}", "M", "N", "O",
           example="M….….…", check=_if_mixed),
    _token("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", "AGE-SECRET-KEY-"),
    _token("bitcoin key", rf"5{_B58}{{50}}|[KL]{_B58}{{51}}", "5", "K", "L", check=_if_base58check),
    _token("bitcoin key", rf"[xyz]prv{_A}{{107}}", "xprv", "yprv", "zprv"),
    _token("jwt", rf"eyJ{_W}{{10,4000}}\.eyJ{_W}{{10,8000}}(?:\.{_W}{{10,2000}})?", "eyJ"),
    # Keys and tokens inside URLs and settings
    Rule("slack webhook", "https://hooks.slack.com/services/…", ("hooks.slack.com",),
         r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,200})", in_long_word=True),
    Rule("discord webhook", "https://discord.com/api/webhooks/…", ("discord.com", "discordapp.com"),
         r"discord(?:app)?\.com/api/webhooks/\d{15,22}/(?P<secret>[A-Za-z0-9_-]{50,100})", in_long_word=True),
    Rule("telegram bot token", "1234567890:AA…", (":AA",),  # URLs have it after "bot"
         rf"(?<!\d)\d{{8,10}}:AA{_W}{{33}}(?!{_W})", anchored=False, in_long_word=True),
    Rule("azure key", "AccountKey=…", ("AccountKey=", "SharedAccessKey="),
         r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})", in_long_word=True),
    Rule("signed url", "?X-Amz-Signature=…", ("sig=", "X-Amz-", "X-Goog-"),
         r"(?<=[?&])(?:sig|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature)="
         r"(?P<secret>[A-Za-z0-9%+/=_-]{40,2000})", in_long_word=True),
    Rule("aws secret key", "the aws secret is …", ("aws", "AWS", "cretAccessKey", "cret access key", "cret_access_key"),
         r"(?<![A-Za-z0-9/+_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])(?!\.\w)", _if_aws_secret, anchored=False),
    Rule("seed phrase", "12 to 24 words of BIP-39, with a right checksum or a keyword", find=_seed_phrases),
    Rule("cookie", "Cookie: sessionid=…", ("cookie",),
         r"cookie2?\\?[\"']?\s{0,2}[:=]\s{0,2}\\?[\"']?"
         r"(?P<pairs>[\w.-]{1,60}=[^;\s\"'\\]{0,1000}(?:; ?[\w.-]{1,60}(?:=[^;\s\"'\\]{0,1000})?){0,40})",
         ignore_case=True, each=_cookie_values),
    _words("authorization", "Authorization: Basic …", ("authorization",),
           r"""authorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:bearer|basic|token|digest|apikey|bot)\s{1,3}"""
           r"(?P<secret>[A-Za-z0-9+/=._~-]{8,8000})"),
    _words("bearer token", "bearer …", ("bearer",),
           r"\bbearer\s{1,3}(?P<secret>[A-Za-z0-9+/=._~-]{20,8000})", lambda _, value: _is_mixed(value)),
    _words("password in url", "postgres://ana:…@db", ("://",),
           r"://[^\s/:@\"'<>]{0,100}:(?P<secret>[^\s/\"'<>]{2,200})@[A-Za-z0-9\[]"),
    # Passwords. After the name comes a sign, in Markdown perhaps bold; or `value: ...` follows `name: DB_PASSWORD`. The
    # value may be on the next line, or after an empty one.
    Rule("password", "password: … api_key=… wifi password: sunflower", _NAME_KEYWORDS,
           rf"(?P<name>{_NAME})\\?[\"'`*_]{{0,3}}(?:\s{{0,3}}(?P<sign>{_SIGN})[*_]{{0,3}}|"
           r",?\s{1,40}[\"']?value[\"']?\s{0,2}[:=])\s{0,3}(?:\r?\n[ \t]{0,20}){0,2}"
           r"(?:\\?\"(?P<double>[^\"\n\\]{1,250})(?=\\?\")|\\?'(?P<single>[^'\n\\]{1,250})(?=\\?')|"
           r"\\?`(?P<tick>[^`\n\\]{1,250})(?=\\?`)|(?P<bare>[^\s\"'`\\>]{1,250}))", ignore_case=True, each=_assigned),
    _words("password", "<password>…</password>", ("password>", "passwd>", "passwort>", "secret>", "token>", "key>"),
           r"(?P<name>password|passwd|passwort|secret|token|key)>\s{0,3}(?P<secret>[^<>\s]{5,250})\s{0,3}</",
           _if_tagged),
    _words("password", "--password …", ("pass", "token", "api", "secret"),
           r"(?<=-)(?:password|passwd|pass|token|api-?key|secret)[ =][\"']?(?P<secret>[^\s\"'<>$%{}()\[\]]{6,250})",
           _if_option_value, _CLOSING),
    Rule("passphrase", "my passphrase is correct horse …", ("passphrase",),
           rf"passphrase(?:\s{{1,2}}(?:{_PREPOSITION})(?:{_OWNER_WORD}){{1,4}}?)?{_LINK}"
           r"(?P<secret>[a-z]{3,12}(?: [a-z]{3,12}){2,9})(?=[\"'`.,;!]{0,3}(?:\s{0,3}$|\s{0,3}\n|[\"'`.,;!]\s))",
           _if_passphrase, ignore_case=True),
    _words("password", "my password is sunflower", _PASSWORD_KEYWORDS,
           r"\b(?:password|passphrase|passcode|passwort|kennwort|contrase[nñ]a|mot de passe|senha|pwd|pw)"
           rf"(?P<of>(?:{_OWNER_WORD}){{0,4}}?)(?:\s{{1,2}}(?P<verb>is|was|to|ist|lautet|es|est|é)|['’]s)"
           r"(?:\s{1,2}(?:now|still|currently|again|jetzt|ahora))?:?\s{1,2}[\"'`]?(?P<secret>[^\s\"'`]{5,100})",
           _if_stated, _CLOSING),
    _words("password", "password for the printer: …", _PASSWORD_KEYWORDS,
           rf"(?:{_WORDS})(?:\s{{1,2}}(?:{_PREPOSITION})(?:{_OWNER_WORD}){{1,5}}?|\s{{0,2}}\([^()\n]{{1,60}}\))"
           rf"\s{{0,2}}(?:{_SIGN}|\s[-–—](?=\s))[*_]{{0,3}}\s{{0,3}}[\"'`]?(?P<secret>[^\s\"'`\\]{{5,100}})",
           _if_named_for, _CLOSING),
    _words("password", "username ana, password …", _PASSWORD_KEYWORDS,
           r"\b(?:password|passwort|kennwort|pass|pwd|pw)[ \t]{1,2}[\"'`]?(?P<secret>[^\s\"'`]{6,100})",
           _if_beside_user, _CLOSING),
    _words("password", "密码是…", _SCRIPT_KEYWORDS,
           rf"(?:{_OTHER_SCRIPTS})(?P<of>)\s{{0,2}}(?P<verb>是|为|為|は|는|은|—|-)\s{{0,2}}"
           r"[\"'`「“]?(?P<secret>[!-~]{5,100})", _if_stated, _CLOSING),
    _words("password", "login: ana@example.org / …", ("login", "cred", "zugang", "account"),
           r"(?<!\w)(?:logins?|creds|credentials|zugang(?:sdaten)?|account)(?:\s{0,2}[:=]|\s{1,2}(?:is|are|ist|sind))\s{1,3}"
           r"(?P<user>[\w.+-]{1,60}(?:@[\w.-]{1,60})?)(?:\s{0,2}[/|]\s{0,2}|:)(?P<secret>[^\s\"'`]{4,100})",
           _if_login, _CLOSING),
    _words("password", "ana@example.org:…", ("@",),
           r"@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4}:(?P<secret>[^\s:]{6,100})(?=\s|$)", _if_login_line),
    _words("password", "machine example.org login ana password …", ("machine",),
           r"\bmachine\s{1,4}[\w-]{1,63}\.\S{1,200}\s{1,8}login\s{1,4}\S{1,200}\s{1,8}password\s{1,4}(?P<secret>\S{1,200})"),
    Rule("password", "curl -u ana:… sshpass -p … mysql -p… docker login -p … jdbc:oracle:thin:scott/…@db",
         ("curl", "sshpass", "mysql", "mariadb", "redis-cli", "login ", "ldap", "zip ", "sqlcmd", "sqlplus", "jdbc:o"),
         r"(?:\bcurl\b(?:[^\nc]|c(?!url )){0,200}?\s(?:-u|--user)[ =]?[\"']?[\w.@+-]{1,100}:|\bsshpass\s{1,4}-p\s{0,3}|"
         r"\b(?:mysql|mariadb)[\w-]{0,8}(?:\s[^\n]{0,120}?)?\s-p(?=\S)|\bredis-cli\s[^\n]{0,120}?(?:-a|--pass)\s{1,3}|"
         r"(?:(?<=docker )|(?<=podman )|(?<=helm registry )|(?<=oc )|(?<=az ))login\s[^\n]{0,120}?-p\s{1,3}|"
         r"\bldap[a-z]{3,8}\s[^\n]{0,120}?-w\s{1,3}|(?:\b|(?<=\bun))zip\s[^\n]{0,60}?-P\s{1,3}|"
         r"\bsqlcmd\s[^\n]{0,120}?-P\s{0,3}|\bsqlplus\s[^\n/]{0,60}/|\bjdbc:oracle:[a-z]{2,5}:[^\s/:@]{1,60}/)"
         r"[\"']?(?P<secret>[^\s\"'$<{@/-][^\s\"'@]{2,200})", lambda _, value: not _is_placeholder(value)),
    Rule("password", "a table with a row or column `password`", _NAME_KEYWORDS,
         rf"{_NAME}[\"'`*_: ]{{0,5}}[ \t]{{0,60}}(?=[|,;\t]|\r?\n|$)", ignore_case=True, each=_in_lines),
    Rule("password", "the same in HTML", ("<tr",), _HTML_ROW, ignore_case=True, each=_in_html_rows),
    # Codes that only their label identifies
    _number("pin", "my PIN is …", r"(?<![\w-])pin(?:[ -]?(?:code|nummer|number))?", r"\d{4,6}", "pin",
            bare=r"(?<=sim pin)|(?<=card pin)|(?<=bank pin)"),
    _number("access code", "the alarm code is …", rf"{_DOORS}(?:code|combination|combo)",
            r"[#*]?\d{4,8}[#*]?|\d{2}(?:-\d{2}){2}", "code|combination|combo"),
    _number("card security code", "CVC …", r"(?<!\w)(?:cvc2?|cvv2?|csc)|(?<=security )code", r"\d{3,4}",
            "cvc|cvv|csc|code", bare=r"(?<=cvc)|(?<=cvv)"),
    _number("one-time code", "your verification code is …",
            rf"{_LOGINS}(?:code|password)|(?<=security )code|(?<![\w-])(?:otp|tan)",
            rf"{_ONE_TIME}|(?=[a-z0-9-]{{0,12}}\d)[a-z0-9]{{4}}(?:-[a-z0-9]{{4}}){{1,3}}", "code|otp|tan|password"),
    Rule("one-time code", "… is your login code", ("code", "password"),
         rf"(?:{_LOGINS}|(?<=security ))(?:code|password)\b", ignore_case=True, each=_code_before),
    Rule("card number", "4… (network's prefix and check digit)", ("2", "3", "4", "5", "6"),
         r"[2-6](?<![\w.+-].)(?<!\d .)(?:\d{3}([ -]?)\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|\d{3}([ -]?)\d{6}\2\d{4,5})"
         r"(?![\w-])(?!\.\d)(?! \d{4})", _if_card, anchored=False),
    # Personal numbers
    Rule("iban", "DE… (length and check digits)", (),
         r"(?<![a-z0-9])[a-z][a-z]\d\d(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?(?![a-z0-9])",
         each=_ibans, anchored=False, ignore_case=True, personal=True),
    _number("social security number", "my SSN is …", r"(?<!\w)(?:ssn|social security(?: number| no\.?)?)",
            r"\d{3}-?\d{2}-?\d{4}", "ssn|social security", bare=" {0}", personal=True),
    Rule("social security number", "536-22-…", ("-",),
         r"(?<![\w.-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-])",
         _unless_part_number, anchored=False, personal=True),
    _number("tax id", "Steuer-ID …", r"(?<!\w)(?:steuer-?(?:id|identifikationsnummer|idnr\.?)|steuerliche "
            r"identifikationsnummer|idnr\.?|tax id|tin)", r"\d{2} ?\d{3} ?\d{3} ?\d{3}", "steuer|idnr|tax id|tin",
            bare=" {0}", personal=True),
    _number("passport number", "my passport number is …", r"(?<!\w)(?:passport|passeport|pasaporte|reisepass|pass-nr)"
            r"(?:[ -](?:number|nummer|no|nr|num))?\.?", r"(?=[a-z0-9]{0,8}\d)(?-i:[A-Z0-9]{6,9})",
            "passport|passeport|pasaporte|reisepass|pass-nr", bare=" {0}", personal=True),
    Rule("passport number", "the two lines below the photo", ("P",), r"P[A-Z<][A-Z<]{3}[A-Z<]{39}\s{1,2}[A-Z0-9<]{44}",
         in_long_word=True, personal=True),
    _number("national insurance number", "NI number: …",
            r"(?<!\w)(?:national insurance(?: number| no\.?)?|nino|ni number)",
            r"[a-z]{2} ?\d\d ?\d\d ?\d\d ?[a-d]", "national insurance|nino|ni number", bare=" {0}", personal=True),
)
# fmt: on
