-- The temporal graph, by name. A name's home is the id of the entity that it belongs to. Without statistics SQLite takes
-- a space for ten rows and goes through all of it: INDEXED BY and CROSS JOIN say which way is short.

-- name: graph_state
SELECT upto, version, epoch FROM graphs WHERE space = ?;

-- name: set_graph
INSERT INTO graphs (space, upto, version, epoch) VALUES (?1, ?2, 1, ?3)
ON CONFLICT (space) DO UPDATE SET upto = ?2, version = version + 1, epoch = epoch + ?3 RETURNING version;

-- Names

-- name: names_changed
SELECT id, home, key, events, first_at, last_at, body FROM names WHERE space = ? AND changed > ?;

-- name: names_by_id
SELECT id, home, key, events, first_at, last_at, body FROM names WHERE space = ? AND id IN carray(?) ORDER BY id;

-- name: names_by_key
SELECT id, home, key, events, first_at, last_at, body FROM names INDEXED BY names_key
WHERE space = ? AND key IN carray(?) ORDER BY id;

-- name: names_by_home
SELECT id, home, key, events, first_at, last_at, body FROM names INDEXED BY names_home
WHERE space = ? AND home IN carray(?) ORDER BY id;

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

-- name: replace_name
UPDATE names SET home = ?4, changed = ?5, events = ?6, first_at = ?7, last_at = ?8, body = ?9
WHERE space = ?1 AND id = ?2 AND key = ?3;

-- name: drop_names
DELETE FROM names WHERE space = ? AND id IN carray(?);

-- name: move_name
UPDATE names SET home = ?, changed = ? WHERE space = ? AND id = ?;

-- Mentions

-- name: put_mention
INSERT INTO mentions (space, name, seq, start, stop, type, votes, body)
SELECT ?1, number, ?3, ?4, ?5, ?6, ?7, ?8 FROM names WHERE space = ?1 AND id = ?2
ON CONFLICT (space, name, seq, start) DO NOTHING;

-- name: mentions_of_events
SELECT names.id, mentions.seq, start, stop, type, votes, mentions.body FROM mentions INDEXED BY mentions_seq
CROSS JOIN names ON names.number = mentions.name WHERE mentions.space = ? AND mentions.seq IN carray(?)
ORDER BY mentions.seq, start, names.id;

-- name: mentions_of_homes
SELECT names.id, mentions.seq, start, stop, type, votes, mentions.body FROM names INDEXED BY names_home
CROSS JOIN mentions ON mentions.space = names.space AND mentions.name = names.number
WHERE names.space = ? AND names.home IN carray(?) AND start != -2 ORDER BY mentions.seq, start, names.id;

-- name: mentions_of_name
SELECT names.id, mentions.seq, start, stop, type, votes, mentions.body FROM names INDEXED BY names_id
CROSS JOIN mentions ON mentions.space = names.space AND mentions.name = names.number
WHERE names.space = ? AND names.id = ? ORDER BY mentions.seq, start;

-- The first event that has a name, or was said by it.
-- name: first_named
SELECT names.id, (
  SELECT seq FROM mentions WHERE mentions.space = ?1 AND mentions.name = names.number AND start != -2
  ORDER BY seq LIMIT 1
) FROM names WHERE names.space = ?1 AND names.id IN carray(?2);

-- name: named_in_sessions
SELECT events.session, names.home, count(*) FROM events INDEXED BY events_session
CROSS JOIN mentions INDEXED BY mentions_seq
  ON mentions.space = events.space AND mentions.seq = events.seq AND mentions.start >= 0
CROSS JOIN names ON names.number = mentions.name
WHERE events.space = ? AND events.session IN carray(?) GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2;

-- Claims

-- name: put_claim
INSERT INTO claims
  (space, seq, start, stop, subject, relation, object, valid_from, begun_by, holds_at, valid_to, ended_by, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

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

-- name: claims_of_events
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE claims.space = ? AND claims.seq IN carray(?) ORDER BY claims.number;

-- name: session_seqs
SELECT seq FROM events WHERE space = ? AND session = ? ORDER BY at, seq;

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
  ORDER BY number DESC LIMIT ?3
) ORDER BY claims.number;

-- name: all_claims
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM events JOIN claims ON claims.space = events.space AND claims.seq = events.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE events.space = ? ORDER BY claims.number;

-- name: claims_by_number
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE +claims.space = ? AND claims.number IN carray(?);

