-- What was forgotten, for imports to recognise, without anything that a guess at its text could be tested against.
-- A tag is a salted hash of an event's session, speaker and time, and six bits of its id: see store/forgotten.py.
CREATE TABLE forgotten (
  space INTEGER NOT NULL REFERENCES spaces (id),
  tag INTEGER NOT NULL,
  PRIMARY KEY (space, tag)
) STRICT, WITHOUT ROWID;

-- Receipts no longer hold hashes of content. The ids in older ones stay: nothing else keeps what they name out of imports.
UPDATE receipts SET receipt = json_remove(receipt, '$.hashes');

-- Paths are kept as salted hashes from now on. Files are read once more; what is known already stays as it is.
DELETE FROM imports;

-- Free pages may hold the old rows. Only a memory that has forgotten something owes a rewrite for that.
INSERT INTO facts_of_file (name, value) SELECT 'scrub_owed', 'migration' WHERE EXISTS (SELECT 1 FROM receipts)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
