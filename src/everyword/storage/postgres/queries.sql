-- Every query of the PostgreSQL store, by the names that SQLite's have and with values in the same order.
-- Values by place are $1, $2, ...; those of filters have names. {where} takes the conditions, which stand at the end.

-- Spaces

-- One space's counters; says at the same time whose rows the transaction is about from here on.
-- name: space_by_name
SELECT space, name, events, words, generation, words_upto, word_tail, epoch,
       set_config('everyword.space', space::text, true),
       ARRAY(SELECT model FROM near_spaces WHERE near_spaces.space = $1 AND state != 'wanted'),
       ARRAY(SELECT model FROM near_spaces WHERE near_spaces.space = $1 AND state = 'ready')
FROM spaces WHERE space = $1;

-- name: space_names
SELECT name FROM spaces WHERE current_setting('everyword.space', true) IN ('*', space::text) ORDER BY name;

-- name: add_space
INSERT INTO spaces (space, name) VALUES ($1, $2)
RETURNING space, name, events, words, generation, words_upto, word_tail, epoch,
          set_config('everyword.space', space::text, true), '{}'::bigint[], '{}'::bigint[];

-- name: add_turn
INSERT INTO turns (space) VALUES ($1);

-- name: go_to_space
SELECT set_config('everyword.space', $1, true);

-- Writers of a space take turns, in the order in which they came. All of them keep out who changes the active model.
-- name: take_turn
SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock($2);

-- name: keep_writers_out
SELECT pg_advisory_xact_lock($1);

-- name: count_space
UPDATE spaces SET events = events + $1, words = words + $2, word_tail = word_tail + $3 WHERE space = $4;

-- name: next_epoch
UPDATE spaces SET epoch = epoch + 1 WHERE space = $1;

-- The log

-- name: insert_event
INSERT INTO events
  (seq, space, id, content, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);

-- name: next_seqs
SELECT nextval('event_seq') FROM generate_series(1, $1::bigint);

-- name: last_seq
SELECT last_value FROM event_seq WHERE is_called;

-- name: last_recorded
SELECT max(recorded_at) FROM events WHERE space = $1;

-- name: events_by_id
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND id = ANY($2::bytea[]) ORDER BY seq;

-- name: event_by_key
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND key_hash = hashtextextended($2, 0) AND key = $2;

-- name: events_by_seq
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE seq = ANY($1::bigint[]) AND space = $2 ORDER BY seq;

-- name: outlines_by_seq
SELECT seq, session, speaker, role, at, source, recorded_at FROM events WHERE seq = ANY($1::bigint[]) AND space = $2 ORDER BY seq;

-- The runs around several events at once: a row for each turn, beside the event that it stands near.
-- name: runs_around
SELECT here.seq, near.at, near.seq FROM events AS here CROSS JOIN LATERAL (
  (SELECT at, seq FROM events WHERE space = $2 AND session_hash = here.session_hash AND session = here.session
     AND (at, seq) < (here.at, here.seq) ORDER BY at DESC, seq DESC LIMIT $3)
  UNION ALL
  (SELECT at, seq FROM events WHERE space = $2 AND session_hash = here.session_hash AND session = here.session
     AND (at, seq) > (here.at, here.seq) ORDER BY at, seq LIMIT $3)
) AS near
WHERE here.space = $2 AND here.seq = ANY($1::bigint[]) AND here.session IS NOT NULL ORDER BY 1, 2, 3;

-- name: events_oldest_first
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = %(space)s AND record IS NULL {where} AND (at, seq) > (%(at)s, %(seq)s) ORDER BY at, seq LIMIT %(limit)s;

-- name: events_newest_first
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = %(space)s AND record IS NULL {where} AND (at, seq) < (%(at)s, %(seq)s) ORDER BY at DESC, seq DESC LIMIT %(limit)s;

-- name: log_after
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND seq > $2 ORDER BY seq LIMIT $3;

-- name: contents_after
SELECT seq, content FROM events WHERE space = $1 AND seq > $2 ORDER BY seq LIMIT $3;

-- name: matching_seqs
SELECT seq FROM events WHERE space = %(space)s AND record IS NULL {where} ORDER BY seq;

