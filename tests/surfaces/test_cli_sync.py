"""`everyword sync`: notes are read, what was understood is written into them, and edits of that come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.command import Run, runner

NOTE = "# Ana\n\nAna lives in Faro. Ana prefers green tea.\n"


@pytest.fixture
def run(location: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "notes" / "Ana.md"
    path.parent.mkdir()
    path.write_text(NOTE)
    return path


def _sync(run: Run, note: Path) -> dict[str, Any]:
    done = run("sync", str(note.parent), "--json")
    assert done.code == 0, done.err
    return done.json


def _current(run: Run) -> list[str]:
    return [one["content"] for one in run("statements", "--json").json["statements"]]


def _rows(note: Path) -> list[str]:
    return [row.split(" <!--")[0] for row in note.read_text().splitlines() if row.startswith("- ")]


def test_statements_are_written_and_a_second_run_changes_nothing(run: Run, note: Path) -> None:
    first = _sync(run, note)
    assert (first["notes"], first["added"], first["written"], first["left"]) == (1, 1, 1, [])
    assert note.read_text().startswith(NOTE)
    assert _rows(note) == [f"- {content}" for content in _current(run)] != []
    written = note.read_text()
    again = _sync(run, note)
    assert (again["added"], again["corrected"], again["retracted"], again["written"]) == (0, 0, 0, 0)
    assert note.read_text() == written
    assert run("import", str(note.parent), "--again", "--json").json["added"] == 0, "the section is not imported"


def test_edits_of_the_section_correct_the_memory(run: Run, note: Path) -> None:
    _sync(run, note)
    rows = note.read_text().splitlines(keepends=True)
    faro, tea = (next(row for row in rows if row.startswith("- ") and word in row) for word in ("Faro", "tea"))
    edited = "".join(rows).replace(faro, faro.replace("Faro", "Porto")).replace(tea, "Ana owns a red boat.\n")
    note.write_text(edited)
    done = _sync(run, note)
    assert (done["corrected"], done["retracted"]) == (1, 2), "the tea is read again with the new line, and taken back"
    assert any("Porto" in content for content in _current(run))
    assert not any("tea" in content or "Faro" in content for content in _current(run))
    body = note.read_text().partition("<!-- everyword")[0]
    assert body == NOTE + "\nAna owns a red boat.\n", "what the user wrote is kept, in the note itself"
    settled = _sync(run, note)
    assert (settled["corrected"], settled["retracted"], settled["written"]) == (0, 0, 0)


def test_a_section_that_was_removed_is_written_again_and_takes_nothing_back(run: Run, note: Path) -> None:
    _sync(run, note)
    held = _current(run)
    note.write_text(NOTE)
    assert _sync(run, note)["retracted"] == 0
    assert _current(run) == held
    assert len(_rows(note)) == len(held)


def test_line_ends_and_modes_stay_and_other_encodings_are_left_alone(run: Run, note: Path) -> None:
    note.write_bytes(NOTE.replace("\n", "\r\n").encode())
    note.chmod(0o640)
    other = note.with_name("other.md")
    other.write_bytes("Grüße, I live in Faro.".encode("cp1252"))
    outside = note.parent.parent / "outside.md"
    outside.write_text("Ben lives in Porto.")
    note.with_name("link.md").symlink_to(outside)
    done = _sync(run, note)
    assert b"\n" not in note.read_bytes().replace(b"\r\n", b"")
    assert note.stat().st_mode & 0o777 == 0o640
    assert other.read_bytes() == "Grüße, I live in Faro.".encode("cp1252")
    assert len(done["left"]) == 1
    assert outside.read_text() == "Ben lives in Porto."
    assert run("sync", str(note)).code != 0
