-- name: make
CREATE TABLE IF NOT EXISTS encoded (
    key BLOB PRIMARY KEY,    -- hash of model label, kind and text
    pooled BLOB NOT NULL,    -- a passage's int8 or a question's float32
    tokens BLOB NOT NULL,    -- a passage's packed bytes or a question's float32 rows
    ms REAL NOT NULL         -- what encoding it took, so that a run that reads it can say what it saved
) WITHOUT ROWID;

-- name: find
SELECT pooled, tokens, ms FROM encoded WHERE key = ?;

-- name: keep
INSERT OR REPLACE INTO encoded (key, pooled, tokens, ms) VALUES (?, ?, ?, ?);