-- name: sessions
SELECT session, coalesce(array_agg(DISTINCT wing) FILTER (WHERE wing IS NOT NULL), '{}'),
       coalesce(array_agg(DISTINCT speaker) FILTER (WHERE speaker IS NOT NULL), '{}'),
       count(*), min(at), max(at) FROM events
WHERE space = %(space)s AND session IS NOT NULL {where} GROUP BY session ORDER BY max(at) DESC, session;

-- Which are the latest is read from an index; who spoke in them only then, from their events.
-- name: latest_sessions
SELECT session, coalesce(array_agg(DISTINCT wing) FILTER (WHERE wing IS NOT NULL), '{}'),
       coalesce(array_agg(DISTINCT speaker) FILTER (WHERE speaker IS NOT NULL), '{}'),
       count(*), min(at), max(at) FROM events
WHERE space = %(space)s AND session IN (
  SELECT session FROM events WHERE space = %(space)s AND session IS NOT NULL {where}
  GROUP BY session ORDER BY max(at) DESC, session LIMIT %(limit)s
) {where} GROUP BY session ORDER BY max(at) DESC, session;

-- name: delete_events
DELETE FROM events WHERE seq = ANY($1::bigint[]) AND space = $2;

-- name: tally_events
SELECT count(DISTINCT session), count(DISTINCT speaker), count(DISTINCT wing), min(at), max(at) FROM events
WHERE space = $1 AND record IS NULL;

-- name: total_events
SELECT coalesce(sum(events), 0)::bigint FROM spaces
WHERE current_setting('everyword.space', true) IN ('*', space::text);

-- name: count_events
SELECT count(*) FROM events WHERE space = $1 AND record IS NULL;

-- name: count_records
SELECT count(*) FROM events WHERE space = $1 AND record IS NOT NULL;

-- Of some kinds, in the order of the log.
-- name: records
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND record = ANY($2::text[]) ORDER BY seq;

-- name: latest_identity
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND record = 'identity' AND wing IS NOT DISTINCT FROM $2 ORDER BY seq DESC LIMIT 1;

-- Words

-- name: insert_word_tail
INSERT INTO word_tail (space, seq, length, terms) VALUES ($1, $2, $3, $4);

-- name: word_tail_after
SELECT seq, length, terms FROM word_tail WHERE space = $1 AND seq > $2 ORDER BY seq;

-- name: clear_word_tail
DELETE FROM word_tail WHERE space = $1;

-- name: delete_word_tail
DELETE FROM word_tail WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: set_words_upto
UPDATE spaces SET words_upto = $1, word_tail = $2 WHERE space = $3;

-- name: insert_postings
INSERT INTO postings (space, generation, term, first, chunk) VALUES ($1, $2, $3, $4, $5);

-- name: postings_of_terms
SELECT term, first, chunk FROM postings
WHERE space = $1 AND generation = $2 AND term = ANY($3::bigint[]) ORDER BY term, first;

-- name: sizes_of_terms
SELECT term, sum(octet_length(chunk))::bigint FROM postings
WHERE space = $1 AND generation = $2 AND term = ANY($3::bigint[]) GROUP BY term;

-- name: generations
SELECT min(generation), max(generation) FROM postings WHERE space = $1;

-- name: delete_chunk
DELETE FROM postings WHERE space = $1 AND generation = $2 AND term = $3 AND first = $4;

-- name: all_postings
SELECT term, first, chunk FROM postings WHERE space = $1 AND generation = $2;

-- name: take_generation
UPDATE spaces SET next_generation = next_generation + 1 WHERE space = $1 RETURNING next_generation - 1;

-- name: adopt_generation
UPDATE spaces SET generation = $1, words_upto = $2, word_tail = $3, words = $4,
  events = (SELECT count(*) FROM events WHERE space = $5 AND record IS NULL) WHERE space = $5;

-- name: drop_older_generations
DELETE FROM postings WHERE space = $1 AND (generation, term, first) IN (
  SELECT generation, term, first FROM postings
  WHERE space = $1 AND generation < (SELECT generation FROM spaces WHERE space = $1) LIMIT $2
);

-- Models and vectors

-- name: models
SELECT id, name, version, dims, token_dims, state FROM models ORDER BY id;

