"""The server's store: PostgreSQL with pgvector, many tenants, many processes on many machines."""

from recollect.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
