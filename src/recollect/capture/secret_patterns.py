"""What secrets look like: the patterns as data, and the checks that tell a secret from what only resembles one.

A pattern is a setting: give `redact` your own `Patterns`, or `DEFAULT.plus(make_pattern(...))`. Order is rank: of two
patterns that overlap, the earlier names the secret. Most texts hold none of the short literals (`hints`) that a secret
can't do without, and no word as long as a key: looking for those is all that such a text costs.
"""

from __future__ import annotations

import re

from recollect.capture.secret_passwords import PASSWORDS
from recollect.capture.secret_shapes import LONG_WORD, Check, Pattern, Patterns
from recollect.capture.secret_tables import TABLES
from recollect.core.values import Span

_DIGIT = re.compile(r"\d")
_DIGIT_THEN_LETTER = re.compile(r"\d[A-Za-z]")


def _mixed(match: re.Match[str]) -> Span | None:
    """Keep what has a digit and both cases: keys are random, names of things are not."""
    text = match[0]
    mixed = _DIGIT.search(text) is not None and text.lower() != text and text.upper() != text
    return Span(*match.span()) if mixed else None


def _random(match: re.Match[str]) -> Span | None:
    """Keep what also has digits among its letters: in `sk-circle-Dot1` they only number a name."""
    return _mixed(match) if _DIGIT_THEN_LETTER.search(match[0]) else None


def _with_digit(match: re.Match[str]) -> Span | None:
    return Span(*match.span()) if _DIGIT.search(match[0]) else None


# Prefix and lengths of the cards in use, most common first (ISO/IEC 7812 as the networks publish it).
_CARDS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|"
    r"6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}"
)
_LUHN_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)  # twice the digit, its two digits added


def _card(match: re.Match[str]) -> Span | None:
    digits = re.sub(r"[ -]", "", match[0])
    if not _CARDS.fullmatch(digits) or len(set(digits)) < 2:
        return None
    total = sum(_LUHN_DOUBLED[int(digit)] if place % 2 else int(digit) for place, digit in enumerate(reversed(digits)))
    return Span(*match.span()) if total % 10 == 0 else None