-- name: add_model
INSERT INTO models (name, version, dims, token_dims, state) VALUES ($1, $2, $3, $4, $5)
RETURNING id, name, version, dims, token_dims, state;

-- name: retire_active
UPDATE models SET state = 'retired' WHERE state = 'active' AND id != $1;

-- name: retire_building
UPDATE models SET state = 'retired' WHERE state = 'building';

-- name: activate_model
UPDATE models SET state = 'active' WHERE id = $1;

-- name: delete_model
DELETE FROM models WHERE id = $1;

-- name: insert_vector
INSERT INTO vectors (unit, space, start, stop, windows, tokens) VALUES ($1, $2, $3, $4, $5, $6);

-- name: vectors_of_units
SELECT unit, start, stop, windows, tokens FROM vectors WHERE unit = ANY($1::bigint[]) AND space = $2 ORDER BY unit;

-- name: windows_of_units
SELECT unit, windows FROM vectors WHERE unit = ANY($1::bigint[]) AND space = $2;

-- name: count_vectors
SELECT count(*) FROM vectors WHERE unit BETWEEN $1 AND $2 AND space = $3;

-- name: units_between
SELECT unit FROM vectors WHERE unit BETWEEN $1 AND $2 AND space = $3 ORDER BY unit;

-- name: delete_units
DELETE FROM vectors WHERE unit = ANY($1::bigint[]) AND space = $2;

-- Space by space, so that each is found by the key.
-- name: delete_some_vectors
DELETE FROM vectors USING (
  SELECT spaces.space, several.unit FROM spaces CROSS JOIN LATERAL (
    SELECT unit FROM vectors WHERE vectors.space = spaces.space AND unit BETWEEN $1 AND $2 LIMIT $3
  ) AS several LIMIT $3
) AS doomed WHERE vectors.space = doomed.space AND vectors.unit = doomed.unit;

-- name: last_position
SELECT greatest(coalesce((SELECT max(position) FROM pooled_tail WHERE space = $1 AND model = $2), 0),
                coalesce((SELECT max(last_position) FROM pooled_blocks WHERE space = $1 AND model = $2), 0));

-- name: insert_pooled
INSERT INTO pooled_tail (space, model, position, unit, pooled) VALUES ($1, $2, $3, $4, $5);

-- name: pooled_tail_after
SELECT position, unit, pooled FROM pooled_tail WHERE space = $1 AND model = $2 AND position > $3 ORDER BY position;

-- name: count_pooled_tail
SELECT count(*) FROM pooled_tail WHERE space = $1 AND model = $2;

-- name: clear_pooled_tail
DELETE FROM pooled_tail WHERE space = $1 AND model = $2 AND position <= $3;

-- name: pooled_tail_units
SELECT unit FROM pooled_tail WHERE space = $1;

-- name: delete_pooled_units
DELETE FROM pooled_tail WHERE space = $1 AND unit = ANY($2::bigint[]);

-- name: insert_block
INSERT INTO pooled_blocks (space, model, last_position, positions, units, pooled) VALUES ($1, $2, $3, $4, $5, $6);

-- name: blocks_after
SELECT last_position, positions, units, pooled FROM pooled_blocks
WHERE space = $1 AND model = $2 AND last_position > $3 ORDER BY last_position;

-- name: blocks_of_space
SELECT block, model, positions, units, pooled FROM pooled_blocks WHERE space = $1;

-- name: update_block
UPDATE pooled_blocks SET positions = $1, units = $2, pooled = $3 WHERE block = $4 AND space = $5;

-- name: delete_block
DELETE FROM pooled_blocks WHERE block = $1 AND space = $2;

-- name: delete_model_blocks
DELETE FROM pooled_blocks WHERE model = $1;

-- name: delete_model_tail
DELETE FROM pooled_tail WHERE model = $1;

-- Nearest vectors of large spaces: see near.py.

-- name: want_near
INSERT INTO near_spaces (space, model) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: wanted_near
SELECT spaces.name, near_spaces.model, upto, near_spaces.state FROM near_spaces
  JOIN spaces ON spaces.space = near_spaces.space JOIN models ON models.id = near_spaces.model
WHERE near_spaces.state != 'ready' AND current_setting('everyword.space', true) IN ('*', spaces.space::text)
ORDER BY spaces.name;

