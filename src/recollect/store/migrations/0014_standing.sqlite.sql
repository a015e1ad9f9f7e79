-- What concepts come to now, by indexes alone: how many events each has and since when, and which are joined. Merges
-- leave many closed edges behind, which a memory of many events would go through otherwise.
DROP INDEX fold_edges_members;
CREATE INDEX fold_edges_members ON fold_edges (space, target, number, seq, weight, at, kind, closed)
  WHERE closed IS NULL AND kind IN ('grounds', 'reinforces');
CREATE INDEX fold_edges_joining ON fold_edges (space, source, target)
  WHERE closed IS NULL AND kind IN ('causes', 'part_of', 'related_to', 'derived_from');
CREATE INDEX fold_edges_joined ON fold_edges (space, target, source)
  WHERE closed IS NULL AND kind IN ('causes', 'part_of', 'related_to', 'derived_from');
