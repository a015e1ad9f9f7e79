-- The temporal graph, by the names that SQLite's queries have and with values in the same order.

-- name: graph_state
SELECT upto, version, epoch FROM graphs WHERE space = $1;

-- name: set_graph
INSERT INTO graphs (space, upto, version, epoch) VALUES ($1, $2, 1, $3)
ON CONFLICT (space) DO UPDATE SET upto = excluded.upto, version = graphs.version + 1,
  epoch = graphs.epoch + excluded.epoch RETURNING version;

-- Names

-- name: names_changed
SELECT id, home, key, events, first_at, last_at, body FROM names WHERE space = $1 AND changed > $2;

-- name: names_by_id
SELECT id, home, key, events, first_at, last_at, body FROM names WHERE space = $1 AND id = ANY($2::text[]) ORDER BY id;

-- name: names_by_key
SELECT id, home, key, events, first_at, last_at, body FROM names WHERE space = $1 AND key = ANY($2::text[])
  AND key_start IN (SELECT left(k, 256) FROM unnest($2::text[]) AS k) ORDER BY id;

-- name: names_by_home
SELECT id, home, key, events, first_at, last_at, body FROM names WHERE space = $1 AND home = ANY($2::text[]) ORDER BY id;

-- Entities by their types: the votes of all names of one, the most first; of two with as many, the first by its word.
-- name: homes_by_prefix
SELECT home FROM names WHERE space = %(space)s
  AND key_start >= left(%(prefix)s, 256) COLLATE "C" AND key_start <= left(%(beyond)s, 256) COLLATE "C"
  AND key >= %(prefix)s AND key < %(beyond)s AND (%(type)s::text IS NULL OR %(type)s = (
  SELECT votes.key FROM names AS own, json_each_text(any_json(own.body) -> 'votes') AS votes
  WHERE own.space = %(space)s AND own.home = names.home
  GROUP BY votes.key ORDER BY sum(votes.value::numeric) DESC, votes.key COLLATE "C" LIMIT 1
)) AND (%(wing)s::text IS NULL OR EXISTS (
  SELECT 1 FROM names AS own JOIN mentions ON mentions.space = own.space AND mentions.name = own.number
  JOIN events ON events.space = mentions.space AND events.seq = mentions.seq
  WHERE own.space = %(space)s AND own.home = names.home AND mentions.start != -2 AND events.wing = %(wing)s
)) GROUP BY home ORDER BY sum(events) DESC, min(key), home LIMIT %(limit)s;