-- name: set_near
UPDATE near_spaces SET upto = $1, state = $2 WHERE space = $3 AND model = $4;

-- name: insert_near
INSERT INTO near (space, unit, pooled) VALUES ($1, $2, $3::real[]::halfvec) ON CONFLICT DO NOTHING;

-- name: delete_near
DELETE FROM near WHERE space = $1 AND unit = ANY($2::bigint[]);

-- name: drop_near
DELETE FROM near WHERE unit BETWEEN $1 AND $2;

-- name: drop_near_spaces
DELETE FROM near_spaces WHERE model = $1;

-- name: near_of_events
SELECT unit, pooled FROM unnest($1::bigint[]) AS event (first)
  JOIN near ON space = $2 AND unit BETWEEN event.first AND event.first + 1023;

-- Numbers stand in the text, so that the index that was made for just them can be told to fit.
-- name: nearest
SELECT unit, pooled FROM near WHERE space = {space} AND unit BETWEEN {low} AND {high} {where}
ORDER BY (pooled::halfvec({dims})) <#> $1::real[]::halfvec({dims}) LIMIT $2;

-- name: among_events
AND ((unit >> 10) & 4398046511103) = ANY($3::bigint[]);

-- name: index_near
CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table} USING hnsw ((pooled::halfvec({dims})) halfvec_ip_ops)
WHERE space = {space} AND unit BETWEEN {low} AND {high};

-- name: drop_index
DROP INDEX CONCURRENTLY IF EXISTS {name};

-- name: near_index_is_sound
SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1);

-- name: table_of_near
SELECT tableoid::regclass::text FROM near WHERE space = $1 LIMIT 1;

-- name: loose_near
SELECT spaces.name FROM near_spaces JOIN spaces ON spaces.space = near_spaces.space
WHERE near_spaces.state != 'wanted'
  AND (SELECT count(*) FROM near WHERE near.space = near_spaces.space
         AND unit >> 52 = model) != (SELECT count(*) FROM vectors WHERE vectors.space = near_spaces.space
         AND unit >> 52 = model);

-- name: events_without_vectors
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND seq > $2 AND record IS NULL
  AND NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.space = $1 AND unit = ($3::bigint | (events.seq << 10)))
ORDER BY seq LIMIT $4;

-- name: queue_events_without_vectors
INSERT INTO jobs (space, kind, seq)
SELECT space, $1, seq FROM events WHERE record IS NULL AND NOT EXISTS (
  SELECT 1 FROM vectors WHERE vectors.space = events.space AND unit = ($2::bigint | (events.seq << 10))
) ON CONFLICT DO NOTHING;

-- Jobs

