-- What is newest, and how often events were recalled.

-- name: statements_newest
SELECT statements.number, statements.id, statements.seq, kind, status, replaces, statements.recorded_at, closed_at,
       valid_from, valid_to, body, events.id, events.text, events.at_offset
FROM statements JOIN events ON {postgres: events.space = statements.space AND} events.seq = statements.seq
WHERE statements.space = $1 AND kind = $2 AND ($4::text IS NULL OR events.wing = $4)
ORDER BY statements.number DESC LIMIT $3;

-- name: wing_counts_then
SELECT wing, count(*) FROM events WHERE space = $1 AND recorded_at <= $2 AND record IS NULL GROUP BY wing;

-- An event that was forgotten since it was found is not counted.
-- name: count_access
INSERT INTO accesses (space, seq, count, last_at)
SELECT $1, seq, (value ->> 1)::bigint, (value ->> 2)::bigint
FROM {postgres: json_array_elements($2::json)}{sqlite: json_each($2)} AS found
{sqlite: CROSS }JOIN events ON events.space = $1 AND events.seq = (value ->> 0)::bigint WHERE TRUE
ON CONFLICT (space, seq) DO UPDATE SET count = {postgres: accesses.}count + excluded.count,
  last_at = greatest({postgres: accesses.}last_at, excluded.last_at);

-- name: accesses_of
SELECT seq, count, last_at FROM accesses WHERE space = $1 AND seq = ANY($2::bigint[]);

-- name: most_recalled
SELECT seq FROM accesses WHERE space = $1 ORDER BY count DESC, seq DESC LIMIT $2;

-- name: delete_accesses_of
DELETE FROM accesses WHERE space = $1 AND seq = ANY($2::bigint[]);