-- name: delete_claims_of
DELETE FROM claims WHERE space = ? AND seq IN carray(?);

-- name: delete_mentions_of
DELETE FROM mentions INDEXED BY mentions_seq WHERE space = ? AND seq IN carray(?);

-- Facts

-- name: facts_by_filter
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE space = :space AND (:relation IS NULL OR relation = :relation)
  AND (:open IS NULL OR (valid_to IS NULL) = :open) AND (:conflicts IS NULL OR conflicts = :conflicts)
  AND (:as_of IS NULL OR ((valid_from IS NULL OR valid_from <= :as_of) AND (valid_to IS NULL OR valid_to > :as_of
    OR valid_from = valid_to AND valid_from = :as_of)))
ORDER BY subject, relation, valid_from, object, id LIMIT :limit OFFSET :offset;

-- name: longest_facts
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE space = :space AND (:subject IS NULL OR subject = :subject)
  AND (valid_from IS NULL OR valid_from < :until) AND (valid_to IS NULL OR valid_to >= :since)
ORDER BY min(coalesce(valid_to, :until), :until) - max(coalesce(valid_from, :since), :since) DESC, id LIMIT :limit;

-- name: fact_subjects
SELECT DISTINCT subject FROM facts WHERE space = ? ORDER BY subject;

-- name: facts_of_homes
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE number IN (
  SELECT number FROM facts WHERE space = ?1 AND subject IN carray(?2)
  UNION SELECT number FROM facts WHERE space = ?1 AND object IN carray(?3)
) AND (?4 IS NULL OR relation = ?4) AND (?5 IS NULL OR (valid_to IS NULL) = ?5) AND (?6 IS NULL OR conflicts = ?6)
  AND (?7 IS NULL OR ((valid_from IS NULL OR valid_from <= ?7) AND (valid_to IS NULL OR valid_to > ?7
    OR valid_from = valid_to AND valid_from = ?7)))
ORDER BY subject, relation, valid_from, object, id LIMIT ?8 OFFSET ?9;

-- name: conflicting_facts
SELECT id, subject, relation, object, conflicts, body FROM facts INDEXED BY facts_conflicts
WHERE space = ? AND conflicts = 1
ORDER BY subject, relation, valid_from, object, id LIMIT ? OFFSET ?;

-- name: facts_by_id
SELECT id, subject, relation, object, conflicts, body FROM facts WHERE space = ? AND id IN carray(?);

-- name: fact_keys
SELECT DISTINCT subject, relation, CASE single WHEN 1 THEN NULL ELSE object END FROM facts
WHERE number IN (SELECT fact FROM fact_claims WHERE claim IN carray(?2)) AND +space = ?1;

-- name: fact_rows
SELECT id, body FROM facts WHERE space = ?1 AND subject = ?2 AND relation = ?3 AND (?4 IS NULL OR object = ?4);