-- name: insert_job
INSERT INTO jobs (space, kind, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: jobs
SELECT jobs.id, spaces.name, kind, seq, attempts, error FROM jobs JOIN spaces ON spaces.space = jobs.space
WHERE ($1::text IS NULL OR kind = $1) AND ($2::bigint IS NULL OR due_at <= $2)
  AND current_setting('everyword.space', true) IN ('*', jobs.space::text)
ORDER BY jobs.id LIMIT $3;

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
DELETE FROM jobs WHERE seq = ANY($1::bigint[]) AND space = $2;

-- name: job_seqs
SELECT seq FROM jobs WHERE space = $1 AND kind = $2 ORDER BY seq;

-- A space that owes work and that no other worker holds, the longest waiting first. What is behind the log goes before.
-- name: take_owed_space
SELECT spaces.name FROM (
  SELECT space, min(id) AS waiting FROM jobs WHERE due_at <= $1 GROUP BY space
  UNION ALL SELECT space, 0 FROM derivations
  UNION ALL SELECT space, 0 FROM graphs WHERE upto IS NOT NULL
  UNION ALL SELECT space, 0 FROM marking
  UNION ALL SELECT space, 0 FROM fold_marks
    WHERE upto < (SELECT max(seq) FROM events WHERE events.space = fold_marks.space)
  UNION ALL SELECT space, 0 FROM near_spaces WHERE state != 'ready'
) AS owed JOIN turns ON turns.space = owed.space JOIN spaces ON spaces.space = owed.space
WHERE turns.space != ALL($2::bigint[]) ORDER BY waiting LIMIT 1 FOR UPDATE OF turns SKIP LOCKED;

-- Artifacts

-- name: insert_artifact
INSERT INTO artifacts
  (space, id, seq, kind, about, status, replaces, recorded_at, closed_at, valid_from, valid_to, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING number;

-- name: insert_artifact_key
INSERT INTO artifact_keys (space, key, number) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: delete_artifact_keys
DELETE FROM artifact_keys WHERE space = $1 AND number = (SELECT number FROM artifacts WHERE space = $1 AND id = $2);

-- name: artifacts_standing_by
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON events.space = artifacts.space AND events.seq = artifacts.seq
WHERE artifacts.space = $1 AND artifacts.number IN (
  SELECT number FROM artifact_keys WHERE space = $1 AND key = ANY($2::bigint[])
) ORDER BY artifacts.number DESC LIMIT $3;

-- name: close_artifact
UPDATE artifacts SET status = $1, valid_to = coalesce($2::bigint, valid_to), closed_at = $3 WHERE space = $4 AND id = $5;

-- name: reopen_artifact
UPDATE artifacts SET status = 'current', valid_to = NULL, closed_at = NULL WHERE space = $1 AND id = $2 RETURNING number;

-- name: artifact_by_id
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON events.space = artifacts.space AND events.seq = artifacts.seq
WHERE artifacts.space = $1 AND artifacts.id = $2;

-- name: artifacts_by_filter
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON events.space = artifacts.space AND events.seq = artifacts.seq
WHERE artifacts.space = %(space)s AND artifacts.number > %(after)s
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(about)s::text IS NULL OR (about_hash = hashtextextended(%(about)s, 0) AND about = %(about)s))
  AND (%(wing)s::text IS NULL OR events.wing = %(wing)s)
  AND (%(as_of)s::bigint IS NULL OR artifacts.recorded_at <= %(as_of)s)
  AND (%(status)s::text IS NULL OR CASE WHEN %(as_of)s::bigint < closed_at THEN 'current' ELSE status END = %(status)s)
  AND (%(tag)s::text IS NULL OR EXISTS (
    SELECT 1 FROM json_array_elements_text(any_json(body) -> 'tags') AS tags (tag) WHERE tag = %(tag)s))
ORDER BY artifacts.number LIMIT %(limit)s;

-- name: artifacts_of_events
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON events.space = artifacts.space AND events.seq = artifacts.seq
WHERE artifacts.space = $2 AND artifacts.seq = ANY($1::bigint[]) ORDER BY artifacts.number;

-- name: stated_by
SELECT seq, bool_or(status = 'current') FROM artifacts WHERE space = $2 AND seq = ANY($1::bigint[]) GROUP BY seq;

-- As JSON, which adapt.py reads.
-- name: statements
SELECT seq, (any_json(body) -> 'content')::text, status = 'current' FROM artifacts
WHERE space = $2 AND seq = ANY($1::bigint[]) ORDER BY number;

-- name: linked
SELECT here.seq, there.seq, weight FROM artifacts AS here
JOIN artifact_edges AS edge ON edge.space = $2 AND edge.source = here.id
JOIN artifacts AS there ON there.space = $2 AND there.id = edge.target
WHERE here.space = $2 AND here.seq = ANY($1::bigint[]) AND there.seq != here.seq
UNION SELECT here.seq, there.seq, weight FROM artifacts AS here
JOIN artifact_edges AS edge ON edge.space = $2 AND edge.target = here.id
JOIN artifacts AS there ON there.space = $2 AND there.id = edge.source
WHERE here.space = $2 AND here.seq = ANY($1::bigint[]) AND there.seq != here.seq ORDER BY 1, 2, 3;

-- name: artifacts_standing
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON events.space = artifacts.space AND events.seq = artifacts.seq
WHERE artifacts.space = $1 AND about_hash = hashtextextended($2, 0) AND about = $2 AND status = $3
ORDER BY artifacts.number DESC LIMIT $4;

-- name: artifacts_latest
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM artifacts JOIN events ON events.space = artifacts.space AND events.seq = artifacts.seq
WHERE artifacts.space = %(space)s AND kind = %(kind)s AND status = 'current'
  AND (%(wing)s::text IS NULL OR events.wing = %(wing)s) ORDER BY artifacts.number DESC LIMIT %(limit)s;

-- What was said before and did not change anything: the journal has it as "none".
-- name: confirmations
SELECT target, count(*) FROM journal WHERE space = $1 AND target IS NOT NULL AND action = 'none'
GROUP BY target ORDER BY count(*) DESC, target LIMIT $2;

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
FROM artifacts JOIN events ON events.space = artifacts.space AND events.seq = artifacts.seq
  JOIN chain ON chain.id = artifacts.id
WHERE artifacts.space = $1 ORDER BY artifacts.number;

-- name: seqs_stating
SELECT seq FROM artifacts WHERE space = $1 AND about = ANY($2::text[])
  AND about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a)
