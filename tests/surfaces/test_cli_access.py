"""`everyword keys`, `everyword webhooks` and `everyword serve` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from everyword import Memory
from everyword.interfaces.cli import main


@pytest.fixture(autouse=True)
def memory_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVERYWORD_MEMORY", str(tmp_path / "memory.db"))
    return tmp_path / "memory.db"


def test_a_key_is_made_listed_and_revoked(capsys: pytest.CaptureFixture[str], memory_path: Path) -> None:
    assert main(["keys", "list"]) == 0
    assert "no keys" in capsys.readouterr().out
    assert main(["keys", "create", "laptop", "--may", "write", "--space", "acme/*", "--expires", "30d"]) == 0
    shown = capsys.readouterr()
    secret = shown.out.strip()
    assert secret.startswith("ew_")
    assert "shown only once" in shown.err
    assert "write, in acme/*" in shown.err
    assert main(["keys", "list"]) == 0
    listed = capsys.readouterr().out
    assert "laptop" in listed
    assert "valid until" in listed
    assert secret.split("_", 2)[2] not in listed
    with Memory.open(memory_path, embedder="none") as memory:
        key = memory.admin.api_keys()[0]
    assert (key.permission, key.spaces) == ("write", ("acme/*",))
    assert key.expires_at is not None
    assert round((key.expires_at - key.created_at).total_seconds() / 86_400) == 30
    assert main(["keys", "revoke", key.id]) == 0
    capsys.readouterr()
    assert main(["keys", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["keys"][0]["revoked_at"] is not None


def test_a_webhook_is_made_listed_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["webhooks", "add", "https://example.org/x", "--space", "acme", "--kind", "event", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["secret"].startswith("whsec_")
    assert main(["webhooks", "list"]) == 0
    assert "https://example.org/x" in capsys.readouterr().out
    assert main(["webhooks", "remove", made["webhook"]["id"]]) == 0
    capsys.readouterr()
    assert main(["webhooks", "list"]) == 0
    assert "no webhooks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["keys"], 2, "Missing verb"),
        (["keys", "create", "x", "--space", "a*"], 2, "is not a valid pattern"),
        (["keys", "create", "x", "--space", "a", "--expires", "whenever"], 2, "is not a time"),
        (["keys", "create", "x", "--space", "a", "--may", "everything"], 2, "Unknown permission"),
        (["keys", "create", "x", "--may", "write"], 2, "--space"),  # which tenants it opens is not left to a default
        (["keys", "revoke", "nothing"], 4, "There is no key"),
        (["webhooks", "add", "nonsense"], 2, "is not an address"),
        (["webhooks", "remove", "nothing"], 4, "There is no webhook"),
        (["serve", "--host", "0.0.0.0"], 2, "needs an API key"),
        (["serve", "--port", "70000"], 2, "port must be"),
        (["serve", "--rate", "-1"], 2, "must not be negative"),
    ],
)
def test_what_is_wrong_is_said(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str) -> None:
    assert main(arguments) == code
    assert said in capsys.readouterr().err


def test_options_may_stand_before_a_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = str(tmp_path / "keys.db")
    assert main(["--memory", other, "--json", "keys", "create", "laptop", "--space", "*"]) == 0
    assert json.loads(capsys.readouterr().out)["key"]["name"] == "laptop"
    assert main(["--memory", "nowhere", "keys", "list", "--memory", other]) == 0  # what stands last counts
    assert "laptop" in capsys.readouterr().out
    assert main([f"--memory={other}", "serve", "--port", "70000"]) == 2
    assert "port must be" in capsys.readouterr().err
    assert main(["--memory", other, "worker", "nothing"]) == 2
    assert "everyword worker" in capsys.readouterr().err
    assert main(["--memory", other, "mcp", "--port", "nine"]) == 2
    assert "--port" in capsys.readouterr().err


def test_a_program_says_so_where_it_does_not_take_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "serve"]) == 2
    assert "--json" in capsys.readouterr().err
    assert main(["--memory", "serve", "stats"]) == 9  # the name of a file
    assert "There is no memory" in capsys.readouterr().err


def test_help_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    for program in ("serve", "keys", "webhooks"):
        assert main([program, "--help"]) == 0
        assert f"everyword {program}" in capsys.readouterr().out
