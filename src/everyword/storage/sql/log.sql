-- Spaces, events, filters on events and counts over time. {where} takes the conditions of a filter, which stand last.
-- One template a query for both dialects, in the form of PostgreSQL; `queries.py` says what SQLite's differs in.
-- {postgres: ...} and {sqlite: ...} stand for one dialect alone.

-- name: space_names
SELECT name FROM spaces {postgres: WHERE current_setting('everyword.space', true) IN ('*', space::text)} ORDER BY name;

-- Keep the counters in step with what a transaction added or removed.
-- name: count_space
UPDATE spaces SET events = events + $1, words = words + $2, word_tail = word_tail + $3,
  last_seq = greatest(last_seq, $4)
  WHERE {postgres: space}{sqlite: id} = $5;

-- How far each view has applied the log.
-- name: cursors
SELECT name, upto, version FROM views WHERE space = $1;

-- name: set_cursor
INSERT INTO views (space, name, version, upto) VALUES ($1, $2, $3, $4)
ON CONFLICT (space, name) DO UPDATE SET version = excluded.version, upto = excluded.upto;

-- name: events_behind
SELECT count(*) FROM (SELECT 1 FROM events WHERE space = $1 AND seq > $2 LIMIT $3) AS waiting;

-- Make every cache in every process start anew.
-- name: next_epoch
UPDATE spaces SET epoch = epoch + 1 WHERE {postgres: space}{sqlite: id} = $1;

-- The log
-- name: insert_event
INSERT INTO events
  (seq, space, id, content, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);

-- name: events_by_id
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND id = ANY($2::bytea[]) {postgres: ORDER BY seq};

-- Whose ids lie between two, both included: those that begin with the same digits.
-- name: events_by_id_between
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND id >= $2 AND id <= $3 ORDER BY seq;

-- name: event_by_key
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND {postgres: key_hash = hashtextextended($2, 0) AND} key = $2;

-- By seq, not by an index of the space: hence the plus sign.
-- name: events_by_seq
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE seq = ANY($2::bigint[]) AND {sqlite: +}space = $1 {postgres: ORDER BY seq};

-- Columns that stand before the text: of a long event only the first page is read.
-- name: outlines_by_seq
SELECT seq, session, at, recorded_at, speaker, role, source FROM events
WHERE seq = ANY($2::bigint[]) AND {sqlite: +}space = $1 {postgres: ORDER BY seq};

-- name: events_oldest_first
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = :space AND record IS NULL {where} AND (at, seq) > (:at, :seq) ORDER BY at, seq LIMIT :limit;

-- name: events_newest_first
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = :space AND record IS NULL {where} AND (at, seq) < (:at, :seq) ORDER BY at DESC, seq DESC LIMIT :limit;

-- name: log_after
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND seq > $2 ORDER BY seq LIMIT $3;

-- For verify: the content hash beside the event that it must fit.
-- name: contents_after
SELECT seq, content FROM events WHERE space = $1 AND seq > $2 ORDER BY seq LIMIT $3;

-- name: delete_events
DELETE FROM events WHERE seq = ANY($2::bigint[]) AND {sqlite: +}space = $1;

-- name: total_events
SELECT coalesce(sum(events), 0)::bigint FROM spaces
{postgres: WHERE current_setting('everyword.space', true) IN ('*', space::text)};

-- name: count_records
SELECT count(*) FROM events WHERE space = $1 AND record IS NOT NULL;

-- Of some kinds, in the order of the log.
-- name: records
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND record = ANY($2::text[]) ORDER BY +seq;

-- name: latest_identity
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND record = 'identity' AND wing IS NOT DISTINCT FROM $2 ORDER BY seq DESC LIMIT 1;

-- Conditions of a filter
-- name: where_wing
{postgres: AND wing_hash = hashtextextended(:wing, 0)} AND wing = :wing;

-- name: where_project
AND (wing IS NULL OR {postgres: wing_hash = hashtextextended(:project, 0) AND} wing = :project);

