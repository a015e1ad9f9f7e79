"""The memory that commands use: a file of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "memory.db"
    monkeypatch.setenv("EVERYWORD_MEMORY", str(path))
    monkeypatch.setenv("EVERYWORD_EMBEDDER", "hashing")
    return path
