-- Queries that only PostgreSQL has, or that it needs in another form than SQLite. Values by place are $1, $2;
-- those of filters have names.

-- Spaces

-- One space's counters, nulls where there is none; with the models and facts of the store, and how far the views of the
-- space are. Says at the same time whose rows the transaction is about from here on.
-- name: space_by_name
SELECT space, name, events, words, generation, words_upto, word_tail, epoch, last_seq, analysis,
       set_config('everyword.space', $1::bigint::text, true),
       (SELECT json_agg(json_build_array(id, models.name, version, dims, token_dims, models.state, near_spaces.state)
                        ORDER BY id)
        FROM models LEFT JOIN near_spaces ON model = id AND near_spaces.space = $1),
       ARRAY(SELECT ARRAY[facts_of_file.name, value] FROM facts_of_file),
       (SELECT json_agg(json_build_array(views.name, upto, views.version)) FROM views WHERE views.space = $1)
FROM (SELECT 1) AS one LEFT JOIN spaces ON space = $1;

-- name: add_space
INSERT INTO spaces (space, name, analysis) VALUES ($1, $2, $3)
RETURNING space, name, events, words, generation, words_upto, word_tail, epoch, last_seq, analysis,
          set_config('everyword.space', space::text, true);

-- The highest seq that was ever given, also to an event that is gone.
-- name: last_seq
SELECT last_value FROM event_seq WHERE is_called;

-- name: add_turn
INSERT INTO turns (space) VALUES ($1);

-- name: go_to_space
SELECT set_config('everyword.space', $1, true);

-- Writers of a space take turns, in the order in which they came. All of them keep out who changes the active model.
-- Gives what the server calls this transaction.
-- name: take_turn
SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock($2), pg_current_xact_id()::text;

-- name: keep_writers_out
SELECT pg_advisory_xact_lock($1);

