"""Hooks into an agent's settings and out again: nothing of the user's is lost, and the file can be as it was."""

from __future__ import annotations

import errno
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from everyword import __version__
from everyword.errors import BadLocation, InvalidInput, InvalidSetting
from everyword.interfaces.cli import main as cli
from everyword.interfaces.cli.parser import read
from everyword.interfaces.hooks import install
from everyword.interfaces.hooks.agents import AGENTS, EVENTS
from everyword.interfaces.hooks.state import load

THEIRS: dict[str, Any] = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
    },
    "motto": "für immer",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(THEIRS, indent=4), encoding="utf-8")
    return path


def commands(path: Path, event: str) -> list[str]:
    settings = json.loads(path.read_text(encoding="utf-8"))
    return [hook["command"] for entry in settings["hooks"].get(event, []) for hook in entry["hooks"]]


def test_hooks_join_what_is_there(path: Path, home: Path) -> None:
    change = install.install(path, memory="m.db", home=home)
    settings = json.loads(path.read_text(encoding="utf-8"))
    assert settings["permissions"] == THEIRS["permissions"]
    assert settings["motto"] == "für immer"
    assert settings["hooks"]["PreToolUse"] == THEIRS["hooks"]["PreToolUse"]
    assert commands(path, "Stop")[0] == "say done"
    for event in EVENTS:
        ours = shlex.split(commands(path, event)[-1])
        assert ours[:5] == [sys.executable, "-P", "-m", "everyword.interfaces.hooks", "run"]
    assert any(line.startswith("+") and "SessionStart" in line for line in change.diff.splitlines())
    assert not any(line.startswith("-") and "motto" in line for line in change.diff.splitlines())
    assert Path(load(str(home)).memory).is_absolute()


@pytest.mark.parametrize("agent", ["codex", "gemini", "cursor", "copilot"])
def test_each_agent_gets_hooks_in_its_own_form(tmp_path: Path, home: Path, agent: str) -> None:
    is_flat = agent in ("cursor", "copilot")
    theirs = {"command": "say hi"} if is_flat else {"hooks": [{"type": "command", "command": "say hi"}]}
    start = AGENTS[agent].events["SessionStart"]
    path = tmp_path / "settings.json"
    before = json.dumps({"hooks": {start: [theirs]}, "x": 1})
    path.write_text(before)
    install.install(path, memory="m.db", home=home, agent=agent)
    settings = json.loads(path.read_text())
    assert set(settings["hooks"]) == set(AGENTS[agent].events.values())
    assert settings["hooks"][start][0] == theirs
    ours = settings["hooks"][start][1]
    entry = ours if is_flat else ours["hooks"][0]
    limit = {"gemini": ("timeout", 10_000), "copilot": ("timeoutSec", 10)}.get(agent, ("timeout", 10))
    assert entry[limit[0]] == limit[1]
    command = shlex.split(entry["bash" if agent == "copilot" else "command"])
    assert command[3:7] == ["everyword.interfaces.hooks", "run", "--agent", agent]
    assert settings.get("version") == (1 if is_flat else None)
    assert set(install.status(home)["installed"][0]["hooks"]) == set(AGENTS[agent].events.values())
    install.uninstall(path, home=home)
    assert path.read_text() == before
    install.install(tmp_path / "new.json", memory="m.db", home=home, agent=agent)
    install.uninstall(tmp_path / "new.json", home=home)
    assert not (tmp_path / "new.json").exists()


