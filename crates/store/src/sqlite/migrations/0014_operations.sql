-- The catalog of operations, and plans: what was proposed, and what has been decided about it.

-- Versions are kept for ever: plans name them. The kinds are the numbers of records::CatalogKind.
CREATE TABLE catalog_version (
    kind       INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    digest     BLOB    NOT NULL,
    definition BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name, version)
) STRICT;

-- The status numbers are those of core::operation::WorkflowStatus: up to 2 a plan is open.
CREATE TABLE plan (
    id         BLOB    NOT NULL PRIMARY KEY,
    digest     BLOB    NOT NULL,
    content    BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    proposer   TEXT    NOT NULL,
    ticket     TEXT,
    risk       INTEGER NOT NULL,
    urgency    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    document   BLOB    NOT NULL,
    status     INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    decide_by  INTEGER,
    body       BLOB    NOT NULL
) STRICT;

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
CREATE INDEX plan_due ON plan (decide_by, id) WHERE decide_by IS NOT NULL;