-- New events with their terms, vectors and jobs, and the counts that they change. Time as the memory learns it never
-- runs backwards, also when a machine's clock does. Positions of vectors go on after those in the tail and in blocks.
-- name: append_events
WITH given AS MATERIALIZED (
  SELECT nextval('event_seq') AS seq, least(one.recorded_at, clock.now) AS learned, one.*
  FROM (
    SELECT greatest($2::bigint, (SELECT max(recorded_at) FROM events WHERE space = $1)) AS now
  ) AS clock CROSS JOIN unnest(
    $3::bytea[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[], $11::bigint[],
    $12::bigint[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[], $18::bytea[]
  ) WITH ORDINALITY AS one (
    id, content, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source, length, terms,
    place
  )
), added AS (
  INSERT INTO events (seq, space, id, content, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text,
    record, source)
  SELECT seq, $1, id, content, key, wing, session, speaker, role, at, at_offset, learned, meta, text, record, source
  FROM given
), labelled AS (
  INSERT INTO event_meta (space, seq, name, value, number) SELECT $1, seq, label.name, label.value, label.number
  FROM unnest($29::bigint[], $30::text[], $31::text[], $32::float8[]) AS label (place, name, value, number)
    JOIN given USING (place)
), worded AS (
  INSERT INTO word_tail (space, seq, length, terms) SELECT $1, seq, length, terms FROM given WHERE record IS NULL
), counted AS (
  UPDATE spaces SET events = events + said.more, words = words + said.terms, word_tail = word_tail + said.more,
    last_seq = said.last
  FROM (
    SELECT count(*) FILTER (WHERE record IS NULL) AS more, max(seq) AS last,
           coalesce(sum(length) FILTER (WHERE record IS NULL), 0) AS terms FROM given
  ) AS said WHERE space = $1
), last AS MATERIALIZED (
  SELECT coalesce((SELECT max(position) FROM pooled_tail WHERE space = $1 AND model = $19), 0) AS in_tail,
         coalesce((SELECT max(last_position) FROM pooled_blocks WHERE space = $1 AND model = $19), 0) AS in_blocks
), encoded AS MATERIALIZED (
  SELECT (($19::bigint << 52) | (given.seq << 10) | part.number) AS unit, start, stop, windows, tokens, pooled,
         row_number() OVER (ORDER BY given.seq, part.number) AS place
  FROM unnest($20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[], $25::bytea[], $26::bytea[])
    AS part (place, number, start, stop, windows, tokens, pooled) JOIN given USING (place)
), kept AS (
  INSERT INTO vectors (space, unit, start, stop, windows, tokens)
  SELECT $1, unit, start, stop, windows, tokens FROM encoded
), pooled AS (
  INSERT INTO pooled_tail (space, model, position, unit, pooled)
  SELECT $1, $19, greatest(in_tail, in_blocks) + place, unit, pooled FROM encoded CROSS JOIN last
), owed AS (
  INSERT INTO jobs (space, kind, seq) SELECT $1, $27, seq FROM given
  WHERE record IS NULL AND place = ANY($28::bigint[]) ON CONFLICT DO NOTHING
)
SELECT seq, learned, greatest(in_tail, in_blocks) - in_blocks FROM given CROSS JOIN last ORDER BY place;

-- The runs around several events at once: a row for each turn, beside the event that it stands near.
-- name: runs_around
SELECT here.seq, near.at, near.seq FROM events AS here CROSS JOIN LATERAL (
  (SELECT at, seq FROM events WHERE space = $1 AND session_hash = here.session_hash AND session = here.session
     AND (at, seq) < (here.at, here.seq) ORDER BY at DESC, seq DESC LIMIT $3)
  UNION ALL
  (SELECT at, seq FROM events WHERE space = $1 AND session_hash = here.session_hash AND session = here.session
     AND (at, seq) > (here.at, here.seq) ORDER BY at, seq LIMIT $3)
) AS near
WHERE here.space = $1 AND here.seq = ANY($2::bigint[]) AND here.session IS NOT NULL ORDER BY 1, 2, 3;

-- name: matching_seqs
SELECT string_agg(seq::text, ',') FROM events WHERE space = %(space)s AND record IS NULL {where};

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

-- name: tally_events
SELECT count(DISTINCT session), count(DISTINCT speaker), count(DISTINCT wing), min(at), max(at) FROM events
WHERE space = $1 AND record IS NULL;

-- name: count_events
SELECT count(*) FROM events WHERE space = $1 AND record IS NULL;

-- name: drop_older_generations
DELETE FROM postings WHERE space = $1 AND (generation, term, first) IN (
  SELECT generation, term, first FROM postings
  WHERE space = $1 AND generation < (SELECT generation FROM spaces WHERE space = $1) LIMIT $2
);

-- Space by space, so that each is found by the key.
-- name: delete_some_vectors
DELETE FROM vectors USING (
  SELECT spaces.space, several.unit FROM spaces CROSS JOIN LATERAL (
    SELECT unit FROM vectors WHERE vectors.space = spaces.space AND unit BETWEEN $1 AND $2 LIMIT $3
  ) AS several LIMIT $3
) AS doomed WHERE vectors.space = doomed.space AND vectors.unit = doomed.unit;

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

-- name: drop_near_space
DELETE FROM near_spaces WHERE space = $1 AND model = $2;

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

-- name: jobs
SELECT jobs.id, spaces.name, kind, seq, attempts, due_at, error FROM jobs JOIN spaces ON spaces.space = jobs.space
WHERE ($1::text IS NULL OR kind = $1) AND ($2::bigint IS NULL OR due_at <= $2)
  AND current_setting('everyword.space', true) IN ('*', jobs.space::text)
ORDER BY jobs.id LIMIT $3;

-- A space that owes work and that no other worker holds, the longest waiting first. What is behind the log goes before.
-- name: take_owed_space
SELECT spaces.name FROM (
  SELECT space, min(id) AS waiting FROM jobs WHERE due_at <= $1 GROUP BY space
  UNION ALL SELECT space, 0 FROM spaces WHERE analysis < $5 OR EXISTS ( -- a view that is behind, or has not begun
    SELECT 1 FROM unnest($3::text[], $4::bigint[]) AS known (name, version) LEFT JOIN views
      ON views.space = spaces.space AND views.name = known.name AND views.version = known.version
    WHERE coalesce(views.upto, 0) < spaces.last_seq)
  UNION ALL SELECT space, 0 FROM near_spaces WHERE state != 'ready'
) AS owed JOIN turns ON turns.space = owed.space JOIN spaces ON spaces.space = owed.space
WHERE turns.space != ALL($2::bigint[]) ORDER BY waiting LIMIT 1 FOR UPDATE OF turns SKIP LOCKED;

-- name: statements_by_filter
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM statements JOIN events ON events.space = statements.space AND events.seq = statements.seq
WHERE statements.space = %(space)s AND statements.number > %(after)s
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(about)s::text IS NULL OR (about_hash = hashtextextended(%(about)s, 0) AND about = %(about)s))
  AND (%(wing)s::text IS NULL OR events.wing = %(wing)s)
  AND (%(as_of)s::bigint IS NULL OR statements.recorded_at <= %(as_of)s)
  AND (%(status)s::text IS NULL OR CASE WHEN %(as_of)s::bigint < closed_at THEN 'current' ELSE status END = %(status)s)
  AND (%(tag)s::text IS NULL OR EXISTS (
    SELECT 1 FROM json_array_elements_text(any_json(body) -> 'tags') AS tags (tag) WHERE tag = %(tag)s))
ORDER BY statements.number LIMIT %(limit)s;

-- name: statements_by_filter_newest
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM statements JOIN events ON events.space = statements.space AND events.seq = statements.seq
WHERE statements.space = %(space)s AND (%(after)s = 0 OR statements.number < %(after)s)
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(about)s::text IS NULL OR (about_hash = hashtextextended(%(about)s, 0) AND about = %(about)s))
  AND (%(wing)s::text IS NULL OR events.wing = %(wing)s)
  AND (%(as_of)s::bigint IS NULL OR statements.recorded_at <= %(as_of)s)
  AND (%(status)s::text IS NULL OR CASE WHEN %(as_of)s::bigint < closed_at THEN 'current' ELSE status END = %(status)s)
  AND (%(tag)s::text IS NULL OR EXISTS (
    SELECT 1 FROM json_array_elements_text(any_json(body) -> 'tags') AS tags (tag) WHERE tag = %(tag)s))