def test_the_plugin_runs_our_commands() -> None:
    root = Path(__file__).parents[2]
    (listed,) = json.loads((root / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    plugin = root / listed["source"]
    about = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text())
    assert (about["name"], about["version"]) == (listed["name"], __version__)
    plugged = json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(plugged) == set(EVENTS)
    assert {hook["command"] for groups in plugged.values() for one in groups for hook in one["hooks"]} == {
        "everyword hook run"
    }
    server = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["everyword"]
    program, verb, *options = [server["command"], *server["args"]]
    assert (program, verb) == ("everyword", "mcp")
    assert read(["mcp", *options]).arguments == {"tools": "core", "project": ""}  # this folder
    for command in [*(plugin / "commands").iterdir(), plugin / "skills" / "memory" / "SKILL.md"]:
        head = command.read_text().split("---")[1]
        assert "description: " in head, command.name


def test_a_dry_run_changes_nothing(path: Path, home: Path) -> None:
    before = path.read_bytes()
    assert "everyword.interfaces.hooks" in install.install(path, memory="m.db", home=home, dry_run=True).diff
    assert path.read_bytes() == before
    assert not home.exists()
    assert sorted(path.parent.iterdir()) == [path]


def test_uninstalling_gives_the_very_file_back(path: Path, home: Path) -> None:
    before = path.read_bytes()
    change = install.install(path, memory="m.db", home=home)
    assert change.backup is not None
    assert change.backup.read_bytes() == before
    install.install(path, memory="other.db", home=home, save_every=5)  # again, with other settings
    assert load(str(home)).save_every == 5
    assert len(commands(path, "Stop")) == 2
    install.uninstall(path, home=home)
    assert path.read_bytes() == before
    assert not change.backup.exists()


def test_a_file_that_was_not_there_is_gone_again(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    assert install.install(path, memory="m.db", home=home).backup is None
    assert len(commands(path, "Stop")) == 1
    install.uninstall(path, home=home)
    assert not path.exists()


def test_what_the_user_changed_since_stays(path: Path, home: Path) -> None:
    install.install(path, memory="m.db", home=home)
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["theme"] = "dark"
    path.write_text(json.dumps(settings), encoding="utf-8")
    install.uninstall(path, home=home)
    assert json.loads(path.read_text(encoding="utf-8")) == {**THEIRS, "theme": "dark"}


def test_what_the_user_changed_between_two_installations_stays(path: Path, home: Path) -> None:
    install.install(path, memory="m.db", home=home)
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, "theme": "dark"}), encoding="utf-8")
    install.install(path, memory="other.db", home=home)
    install.uninstall(path, home=home)
    assert json.loads(path.read_text(encoding="utf-8")) == {**THEIRS, "theme": "dark"}


@pytest.mark.parametrize("name", ["settings.json", "config.toml"])
def test_a_file_that_was_not_there_stays_once_the_user_wrote_into_it(tmp_path: Path, home: Path, name: str) -> None:
    path = tmp_path / "new" / name
    put = install.add_server if path.suffix == ".toml" else install.install
    put(path, memory="m.db", home=home)
    theirs = 'theme = "dark"\n' if path.suffix == ".toml" else json.dumps({"theme": "dark"})
    path.write_text(theirs)
    put(path, memory="m.db", home=home)
    install.uninstall(path, home=home)
    assert path.read_text().strip() == theirs.strip().replace("{", "{\n  ").replace("}", "\n}")


