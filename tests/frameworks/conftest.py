"""Each test runs on a memory and on a client of a service; the example of the documentation runs once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.serve.service import serving

from everyword import Memory
from everyword.client import Client

# No framework may send anything from a test; they read these when they are imported.
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "DO_NOT_TRACK": "1"}

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


@pytest.fixture(params=["memory", "client"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory | Client]:
    with Memory.open(":memory:", embedder="hashing") as opened:
        if request.param == "memory":
            yield opened
        else:
            with serving(opened) as address, Client(address) as client:
                yield client


@pytest.fixture
def run_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Give a function that runs the Python of the section that installs an extra."""

    def run(extra: str) -> None:
        monkeypatch.chdir(tmp_path)
        sections = PAGE.read_text(encoding="utf-8").split("\n## ")
        (section,) = [one for one in sections if f"everyword[{extra}]" in one]
        (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        exec(compile(example, PAGE.name, "exec"), {"__name__": extra})

    return run
