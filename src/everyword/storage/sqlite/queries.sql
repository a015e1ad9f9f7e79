-- Queries that only SQLite has, or that it needs in another form than PostgreSQL.

-- Spaces

-- One space's counters, nulls where there is none; with the models and facts of the file, and how far the views of the
-- space are. Read first in every snapshot.
-- name: space_by_name
SELECT spaces.id, spaces.name, events, words, generation, words_upto, word_tail, epoch, last_seq, analysis,
       (SELECT json_group_array(json_array(id, name, version, dims, token_dims, state) ORDER BY id) FROM models),
       (SELECT json_group_object(name, value) FROM facts_of_file),
       (SELECT json_group_array(json_array(name, upto, version)) FROM views WHERE space = spaces.id)
FROM (SELECT 1) LEFT JOIN spaces ON name = ?;

-- name: add_space
INSERT INTO spaces (name, analysis) VALUES (?, ?)
RETURNING id, name, events, words, generation, words_upto, word_tail, epoch, last_seq, analysis;

-- What new events go on from: the last seq that was ever given, when the last event was learned, the last position of a
-- vector, and that of the last block.
-- name: append_after
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0),
       (SELECT max(recorded_at) FROM events WHERE space = ?1),
       coalesce((SELECT max(position) FROM pooled_tail WHERE space = ?1 AND model = ?2), 0),
       coalesce((SELECT max(last_position) FROM pooled_blocks WHERE space = ?1 AND model = ?2), 0);

-- The highest seq that was ever given, also to an event that is gone.
-- name: last_seq
SELECT seq FROM sqlite_sequence WHERE name = 'events';

-- The runs around several events at once: a row for each turn, beside the event that it stands near. The index of
-- sessions has the seq at its end.
-- name: runs_around
SELECT here.seq, near.at, near.seq FROM events AS here CROSS JOIN events AS near ON near.seq IN (
  SELECT seq FROM events WHERE space = ?1 AND session = here.session AND (at, seq) < (here.at, here.seq)
  ORDER BY at DESC, seq DESC LIMIT ?3
) WHERE here.seq IN carray(?2) AND +here.space = ?1
UNION ALL
SELECT here.seq, near.at, near.seq FROM events AS here CROSS JOIN events AS near ON near.seq IN (
  SELECT seq FROM events WHERE space = ?1 AND session = here.session AND (at, seq) > (here.at, here.seq)
  ORDER BY at, seq LIMIT ?3
) WHERE here.seq IN carray(?2) AND +here.space = ?1;

-- Ordinary events alone. Records are few: they are left out by number, so that an index of the events is enough.
-- As one text: there may be hundreds of thousands.
-- name: matching_seqs
SELECT group_concat(seq) FROM events
WHERE space = :space AND seq NOT IN (SELECT seq FROM events WHERE space = :space AND record IS NOT NULL) {where};

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

-- name: count_events
SELECT (SELECT count(*) FROM events WHERE space = ?1)
  - (SELECT count(*) FROM events WHERE space = ?1 AND record IS NOT NULL);

-- Only older ones: a newer one is being built by somebody.
-- name: drop_older_generations
DELETE FROM postings WHERE (space, generation, term, first) IN (
  SELECT space, generation, term, first FROM postings
  WHERE space = ?1 AND generation < (SELECT generation FROM spaces WHERE id = ?1) LIMIT ?2
);

-- name: delete_some_vectors
DELETE FROM vectors WHERE unit IN (SELECT unit FROM vectors WHERE unit BETWEEN ? AND ? LIMIT ?);

-- name: jobs
SELECT jobs.id, spaces.name, kind, seq, attempts, due_at, error FROM jobs JOIN spaces ON spaces.id = jobs.space
WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR due_at <= ?2) ORDER BY jobs.id LIMIT ?3;

-- What is known now or was at a time: one that was closed later counts as current then.
-- name: statements_by_filter
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM statements JOIN events ON events.seq = statements.seq
WHERE statements.space = :space AND statements.number > :after
  AND (:kind IS NULL OR kind = :kind) AND (:about IS NULL OR about = :about)
  AND (:wing IS NULL OR events.wing = :wing) AND (:as_of IS NULL OR statements.recorded_at <= :as_of)
  AND (:status IS NULL OR CASE WHEN :as_of < closed_at THEN 'current' ELSE status END = :status)
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(body, '$.tags') WHERE value = :tag))
ORDER BY statements.number LIMIT :limit;

