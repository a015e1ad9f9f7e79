"""What an LLM writes of many events: summaries of sessions (`summaries.py`), plans for the concept graph (`plans.py`).

It sees numbered turns, or the window alone, and cites their numbers; `said.py` holds what it writes against what those
say. Nothing of it is needed: rules have summarised and worded before it is asked. Prompts are files with versions, in
`prompts/`.
"""