# Countries by the length of their account numbers (SWIFT's IBAN registry).
_IBAN_COUNTRIES: dict[int, str] = {
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ DZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO EG GT HN HU LB LK PL SD SV",
    29: "BR PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
_IBAN_LENGTHS = {country: length for length, countries in _IBAN_COUNTRIES.items() for country in countries.split()}


def _iban(match: re.Match[str]) -> Span | None:
    """Take as many characters as the country's accounts have, whatever follows; check their remainder."""
    length = _IBAN_LENGTHS.get(match[0][:2])
    places = [place for place, char in enumerate(match[0]) if char != " "]
    if length is None or len(places) < length:
        return None
    end = places[length - 1] + 1
    account = match[0][:end].replace(" ", "")
    following = match[0][end : end + 1]
    if following and following != " ":
        return None
    remainder = int("".join(str(int(char, 36)) for char in account[4:] + account[:4])) % 97
    return Span(match.start(), match.start() + end) if remainder == 1 else None


def _key(name: str, regex: str, *hints: str, anchored: bool = True, check: Check | None = None) -> Pattern:
    """Make a pattern of a token that stands alone: no letter or digit touches it on either side."""
    whole = re.compile(rf"(?<![A-Za-z0-9_-])(?:{regex})(?![A-Za-z0-9_-])")
    return Pattern(name=name, regex=whole, hints=hints, anchored=anchored, unbroken=LONG_WORD, check=check)


_W = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
_H = "[0-9a-f]"

_DEFAULT: tuple[Pattern, ...] = (
    Pattern(
        name="private key",
        regex=re.compile(
            # Where its end is missing, line by line, also with what quotes, diffs and listings put before a line.
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-]|-(?!----)){40,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"|(?:[\s>|+#*]{0,8}[A-Z][A-Za-z-]{1,30}: [^\n]{1,100}){0,4}"
            r"(?:(?:\\[nr]|[\s>|+#*:\d→-]){0,16}[A-Za-z0-9+/=]{40,200}){1,400}"
            r"(?:(?:\\[nr]|[\s>|+#*:\d→-]){0,16}[A-Za-z0-9+/]{1,200}={1,2})?)"
        ),
        hints=("-----BEGIN ",),
        anchored=True,
    ),
    _key("anthropic key", rf"sk-ant-{_W}{{20,250}}", "sk-ant-"),
    _key("openrouter key", rf"sk-or-v1-{_H}{{64}}", "sk-or-"),
    _key("openai key", rf"sk-(?:proj-|svcacct-|admin-)?{_W}{{20,250}}", "sk-", check=_random),
    _key("api key", rf"sk-{_H}{{32,64}}", "sk-", check=_with_digit),
    _key("aws access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _key(
        "github token",
        rf"gh[pousr]_{_A}{{36,251}}|github_pat_[A-Za-z0-9_]{{22,255}}",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        check=_with_digit,
    ),
    _key("gitlab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w.-]{20,300}", "gl", check=_with_digit),
    _key("slack token", rf"xox[abceoprs](?:-|\.xox[bp]-){_W}{{15,250}}|xapp-\d-{_W}{{20,250}}", "xox", "xapp-"),
    Pattern(
        name="slack webhook",
        regex=re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,200})"),
        hints=("hooks.slack.com",),
        anchored=True,
        unbroken=LONG_WORD,
    ),
    _key("google key", rf"AIza{_W}{{35}}|GOCSPX-{_W}{{28}}|ya29\.{_W}{{20,1000}}", "AIza", "GOCSPX-", "ya29."),
    _key("stripe key", rf"[spr]k_(?:live|test)_{_A}{{12,250}}", "sk_", "pk_", "rk_"),
    _key("webhook secret", r"whsec_[A-Za-z0-9+/]{24,100}=?", "whsec_"),
    _key("hugging face token", rf"(?:hf|api_org)_{_A}{{30,60}}", "hf_", "api_org_", check=_mixed),
    _key("npm token", rf"npm_{_A}{{36}}", "npm_"),
    _key("pypi token", rf"pypi-{_W}{{50,1000}}", "pypi-"),
    Pattern(
        name="telegram bot token",
        regex=re.compile(rf"(?<!\d)\d{{8,10}}:AA{_W}{{33}}(?!{_W})"),  # addresses write it after "bot"
        hints=(":AA",),
        unbroken=LONG_WORD,
    ),
    _key("sendgrid key", rf"SG\.{_W}{{16,32}}\.{_W}{{32,64}}", "SG."),
    _key("twilio key", rf"(?:SK|AC){_H}{{32}}", "SK", "AC"),
    _key("mailgun key", rf"key-{_H}{{32}}", "key-"),
    _key("mailchimp key", rf"{_H}{{32}}-us\d{{1,2}}", "-us", anchored=False),
    _key("digitalocean token", rf"do[opr]_v1_{_H}{{64}}", "doo_", "dop_", "dor_"),
    _key("shopify token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "shp"),
    _key("square token", rf"sq0[a-z]{{3}}-{_W}{{22,60}}|EAAA{_W}{{60}}", "sq0", "EAAA"),
    _key("groq key", rf"gsk_{_A}{{40,80}}", "gsk_"),
    _key("xai key", rf"xai-{_A}{{60,120}}", "xai-"),
    _key("perplexity key", rf"pplx-{_A}{{40,80}}", "pplx-"),
    _key("replicate token", rf"r8_{_A}{{32,60}}", "r8_"),
    _key("notion token", rf"(?:ntn_|secret_){_A}{{40,60}}", "ntn_", "secret_", check=_mixed),
    _key("linear key", rf"lin_(?:api|oauth)_{_A}{{32,80}}", "lin_"),
    _key("figma token", rf"fig[dou]_{_W}{{36,60}}", "figd_", "figo_", "figu_"),
    _key("vault token", rf"hv[sbr]\.{_W}{{24,300}}", "hvs.", "hvb.", "hvr."),
    _key("databricks token", rf"dapi{_H}{{32}}(?:-\d)?", "dapi"),
    _key("docker token", rf"dckr_[op]at_{_W}{{20,60}}", "dckr_"),
    _key("grafana token", r"gl(?:sa|c)_[A-Za-z0-9_+/=]{32,400}", "glsa_", "glc_"),
    _key("sentry token", r"sntry[su]_[A-Za-z0-9_+/=]{40,400}", "sntry"),
    _key("supabase token", rf"sb(?:p|_secret)_{_W}{{30,80}}", "sbp_", "sb_secret_"),
    _key("airtable token", rf"pat{_A}{{14}}\.{_H}{{64}}", "pat"),
    _key("postman key", rf"PMAK-{_H}{{24}}-{_H}{{34}}", "PMAK-"),
    _key("new relic key", rf"NR(?:AK|JS|II)-{_W}{{20,60}}", "NRAK-", "NRJS-", "NRII-"),
    _key("terraform token", rf"{_A}{{14}}\.atlasv1\.{_W}{{60,80}}", ".atlasv1.", anchored=False),
    _key("planetscale token", r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,80}", "pscale_"),
    Pattern(
        name="discord token",
        # The first letter stands before the look behind: it is what a search can leap to.
        regex=re.compile(rf"[MNO](?<!{_W}.){_W}{{23,27}}\.{_W}{{6}}\.{_W}{{27,40}}(?!{_W})"),
        hints=(".",),
        unbroken=LONG_WORD,
        check=_mixed,
    ),
    Pattern(
        name="discord webhook",
        regex=re.compile(r"discord(?:app)?\.com/api/webhooks/\d{15,22}/(?P<secret>[A-Za-z0-9_-]{50,100})"),
        hints=("discord.com", "discordapp.com"),
        anchored=True,
        unbroken=LONG_WORD,
    ),
    _key("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", "AGE-SECRET-KEY-"),
    Pattern(
        name="azure key",
        regex=re.compile(r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})"),
        hints=("AccountKey=", "SharedAccessKey="),
        anchored=True,
        unbroken=LONG_WORD,
    ),
    Pattern(
        name="signed url",
        regex=re.compile(
            r"[?&](?:sig|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature)=(?P<secret>[A-Za-z0-9%+/=_-]{40,2000})"
        ),
        hints=("sig=", "X-Amz-", "X-Goog-"),
        unbroken=LONG_WORD,
    ),
    _key("jwt", rf"eyJ{_W}{{10,4000}}\.eyJ{_W}{{10,8000}}(?:\.{_W}{{10,2000}})?", "eyJ"),
    *PASSWORDS,
    *TABLES,
    Pattern(
        name="card number",
        regex=re.compile(
            r"[2-6](?<![\w.+-].)(?<!\d .)(?:\d{3}([ -]?)\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|\d{3}([ -]?)\d{6}\2\d{4,5})"
            r"(?![\w-])(?!\.\d)(?! \d{4})"
        ),
        check=_card,
    ),
    Pattern(
        name="iban",
        regex=re.compile(r"[A-Z](?<![A-Za-z0-9].)[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![a-z0-9])"),
        check=_iban,
    ),
)

DEFAULT = Patterns(every=_DEFAULT)