UNION SELECT journal.seq FROM journal JOIN artifacts ON artifacts.space = $1 AND artifacts.id = journal.target
WHERE journal.space = $1 AND artifacts.about = ANY($2::text[])
  AND artifacts.about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a) ORDER BY 1;

-- name: abouts_touched
SELECT about FROM artifacts WHERE space = $1 AND seq = ANY($2::bigint[])
UNION SELECT artifacts.about FROM journal JOIN artifacts ON artifacts.space = $1 AND artifacts.id = journal.target
WHERE journal.space = $1 AND journal.seq = ANY($2::bigint[]);

-- Artifacts go with their keys.
-- name: drop_artifacts_about
WITH gone AS (
  DELETE FROM artifact_keys WHERE space = $1 AND number IN (
    SELECT number FROM artifacts WHERE space = $1 AND about = ANY($2::text[])
      AND about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a))
)
DELETE FROM artifacts WHERE space = $1 AND about = ANY($2::text[])
  AND about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a);

-- name: drop_loose_edges
DELETE FROM artifact_edges WHERE space = $1 AND (
  source NOT IN (SELECT id FROM artifacts WHERE space = $1) OR target NOT IN (SELECT id FROM artifacts WHERE space = $1)
);

-- name: drop_changes_about
DELETE FROM journal WHERE space = $1 AND number IN (
  SELECT journal.number FROM journal JOIN artifacts ON artifacts.space = $1
    AND artifacts.id IN (journal.artifact, journal.target)
  WHERE journal.space = $1 AND artifacts.about = ANY($2::text[])
    AND artifacts.about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a)
);

-- name: drop_all_artifacts
WITH gone AS (DELETE FROM artifact_keys WHERE space = $1) DELETE FROM artifacts WHERE space = $1;

-- name: drop_all_keys
DELETE FROM artifact_keys WHERE space = $1;

-- name: drop_all_changes
DELETE FROM journal WHERE space = $1;

-- name: drop_all_edges
DELETE FROM artifact_edges WHERE space = $1;

-- name: drop_all_tags
DELETE FROM event_tags WHERE space = $1;

-- name: delete_edges_of
DELETE FROM artifact_edges WHERE space = $1 AND (
  source = ANY(ARRAY(SELECT id FROM artifacts WHERE space = $1 AND seq = ANY($2::bigint[])))
  OR target = ANY(ARRAY(SELECT id FROM artifacts WHERE space = $1 AND seq = ANY($2::bigint[])))
);

-- name: delete_changes_of
DELETE FROM journal WHERE space = $1 AND (
  seq = ANY($2::bigint[])
  OR artifact = ANY(ARRAY(SELECT id FROM artifacts WHERE space = $1 AND seq = ANY($2::bigint[])))
  OR target = ANY(ARRAY(SELECT id FROM artifacts WHERE space = $1 AND seq = ANY($2::bigint[])))
);

-- name: delete_artifacts_of
WITH gone AS (
  DELETE FROM artifact_keys WHERE space = $1 AND number IN (
    SELECT number FROM artifacts WHERE space = $1 AND seq = ANY($2::bigint[]))
)
DELETE FROM artifacts WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: delete_tags_of
DELETE FROM event_tags WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: insert_change
INSERT INTO journal (space, seq, at, action, artifact, target, reason) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: changes_of
SELECT journal.at, action, reason, artifact, target, events.id
FROM journal JOIN events ON events.space = journal.space AND events.seq = journal.seq
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