-- name: where_session
{postgres: AND session_hash = hashtextextended(:session, 0)} AND session = :session;

-- name: where_speaker
{postgres: AND speaker_hash = hashtextextended(:speaker, 0)} AND speaker = :speaker;

-- name: where_since
AND at >= :since;

-- name: where_until
AND at < :until;

-- name: where_as_of
AND recorded_at <= :as_of;

-- name: where_seqs
AND seq = ANY(:seqs::bigint[]);

-- name: where_tag
AND seq IN (SELECT seq FROM event_tags WHERE space = :space AND tag = :tag);

-- name: where_in_meta
AND seq IN (SELECT seq FROM event_meta WHERE space = :space AND name = :name_0 {is});

-- name: where_value
AND value = :value_0;

-- name: where_number
AND number >= :least_0 AND number <= :most_0;

-- name: count_in_meta
SELECT count(*) FROM (SELECT 1 FROM event_meta WHERE space = :space AND name = :name_0 {where} LIMIT :limit) AS found;

-- name: insert_meta
INSERT INTO event_meta (space, seq, name, value, number) VALUES ($1, $2, $3, $4, $5);

-- name: delete_meta
DELETE FROM event_meta WHERE space = $1 AND seq = $2 AND name = $3 AND value = $4;

-- name: clear_meta
DELETE FROM event_meta WHERE space = $1;

-- name: meta_of_events
SELECT seq, meta FROM events WHERE space = $1 AND meta IS NOT NULL AND record IS NULL;

-- name: all_meta
SELECT seq, name, value, number FROM event_meta WHERE space = $1;

-- Few values in many events, as below.
-- name: meta_values
WITH RECURSIVE one (value) AS (
  SELECT min(value) FROM event_meta WHERE space = :space AND name = :name
  UNION ALL
  SELECT (SELECT min(value) FROM event_meta WHERE space = :space AND name = :name AND value > one.value) FROM one
    WHERE one.value IS NOT NULL
) SELECT value FROM one WHERE value IS NOT NULL;

-- name: meta_values_of_wing
SELECT DISTINCT value FROM event_meta WHERE space = :space AND name = :name
AND seq IN (SELECT seq FROM events WHERE space = :space AND wing = :wing) ORDER BY value;

-- name: extent
SELECT count(*), min(at), max(at) FROM events
WHERE space = :space AND seq NOT IN (SELECT seq FROM events WHERE space = :space AND record IS NOT NULL) {where};

-- name: counted
WITH RECURSIVE part (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM part WHERE n < :parts::bigint - 1)
SELECT (
  SELECT count(*) FROM events
  WHERE space = :space AND at >= :begin::bigint + n * :width::bigint AND at < :begin::bigint + (n + 1) * :width::bigint
    AND seq NOT IN (SELECT seq FROM events WHERE space = :space AND record IS NOT NULL) {where}
) FROM part ORDER BY n;

-- Few names in many events: from each to the next, by the index.
-- name: speakers
WITH RECURSIVE one (name) AS (
  SELECT min(speaker) FROM events WHERE space = :space AND speaker IS NOT NULL
  UNION ALL
  SELECT (SELECT min(speaker) FROM events WHERE space = :space AND speaker > one.name) FROM one
    WHERE one.name IS NOT NULL
) SELECT name FROM one LIMIT :limit;

-- name: wings
WITH RECURSIVE one (name) AS (
  SELECT min(wing) FROM events WHERE space = :space AND wing IS NOT NULL AND record IS NULL
  UNION ALL
  SELECT (SELECT min(wing) FROM events WHERE space = :space AND wing > one.name AND record IS NULL) FROM one
    WHERE one.name IS NOT NULL
) SELECT name FROM one LIMIT :limit;

-- name: speakers_of_wing
SELECT DISTINCT speaker FROM events WHERE space = $1 AND wing = $2 AND speaker IS NOT NULL ORDER BY speaker LIMIT $3;
