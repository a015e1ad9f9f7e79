-- How much was said over time

-- name: extent
SELECT count(*), min(at), max(at) FROM events WHERE space = %(space)s {where};

-- name: counted
SELECT (at - %(begin)s::bigint) / %(width)s::bigint, count(*) FROM events
WHERE space = %(space)s AND at >= %(begin)s::bigint {where} GROUP BY 1;

-- name: speakers
SELECT DISTINCT speaker FROM events WHERE space = %(space)s AND speaker IS NOT NULL {where}
ORDER BY speaker LIMIT %(limit)s;