-- name: said_earlier
SELECT earlier.seq FROM events AS here JOIN events AS earlier
  ON earlier.space = $1 AND earlier.session_hash = here.session_hash AND earlier.session = here.session
  AND (earlier.at, earlier.seq) < (here.at, here.seq) AND earlier.seq < here.seq
WHERE here.space = $1 AND here.seq = $2 ORDER BY earlier.at DESC, earlier.seq DESC LIMIT $3;

-- Readings

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
SELECT seq FROM events WHERE space = $1 AND record IS NULL AND lower(coalesce(role, '')) != ALL($2::text[]) AND source != ALL($5::text[])
  AND NOT EXISTS (SELECT 1 FROM readings WHERE readings.space = $1 AND readings.seq = events.seq)
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.space = $1 AND jobs.kind = $3 AND jobs.seq = events.seq)
ORDER BY seq DESC LIMIT $4;

-- name: clear_errors_of
UPDATE jobs SET error = NULL WHERE space = $1 AND kind = $2 AND error IS NOT NULL;

-- What another transaction is just taking is left to it.
-- name: take_jobs
WITH due AS (
  SELECT jobs.space, jobs.id, spaces.name FROM jobs JOIN spaces ON spaces.space = jobs.space
  WHERE kind = $2 AND due_at <= $3 AND current_setting('everyword.space', true) IN ('*', jobs.space::text)
  ORDER BY jobs.id LIMIT $4 FOR UPDATE OF jobs SKIP LOCKED
), taken AS (
  UPDATE jobs SET due_at = $1 FROM due WHERE jobs.space = due.space AND jobs.id = due.id
  RETURNING jobs.id, due.name, jobs.kind, jobs.seq, jobs.attempts, jobs.error
) SELECT id, name, kind, seq, attempts, error FROM taken ORDER BY id;

-- name: finish_jobs
DELETE FROM jobs WHERE id = ANY($1::bigint[]) RETURNING id;

-- name: names_known
SELECT (array_agg((any_json(body) -> 'about')::text ORDER BY seq, number))[1], min(seq) FROM artifacts
WHERE space = $1 AND about != ''
GROUP BY about ORDER BY count(*) DESC, about LIMIT $2;

-- name: said_from
SELECT seq, EXISTS (SELECT 1 FROM artifacts WHERE artifacts.space = events.space AND artifacts.seq = events.seq)
FROM events WHERE space = $1 AND session_hash = hashtextextended($2, 0) AND session = $2 AND (at, seq) >= ($3, $4)
ORDER BY at, seq;

-- name: delete_edges_of_later
DELETE FROM artifact_edges WHERE space = $1 AND (
  (kind = 'reference' AND source = ANY($2::text[])) OR (kind != 'reference' AND target = ANY($2::text[]))
);

-- name: delete_refusals_of
DELETE FROM journal WHERE space = $1 AND seq = ANY($2::bigint[]) AND artifact IS NULL AND target IS NULL;

-- Imports

-- name: files_read
SELECT path, reading, bytes, modified, hash, position, events, whole FROM imports WHERE space = $1
  AND path = ANY($2::text[]) AND path_hash IN (SELECT hashtextextended(p, 0) FROM unnest($2::text[]) AS p);

-- name: put_file_read
INSERT INTO imports (space, path, reading, bytes, modified, hash, position, events, whole)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (space, path_hash) DO UPDATE SET path = excluded.path, reading = excluded.reading, bytes = excluded.bytes,
  modified = excluded.modified, hash = excluded.hash, position = excluded.position, events = excluded.events,
  whole = excluded.whole;

-- name: clear_file_hashes
UPDATE imports SET hash = ''::bytea WHERE space = $1 AND hash != ''::bytea;

-- name: forgotten_tags
SELECT tag FROM forgotten WHERE space = $1 AND tag = ANY($2::bigint[]);

-- name: insert_forgotten_tag
INSERT INTO forgotten (space, tag) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- The store

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

-- name: bytes_by_part
SELECT coalesce(inhparent, c.oid)::regclass::text AS part, sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class c LEFT JOIN pg_inherits ON inhrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY 1;

