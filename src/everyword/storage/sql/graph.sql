-- Names, mentions, claims, facts and session summaries. A name's home is the id of the entity that it belongs to.
-- Without statistics SQLite takes a space for ten rows and goes through all of it: INDEXED BY and CROSS JOIN say which
-- way is short.

-- name: graph_state
SELECT version, epoch FROM graphs WHERE space = $1;

-- Names
-- name: names_changed
SELECT id, home, key, events, first_at, last_at, body FROM names WHERE space = $1 AND changed > $2;

-- name: names_by_id
SELECT id, home, key, events, first_at, last_at, body FROM names WHERE space = $1 AND id = ANY($2::text[]) ORDER BY id;

-- name: names_by_key
SELECT id, home, key, events, first_at, last_at, body FROM names {sqlite: INDEXED BY names_key} WHERE space = $1
  AND key = ANY($2::text[])
  {postgres: AND key_start IN (SELECT left(k, 256) FROM unnest($2::text[]) AS k)} ORDER BY id;

-- name: names_by_home
SELECT id, home, key, events, first_at, last_at, body FROM names {sqlite: INDEXED BY names_home} WHERE space = $1
  AND home = ANY($2::text[]) ORDER BY id;

-- name: replace_name
UPDATE names SET home = $4, changed = $5, events = $6, first_at = $7, last_at = $8, body = $9
WHERE space = $1 AND id = $2 AND key = $3;

-- name: drop_names
DELETE FROM names WHERE space = $1 AND id = ANY($2::text[]);

-- name: move_name
UPDATE names SET home = $1, changed = $2 WHERE space = $3 AND id = $4;

-- Mentions
-- name: put_mention
INSERT INTO mentions (space, name, seq, start, stop, type, votes)
SELECT $1, number, $3, $4, $5, $6, $7 FROM names WHERE space = $1 AND id = $2 ON CONFLICT DO NOTHING;

-- name: mentions_of_events
SELECT names.id, mentions.seq, start, stop, type, votes FROM mentions
{sqlite: INDEXED BY mentions_seq CROSS}
  JOIN names ON {postgres: names.space = mentions.space AND} names.number = mentions.name
WHERE mentions.space = $1 AND mentions.seq = ANY($2::bigint[]) ORDER BY mentions.seq, start, names.id;

-- name: mentions_of_homes
SELECT names.id, mentions.seq, start, stop, type, votes FROM names
{sqlite: INDEXED BY names_home CROSS} JOIN mentions ON mentions.space = names.space AND mentions.name = names.number
WHERE names.space = $1 AND names.home = ANY($2::text[]) AND start != -2 ORDER BY mentions.seq, start, names.id;

-- name: mentions_of_name
SELECT names.id, mentions.seq, start, stop, type, votes FROM names
{sqlite: INDEXED BY names_id CROSS} JOIN mentions ON mentions.space = names.space AND mentions.name = names.number
WHERE names.space = $1 AND names.id = $2 ORDER BY mentions.seq, start;

-- The first event that has a name, or was said by it.
-- name: first_named
SELECT names.id, (
  SELECT seq FROM mentions WHERE mentions.space = $1 AND mentions.name = names.number
  ORDER BY seq LIMIT 1
) FROM names WHERE names.space = $1 AND names.id = ANY($2::text[]);

