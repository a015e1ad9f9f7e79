-- Every query of the SQLite store, by name. {where} takes the conditions of a filter, which stand at the end.

-- Spaces

-- One space's counters; one row, read first in every snapshot.
-- name: space_by_name
SELECT id, name, events, words, generation, words_upto, word_tail, epoch FROM spaces WHERE name = ?;

-- name: space_names
SELECT name FROM spaces ORDER BY name;

-- name: add_space
INSERT INTO spaces (name) VALUES (?) RETURNING id, name, events, words, generation, words_upto, word_tail, epoch;

-- Keep the counters in step with what a transaction added or removed.
-- name: count_space
UPDATE spaces SET events = events + ?, words = words + ?, word_tail = word_tail + ? WHERE id = ?;

-- Make every cache in every process start anew.
-- name: next_epoch
UPDATE spaces SET epoch = epoch + 1 WHERE id = ?;

-- The log

-- name: insert_event
INSERT INTO events (seq, space, id, content, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- The highest seq that was ever given, also to an event that is gone.
-- name: last_seq
SELECT seq FROM sqlite_sequence WHERE name = 'events';

-- name: last_recorded
SELECT max(recorded_at) FROM events WHERE space = ?;

-- name: events_by_id
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text FROM events
WHERE space = ? AND id IN carray(?);

-- name: event_by_key
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text FROM events
WHERE space = ? AND key = ?;

-- By seq, not by an index of the space: hence the plus sign.
-- name: events_by_seq
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text FROM events
WHERE seq IN carray(?) AND +space = ?;

-- Columns that stand before the text: of a long event only the first page is read.
-- name: outlines_by_seq
SELECT seq, session, speaker, role, at FROM events WHERE seq IN carray(?) AND +space = ?;

-- The two halves of a run; the index of sessions has the seq at its end.
-- name: said_before
SELECT seq FROM events WHERE space = ? AND session = ? AND (at, seq) < (?, ?) ORDER BY at DESC, seq DESC LIMIT ?;

-- name: said_after
SELECT seq FROM events WHERE space = ? AND session = ? AND (at, seq) > (?, ?) ORDER BY at, seq LIMIT ?;

-- name: events_oldest_first
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text FROM events
WHERE space = :space {where} AND (at, seq) > (:at, :seq) ORDER BY at, seq LIMIT :limit;

-- name: events_newest_first
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text FROM events
WHERE space = :space {where} AND (at, seq) < (:at, :seq) ORDER BY at DESC, seq DESC LIMIT :limit;

-- name: log_after
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text FROM events
WHERE space = ? AND seq > ? ORDER BY seq LIMIT ?;

-- For verify: the content hash beside the event that it must fit.
-- name: contents_after
SELECT seq, content FROM events WHERE space = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: matching_seqs
SELECT seq FROM events WHERE space = :space {where} ORDER BY seq;

-- name: sessions
SELECT session, json_group_array(DISTINCT wing) FILTER (WHERE wing IS NOT NULL),
       json_group_array(DISTINCT speaker) FILTER (WHERE speaker IS NOT NULL),
       count(*), min(at), max(at) FROM events
WHERE space = :space AND session IS NOT NULL {where} GROUP BY session ORDER BY max(at) DESC, session;

-- name: delete_events
DELETE FROM events WHERE seq IN carray(?) AND +space = ?;

-- name: tally_events
SELECT count(DISTINCT session), count(DISTINCT speaker), count(DISTINCT wing), min(at), max(at) FROM events
WHERE space = ?;

-- name: total_events
SELECT coalesce(sum(events), 0) FROM spaces;

-- name: count_events
SELECT count(*) FROM events WHERE space = ?;

-- Words

-- name: insert_word_tail
INSERT INTO word_tail (space, seq, length, terms) VALUES (?, ?, ?, ?);

-- name: word_tail_after
SELECT seq, length, terms FROM word_tail WHERE space = ? AND seq > ? ORDER BY seq;

-- name: clear_word_tail
DELETE FROM word_tail WHERE space = ?;

-- name: delete_word_tail
DELETE FROM word_tail WHERE space = ? AND seq IN carray(?);

-- name: set_words_upto
UPDATE spaces SET words_upto = ?, word_tail = ? WHERE id = ?;

-- name: insert_postings
INSERT INTO postings (space, generation, term, first, chunk) VALUES (?, ?, ?, ?, ?);

-- name: postings_of_term
SELECT first, chunk FROM postings WHERE space = ? AND generation = ? AND term = ? ORDER BY first;

-- The oldest and newest generation: forgetting must reach also one that is still being built.
-- name: generations
SELECT min(generation), max(generation) FROM postings WHERE space = ?;

-- name: delete_chunk
DELETE FROM postings WHERE space = ? AND generation = ? AND term = ? AND first = ?;

-- name: all_postings
SELECT term, first, chunk FROM postings WHERE space = ? AND generation = ?;

-- name: take_generation
UPDATE spaces SET next_generation = next_generation + 1 WHERE id = ? RETURNING next_generation - 1;

-- name: adopt_generation
UPDATE spaces SET generation = ?1, words_upto = ?2, word_tail = ?3, words = ?4,
  events = (SELECT count(*) FROM events WHERE space = ?5) WHERE id = ?5;

-- Only older ones: a newer one is being built by somebody.
-- name: drop_older_generations
DELETE FROM postings WHERE (space, generation, term, first) IN (
  SELECT space, generation, term, first FROM postings
  WHERE space = ?1 AND generation < (SELECT generation FROM spaces WHERE id = ?1) LIMIT ?2
);

-- Models and vectors

-- name: models
SELECT id, name, version, dims, token_dims, state FROM models ORDER BY id;

-- name: add_model
INSERT INTO models (name, version, dims, token_dims, state) VALUES (?, ?, ?, ?, ?)
RETURNING id, name, version, dims, token_dims, state;

-- name: retire_active
UPDATE models SET state = 'retired' WHERE state = 'active' AND id != ?;

-- name: retire_building
UPDATE models SET state = 'retired' WHERE state = 'building';

-- name: activate_model
UPDATE models SET state = 'active' WHERE id = ?;

-- name: delete_model
DELETE FROM models WHERE id = ?;

-- name: insert_vector
INSERT INTO vectors (unit, space, start, stop, windows, tokens) VALUES (?, ?, ?, ?, ?, ?);

-- name: vectors_between
SELECT unit, start, stop, tokens FROM vectors WHERE unit BETWEEN ? AND ? AND space = ?;

-- name: vectors_of_first_windows
SELECT unit, start, stop, windows, tokens FROM vectors WHERE unit IN carray(?) AND space = ?;

-- name: units_present
SELECT unit FROM vectors WHERE unit IN carray(?);

-- name: count_vectors
SELECT count(*) FROM vectors WHERE unit BETWEEN ? AND ? AND space = ?;

-- name: units_between
SELECT unit FROM vectors WHERE unit BETWEEN ? AND ? AND space = ? ORDER BY unit;

-- name: delete_vectors_between
DELETE FROM vectors WHERE unit BETWEEN ? AND ?;

-- name: delete_some_vectors
DELETE FROM vectors WHERE unit IN (SELECT unit FROM vectors WHERE unit BETWEEN ? AND ? LIMIT ?);

-- name: last_position
SELECT max(coalesce((SELECT max(position) FROM pooled_tail WHERE space = ?1 AND model = ?2), 0),
           coalesce((SELECT max(last_position) FROM pooled_blocks WHERE space = ?1 AND model = ?2), 0));

-- name: insert_pooled
INSERT INTO pooled_tail (space, model, position, unit, pooled) VALUES (?, ?, ?, ?, ?);

-- name: pooled_tail_after
SELECT position, unit, pooled FROM pooled_tail WHERE space = ? AND model = ? AND position > ? ORDER BY position;

-- name: count_pooled_tail
SELECT count(*) FROM pooled_tail WHERE space = ? AND model = ?;

-- name: clear_pooled_tail
DELETE FROM pooled_tail WHERE space = ? AND model = ? AND position <= ?;

-- name: pooled_tail_units
SELECT unit FROM pooled_tail WHERE space = ?;

-- name: delete_pooled_units
DELETE FROM pooled_tail WHERE space = ? AND unit IN carray(?);

-- name: insert_block
INSERT INTO pooled_blocks (space, model, last_position, positions, units, pooled) VALUES (?, ?, ?, ?, ?, ?);

-- name: blocks_after
SELECT last_position, positions, units, pooled FROM pooled_blocks WHERE space = ? AND model = ? AND last_position > ?
ORDER BY last_position;

-- name: blocks_of_space
SELECT block, model, positions, units, pooled FROM pooled_blocks WHERE space = ?;

-- name: update_block
UPDATE pooled_blocks SET positions = ?, units = ?, pooled = ? WHERE block = ?;

-- name: delete_block
DELETE FROM pooled_blocks WHERE block = ?;

-- name: delete_model_blocks
DELETE FROM pooled_blocks WHERE model = ?;

-- name: delete_model_tail
DELETE FROM pooled_tail WHERE model = ?;

-- name: events_without_vectors
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text FROM events
WHERE space = ? AND seq > ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE unit = (? | (events.seq << 10)))
ORDER BY seq LIMIT ?;