-- name: count_pages
SELECT coalesce(sum(pg_relation_size(oid)), 0)::bigint / current_setting('block_size')::bigint FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i', 't');

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

-- Of what can be seen: a sequence is ahead of what is just being written, which a follower would miss.
-- name: last_number
SELECT CASE %(table)s WHEN 'events' THEN (SELECT max(seq) FROM events WHERE space = %(space)s)
  WHEN 'artifacts' THEN (SELECT max(number) FROM artifacts WHERE space = %(space)s)
  WHEN 'fold_journal' THEN (SELECT max(number) FROM fold_journal WHERE space = %(space)s)
  WHEN 'jobs' THEN (SELECT max(id) FROM jobs WHERE space = %(space)s)
  WHEN 'receipts' THEN (SELECT max(id) FROM receipts WHERE space = %(space)s) END;

-- name: jobs_of_space
SELECT id, kind, seq, attempts, due_at, error FROM jobs WHERE space = $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: jobs_by_kind
SELECT kind, count(*), count(*) FILTER (WHERE attempts > 0) FROM jobs WHERE space = $1 GROUP BY kind ORDER BY kind;

-- name: next_job_due
SELECT min(due_at) FROM jobs;

-- Which transactions are done. Sequences move before what they numbered can be seen, and would be looked at too early.
-- name: pulse
SELECT pg_current_snapshot()::text;

-- Conditions of a filter

-- name: where_wing
AND wing_hash = hashtextextended(%(wing)s, 0) AND wing = %(wing)s;

-- name: where_session
AND session_hash = hashtextextended(%(session)s, 0) AND session = %(session)s;

-- name: where_speaker
AND speaker_hash = hashtextextended(%(speaker)s, 0) AND speaker = %(speaker)s;

-- name: where_since
AND at >= %(since)s;

-- name: where_until
AND at < %(until)s;

-- name: where_as_of
AND recorded_at <= %(as_of)s;

-- name: where_tag
AND seq IN (SELECT seq FROM event_tags WHERE space = %(space)s AND tag = %(tag)s);

-- A list of names comes as JSON. An event without a role has none of those that are excluded.
-- name: where_role_in
AND lower(coalesce(role, '')) IN (SELECT json_array_elements_text(%(role_in)s::json));

-- name: where_role_not_in
AND lower(coalesce(role, '')) NOT IN (SELECT json_array_elements_text(%(role_not_in)s::json));

-- name: where_source_in
AND source IN (SELECT json_array_elements_text(%(source_in)s::json));

-- name: where_source_not_in
AND source NOT IN (SELECT json_array_elements_text(%(source_not_in)s::json));

-- A path is "$." and the member's name as JSON; both sides are read alike.
-- name: where_meta
AND (any_json(meta) -> (any_json(substr(%(path_{n})s, 3)) #>> '{}'))::text = any_json(%(value_{n})s)::text;

-- The server

-- name: vector_extension
SELECT nspname, extversion FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'vector';

-- name: add_vector_extension
CREATE EXTENSION IF NOT EXISTS vector;

-- name: server_reads_only
SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean;

-- name: schema_is_there
SELECT 1 FROM pg_namespace WHERE nspname = $1;

-- name: steps_table
SELECT to_regclass('schema_steps') IS NOT NULL;

-- name: schema_version
SELECT coalesce(max(number), 0) FROM schema_steps;

-- name: add_steps_table
CREATE TABLE schema_steps (number integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());

-- name: note_step
INSERT INTO schema_steps (number) VALUES ($1);

-- One process at a time brings a schema up to date.
-- name: one_migrates
SELECT pg_advisory_xact_lock($1);

-- name: tables
SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' ORDER BY relname;

-- name: is_superuser
SELECT rolsuper FROM pg_roles WHERE rolname = current_user;

-- What the server calls this transaction; null where it wrote nothing.
-- name: transaction_number
SELECT pg_current_xact_id_if_assigned()::text;

-- What became of a transaction: in progress, committed or aborted; null where it is too long ago.
-- name: transaction_status
SELECT pg_xact_status($1::text::xid8);

-- name: server_card
SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
       NOT (rolsuper OR rolbypassrls), (SELECT count(*) FROM near_spaces WHERE state = 'ready')
FROM pg_roles WHERE rolname = current_user;
