-- Queries of attention: marks of events, and how often events were recalled.

-- name: insert_mark
INSERT OR IGNORE INTO marks (space, kind, seq, place, start, stop, body) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: marks_newest
SELECT marks.seq, start, stop, body FROM marks JOIN events ON events.seq = marks.seq
WHERE marks.space = :space AND marks.kind = :kind
  AND (:wing IS NULL OR events.wing = :wing) AND (:as_of IS NULL OR events.recorded_at <= :as_of)
ORDER BY marks.seq DESC, place LIMIT :limit;

-- name: marked_after
SELECT DISTINCT seq FROM marks WHERE space = ? AND seq > ? AND kind IN carray(?) ORDER BY seq LIMIT ?;

-- name: drop_all_marks
DELETE FROM marks WHERE space = ?;

-- name: delete_marks_of
DELETE FROM marks WHERE space = ? AND seq IN carray(?);

-- name: marked_upto
SELECT upto FROM marking WHERE space = ?;

-- name: owe_marking
INSERT INTO marking (space, upto) VALUES (?1, ?2) ON CONFLICT (space) DO UPDATE SET upto = ?2;

-- name: marking_done
DELETE FROM marking WHERE space = ?;

-- Of one kind, whatever became of it.
-- name: artifacts_newest
SELECT artifacts.number, artifacts.id, artifacts.seq, kind, status, replaces, artifacts.recorded_at, closed_at, valid_from,
       valid_to, body, events.id, events.text, events.at_offset FROM artifacts JOIN events ON events.seq = artifacts.seq
WHERE artifacts.space = ? AND kind = ? ORDER BY artifacts.number DESC LIMIT ?;

-- name: events_newest
SELECT seq FROM events WHERE space = :space AND (:wing IS NULL OR wing = :wing) AND +recorded_at <= :as_of AND record IS NULL
ORDER BY at DESC, seq DESC LIMIT :limit;

-- name: wing_counts
SELECT wing, count(*) FROM events
WHERE space = ?1 AND wing IS NOT NULL AND seq NOT IN (SELECT seq FROM events WHERE space = ?1 AND record IS NOT NULL)
GROUP BY wing;

-- name: wing_counts_then
SELECT wing, count(*) FROM events WHERE space = ? AND recorded_at <= ? AND record IS NULL GROUP BY wing;

-- An event that was forgotten since it was found is not counted.
-- name: count_access
INSERT INTO accesses (space, seq, count, last_at) SELECT space, seq, ?1, ?2 FROM events WHERE seq = ?3 AND +space = ?4
ON CONFLICT (space, seq) DO UPDATE SET count = count + excluded.count, last_at = max(last_at, excluded.last_at);

-- name: accesses_of
SELECT seq, count, last_at FROM accesses WHERE space = ? AND seq IN carray(?);

-- name: most_recalled
SELECT seq FROM accesses WHERE space = ? ORDER BY count DESC, seq DESC LIMIT ?;

-- name: delete_accesses_of
DELETE FROM accesses WHERE space = ? AND seq IN carray(?);

-- name: count_marks
SELECT count(*) FROM marks WHERE space = ?;

-- name: loose_marks
SELECT count(*) FROM marks WHERE space = ?1 AND seq NOT IN (SELECT seq FROM events WHERE space = ?1);

-- name: loose_accesses
SELECT count(*) FROM accesses WHERE space = ?1 AND seq NOT IN (SELECT seq FROM events WHERE space = ?1);
