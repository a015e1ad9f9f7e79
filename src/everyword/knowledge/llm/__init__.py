"""Extraction by an LLM: two passes over an event, every quote checked, and the answer kept as a reading.

`scene.py` is what the LLM is shown, `passes.py` asks, `statements.py` turns answers into drafts and `facts.py` into
claims, both by what `pointing.py` finds in the event; `stored.py` keeps what was let in. Prompts are files with
versions, in `prompts/`.
"""
