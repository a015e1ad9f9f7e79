-- Artifacts (statements), their journal, edges and tags, and what an LLM read in events.

-- Artifacts
-- name: insert_artifact
INSERT INTO artifacts
  (space, id, seq, kind, about, status, replaces, recorded_at, closed_at, valid_from, valid_to, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING number;

-- name: insert_artifact_key
INSERT INTO artifact_keys (space, key, number) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- What is closed is compared with nothing any more.
-- name: delete_artifact_keys
DELETE FROM artifact_keys WHERE {postgres: space = $1 AND} number = (SELECT number FROM artifacts WHERE space = $1
  AND id = $2);

-- name: artifacts_standing_by
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON {postgres: events.space = artifacts.space AND} events.seq = artifacts.seq
WHERE {postgres: artifacts.space = $1 AND} artifacts.number IN (
  SELECT number FROM artifact_keys WHERE space = $1 AND key = ANY($2::bigint[])
) ORDER BY artifacts.number DESC LIMIT $3;

-- name: close_artifact
UPDATE artifacts SET status = $1, valid_to = coalesce($2::bigint, valid_to), closed_at = $3 WHERE space = $4
  AND id = $5;

-- name: reopen_artifact
UPDATE artifacts SET status = 'current', valid_to = NULL, closed_at = NULL WHERE space = $1 AND id = $2
  RETURNING number;

-- name: artifact_by_id
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON {postgres: events.space = artifacts.space AND} events.seq = artifacts.seq
WHERE artifacts.space = $1 AND artifacts.id = $2;

-- name: artifacts_of_events
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON {postgres: events.space = artifacts.space AND} events.seq = artifacts.seq
WHERE artifacts.space = $2 AND artifacts.seq = ANY($1::bigint[]) ORDER BY artifacts.number;

-- name: stated_by
SELECT seq, bool_or(status = 'current') FROM artifacts WHERE space = $2 AND seq = ANY($1::bigint[]) GROUP BY seq;

-- name: artifacts_standing
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON {postgres: events.space = artifacts.space AND} events.seq = artifacts.seq
WHERE artifacts.space = $1 {postgres: AND about_hash = hashtextextended($2, 0)} AND about = $2 AND status = $3
ORDER BY artifacts.number DESC LIMIT $4;

-- name: artifacts_latest
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON {postgres: events.space = artifacts.space AND} events.seq = artifacts.seq
WHERE artifacts.space = :space AND kind = :kind AND status = 'current'
  AND (:wing::text IS NULL OR events.wing = :wing) ORDER BY artifacts.number DESC LIMIT :limit;

-- What was said before and did not change anything: the journal has it as "none".
-- name: confirmations
SELECT target, count(*) FROM journal WHERE space = $1 AND target IS NOT NULL AND action = 'none'
GROUP BY target ORDER BY count(*) DESC, target LIMIT $2;

-- Back to the first version, then on from it: a version may have been followed by more than one.
-- name: artifact_versions
WITH RECURSIVE
  back (id, replaces) AS (
    SELECT id, replaces FROM artifacts WHERE space = $1 AND id = $2
    UNION SELECT artifacts.id, artifacts.replaces FROM artifacts JOIN back ON artifacts.id = back.replaces
    WHERE artifacts.space = $1
  ),
  chain (id) AS (
    SELECT id FROM back
    UNION SELECT artifacts.id FROM artifacts JOIN chain ON artifacts.replaces = chain.id WHERE artifacts.space = $1
  )
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON {postgres: events.space = artifacts.space AND} events.seq = artifacts.seq
  JOIN chain ON chain.id = artifacts.id
WHERE artifacts.space = $1 ORDER BY artifacts.number;

-- Whom or what some events speak about.
-- name: abouts_touched
SELECT about FROM artifacts WHERE space = $1 AND seq = ANY($2::bigint[])
UNION SELECT artifacts.about FROM journal JOIN artifacts ON artifacts.space = $1 AND artifacts.id = journal.target
WHERE journal.space = $1 AND journal.seq = ANY($2::bigint[]);

-- name: drop_loose_edges
DELETE FROM artifact_edges WHERE space = $1 AND (
  source NOT IN (SELECT id FROM artifacts WHERE space = $1) OR target NOT IN (SELECT id FROM artifacts WHERE space = $1)
);

-- name: drop_all_artifacts
{postgres: WITH gone AS (DELETE FROM artifact_keys WHERE space = $1)} DELETE FROM artifacts WHERE space = $1;

-- Also keys of artifacts that are not there: whoever removed those did not.
-- name: drop_all_keys
DELETE FROM artifact_keys WHERE space = $1;

-- name: drop_all_changes
DELETE FROM journal WHERE space = $1;

-- name: drop_all_edges
DELETE FROM artifact_edges WHERE space = $1;

-- name: drop_all_tags
DELETE FROM event_tags WHERE space = $1;

-- name: delete_tags_of
DELETE FROM event_tags WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: insert_change
INSERT INTO journal (space, seq, at, action, artifact, target, reason) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: changes_of
SELECT journal.at, action, reason, artifact, target, events.id
FROM journal JOIN events ON {postgres: events.space = journal.space AND} events.seq = journal.seq
WHERE journal.space = $1 AND (artifact = ANY($2::text[]) OR target = ANY($2::text[])) ORDER BY number;

-- name: change_counts
SELECT action, count(*) FROM journal WHERE space = $1 GROUP BY action ORDER BY action;

-- name: insert_edge
INSERT INTO artifact_edges (space, source, target, kind, weight, at, reason) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING;

-- name: edges_of
SELECT source, target, kind, weight, at, reason FROM artifact_edges
WHERE space = $1 AND (source = ANY($2::text[]) OR target = ANY($2::text[])) ORDER BY source, target, kind;

-- name: insert_tag
INSERT INTO event_tags (space, tag, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: tag_counts
SELECT tag, count(*) FROM event_tags WHERE space = $1 GROUP BY tag ORDER BY count(*) DESC, tag;

-- name: derived_upto
SELECT upto FROM derivations WHERE space = $1;

-- name: owe_derivation
INSERT INTO derivations (space, upto) VALUES ($1, $2) ON CONFLICT (space) DO UPDATE SET upto = excluded.upto;

-- name: derivation_done
DELETE FROM derivations WHERE space = $1;

-- name: artifact_counts
SELECT kind, count(*) FROM artifacts WHERE space = $1 AND status = 'current' GROUP BY kind ORDER BY count(*) DESC, kind;

-- For verify, from here to loose_tags: what points to something that is not there.
-- name: count_artifacts
SELECT count(*) FROM artifacts WHERE space = $1;

-- name: lost_artifacts
SELECT count(*) FROM artifacts WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1);

-- name: loose_versions
SELECT count(*) FROM artifacts WHERE space = $1 AND replaces IS NOT NULL
  AND replaces NOT IN (SELECT id FROM artifacts WHERE space = $1);

-- name: count_edges
SELECT count(*) FROM artifact_edges WHERE space = $1;

-- name: loose_edges
SELECT count(*) FROM artifact_edges WHERE space = $1 AND (
  source NOT IN (SELECT id FROM artifacts WHERE space = $1) OR target NOT IN (SELECT id FROM artifacts WHERE space = $1)
);

-- name: count_changes
SELECT count(*) FROM journal WHERE space = $1;

-- name: loose_changes
SELECT count(*) FROM journal WHERE space = $1 AND (
  seq NOT IN (SELECT seq FROM events WHERE space = $1)
  OR (artifact IS NOT NULL AND artifact NOT IN (SELECT id FROM artifacts WHERE space = $1))
  OR (target IS NOT NULL AND target NOT IN (SELECT id FROM artifacts WHERE space = $1))
);

-- name: count_tags
SELECT count(*) FROM event_tags WHERE space = $1;

-- name: loose_tags
SELECT count(*) FROM event_tags WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1);

