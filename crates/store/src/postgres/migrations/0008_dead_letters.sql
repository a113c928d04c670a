-- What dead letters have in common, and when they died. Both are null for every other action, so nothing more is written on
-- the way of one that succeeds.
ALTER TABLE action ADD COLUMN fingerprint text COLLATE "C";
ALTER TABLE action ADD COLUMN died_at bigint;

-- Read by search, and counted for the case file of a dead letter. Partial: only dead letters.
CREATE INDEX action_dead_fingerprint ON action (fingerprint, id) WHERE status = 5;
