-- The catalog of operations, and plans: what was proposed, and what has been decided about it.

-- Versions are kept for ever: plans name them. The kinds are the numbers of records::CatalogKind.
CREATE TABLE catalog_version (
    kind       smallint NOT NULL,
    name       text COLLATE "C" NOT NULL,
    version    bigint   NOT NULL,
    digest     bytea    NOT NULL,
    definition bytea    NOT NULL,
    created_at bigint   NOT NULL,
    PRIMARY KEY (kind, name, version)
);

-- The status numbers are those of core::operation::WorkflowStatus: up to 2 a plan is open.
CREATE TABLE plan (
    id         uuid     NOT NULL PRIMARY KEY,
    created_at bigint   NOT NULL,
    updated_at bigint   NOT NULL,
    decide_by  bigint,
    shard      smallint NOT NULL,
    status     smallint NOT NULL,
    risk       smallint NOT NULL,
    urgency    smallint NOT NULL,
    name       text COLLATE "C" NOT NULL,
    proposer   text COLLATE "C" NOT NULL,
    ticket     text COLLATE "C",
    digest     bytea    NOT NULL,
    content    bytea    NOT NULL,
    document   bytea    NOT NULL,
    body       bytea    NOT NULL
);

-- Read by plans::LIST: the runs of one operation, what one principal proposed, what belongs to one ticket, one status.
CREATE INDEX plan_name ON plan (name, id);
CREATE INDEX plan_proposer ON plan (proposer, id);
CREATE INDEX plan_ticket ON plan (ticket, id) WHERE ticket IS NOT NULL;
CREATE INDEX plan_status ON plan (status, id);

-- Read by plans::WAITING: most urgent first. Partial: only what waits for a person.
CREATE INDEX plan_waiting ON plan (urgency, id) WHERE status = 1;

-- Read by plans::OPEN. Partial: only what is open.
CREATE INDEX plan_open ON plan (proposer, id) WHERE status <= 2;

-- Read by plans::DUE. Partial: what was decided never expires.
CREATE INDEX plan_due ON plan (shard, decide_by, id) WHERE decide_by IS NOT NULL;
