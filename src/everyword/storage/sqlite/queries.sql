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
INSERT INTO events
  (seq, space, id, content, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- The highest seq that was ever given, also to an event that is gone.
-- name: last_seq
SELECT seq FROM sqlite_sequence WHERE name = 'events';

-- name: last_recorded
SELECT max(recorded_at) FROM events WHERE space = ?;

-- name: events_by_id
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = ? AND id IN carray(?);

-- name: event_by_key
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = ? AND key = ?;

-- By seq, not by an index of the space: hence the plus sign.
-- name: events_by_seq
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE seq IN carray(?) AND +space = ?;

-- Columns that stand before the text: of a long event only the first page is read.
-- name: outlines_by_seq
SELECT seq, session, speaker, role, at, source, recorded_at FROM events WHERE seq IN carray(?) AND +space = ?;

-- The two halves of a run; the index of sessions has the seq at its end.
-- name: said_before
SELECT seq FROM events WHERE space = ? AND session = ? AND (at, seq) < (?, ?) ORDER BY at DESC, seq DESC LIMIT ?;

-- name: said_after
SELECT seq FROM events WHERE space = ? AND session = ? AND (at, seq) > (?, ?) ORDER BY at, seq LIMIT ?;

-- name: events_oldest_first
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = :space AND record IS NULL {where} AND (at, seq) > (:at, :seq) ORDER BY at, seq LIMIT :limit;

-- name: events_newest_first
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = :space AND record IS NULL {where} AND (at, seq) < (:at, :seq) ORDER BY at DESC, seq DESC LIMIT :limit;

-- name: log_after
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = ? AND seq > ? ORDER BY seq LIMIT ?;

-- For verify: the content hash beside the event that it must fit.
-- name: contents_after
SELECT seq, content FROM events WHERE space = ? AND seq > ? ORDER BY seq LIMIT ?;

-- Ordinary events alone. Records are few: they are left out by number, so that an index of the events is enough.
-- name: matching_seqs
SELECT seq FROM events
WHERE space = :space AND seq NOT IN (SELECT seq FROM events WHERE space = :space AND record IS NOT NULL) {where}
ORDER BY seq;

-- name: sessions
SELECT session, json_group_array(DISTINCT wing) FILTER (WHERE wing IS NOT NULL),
       json_group_array(DISTINCT speaker) FILTER (WHERE speaker IS NOT NULL),
       count(*), min(at), max(at) FROM events
WHERE space = :space AND session IS NOT NULL {where} GROUP BY session ORDER BY max(at) DESC, session;

-- Which are the latest is read from an index; who spoke in them only then, from their events.
-- name: latest_sessions
SELECT session, json_group_array(DISTINCT wing) FILTER (WHERE wing IS NOT NULL),
       json_group_array(DISTINCT speaker) FILTER (WHERE speaker IS NOT NULL),
       count(*), min(at), max(at) FROM events
WHERE space = :space AND session IN (
  SELECT session FROM events WHERE space = :space AND session IS NOT NULL {where}
  GROUP BY session ORDER BY max(at) DESC, session LIMIT :limit
) {where} GROUP BY session ORDER BY max(at) DESC, session;

-- name: delete_events
DELETE FROM events WHERE seq IN carray(?) AND +space = ?;

-- Each count from an index of its own, from name to name where they are few: together they would read every event.
-- name: tally_events
SELECT (SELECT count(DISTINCT session) FROM events WHERE space = ?1 AND session IS NOT NULL),
       (WITH RECURSIVE one (name) AS (
          SELECT min(speaker) FROM events WHERE space = ?1 AND speaker IS NOT NULL
          UNION ALL SELECT (SELECT min(speaker) FROM events WHERE space = ?1 AND speaker > one.name)
          FROM one WHERE one.name IS NOT NULL) SELECT count(name) FROM one),
       (WITH RECURSIVE one (name) AS (
          SELECT min(wing) FROM events WHERE space = ?1 AND wing IS NOT NULL AND record IS NULL
          UNION ALL SELECT (SELECT min(wing) FROM events WHERE space = ?1 AND wing > one.name AND record IS NULL)
          FROM one WHERE one.name IS NOT NULL) SELECT count(name) FROM one),
       (SELECT min(at) FROM events WHERE space = ?1 AND record IS NULL),
       (SELECT max(at) FROM events WHERE space = ?1 AND record IS NULL);

-- name: total_events
SELECT coalesce(sum(events), 0) FROM spaces;

-- name: count_events
SELECT (SELECT count(*) FROM events WHERE space = ?1)
  - (SELECT count(*) FROM events WHERE space = ?1 AND record IS NOT NULL);

-- name: count_records
SELECT count(*) FROM events WHERE space = ? AND record IS NOT NULL;

-- Of some kinds, in the order of the log.
-- name: records
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = ? AND record IN carray(?) ORDER BY seq;

-- name: latest_identity
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = ? AND record = 'identity' AND wing IS ? ORDER BY seq DESC LIMIT 1;

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

-- The terms of a question at once.
-- name: postings_of_terms
SELECT term, first, chunk FROM postings WHERE space = ? AND generation = ? AND term IN carray(?) ORDER BY term, first;

-- How much there is to read of each; lengths are told without reading what is so long.
-- name: sizes_of_terms
SELECT term, sum(length(chunk)) FROM postings
WHERE space = ? AND generation = ? AND term IN carray(?) GROUP BY term;

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
  events = (SELECT count(*) FROM events WHERE space = ?5 AND record IS NULL) WHERE id = ?5;

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

-- name: vectors_of_units
SELECT unit, start, stop, windows, tokens FROM vectors WHERE unit IN carray(?) AND space = ? ORDER BY unit;

-- name: windows_of_units
SELECT unit, windows FROM vectors WHERE unit IN carray(?) AND space = ?;

-- name: count_vectors
SELECT count(*) FROM vectors WHERE unit BETWEEN ? AND ? AND space = ?;

-- name: units_between
SELECT unit FROM vectors WHERE unit BETWEEN ? AND ? AND space = ? ORDER BY unit;

-- name: delete_units
DELETE FROM vectors WHERE unit IN carray(?) AND space = ?;

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
UPDATE pooled_blocks SET positions = ?, units = ?, pooled = ? WHERE block = ? AND space = ?;

-- name: delete_block
DELETE FROM pooled_blocks WHERE block = ? AND space = ?;

-- name: delete_model_blocks
DELETE FROM pooled_blocks WHERE model = ?;

-- name: delete_model_tail
DELETE FROM pooled_tail WHERE model = ?;

-- name: events_without_vectors
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = ? AND seq > ? AND record IS NULL AND NOT EXISTS (SELECT 1 FROM vectors WHERE unit = (? | (events.seq << 10)))
ORDER BY seq LIMIT ?;

-- name: queue_events_without_vectors
INSERT OR IGNORE INTO jobs (space, kind, seq)
SELECT space, ?, seq FROM events WHERE record IS NULL AND NOT EXISTS (SELECT 1 FROM vectors WHERE unit = (? | (events.seq << 10)));

-- Jobs

-- name: insert_job
INSERT OR IGNORE INTO jobs (space, kind, seq) VALUES (?, ?, ?);

-- name: jobs
SELECT jobs.id, spaces.name, kind, seq, attempts, error FROM jobs JOIN spaces ON spaces.id = jobs.space
WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR due_at <= ?2) ORDER BY jobs.id LIMIT ?3;

