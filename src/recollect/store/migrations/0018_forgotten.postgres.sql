-- Tags of what was forgotten, as in 0018_forgotten.sqlite.sql.
CREATE TABLE forgotten (
  space bigint NOT NULL,
  tag bigint NOT NULL,
  PRIMARY KEY (space, tag)
);
SELECT raise_wall('forgotten');

UPDATE receipts SET receipt = (receipt::jsonb - 'hashes')::text;
DELETE FROM imports;

-- ANALYZE copies values of columns into pg_statistic, where no rewrite of our tables reaches them.
ALTER TABLE events ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE events ALTER COLUMN meta SET STATISTICS 0;

INSERT INTO facts_of_file (name, value) SELECT 'scrub_owed', 'migration' WHERE EXISTS (SELECT 1 FROM receipts)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
