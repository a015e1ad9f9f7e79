-- Edits become typed records, as in 0015_records.sqlite.sql.
ALTER TABLE events ADD COLUMN record text COLLATE "C";

CREATE INDEX events_record ON events (space, record, seq) WHERE record IS NOT NULL;

UPDATE events SET record = 'identity', session = NULL, role = NULL,
  meta = json_build_object('by', 'unknown', 'events', json_build_array(),
    'was', json_build_object('session', session, 'speaker', NULL))::text
WHERE session = 'recollect:identity' AND role = 'system' AND speaker IS NULL AND key IS NULL AND meta IS NULL
  AND at <= recorded_at;

UPDATE events SET
  record = CASE any_json(meta) -> 'recollect' ->> 'action' WHEN 'retract' THEN 'retraction' ELSE 'correction' END,
  speaker = NULL, role = NULL,
  meta = json_build_object('by', 'unknown', 'artifact', any_json(meta) -> 'recollect' ->> 'artifact',
    'speaker', speaker,
    'reason', CASE any_json(meta) -> 'recollect' ->> 'action' WHEN 'retract' THEN 'ended' END,
    'events', (SELECT coalesce(json_agg('ev_' || encode(source.id, 'hex')), '[]'::json) FROM artifacts
               JOIN events AS source ON source.space = artifacts.space AND source.seq = artifacts.seq
               WHERE artifacts.space = events.space
                 AND artifacts.id = any_json(events.meta) -> 'recollect' ->> 'artifact'),
    'was', json_build_object('session', NULL, 'speaker', speaker))::text
WHERE role = 'correction' AND session IS NULL AND key IS NULL AND at <= recorded_at AND meta IS NOT NULL
  AND any_json(meta) -> 'recollect' ->> 'action' IN ('update', 'retract')
  AND json_typeof(any_json(meta) -> 'recollect' -> 'artifact') = 'string';

UPDATE events SET record = 'feedback', role = NULL,
  meta = json_build_object('by', 'unknown', 'intent', any_json(meta) -> 'recollect' ->> 'intent',
    'answer', any_json(meta) -> 'recollect' ->> 'answer', 'until', any_json(meta) -> 'recollect' ->> 'until',
    'events', json_build_array(), 'was', json_build_object('session', NULL, 'speaker', NULL))::text
WHERE role = 'feedback' AND session IS NULL AND speaker IS NULL AND key IS NULL AND at <= recorded_at
  AND meta IS NOT NULL AND json_typeof(any_json(meta) -> 'recollect' -> 'intent') = 'string'
  AND any_json(meta) -> 'recollect' ->> 'answer' IN ('accept', 'modify', 'defer', 'reject', 'done');

UPDATE events SET record = 'unfold', role = NULL,
  meta = json_build_object('by', 'unknown', 'entry', any_json(meta) -> 'recollect' ->> 'undo',
    'events', json_build_array(), 'was', json_build_object('session', NULL, 'speaker', NULL))::text
WHERE role = 'unfold' AND session IS NULL AND speaker IS NULL AND key IS NULL AND at <= recorded_at
  AND meta IS NOT NULL AND json_typeof(any_json(meta) -> 'recollect' -> 'undo') = 'string';

INSERT INTO facts_of_file (name, value)
SELECT 'records_indexed', '1' WHERE EXISTS (SELECT 1 FROM events WHERE record IS NOT NULL);