-- name: count_jobs
SELECT count(*) FROM jobs WHERE space = ?;

-- name: fail_job
UPDATE jobs SET attempts = attempts + 1, error = ?, due_at = ? WHERE id = ? AND space = ?;

-- name: note_failure
UPDATE jobs SET error = ? WHERE kind = ? AND seq IN carray(?) AND space = ?;

-- name: delete_job
DELETE FROM jobs WHERE id = ? AND space = ?;

-- name: settle_jobs
DELETE FROM jobs WHERE kind = ? AND seq IN carray(?) AND space = ?;

-- name: delete_jobs_of
DELETE FROM jobs WHERE seq IN carray(?) AND space = ?;

-- name: job_seqs
SELECT seq FROM jobs WHERE space = ? AND kind = ? ORDER BY seq;

-- Artifacts

-- name: insert_artifact
INSERT INTO artifacts
  (space, id, seq, kind, about, status, replaces, recorded_at, closed_at, valid_from, valid_to, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number;

-- name: insert_artifact_key
INSERT OR IGNORE INTO artifact_keys (space, key, number) VALUES (?, ?, ?);

-- What is closed is compared with nothing any more.
-- name: delete_artifact_keys
DELETE FROM artifact_keys WHERE number = (SELECT number FROM artifacts WHERE space = ? AND id = ?);

-- name: artifacts_standing_by
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM artifacts JOIN events ON events.seq = artifacts.seq
WHERE artifacts.number IN (SELECT number FROM artifact_keys WHERE space = ?1 AND key IN carray(?2)) ORDER BY artifacts.number DESC LIMIT ?3;

-- name: close_artifact
UPDATE artifacts SET status = ?, valid_to = coalesce(?, valid_to), closed_at = ? WHERE space = ? AND id = ?;

-- name: reopen_artifact
UPDATE artifacts SET status = 'current', valid_to = NULL, closed_at = NULL WHERE space = ? AND id = ? RETURNING number;

-- name: artifact_by_id
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM artifacts JOIN events ON events.seq = artifacts.seq WHERE artifacts.space = ? AND artifacts.id = ?;

-- What is known now or was at a time: one that was closed later counts as current then.
-- name: artifacts_by_filter
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM artifacts JOIN events ON events.seq = artifacts.seq
WHERE artifacts.space = :space AND artifacts.number > :after
  AND (:kind IS NULL OR kind = :kind) AND (:about IS NULL OR about = :about)
  AND (:wing IS NULL OR events.wing = :wing) AND (:as_of IS NULL OR artifacts.recorded_at <= :as_of)
  AND (:status IS NULL OR CASE WHEN :as_of < closed_at THEN 'current' ELSE status END = :status)
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(body, '$.tags') WHERE value = :tag))
ORDER BY artifacts.number LIMIT :limit;

