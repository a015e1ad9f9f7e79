-- What is read of other systems' databases, by name. Nothing here writes.

-- Whether the file can be read at all.
-- name: probe
SELECT count(*) FROM sqlite_master;

-- Every table and its columns. A table with generated columns is none of theirs: a few bytes can make any amount of text.
-- name: tables
SELECT m.name AS name, c.name AS column FROM sqlite_master AS m, pragma_table_info(m.name) AS c
WHERE m.type = 'table' AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) AS all_of WHERE all_of.hidden != 0);

-- mem0: what became of each memory, in the order in which it happened.
-- name: mem0_history
SELECT rowid AS place, * FROM history ORDER BY rowid;

-- mem0: memories that its user removed; none of their texts is taken over.
-- name: mem0_removed
SELECT DISTINCT memory_id FROM history WHERE upper(event) = 'DELETE' OR is_deleted = 1;

-- mem0: every memory that has a history.
-- name: mem0_known
SELECT DISTINCT memory_id FROM history;

-- mem0: the last messages of each conversation, verbatim.
-- name: mem0_messages
SELECT rowid AS place, * FROM messages ORDER BY rowid;

-- Qdrant's local store: a pickled point a row.
-- name: qdrant_points
SELECT rowid AS place, point FROM points ORDER BY rowid;

-- Chroma: every stored item with the collection that it is in, a row for each member of its metadata.
-- name: chroma_items
SELECT e.id AS place, e.embedding_id AS id, c.name AS collection, e.created_at AS created_at,
       m.key AS key, coalesce(m.string_value, m.int_value, m.float_value) AS value
FROM embeddings AS e
JOIN segments AS s ON s.id = e.segment_id
JOIN collections AS c ON c.id = s.collection
JOIN embedding_metadata AS m ON m.id = e.id
ORDER BY e.id, m.key;

-- Chroma: the names of its collections.
-- name: chroma_collections
SELECT name FROM collections;
