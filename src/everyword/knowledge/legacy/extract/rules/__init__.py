"""Offline extraction by rules: no model, no network, the same result each time."""

from __future__ import annotations

from everyword.knowledge.legacy.extract.rules.apply import EXTRACTOR, Extraction, extract

__all__ = ["EXTRACTOR", "Extraction", "extract"]
