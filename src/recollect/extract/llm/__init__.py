"""Extraction by an LLM: two passes over an event, every quote checked, and the answer kept as a reading.

`scene.py` is what the LLM is shown, `passes.py` asks, `statements.py` turns answers into drafts, `stored.py` keeps what
was let in, `budget.py` counts tokens in the file. Prompts are files with versions, in `prompts/`.
"""