-- name: statements_by_filter_newest
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM statements JOIN events ON events.seq = statements.seq
WHERE statements.space = :space AND (:after = 0 OR statements.number < :after)
  AND (:kind IS NULL OR kind = :kind) AND (:about IS NULL OR about = :about)
  AND (:wing IS NULL OR events.wing = :wing) AND (:as_of IS NULL OR statements.recorded_at <= :as_of)
  AND (:status IS NULL OR CASE WHEN :as_of < closed_at THEN 'current' ELSE status END = :status)
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(body, '$.tags') WHERE value = :tag))
ORDER BY statements.number DESC LIMIT :limit;

-- As JSON, which comes as it is: text of SQLite's can't hold half a character, which a content may.
-- name: statement_texts
SELECT seq, body -> '$.content', status = 'current' FROM statements WHERE space = ?1 AND seq IN carray(?2) ORDER BY +number;

-- Events that state something about some, or changed what is stated about them.
-- name: seqs_stating
SELECT seq FROM statements INDEXED BY statements_about WHERE space = ?1 AND about IN carray(?2)
UNION SELECT journal.seq FROM statements INDEXED BY statements_about
CROSS JOIN journal INDEXED BY journal_of_target ON journal.space = ?1 AND journal.target = statements.id
WHERE statements.space = ?1 AND statements.about IN carray(?2) ORDER BY 1;

-- name: drop_statements_about
DELETE FROM statements WHERE space = ? AND about IN carray(?);

-- name: drop_changes_about
WITH gone AS MATERIALIZED (SELECT id FROM statements WHERE space = ?1 AND about IN carray(?2))
DELETE FROM journal WHERE number IN (
  SELECT number FROM journal WHERE space = ?1 AND statement IN gone
  UNION SELECT number FROM journal WHERE space = ?1 AND target IN gone
);

-- name: delete_changes_of
WITH gone AS MATERIALIZED (SELECT id FROM statements WHERE space = ?1 AND seq IN carray(?2))
DELETE FROM journal WHERE number IN (
  SELECT number FROM journal WHERE space = ?1 AND seq IN carray(?2)
  UNION SELECT number FROM journal WHERE space = ?1 AND statement IN gone
  UNION SELECT number FROM journal WHERE space = ?1 AND target IN gone
);

-- name: delete_statements_of
DELETE FROM statements WHERE space = ? AND seq IN carray(?);

-- Only what had arrived before: deriving anew must find what was found the first time.
-- name: said_earlier
SELECT earlier.seq FROM events AS here JOIN events AS earlier
  ON earlier.space = here.space AND earlier.session = here.session
  AND (earlier.at, earlier.seq) < (here.at, here.seq) AND earlier.seq < here.seq
WHERE here.space = ? AND here.seq = ? ORDER BY earlier.at DESC, earlier.seq DESC LIMIT ?;

-- A lease: until it ends no other process takes the same work; one that dies leaves it to be taken again.
-- name: take_jobs
UPDATE jobs SET due_at = ?1
WHERE id IN (SELECT id FROM jobs WHERE kind = ?2 AND due_at <= ?3 ORDER BY id LIMIT ?4)
RETURNING id, (SELECT name FROM spaces WHERE spaces.id = jobs.space), kind, seq, attempts, due_at, error;

-- Whom and what a memory speaks about, as it is written, the most spoken of first; with an event that does.
-- name: names_known
SELECT body -> '$.about', min(seq) FROM statements WHERE space = ? AND about != ''
GROUP BY about ORDER BY count(*) DESC, about LIMIT ?;

-- name: clear_file_hashes
UPDATE imports SET hash = x'' WHERE space = ? AND hash != x'';

-- Before another memory is read: its log is in tables of its own, neither views nor virtual.
-- name: tables_of_log
SELECT count(*) FROM sqlite_schema WHERE name IN ('spaces', 'events', 'facts_of_file') AND type = 'table' AND rootpage > 0;

-- name: tables_with_digests
SELECT name FROM sqlite_schema
WHERE type = 'table' AND name != 'digests' AND (name NOT LIKE 'sqlite_%' OR name = 'sqlite_sequence') ORDER BY name;

-- name: all_digests
SELECT name, rows, total FROM digests;

-- name: counters
SELECT name, seq FROM sqlite_sequence ORDER BY name;

-- What each table changed by; of the one that is named, what it is now.
-- name: change_digests
INSERT INTO digests (name, rows, total)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1) WHERE TRUE
ON CONFLICT (name) DO UPDATE SET rows = iif(name = ?2, 0, rows) + excluded.rows,
  total = (iif(name = ?2, 0, total) + excluded.total) & 0x3fffffffffffffff;

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
AND meta -> :path_0 = :value_0;