def test_a_comment_between_two_installations_stays(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('model = "x"\n')
    install.add_server(path, memory="m.db", home=home)
    path.write_text(path.read_text() + "# mine\n")
    install.add_server(path, memory="m.db", home=home)
    install.uninstall(path, home=home)
    assert path.read_text() == 'model = "x"\n\n# mine\n'


@pytest.mark.parametrize("left", [None, b"\xff", b"{broken"])
def test_without_its_backup_a_file_only_loses_what_is_ours(path: Path, home: Path, left: bytes | None) -> None:
    backup = install.install(path, memory="m.db", home=home).backup
    assert backup is not None
    backup.unlink()
    if left is not None:
        backup.write_bytes(left)
    install.uninstall(path, home=home)
    assert json.loads(path.read_text(encoding="utf-8")) == THEIRS


def test_a_command_beside_ours_stays(path: Path, home: Path) -> None:
    install.install(path, memory="m.db", home=home)
    settings = json.loads(path.read_text(encoding="utf-8"))
    mine = {"type": "command", "command": "say hello"}
    settings["hooks"]["SessionStart"][0]["hooks"].append(mine)
    path.write_text(json.dumps(settings), encoding="utf-8")
    install.install(path, memory="m.db", home=home)
    assert len(commands(path, "SessionStart")) == 2
    install.uninstall(path, home=home)
    assert json.loads(path.read_text(encoding="utf-8"))["hooks"]["SessionStart"] == [{"hooks": [mine]}]


def test_nobody_else_may_read_a_backup_of_what_nobody_else_may_read(path: Path, home: Path) -> None:
    path.chmod(0o600)
    backup = install.install(path, memory="m.db", home=home).backup
    assert backup is not None
    assert [oct(one.stat().st_mode & 0o777) for one in (path, backup)] == ["0o600", "0o600"]
    install.uninstall(path, home=home)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path, path: Path, home: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(path)
    before = path.read_bytes()
    install.install(link, memory="m.db", home=home)
    assert link.is_symlink()
    assert b"everyword.interfaces.hooks" in path.read_bytes()
    install.uninstall(link, home=home)
    assert link.is_symlink()
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["{not json", "[]", '{"hooks": []}', '{"hooks": {"Stop": "x"}}', "// comment\n{}"])
def test_a_file_that_is_not_understood_is_not_touched(path: Path, home: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(InvalidInput):
        install.install(path, memory="m.db", home=home)
    assert path.read_text() == text
    assert not home.exists()


def test_a_setting_of_the_wrong_type_is_refused(path: Path, home: Path) -> None:
    with pytest.raises(InvalidSetting):
        install.install(path, memory="m.db", home=home, save_every="often")


def test_each_has_its_own_switch(path: Path, home: Path) -> None:
    install.install(path, memory="m.db", home=home)
    install.switch("UserPromptSubmit", on=False, home=home)
    install.switch("inject_prompt", on=False, home=home)
    seen = install.status(home)
    assert seen["on"] == {event: event != "UserPromptSubmit" for event in EVENTS}
    assert not seen["settings"]["inject_prompt"]
    install.switch("UserPromptSubmit", on=True, home=home)
    assert all(install.status(home)["on"].values())
    with pytest.raises(InvalidSetting, match="Known"):
        install.switch("Nothing", on=True, home=home)


def test_status_tells_what_is_there(path: Path, home: Path) -> None:
    assert install.status(home) == {"home": str(home), "installed": []}
    install.install(path, memory="m.db", home=home)
    seen = install.status(home)
    assert [one["settings"] for one in seen["installed"]] == [str(path)]
    assert set(seen["installed"][0]["hooks"]) == set(EVENTS)
    assert seen["resident"] is None
    path.write_text("{}")  # the user took them out by hand
    assert install.status(home)["installed"][0]["hooks"] == []


def test_the_commands(path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--settings", str(path), "--home", str(home)]
    assert cli(["hook", "install", *asked, "--memory", "m.db", "--dry-run"]) == 0
    assert "+++" in capsys.readouterr().out
    assert cli(["hook", "install", *asked, "--memory", "m.db", "--yes", "--every", "7"]) == 0
    assert "A backup is in" in capsys.readouterr().out
    assert cli(["hook", "off", "SessionStart", "--home", str(home)]) == 0
    capsys.readouterr()
    assert cli(["hook", "status", "--home", str(home)]) == 0
    assert "switched off: SessionStart" in capsys.readouterr().out
    assert cli(["hook", "status", "--json", "--home", str(home)]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["on"]["SessionStart"], seen["settings"]["save_every"]) == (False, 7)
    assert cli(["hook", "off", "Nothing", "--home", str(home)]) == 2
    assert cli(["hook", "uninstall", *asked, "--yes"]) == 0
    assert json.loads(path.read_text(encoding="utf-8")) == THEIRS
    assert cli(["hook", "uninstall", "--settings", str(path) + ".none", "--home", str(home), "--yes"]) == 9
    assert "does not exist" in capsys.readouterr().err
    with pytest.raises(BadLocation):
        install.uninstall(str(path) + ".none", home=home)


@pytest.mark.parametrize("verb", ["install", "off"])
def test_a_home_that_can_not_be_written_is_told(
    path: Path, home: Path, verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    asked = ["--settings", str(path), "--memory", "m.db", "--yes"] if verb == "install" else ["SessionStart"]
    if verb == "install":
        home.write_text("a file where a folder should be")
    else:
        install.install(path, memory="m.db", home=home)
        monkeypatch.setattr("os.replace", refuse)
    before = path.read_text(encoding="utf-8")
    assert cli(["hook", verb, *asked, "--home", str(home)]) == 9
    assert "can't be" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == before


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Somebody whom the system has no home for, as in many containers."""

    def unknown(_: object) -> None:
        raise KeyError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("HOME", "EVERYWORD_HOOKS_HOME", "EVERYWORD_MEMORY", "CLAUDE_CONFIG_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize(
    "arguments",
    [
        ["install", "--yes", "--memory", "m.db"],
        ["install", "--yes", "--memory", "~/m.db", "--home", "h", "--settings", "s.json"],
        ["uninstall", "--yes"],
        ["status"],
    ],
)
def test_without_a_home_the_fix_is_told(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(["hook", *arguments]) == 9
    assert "Set HOME" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("arguments", [["init", "--yes"], ["stats"], ["add", "hello"]])
def test_without_a_home_the_command_line_tells_the_fix(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(arguments) == 9
    assert "Set HOME" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_settings_in_the_documents_can_be_read() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "agents.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert [list(json.loads(block)) for block in blocks] == [["mcpServers"]] * len(blocks)
    assert blocks
    for line in re.findall(r"^everyword hook (.*)$", page, re.MULTILINE):
        read(["hook", *shlex.split(line, comments=True)])
    for line in re.findall(r"^everyword mcp ?(.*)$", page, re.MULTILINE):
        read(["mcp", *shlex.split(line, comments=True)])


def test_without_a_terminal_nothing_is_done_unasked(path: Path, home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "everyword", "hook", "install", "--settings", str(path), "--home", str(home)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    assert b"Pass --yes" in done.stdout
    assert json.loads(path.read_text(encoding="utf-8")) == THEIRS
