-- Readings, as in 0003_readings.sqlite.sql.

CREATE TABLE readings (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  extractor text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq)
);
SELECT raise_wall('readings');

CREATE TABLE reading_sources (
  space bigint NOT NULL,
  source bigint NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (space, source, seq)
);
CREATE INDEX reading_sources_of ON reading_sources (space, seq);
SELECT raise_wall('reading_sources');
