-- What a commit sends, and what it is told when it is refused.

-- Rows as parameters: many at once, as an array. They are types of their own and not those of the tables, so that a column that a newer
-- program adds disturbs none that still runs.
CREATE TYPE execution_row AS (
    id         uuid,
    sequence   bigint,
    version    bigint,
    created_at bigint,
    updated_at bigint,
    shard      smallint,
    status     smallint,
    machine    text,
    key        text,
    tags       text,
    body       bytea,
    variables  bytea
);

CREATE TYPE action_row AS (
    id          uuid,
    execution   uuid,
    run_at      bigint,
    created_at  bigint,
    shard       smallint,
    status      smallint,
    priority    smallint,
    machine     text,
    action_id   text,
    kind        text,
    line        text,
    error_kind  text,
    tags        text,
    body        bytea,
    fingerprint text,
    died_at     bigint
);

CREATE TYPE history_row AS (
    execution uuid,
    sequence  bigint,
    at        bigint,
    body      bytea
);

-- What a refused commit says is looked up when it is: a statement pays for every part of it each time it runs, whether that part is needed
-- or not.

-- The first shard that another has by now. Called by lanes::FENCE.
CREATE FUNCTION sprag_refuse_fence(ids integer[], epochs bigint[]) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RETURN sprag_refuse('SPR02', (SELECT fence.id::text FROM unnest(ids, epochs) AS fence (id, epoch)
        LEFT JOIN shard ON shard.id = fence.id WHERE shard.epoch IS DISTINCT FROM fence.epoch ORDER BY fence.id LIMIT 1));
END
$$;

-- The first machine with a newer version than was decided on. Called by machines::EXPECT_NEWEST.
CREATE FUNCTION sprag_refuse_outdated(machines text[], versions bigint[]) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RETURN sprag_refuse('SPR04', (SELECT expected.machine FROM unnest(machines, versions) AS expected (machine, version)
        JOIN machine_version AS newer ON newer.machine = expected.machine AND newer.version > expected.version LIMIT 1));
END
$$;
