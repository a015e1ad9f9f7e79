-- The concept graph: nodes, edges, its journal, and what folding keeps to go on.

-- How far
-- name: fold_mark
SELECT epoch, profile FROM fold_marks WHERE space = $1;

-- name: set_fold_mark
INSERT INTO fold_marks (space, epoch, profile) VALUES ($1, $2, $3)
ON CONFLICT (space) DO UPDATE SET epoch = excluded.epoch, profile = excluded.profile;

-- name: count_jobs_of_kind
SELECT count(*) FROM jobs WHERE kind = $1 AND space = $2;

-- The first event whose vectors are still owed: folding waits for it, since order matters.
-- name: first_job
SELECT min(seq) FROM jobs WHERE kind = $1 AND {sqlite: +}space = $2;

-- name: concept_wings
SELECT DISTINCT edge.target, event.wing
FROM fold_edges edge {sqlite: INDEXED BY fold_edges_members}
  JOIN events event ON {postgres: event.space = edge.space AND} event.seq = edge.seq
WHERE edge.space = :space AND edge.target = ANY(:ids::text[]) AND edge.closed IS NULL
  AND edge.kind IN ('grounds', 'reinforces') AND event.wing IS NOT NULL;

-- Those that stand, as they are now, whatever the wing: no event is looked at.
-- name: standing_concepts
SELECT node.number, node.id, node.body, (SELECT min(first.born_at) FROM fold_nodes first
                                         WHERE first.space = node.space AND first.id = node.id),
       edge.events, edge.first_at, edge.last_at, '[]', NULL::bigint, NULL::text
FROM (SELECT target, count(*) AS events, min(at) AS first_at, max(at) AS last_at
      FROM fold_edges
      {sqlite: INDEXED BY fold_edges_members} WHERE space = :space AND target = ANY(:ids::text[]) AND closed IS NULL
        AND kind IN ('grounds', 'reinforces')
      GROUP BY target) edge
JOIN fold_nodes node {sqlite: INDEXED BY fold_nodes_id} ON node.space = :space AND node.id = edge.target
  AND node.closed IS NULL AND node.label_key <> ''
ORDER BY node.number;

-- name: room_counts
WITH held AS (SELECT edge.target, edge.seq
FROM fold_edges edge JOIN events event ON {postgres: event.space = edge.space AND} event.seq = edge.seq
JOIN fold_nodes node ON node.space = edge.space AND node.id = edge.target AND node.label_key <> ''
  AND node.born_at <= :as_of AND (node.closed_at IS NULL OR node.closed_at > :as_of)
WHERE edge.space = :space AND edge.kind IN ('grounds', 'reinforces') AND edge.born_at <= :as_of
  AND (edge.closed_at IS NULL OR edge.closed_at > :as_of)
  AND coalesce(event.wing, '') = coalesce(:wing::text, ''))
SELECT target, count(*) FROM held GROUP BY target UNION ALL SELECT NULL, count(DISTINCT seq) FROM held;

-- name: concept_of_label
SELECT id FROM fold_nodes {sqlite: INDEXED BY fold_nodes_label} WHERE space = $1
  {postgres: AND label_hash = hashtextextended($2, 0)} AND label_key = $2 AND closed IS NULL ORDER BY number LIMIT 1;

-- name: concept_body
SELECT body FROM fold_nodes WHERE space = $1 AND id = $2 ORDER BY number DESC LIMIT 1;

-- The entries of the journal by which concepts first had a label.
-- name: concepts_labelled_by
SELECT id, min(born_by) FROM fold_nodes {sqlite: INDEXED BY fold_nodes_id}
WHERE space = :space AND id = ANY(:ids::text[]) AND label_key <> '' GROUP BY id;

-- name: concept_stands
SELECT 1 FROM fold_nodes {sqlite: INDEXED BY fold_nodes_id} WHERE space = $1 AND id = $2 AND closed IS NULL;

-- name: count_concepts
SELECT count(*) FROM fold_nodes WHERE space = $1 AND closed IS NULL AND label_key <> '';