-- The highest number that was ever given in a table, to whichever space, also to a row that is gone.
-- name: last_number
SELECT seq FROM sqlite_sequence WHERE name = :table;

-- name: jobs_of_space
SELECT jobs.id, kind, seq, attempts, due_at, error FROM jobs WHERE space = ?1 AND id > ?2
  AND (?4 IS NULL OR kind = ?4) ORDER BY id LIMIT ?3;

-- name: jobs_by_kind
SELECT kind, count(*), sum(attempts > 0) FROM jobs WHERE space = ? GROUP BY kind ORDER BY kind;

-- Every number that was ever given, and which job is the oldest: that one is done first.
-- name: pulse
SELECT coalesce((SELECT group_concat(name || '.' || seq, ' ') FROM sqlite_sequence), '') || ' '
  || coalesce((SELECT min(id) FROM jobs), 0);

-- name: set_graph
INSERT INTO graphs (space, version, epoch) VALUES (?1, 1, ?2)
ON CONFLICT (space) DO UPDATE SET version = version + 1, epoch = epoch + ?2 RETURNING version;

-- Entities by their types: the votes of all names of one, the most first; of two with as many, the first by its word.
-- name: homes_by_prefix
SELECT home FROM names WHERE space = :space AND key >= :prefix AND key < :beyond AND (:type IS NULL OR :type = (
  SELECT votes.key FROM names AS own, json_each(own.body, '$.votes') AS votes
  WHERE own.space = names.space AND own.home = names.home
  GROUP BY votes.key ORDER BY sum(votes.value) DESC, votes.key LIMIT 1
)) AND (:wing IS NULL OR EXISTS (
  SELECT 1 FROM names AS own CROSS JOIN mentions ON mentions.space = own.space AND mentions.name = own.number
  CROSS JOIN events ON events.seq = mentions.seq
  WHERE own.space = names.space AND own.home = names.home AND mentions.start != -2 AND events.wing = :wing
)) GROUP BY home ORDER BY sum(events) DESC, min(key), home LIMIT :limit;

