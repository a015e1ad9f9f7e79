-- How much was said over time

-- name: extent
SELECT count(*), min(at), max(at) FROM events WHERE space = :space {where};

-- name: counted
SELECT (at - :begin) / :width, count(*) FROM events WHERE space = :space AND at >= :begin {where} GROUP BY 1;

-- name: speakers
SELECT DISTINCT speaker FROM events WHERE space = :space AND speaker IS NOT NULL {where} ORDER BY speaker LIMIT :limit;
