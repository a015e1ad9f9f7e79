"""Stores: the protocol, the shared SQL implementation, SQLite and PostgreSQL."""
