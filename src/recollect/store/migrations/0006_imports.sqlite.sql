-- Imports: how far each file was read, so that one that has not changed is not read again, and one that has grown is
-- read from where reading stopped. Written in the transaction of the events that were read. Nothing rests on it: without
-- it files are read again, and what is known already stays as it is.

CREATE TABLE imports (
  space INTEGER NOT NULL REFERENCES spaces (id),
  path TEXT NOT NULL,                         -- of the file; a file in a zip by the zip's path and its name in there
  reading TEXT NOT NULL,                      -- how it was read: format, its version, wing, with or without secrets
  bytes INTEGER NOT NULL,
  modified INTEGER NOT NULL,                  -- nanoseconds since 1970; 0 where a later change might not show
  hash BLOB NOT NULL,                         -- SHA-256 of the first so many bytes
  position TEXT NOT NULL,                     -- where reading goes on, as the format names places; JSON
  events INTEGER NOT NULL,                    -- read from it so far
  whole INTEGER NOT NULL,                     -- 1: all that was there has been read
  PRIMARY KEY (space, path)
) STRICT, WITHOUT ROWID;
