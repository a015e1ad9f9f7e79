-- One digest a table: how many rows it has and the sum of their hashes. Each transaction that changes rows changes the
-- sums with them, so that `verify` finds a row that was changed, added or removed in any other way.
CREATE TABLE digests (
  name TEXT PRIMARY KEY,                      -- of the table
  rows INTEGER NOT NULL,
  total INTEGER NOT NULL                      -- the hashes of its rows, added up modulo 2^62; see store/sqlite/digests.py
) STRICT, WITHOUT ROWID;
