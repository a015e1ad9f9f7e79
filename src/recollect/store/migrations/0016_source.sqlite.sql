-- Where each event comes from: user, assistant, import, tool or web (core/trust.py). Events of before get the source that
-- follows from their role.
ALTER TABLE events ADD COLUMN source TEXT NOT NULL DEFAULT 'user';
UPDATE events SET source = CASE
    WHEN lower(role) IN ('tool', 'function') THEN 'tool'
    WHEN lower(role) IN ('note', 'document', 'memory', 'commit') THEN 'import'
    ELSE 'assistant' END
  WHERE lower(role) IN ('tool', 'function', 'note', 'document', 'memory', 'commit', 'assistant', 'ai', 'model',
    'system', 'developer', 'summary');
CREATE INDEX events_source ON events (space, source);
