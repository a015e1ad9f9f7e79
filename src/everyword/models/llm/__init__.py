"""LLM clients, checks of their JSON answers, and a daily token limit. Everyword works without an LLM."""