-- name: insert_fold_node
INSERT INTO fold_nodes (space, id, label_key, born, born_at, born_by, body) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: close_fold_node
UPDATE fold_nodes {sqlite: INDEXED BY fold_nodes_id} SET closed = $1, closed_at = $2, closed_by = $3, merged_into = $4
WHERE space = $5 AND id = $6 AND closed IS NULL;

-- Edges
-- name: fold_members
SELECT edge.target, edge.seq, event.id, edge.kind, edge.weight, edge.at,
       coalesce(edge.reason, (SELECT reason FROM fold_journal entry
         WHERE {postgres: entry.space = edge.space AND} entry.number = edge.born_by))
FROM fold_edges edge JOIN events event ON {postgres: event.space = edge.space AND} event.seq = edge.seq
WHERE edge.space = :space AND edge.target = ANY(:ids::text[]) AND edge.kind IN ('grounds', 'reinforces')
  AND edge.born_at <= :as_of AND (edge.closed_at IS NULL OR edge.closed_at > :as_of)
ORDER BY edge.number;

-- name: fold_members_by
SELECT edge.target, edge.seq, event.id, edge.kind, edge.weight, edge.at,
       coalesce(edge.reason, (SELECT reason FROM fold_journal entry
         WHERE {postgres: entry.space = edge.space AND} entry.number = edge.born_by))
FROM fold_edges edge JOIN events event ON {postgres: event.space = edge.space AND} event.seq = edge.seq
WHERE {sqlite: +}edge.space = $1 AND edge.born_by = $2 AND edge.kind IN ('grounds', 'reinforces')
  AND edge.closed IS NULL
ORDER BY edge.number;

-- name: fold_held
SELECT seq, target, weight FROM fold_edges
WHERE space = $1 AND seq = ANY($2::bigint[]) AND kind IN ('grounds', 'reinforces') AND closed IS NULL ORDER BY number;

-- name: fold_held_then
SELECT seq, target, weight FROM fold_edges
WHERE space = $1 AND seq = ANY($2::bigint[]) AND kind IN ('grounds', 'reinforces')
  AND born_at <= $3 AND (closed_at IS NULL OR closed_at > $3) ORDER BY number;

-- name: fold_recent
SELECT seq FROM fold_edges
{sqlite: INDEXED BY fold_edges_members} WHERE space = $1 AND target = $2 AND kind IN ('grounds', 'reinforces')
  AND closed IS NULL
ORDER BY number DESC LIMIT $3;

-- Of all that ever belonged to a concept, whether it still does: when the latest happened, and what last changed it.
-- name: fold_reach
SELECT coalesce(max(at), 0), coalesce(max(greatest(born, coalesce(closed, born))), 0) FROM fold_edges
WHERE space = $1 AND target = $2 AND kind IN ('grounds', 'reinforces');

-- name: fold_links
SELECT edge.source, edge.target, edge.kind, edge.weight, edge.born_at, edge.at, edge.closed_at, event.id,
       coalesce(edge.reason, (SELECT reason FROM fold_journal entry
         WHERE {postgres: entry.space = edge.space AND} entry.number = edge.born_by))
FROM fold_edges edge JOIN events event ON {postgres: event.space = edge.space AND} event.seq = edge.seq
WHERE edge.space = :space AND edge.source = ANY(:ids::text[]) AND edge.kind NOT IN ('grounds', 'reinforces')
  AND edge.born_at <= :as_of AND (edge.closed_at IS NULL OR edge.closed_at > :as_of)
ORDER BY edge.number;

-- name: fold_links_into
SELECT edge.source, edge.target, edge.kind, edge.weight, edge.born_at, edge.at, edge.closed_at, event.id,
       coalesce(edge.reason, (SELECT reason FROM fold_journal entry
         WHERE {postgres: entry.space = edge.space AND} entry.number = edge.born_by))
FROM fold_edges edge JOIN events event ON {postgres: event.space = edge.space AND} event.seq = edge.seq
WHERE edge.space = :space AND edge.target = ANY(:ids::text[]) AND edge.kind NOT IN ('grounds', 'reinforces')
  AND edge.born_at <= :as_of AND (edge.closed_at IS NULL OR edge.closed_at > :as_of)
