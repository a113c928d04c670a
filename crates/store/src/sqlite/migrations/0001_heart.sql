-- The heart: machines, executions and what belongs to them.
--
-- Ids are the 16 bytes of the id, so primary keys arrive in the order of time. Instants are UTC milliseconds.
-- Tables with large rows keep their rowid: SQLite moves a row beyond a quarter of a page out of a WITHOUT ROWID table
-- into pages of its own, which costs more than the index that the rowid needs. A file has one shard, so no row names it.

-- Epochs: read by shards::check in every commit, raised by shards::acquire.
CREATE TABLE shard (
    id    INTEGER NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL
) STRICT;

INSERT INTO shard (id, epoch) VALUES (0, 0);

CREATE TABLE machine_version (
    machine    TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    digest     BLOB    NOT NULL,
    definition BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (machine, version)
) STRICT;

-- The status numbers are those of records::ExecutionStatus: 0 running, 1 paused, 2 failed are open.
-- `variables` is null while they have a row of their own in execution_variables.
CREATE TABLE execution (
    id         BLOB    NOT NULL PRIMARY KEY,
    machine    TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    key        TEXT,
    status     INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    tags       TEXT,
    body       BLOB    NOT NULL,
    variables  BLOB
) STRICT;

-- Read by executions::holder, and keeps a key unique. Partial: closed executions give their key back.
CREATE UNIQUE INDEX execution_key ON execution (machine, key) WHERE key IS NOT NULL AND status <= 2;

-- Read by executions::list with a machine.
CREATE INDEX execution_machine ON execution (machine, id);

-- Read by executions::list with an open status. Partial: closed executions stay out of the index.
CREATE INDEX execution_open ON execution (status, id) WHERE status <= 2;

CREATE TABLE execution_variables (
    execution BLOB NOT NULL PRIMARY KEY,
    variables BLOB NOT NULL
) STRICT;

CREATE TABLE history (
    execution BLOB    NOT NULL,
    sequence  INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    PRIMARY KEY (execution, sequence)
) STRICT;

-- The status numbers are those of sprag_core::action::Status: 0 scheduled, 1 queued, 2 running, 3 retrying are open,
-- 5 is dead.
CREATE TABLE action (
    id         BLOB    NOT NULL PRIMARY KEY,
    execution  BLOB    NOT NULL,
    machine    TEXT    NOT NULL,
    action_id  TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    status     INTEGER NOT NULL,
    line       TEXT    NOT NULL,
    priority   INTEGER NOT NULL,
    run_at     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    error_kind TEXT,
    tags       TEXT,
    body       BLOB    NOT NULL
) STRICT;

-- Read by actions::list with an execution.
CREATE INDEX action_execution ON action (execution, id);

-- Read by actions::open_of, actions::running and actions::list with an open status. Partial: ended actions stay out.
CREATE INDEX action_open ON action (status, execution, id) WHERE status <= 3;

-- Read by actions::ready and actions::queues, which need nothing but the index. Partial: only queued actions wait in a
-- line.
CREATE INDEX action_ready ON action (line, priority DESC, run_at, id, execution) WHERE status = 1;

-- Read by actions::due, which needs nothing but the index. Partial: only what waits for a time.
CREATE INDEX action_due ON action (run_at, id, execution, status) WHERE status IN (0, 3);

-- Read by actions::list with the status dead. Partial: only dead letters.
CREATE INDEX action_dead ON action (id) WHERE status = 5;

CREATE TABLE timer (
    execution   BLOB    NOT NULL,
    visit       INTEGER NOT NULL,
    timer_index INTEGER NOT NULL,
    due_at      INTEGER NOT NULL,
    schedule    TEXT,
    PRIMARY KEY (execution, visit, timer_index)
) STRICT, WITHOUT ROWID;

-- Read by timers::due. Fired timers are deleted, so it holds only open work.
CREATE INDEX timer_due ON timer (due_at, execution, visit, timer_index);

CREATE TABLE inbox (
    execution BLOB    NOT NULL,
    position  INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    PRIMARY KEY (execution, position)
) STRICT;

CREATE TABLE receipt (
    execution BLOB NOT NULL,
    message   TEXT NOT NULL,
    answer    BLOB NOT NULL,
    PRIMARY KEY (execution, message)
) STRICT, WITHOUT ROWID;

CREATE TABLE life (
    started_at INTEGER NOT NULL PRIMARY KEY,
    seen_at    INTEGER NOT NULL
) STRICT;
