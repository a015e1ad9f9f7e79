"""What an LLM does: it reads events in two passes, summarises sessions, and revises concepts.

`scene.py` is what it is shown of an event and `reading.py` asks. `statements.py` turns answers into drafts, and
`facts.py` into places of facts; `stored.py` keeps what was let in. `grounding.py` checks what it words freely. Prompts
are files with versions, in `prompts/`.
"""
