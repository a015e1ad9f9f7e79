"""Who the server says it is. Nothing is imported here: these are the words of the first reply."""

from __future__ import annotations

NAME = "recollect"
TITLE = "Recollect: long-term memory"
INSTRUCTIONS = (
    "Long-term memory across conversations. Before answering anything that may rest on earlier conversations "
    "(people, preferences, decisions, plans, dates, past work), call `recall` or `context` with the question. When the "
    "user states something worth keeping, or asks to remember it, call `remember` with their own words, verbatim. Cite "
    "what you use by its date and speaker. If nothing is found, say so; never invent a memory."
)