-- name: artifacts_of_events
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM artifacts JOIN events ON events.seq = artifacts.seq WHERE artifacts.space = ?2 AND artifacts.seq IN carray(?1) ORDER BY artifacts.number;

-- name: stated_by
SELECT seq, max(status = 'current') FROM artifacts WHERE space = ?2 AND seq IN carray(?1) GROUP BY seq;

-- As JSON, which comes as it is: text of SQLite's can't hold half a character, which a content may.
-- name: statements
SELECT seq, body -> '$.content', status = 'current' FROM artifacts WHERE space = ?2 AND seq IN carray(?1) ORDER BY number;

-- In this order and by these indexes: SQLite would else go through all edges of the space.
-- name: linked
SELECT here.seq, there.seq, weight FROM artifacts AS here
CROSS JOIN artifact_edges AS edge ON edge.space = ?2 AND edge.source = here.id
CROSS JOIN artifacts AS there ON there.space = ?2 AND there.id = edge.target
WHERE here.space = ?2 AND here.seq IN carray(?1) AND there.seq != here.seq
UNION SELECT here.seq, there.seq, weight FROM artifacts AS here
CROSS JOIN artifact_edges AS edge INDEXED BY artifact_edges_target ON edge.space = ?2 AND edge.target = here.id
CROSS JOIN artifacts AS there ON there.space = ?2 AND there.id = edge.source
WHERE here.space = ?2 AND here.seq IN carray(?1) AND there.seq != here.seq ORDER BY 1, 2, 3;

-- name: artifacts_standing
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM artifacts JOIN events ON events.seq = artifacts.seq WHERE artifacts.space = ? AND about = ? AND status = ? ORDER BY artifacts.number DESC LIMIT ?;

-- name: artifacts_latest
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM artifacts JOIN events ON events.seq = artifacts.seq
WHERE artifacts.space = :space AND kind = :kind AND status = 'current' AND (:wing IS NULL OR events.wing = :wing)
ORDER BY artifacts.number DESC LIMIT :limit;

-- What was said before and did not change anything: the journal has it as "none".
-- name: confirmations
SELECT target, count(*) FROM journal WHERE space = ? AND target IS NOT NULL AND action = 'none'
GROUP BY target ORDER BY count(*) DESC, target LIMIT ?;