ORDER BY edge.number;

-- Which concepts hang together, whatever by.
-- name: fold_neighbours
SELECT source, target FROM fold_edges
WHERE space = :space AND source = ANY(:ids::text[]) AND kind NOT IN ('grounds', 'reinforces')
  AND born_at <= :as_of AND (closed_at IS NULL OR closed_at > :as_of)
UNION SELECT source, target FROM fold_edges
WHERE space = :space AND target = ANY(:ids::text[]) AND kind NOT IN ('grounds', 'reinforces')
  AND born_at <= :as_of AND (closed_at IS NULL OR closed_at > :as_of);

-- name: fold_links_now
SELECT edge.source, edge.target, edge.kind, edge.weight, edge.born_at, edge.at, edge.closed_at, event.id,
       coalesce(edge.reason, (SELECT reason FROM fold_journal entry
         WHERE {postgres: entry.space = edge.space AND} entry.number = edge.born_by))
FROM fold_edges edge {sqlite: INDEXED BY fold_edges_joining}
  JOIN events event ON {postgres: event.space = edge.space AND} event.seq = edge.seq
WHERE edge.space = :space AND edge.source = ANY(:ids::text[]) AND edge.closed IS NULL
  AND edge.kind IN ('causes', 'related_to')
ORDER BY edge.number;

-- name: fold_links_into_now
SELECT edge.source, edge.target, edge.kind, edge.weight, edge.born_at, edge.at, edge.closed_at, event.id,
       coalesce(edge.reason, (SELECT reason FROM fold_journal entry
         WHERE {postgres: entry.space = edge.space AND} entry.number = edge.born_by))
FROM fold_edges edge {sqlite: INDEXED BY fold_edges_joined}
  JOIN events event ON {postgres: event.space = edge.space AND} event.seq = edge.seq
WHERE edge.space = :space AND edge.target = ANY(:ids::text[]) AND edge.closed IS NULL
  AND edge.kind IN ('causes', 'related_to')
ORDER BY edge.number;

-- name: fold_neighbours_now
SELECT source, target FROM fold_edges
{sqlite: INDEXED BY fold_edges_joining} WHERE space = :space AND source = ANY(:ids::text[]) AND closed IS NULL
  AND kind IN ('causes', 'related_to')
UNION SELECT source, target FROM fold_edges
{sqlite: INDEXED BY fold_edges_joined} WHERE space = :space AND target = ANY(:ids::text[]) AND closed IS NULL
  AND kind IN ('causes', 'related_to');

-- By the kinds that join concepts, as the index has them: a large concept has many events.
-- name: fold_linked
SELECT EXISTS (SELECT 1 FROM fold_edges WHERE space = $1 AND source = $2 AND closed IS NULL
    AND kind IN ('causes', 'related_to'))
  OR EXISTS (SELECT 1 FROM fold_edges {sqlite: INDEXED BY fold_edges_target} WHERE space = $1 AND target = $2
    AND closed IS NULL
    AND kind IN ('causes', 'related_to'));

