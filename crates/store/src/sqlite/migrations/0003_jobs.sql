-- Lists by filter, and bulk jobs.
--
-- Nothing here is written on the way of an action that succeeds, unless it has tags: keys, tags, errors and deaths each
-- pay for their own look-up.

-- Read by search: executions with a key, open or closed. Partial: those without one stay out.
CREATE INDEX execution_by_key ON execution (key, id) WHERE key IS NOT NULL;

-- Read by search. Tags never change, so the rows are written with the execution, and only if it has tags.
CREATE TABLE execution_tag (
    tag       TEXT NOT NULL,
    execution BLOB NOT NULL,
    PRIMARY KEY (tag, execution)
) STRICT, WITHOUT ROWID;

INSERT INTO execution_tag (tag, execution)
SELECT DISTINCT tag.value, execution.id FROM execution, json_each(execution.tags) AS tag;

-- The same for actions.
CREATE TABLE action_tag (
    tag    TEXT NOT NULL,
    action BLOB NOT NULL,
    PRIMARY KEY (tag, action)
) STRICT, WITHOUT ROWID;

INSERT INTO action_tag (tag, action)
SELECT DISTINCT tag.value, action.id FROM action, json_each(action.tags) AS tag;

-- Read by search. Partial: only what ever failed.
CREATE INDEX action_error ON action (error_kind, id) WHERE error_kind IS NOT NULL;

-- Read by search. Partial: only dead letters.
CREATE INDEX action_dead_machine ON action (machine, id) WHERE status = 5;
CREATE INDEX action_dead_name ON action (action_id, id) WHERE status = 5;

-- The status numbers are those of records::JobStatus: 0 running, 1 paused are open.
CREATE TABLE job (
    id         BLOB    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL,
    status     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    body       BLOB    NOT NULL
) STRICT;

CREATE TABLE job_item (
    job    BLOB    NOT NULL,
    number INTEGER NOT NULL,
    action BLOB    NOT NULL,
    result INTEGER NOT NULL,
    detail TEXT,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;
