-- What an LLM wrote of many events: session summaries and plans.

-- name: written_of
SELECT session, events, extractor, refused, body FROM written_sessions WHERE space = $1 AND session = ANY($2::text[])
  {postgres: AND session_hash IN (SELECT hashtextextended(s, 0) FROM unnest($2::text[]) AS s)} ORDER BY session;

-- name: drop_written
DELETE FROM written_sessions WHERE space = $1 AND session = ANY($2::text[])
  {postgres: AND session_hash IN (SELECT hashtextextended(s, 0) FROM unnest($2::text[]) AS s)};

-- How many events a session has, and the first of them to arrive.
-- name: session_reach
SELECT count(*), min(seq) FROM events WHERE space = $1
  AND {postgres: session_hash = hashtextextended($2, 0) AND} session = $2;

-- name: plans_at
SELECT seq, place, extractor, refused, body FROM fold_plans WHERE space = $1 AND seq = ANY($2::bigint[])
ORDER BY seq, place;

-- name: next_plan_place
SELECT coalesce(max(place) + 1, 0) FROM fold_plans WHERE space = $1 AND seq = $2;

-- name: last_plan
SELECT coalesce(max(seq), 0) FROM fold_plans WHERE space = $1;

-- name: put_plan
INSERT INTO fold_plans (space, seq, place, extractor, refused, body) VALUES ($1, $2, $3, $4, $5, $6);

-- name: put_plan_source
INSERT INTO fold_plan_sources (space, source, seq, place) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING;

-- name: drop_plan
DELETE FROM fold_plans WHERE space = $1 AND seq = $2 AND place = $3;

-- name: drop_plan_sources
DELETE FROM fold_plan_sources WHERE space = $1 AND seq = $2 AND place = $3;

-- What was not let in of what an LLM answered: statements and facts, sentences of summaries, plans.
-- name: refusals
SELECT (SELECT count(*) FROM journal WHERE space = $1 AND action = 'reject')
  + (SELECT coalesce(sum(refused), 0) FROM written_sessions WHERE space = $1)::bigint
  + (SELECT count(*) FROM fold_plans WHERE space = $1 AND refused = 1);