-- Back to the first version, then on from it: a version may have been followed by more than one.
-- name: artifact_versions
WITH RECURSIVE
  back (id, replaces) AS (
    SELECT id, replaces FROM artifacts WHERE space = ?1 AND id = ?2
    UNION SELECT artifacts.id, artifacts.replaces FROM artifacts JOIN back ON artifacts.id = back.replaces
    WHERE artifacts.space = ?1
  ),
  chain (id) AS (
    SELECT id FROM back
    UNION SELECT artifacts.id FROM artifacts JOIN chain ON artifacts.replaces = chain.id WHERE artifacts.space = ?1
  )
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM artifacts JOIN events ON events.seq = artifacts.seq JOIN chain ON chain.id = artifacts.id WHERE artifacts.space = ?1 ORDER BY artifacts.number;

-- Events that state something about some, or changed what is stated about them.
-- name: seqs_stating
SELECT seq FROM artifacts WHERE space = ?1 AND about IN carray(?2)
UNION SELECT journal.seq FROM journal JOIN artifacts ON artifacts.space = ?1 AND artifacts.id = journal.target
WHERE journal.space = ?1 AND artifacts.about IN carray(?2) ORDER BY 1;

-- Whom or what some events speak about.
-- name: abouts_touched
SELECT about FROM artifacts WHERE space = ?1 AND seq IN carray(?2)
UNION SELECT artifacts.about FROM journal JOIN artifacts ON artifacts.space = ?1 AND artifacts.id = journal.target
WHERE journal.space = ?1 AND journal.seq IN carray(?2);

-- name: drop_artifacts_about
DELETE FROM artifacts WHERE space = ? AND about IN carray(?);

-- name: drop_loose_edges
DELETE FROM artifact_edges WHERE space = ?1 AND (
  source NOT IN (SELECT id FROM artifacts WHERE space = ?1) OR target NOT IN (SELECT id FROM artifacts WHERE space = ?1)
);

-- name: drop_changes_about
DELETE FROM journal WHERE space = ?1 AND (
  artifact IN (SELECT id FROM artifacts WHERE space = ?1 AND about IN carray(?2))
  OR target IN (SELECT id FROM artifacts WHERE space = ?1 AND about IN carray(?2))
);

-- name: drop_all_artifacts
DELETE FROM artifacts WHERE space = ?;

-- Also keys of artifacts that are not there: whoever removed those did not.
-- name: drop_all_keys
DELETE FROM artifact_keys WHERE space = ?;

-- name: drop_all_changes
DELETE FROM journal WHERE space = ?;

-- name: drop_all_edges
DELETE FROM artifact_edges WHERE space = ?;

-- name: drop_all_tags
DELETE FROM event_tags WHERE space = ?;

-- name: delete_edges_of
DELETE FROM artifact_edges WHERE space = ?1 AND (
  source IN (SELECT id FROM artifacts WHERE space = ?1 AND seq IN carray(?2))
  OR target IN (SELECT id FROM artifacts WHERE space = ?1 AND seq IN carray(?2))
);

-- name: delete_changes_of
DELETE FROM journal WHERE space = ?1 AND (
  seq IN carray(?2)
  OR artifact IN (SELECT id FROM artifacts WHERE space = ?1 AND seq IN carray(?2))
  OR target IN (SELECT id FROM artifacts WHERE space = ?1 AND seq IN carray(?2))
);

-- name: delete_artifacts_of
DELETE FROM artifacts WHERE space = ? AND seq IN carray(?);

-- name: delete_tags_of
DELETE FROM event_tags WHERE space = ? AND seq IN carray(?);

-- name: insert_change
INSERT INTO journal (space, seq, at, action, artifact, target, reason) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: changes_of
SELECT journal.at, action, reason, artifact, target, events.id FROM journal JOIN events ON events.seq = journal.seq
WHERE journal.space = ?1 AND (artifact IN carray(?2) OR target IN carray(?2)) ORDER BY number;

-- name: change_counts
SELECT action, count(*) FROM journal WHERE space = ? GROUP BY action ORDER BY action;

-- name: insert_edge
INSERT OR IGNORE INTO artifact_edges (space, source, target, kind, weight, at, reason) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: edges_of
SELECT source, target, kind, weight, at, reason FROM artifact_edges
WHERE space = ?1 AND (source IN carray(?2) OR target IN carray(?2)) ORDER BY source, target, kind;

