"""Secrets on the way in: which are found, what is left alone, and what it costs.

`secrets.jsonl` holds templates, not secrets (see `made_secrets`), filled in here with a fixed seed. Lines without a
kind are ones that resemble secrets and are none.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.made_secrets import filled

from everyword import Memory
from everyword.errors import InvalidSetting
from everyword.ingest.redaction.redact import CREDENTIALS, PERSONAL, Rules, make_rule, redact, redact_event, rules_for

DATA = Path(__file__).parent.parent / "data"
SAMPLE = [json.loads(line) for line in (DATA / "secrets.jsonl").read_text(encoding="utf-8").splitlines()]
FILLINGS = 3  # secrets made of each template
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LEAST_RECALL = 0.95
MOST_FALSE = 1 / 1000  # of lines of code and prose
STDLIB = (
    "ast",
    "argparse",
    "smtplib",
    "imaplib",
    "netrc",
    "getpass",
    "tokenize",
    "urllib/request",
    "http/client",
    "ssl",
)


def _secrets() -> Iterator[tuple[str, str, str]]:
    """Give kind, line and the secret itself."""
    chance = random.Random(7)
    for entry in SAMPLE:
        for _ in range(FILLINGS if entry["kind"] else 0):
            line, made = filled(entry["line"], chance)
            yield entry["kind"], line, max(made, key=len)


# What is found


def test_nearly_every_secret_is_taken_out() -> None:
    made = list(_secrets())
    assert len(made) >= 200
    missed = [(kind, line) for kind, line, secret in made if secret in redact(line, PERSONAL).text]
    assert 1 - len(missed) / len(made) >= LEAST_RECALL, missed


def test_nothing_of_a_secret_that_was_found_is_left() -> None:
    for kind, line, secret in _secrets():
        text = redact(line, PERSONAL).text
        if secret not in text and kind != "private key":
            assert not any(secret[at : at + 12] in text for at in range(len(secret) - 11)), (kind, line, text)


LEAKS = [
    "Server=db;User Id=sa;Password=Tr0ub4dor99;",
    "Password=Tr0ub4dor99;Encrypt=true",
    "**Password:** Tr0ub4dor99!",
    "- **API Key:** `9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c`",
    "API key: 9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c",
    "Secret access key: wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY1",
    "aws_secret_access_key = /JalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY1",
    "Password: Tr0ub&dor99x",
    "DB_PASSWORD=abc|def123x",
    'password = "Tr0ub4dor 99 horse"',
    'password = "it\'s99secret"',
    "SECRET_KEY = 'django-insecure-abc!@#def$%^ghi&*(123'",
    "postgres://user:p@ssw0rd!@host:5432/db",
    "<password>Tr0ub4dor99</password>",
    "- name: DB_PASSWORD\n  value: Tr0ub4dor99",
    '{"name": "DB_PASSWORD", "value": "Tr0ub4dor99"}',
    "password → Tr0ub4dor99!",
    "Kennwort: Geheim123!",
    "Das Passwort lautet Geheim123!",
    "la contraseña es Secr3t123!",
    "mot de passe : Secret123!",
    "Пароль: Secr3t123!",
    "密码：Secr3t123!",
    "密码是Secr3t123!",
    "パスワードはSecr3t123!です",
    "password:\ntr0ub4dor",
    "Here is the password:\r\n\r\n    tr0ub4dor\r\n\r\nThanks!",
    "- name: DB_PASSWORD\n  value: Tr0ub4dor99  # the old one",
    "| db password | tr0ub4dor |",
    "| host | db1 |\n| **Password** | `tr0ub4dor` |",
    "| Password   | Tr0ub4dor&99 | changed in May |",
    "> | Passwort | Geheim123! |",
    "| api key | 9f8a7b6c5d4e3f2a1b0c |",
    "| at | who | Password |\n|--|:-:|--|\n| mail | ana | tr0ub4dor |\n| web | ben | n0ne |\n| db | eva | Secr3t123 |",
    "Logins:\r\n| Password | who |\r\n| -- | -- |\r\n| tr0ub4dor | Ana |\r\n",
    "password for the printer: tr0ub4dor",
    "Password (admin): tr0ub4dor",
    "password of ana@example.org = tr0ub4dor, please change it",
    "the password to the router - tr0ub4dor",
    "the wifi password is tr0ub4dor",
    "the wifi password is tr0ub4dor and the network is guests",
    "Ana's password for the NAS is now 'tr0ub4dor'.",
    "I changed the password to tr0ub4dor.",
    "das WLAN-Passwort ist tr0ub4dor",
    "wifi pw: tr0ub4dor",
    "mysql -u ana --password tr0ub4dor shop",
    "name,password,host\nana,tr0ub4dor,db1\nben,Secr3t123,db2\n",
    'Logins:\r\n"name";"password"\r\n"ana, the first";"tr0ub4dor"\r\n',
    "name\tpassword\nana\ttr0ub4dor",
    "user, password\nana, tr0ub4dor",
    "host,db1\npassword,tr0ub4dor\n",
    "name,url,username,password\nshop,https://example.org,ana,Geheimnis\n",
    "| user | password |\n|--|--|\n| ana | Geheimnis |",
    "<table><tr><th>user</th><th>password</th></tr><tr><td>ana</td><td>Geheimnis</td></tr></table>",
    "<thead>\n<tr><th>Who<th>Password\n</thead>\n<tbody>\n<tr><td>ana<td><code>tr0ub4dor</code>\n<tr><td>b<td>Secr3t123",
    "<tr>\n  <td><b>Password:</b></td>\n  <td>tr0ub4dor</td>\n</tr>",
]


@pytest.mark.parametrize("line", LEAKS)
def test_what_the_words_around_it_give_away_is_taken_out(line: str) -> None:
    text = redact(line, PERSONAL).text
    assert "[redacted: " in text
    assert not re.search(r"r0ub|9f8a|JalrX|def123x|it's99|django|ssw0rd|Geheim|Secr3t1|Secret1", text), text


@pytest.mark.parametrize("before", ["", "> ", "+", "  12→", "# "])
@pytest.mark.parametrize("end", ["", "-----END PRIVATE KEY-----"])
def test_a_private_key_is_taken_out_whatever_stands_before_its_lines(before: str, end: str) -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "MzEfYyjiWA4R4" * 5, "b2FvbQ=="]
    text = redact("\n".join(before + line for line in ["-----BEGIN PRIVATE KEY-----", *lines, end, "Thanks!"])).text
    assert not any(line in text for line in lines)
    assert text.endswith("Thanks!")


HARMLESS = [
    "PASSWORD_MIN_LENGTH=12345",
    "RESET_PASSWORD_URL=https://example.org/reset-password-2",
    "GOOGLE_APPLICATION_CREDENTIALS=/home/ana/keys/project-123456.json",
    "secret: /run/secrets/db_password_v2",
    "token_address: 0xdAC17F958D2ee523a2206206994597C13D831ec7",
    "error.password = 'mismatch'",
    "'password': 'Please enter your password'",
    "'password': 'Password must have 8 characters or more'",
    'class="sk-Circle-fading-dot-animation1"',
    "this.password = userPassword2;",
    "password: str | None = None",
    "forgot password: https://example.org/reset2",
    "senhas: 12 itens",
    "The password is sha256!",
    "password:\nPython3000 is what we use",
    "password:\n\nusername2:",
    "DB_PASSWORD=\nDB_HOST=db1.example.org",
    "password:\n  type: string2",
    "| password | varchar255 | not null |",
    "| password | argon2id |",
    "| password | min8characters |",
    "| password | 12-characters |",
    "| password manager | bitwarden2024 |",
    "| password | next2step |\n|---|---|\n| x | y |",
    "echo $password | sha256sum | cut -c1-8",
    "| token | count |\n|---|---|\n| hello2you | 12 |",
    "| field | type |\n|---|---|\n| password | Utf8String1 |",
    "| name | password_hint |\n|---|---|\n| ana | the2ndpet |",
    "the password is on the sticky note",
    "The wifi password is written on the fridge.",
    "password for the printer: see page12",
    "password for the printer: ask Ana",
    "Password for the printer: the one from 2019",
    "password reset for order: ABC12345",
    "the password policy is iso27001",
    "The password is 8characters long",
    "the password is python3only compatible",
    "I gave the password to agent47x.",
    "--password sha256 is the default",
    "Send me name, password,\nand then mail7him, please2day,\n",
    "    username, password,\n    hostname, timeout,\n",
    "field,type,password\nname,varchar255,required\n",
    "user,password\nyour_user,your_password\n",
    "<tr><th>field</th><th>password</th></tr><tr><td>type</td><td>varchar255</td></tr>",
    "<tr><td>password</td><td>required</td></tr>",
]


def test_what_is_said_about_passwords_stays() -> None:
    assert [line for line in HARMLESS if redact(line, PERSONAL).text != line] == []


def test_a_mark_says_what_stood_there() -> None:
    made = list(_secrets())
    named = sum(f"[redacted: {kind}]" in redact(line, PERSONAL).text for kind, line, _ in made)
    assert named / len(made) >= 0.9


def test_hardly_a_line_of_code_or_prose_is_touched() -> None:
    folder = Path(os.__file__).parent
    lines = [
        line for name in STDLIB for line in (folder / f"{name}.py").read_text(encoding="utf-8").splitlines() if line
    ]
    lines += [entry["line"] for entry in SAMPLE if not entry["kind"]]
    assert len(lines) >= 3000
    wrong = [line for line in lines if redact(line, PERSONAL).found]
    assert len(wrong) / len(lines) < MOST_FALSE, wrong


def test_what_only_resembles_a_secret_stays() -> None:
    lines = [entry["line"] for entry in SAMPLE if not entry["kind"]]
    assert len(lines) > 100
    assert [line for line in lines if redact(line, PERSONAL).text != line] == []


# How


def test_spans_are_of_the_text_that_was_given() -> None:
    key = "ghp_" + "a1B2" * 9
    text = f"old {key} and new {key}!"
    redacted = redact(text)
    assert redacted.text == "old [redacted: github token] and new [redacted: github token]!"
    assert [text[found.span.start : found.span.end] for found in redacted.found] == [key, key]


def test_redacting_twice_changes_nothing_more() -> None:
    for _, line, _ in _secrets():
        once = redact(line, PERSONAL).text
        assert redact(once, PERSONAL).text == once


def test_a_text_without_secrets_is_given_back_as_it_is() -> None:
    text = "İstanbul \x00 \ud800 ſecret passworD 🌊"
    assert redact(text).text is text
    assert redact(text).found == ()


def test_letters_that_grow_when_lowered_do_not_move_the_place() -> None:
    secret = "tr0ub4dor"
    assert redact("İİİİ password = '" + secret + "'").text == "İİİİ password = '[redacted: password]'"


def test_a_name_in_meta_tells_what_its_value_is() -> None:
    meta = {"password": "correct7horse", "user": "correct7horse", "inner": {"api_key": "0a1b2c3d4e5f60718293"}}
    clean, found = redact_event({"text": "x", "meta": meta})
    assert clean["meta"] == {
        "password": "[redacted: password]",
        "user": "correct7horse",
        "inner": {"api_key": "[redacted: password]"},
    }
    assert [one.span for one in found] == [(0, 13), (0, 20)]


def test_patterns_are_settings() -> None:
    ours = Rules((*CREDENTIALS.every, make_rule("badge", r"badge (?P<secret>\d{6})")))
    assert redact("badge 123456", ours).text == "badge [redacted: badge]"
    assert redact("badge 123456").found == ()
    for regex in ("(", "x*", "y" * 3000):
        with pytest.raises(InvalidSetting):
            make_rule("broken", regex)


def test_an_event_is_redacted_in_text_and_meta_but_not_in_its_names() -> None:
    key = "ghp_" + "a1B2" * 9
    event, found = redact_event({"text": f"use {key}", "key": "k", "meta": {"deep": [{"er": key}], "n": 1}})
    assert event["text"] == "use [redacted: github token]"
    assert event["meta"] == {"deep": [{"er": "[redacted: github token]"}], "n": 1}
    assert [one.kind for one in found] == ["github token", "github token"]


# What it costs


def test_an_ordinary_message_costs_next_to_nothing() -> None:
    message = (
        "We talked about the summer: Ana wants to go to Lisbon in March and Ben would rather stay at home. I said that "
        "I'd look at flights and told them that the key question is the budget, 1200 EUR each."
    )
    assert 190 <= len(message) <= 210
    best = min(_seconds(message, 200) for _ in range(15))
    # The aim is 50 µs, and it takes 27 where this was written; slower machines run tests too.
    assert best < 100e-6


def _seconds(text: str, times: int, rules: Rules = CREDENTIALS) -> float:
    start = time.process_time()  # not the clock on the wall: other tests may share the machine
    for _ in range(times):
        redact(text, rules)
    return (time.process_time() - start) / times


HOSTILE = {
    "one letter": "a",
    "prefixes": "sk-",
    "token starts": "eyJ",
    "half tokens": "eyJaaaaaaaaaaaa.",
    "assignments": "password=",
    "assignments with digits": "password=1",
    "told": "password is ",
    "told elsewhere": "密码是",
    "quotes": 'password: "',
    "values": "password value: ",
    "value names": "password," + " " * 30,
    "lists": "a=b;password=cdefgh;",
    "tags": "password>a",
    "bold": "**password:** ",
    "at signs": "://a:b@",
    "key lines": "-----BEGIN PRIVATE KEY-----\n> 12: ",
    "paths": "token=/a/b/c/",
    "digits": "1",
    "card groups": "4111 ",
    "dashes": "4-",
    "key starts": "-----BEGIN PRIVATE KEY-----",
    "cut keys": "-----BEGIN PRIVATE KEY-----" + "ab " * 30,
    "urls": "://a:b",
    "headers": "authorization: bearer ",
    "accounts": "DE12 ",
    "commands": "curl ",
    "netrc": "machine a login b ",
    "zeros": "\x00",
    "surrogates": "\ud800",
    "accents": "É",
    "hex": "0123456789abcdef",
    "underscores": "token_a_a_",
    "empty lines": "password:\n\n",
    "cells": "| password | a1b2c3d ",
    "rules": "\n|-",
    "rows": "\n|-\n|a",
    "long rules": "\n|" + "-|" * 300,
    "wide cells": "\n| password |\n|-" + "\n|a1" * 30,
    "open cells": "password |" + " " * 50,
    "heads": "password,\n",
    "wide heads": "password," * 100 + "\n",
    "separated": "\npassword,a" + "\na1,b2" * 30,
    "quoted cells": '"password","' + '"",' * 30 + "\n",
    "html rows": "<tr>",
    "html heads": "<tr><td>password",
    "html cells": "<tr><td>password" + "<td>a1" * 30,
    "html tags": "<tr><td>password<td>" + "<b>  " * 30,
    "html spaces": "<tr><td>password</td></tr>" + " " * 400,
    "whose": "password for a a a a a ",
    "whose addresses": "password for a@a.a.a.a ",
    "short names": "pw ",
}


BEGINNINGS = [  # of what only some rules look for
    *("my PIN is ", "alarm code is 12", "code ", "cvc 12", "482 913 is your ", "verification code ", "otp: 1"),
    *(
        "sshpass -p ",
        "mysql -u a ",
        "redis-cli -a",
        "docker login -u ",
        "ldapsearch ",
        "zip -",
        "sqlplus a/",
        "jdbc:oracle:thin:a/",
    ),
    *(
        "Cookie: a=",
        "cookie: a=b1b1b1b1b1b1;",
        "passphrase is a b c ",
        "passphrase: abc abd ",
        "login: a@b / ",
        "a@b.c:",
        "@a.b.c.d.e:",
    ),
    *(
        "aws A1b",
        "K",
        "5",
        "EAA",
        "abandon ",
        "abandon,",
        "1. abandon ",
        "seed abandon ",
        "de89 ",
        "a1b2",
        "536-22-",
        "ssn 5",
    ),
    *(
        "steuer-id 12 ",
        "passport A1",
        "P<",
        "P<<<<\n",
        "ni number ab ",
        "my password is a",
        "username a, password ",
        "wifi password: a\n",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", [*HOSTILE.values(), *BEGINNINGS], ids=[*HOSTILE, *BEGINNINGS])
def test_the_cost_of_hostile_text_grows_with_its_length_and_no_faster(unit: str) -> None:
    short, long = (unit * (size // len(unit)) for size in (5_000, 40_000))
    # The shorter text is read first, so that the patterns are compiled.
    most = 40 * min(_seconds(short, 1, PERSONAL) for _ in range(2)) + 0.02
    assert any(_seconds(long, 1, PERSONAL) < most for _ in range(2)), (
        "8 times the text may cost 8 times the time, with room for a busy machine"
    )


class TestSettings:
    def patterns(self, tmp_path: Path, content: object) -> Rules:
        path = tmp_path / "patterns.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return rules_for("credentials", str(path))

    def test_a_user_s_pattern_is_looked_for_too(self, tmp_path: Path) -> None:
        chosen = self.patterns(tmp_path, {"employee number": "EMP-[0-9]{6}", "vault": r"vt:(?P<secret>\w{20})"})
        clean = redact(f"EMP-123456 has vt:{'a1' * 10} and {TOKEN}.", chosen)
        assert clean.text == "[redacted: employee number] has vt:[redacted: vault] and [redacted: github token]."

    def test_a_known_pattern_can_be_left_out(self, tmp_path: Path) -> None:
        assert redact(TOKEN, self.patterns(tmp_path, {"github token": False})).text == TOKEN

    @pytest.mark.parametrize("content", ["{", "[]", {"x": "("}, {"x": 7}, {"no such": False}, {"x": "a*"}])
    def test_what_can_not_be_used_is_refused_with_the_reason(self, tmp_path: Path, content: object) -> None:
        with pytest.raises(InvalidSetting):
            self.patterns(tmp_path, content)

    def test_a_file_that_is_not_there_is_an_error_not_a_silence(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidSetting):
            rules_for("credentials", str(tmp_path / "none.json"))

    def test_imports_use_them_and_read_again_when_they_change(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "patterns.json"
        file.write_text(json.dumps({"employee number": "EMP-[0-9]{6}"}))
        talk = tmp_path / "talk.txt"
        talk.write_text("Ana: my number is EMP-123456\nBo: thanks\nAna: welcome\n")
        with Memory.open(":memory:", embedder="none", secret_patterns=str(file)) as memory:
            assert memory.import_events(talk, format="transcript").redacted == {"employee number": 1}
            assert memory.import_events(talk, format="transcript").unchanged == 1
        monkeypatch.setenv("EVERYWORD_SECRET_PATTERNS", str(file))
        with Memory.open(":memory:", embedder="none") as memory:
            assert memory.import_events(talk, format="transcript").redacted == {"employee number": 1}
            monkeypatch.delenv("EVERYWORD_SECRET_PATTERNS")
            assert memory.import_events(talk, format="transcript").read > 0
