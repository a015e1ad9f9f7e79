-- Queries about tables of any name, for copying a whole store. {parts} are names from the database's own list.

-- name: listed
SELECT c.relname, a.attname, coalesce(array_position(i.indkey::int2[], a.attnum), -1) + 1, a.attgenerated = ''
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum;

-- name: count
SELECT count(*) FROM {table} {where};

-- name: rows
SELECT {columns} FROM {table} {where} ORDER BY {key};

-- name: put
INSERT INTO {table} ({columns}) VALUES ({marks});

-- name: clear
DELETE FROM {table} {where};

-- Every space has a turn that a worker can take.
-- name: add_turns
INSERT INTO turns (space) SELECT space FROM spaces ON CONFLICT DO NOTHING;

-- name: count_seqs_on
SELECT setval('event_seq', greatest((SELECT max(seq) FROM events), (SELECT max(upto) FROM receipts), 1));

-- name: count_models_on
SELECT setval(pg_get_serial_sequence('models', 'id'), greatest((SELECT max(id) FROM models), 1));

-- Columns that count up with one sequence.
-- name: counted
SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%row_number%' ORDER BY 1, 2;

-- name: count_rows_on
SELECT setval('row_number', greatest(nextval('row_number'), (SELECT max({column}) FROM {table})));

-- name: last_number
SELECT last_value FROM row_number;

-- name: reserve_numbers
SELECT setval('row_number', nextval('row_number') + $1);