-- name: put_name
INSERT INTO names (space, id, key, home, changed, events, first_at, last_at, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (space, id) DO UPDATE SET home = ?4, changed = ?5, events = events + ?6, first_at = min(first_at, ?7),
  last_at = max(last_at, ?8), body = ?9;

-- name: named_in_sessions
SELECT events.session, names.home, count(*) FROM events INDEXED BY events_session
CROSS JOIN mentions INDEXED BY mentions_seq
  ON mentions.space = events.space AND mentions.seq = events.seq AND mentions.start >= 0
CROSS JOIN names ON names.number = mentions.name
WHERE events.space = ? AND events.session IN carray(?) GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2;

-- What bears on one fact: said of any name of its subject, and of its object where that is given.
-- name: claims_of_key
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, owner.home, claims.relation, claims.object,
       coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to, ended_by, claims.body,
       events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM names AS owner INDEXED BY names_home
CROSS JOIN claims INDEXED BY claims_subject ON claims.space = owner.space AND claims.subject = owner.id
CROSS JOIN events ON events.seq = claims.seq
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE owner.space = :space AND owner.home = :subject AND claims.relation = :relation
  AND (:object IS NULL OR claims.object IN (
    SELECT id FROM names WHERE space = :space AND home = :object UNION ALL SELECT :object
  ));

-- name: claims_of_names
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE claims.number IN (
  SELECT number FROM claims WHERE space = ?1 AND subject IN carray(?2)
  UNION SELECT number FROM claims WHERE space = ?1 AND object IN carray(?2)
) ORDER BY claims.number;

-- name: claims_of_homes
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE claims.number IN (
  SELECT number FROM claims WHERE space = ?1
    AND subject IN (SELECT id FROM names WHERE space = ?1 AND home IN carray(?2))
  UNION SELECT number FROM claims WHERE space = ?1
    AND object IN (SELECT id FROM names WHERE space = ?1 AND home IN carray(?2))
) ORDER BY claims.number;

-- name: fact_keys
SELECT DISTINCT subject, relation, CASE single WHEN 1 THEN NULL ELSE object END FROM facts
WHERE number IN (SELECT fact FROM fact_claims WHERE claim IN carray(?2)) AND +space = ?1;

-- By hand
-- name: edits
SELECT number, at, kind, undone, (
  SELECT json_group_object(name, target) FROM entity_pins WHERE edit = entity_edits.number
) FROM entity_edits WHERE space = ? ORDER BY number;

-- All of it
-- name: drop_all_fact_claims
DELETE FROM fact_claims WHERE fact IN (SELECT number FROM facts WHERE space = ?);

-- Concepts

-- Each as it was worded at a time, with what its events at that time come to.
-- name: concepts
SELECT node.number, node.id, node.body, (SELECT min(first.born_at) FROM fold_nodes first
                                         WHERE first.space = node.space AND first.id = node.id),
       count(*), min(edge.at), max(edge.at),
       json_group_array(DISTINCT event.wing), node.closed_at, node.merged_into
FROM fold_nodes node
JOIN fold_edges edge ON edge.space = node.space AND edge.target = node.id AND edge.kind IN ('grounds', 'reinforces')
 AND (edge.closed_at IS NULL OR edge.closed_at > :as_of) AND edge.born_at <= :as_of
JOIN events event ON event.seq = edge.seq
WHERE node.space = :space AND node.number > :after AND node.label_key <> '' AND node.born_at <= :as_of
  AND (node.closed_at IS NULL OR node.closed_at > :as_of)
  AND (:wing IS NULL OR event.wing = :wing)
GROUP BY node.number ORDER BY node.number LIMIT :limit;

-- The same of the present and of all wings, the strongest and freshest: closed edges need not be gone through, and only
-- the bodies of these are read.
-- name: strongest_concepts
SELECT node.number, node.id, node.body, (SELECT min(first.born_at) FROM fold_nodes first
                                         WHERE first.space = node.space AND first.id = node.id),
       few.events, few.first_at, few.last_at, '[]', NULL, NULL
FROM (SELECT target, count(*) AS events, min(at) AS first_at, max(at) AS last_at
      FROM fold_edges INDEXED BY fold_edges_members
      WHERE space = :space AND closed IS NULL AND kind IN ('grounds', 'reinforces')
        AND target IN (SELECT other.id FROM fold_nodes other INDEXED BY fold_nodes_open
                       WHERE other.space = :space AND other.closed IS NULL AND other.label_key <> '')
      GROUP BY target
      ORDER BY min(max(count(*), :weakest), :strongest) DESC, last_at DESC, target LIMIT :limit) few
JOIN fold_nodes node INDEXED BY fold_nodes_id ON node.space = :space AND node.id = few.target AND node.closed IS NULL
ORDER BY min(max(few.events, :weakest), :strongest) DESC, few.last_at DESC, node.id;

-- name: concepts_by_id
SELECT node.number, node.id, node.body, (SELECT min(first.born_at) FROM fold_nodes first
                                         WHERE first.space = node.space AND first.id = node.id),
       count(edge.number), min(edge.at), max(edge.at),
       json_group_array(DISTINCT event.wing), node.closed_at, node.merged_into
FROM fold_nodes node
LEFT JOIN fold_edges edge ON edge.space = node.space AND edge.target = node.id
 AND edge.kind IN ('grounds', 'reinforces')
 AND (edge.closed_at IS NULL OR edge.closed_at > :as_of) AND edge.born_at <= :as_of
LEFT JOIN events event ON event.seq = edge.seq
WHERE node.space = :space AND node.id IN carray(:ids) AND node.number = (
  SELECT max(latest.number) FROM fold_nodes latest
  WHERE latest.space = node.space AND latest.id = node.id AND latest.born_at <= :as_of)
  AND (:wing IS NULL OR event.wing = :wing)
GROUP BY node.number ORDER BY node.number;

-- name: put_written
INSERT INTO written_sessions (space, session, events, extractor, refused, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (space, session) DO UPDATE SET events = ?3, extractor = ?4, refused = ?5, body = ?6;

-- Work that is put off by each event that brings it again; what failed waits as long as it was told to.
-- name: owe_job
INSERT INTO jobs (space, kind, seq, due_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (kind, seq) DO UPDATE SET due_at = CASE WHEN attempts > 0 THEN due_at ELSE ?4 END;

-- name: plans_resting_on
SELECT seq, place FROM fold_plan_sources WHERE space = ? AND source IN carray(?) GROUP BY +seq, +place
ORDER BY 1, 2;

-- The last event up to a number.
-- name: last_event_upto
SELECT seq FROM events WHERE +space = ? AND seq <= ? ORDER BY seq DESC LIMIT 1;

-- name: events_newest
SELECT seq FROM events WHERE space = :space AND (:wing IS NULL OR wing = :wing) AND +recorded_at <= :as_of AND record IS NULL
ORDER BY at DESC, seq DESC LIMIT :limit;

-- name: wing_counts
SELECT wing, count(*) FROM events
WHERE space = ?1 AND wing IS NOT NULL AND seq NOT IN (SELECT seq FROM events WHERE space = ?1 AND record IS NOT NULL)
GROUP BY wing;

-- name: schema_version
SELECT user_version FROM pragma_user_version;