-- name: insert_tag
INSERT OR IGNORE INTO event_tags (space, tag, seq) VALUES (?, ?, ?);

-- name: tag_counts
SELECT tag, count(*) FROM event_tags WHERE space = ? GROUP BY tag ORDER BY count(*) DESC, tag;

-- name: derived_upto
SELECT upto FROM derivations WHERE space = ?;

-- name: owe_derivation
INSERT INTO derivations (space, upto) VALUES (?1, ?2) ON CONFLICT (space) DO UPDATE SET upto = ?2;

-- name: derivation_done
DELETE FROM derivations WHERE space = ?;

-- name: artifact_counts
SELECT kind, count(*) FROM artifacts WHERE space = ? AND status = 'current' GROUP BY kind ORDER BY count(*) DESC, kind;

-- For verify, from here to loose_tags: what points to something that is not there.
-- name: count_artifacts
SELECT count(*) FROM artifacts WHERE space = ?;

-- name: lost_artifacts
SELECT count(*) FROM artifacts WHERE space = ?1 AND seq NOT IN (SELECT seq FROM events WHERE space = ?1);

-- name: loose_versions
SELECT count(*) FROM artifacts WHERE space = ?1 AND replaces IS NOT NULL
  AND replaces NOT IN (SELECT id FROM artifacts WHERE space = ?1);

-- name: count_edges
SELECT count(*) FROM artifact_edges WHERE space = ?;

-- name: loose_edges
SELECT count(*) FROM artifact_edges WHERE space = ?1 AND (
  source NOT IN (SELECT id FROM artifacts WHERE space = ?1) OR target NOT IN (SELECT id FROM artifacts WHERE space = ?1)
);

-- name: count_changes
SELECT count(*) FROM journal WHERE space = ?;

-- name: loose_changes
SELECT count(*) FROM journal WHERE space = ?1 AND (
  seq NOT IN (SELECT seq FROM events WHERE space = ?1)
  OR (artifact IS NOT NULL AND artifact NOT IN (SELECT id FROM artifacts WHERE space = ?1))
  OR (target IS NOT NULL AND target NOT IN (SELECT id FROM artifacts WHERE space = ?1))
);

-- name: count_tags
SELECT count(*) FROM event_tags WHERE space = ?;

-- name: loose_tags
SELECT count(*) FROM event_tags WHERE space = ?1 AND seq NOT IN (SELECT seq FROM events WHERE space = ?1);

-- Only what had arrived before: deriving anew must find what was found the first time.
-- name: said_earlier
SELECT earlier.seq FROM events AS here JOIN events AS earlier
  ON earlier.space = here.space AND earlier.session = here.session
  AND (earlier.at, earlier.seq) < (here.at, here.seq) AND earlier.seq < here.seq
WHERE here.space = ? AND here.seq = ? ORDER BY earlier.at DESC, earlier.seq DESC LIMIT ?;

-- Readings: what an LLM found in events, the work that is owed for them, and links that follow.
-- name: put_reading
INSERT INTO readings (space, seq, extractor, body) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (space, seq) DO UPDATE SET extractor = ?3, body = ?4;

-- name: insert_reading_source
INSERT OR IGNORE INTO reading_sources (space, source, seq) VALUES (?, ?, ?);

-- name: readings_of_events
SELECT seq, body FROM readings WHERE space = ? AND seq IN carray(?);

-- name: seqs_resting_on
SELECT DISTINCT seq FROM reading_sources WHERE space = ? AND source IN carray(?) ORDER BY seq;

-- name: delete_readings_of
DELETE FROM readings WHERE space = ? AND seq IN carray(?);

-- name: delete_sources_of
DELETE FROM reading_sources WHERE space = ? AND seq IN carray(?);

-- name: delete_sources_from
DELETE FROM reading_sources WHERE space = ? AND source IN carray(?);

-- For verify, and for a rebuild that mends it.
-- name: count_readings
SELECT count(*) FROM readings WHERE space = ?;

-- name: loose_readings
SELECT count(*) FROM readings WHERE space = ?1 AND seq NOT IN (SELECT seq FROM events WHERE space = ?1);

