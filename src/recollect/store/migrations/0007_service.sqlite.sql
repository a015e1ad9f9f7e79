-- What the service needs: who may ask, and who is told of changes. None of it is derived from the log.

-- Only the hash of a key's random part is kept.
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL,
  name TEXT NOT NULL,
  permission TEXT NOT NULL,
  spaces TEXT NOT NULL,                       -- names and patterns, JSON
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- A webhook is its own queue: everything behind its position in the feed of its space waits to be sent.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  space TEXT NOT NULL,
  url TEXT NOT NULL,
  secret TEXT NOT NULL,                       -- what deliveries are signed with
  kinds TEXT NOT NULL,                        -- which changes are sent, JSON; none: all
  created_at INTEGER NOT NULL,
  position TEXT NOT NULL,                     -- in the feed: sent and acknowledged up to here
  delivered INTEGER NOT NULL DEFAULT 0,       -- how many changes
  attempts INTEGER NOT NULL DEFAULT 0,        -- that failed since the last success
  due_at INTEGER NOT NULL DEFAULT 0,
  error TEXT
) STRICT, WITHOUT ROWID;
