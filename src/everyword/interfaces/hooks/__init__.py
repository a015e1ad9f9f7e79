"""Hooks of coding agents: save conversations, and give the agent context from memory without being asked.

An agent starts a process for each hook and waits for it. So `run_hook`, `client` and `state` import nothing heavy. Long
work goes to a resident process (`daemon`) or to a detached one.
"""