-- Claims
-- name: put_claim
INSERT INTO claims
  (space, seq, start, stop, subject, relation, object, valid_from, begun_by, holds_at, valid_to, ended_by, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: claims_of_events
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON {postgres: events.space = claims.space AND} events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE claims.space = $1 AND claims.seq = ANY($2::bigint[]) ORDER BY claims.number;

-- name: session_seqs
SELECT seq FROM events WHERE space = $1 AND {postgres: session_hash = hashtextextended($2, 0) AND} session = $2
  ORDER BY at, seq;

-- name: all_claims
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM events JOIN claims ON claims.space = events.space AND claims.seq = events.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE events.space = $1 ORDER BY claims.number;

-- name: claims_by_number
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON {postgres: events.space = claims.space AND} events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE {sqlite: +}claims.space = $1 AND claims.number = ANY($2::bigint[]);

-- name: delete_claims_of
DELETE FROM claims WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: delete_mentions_of
DELETE FROM mentions {sqlite: INDEXED BY mentions_seq} WHERE space = $1 AND seq = ANY($2::bigint[]);

-- Facts
-- name: facts_by_filter
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE space = :space AND (:relation::text IS NULL OR relation = :relation)
  AND (:open::bigint IS NULL OR (valid_to IS NULL)::int = :open)
  AND (:conflicts::bigint IS NULL OR conflicts = :conflicts)
  AND (:as_of::bigint IS NULL OR ((valid_from IS NULL OR valid_from <= :as_of)
    AND (valid_to IS NULL OR valid_to > :as_of OR valid_from = valid_to AND valid_from = :as_of)))
ORDER BY subject, relation, valid_from NULLS FIRST, object, id LIMIT :limit;

-- name: longest_facts
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE space = :space AND (:subject::text IS NULL OR subject = :subject)
  AND (valid_from IS NULL OR valid_from < :until::bigint)
  AND (valid_to IS NULL OR valid_to > :since::bigint OR valid_from = valid_to AND valid_from = :since::bigint)
ORDER BY least(coalesce(valid_to, :until::bigint), :until::bigint)
  - greatest(coalesce(valid_from, :since::bigint), :since::bigint) DESC, id LIMIT :limit;

-- name: fact_subjects
SELECT DISTINCT subject FROM facts WHERE space = $1 ORDER BY subject;

-- name: facts_of_homes
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE {postgres: space = :space AND} number IN (
  SELECT number FROM facts WHERE space = :space AND subject = ANY(:subjects::text[])
  UNION SELECT number FROM facts WHERE space = :space AND object = ANY(:objects::text[])
    {postgres: AND object_hash IN (SELECT hashtextextended(o, 0) FROM unnest(:objects::text[]) AS o)}
) AND (:relation::text IS NULL OR relation = :relation) AND (:open::bigint IS NULL OR (valid_to IS NULL)::int = :open)
  AND (:conflicts::bigint IS NULL OR conflicts = :conflicts)
  AND (:as_of::bigint IS NULL OR ((valid_from IS NULL OR valid_from <= :as_of) AND (valid_to IS NULL OR valid_to > :as_of
    OR valid_from = valid_to AND valid_from = :as_of)))
ORDER BY subject, relation, valid_from NULLS FIRST, object, id LIMIT :limit;

-- name: conflicting_facts
SELECT id, subject, relation, object, conflicts, body FROM facts {sqlite: INDEXED BY facts_conflicts}
  WHERE space = $1 AND conflicts = 1
ORDER BY subject, relation, valid_from NULLS FIRST, object, id LIMIT $2;

-- name: facts_by_id
SELECT id, subject, relation, object, conflicts, body FROM facts WHERE space = $1 AND id = ANY($2::text[]);

-- name: fact_rows
SELECT id, body FROM facts
WHERE space = $1 AND subject = $2 AND relation = $3 AND ($4::text IS NULL OR object = $4);

-- name: put_fact
INSERT INTO facts (space, id, subject, relation, object, single, conflicts, valid_from, valid_to, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING number;

-- name: put_fact_claim
INSERT INTO fact_claims (fact, claim) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: drop_fact_claims
DELETE FROM fact_claims WHERE {postgres: space = $1 AND} fact IN (
  SELECT number FROM facts WHERE space = $1 AND id = ANY($2::text[])
);

-- name: drop_facts
DELETE FROM facts WHERE space = $1 AND id = ANY($2::text[]);

-- name: put_edit
INSERT INTO entity_edits (space, at, kind) VALUES ($1, $2, $3) RETURNING number;

-- name: put_pin
INSERT INTO entity_pins (edit, name, target) VALUES ($1, $2, $3);

-- name: undo_edit
UPDATE entity_edits SET undone = 1 WHERE space = $1 AND number = $2 AND undone = 0;

-- name: drop_loose_pins
DELETE FROM entity_pins WHERE {postgres: space = $1 AND} edit IN (SELECT number FROM entity_edits WHERE space = $1)
  AND name NOT IN (SELECT id FROM names WHERE space = $1);

-- name: drop_empty_edits
DELETE FROM entity_edits WHERE space = $1 AND NOT EXISTS (
  SELECT 1 FROM entity_pins WHERE {postgres: entity_pins.space = $1 AND} edit = entity_edits.number
);

-- name: drop_all_facts
DELETE FROM facts WHERE space = $1;

-- name: drop_all_claims
DELETE FROM claims WHERE space = $1;

-- name: drop_all_mentions
DELETE FROM mentions WHERE space = $1;

-- name: drop_all_names
DELETE FROM names WHERE space = $1;

-- name: graph_counts
SELECT 'entities', (SELECT count(DISTINCT home) FROM names WHERE space = $1)
UNION ALL SELECT 'names', (SELECT count(*) FROM names WHERE space = $1)
UNION ALL SELECT 'mentions', (SELECT count(*) FROM mentions WHERE space = $1)
UNION ALL SELECT 'claims', (SELECT count(*) FROM claims WHERE space = $1)
UNION ALL SELECT 'facts', (SELECT count(*) FROM facts WHERE space = $1)
UNION ALL SELECT 'open_facts', (SELECT count(*) FROM facts WHERE space = $1 AND valid_to IS NULL)
UNION ALL SELECT 'conflicts', (SELECT count(*) FROM facts WHERE space = $1 AND conflicts = 1);
