-- Postings, models and vectors.

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
UPDATE spaces SET words_upto = $1, word_tail = $2 WHERE {postgres: space}{sqlite: id} = $3;

-- name: insert_postings
INSERT INTO postings (space, generation, term, first, chunk) VALUES ($1, $2, $3, $4, $5);

-- The terms of a question at once.
-- name: postings_of_terms
SELECT term, first, chunk FROM postings
WHERE space = $1 AND generation = $2 AND term = ANY($3::bigint[]) ORDER BY term, first;

-- name: chunks_of_terms
SELECT term, first FROM postings WHERE space = $1 AND generation = $2 AND term = ANY($3::bigint[]) ORDER BY term, first;

-- Also those of one term that begin where a chunk of another does.
-- name: postings_by_key
SELECT term, first, chunk FROM postings
WHERE space = $1 AND generation = $2 AND term = ANY($3::bigint[]) AND first = ANY($4::bigint[]);

-- How much there is to read of each; lengths are told without reading what is so long.
-- name: sizes_of_terms
SELECT term, sum(octet_length(chunk))::bigint FROM postings
WHERE space = $1 AND generation = $2 AND term = ANY($3::bigint[]) GROUP BY term;

-- The oldest and newest generation: forgetting must reach also one that is still being built.
-- name: generations
SELECT min(generation), max(generation) FROM postings WHERE space = $1;

-- name: delete_chunk
DELETE FROM postings WHERE space = $1 AND generation = $2 AND term = $3 AND first = $4;

-- name: all_postings
SELECT term, first, chunk FROM postings WHERE space = $1 AND generation = $2;

-- name: take_generation
UPDATE spaces SET next_generation = next_generation + 1 WHERE {postgres: space}{sqlite: id} = $1
  RETURNING next_generation - 1;

-- name: adopt_generation
UPDATE spaces SET generation = $1, words_upto = $2, word_tail = $3, words = $4, analysis = $6,
  events = (SELECT count(*) FROM events WHERE space = $5 AND record IS NULL) WHERE {postgres: space}{sqlite: id} = $5;

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
SELECT unit, start, stop, windows, tokens FROM vectors WHERE unit = ANY($2::bigint[]) AND space = $1 ORDER BY unit;

-- name: windows_of_units
SELECT unit, windows FROM vectors WHERE unit = ANY($1::bigint[]) AND space = $2;

-- name: count_vectors
SELECT count(*) FROM vectors WHERE unit BETWEEN $1 AND $2 AND space = $3;

-- name: units_between
SELECT unit FROM vectors WHERE unit BETWEEN $1 AND $2 AND space = $3 ORDER BY unit;

-- name: delete_units
DELETE FROM vectors WHERE unit = ANY($1::bigint[]) AND space = $2;

-- In the tail, and in blocks.
-- name: last_positions
SELECT coalesce((SELECT max(position) FROM pooled_tail WHERE space = $1 AND model = $2), 0),
       coalesce((SELECT max(last_position) FROM pooled_blocks WHERE space = $1 AND model = $2), 0);

-- name: insert_pooled
INSERT INTO pooled_tail (space, model, position, unit, pooled) VALUES ($1, $2, $3, $4, $5);

-- name: pooled_tail_after
SELECT position, unit, pooled FROM pooled_tail WHERE space = $1 AND model = $2 AND position > $3 ORDER BY position;

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

-- Blocks, and after them the vectors of the tail, each alone.
-- name: pooled_after
SELECT last_position AS position, positions, units, NULL::bigint AS unit, pooled FROM pooled_blocks
WHERE space = $1 AND model = $2 AND last_position > $3
UNION ALL SELECT position, NULL, NULL, unit, pooled FROM pooled_tail
WHERE space = $1 AND model = $2 AND position > $3 ORDER BY position;

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

-- name: events_without_vectors
SELECT id, seq, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source FROM events
WHERE space = $1 AND seq > $2 AND record IS NULL
  AND NOT EXISTS (SELECT 1 FROM vectors
    WHERE {postgres: vectors.space = $1 AND} unit = ($3::bigint | (events.seq << 10)))
ORDER BY seq LIMIT $4;

-- name: queue_events_without_vectors
INSERT INTO jobs (space, kind, seq)
SELECT space, $1, seq FROM events WHERE record IS NULL AND NOT EXISTS (
  SELECT 1 FROM vectors WHERE {postgres: vectors.space = events.space AND} unit = ($2::bigint | (events.seq << 10))
) ON CONFLICT DO NOTHING;
