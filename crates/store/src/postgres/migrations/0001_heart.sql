-- The heart: machines, executions and what belongs to them.
--
-- Ids are the 16 bytes of the id in a `uuid`: compared as bytes, one byte less than a `bytea`, so primary keys arrive in
-- the order of time. Instants are UTC milliseconds. Texts are compared as bytes too (COLLATE "C"), as in every store.
-- `shard` is that of the id's slot, so that the owner of a shard finds its open work by index; where nothing asks by
-- shard there is none. No foreign keys: the engine decides what belongs together.

-- Epochs: locked by lanes::FENCE in every commit, raised by shards::acquire. As many rows as there are shards.
CREATE TABLE shard (
    id    integer NOT NULL PRIMARY KEY,
    epoch bigint  NOT NULL
) WITH (fillfactor = 50);

-- The newest commit of each writer, written by every one: what a writer reads that lost its connection while a commit was
-- under way. `session` rises with every connection, so that nothing an old one left behind can still land.
CREATE TABLE lane (
    id      uuid        NOT NULL PRIMARY KEY DEFAULT gen_random_uuid(),
    session bigint      NOT NULL DEFAULT 1,
    number  bigint      NOT NULL DEFAULT 0,
    seen_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Ends a transaction whose statements did not find what they must: the rest of it is on its way already.
CREATE FUNCTION sprag_refuse(code text, detail text) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = detail;
END
$$;

CREATE TABLE machine_version (
    machine    text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    digest     bytea  NOT NULL,
    definition bytea  NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (machine, version)
);

-- The status numbers are those of records::ExecutionStatus: 0 running, 1 paused, 2 failed are open. Large variables go out
-- of the row by themselves, and an update that leaves them alone does not write them again. Room is left in every page, so
-- that a step that changes no index writes its row beside the old one and nothing else.
CREATE TABLE execution (
    id         uuid     NOT NULL PRIMARY KEY,
    sequence   bigint   NOT NULL,
    version    bigint   NOT NULL,
    created_at bigint   NOT NULL,
    updated_at bigint   NOT NULL,
    shard      smallint NOT NULL,
    status     smallint NOT NULL,
    machine    text COLLATE "C" NOT NULL,
    key        text COLLATE "C",
    tags       text COLLATE "C",
    body       bytea    NOT NULL,
    variables  bytea    NOT NULL
) WITH (fillfactor = 70);

-- Read by executions::HOLDERS, and keeps a key unique. Partial: closed executions give their key back.
CREATE UNIQUE INDEX execution_key ON execution (machine, key) WHERE key IS NOT NULL AND status <= 2;

-- Read by executions::list with a machine.
CREATE INDEX execution_machine ON execution (machine, id);

-- Read by executions::list with an open status. Partial: closed executions stay out of the index.
CREATE INDEX execution_open ON execution (status, id) WHERE status <= 2;

CREATE TABLE history (
    execution uuid   NOT NULL,
    sequence  bigint NOT NULL,
    at        bigint NOT NULL,
    body      bytea  NOT NULL,
    PRIMARY KEY (execution, sequence)
);

-- The status numbers are those of sprag_core::action::Status: 0 scheduled, 1 queued, 2 running, 3 retrying are open,
-- 5 is dead.
CREATE TABLE action (
    id         uuid     NOT NULL PRIMARY KEY,
    execution  uuid     NOT NULL,
    run_at     bigint   NOT NULL,
    created_at bigint   NOT NULL,
    shard      smallint NOT NULL,
    status     smallint NOT NULL,
    priority   smallint NOT NULL,
    machine    text COLLATE "C" NOT NULL,
    action_id  text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    line       text COLLATE "C" NOT NULL,
    error_kind text COLLATE "C",
    tags       text COLLATE "C",
    body       bytea    NOT NULL
) WITH (fillfactor = 70);

-- Read by actions::list with an execution.
CREATE INDEX action_execution ON action (execution, id);

-- Read by actions::OPEN_OF, actions::RUNNING and actions::OPEN. Partial: ended actions stay out.
CREATE INDEX action_open ON action (shard, status, execution, id) WHERE status <= 3;

-- Read by actions::ready and actions::LINES, which need nothing but the index. Partial: only queued actions wait in a line.
CREATE INDEX action_ready ON action (shard, line, priority DESC, run_at, id) INCLUDE (execution) WHERE status = 1;

-- Read by actions::DUE, which needs nothing but the index. Partial: only what waits for a time.
CREATE INDEX action_due ON action (shard, run_at, id) INCLUDE (execution) WHERE status IN (0, 3);

-- Read by actions::list with the status dead. Partial: only dead letters.
CREATE INDEX action_dead ON action (id) WHERE status = 5;

CREATE TABLE timer (
    execution   uuid     NOT NULL,
    visit       bigint   NOT NULL,
    due_at      bigint   NOT NULL,
    timer_index integer  NOT NULL,
    shard       smallint NOT NULL,
    schedule    text COLLATE "C",
    PRIMARY KEY (execution, visit, timer_index)
);

-- Read by timers::DUE. Fired timers are deleted, so it holds only open work.
CREATE INDEX timer_due ON timer (shard, due_at, execution, visit, timer_index);

CREATE TABLE inbox (
    execution uuid   NOT NULL,
    position  bigint NOT NULL,
    body      bytea  NOT NULL,
    PRIMARY KEY (execution, position)
);

CREATE TABLE receipt (
    execution uuid NOT NULL,
    message   text COLLATE "C" NOT NULL,
    answer    bytea NOT NULL,
    PRIMARY KEY (execution, message)
);

CREATE TABLE life (
    started_at bigint NOT NULL PRIMARY KEY,
    seen_at    bigint NOT NULL
);