-- name: put_name
INSERT INTO names (space, id, key, home, changed, events, first_at, last_at, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (space, id) DO UPDATE SET home = excluded.home, changed = excluded.changed,
  events = names.events + excluded.events, first_at = least(names.first_at, excluded.first_at),
  last_at = greatest(names.last_at, excluded.last_at), body = excluded.body;

-- name: replace_name
UPDATE names SET home = $4, changed = $5, events = $6, first_at = $7, last_at = $8, body = $9
WHERE space = $1 AND id = $2 AND key = $3;

-- name: drop_names
DELETE FROM names WHERE space = $1 AND id = ANY($2::text[]);

-- name: move_name
UPDATE names SET home = $1, changed = $2 WHERE space = $3 AND id = $4;

-- Mentions

-- name: put_mention
INSERT INTO mentions (space, name, seq, start, stop, type, votes, body)
SELECT $1, number, $3, $4, $5, $6, $7, $8 FROM names WHERE space = $1 AND id = $2 ON CONFLICT DO NOTHING;

-- name: mentions_of_events
SELECT names.id, mentions.seq, start, stop, type, votes, mentions.body FROM mentions
JOIN names ON names.space = mentions.space AND names.number = mentions.name
WHERE mentions.space = $1 AND mentions.seq = ANY($2::bigint[]) ORDER BY mentions.seq, start, names.id;

-- name: mentions_of_homes
SELECT names.id, mentions.seq, start, stop, type, votes, mentions.body FROM names
JOIN mentions ON mentions.space = names.space AND mentions.name = names.number
WHERE names.space = $1 AND names.home = ANY($2::text[]) AND start != -2 ORDER BY mentions.seq, start, names.id;

-- name: mentions_of_name
SELECT names.id, mentions.seq, start, stop, type, votes, mentions.body FROM names
JOIN mentions ON mentions.space = names.space AND mentions.name = names.number
WHERE names.space = $1 AND names.id = $2 ORDER BY mentions.seq, start;

-- The first event that has a name, or was said by it.
-- name: first_named
SELECT names.id, (
  SELECT seq FROM mentions WHERE mentions.space = $1 AND mentions.name = names.number AND start != -2
  ORDER BY seq LIMIT 1
) FROM names WHERE names.space = $1 AND names.id = ANY($2::text[]);

-- name: named_in_sessions
SELECT events.session, names.home, count(*) FROM events
JOIN mentions ON mentions.space = events.space AND mentions.seq = events.seq AND mentions.start >= 0
JOIN names ON names.space = mentions.space AND names.number = mentions.name
WHERE events.space = $1 AND events.session = ANY($2::text[])
  AND events.session_hash IN (SELECT hashtextextended(s, 0) FROM unnest($2::text[]) AS s)
GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2;

-- Claims

-- name: put_claim
INSERT INTO claims
  (space, seq, start, stop, subject, relation, object, valid_from, begun_by, holds_at, valid_to, ended_by, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- What bears on one fact: said of any name of its subject, and of its object where that is given.
-- name: claims_of_key
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, owner.home, claims.relation, claims.object,
       coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to, ended_by, claims.body,
       events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM names AS owner JOIN claims ON claims.space = owner.space AND claims.subject = owner.id
JOIN events ON events.space = claims.space AND events.seq = claims.seq
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE owner.space = %(space)s AND owner.home = %(subject)s AND claims.relation = %(relation)s
  AND (%(object)s::text IS NULL OR claims.object IN (
    SELECT id FROM names WHERE space = %(space)s AND home = %(object)s UNION ALL SELECT %(object)s::text
  )) ORDER BY claims.number;

-- name: claims_of_events
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON events.space = claims.space AND events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE claims.space = $1 AND claims.seq = ANY($2::bigint[]) ORDER BY claims.number;

-- name: session_seqs
SELECT seq FROM events WHERE space = $1 AND session_hash = hashtextextended($2, 0) AND session = $2 ORDER BY at, seq;

-- name: claims_of_names
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON events.space = claims.space AND events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE claims.space = $1 AND claims.number IN (
  SELECT number FROM claims WHERE space = $1 AND subject = ANY($2::text[])
  UNION SELECT number FROM claims WHERE space = $1 AND object = ANY($2::text[])
    AND object_hash IN (SELECT hashtextextended(o, 0) FROM unnest($2::text[]) AS o)
) ORDER BY claims.number;

-- name: claims_of_homes
SELECT claims.number, claims.seq, claims.start, claims.stop, claims.subject, coalesce(owner.home, claims.subject),
       claims.relation, claims.object, coalesce(target.home, claims.object), valid_from, begun_by, holds_at, valid_to,
       ended_by, claims.body, events.id, events.text, events.at, events.at_offset, events.recorded_at, events.source
FROM claims JOIN events ON events.space = claims.space AND events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE claims.space = $1 AND claims.number IN (
  SELECT number FROM claims WHERE space = $1
    AND subject IN (SELECT id FROM names WHERE space = $1 AND home = ANY($2::text[]))
  UNION SELECT claims.number FROM claims JOIN names ON names.space = $1 AND names.home = ANY($2::text[])
    AND claims.object_hash = hashtextextended(names.id, 0) AND claims.object = names.id WHERE claims.space = $1
  ORDER BY number DESC LIMIT $3
) ORDER BY claims.number;

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
FROM claims JOIN events ON events.space = claims.space AND events.seq = claims.seq
LEFT JOIN names AS owner ON owner.space = claims.space AND owner.id = claims.subject
LEFT JOIN names AS target ON target.space = claims.space AND target.id = claims.object
WHERE claims.space = $1 AND claims.number = ANY($2::bigint[]);

-- name: delete_claims_of
DELETE FROM claims WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: delete_mentions_of
DELETE FROM mentions WHERE space = $1 AND seq = ANY($2::bigint[]);

-- Facts

-- name: facts_by_filter
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE space = %(space)s AND (%(relation)s::text IS NULL OR relation = %(relation)s)
  AND (%(open)s::bigint IS NULL OR (valid_to IS NULL)::int = %(open)s)
  AND (%(conflicts)s::bigint IS NULL OR conflicts = %(conflicts)s)
  AND (%(as_of)s::bigint IS NULL OR ((valid_from IS NULL OR valid_from <= %(as_of)s)
    AND (valid_to IS NULL OR valid_to > %(as_of)s OR valid_from = valid_to AND valid_from = %(as_of)s)))
ORDER BY subject, relation, valid_from NULLS FIRST, object, id LIMIT %(limit)s OFFSET %(offset)s;

-- name: longest_facts
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE space = %(space)s AND (%(subject)s::text IS NULL OR subject = %(subject)s)
  AND (valid_from IS NULL OR valid_from < %(until)s::bigint) AND (valid_to IS NULL OR valid_to >= %(since)s::bigint)
ORDER BY least(coalesce(valid_to, %(until)s::bigint), %(until)s::bigint)
  - greatest(coalesce(valid_from, %(since)s::bigint), %(since)s::bigint) DESC, id LIMIT %(limit)s;

-- name: fact_subjects
SELECT DISTINCT subject FROM facts WHERE space = $1 ORDER BY subject;

-- name: facts_of_homes
SELECT id, subject, relation, object, conflicts, body FROM facts
WHERE space = $1 AND number IN (
  SELECT number FROM facts WHERE space = $1 AND subject = ANY($2::text[])
  UNION SELECT number FROM facts WHERE space = $1 AND object = ANY($3::text[])
    AND object_hash IN (SELECT hashtextextended(o, 0) FROM unnest($3::text[]) AS o)
) AND ($4::text IS NULL OR relation = $4) AND ($5::bigint IS NULL OR (valid_to IS NULL)::int = $5)
  AND ($6::bigint IS NULL OR conflicts = $6)
  AND ($7::bigint IS NULL OR ((valid_from IS NULL OR valid_from <= $7) AND (valid_to IS NULL OR valid_to > $7
    OR valid_from = valid_to AND valid_from = $7)))
ORDER BY subject, relation, valid_from NULLS FIRST, object, id LIMIT $8 OFFSET $9;

-- name: conflicting_facts
SELECT id, subject, relation, object, conflicts, body FROM facts WHERE space = $1 AND conflicts = 1
ORDER BY subject, relation, valid_from NULLS FIRST, object, id LIMIT $2 OFFSET $3;

-- name: facts_by_id
SELECT id, subject, relation, object, conflicts, body FROM facts WHERE space = $1 AND id = ANY($2::text[]);

-- name: fact_keys
SELECT DISTINCT subject, relation, CASE single WHEN 1 THEN NULL ELSE object END FROM facts
WHERE space = $1 AND number IN (SELECT fact FROM fact_claims WHERE space = $1 AND claim = ANY($2::bigint[]));

-- name: fact_rows
SELECT id, body FROM facts
WHERE space = $1 AND subject = $2 AND relation = $3 AND ($4::text IS NULL OR object = $4);

-- name: put_fact
INSERT INTO facts (space, id, subject, relation, object, single, conflicts, valid_from, valid_to, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING number;

-- name: put_fact_claim
INSERT INTO fact_claims (fact, claim) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: drop_fact_claims
DELETE FROM fact_claims WHERE space = $1 AND fact IN (
  SELECT number FROM facts WHERE space = $1 AND id = ANY($2::text[])
);

-- name: drop_facts
DELETE FROM facts WHERE space = $1 AND id = ANY($2::text[]);

-- Summaries

-- name: summaries
SELECT session, events, pending, body FROM session_summaries WHERE space = $1 ORDER BY session;

-- name: summaries_of
SELECT session, events, pending, body FROM session_summaries WHERE space = $1 AND session = ANY($2::text[])
  AND session_hash IN (SELECT hashtextextended(s, 0) FROM unnest($2::text[]) AS s) ORDER BY session;

-- name: put_summary
INSERT INTO session_summaries (space, session, events, pending, body) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (space, session_hash) DO UPDATE SET events = excluded.events, pending = excluded.pending,
  body = excluded.body;

-- name: count_pending
INSERT INTO session_summaries (space, session, events, pending, body) VALUES ($1, $2, 0, $3, '')
ON CONFLICT (space, session_hash) DO UPDATE SET pending = session_summaries.pending + excluded.pending
RETURNING session, events, pending, body;

-- name: drop_summaries
DELETE FROM session_summaries WHERE space = $1 AND session = ANY($2::text[])
  AND session_hash IN (SELECT hashtextextended(s, 0) FROM unnest($2::text[]) AS s);

-- By hand

-- name: edits
SELECT number, at, kind, undone, (
  SELECT coalesce(json_object_agg(name, target ORDER BY name), '{}')::text FROM entity_pins
  WHERE entity_pins.space = entity_edits.space AND edit = entity_edits.number
) FROM entity_edits WHERE space = $1 ORDER BY number;

-- name: put_edit
INSERT INTO entity_edits (space, at, kind) VALUES ($1, $2, $3) RETURNING number;

-- name: put_pin
INSERT INTO entity_pins (edit, name, target) VALUES ($1, $2, $3);

-- name: undo_edit
UPDATE entity_edits SET undone = 1 WHERE space = $1 AND number = $2 AND undone = 0;

-- name: drop_loose_pins
DELETE FROM entity_pins WHERE space = $1 AND edit IN (SELECT number FROM entity_edits WHERE space = $1)
  AND name NOT IN (SELECT id FROM names WHERE space = $1);

-- name: drop_empty_edits
DELETE FROM entity_edits WHERE space = $1 AND NOT EXISTS (
  SELECT 1 FROM entity_pins WHERE entity_pins.space = $1 AND edit = entity_edits.number
);

-- All of it

-- name: drop_all_fact_claims
DELETE FROM fact_claims WHERE space = $1;

-- name: drop_all_facts
DELETE FROM facts WHERE space = $1;

-- name: drop_claims_from
DELETE FROM claims WHERE space = $1 AND seq >= $2;

-- name: drop_mentions_from
DELETE FROM mentions WHERE space = $1 AND seq >= $2;

-- name: drop_all_names
DELETE FROM names WHERE space = $1;

-- name: drop_all_summaries
DELETE FROM session_summaries WHERE space = $1;

-- name: count_names
SELECT count(*) FROM names WHERE space = $1;

-- name: count_entities
SELECT count(DISTINCT home) FROM names WHERE space = $1;

-- name: count_mentions
SELECT count(*) FROM mentions WHERE space = $1;

-- name: count_claims
SELECT count(*) FROM claims WHERE space = $1;

-- name: count_facts
SELECT count(*) FROM facts WHERE space = $1;

-- name: count_open_facts
SELECT count(*) FROM facts WHERE space = $1 AND valid_to IS NULL;

-- name: count_conflicts
SELECT count(*) FROM facts WHERE space = $1 AND conflicts = 1;

-- name: count_summaries
SELECT count(*) FROM session_summaries WHERE space = $1;

-- For verify, from here on: what points to something that is not there.
-- name: lost_mentions
SELECT count(*) FROM mentions WHERE space = $1 AND (
  seq NOT IN (SELECT seq FROM events WHERE space = $1) OR name NOT IN (SELECT number FROM names WHERE space = $1)
);

-- name: unnamed_names
SELECT count(*) FROM names WHERE space = $1 AND NOT EXISTS (
  SELECT 1 FROM mentions WHERE mentions.space = $1 AND mentions.name = names.number AND start != -2
);

-- name: homeless_names
SELECT count(*) FROM names WHERE space = $1 AND home NOT IN (SELECT id FROM names WHERE space = $1);

-- name: lost_claims
SELECT count(*) FROM claims WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1);

-- A claim without an object ends whatever holds, and is in no fact where nothing did.
-- Claims that a person took back are in no fact, nor is what says so.
-- Only what people say: a claim of a less trusted source may be in no fact, since a person says otherwise.
-- name: loose_claims
SELECT count(*) FROM claims WHERE space = $1 AND number NOT IN (SELECT claim FROM fact_claims WHERE space = $1)
  AND coalesce((SELECT home FROM names WHERE space = $1 AND id = subject), subject)
    != coalesce((SELECT home FROM names WHERE space = $1 AND id = object), object)
  AND object != '' AND NOT EXISTS (
    SELECT 1 FROM claims AS void WHERE void.space = $1 AND void.subject = claims.subject
      AND void.relation = claims.relation AND void.body LIKE '%"voids":%'
  )
  AND EXISTS (
    SELECT 1 FROM events WHERE events.space = $1 AND events.seq = claims.seq AND events.source = 'user');

-- name: baseless_facts
SELECT count(*) FROM facts WHERE space = $1 AND NOT EXISTS (
  SELECT 1 FROM fact_claims JOIN claims ON claims.space = $1 AND claims.number = fact_claims.claim
  WHERE fact_claims.space = $1 AND fact = facts.number
);

-- name: lost_summaries
SELECT count(*) FROM session_summaries WHERE space = $1 AND NOT EXISTS (
  SELECT 1 FROM events WHERE events.space = $1 AND events.session_hash = session_summaries.session_hash
    AND events.session = session_summaries.session
);