-- name: put_fact
INSERT INTO facts (space, id, subject, relation, object, single, conflicts, valid_from, valid_to, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number;

-- name: put_fact_claim
INSERT OR IGNORE INTO fact_claims (fact, claim) VALUES (?, ?);

-- name: drop_fact_claims
DELETE FROM fact_claims WHERE fact IN (SELECT number FROM facts WHERE space = ? AND id IN carray(?));

-- name: drop_facts
DELETE FROM facts WHERE space = ? AND id IN carray(?);

-- Summaries

-- name: summaries
SELECT session, events, pending, body FROM session_summaries WHERE space = ? ORDER BY session;

-- name: summaries_of
SELECT session, events, pending, body FROM session_summaries WHERE space = ? AND session IN carray(?) ORDER BY session;

-- name: put_summary
INSERT INTO session_summaries (space, session, events, pending, body) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (space, session) DO UPDATE SET events = ?3, pending = ?4, body = ?5;

-- name: count_pending
INSERT INTO session_summaries (space, session, events, pending, body) VALUES (?1, ?2, 0, ?3, '')
ON CONFLICT (space, session) DO UPDATE SET pending = pending + ?3 RETURNING session, events, pending, body;

-- name: drop_summaries
DELETE FROM session_summaries WHERE space = ? AND session IN carray(?);

-- By hand

-- name: edits
SELECT number, at, kind, undone, (
  SELECT json_group_object(name, target) FROM entity_pins WHERE edit = entity_edits.number
) FROM entity_edits WHERE space = ? ORDER BY number;

-- name: put_edit
INSERT INTO entity_edits (space, at, kind) VALUES (?, ?, ?) RETURNING number;

-- name: put_pin
INSERT INTO entity_pins (edit, name, target) VALUES (?, ?, ?);

-- name: undo_edit
UPDATE entity_edits SET undone = 1 WHERE space = ? AND number = ? AND undone = 0;

-- name: drop_loose_pins
DELETE FROM entity_pins WHERE edit IN (SELECT number FROM entity_edits WHERE space = ?1)
  AND name NOT IN (SELECT id FROM names WHERE space = ?1);

-- name: drop_empty_edits
DELETE FROM entity_edits WHERE space = ? AND NOT EXISTS (SELECT 1 FROM entity_pins WHERE edit = entity_edits.number);

-- All of it

-- name: drop_all_fact_claims
DELETE FROM fact_claims WHERE fact IN (SELECT number FROM facts WHERE space = ?);

-- name: drop_all_facts
DELETE FROM facts WHERE space = ?;

-- name: drop_claims_from
DELETE FROM claims WHERE space = ? AND seq >= ?;

-- name: drop_mentions_from
DELETE FROM mentions WHERE space = ? AND seq >= ?;

-- name: drop_all_names
DELETE FROM names WHERE space = ?;

-- name: drop_all_summaries
DELETE FROM session_summaries WHERE space = ?;

-- name: count_names
SELECT count(*) FROM names WHERE space = ?;

-- name: count_entities
SELECT count(DISTINCT home) FROM names WHERE space = ?;

-- name: count_mentions
SELECT count(*) FROM mentions WHERE space = ?;

-- name: count_claims
SELECT count(*) FROM claims WHERE space = ?;

-- name: count_facts
SELECT count(*) FROM facts WHERE space = ?;

-- name: count_open_facts
SELECT count(*) FROM facts WHERE space = ? AND valid_to IS NULL;

-- name: count_conflicts
SELECT count(*) FROM facts WHERE space = ? AND conflicts = 1;

-- name: count_summaries
SELECT count(*) FROM session_summaries WHERE space = ?;

-- For verify, from here on: what points to something that is not there.
-- name: lost_mentions
SELECT count(*) FROM mentions WHERE space = ?1 AND (
  seq NOT IN (SELECT seq FROM events WHERE space = ?1) OR name NOT IN (SELECT number FROM names WHERE space = ?1)
);

-- name: unnamed_names
SELECT count(*) FROM names WHERE space = ?1 AND NOT EXISTS (
  SELECT 1 FROM mentions WHERE mentions.space = ?1 AND mentions.name = names.number AND start != -2
);

-- name: homeless_names
SELECT count(*) FROM names WHERE space = ?1 AND home NOT IN (SELECT id FROM names WHERE space = ?1);

-- name: lost_claims
SELECT count(*) FROM claims WHERE space = ?1 AND seq NOT IN (SELECT seq FROM events WHERE space = ?1);

-- A claim without an object ends whatever holds, and is in no fact where nothing did.
-- Claims that a person took back are in no fact, nor is what says so.
-- Only what people say: a claim of a less trusted source may be in no fact, since a person says otherwise.
-- name: loose_claims
SELECT count(*) FROM claims WHERE space = ?1 AND number NOT IN (SELECT claim FROM fact_claims)
  AND coalesce((SELECT home FROM names WHERE space = ?1 AND id = subject), subject)
    != coalesce((SELECT home FROM names WHERE space = ?1 AND id = object), object)
  AND object != '' AND NOT EXISTS (
    SELECT 1 FROM claims AS void WHERE void.space = ?1 AND void.subject = claims.subject
      AND void.relation = claims.relation AND void.body LIKE '%"voids":%'
  )
  AND EXISTS (SELECT 1 FROM events WHERE events.seq = claims.seq AND events.source = 'user');

-- name: baseless_facts
SELECT count(*) FROM facts WHERE space = ?1 AND NOT EXISTS (
  SELECT 1 FROM fact_claims JOIN claims ON claims.number = fact_claims.claim WHERE fact = facts.number
);

-- name: lost_summaries
SELECT count(*) FROM session_summaries WHERE space = ?1 AND NOT EXISTS (
  SELECT 1 FROM events WHERE events.space = ?1 AND events.session = session_summaries.session
);
