"""Prompts, read from their files. A changed prompt is a new file with the next version: readings name theirs."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

EXTRACT = "extract.v3"
GLEAN = "glean.v3"
EXTRACTOR = f"llm/{EXTRACT}+{GLEAN}"


@cache
def prompt(name: str) -> str:
    """Read one prompt."""
    return files(__package__).joinpath("prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