ORDER BY statements.number DESC LIMIT %(limit)s;

-- As JSON, which adapt.py reads.
-- name: statement_texts
SELECT seq, (any_json(body) -> 'content')::text, status = 'current' FROM statements
WHERE space = $1 AND seq = ANY($2::bigint[]) ORDER BY number;

-- name: seqs_stating
SELECT seq FROM statements WHERE space = $1 AND about = ANY($2::text[])
  AND about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a)
UNION SELECT journal.seq FROM journal JOIN statements ON statements.space = $1 AND statements.id = journal.target
WHERE journal.space = $1 AND statements.about = ANY($2::text[])
  AND statements.about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a) ORDER BY 1;

-- Statements go with their keys.
-- name: drop_statements_about
WITH gone AS (
  DELETE FROM statement_keys WHERE space = $1 AND number IN (
    SELECT number FROM statements WHERE space = $1 AND about = ANY($2::text[])
      AND about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a))
)
DELETE FROM statements WHERE space = $1 AND about = ANY($2::text[])
  AND about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a);

-- name: drop_changes_about
DELETE FROM journal WHERE space = $1 AND number IN (
  SELECT journal.number FROM journal JOIN statements ON statements.space = $1
    AND statements.id IN (journal.statement, journal.target)
  WHERE journal.space = $1 AND statements.about = ANY($2::text[])
    AND statements.about_hash IN (SELECT hashtextextended(a, 0) FROM unnest($2::text[]) AS a)
);

-- name: delete_changes_of
DELETE FROM journal WHERE space = $1 AND (
  seq = ANY($2::bigint[])
  OR statement = ANY(ARRAY(SELECT id FROM statements WHERE space = $1 AND seq = ANY($2::bigint[])))
  OR target = ANY(ARRAY(SELECT id FROM statements WHERE space = $1 AND seq = ANY($2::bigint[])))
);

-- name: delete_statements_of
WITH gone AS (
  DELETE FROM statement_keys WHERE space = $1 AND number IN (
    SELECT number FROM statements WHERE space = $1 AND seq = ANY($2::bigint[]))
)
DELETE FROM statements WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: said_earlier
SELECT earlier.seq FROM events AS here JOIN events AS earlier
  ON earlier.space = $1 AND earlier.session_hash = here.session_hash AND earlier.session = here.session
  AND (earlier.at, earlier.seq) < (here.at, here.seq) AND earlier.seq < here.seq
WHERE here.space = $1 AND here.seq = $2 ORDER BY earlier.at DESC, earlier.seq DESC LIMIT $3;

-- What another transaction is just taking is left to it.
-- name: take_jobs
WITH due AS (
  SELECT jobs.space, jobs.id, spaces.name FROM jobs JOIN spaces ON spaces.space = jobs.space
  WHERE kind = $2 AND due_at <= $3 AND current_setting('everyword.space', true) IN ('*', jobs.space::text)
  ORDER BY jobs.id LIMIT $4 FOR UPDATE OF jobs SKIP LOCKED
), taken AS (
  UPDATE jobs SET due_at = $1 FROM due WHERE jobs.space = due.space AND jobs.id = due.id
  RETURNING jobs.id, due.name, jobs.kind, jobs.seq, jobs.attempts, jobs.due_at, jobs.error
) SELECT id, name, kind, seq, attempts, due_at, error FROM taken ORDER BY id;

