"""Prompts, read from their files. A changed prompt is a new file with the next version: readings name theirs."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

EXTRACT = "extract.v3"
GLEAN = "glean.v3"
SUMMARISE = "summarise.v1"
PLAN = "plan.v3"
EXTRACTOR = f"llm/{EXTRACT}+{GLEAN}"
LONGEST_MODEL = 80  # characters of the model's name as its server gives it


@cache
def prompt(name: str) -> str:
    """Read one prompt."""
    return files(__package__).joinpath("prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


def extractor_of(name: str, model: str) -> str:
    """Name who wrote: the prompt and the model."""
    return f"llm/{name} {model[:LONGEST_MODEL]}"
