-- Attention, as in 0010_attention.sqlite.sql.

CREATE TABLE marks (
  space bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  place bigint NOT NULL,
  start bigint NOT NULL,
  stop bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, kind, seq, place)
);
CREATE INDEX marks_of_event ON marks (space, seq);
SELECT raise_wall('marks');

CREATE TABLE marking (
  space bigint PRIMARY KEY,
  upto bigint NOT NULL
);
SELECT raise_wall('marking');

INSERT INTO marking (space, upto) SELECT space, 0 FROM spaces WHERE events > 0;

CREATE TABLE accesses (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  count bigint NOT NULL,
  last_at bigint NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE INDEX accesses_by_count ON accesses (space, count, seq);
SELECT raise_wall('accesses');
