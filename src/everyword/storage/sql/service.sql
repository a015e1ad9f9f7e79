-- Jobs, imported files, receipts, facts about the file, API keys and webhooks.

-- Jobs
-- name: insert_job
INSERT INTO jobs (space, kind, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: count_jobs
SELECT count(*) FROM jobs WHERE space = $1;

-- name: fail_job
UPDATE jobs SET attempts = attempts + 1, error = $1, due_at = $2 WHERE id = $3 AND space = $4;

-- name: note_failure
UPDATE jobs SET error = $1 WHERE kind = $2 AND seq = ANY($3::bigint[]) AND space = $4;

-- name: delete_job
DELETE FROM jobs WHERE id = $1 AND space = $2;

-- name: settle_jobs
DELETE FROM jobs WHERE kind = $1 AND seq = ANY($2::bigint[]) AND space = $3;

-- name: delete_jobs_of
DELETE FROM jobs WHERE seq = ANY($2::bigint[]) AND space = $1;

-- name: job_seqs
SELECT seq FROM jobs WHERE space = $1 AND kind = $2 ORDER BY seq;

-- What a server said when it failed may repeat what it was shown.
-- name: clear_errors_of
UPDATE jobs SET error = NULL WHERE space = $1 AND kind = $2 AND error IS NOT NULL;

-- name: finish_jobs
DELETE FROM jobs WHERE id = ANY($1::bigint[]) RETURNING id;

-- Imports
-- name: files_read
SELECT path, reading, bytes, modified, hash, position, events, whole FROM imports WHERE space = $1
  AND path = ANY($2::text[]) {postgres: AND path_hash IN (SELECT hashtextextended(p, 0) FROM unnest($2::text[]) AS p)};

-- name: put_file_read
INSERT INTO imports (space, path, reading, bytes, modified, hash, position, events, whole)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (space, {postgres: path_hash}{sqlite: path})
  DO UPDATE SET {postgres: path = excluded.path,} reading = excluded.reading, bytes = excluded.bytes,
  modified = excluded.modified, hash = excluded.hash, position = excluded.position, events = excluded.events,
  whole = excluded.whole;

-- name: forgotten_tags
SELECT tag FROM forgotten WHERE space = $1 AND tag = ANY($2::bigint[]);

-- name: insert_forgotten_tag
INSERT INTO forgotten (space, tag) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: insert_receipt
INSERT INTO receipts (space, at, upto, receipt) VALUES ($1, $2, $3, $4);

-- name: receipts
SELECT upto, receipt FROM receipts WHERE space = $1 ORDER BY id;

-- name: get_fact
SELECT value FROM facts_of_file WHERE name = $1;

-- name: add_fact
INSERT INTO facts_of_file (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: set_fact
INSERT INTO facts_of_file (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- The service: keys, webhooks and the feed of changes
-- name: insert_key
INSERT INTO api_keys (id, hash, name, permission, spaces, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: keys
SELECT id, hash, name, permission, spaces, created_at, expires_at, revoked_at FROM api_keys ORDER BY created_at, id;

-- name: key_by_id
SELECT id, hash, name, permission, spaces, created_at, expires_at, revoked_at FROM api_keys WHERE id = $1;

-- name: any_key
SELECT EXISTS (SELECT 1 FROM api_keys);

-- name: revoke_key
UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL;

-- name: insert_webhook
INSERT INTO webhooks (id, space, url, secret, kinds, created_at, position) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: webhooks
SELECT id, space, url, secret, kinds, created_at, position, delivered, attempts, due_at, error FROM webhooks
ORDER BY created_at, id;

-- Only from where the sender stood: two processes that send the same do not move it twice.
-- name: move_webhook
UPDATE webhooks SET position = $1, delivered = delivered + $2, attempts = 0, due_at = 0, error = NULL
WHERE id = $3 AND position = $4;

-- name: fail_webhook
UPDATE webhooks SET attempts = attempts + 1, due_at = $1, error = $2 WHERE id = $3 AND position = $4;

-- name: delete_webhook
DELETE FROM webhooks WHERE id = $1;

-- name: receipts_after
SELECT id, receipt FROM receipts WHERE space = $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: next_job_due
SELECT min(due_at) FROM jobs;
