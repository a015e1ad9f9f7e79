"""LLM clients, checks of their JSON answers. Everyword works without an LLM."""
