"""The server's store: PostgreSQL with pgvector, many tenants, many processes on many machines."""

from everyword.storage.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