-- name: queue_events_without_vectors
INSERT OR IGNORE INTO jobs (space, kind, seq)
SELECT space, ?, seq FROM events WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE unit = (? | (events.seq << 10)));

-- Jobs

-- name: insert_job
INSERT OR IGNORE INTO jobs (space, kind, seq) VALUES (?, ?, ?);

-- name: jobs
SELECT jobs.id, spaces.name, kind, seq, attempts, error FROM jobs JOIN spaces ON spaces.id = jobs.space
WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR due_at <= ?2) ORDER BY jobs.id LIMIT ?3;

-- name: count_jobs
SELECT count(*) FROM jobs WHERE space = ?;

-- name: fail_job
UPDATE jobs SET attempts = attempts + 1, error = ?, due_at = ? WHERE id = ?;

-- name: delete_job
DELETE FROM jobs WHERE id = ?;

-- name: settle_jobs
DELETE FROM jobs WHERE kind = ? AND seq IN carray(?);

-- name: delete_jobs_of
DELETE FROM jobs WHERE seq IN carray(?);

-- name: job_seqs
SELECT seq FROM jobs WHERE space = ? AND kind = ? ORDER BY seq;

-- The file

-- name: insert_receipt
INSERT INTO receipts (space, at, upto, receipt) VALUES (?, ?, ?, ?);

-- name: receipts
SELECT upto, receipt FROM receipts WHERE space = ? ORDER BY id;

-- name: get_fact
SELECT value FROM facts_of_file WHERE name = ?;

-- name: set_fact
INSERT INTO facts_of_file (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: integrity_check
PRAGMA integrity_check(20);

-- name: quick_check
PRAGMA quick_check(20);

-- name: bytes_by_part
SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name;

-- Conditions of a filter

-- name: where_wing
AND wing = :wing;

-- name: where_session
AND session = :session;

-- name: where_speaker
AND speaker = :speaker;

-- name: where_since
AND at >= :since;

-- name: where_until
AND at < :until;

-- name: where_as_of
AND recorded_at <= :as_of;

-- name: where_meta
AND meta -> :path_{n} = :value_{n};
