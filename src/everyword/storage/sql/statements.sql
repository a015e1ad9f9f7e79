-- Statements, their journal, edges and tags, and what an LLM read in events.

-- Statements
-- name: insert_statement
INSERT INTO statements
  (space, id, seq, kind, about, status, replaces, recorded_at, closed_at, valid_from, valid_to, body, number)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
  {postgres: coalesce($13::bigint, nextval('row_number'))}{sqlite: $13}) RETURNING number;

-- name: statement_numbers
SELECT id, number FROM statements WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: insert_statement_key
INSERT INTO statement_keys (space, key, number) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- What is closed is compared with nothing any more.
-- name: delete_statement_keys
DELETE FROM statement_keys WHERE {postgres: space = $1 AND} number = (SELECT number FROM statements WHERE space = $1
  AND id = $2);

-- name: statements_standing_by
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM statements JOIN events ON {postgres: events.space = statements.space AND} events.seq = statements.seq
WHERE {postgres: statements.space = $1 AND} statements.number IN (
  SELECT number FROM statement_keys WHERE space = $1 AND key = ANY($2::bigint[])
) ORDER BY statements.number DESC LIMIT $3;

-- name: close_statement
UPDATE statements SET status = $1, valid_to = coalesce($2::bigint, valid_to), closed_at = $3 WHERE space = $4
  AND id = $5;

-- name: reopen_statement
UPDATE statements SET status = 'current', valid_to = NULL, closed_at = NULL WHERE space = $1 AND id = $2
  RETURNING number;

-- name: statement_by_id
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM statements JOIN events ON {postgres: events.space = statements.space AND} events.seq = statements.seq
WHERE statements.space = $1 AND statements.id = $2;

-- name: statements_of_events
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM statements JOIN events ON {postgres: events.space = statements.space AND} events.seq = statements.seq
WHERE statements.space = $1 AND statements.seq = ANY($2::bigint[]) {where} ORDER BY +statements.number;

-- name: where_closed
AND statements.seq IN (SELECT seq FROM statements WHERE space = $1 AND seq = ANY($2::bigint[]) AND status != 'current');

-- name: statements_standing
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM statements JOIN events ON {postgres: events.space = statements.space AND} events.seq = statements.seq
WHERE statements.space = $1 {postgres: AND about_hash = hashtextextended($2, 0)} AND about = $2 AND status = $3
ORDER BY statements.number DESC LIMIT $4;

-- name: statements_latest
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM statements JOIN events ON {postgres: events.space = statements.space AND} events.seq = statements.seq
WHERE statements.space = :space AND kind = :kind AND status = 'current'
  AND (:wing::text IS NULL OR events.wing = :wing) ORDER BY statements.number DESC LIMIT :limit;

-- What was said before and did not change anything: the journal has it as "none".
-- name: confirmations
SELECT target, count(*) FROM journal WHERE space = $1 AND target IS NOT NULL AND action = 'none'
GROUP BY target ORDER BY count(*) DESC, target LIMIT $2;

-- Back to the first version, then on from it: a version may have been followed by more than one. CROSS JOIN keeps SQLite
-- from going through all statements of the space for the few of a chain.
-- name: statement_versions
WITH RECURSIVE
  back (asked, id, replaces) AS (
    SELECT id, id, replaces FROM statements WHERE space = $1 AND id = ANY($2::text[])
    UNION SELECT asked, statements.id, statements.replaces FROM back CROSS JOIN statements
    WHERE statements.space = $1 AND statements.id = back.replaces
  ),
  chain (asked, id) AS (
    SELECT asked, id FROM back
    UNION SELECT asked, statements.id FROM chain CROSS JOIN statements
    WHERE statements.space = $1 AND statements.replaces = chain.id
  )
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset, asked
FROM chain CROSS JOIN statements
  JOIN events ON {postgres: events.space = statements.space AND} events.seq = statements.seq
WHERE statements.space = $1 AND statements.id = chain.id ORDER BY statements.number;

-- Whom or what some events speak about.
-- name: abouts_touched
SELECT about FROM statements {sqlite: INDEXED BY statements_seq} WHERE space = $1 AND seq = ANY($2::bigint[])
UNION SELECT statements.about FROM journal {sqlite: CROSS} JOIN statements ON statements.space = $1 AND statements.id = journal.target
WHERE journal.space = $1 AND journal.seq = ANY($2::bigint[]);