-- name: loose_sources
SELECT count(*) FROM reading_sources WHERE space = ?1 AND (
  source NOT IN (SELECT seq FROM events WHERE space = ?1) OR seq NOT IN (SELECT seq FROM readings WHERE space = ?1)
);

-- name: drop_loose_readings
DELETE FROM readings WHERE space = ?1 AND seq NOT IN (SELECT seq FROM events WHERE space = ?1);

-- name: drop_loose_sources
DELETE FROM reading_sources WHERE space = ?1 AND (
  source NOT IN (SELECT seq FROM events WHERE space = ?1) OR seq NOT IN (SELECT seq FROM readings WHERE space = ?1)
);

-- Events that an LLM has neither read nor is to read, the newest first.
-- name: unread
SELECT seq FROM events WHERE space = ?1 AND record IS NULL AND lower(coalesce(role, '')) NOT IN carray(?2) AND source NOT IN carray(?5)
  AND NOT EXISTS (SELECT 1 FROM readings WHERE readings.space = ?1 AND readings.seq = events.seq)
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.kind = ?3 AND jobs.seq = events.seq AND jobs.space = ?1)
ORDER BY seq DESC LIMIT ?4;

-- What a server said when it failed may repeat what it was shown.
-- name: clear_errors_of
UPDATE jobs SET error = NULL WHERE space = ? AND kind = ? AND error IS NOT NULL;

-- A lease: until it ends no other process takes the same work; one that dies leaves it to be taken again.
-- name: take_jobs
UPDATE jobs SET due_at = ?1
WHERE id IN (SELECT id FROM jobs WHERE kind = ?2 AND due_at <= ?3 ORDER BY id LIMIT ?4)
RETURNING id, (SELECT name FROM spaces WHERE spaces.id = jobs.space), kind, seq, attempts, error;

-- name: finish_jobs
DELETE FROM jobs WHERE id IN carray(?) RETURNING id;

-- Whom and what a memory speaks about, as it is written, the most spoken of first; with an event that does.
-- name: names_known
SELECT body -> '$.about', min(seq) FROM artifacts WHERE space = ? AND about != ''
GROUP BY about ORDER BY count(*) DESC, about LIMIT ?;

-- A session from one of its turns on, and which of the turns state something.
-- name: said_from
SELECT seq, EXISTS (SELECT 1 FROM artifacts WHERE artifacts.space = events.space AND artifacts.seq = events.seq)
FROM events WHERE space = ? AND session = ? AND (at, seq) >= (?, ?) ORDER BY at, seq;

-- An edge belongs to the later of its two: a reference starts there, any other ends there.
-- name: delete_edges_of_later
DELETE FROM artifact_edges WHERE space = ?1 AND (
  (kind = 'reference' AND source IN carray(?2)) OR (kind != 'reference' AND target IN carray(?2))
);

-- What was refused touches no artifact.
-- name: delete_refusals_of
DELETE FROM journal WHERE space = ? AND seq IN carray(?) AND artifact IS NULL AND target IS NULL;

-- Imports

-- name: files_read
SELECT path, reading, bytes, modified, hash, position, events, whole FROM imports
WHERE space = ? AND path IN carray(?);

-- name: put_file_read
INSERT INTO imports (space, path, reading, bytes, modified, hash, position, events, whole)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (space, path) DO UPDATE SET reading = excluded.reading, bytes = excluded.bytes, modified = excluded.modified,
  hash = excluded.hash, position = excluded.position, events = excluded.events, whole = excluded.whole;

-- name: clear_file_hashes
UPDATE imports SET hash = x'' WHERE space = ? AND hash != x'';

-- name: forgotten_tags
SELECT tag FROM forgotten WHERE space = ? AND tag IN carray(?);

-- name: insert_forgotten_tag
INSERT INTO forgotten (space, tag) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- The file

-- name: insert_receipt
INSERT INTO receipts (space, at, upto, receipt) VALUES (?, ?, ?, ?);

-- name: receipts
SELECT upto, receipt FROM receipts WHERE space = ? ORDER BY id;

