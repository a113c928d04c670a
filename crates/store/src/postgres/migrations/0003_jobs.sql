-- Lists by filter, and bulk jobs.
--
-- Nothing here is written on the way of an action that succeeds, unless it has tags: keys, tags, errors and deaths each
-- pay for their own look-up.

-- Read by search: executions with a key, open or closed. Partial: those without one stay out.
CREATE INDEX execution_by_key ON execution (key, id) WHERE key IS NOT NULL;

-- Read by search. Tags never change, so the rows are written with the execution, and only if it has tags.
CREATE TABLE execution_tag (
    tag       text COLLATE "C" NOT NULL,
    execution uuid NOT NULL,
    PRIMARY KEY (tag, execution)
);

-- The same for actions.
CREATE TABLE action_tag (
    tag    text COLLATE "C" NOT NULL,
    action uuid NOT NULL,
    PRIMARY KEY (tag, action)
);

-- Read by search. Partial: only what ever failed.
CREATE INDEX action_error ON action (error_kind, id) WHERE error_kind IS NOT NULL;

-- Read by search. Partial: only dead letters.
CREATE INDEX action_dead_machine ON action (machine, id) WHERE status = 5;
CREATE INDEX action_dead_name ON action (action_id, id) WHERE status = 5;

-- The status numbers are those of records::JobStatus: 0 running, 1 paused are open.
CREATE TABLE job (
    id         uuid     NOT NULL PRIMARY KEY,
    kind       text COLLATE "C" NOT NULL,
    status     smallint NOT NULL,
    created_at bigint   NOT NULL,
    updated_at bigint   NOT NULL,
    body       bytea    NOT NULL
);

CREATE TABLE job_item (
    job    uuid     NOT NULL,
    number bigint   NOT NULL,
    action uuid     NOT NULL,
    result smallint NOT NULL,
    detail text COLLATE "C",
    PRIMARY KEY (job, number)
);