-- name: drop_all_statements
{postgres: WITH gone AS (DELETE FROM statement_keys WHERE space = $1)} DELETE FROM statements WHERE space = $1;

-- Also keys of statements that no longer exist.
-- name: drop_all_keys
DELETE FROM statement_keys WHERE space = $1;

-- name: drop_all_changes
DELETE FROM journal WHERE space = $1;

-- name: drop_all_tags
DELETE FROM event_tags WHERE space = $1;

-- name: delete_tags_of
DELETE FROM event_tags WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: insert_change
INSERT INTO journal (space, seq, at, action, statement, target, reason) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: changes_of
SELECT journal.at, action, reason, statement, target, events.id
FROM journal JOIN events ON {postgres: events.space = journal.space AND} events.seq = journal.seq
WHERE {postgres: journal.space = $1 AND} number IN (
  SELECT number FROM journal WHERE space = $1 AND statement = ANY($2::text[])
  UNION SELECT number FROM journal WHERE space = $1 AND target = ANY($2::text[])
) ORDER BY number;

-- name: confirmed_by
SELECT target FROM journal WHERE space = $1 AND seq = ANY($2::bigint[]) AND action = 'none' AND target IS NOT NULL
ORDER BY number;

-- name: change_counts
SELECT action, count(*) FROM journal WHERE space = $1 GROUP BY action ORDER BY action;

-- name: insert_tag
INSERT INTO event_tags (space, tag, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: tag_counts
SELECT tag, count(*) FROM event_tags WHERE space = $1 GROUP BY tag ORDER BY count(*) DESC, tag;

-- name: statement_counts
SELECT kind, count(*) FROM statements WHERE space = $1 AND status = 'current' GROUP BY kind ORDER BY count(*) DESC, kind;

-- Readings: what an LLM found in events, the work that is owed for them, and links that follow.
-- name: put_reading
INSERT INTO readings (space, seq, extractor, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (space, seq) DO UPDATE SET extractor = excluded.extractor, body = excluded.body;

-- name: insert_reading_source
INSERT INTO reading_sources (space, source, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: readings_of_events
SELECT seq, body FROM readings WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: put_model_reading
INSERT INTO model_readings (space, seq, model, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (space, seq) DO UPDATE SET model = excluded.model, body = excluded.body;

-- name: model_readings_of_events
SELECT seq, model, body FROM model_readings WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: delete_model_readings_of
DELETE FROM model_readings WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: drop_model_readings
DELETE FROM model_readings WHERE space = $1;

-- name: drop_loose_model_readings
DELETE FROM model_readings WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1);

-- name: seqs_resting_on
SELECT DISTINCT seq FROM reading_sources WHERE space = $1 AND source = ANY($2::bigint[]) ORDER BY seq;

-- name: delete_readings_of
DELETE FROM readings WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: delete_sources_of
DELETE FROM reading_sources WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: delete_sources_from
DELETE FROM reading_sources WHERE space = $1 AND source = ANY($2::bigint[]);

-- name: drop_loose_readings
DELETE FROM readings WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1);

-- name: drop_loose_sources
DELETE FROM reading_sources WHERE space = $1 AND (
  source NOT IN (SELECT seq FROM events WHERE space = $1) OR seq NOT IN (SELECT seq FROM readings WHERE space = $1)
);

-- Events that an LLM has neither read nor is to read, the newest first.
-- name: unread
SELECT seq FROM events WHERE space = $1 AND record IS NULL AND lower(coalesce(role, '')) != ALL($2::text[])
  AND source != ALL($5::text[])
  AND NOT EXISTS (SELECT 1 FROM readings WHERE readings.space = $1 AND readings.seq = events.seq)
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE {postgres: jobs.space = $1 AND} jobs.kind = $3
    AND jobs.seq = events.seq {sqlite: AND jobs.space = $1})
ORDER BY seq DESC LIMIT $4;

-- A session from one of its turns on.
-- name: said_from
SELECT seq FROM events WHERE space = $1 AND {postgres: session_hash = hashtextextended($2, 0) AND} session = $2
  AND (at, seq) >= ($3, $4)
ORDER BY at, seq;

-- What was refused touches no statement.
-- name: delete_refusals_of
DELETE FROM journal WHERE space = $1 AND seq = ANY($2::bigint[]) AND statement IS NULL AND target IS NULL;
