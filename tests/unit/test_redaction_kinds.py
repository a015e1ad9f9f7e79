"""What redaction must take out and what it must leave: one line an example.

A positive is (level, kind, line): `«…»` marks what is taken out, and nothing else may be. Holes such as `{A36}` are
filled (see `made_secrets`), so that no line here is a usable key. Look-alikes stay as they are at every level.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from tests.made_secrets import filled

from everyword.ingest.redaction.redact import redact, rules_for
from everyword.ingest.redaction.rules import RULES

POSITIVES: list[tuple[str, str, str]] = [
    # Passwords in prose
    ("credentials", "password", "my password is «sunflower»"),
    ("credentials", "password", "The printer password's «sunflower», by the way."),
    ("credentials", "password", "My Netflix password is «sunflower», in case you need it."),
    ("credentials", "password", "the wifi password is «butterfly»."),
    ("credentials", "password", "wifi password: «butterfly»"),
    ("credentials", "password", "My password's «{P12}»"),
    ("credentials", "password", "I set the admin password to «{P10}» yesterday"),
    ("credentials", "password", "the password is '«sunflower»' for now"),
    ("credentials", "password", "mein Passwort ist «Sonnenblume7»"),
    ("credentials", "password", "creds are admin / «{P10}»"),
    ("credentials", "password", "login: ana@example.org / «{P10}»"),
    ("credentials", "password", "login: ana@example.org / «sunflower»"),
    ("credentials", "password", "Login: ana@example.org, password «{A10}»"),
    ("credentials", "password", "username ana, password «{A10}»"),
    ("credentials", "password", "ana@example.org:«{A10}»"),
    ("credentials", "password", "Zugangsdaten: ana@example.org / «{A10}»"),
    # Passphrases
    ("credentials", "passphrase", "my passphrase is «correct horse battery staple»"),
    ("credentials", "passphrase", "The passphrase for the backup is «correct horse battery staple»."),
    ("credentials", "passphrase", "Passphrase: «lunar pickle wagon violin tundra»"),
    ("credentials", "password", "passphrase = «correct-horse-battery-staple»"),
    ("credentials", "passphrase", 'GPG passphrase: "«correct horse battery staple»"'),
    # PINs, codes of doors and alarms
    ("credentials", "pin", "my PIN is «4821»"),
    ("credentials", "pin", "Card PIN: «4821»"),
    ("credentials", "pin", "the pin for my card is «4821»."),
    ("credentials", "pin", "SIM pin «0417»"),
    ("credentials", "pin", "meine PIN lautet «48213»"),
    ("credentials", "pin", '{"pin": "«4821»", "user": "ana"}'),
    ("credentials", "access code", "the alarm code is «4711»"),
    ("credentials", "access code", "Alarm code: «4711#»"),
    ("credentials", "access code", "Door code for the office is «2580», use the side entrance."),
    ("credentials", "access code", "the gate code is «#4821»"),
    ("credentials", "access code", "the safe combination is «12-34-56»"),
    ("credentials", "access code", "Türcode: «4711»"),
    # Payment cards
    ("credentials", "card security code", "CVC «842»"),
    ("credentials", "card security code", "exp 12/29, CVV: «842»"),
    ("credentials", "card security code", "the cvc is «842»."),
    ("credentials", "card security code", '"cvv2": "«8421»"'),
    ("credentials", "card number", "Visa «{CARD4:4:16}» expires 09/28"),
    ("credentials", "card number", "<td>«{CARD:53:16}»</td>"),
    ("credentials", "card number", "card=«{CARD:37:15}»&amount=12"),
    # One-time codes
    ("credentials", "one-time code", "Your verification code is «482913»"),
    ("credentials", "one-time code", "«G-482913» is your Google verification code."),
    ("credentials", "one-time code", "«482913» is your one-time code. Don't share it."),
    ("credentials", "one-time code", "Use «482 913» as your login code"),
    ("credentials", "one-time code", "OTP: «482913»"),
    ("credentials", "one-time code", "Ihr Bestätigungscode lautet «482913»"),
    ("credentials", "one-time code", "2FA backup code: «a1b2-c3d4-e5f6»"),
    ("credentials", "one-time code", "TAN: «482913»"),
    # Shell
    ("credentials", "password", "sshpass -p «{A10}» ssh ana@example.org"),
    ("credentials", "password", "sshpass -p '«{P10}»' scp a b:"),
    ("credentials", "password", "mysql -u root -p«{A10}» shop"),
    ("credentials", "password", "mysqldump -uroot -p'«{P10}»' shop > dump.sql"),
    ("credentials", "password", "redis-cli -h cache -a «{A12}» ping"),
    ("credentials", "password", "docker login -u ana -p «{A12}» registry.example.org"),
    ("credentials", "password", "ldapsearch -x -D cn=admin -w «{A10}» -b dc=x"),
    ("credentials", "password", "unzip -P «{A10}» archive.zip"),
    ("credentials", "password", "sqlplus scott/«{A10}»@db1"),
    ("credentials", "password", "curl --user ana:«{A12}» https://example.org"),
    ("credentials", "password", "export DB_PASS=«{A12}»"),
    ("credentials", "password", '$env:API_SECRET = "«{A24}»"'),
    # Connection strings and URLs
    ("credentials", "password", "jdbc:oracle:thin:scott/«{A10}»@//db1.example.org:1521/ORCL"),
    ("credentials", "password", "jdbc:oracle:thin:scott/«tiger»@db1:1521:XE"),
    ("credentials", "password", "jdbc:postgresql://db/app?user=ana&password=«{A12}»&ssl=true"),
    ("credentials", "password in url", "amqp://ana:«{A12}»@mq:5672/"),
    ("credentials", "password", "Server=tcp:db,1433;Uid=ana;Pwd=«{A12}»;Encrypt=yes"),
    ("credentials", "password", "https://example.org/cb?access_token=«{A40}»&state=x"),
    ("credentials", "password", "otpauth://totp/Acme:ana?secret=«{U32}»&issuer=Acme"),
    # Cookies and headers
    ("credentials", "cookie", "Cookie: sessionid=«{A32}»; theme=dark"),
    ("credentials", "cookie", "Set-Cookie: sid=«{H40}»; Path=/; HttpOnly"),
    ("credentials", "cookie", "curl -H 'Cookie: PHPSESSID=«{H26}»' https://example.org"),
    ("credentials", "cookie", "cookie: theme=dark; auth=«{A24}»; _ga=GA1.2"),
    ("credentials", "authorization", "Proxy-Authorization: Basic «{B24}»"),
    ("credentials", "password", "X-Auth-Token: «{H32}»"),
    # Keys
    ("credentials", "aws secret key", "the aws secret is «{B40}»"),
    ("credentials", "aws secret key", "AWS keys: AKIA is public, the other one is «{B40}», keep it safe"),
    ("credentials", "facebook token", "EAA token: «EAA{A160}»"),
    ("credentials", "facebook token", "graph.facebook.com/me?x=«EAA{A120}»"),
    ("credentials", "bitcoin key", "here is the paper wallet «{WIF}»"),
    ("credentials", "bitcoin key", "WIF=«{WIF5}»"),
    ("credentials", "bitcoin key", "«xprv{A107}»"),
    ("credentials", "seed phrase", "{SEED12:}"),
    ("credentials", "seed phrase", "my wallet: {SEED12:}"),
    ("credentials", "seed phrase", "Seed phrase: {SEED24:}"),
    ("credentials", "seed phrase", "recovery phrase:\n{SEED12:numbered}"),
    ("credentials", "atlassian token", "ATLASSIAN=«ATATT3{W186}»"),
    ("credentials", "azure secret", "AZURE_CLIENT: «{A3}8Q~{A34}»"),
    ("credentials", "rubygems key", "gem push with «rubygems_{H48}»"),
    ("credentials", "netlify token", "«nfp_{A40}»"),
    ("credentials", "dynatrace token", "«dt0c01.{U24}.{U64}»"),
    ("credentials", "hubspot token", "«pat-na1-{UUID}»"),
    ("credentials", "sendinblue key", "«xkeysib-{H64}-{A16}»"),
    ("credentials", "heroku key", "«HRKU-AA{W58}»"),
    ("credentials", "langsmith key", "«lsv2_pt_{H32}_{H10}»"),
    ("credentials", "doppler token", "«dp.pt.{A43}»"),
    ("credentials", "pulumi token", "«pul-{H40}»"),
    ("credentials", "1password token", "«ops_eyJ{A250}»"),
    ("credentials", "github token", "remote: «ghp_{A36}»."),
    ("credentials", "jwt", "id_token «eyJ{W30}.eyJ{W60}.{W43}»"),
    # Structures
    ("credentials", "password", "db:\n  user: ana\n  password: «{P12}»\n  host: db1"),
    ("credentials", "password", '{"user": "ana", "password": "«{A12}»"}'),
    ("credentials", "password", "| user | password |\n|---|---|\n| ana | «sunflower» |"),
    ("credentials", "password", "<tr><td>Password</td><td>«{A12}»</td></tr>"),
    ("credentials", "password", '<input type=password name=pw value="«{A12}»">'),
    ("credentials", "password", "user;password\nana;«{A10}»\n"),
    ("credentials", "password", "[client]\nuser=ana\npassword=«{A10}»"),
    ("credentials", "password", '<add key="DbPassword" value="«{A12}»" />'),
    # Personal numbers
    ("personal", "iban", "my account is «{IBANLOW:DE:18}»"),
    ("personal", "iban", "IBAN: «{IBAN4:DE:18}»"),
    ("personal", "iban", "zahle an «{IBANLOW4:AT:16}» bitte"),
    ("personal", "social security number", "my SSN is «536-22-8417»"),
    ("personal", "social security number", "social security number: «536228417»"),
    ("personal", "social security number", "«536-22-8417» is on the form"),
    ("personal", "tax id", "meine Steuer-ID ist «86095742719»"),
    ("personal", "tax id", "Steueridentifikationsnummer: «86 095 742 719»"),
    ("personal", "tax id", "IdNr. «86095742719»"),
    ("personal", "passport number", "my passport number is «C01X00T47»"),
    ("personal", "passport number", "Passport No. «533401372»"),
    ("personal", "passport number", "Reisepass-Nr.: «C01X00T47»"),
    (
        "personal",
        "passport number",
        "«P<UTOERIKSSON<<ANNA<MARIA" + "<" * 19 + "\nL898902C36UTO7408122F1204159ZE184226B<<<<<10»",
    ),
    ("personal", "national insurance number", "NI number: «AB 12 34 56 C»"),
    ("personal", "password", "my password is «{P12}»"),
]

LOOKALIKES: list[str] = [
    # Words about passwords
    "the password policy is strict",
    "my password manager is Bitwarden",
    "My password is weak.",
    "my password is expired",
    "my password is too short",
    "the password is required",
    "The password is visible in the log",
    "my password is compromised!",
    "her password was stolen",
    "my password is the same everywhere",
    "the password is incorrect, try again",
    "my password is safe with Ana",
    "Is my password secure?",
    "the password is case sensitive",
    "the password is optional",
    "my password isn't working",
    "the password is empty",
    "our password is unknown",
    "wifi password: ask Ana",
    "wifi password: unchanged",
    "Password strength: strong",
    "password: string",
    "password: hidden",
    "Password reset: pending",
    "passwords: none",
    "Password hint: childhood pet",
    "password field: missing",
    "login: ana@example.org / Berlin",
    "login: ana@example.org",
    "Login: see the wiki / ask Ben",
    "login/logout works",
    "username ana, password unknown",
    "ana@example.org: thanks for the report",
    "git@github.com:ana/harbour2.git",
    "rsync -a . ana@example.org:backup2024/",
    "the passphrase is stored in the vault",
    "The passphrase is required to unlock the key",
    "passphrase: see the wiki page",
    "A passphrase is longer than a password.",
    "The secret is to keep stirring.",
    "my secret ingredient is cinnamon",
    # PIN and codes
    "PIN the message, please",
    "pin the message to the top",
    "pin 13 is LOW",
    "GPIO pin 4 and pin 17",
    "the pin was 1234",
    "pinned 1234 messages",
    "Bengaluru, PIN 560001",
    "your PIN is required",
    "PIN is four digits",
    "bowling pin count: 10",
    "Pinterest pin 20260301",
    "alarm code lives in alarm.py",
    "the alarm code is 300 lines long",
    "access code review by 2026",
    "the door code is broken",
    "error code 482913",
    "error code: 4711",
    "status code is 404",
    "exit code: 1370",
    "zip code 94110",
    "postal code: 10115",
    "country code +49",
    "area code 415",
    "dress code: casual",
    "promo code SAVE2026",
    "discount code: SUMMER25",
    "HS code 84713000",
    "the verification code is in auth.py",
    "verification code expires in 10 minutes",
    "the source code is 12000 lines",
    "airport code BER",
    "product code: AB-12345-X",
    "QR code 1234567890",
    "OTP is enabled",
    "TAN lines 2024",
    "tan(45) = 1",
    "one-time code generators are in otp2.py",
    "the safe combination is unknown",
    "a winning combination: 3-5-2 formation",
    "CVC is on the back",
    "CVV is three digits",
    "CVC 2024 takes place in Berlin",
    "our CV 842 is long",
    "the security code base has 842 files",
    # Cookies
    "Cookie: chocolate chip",
    "Set-Cookie: theme=dark; Path=/",
    "cookie: consent=true; lang=en",
    "cookies and cream",
    "The cookie banner is annoying.",
    # Shell
    "mysql -u root -p shop",
    "mysql -P3306 -h db1",
    "mysql -p$MYSQL_PW shop",
    "sshpass -p $PW ssh ana@example.org",
    "sshpass -e ssh ana@example.org",
    "docker run -p 8080:80 nginx",
    "mkdir -p a/b/c",
    "redis-cli -h cache ping",
    "unzip -l archive.zip",
    "nmap -p 1-65535 example.org",
    "sqlplus scott@db1",
    "jdbc:oracle:thin:@db1:1521:XE",
    "jdbc:oracle:thin:/@db1",
    # Hashes, ids and numbers
    "git show 3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a",
    "aws s3 cp build/3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a.zip s3://x",
    "secret: see commit 3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a",
    "session 550e8400-e29b-41d4-a716-446655440000",
    "order 1042-5533-8890",
    "invoice 2026-000123",
    "call +49 30 901820",
    "phone (415) 555-0132",
    "tel 555-0132-8841",
    "+1 202-555-0143",
    "2026-03-01 to 2026-04-02",
    "10:15-11:45",
    "v1.22.333-4444",
    "192.168.10.1/24",
    "52.5200, 13.4050",
    "EAN 4006381333931",
    "VIN WVWZZZ1JZXW000001",
    "tracking JD014600003828392837",
    "part no. 123-45-6789",
    "score 536-228-417",
    "model XPS-13-9310",
    "bitcoin address 1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    "tx 4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk2Xx8m0Q0l1c9d3e5f7g9h1j3k5l7m9n1p3q5r7s9t ana@x",
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
    "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
    "arn:aws:iam::123456789012:role/Admin",
    "i-0abcd1234efgh5678 in eu-central-1",
    "EAAB is an acronym",
    "KwDiBf89 is short",
    # Words that a seed phrase could be made of, and phrases about one
    "Write down your seed phrase and keep it safe",
    "A recovery phrase has 12 or 24 words.",
    "my mnemonic for planets: my very educated mother just served us noodles",
    "open window garden table chair music paper river stone cloud dance happy",
    "the seed catalog came today",
    # Personal numbers
    "my passport expires in 2028",
    "passport renewal takes 6 weeks",
    "passport-local 1.0.0",
    "passport number is required",
    "Steuer-ID fehlt noch",
    "Steuernummer beantragen bis 01.04.2026",
    "SSN is not needed",
    "social security office, room 123",
    "IBAN of the landlord is missing",
    "de89 is a route",
    "GB82 TEST 1234 5698 7654 31",
    "NI number pending",
    "customer 86095742719",
]


@pytest.mark.parametrize(("level", "kind", "line"), POSITIVES, ids=[line[:60] for _, _, line in POSITIVES])
def test_a_secret_is_replaced_by_a_mark_that_names_it(level: str, kind: str, line: str) -> None:
    marked, _ = filled(line, random.Random(line))
    given = marked.replace("«", "").replace("»", "")
    redacted = redact(given, rules_for(level))
    assert redacted.text == re.sub("«[^»]*»", f"[redacted: {kind}]", marked)
    assert [given[one.span.start : one.span.end] for one in redacted.found] == re.findall("«([^»]*)»", marked)
    assert redact(redacted.text, rules_for(level)).found == ()


def test_look_alikes_stay() -> None:
    rules = rules_for("personal")
    assert [line for line in LOOKALIKES if redact(line, rules).text != line] == []


@pytest.mark.parametrize("line", [line for level, _, line in POSITIVES if level == "personal" and "{P" not in line])
def test_personal_numbers_stay_by_default(line: str) -> None:
    given, _ = filled(line, random.Random(line))
    assert redact(given).found == ()


def test_the_documentation_lists_every_kind_in_its_class() -> None:
    page = (Path(__file__).parents[2] / "docs" / "redaction.md").read_text(encoding="utf-8")
    credentials, personal = page.split("## Credentials")[1].split("## Personal numbers")
    for rule in RULES:
        assert f"| {rule.name} |" in (personal if rule.personal else credentials)
        assert rule.example


def test_the_tables_are_as_long_as_they_are_said_to_be() -> None:
    assert len(POSITIVES) >= 90
    assert len(set(LOOKALIKES)) >= 100
