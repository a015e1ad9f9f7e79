"""Importing through the library: secrets stay out, and what was changed since costs nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from everyword import Memory

SAMPLES = Path(__file__).parent.parent / "data" / "imports"


def test_secrets_stay_out_unless_they_are_to_be_kept(memory: Memory, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    path = tmp_path / "talk.txt"
    path.write_text(f"Ana: my token is {token} so keep it safe\nBo: thanks, I will\nAna: and the other thing\n")
    done = memory.import_events(path, format="transcript")
    assert sum(done.redacted.values()) == 1
    assert all(token not in event.text for event in memory.events())
    assert "redacted" in next(memory.events(speaker="Ana")).text
    kept = memory.space("kept")
    assert kept.import_events(path, format="transcript", redact="none").redacted == {}
    assert any(token in event.text for event in kept.events())


def test_a_file_laid_out_like_an_export_is_no_export(memory: Memory, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    kept = memory.add(f"Kept on purpose: {secret}", at="2026-01-01")
    memory.admin.export(tmp_path / "ours.jsonl")
    ours = json.loads((tmp_path / "ours.jsonl").read_text())
    edited = {**ours, "text": f"Edited since: {secret}"}
    lines = [{"text": f"By hand: {secret}", "key": "k1"}, edited, ours]
    (tmp_path / "mixed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Memory.open(":memory:", embedder="none") as other:
        done = other.import_events(tmp_path / "mixed.jsonl")
        assert (done.added, sum(done.redacted.values())) == (3, 2)
        texts = {event.text for event in other.events()}
        assert texts == {"By hand: [redacted: github token]", "Edited since: [redacted: github token]", kept.event.text}
        # One that was stored with its secret before is there with other words, which is no error.
        other.forget(keys=["k1"])
        other.import_events(tmp_path / "mixed.jsonl", redact="none", again=True)
        assert other.import_events(tmp_path / "mixed.jsonl", again=True).differing == 1


def test_one_event_that_differs_does_not_cost_the_others(memory: Memory, tmp_path: Path) -> None:
    source = SAMPLES / "claude-code"
    memory.import_events(source)
    known = {event.key: event.text for event in memory.events()}
    copy = tmp_path / "copy"
    for path in source.rglob("*.jsonl"):
        target = copy / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = [row for line in path.read_text().splitlines() if (row := _row(line)) is not None]
        for row in rows:
            message = row.get("message")
            if row.get("type") == "user" and isinstance(message, dict) and isinstance(message.get("content"), str):
                message["content"] += " (edited)"
        target.write_text("\n".join(map(json.dumps, rows)))
    done = memory.import_events(copy, format="claude-code")
    assert done.differing > 0
    assert done.known > 0
    assert {event.key: event.text for event in memory.events() if event.key in known} == known


def _row(line: str) -> dict | None:
    try:
        row = json.loads(line)
    except ValueError:  # a line that a crash cut off
        return None
    return row if isinstance(row, dict) else None