-- name: insert_fold_edge
INSERT INTO fold_edges (space, source, target, kind, weight, seq, at, born, born_at, born_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: close_fold_edge
UPDATE fold_edges SET closed = $1, closed_at = $2, closed_by = $3
WHERE space = $4 AND source = $5 AND target = $6 AND kind = $7 AND closed IS NULL;

-- Everything that leads to or from a concept.
-- name: close_fold_edges_into
UPDATE fold_edges SET closed = $1, closed_at = $2, closed_by = $3 WHERE space = $4 AND target = $5 AND closed IS NULL
RETURNING source, target, kind, seq;

-- name: close_fold_edges_from
UPDATE fold_edges SET closed = $1, closed_at = $2, closed_by = $3 WHERE space = $4 AND source = $5
  AND kind NOT IN ('grounds', 'reinforces') AND closed IS NULL
RETURNING source, target, kind, seq;

-- The edges of the one that was absorbed, anew on the one that stays; what would lead from it to itself is left out.
-- name: move_fold_edges_into
INSERT INTO fold_edges (space, source, target, kind, weight, seq, at, born, born_at, born_by, reason)
SELECT space, source, :to, kind, weight, seq, at, :born, :born_at, :born_by,
  coalesce(reason, (SELECT reason FROM fold_journal entry
    WHERE {postgres: entry.space = fold_edges.space AND} entry.number = fold_edges.born_by))
FROM fold_edges
WHERE space = :space AND target = :from AND closed_by = :born_by AND source <> :to AND NOT EXISTS
  (SELECT 1 FROM fold_edges other WHERE other.space = :space AND other.seq = fold_edges.seq
   AND other.source = fold_edges.source AND {sqlite: +}other.target = :to AND other.kind IN ('grounds', 'reinforces') AND other.closed IS NULL)
ORDER BY number;

-- name: move_fold_edges_from
INSERT INTO fold_edges (space, source, target, kind, weight, seq, at, born, born_at, born_by, reason)
SELECT space, :to, target, kind, weight, seq, at, :born, :born_at, :born_by,
  coalesce(reason, (SELECT reason FROM fold_journal entry
    WHERE {postgres: entry.space = fold_edges.space AND} entry.number = fold_edges.born_by))
FROM fold_edges
WHERE space = :space AND source = :from AND kind NOT IN ('grounds', 'reinforces')
  AND closed_by = :born_by AND target <> :to ORDER BY number;

-- Taking back
-- name: close_nodes_born_by
UPDATE fold_nodes SET closed = $1, closed_at = $2, closed_by = $3 WHERE {sqlite: +}space = $4 AND born_by = $5
  AND closed IS NULL RETURNING id;

-- name: close_edges_born_by
UPDATE fold_edges SET closed = $1, closed_at = $2, closed_by = $3 WHERE {sqlite: +}space = $4 AND born_by = $5
  AND closed IS NULL
RETURNING source, target, kind, seq;

-- name: restore_nodes_closed_by
INSERT INTO fold_nodes (space, id, label_key, born, born_at, born_by, body)
SELECT space, id, label_key, $1, $2, $3, body FROM fold_nodes WHERE {sqlite: +}space = $4 AND closed_by = $5
  ORDER BY number RETURNING id;

-- Only between ends that are still there.
-- name: restore_edges_closed_by
INSERT INTO fold_edges (space, source, target, kind, weight, seq, at, born, born_at, born_by, reason)
SELECT space, source, target, kind, weight, seq, at, $1, $2, $3,
  coalesce(reason, (SELECT reason FROM fold_journal entry
    WHERE {postgres: entry.space = fold_edges.space AND} entry.number = fold_edges.born_by))
FROM fold_edges
WHERE {sqlite: +}space = $4 AND closed_by = $5 AND EXISTS
  (SELECT 1 FROM fold_nodes node WHERE node.space = fold_edges.space AND node.id = fold_edges.target
    AND node.closed IS NULL)
  AND (kind IN ('grounds', 'reinforces') OR EXISTS
  (SELECT 1 FROM fold_nodes node WHERE node.space = fold_edges.space AND node.id = fold_edges.source
    AND node.closed IS NULL))
ORDER BY number RETURNING source, target, kind, seq;

-- name: mark_undone
UPDATE fold_journal SET undone = $1 WHERE {sqlite: +}space = $2 AND number = $3;

-- name: insert_fold_apart
INSERT INTO fold_apart (space, seq, one, other) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING;

-- name: fold_apart
SELECT one, other FROM fold_apart WHERE space = $1;

-- The journal
-- name: insert_fold_entry
INSERT INTO fold_journal (space, id, seq, at, action, debt, node, target, edge, reason, events)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) {postgres: RETURNING number};

-- name: fold_entries
SELECT number, id, at, action, debt, reason, node, target, edge, events, undone FROM fold_journal
WHERE space = $1 AND number > $2 ORDER BY number LIMIT $3;

-- name: fold_entries_newest
SELECT number, id, at, action, debt, reason, node, target, edge, events, undone FROM fold_journal
WHERE space = $1 ORDER BY number DESC LIMIT $2;

