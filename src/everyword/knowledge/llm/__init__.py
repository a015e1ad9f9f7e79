"""What an LLM does: it reads events in two passes, summarises sessions, and revises concepts.

`reading.py` asks. `answers.py` is what it is shown of an event, what its answers come to, and how that is kept.
`grounding.py` checks what it words freely. Prompts are files with versions, in `prompts/`.
"""