-- Readings: what an LLM found in events, the work that is owed for them, and links that follow.
-- name: put_reading
INSERT INTO readings (space, seq, extractor, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (space, seq) DO UPDATE SET extractor = excluded.extractor, body = excluded.body;

-- name: insert_reading_source
INSERT INTO reading_sources (space, source, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: readings_of_events
SELECT seq, body FROM readings WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: seqs_resting_on
SELECT DISTINCT seq FROM reading_sources WHERE space = $1 AND source = ANY($2::bigint[]) ORDER BY seq;

-- name: delete_readings_of
DELETE FROM readings WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: delete_sources_of
DELETE FROM reading_sources WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: delete_sources_from
DELETE FROM reading_sources WHERE space = $1 AND source = ANY($2::bigint[]);

-- For verify, and for a rebuild that mends it.
-- name: count_readings
SELECT count(*) FROM readings WHERE space = $1;

-- name: loose_readings
SELECT count(*) FROM readings WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1);

-- name: loose_sources
SELECT count(*) FROM reading_sources WHERE space = $1 AND (
  source NOT IN (SELECT seq FROM events WHERE space = $1) OR seq NOT IN (SELECT seq FROM readings WHERE space = $1)
);

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

-- A session from one of its turns on, and which of the turns state something.
-- name: said_from
SELECT seq, EXISTS (SELECT 1 FROM artifacts WHERE artifacts.space = events.space AND artifacts.seq = events.seq)
FROM events WHERE space = $1 AND {postgres: session_hash = hashtextextended($2, 0) AND} session = $2
  AND (at, seq) >= ($3, $4)
ORDER BY at, seq;

-- An edge belongs to the later of its two: a reference starts there, any other ends there.
-- name: delete_edges_of_later
DELETE FROM artifact_edges WHERE space = $1 AND (
  (kind = 'reference' AND source = ANY($2::text[])) OR (kind != 'reference' AND target = ANY($2::text[]))
);

-- What was refused touches no artifact.
-- name: delete_refusals_of
DELETE FROM journal WHERE space = $1 AND seq = ANY($2::bigint[]) AND artifact IS NULL AND target IS NULL;