-- name: names_known
SELECT (array_agg((any_json(body) -> 'about')::text ORDER BY seq, number))[1], min(seq) FROM statements
WHERE space = $1 AND about != ''
GROUP BY about ORDER BY count(*) DESC, about LIMIT $2;

-- name: clear_file_hashes
UPDATE imports SET hash = ''::bytea WHERE space = $1 AND hash != ''::bytea;

-- name: bytes_by_part
SELECT coalesce(inhparent, c.oid)::regclass::text AS part, sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class c LEFT JOIN pg_inherits ON inhrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY 1;

-- name: count_pages
SELECT coalesce(sum(pg_relation_size(oid)), 0)::bigint / current_setting('block_size')::bigint FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i', 't');

-- Of what can be seen: a sequence is ahead of what is just being written, which a follower would miss.
-- name: last_number
SELECT CASE %(table)s WHEN 'events' THEN (SELECT max(seq) FROM events WHERE space = %(space)s)
  WHEN 'statements' THEN (SELECT max(number) FROM statements WHERE space = %(space)s)
  WHEN 'fold_journal' THEN (SELECT max(number) FROM fold_journal WHERE space = %(space)s)
  WHEN 'jobs' THEN (SELECT max(id) FROM jobs WHERE space = %(space)s)
  WHEN 'receipts' THEN (SELECT max(id) FROM receipts WHERE space = %(space)s) END;

-- name: jobs_of_space
SELECT id, kind, seq, attempts, due_at, error FROM jobs WHERE space = $1 AND id > $2
  AND ($4::text IS NULL OR kind = $4) ORDER BY id LIMIT $3;

-- name: jobs_by_kind
SELECT kind, count(*), count(*) FILTER (WHERE attempts > 0) FROM jobs WHERE space = $1 GROUP BY kind ORDER BY kind;