-- Before another memory is read: its log is in tables of its own, neither views nor virtual.
-- name: tables_of_log
SELECT count(*) FROM sqlite_schema WHERE name IN ('spaces', 'events', 'facts_of_file') AND type = 'table' AND rootpage > 0;

-- name: get_fact
SELECT value FROM facts_of_file WHERE name = ?;

-- name: add_fact
INSERT INTO facts_of_file (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: set_fact
INSERT INTO facts_of_file (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: tables_with_digests
SELECT name FROM sqlite_schema
WHERE type = 'table' AND name != 'digests' AND (name NOT LIKE 'sqlite_%' OR name = 'sqlite_sequence') ORDER BY name;

-- name: all_digests
SELECT name, rows, total FROM digests;

-- name: counters
SELECT name, seq FROM sqlite_sequence ORDER BY name;

-- name: change_digests
INSERT INTO digests (name, rows, total)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE TRUE
ON CONFLICT (name) DO UPDATE SET rows = rows + excluded.rows, total = (total + excluded.total) & 0x3fffffffffffffff;

-- name: set_digest
INSERT INTO digests (name, rows, total) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET rows = excluded.rows, total = excluded.total
WHERE rows != excluded.rows OR total != excluded.total;

-- name: all_of_schema
SELECT type, name, sql FROM sqlite_schema;

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

-- name: where_tag
AND seq IN (SELECT seq FROM event_tags WHERE space = :space AND tag = :tag);

-- A list of names comes as JSON. An event without a role has none of those that are excluded.
-- name: where_role_in
AND lower(coalesce(role, '')) IN (SELECT value FROM json_each(:role_in));

-- name: where_role_not_in
AND lower(coalesce(role, '')) NOT IN (SELECT value FROM json_each(:role_not_in));

-- name: where_source_in
AND source IN (SELECT value FROM json_each(:source_in));

-- name: where_source_not_in
AND source NOT IN (SELECT value FROM json_each(:source_not_in));

-- name: where_meta
AND meta -> :path_{n} = :value_{n};

-- The service: keys, webhooks and the feed of changes

-- name: insert_key
INSERT INTO api_keys (id, hash, name, permission, spaces, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: keys
SELECT id, hash, name, permission, spaces, created_at, expires_at, revoked_at FROM api_keys ORDER BY created_at, id;

-- name: key_by_id
SELECT id, hash, name, permission, spaces, created_at, expires_at, revoked_at FROM api_keys WHERE id = ?;

-- name: any_key
SELECT EXISTS (SELECT 1 FROM api_keys);

-- name: revoke_key
UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL;

-- name: insert_webhook
INSERT INTO webhooks (id, space, url, secret, kinds, created_at, position) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: webhooks
SELECT id, space, url, secret, kinds, created_at, position, delivered, attempts, due_at, error FROM webhooks
ORDER BY created_at, id;

-- Only from where the sender stood: two processes that send the same do not move it twice.
-- name: move_webhook
UPDATE webhooks SET position = ?, delivered = delivered + ?, attempts = 0, due_at = 0, error = NULL
WHERE id = ? AND position = ?;

-- name: fail_webhook
UPDATE webhooks SET attempts = attempts + 1, due_at = ?, error = ? WHERE id = ? AND position = ?;

-- name: delete_webhook
DELETE FROM webhooks WHERE id = ?;

-- name: receipts_after
SELECT id, receipt FROM receipts WHERE space = ? AND id > ? ORDER BY id LIMIT ?;

-- The highest number that was ever given in a table, to whichever space, also to a row that is gone.
-- name: last_number
SELECT seq FROM sqlite_sequence WHERE name = :table;

-- name: jobs_of_space
SELECT jobs.id, kind, seq, attempts, due_at, error FROM jobs WHERE space = ? AND id > ? ORDER BY id LIMIT ?;

-- name: jobs_by_kind
SELECT kind, count(*), sum(attempts > 0) FROM jobs WHERE space = ? GROUP BY kind ORDER BY kind;

-- name: next_job_due
SELECT min(due_at) FROM jobs;

-- Every number that was ever given, and which job is the oldest: that one is done first.
-- name: pulse
SELECT coalesce((SELECT group_concat(name || '.' || seq, ' ') FROM sqlite_sequence), '') || ' '
  || coalesce((SELECT min(id) FROM jobs), 0);
