"""What is derived from events: statements, facts, sessions, concepts and intents."""
