-- How much was said over time

-- name: extent
SELECT count(*), min(at), max(at) FROM events
WHERE space = :space AND seq NOT IN (SELECT seq FROM events WHERE space = :space AND record IS NOT NULL) {where};

-- name: counted
SELECT (at - :begin) / :width, count(*) FROM events
WHERE space = :space AND at >= :begin
  AND seq NOT IN (SELECT seq FROM events WHERE space = :space AND record IS NOT NULL) {where} GROUP BY 1;

-- Few names in many events: from each to the next, by the index.
-- name: speakers
WITH RECURSIVE one (name) AS (
  SELECT min(speaker) FROM events WHERE space = :space AND speaker IS NOT NULL
  UNION ALL
  SELECT (SELECT min(speaker) FROM events WHERE space = :space AND speaker > one.name) FROM one WHERE one.name IS NOT NULL
) SELECT name FROM one LIMIT :limit;

-- name: wings
WITH RECURSIVE one (name) AS (
  SELECT min(wing) FROM events WHERE space = :space AND wing IS NOT NULL AND record IS NULL
  UNION ALL
  SELECT (SELECT min(wing) FROM events WHERE space = :space AND wing > one.name AND record IS NULL) FROM one WHERE one.name IS NOT NULL
) SELECT name FROM one LIMIT :limit;

-- name: speakers_of_wing
SELECT DISTINCT speaker FROM events WHERE space = ? AND wing = ? AND speaker IS NOT NULL ORDER BY speaker LIMIT ?;
