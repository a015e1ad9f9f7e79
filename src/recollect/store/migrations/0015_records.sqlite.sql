-- Edits become typed records. An identity, a correction, a retraction, an answer to an intent and a change of the
-- concept graph that was taken back stay in the log, in its order, but only their own operations can write them: what
-- a row is stands in this column and follows from no name of a session, no role and no key of `meta`.
-- NULL: an ordinary event.
ALTER TABLE events ADD COLUMN record TEXT;

CREATE INDEX events_record ON events (space, record, seq) WHERE record IS NOT NULL;

-- Until now edits were events. Those that have just the form in which their operations wrote them are converted; who
-- made them was never stored. `was` keeps what their id was made from. Anything else stays an ordinary event.
UPDATE events SET record = 'identity', session = NULL, role = NULL,
  meta = json_object('by', 'unknown', 'events', json_array(), 'was', json_object('session', session, 'speaker', NULL))
WHERE session = 'recollect:identity' AND role = 'system' AND speaker IS NULL AND key IS NULL AND meta IS NULL
  AND at <= recorded_at;

UPDATE events SET record = CASE meta ->> '$.recollect.action' WHEN 'retract' THEN 'retraction' ELSE 'correction' END,
  speaker = NULL, role = NULL,
  meta = json_object('by', 'unknown', 'artifact', meta ->> '$.recollect.artifact', 'speaker', speaker,
    'reason', CASE meta ->> '$.recollect.action' WHEN 'retract' THEN 'ended' END,
    'events', json((SELECT json_group_array('ev_' || lower(hex(source.id))) FROM artifacts
               JOIN events AS source ON source.seq = artifacts.seq
               WHERE artifacts.space = events.space AND artifacts.id = events.meta ->> '$.recollect.artifact')),
    'was', json_object('session', NULL, 'speaker', speaker))
WHERE role = 'correction' AND session IS NULL AND key IS NULL AND at <= recorded_at
  AND meta ->> '$.recollect.action' IN ('update', 'retract') AND json_type(meta, '$.recollect.artifact') = 'text';

UPDATE events SET record = 'feedback', role = NULL,
  meta = json_object('by', 'unknown', 'intent', meta ->> '$.recollect.intent', 'answer', meta ->> '$.recollect.answer',
    'until', meta ->> '$.recollect.until', 'events', json_array(),
    'was', json_object('session', NULL, 'speaker', NULL))
WHERE role = 'feedback' AND session IS NULL AND speaker IS NULL AND key IS NULL AND at <= recorded_at
  AND json_type(meta, '$.recollect.intent') = 'text'
  AND meta ->> '$.recollect.answer' IN ('accept', 'modify', 'defer', 'reject', 'done');

UPDATE events SET record = 'unfold', role = NULL,
  meta = json_object('by', 'unknown', 'entry', meta ->> '$.recollect.undo', 'events', json_array(),
    'was', json_object('session', NULL, 'speaker', NULL))
WHERE role = 'unfold' AND session IS NULL AND speaker IS NULL AND key IS NULL AND at <= recorded_at
  AND json_type(meta, '$.recollect.undo') = 'text';

-- What was derived from them as events, their words and vectors included, goes when the file is opened next.
INSERT INTO facts_of_file (name, value)
SELECT 'records_indexed', '1' WHERE EXISTS (SELECT 1 FROM events WHERE record IS NOT NULL);
