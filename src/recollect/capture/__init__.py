"""Anything that was said or happened -> events: checking what callers give, and our own JSONL."""