-- Which transactions are done. Sequences move before what they numbered can be seen, and would be looked at too early.
-- name: pulse
SELECT pg_current_snapshot()::text;

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
AND (any_json(meta) -> (any_json(substr(%(path_0)s, 3)) #>> '{}'))::text = any_json(%(value_0)s)::text;

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

-- name: set_graph
INSERT INTO graphs (space, version, epoch) VALUES ($1, 1, $2)
ON CONFLICT (space) DO UPDATE SET version = graphs.version + 1, epoch = graphs.epoch + excluded.epoch
RETURNING version;

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

-- name: named_in_sessions
SELECT events.session, names.home, count(*) FROM events
JOIN mentions ON mentions.space = events.space AND mentions.seq = events.seq AND mentions.start >= 0
JOIN names ON names.space = mentions.space AND names.number = mentions.name
WHERE events.space = $1 AND events.session = ANY($2::text[])
  AND events.session_hash IN (SELECT hashtextextended(s, 0) FROM unnest($2::text[]) AS s)
GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2;

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
) ORDER BY claims.number;

-- name: fact_keys
SELECT DISTINCT subject, relation, CASE single WHEN 1 THEN NULL ELSE object END FROM facts
WHERE space = $1 AND number IN (SELECT fact FROM fact_claims WHERE space = $1 AND claim = ANY($2::bigint[]));

-- By hand
-- name: edits
SELECT number, at, kind, undone, (
  SELECT coalesce(json_object_agg(name, target ORDER BY name), '{}')::text FROM entity_pins
  WHERE entity_pins.space = entity_edits.space AND edit = entity_edits.number
) FROM entity_edits WHERE space = $1 ORDER BY number;

-- All of it
-- name: drop_all_fact_claims
DELETE FROM fact_claims WHERE space = $1;

-- Concepts

-- Each as it was worded at a time, with what its events at that time come to.
-- name: concepts
SELECT node.number, node.id, node.body, (SELECT min(first.born_at) FROM fold_nodes first
                                         WHERE first.space = node.space AND first.id = node.id),
       count(*), min(edge.at), max(edge.at),
       coalesce(array_agg(DISTINCT event.wing) FILTER (WHERE event.wing IS NOT NULL), '{}'),
       node.closed_at, node.merged_into
FROM fold_nodes node
JOIN fold_edges edge ON edge.space = node.space AND edge.target = node.id AND edge.kind IN ('grounds', 'reinforces')
 AND (edge.closed_at IS NULL OR edge.closed_at > %(as_of)s) AND edge.born_at <= %(as_of)s
JOIN events event ON event.space = edge.space AND event.seq = edge.seq
WHERE node.space = %(space)s AND node.number > %(after)s AND node.label_key <> '' AND node.born_at <= %(as_of)s
  AND (node.closed_at IS NULL OR node.closed_at > %(as_of)s)
  AND (%(wing)s::text IS NULL OR event.wing = %(wing)s)
GROUP BY node.space, node.number ORDER BY node.number LIMIT %(limit)s;

-- The same of the present and of all wings, the strongest and freshest: closed edges need not be gone through, and only
-- the bodies of these are read.
-- name: strongest_concepts
SELECT node.number, node.id, node.body, (SELECT min(first.born_at) FROM fold_nodes first
                                         WHERE first.space = node.space AND first.id = node.id),
       few.events, few.first_at, few.last_at, '[]', NULL::bigint, NULL::text
FROM (SELECT target, count(*) AS events, min(at) AS first_at, max(at) AS last_at
      FROM fold_edges
      WHERE space = %(space)s AND closed IS NULL AND kind IN ('grounds', 'reinforces')
        AND target IN (SELECT other.id FROM fold_nodes other WHERE other.space = %(space)s AND other.closed IS NULL AND other.label_key <> '')
      GROUP BY target
      ORDER BY least(greatest(count(*), %(weakest)s), %(strongest)s) DESC, max(at) DESC, target COLLATE "C"
      LIMIT %(limit)s) few
JOIN fold_nodes node ON node.space = %(space)s AND node.id = few.target AND node.closed IS NULL
ORDER BY least(greatest(few.events, %(weakest)s), %(strongest)s) DESC, few.last_at DESC, node.id COLLATE "C";

-- name: concepts_by_id
SELECT node.number, node.id, node.body, (SELECT min(first.born_at) FROM fold_nodes first
                                         WHERE first.space = node.space AND first.id = node.id),
       count(edge.number), min(edge.at), max(edge.at),
       coalesce(array_agg(DISTINCT event.wing) FILTER (WHERE event.wing IS NOT NULL), '{}'),
       node.closed_at, node.merged_into
FROM fold_nodes node
LEFT JOIN fold_edges edge ON edge.space = node.space AND edge.target = node.id
 AND edge.kind IN ('grounds', 'reinforces')
 AND (edge.closed_at IS NULL OR edge.closed_at > %(as_of)s) AND edge.born_at <= %(as_of)s
LEFT JOIN events event ON event.space = edge.space AND event.seq = edge.seq
WHERE node.space = %(space)s AND node.id = ANY(%(ids)s::text[]) AND node.number = (
  SELECT max(latest.number) FROM fold_nodes latest
  WHERE latest.space = node.space AND latest.id = node.id AND latest.born_at <= %(as_of)s)
  AND (%(wing)s::text IS NULL OR event.wing = %(wing)s)
GROUP BY node.space, node.number ORDER BY node.number;

-- name: put_written
INSERT INTO written_sessions (space, session, events, extractor, refused, body) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (space, session_hash) DO UPDATE SET events = excluded.events, extractor = excluded.extractor,
  refused = excluded.refused, body = excluded.body;

-- Work that is put off by each event that brings it again; what failed waits as long as it was told to.
-- name: owe_job
INSERT INTO jobs (space, kind, seq, due_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (space, kind, seq) DO UPDATE
SET due_at = CASE WHEN jobs.attempts > 0 THEN jobs.due_at ELSE excluded.due_at END;

-- name: plans_resting_on
SELECT DISTINCT seq, place FROM fold_plan_sources WHERE space = $1 AND source = ANY($2::bigint[]) ORDER BY seq, place;

-- The last event up to a number.
-- name: last_event_upto
SELECT max(seq) FROM events WHERE space = $1 AND seq <= $2;

-- One of the two halves is empty without being read: each has an index of its own.
-- name: events_newest
SELECT seq FROM (
  (SELECT at, seq FROM events WHERE space = %(space)s AND %(wing)s::text IS NULL AND recorded_at <= %(as_of)s
   AND record IS NULL ORDER BY at DESC, seq DESC LIMIT %(limit)s)
  UNION ALL
  (SELECT at, seq FROM events WHERE space = %(space)s AND wing_hash = hashtextextended(%(wing)s, 0) AND wing = %(wing)s
   AND recorded_at <= %(as_of)s AND record IS NULL ORDER BY at DESC, seq DESC LIMIT %(limit)s)
) AS newest ORDER BY at DESC, seq DESC;

-- name: wing_counts
SELECT wing, count(*) FROM events WHERE space = $1 AND wing IS NOT NULL AND record IS NULL GROUP BY wing;
