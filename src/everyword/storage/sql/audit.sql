-- What the audit counts of a space, and what it finds that points to nothing.

-- name: derived_counts
SELECT 'names', (SELECT count(*) FROM names WHERE space = $1)
UNION ALL SELECT 'mentions', (SELECT count(*) FROM mentions WHERE space = $1)
UNION ALL SELECT 'claims', (SELECT count(*) FROM claims WHERE space = $1)
UNION ALL SELECT 'facts', (SELECT count(*) FROM facts WHERE space = $1)
UNION ALL SELECT 'statements', (SELECT count(*) FROM statements WHERE space = $1)
UNION ALL SELECT 'changes', (SELECT count(*) FROM journal WHERE space = $1)
UNION ALL SELECT 'tags', (SELECT count(*) FROM event_tags WHERE space = $1)
UNION ALL SELECT 'concepts', (SELECT count(*) FROM fold_nodes WHERE space = $1 AND closed IS NULL AND label_key <> '')
UNION ALL SELECT 'concept edges', (SELECT count(*) FROM fold_edges WHERE space = $1 AND closed IS NULL)
UNION ALL SELECT 'folding steps', (SELECT count(*) FROM fold_journal WHERE space = $1)
UNION ALL SELECT 'readings', (SELECT count(*) FROM readings WHERE space = $1)
UNION ALL SELECT 'model readings', (SELECT count(*) FROM model_readings WHERE space = $1)
UNION ALL SELECT 'written summaries', (SELECT count(*) FROM written_sessions WHERE space = $1)
UNION ALL SELECT 'proposed plans', (SELECT count(*) FROM fold_plans WHERE space = $1);

-- name: loose_rows
SELECT 'statements', 'statements have lost the event that states them', (
  SELECT count(*) FROM statements WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1)
)
UNION ALL SELECT 'statements', 'statements follow a version that is not there', (
  SELECT count(*) FROM statements WHERE space = $1 AND replaces IS NOT NULL
    AND replaces NOT IN (SELECT id FROM statements WHERE space = $1)
)
UNION ALL SELECT 'statements', 'entries of the journal speak of what is not there', (
  SELECT count(*) FROM journal WHERE space = $1 AND (
    seq NOT IN (SELECT seq FROM events WHERE space = $1)
    OR (statement IS NOT NULL AND statement NOT IN (SELECT id FROM statements WHERE space = $1))
    OR (target IS NOT NULL AND target NOT IN (SELECT id FROM statements WHERE space = $1))
  )
)
UNION ALL SELECT 'statements', 'tags belong to no event', (
  SELECT count(*) FROM event_tags WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1)
)
UNION ALL SELECT 'statements', 'counts of recalls belong to no event', (
  SELECT count(*) FROM accesses WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1)
)
UNION ALL SELECT 'statements', 'readings of an LLM belong to no event', (
  SELECT count(*) FROM readings WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1)
)
UNION ALL SELECT 'statements', 'readings of the model belong to no event', (
  SELECT count(*) FROM model_readings WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1)
)
UNION ALL SELECT 'statements', 'sources of readings lead nowhere', (
  SELECT count(*) FROM reading_sources WHERE space = $1 AND (
    source NOT IN (SELECT seq FROM events WHERE space = $1) OR seq NOT IN (SELECT seq FROM readings WHERE space = $1)
  )
)
UNION ALL SELECT 'graph', 'mentions have lost their event or their name', (
  SELECT count(*) FROM mentions WHERE space = $1 AND (
    seq NOT IN (SELECT seq FROM events WHERE space = $1) OR name NOT IN (SELECT number FROM names WHERE space = $1)
  )
)
UNION ALL SELECT 'graph', 'names stand in no event', (
  SELECT count(*) FROM names WHERE space = $1 AND NOT EXISTS (
    SELECT 1 FROM mentions WHERE mentions.space = $1 AND mentions.name = names.number
  )
)
UNION ALL SELECT 'graph', 'names belong to nobody', (
  SELECT count(*) FROM names WHERE space = $1 AND home NOT IN (SELECT id FROM names WHERE space = $1)
)
UNION ALL SELECT 'graph', 'claims have lost the event that makes them', (
  SELECT count(*) FROM claims WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1)
)
-- A claim without an object ends whatever holds, and is in no fact where nothing did.
-- Claims that a person took back are in no fact, nor is what says so.
-- Only what people say: a claim of a less trusted source may be in no fact, since a person says otherwise.
UNION ALL SELECT 'graph', 'claims are in no fact', (
  SELECT count(*) FROM claims WHERE space = $1
    AND number NOT IN (SELECT claim FROM fact_claims {postgres: WHERE space = $1})
    AND coalesce((SELECT home FROM names WHERE space = $1 AND id = subject), subject)
      != coalesce((SELECT home FROM names WHERE space = $1 AND id = object), object)
    AND object != '' AND NOT EXISTS (
      SELECT 1 FROM claims AS void WHERE void.space = $1 AND void.subject = claims.subject
        AND void.relation = claims.relation AND void.body LIKE '%"voids":%'
    )
    AND EXISTS (SELECT 1 FROM events WHERE {postgres: events.space = $1 AND} events.seq = claims.seq
      AND events.source = 'user')
)
UNION ALL SELECT 'graph', 'facts rest on no claim', (
  SELECT count(*) FROM facts WHERE space = $1 AND NOT EXISTS (
    SELECT 1 FROM fact_claims JOIN claims ON {postgres: claims.space = $1 AND} claims.number = fact_claims.claim
    WHERE {postgres: fact_claims.space = $1 AND} fact = facts.number
  )
)
UNION ALL SELECT 'graph', 'written summaries are of no session', (
  SELECT count(*) FROM written_sessions WHERE space = $1 AND NOT EXISTS (
    SELECT 1 FROM events WHERE events.space = $1
      AND {postgres: events.session_hash = written_sessions.session_hash AND} events.session = written_sessions.session
  )
)
UNION ALL SELECT 'concepts', 'edges of concepts have lost the event that they rest on', (
  SELECT count(*) FROM fold_edges edge WHERE edge.space = $1 AND NOT EXISTS
    (SELECT 1 FROM events WHERE {postgres: events.space = edge.space AND events.}seq = edge.seq)
)
UNION ALL SELECT 'concepts', 'edges lead to a concept that is not there', (
  SELECT count(*) FROM fold_edges edge WHERE edge.space = $1 AND edge.closed IS NULL AND NOT EXISTS
    (SELECT 1 FROM fold_nodes node WHERE node.space = edge.space AND node.id = edge.target AND node.closed IS NULL)
)
UNION ALL SELECT 'concepts', 'concepts have no event', (
  SELECT count(*) FROM fold_nodes node WHERE node.space = $1 AND node.closed IS NULL AND NOT EXISTS
    (SELECT 1 FROM fold_edges edge WHERE edge.space = node.space AND edge.target = node.id AND edge.closed IS NULL
     AND edge.kind IN ('grounds', 'reinforces'))
)
UNION ALL SELECT 'concepts', 'proposed plans have lost their event', (
  SELECT count(*) FROM fold_plans WHERE space = $1 AND seq NOT IN (SELECT seq FROM events WHERE space = $1)
)
UNION ALL SELECT 'concepts', 'sources of proposed plans lead nowhere', (
  SELECT count(*) FROM fold_plan_sources AS one WHERE space = $1 AND (
    source NOT IN (SELECT seq FROM events WHERE space = $1)
    OR NOT EXISTS (SELECT 1 FROM fold_plans WHERE space = $1 AND seq = one.seq AND place = one.place)
  )
);
