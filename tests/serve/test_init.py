"""`everyword init` in a home of its own: what it changes, that it can be run again, and that it can be undone."""

from __future__ import annotations

import io
import json
import shutil
import tomllib
from pathlib import Path

import pytest

from everyword import Memory
from everyword.interfaces.cli import main
from everyword.interfaces.hooks import install, state
from everyword.interfaces.hooks.state import EVENTS

SAMPLES = Path(__file__).parent.parent / "data" / "imports"
CLAUDE_STATE = '{\n  "numStartups": 7,\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n'
CODEX = 'model = "o"\n\n[tools]\nweb = true\n'


class Typed(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with five agents and some sessions in it."""
    place = tmp_path / "ana"
    shutil.copytree(SAMPLES / "claude-code", place / ".claude" / "projects" / "boat")
    shutil.copytree(SAMPLES / "codex", place / ".codex" / "sessions" / "2026")
    for name in (".cursor", ".gemini", ".copilot"):
        (place / name).mkdir()
    (place / ".gemini" / "settings.json").write_text('{"theme": "dark"}')
    (place / ".claude.json").write_text(CLAUDE_STATE)
    (place / ".codex" / "config.toml").write_text(CODEX)
    work = place / "work" / "boat"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("EVERYWORD_MEMORY", str(place / "memory.db"))
    monkeypatch.setenv("EVERYWORD_EMBEDDER", "hashing")
    monkeypatch.setenv("EVERYWORD_HOOKS_HOME", str(place / "hooks"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return place


def settings(home: Path) -> dict[str, str | None]:
    names = (
        *(".claude.json", ".claude/settings.json", ".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json"),
        *(".cursor/mcp.json", ".cursor/hooks.json", ".copilot/mcp-config.json", ".copilot/hooks/everyword.json"),
    )
    return {name: (home / name).read_text() if (home / name).exists() else None for name in names}


def test_one_command_sets_everything_up_and_running_it_again_changes_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = settings(home)
    assert main(["init", "--yes"]) == 0
    shown = capsys.readouterr().out
    assert "Claude Code: read" in shown
    assert "+++" in shown
    with Memory.open(home / "memory.db", embedder="hashing", create=False) as memory:
        events = memory.stats().events
        assert events > 0
        assert not list(memory.events(role="tool"))  # as hooks leave it out
        assert memory.stats().pending == 0
    after = settings(home)
    assert set(json.loads(after[".claude/settings.json"] or "")["hooks"]) == set(EVENTS)
    state = json.loads(after[".claude.json"] or "")
    assert state["numStartups"] == 7
    assert set(state["mcpServers"]) == {"other", "everyword"}
    assert state["mcpServers"]["everyword"]["env"] == {"EVERYWORD_MEMORY": str(home / "memory.db")}
    options = ["mcp", "--tools", "core", "--project"]
    for name in (".cursor/mcp.json", ".gemini/settings.json", ".copilot/mcp-config.json"):
        assert json.loads(after[name] or "")["mcpServers"]["everyword"]["args"][-4:] == options
    codex = tomllib.loads(after[".codex/config.toml"] or "")
    assert codex["tools"] == {"web": True}
    assert codex["mcp_servers"]["everyword"]["args"][-4:] == options
    hooked = {
        name: set(json.loads(after[name] or "")["hooks"])
        for name in (
            ".codex/hooks.json",
            ".gemini/settings.json",
            ".cursor/hooks.json",
            ".copilot/hooks/everyword.json",
        )
    }
    assert list(hooked.values()) == [
        {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop"},
        {"SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "SessionEnd"},
        {"sessionStart", "beforeSubmitPrompt", "afterAgentResponse"},
        set(EVENTS),
    ]
    assert main(["init", "--yes"]) == 0
    assert settings(home) == after
    assert "already set up" in capsys.readouterr().out
    with Memory.open(home / "memory.db", embedder="hashing") as memory:
        assert memory.stats().events == events
    assert main(["init", "--undo", "--yes"]) == 0
    assert settings(home) == before
    assert main(["init", "--undo", "--yes"]) == 0
    assert "Nothing to undo." in capsys.readouterr().out


def test_doctor_checks_what_init_set_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def checks() -> dict[str, str]:
        capsys.readouterr()
        main(["doctor", "--json"])
        listed = json.loads(capsys.readouterr().out)["checks"]
        return {one["name"]: f"{one['state']}: {one['detail']}" for one in reversed(listed)}

    assert checks()["Codex"] == "ok: not set up (everyword init sets it up)"
    assert main(["init", "--yes", "--skip", "import"]) == 0
    found = checks()
    assert found["Gemini CLI"].startswith("ok: hooks (SessionStart, BeforeAgent")
    assert found["Gemini CLI"].endswith("and MCP")
    assert found["hooks"] == f"ok: save to {home / 'memory.db'}; no errors"
    assert found["mcp server"].startswith("ok: ")
    settings_path = home / ".cursor" / "mcp.json"
    settings_path.write_text(settings_path.read_text().replace("memory.db", "other.db"))
    state.log(str(home / "hooks"), "run error: ValueError: x")
    assert "MCP serves" in checks()["hooks"]
    path = home / ".copilot" / "mcp-config.json"
    entry = json.loads(path.read_text())
    entry["mcpServers"]["everyword"]["command"] = "/nowhere/everyword"
    path.write_text(json.dumps(entry))
    assert checks()["mcp server"] == f"problem: {path}: /nowhere/everyword is not there"


def test_a_claude_code_with_the_plugin_gets_no_second_hooks(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.write_text('{"enabledPlugins": {"everyword@everyword": true}}')
    before = settings(home)
    assert main(["init", "--yes", "--skip", "import"]) == 0
    after = settings(home)
    assert after[".claude/settings.json"] == before[".claude/settings.json"]
    assert after[".claude.json"] == before[".claude.json"]
    assert after[".codex/hooks.json"]


def test_what_the_user_changed_since_stays_when_it_is_undone(home: Path) -> None:
    assert main(["init", "--yes", "--skip", "import"]) == 0
    path = home / ".codex" / "config.toml"
    path.write_text(path.read_text() + "\n[mcp_servers.mine]\ncommand = 'y'\n")
    state = home / ".claude.json"
    state.write_text(state.read_text().replace("7", "8"))
    assert main(["hook", "uninstall", "all", "--yes"]) == 0
    codex = tomllib.loads(path.read_text())
    assert set(codex["mcp_servers"]) == {"mine"}
    assert json.loads(state.read_text()) == {"numStartups": 8, "mcpServers": {"other": {"command": "x"}}}


def test_every_step_can_be_left_out(home: Path) -> None:
    before = settings(home)
    assert main(["init", "--yes", *(f"--skip={step}" for step in ("import", "vectors", "hooks", "mcp"))]) == 0
    assert settings(home) == before
    with Memory.open(home / "memory.db", embedder="hashing", create=False) as memory:
        assert memory.stats().events == 0


def test_every_question_can_be_answered_with_no(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings(home)
    monkeypatch.setattr("sys.stdin", Typed("\n\n" + "n\n" * 20))
    assert main(["init"]) == 0
    assert settings(home) == before
    monkeypatch.setattr("sys.stdin", Typed("\n\n"))  # somebody leaves
    assert main(["init"]) == 0
    assert settings(home) == before


def test_a_folder_s_wing_is_the_user_s_choice(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Typed(f"{home / 'other.db'}\nsailing\n" + "y\n" * 20))
    assert main(["init"]) == 0
    status = install.status()
    assert status["memory"] == str(home / "other.db")
    assert status["settings"]["wings"] == {str(Path.cwd()): "sailing"}


def test_a_memory_that_can_not_be_made_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = settings(home)
    (home / "file").write_text("")
    assert main(["init", "--yes", "--memory", str(home / "file" / "deep" / "m.db")]) == 9
    assert "everyword: " in capsys.readouterr().err
    assert settings(home) == before


def test_a_memory_on_a_server_is_no_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = settings(home)
    assert main(["init", "--yes", "--memory", "postgresql://ana@127.0.0.1:1/memory"]) == 20
    assert "everyword: " in capsys.readouterr().err
    assert settings(home) == before
    assert not list(Path.cwd().iterdir())


def test_how_commands_reach_a_memory_elsewhere_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, told in ([], False), (["--memory", str(home / "other.db")], True):
        assert main(["init", "--yes", *options]) == 0
        assert ("EVERYWORD_MEMORY" in capsys.readouterr().out.partition("Done.")[2]) is told


def test_with_nobody_to_ask_nothing_is_done(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings(home)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 20))
    assert main(["init"]) == 2
    assert settings(home) == before
    assert not (home / "memory.db").exists()


def test_settings_that_are_not_understood_are_left_alone_and_the_others_are_made(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".claude.json").write_text("{broken")
    (home / ".codex" / "config.toml").write_text("[mcp_servers]\neveryword = { command = 'mine' }\nnotify = ['say']\n")
    assert main(["init", "--yes", "--skip", "import"]) != 0
    shown = capsys.readouterr().out.splitlines()
    assert (home / ".claude.json").read_text() == "{broken"
    assert "everyword = { command = 'mine' }" in (home / ".codex" / "config.toml").read_text()
    assert ["Claude Code" in shown[-3], "Codex" in shown[-2]] == [line.startswith("Not done:") for line in shown[-3:-1]]
    assert shown[-1].startswith("The rest is done.")
    assert (home / ".cursor" / "mcp.json").exists()
