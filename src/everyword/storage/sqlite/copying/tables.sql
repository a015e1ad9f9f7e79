-- Queries about tables of any name, for copying a whole store. {parts} are names from the database's own list.

-- name: listed
SELECT schema.name, info.name, info.pk, 1 FROM sqlite_schema AS schema, pragma_table_info(schema.name) AS info
WHERE schema.type = 'table' AND schema.name NOT LIKE 'sqlite_%' ORDER BY schema.name, info.cid;

-- name: count
SELECT count(*) FROM {table} {where};

-- name: rows
SELECT {columns} FROM {table} {where} ORDER BY {key};

-- name: all_rows
SELECT * FROM {table};

-- name: put
INSERT INTO {table} ({columns}) VALUES ({marks});

-- name: clear
DELETE FROM {table} {where};

-- Whose a row is that points to one which says it.
-- name: space_of
(SELECT space FROM {owner} WHERE number = {pointer});

-- name: last_number
SELECT coalesce(max(seq), 0) FROM sqlite_sequence;