-- name: fold_entries_of
SELECT number, id, at, action, debt, reason, node, target, edge, events, undone FROM fold_journal
WHERE space = $1 AND node = $2 UNION
SELECT number, id, at, action, debt, reason, node, target, edge, events, undone FROM fold_journal
WHERE space = $1 AND target = $2 ORDER BY number;

-- name: fold_steps
SELECT count(*) FROM fold_journal WHERE space = $1 AND seq = $2;

-- name: fold_entry
SELECT number, id, at, action, debt, reason, node, target, edge, events, undone FROM fold_journal
WHERE space = $1 AND id = $2;

-- What is at work
-- name: fold_work
SELECT work.id, node.body, work.size, work.touched, work.last_at, work.total, work.recent
FROM fold_work work JOIN fold_nodes node {sqlite: INDEXED BY fold_nodes_id} ON node.space = work.space
  AND node.id = work.id AND node.closed IS NULL
WHERE work.space = $1 AND work.touched >= coalesce(
  (SELECT touched FROM fold_work WHERE space = $1 ORDER BY touched DESC LIMIT 1 OFFSET $2), 0)
ORDER BY work.touched, work.id;

-- name: fold_work_of
SELECT work.id, node.body, work.size, work.touched, work.last_at, work.total, work.recent
FROM fold_work work JOIN fold_nodes node {sqlite: INDEXED BY fold_nodes_id} ON node.space = work.space
  AND node.id = work.id AND node.closed IS NULL
WHERE work.space = $1 AND work.id = $2;

-- name: put_fold_work
INSERT INTO fold_work (space, id, touched, size, last_at, total, recent) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (space, id) DO UPDATE SET touched = excluded.touched, size = excluded.size, last_at = excluded.last_at,
  total = excluded.total, recent = excluded.recent;

-- name: drop_fold_work
DELETE FROM fold_work WHERE space = $1 AND id = $2;

-- name: put_fold_loose
INSERT INTO fold_loose (space, seq) VALUES ($1, $2) ON CONFLICT (space, seq) DO UPDATE SET settled = NULL;

-- name: fold_loose
SELECT seq FROM fold_loose WHERE space = $1 AND settled IS NULL ORDER BY seq;

-- name: settle_fold_loose
UPDATE fold_loose SET settled = $1 WHERE space = $2 AND seq = $3 AND settled IS NULL;

-- Taking back all that came of an event and of those after it
-- name: work_touched_since
SELECT id FROM fold_work WHERE space = $1 AND touched >= $2;

-- Those that won or lost an event since, however often that was taken back before.
-- name: held_otherwise_since
SELECT target FROM fold_edges WHERE space = $1 AND born >= $2 AND kind IN ('grounds', 'reinforces')
UNION SELECT target FROM fold_edges WHERE space = $1 AND closed >= $2 AND kind IN ('grounds', 'reinforces');

-- name: roll_back_nodes
DELETE FROM fold_nodes WHERE space = $1 AND born >= $2;

-- name: reopen_nodes
UPDATE fold_nodes SET closed = NULL, closed_at = NULL, closed_by = NULL, merged_into = NULL
WHERE space = $1 AND closed >= $2 RETURNING id;

-- name: roll_back_edges
DELETE FROM fold_edges WHERE space = $1 AND born >= $2;

-- name: reopen_edges
UPDATE fold_edges SET closed = NULL, closed_at = NULL, closed_by = NULL WHERE space = $1 AND closed >= $2;

-- name: roll_back_entries
DELETE FROM fold_journal WHERE space = $1 AND seq >= $2;

-- name: reopen_entries
UPDATE fold_journal SET undone = NULL WHERE space = $1 AND undone >= $2;

-- name: roll_back_apart
DELETE FROM fold_apart WHERE space = $1 AND seq >= $2;

-- name: roll_back_loose
DELETE FROM fold_loose WHERE space = $1 AND seq >= $2;

-- name: reopen_loose
UPDATE fold_loose SET settled = NULL WHERE space = $1 AND settled >= $2;

