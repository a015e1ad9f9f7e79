-- What an LLM wrote of many events, by name.

-- name: written_of
SELECT session, events, extractor, refused, body FROM written_sessions
WHERE space = ? AND session IN carray(?) ORDER BY session;

-- name: put_written
INSERT INTO written_sessions (space, session, events, extractor, refused, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (space, session) DO UPDATE SET events = ?3, extractor = ?4, refused = ?5, body = ?6;

-- name: drop_written
DELETE FROM written_sessions WHERE space = ? AND session IN carray(?);

-- How many events a session has, and the first of them to arrive.
-- name: session_reach
SELECT count(*), min(seq) FROM events WHERE space = ? AND session = ?;

-- Work that is put off by each event that brings it again; what failed waits as long as it was told to.
-- name: owe_job
INSERT INTO jobs (space, kind, seq, due_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (kind, seq) DO UPDATE SET due_at = CASE WHEN attempts > 0 THEN due_at ELSE ?4 END;

-- name: plans_at
SELECT seq, place, extractor, refused, body FROM fold_plans WHERE space = ? AND seq IN carray(?) ORDER BY seq, place;

-- name: next_plan_place
SELECT coalesce(max(place) + 1, 0) FROM fold_plans WHERE space = ? AND seq = ?;

-- name: last_plan
SELECT coalesce(max(seq), 0) FROM fold_plans WHERE space = ?;

-- name: put_plan
INSERT INTO fold_plans (space, seq, place, extractor, refused, body) VALUES (?, ?, ?, ?, ?, ?);

-- name: put_plan_source
INSERT OR IGNORE INTO fold_plan_sources (space, source, seq, place) VALUES (?, ?, ?, ?);

-- name: plans_resting_on
SELECT seq, place FROM fold_plan_sources WHERE space = ? AND source IN carray(?) GROUP BY +seq, +place
ORDER BY 1, 2;

-- name: drop_plan
DELETE FROM fold_plans WHERE space = ? AND seq = ? AND place = ?;

-- name: drop_plan_sources
DELETE FROM fold_plan_sources WHERE space = ? AND seq = ? AND place = ?;

-- The last event up to a number.
-- name: last_event_upto
SELECT seq FROM events WHERE +space = ? AND seq <= ? ORDER BY seq DESC LIMIT 1;

-- What was not let in of what an LLM answered: statements and facts, sentences of summaries, plans.
-- name: refusals
SELECT (SELECT count(*) FROM journal WHERE space = ?1 AND action = 'reject')
  + (SELECT coalesce(sum(refused), 0) FROM written_sessions WHERE space = ?1)
  + (SELECT count(*) FROM fold_plans WHERE space = ?1 AND refused = 1);

-- name: count_written
SELECT count(*) FROM written_sessions WHERE space = ?;

-- name: count_plans
SELECT count(*) FROM fold_plans WHERE space = ?;

-- For verify, from here on: what points to something that is not there.
-- name: lost_written
SELECT count(*) FROM written_sessions WHERE space = ?1 AND NOT EXISTS (
  SELECT 1 FROM events WHERE events.space = ?1 AND events.session = written_sessions.session
);

-- name: lost_plans
SELECT count(*) FROM fold_plans WHERE space = ?1 AND seq NOT IN (SELECT seq FROM events WHERE space = ?1);

-- name: loose_plan_sources
SELECT count(*) FROM fold_plan_sources AS one WHERE space = ?1 AND (
  source NOT IN (SELECT seq FROM events WHERE space = ?1)
  OR NOT EXISTS (SELECT 1 FROM fold_plans WHERE space = ?1 AND seq = one.seq AND place = one.place)
);
