"""Passwords and keys that only the words around them give away: `password = ...`, "the password is ...", `://user:...@`.

What is written like one is mostly none: a name of code, a placeholder, a path, a message. The checks tell them apart.
"""

from __future__ import annotations

import re

from recollect.capture.secret_shapes import Pattern
from recollect.core.values import Span

_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")

# Values that stand for a secret in documentation and code, or say what is wrong with one.
_PLACEHOLDER = re.compile(
    r"x{3,}|\*{2,}|\.{3}|<[^>]{0,80}>?|[${%[@].*|"
    r"(?:my|the|a|some|new|old|user|db|root|admin|test|fake)?[-_ ]?(?:password|passwd|passphrase|pass|pwd|secret|token|"
    r"api_?key|key|value|string|str|none|null|nil|true|false|undefined|empty|optional|required|username|user|passwort|"
    r"kennwort|contrase[nñ]a|senha)[-_ ]?\d{0,3}|"
    r"(?:in)?(?:valid|correct)|mismatch|wrong|missing|weak|hashed|success|required\|.*",
    re.IGNORECASE,
)
_SAID_OF_PLACEHOLDERS = (
    *("your", "example", "placeholder", "changeme", "change_me", "redacted", "dummy", "insert", "replace", "todo"),
    *("foobar", "secret_here", "token_here", "key_here"),
)
_WORDS_OF_CODE = re.compile(r"[A-Za-z_][\w.]*(?:\(.*|\[.*|\.\w+.*|->.*|,|;)|[A-Za-z_]\w*\)+[,;:]*", re.DOTALL)
# Paths are of words in lower case; a key that happens to begin with a slash is not.
_PLACE = re.compile(r"(?:[\w+.-]{2,20}://.*|(?:\.{1,2}|~)?(?:/[A-Z]?[a-z0-9_.-]*){2,}|[A-Za-z]:[\\/].*)", re.DOTALL)
# After its name: then what follows is about a password, and none.
_ABOUT = re.compile(
    r"[_-](?:ur[il]|link|path|file|dir|name|id|len|length|min|max|size|count|type|field|label|regex|pattern|policy|rules?|"
    r"address|expir\w*|ttl|timeout|prompt|hint|placeholder|error|message|template|hashers)$",
    re.IGNORECASE,
)
# Before it: `errors.password = "mismatch"`.
_SAYS_ABOUT = re.compile(
    r"(?:errors?|labels?|messages?|placeholders?|hints?|titles?|types?)(?:\[['\"]|[._])$", re.IGNORECASE
)
# What a password is like, where it is described: its type, its length, how it is kept.
_LIKENESS = re.compile(
    r"[a-z]*(?:char|text|int|string|str|blob|binary|byte|bit|sha|md|base|hash|crypt|argon|kdf|hmac|rsa|aes|utf|oauth|saml|"
    r"totp|min|max|step|level|version|case|field|line|page|figure|table|type|ipv|iso)[-_]?\d+\w*|"
    r"\d+[-_]?(?:chars?|characters?|bits?|bytes?|days?|hours?|weeks?|months?|years?|digits?|letters?|times?)\w*|"
    r".*password.*",
    re.IGNORECASE,
)
# Between "password" and "is": then that is not said of the password.
_OF_ANOTHER = re.compile(
    r"\b(?:polic(?:y|ies)|rules?|managers?|resets?|hash\w*|length|fields?|format|generators?|version|protocol|hint|history|"
    r"score|strength|expir\w*|requirements?|algorithm|encryption|standard|library|code|file|page|form|box|prompt)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(r"\b(?:chang|set|reset|updat|switch|rotat|renam|turn)\w{0,4}\b", re.IGNORECASE)  # ... to this one
# Behind a value that may be a word of a sentence: there it has said what the password is.
_CLAUSE_ENDS = re.compile(
    r"[.,;:!?)\"'`]*(?:\s*$|\s*\n|[.,;:!?)\"'`]\s|\s{1,2}(?:[-–—(&]|(?:and|but|so|for|on|if|in|btw|thanks|please|und|für)\b))"
)
_OF_KEYS = ("secret", "token", "credential", "key")  # what keys and tokens are called; all else are passwords
_PASSWORD_NAME = re.compile(r"pass|pwd", re.IGNORECASE)
_KEY_CHARACTERS = re.compile(r"[\w+/=.~:-]+")
_CODE_CHARACTERS = re.compile(r"[()\[\]{};]")
# Where a value ends that stands among others: `a=1&b=2`, `a=1;b=2`, `a: 1, b: 2`, and before a tag.
_NEXT_VALUE = re.compile(r"[&;,|](?=[\w .-]{1,40}[=:])|<")
_NEXT_NAME = re.compile(r"[\w.-]{1,60}(?:[:=][^=]|:$)")
_SHORTEST_QUOTED = 5  # characters; shorter quoted words are types, modes and prompts
_SHORTEST_KEY = 16  # characters of a token or key whose prefix is not known: half of what services hand out
_SHORTEST_LOOSE = 7  # characters of a password that stands without quotes
_SHORTEST_NUMBER = 8  # digits of one that is a number: what a wireless network takes at least
_SHORTEST_LISTED = 4  # characters of one in a list of logins, where nothing else can stand
_CLOSING = ".,;:!?)\"'`"
_NAME_REACH = 40  # characters before the word "password" that can be the start of its name, as in PROD_DB_
_AFTER_REACH = 60  # characters behind a value that tell whether others follow


def _stands_in(value: str) -> bool:
    lowered = value.lower()
    return any(word in lowered for word in _SAID_OF_PLACEHOLDERS) or _PLACEHOLDER.fullmatch(value) is not None


def _is_mixed(value: str) -> bool:
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def _assigned(match: re.Match[str]) -> Span | None:
    """Tell `password = "tr0ub4dor"` from `password = getpass()`: a literal, and no stand-in for one."""
    group = match.lastgroup or "bare"
    start, end = match.span(group)
    value = match[group] if group != "bare" else _alone(match[group])
    if not value or _is_about(match, value):
        return None
    is_key = _is_key(match["name"])
    if group == "bare":
        fits = _bare_key(value) if is_key else _bare_password(match, value)
        secret = fits and (not _is_below(match) or _fills_its_line(match, value))
    elif any(char.isspace() for char in value):
        secret = not is_key and any(_is_mixed(word) and len(word) >= _SHORTEST_LOOSE for word in value.split())
    else:
        secret = _is_mixed(value) and len(value) >= _SHORTEST_KEY if is_key else len(value) >= _SHORTEST_QUOTED
    return Span(start, min(end, start + len(value))) if secret and not _stands_in(value) else None


def _alone(value: str) -> str:
    """Cut off what stands behind a value that is not quoted: the next one, a tag, the end of a sentence or call."""
    following = _NEXT_VALUE.search(value)
    value = value[: following.start()] if following else value
    value = value.rstrip(",.|&*")
    return value.rstrip(")") if "(" not in value else value


def _is_about(match: re.Match[str], value: str) -> bool:
    """Tell what is no value of the name: a folder, an address, or what is said about passwords."""
    if _PLACE.fullmatch(value) or _ABOUT.search(match["name"]):
        return True
    if match["name"].lower() == "pwd" and value[0] in "/~":  # shells call the working folder so
        return True
    return _SAYS_ABOUT.search(match.string, max(0, match.start() - _NAME_REACH), match.start()) is not None


def _is_key(name: str) -> bool:
    return name.lower().startswith(_OF_KEYS) and not _PASSWORD_NAME.search(name)


def is_loose_secret(name: str, value: str) -> bool:
    """Tell a password or key that stands alone beside its name from what may be said there of it."""
    if _ABOUT.search(name) or _PLACE.fullmatch(value) or any(map(str.isspace, value)) or is_likeness(value):
        return False
    return (_bare_key(value) if _is_key(name) else _is_loose(value)) and not _stands_in(value)


def is_listed_secret(name: str, value: str) -> bool:
    """Tell a password in a list of logins: whatever it is, unless it stands for one."""
    if _is_key(name) or _ABOUT.search(name) or _PLACE.fullmatch(value) or is_likeness(value):
        return is_loose_secret(name, value)
    return len(value) >= _SHORTEST_LISTED and not any(map(str.isspace, value)) and not _stands_in(value)


def is_likeness(value: str) -> bool:
    """Tell what says how a password is, and not which: `varchar255`, `sha256`, `8characters`."""
    return _LIKENESS.fullmatch(value) is not None


def _is_below(match: re.Match[str]) -> bool:
    before = match.string[max(match.start(), match.start("bare") - _NAME_REACH) : match.start("bare")]
    return "\n" in before[len(before.rstrip()) :]


def _fills_its_line(match: re.Match[str], value: str) -> bool:
    """Tell a password from the first word of what follows, and from the next name with its value: `HOST=db1`."""
    start = match.start("bare") + len(value)
    rest = match.string[start : start + _AFTER_REACH].split("\n", 1)[0]
    return not _NEXT_NAME.match(value) and not rest.strip(" \t\r.,;`'\"*")


def _is_loose(value: str) -> bool:
    fits = _is_mixed(value) and len(value) >= _SHORTEST_LOOSE and not _CODE_CHARACTERS.search(value)
    return fits and not _WORDS_OF_CODE.fullmatch(value)


def _bare_key(value: str) -> bool:
    fits = len(value) >= _SHORTEST_KEY and _KEY_CHARACTERS.fullmatch(value) is not None
    return fits and _is_mixed(value) and not _WORDS_OF_CODE.fullmatch(value)


def _bare_password(match: re.Match[str], value: str) -> bool:
    if _stands_among_others(match, value):  # as in `Server=db;Password=tr0ub4dor;`, which no code is
        return len(value.rstrip(";")) >= _SHORTEST_QUOTED and not _CODE_CHARACTERS.search(value.rstrip(";"))
    if _WORDS_OF_CODE.fullmatch(value):
        return False
    return _is_loose(value) or (len(value) >= _SHORTEST_QUOTED and _is_environment(match))


def _stands_among_others(match: re.Match[str], value: str) -> bool:
    if match["sign"] != "=" or match.end("sign") != match.start("bare"):
        return False
    end = match.start("bare") + len(value.rstrip(";"))
    before = match.string[max(0, match.start() - _NAME_REACH) : match.start()]
    after = match.string[end : end + _AFTER_REACH]
    return bool(re.search(r"[\w ]=[^;=\s]{1,40};\s?$", before) or re.match(r";\s?[A-Za-z][\w ]{1,30}=", after))


def _is_environment(match: re.Match[str]) -> bool:
    """Tell whether this is a line of an environment file, such as PGPASSWORD=...: all of the name is upper case."""
    if match["sign"] != "=" or not match["name"].isupper():
        return False
    before = match.string[max(0, match.start() - _NAME_REACH) : match.start()]
    return not any(char.islower() for char in re.split(r"[^\w.-]", before)[-1])


def _told(match: re.Match[str]) -> Span | None:
    """Tell "the password is Tr0ub4dor" from "the password is wrong" and "the password is sha256"."""
    start, value = match.start("secret"), match["secret"].rstrip(_CLOSING)
    if _stands_in(value) or is_likeness(value):
        return None
    odd = any(char in "!@#$%^&*?_+=~" for char in value) or (value.lower() != value and value.upper() != value)
    if not (len(value) > _SHORTEST_QUOTED and _is_mixed(value) and odd) and not _is_told_plainly(match, value):
        return None
    return Span(start, start + len(value))


def _is_told_plainly(match: re.Match[str], value: str) -> bool:
    """Tell "the wifi password is hunter2xyz" from "the password policy is iso27001" and "the password to agent47x"."""
    if not _is_plain(value) or _OF_ANOTHER.search(match["of"] or ""):
        return False
    if match["verb"].lower() == "to":
        before = match.string[max(0, match.start() - _NAME_REACH) : match.start()]
        return _CHANGED.search(before) is not None and _ends_its_clause(match, value)
    return _ends_its_clause(match, value)


def _is_plain(value: str) -> bool:
    return _is_loose(value) or (value.isdecimal() and len(value) >= _SHORTEST_NUMBER)


def _ends_its_clause(match: re.Match[str], value: str) -> bool:
    start = match.start("secret") + len(value)
    return _CLAUSE_ENDS.match(match.string[start : start + _AFTER_REACH]) is not None


def _named_for(match: re.Match[str]) -> Span | None:
    """Tell "password for the printer: hunter2xyz" from "password for the printer: see page12"."""
    start, value = match.start("secret"), match["secret"].rstrip(_CLOSING)
    if _stands_in(value) or is_likeness(value) or _PLACE.fullmatch(value) or not _is_plain(value):
        return None
    return Span(start, start + len(value)) if _ends_its_clause(match, value) else None


def _passed(match: re.Match[str]) -> Span | None:
    """Tell `--password hunter2xyz` from `--password sha256`."""
    value = match["secret"].rstrip(_CLOSING)
    secret = _is_mixed(value) and len(value) > _SHORTEST_QUOTED and not _stands_in(value) and not is_likeness(value)
    return Span(match.start("secret"), match.start("secret") + len(value)) if secret else None


def _tagged(match: re.Match[str]) -> Span | None:
    value = match["secret"]
    shortest = _SHORTEST_QUOTED if _PASSWORD_NAME.search(match["name"]) else _SHORTEST_KEY
    secret = len(value) >= shortest and _is_mixed(value) and not _stands_in(value) and not _PLACE.fullmatch(value)
    return Span(*match.span("secret")) if secret else None


def _no_placeholder(match: re.Match[str]) -> Span | None:
    return None if _stands_in(match["secret"]) else Span(*match.span("secret"))


def _bearer(match: re.Match[str]) -> Span | None:
    value = match["secret"]
    return Span(*match.span("secret")) if _is_mixed(value) and not _stands_in(value) else None


# What people call it, each word as it begins; those of other scripts stand without spaces before and behind them.
_WORDS = (
    r"pass(?:word|wd|wort|phrase|code|(?<![a-z]pass))|(?<![a-z])(?:pwd|pw(?![a-z]))|"
    r"kennwort|contrase[nñ]a|mot de passe|(?<![a-z])senha"
)
_LATIN = ("kennwort", "contrase", "mot de p", "senha")
_OTHER_SCRIPTS = "пароль|密[码碼]|口令|パスワード|비밀번호"
_FIRST_LETTERS = ("пароль", "Пароль", "密码", "密碼", "口令", "パスワード", "비밀번호")

# The whole name of one, from such a word on.
NAME = (
    rf"(?:{_WORDS}|{_OTHER_SCRIPTS}|secret|token|credentials?|"
    r"(?:(?<=api)|(?<=api[_ -])|(?<=(?:access|client|secret))|(?<=(?:access|client|secret)[_ -])|"
    r"(?<=private[_ -])|(?<=auth[_ -])|(?<=account[_-])|(?<=encryption[_ -])|(?<=signing[_ -]))key)"
    r"(?:[_-][a-z]{1,16}){0,2}"
)
# Whose it is, as it is said between such a word and the value: "for the printer", "of ana@example.org".
_WHOSE_WORD = r"\s{1,2}[\w'’-]{1,30}(?:[@./][\w-]{1,30}){0,4}"
HINTS = ("pass", "pw", "secret", "token", "key", "credential", *_LATIN, *_FIRST_LETTERS)

PASSWORDS: tuple[Pattern, ...] = (
    Pattern(
        name="authorization",
        regex=re.compile(
            r"""authorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:bearer|basic|token|digest|apikey|bot)\s{1,3}"""
            r"(?P<secret>[A-Za-z0-9+/=._~-]{8,8000})",
            re.IGNORECASE,
        ),
        hints=("authorization",),
        anchored=True,
        check=_no_placeholder,
    ),
    Pattern(
        name="bearer token",
        regex=re.compile(r"\bbearer\s{1,3}(?P<secret>[A-Za-z0-9+/=._~-]{20,8000})", re.IGNORECASE),
        hints=("bearer",),
        anchored=True,
        check=_bearer,
    ),
    Pattern(
        name="password in url",
        regex=re.compile(r"://[^\s/:@\"'<>]{0,100}:(?P<secret>[^\s/\"'<>]{2,200})@[A-Za-z0-9\[]"),
        hints=("://",),
        anchored=True,
        check=_no_placeholder,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            rf"(?P<name>{NAME})"
            # Then a sign, in Markdown also a bold one; or it is the name of a value: `name: DB_PASSWORD`, `value: ...`.
            r"\\?[\"'`*_]{0,3}(?:\s{0,3}(?P<sign>=>|->|→|:=|=|:|：)[*_]{0,3}|,?\s{1,40}[\"']?value[\"']?\s{0,2}[:=])\s{0,3}"
            r"(?:\r?\n[ \t]{0,20}){0,2}"  # it may stand alone on the next line, or behind an empty one
            r"(?:\\?\"(?P<double>[^\"\n\\]{1,250})(?=\\?\")|\\?'(?P<single>[^'\n\\]{1,250})(?=\\?')|"
            r"\\?`(?P<tick>[^`\n\\]{1,250})(?=\\?`)|(?P<bare>[^\s\"'`\\>]{1,250}))",
            re.IGNORECASE,
        ),
        hints=HINTS,
        anchored=True,
        check=_assigned,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            r"(?P<name>password|passwd|passwort|secret|token|key)>\s{0,3}(?P<secret>[^<>\s]{5,250})\s{0,3}</",
            re.IGNORECASE,
        ),
        hints=("password>", "passwd>", "passwort>", "secret>", "token>", "key>"),
        anchored=True,
        check=_tagged,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            r"(?<=-)(?:password|passwd|pass|token|api-?key|secret)[ =][\"']?"
            r"(?P<secret>[^\s\"'<>$%{}()\[\]]{6,250})",
            re.IGNORECASE,
        ),
        hints=("pass", "token", "api", "secret"),
        anchored=True,
        check=_passed,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            r"\b(?:password|passphrase|passcode|passwort|kennwort|contrase[nñ]a|mot de passe|senha|pwd|pw)"
            rf"(?P<of>(?:{_WHOSE_WORD}){{0,4}}?)\s{{1,2}}(?P<verb>is|was|to|ist|lautet|es|est|é)"
            r"(?:\s{1,2}(?:now|still|currently|again|jetzt|ahora))?:?\s{1,2}"
            r"[\"'`]?(?P<secret>[^\s\"'`]{5,100})",
            re.IGNORECASE,
        ),
        hints=("pass", "pw", *_LATIN),
        anchored=True,
        check=_told,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            rf"(?:{_WORDS})(?:\s{{1,2}}(?:for|to|of|on|at|from|in|für|zum|zur|vom|von|pour|de|du|para|do|da)"
            rf"(?:{_WHOSE_WORD}){{1,5}}?|\s{{0,2}}\([^()\n]{{1,60}}\))"
            r"\s{0,2}(?:=>|->|→|:=|=|:|：|\s[-–—](?=\s))[*_]{0,3}\s{0,3}[\"'`]?(?P<secret>[^\s\"'`\\]{5,100})",
            re.IGNORECASE,
        ),
        hints=("pass", "pw", *_LATIN),
        anchored=True,
        check=_named_for,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            rf"(?:{_OTHER_SCRIPTS})(?P<of>)\s{{0,2}}(?P<verb>是|为|為|は|는|은|—|-)\s{{0,2}}"
            r"[\"'`「“]?(?P<secret>[!-~]{5,100})",
            re.IGNORECASE,
        ),
        hints=_FIRST_LETTERS,
        anchored=True,
        check=_told,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            r"\bmachine\s{1,4}[\w-]{1,63}\.\S{1,200}\s{1,8}login\s{1,4}\S{1,200}\s{1,8}password\s{1,4}(?P<secret>\S{1,200})"
        ),
        hints=("machine",),
        anchored=True,
        check=_no_placeholder,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            r"\bcurl\b(?:[^\nc]|c(?!url )){0,200}?\s(?:-u|--user)[ =]?[\"']?[\w.@+-]{1,100}:(?P<secret>[^\s\"']{3,200})"
        ),
        hints=("curl",),
        anchored=True,
        check=_no_placeholder,
    ),
)
