-- Nodes that share the database, and who owns which shard. Instants are UTC milliseconds of the database's clock.

-- One row per node: written by nodes::BEAT every few seconds, read by nodes::NODES and nodes::TAKE.
CREATE TABLE node (
    id          uuid    NOT NULL PRIMARY KEY,
    advertise   text    NOT NULL,
    version     text    NOT NULL,
    joined_at   bigint  NOT NULL,
    lease_until bigint  NOT NULL,
    is_leaving  boolean NOT NULL
) WITH (fillfactor = 50);

-- What nodes show each other: one row, written by the first heartbeat there ever is.
CREATE TABLE node_token (
    is_only boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (is_only),
    token   text    NOT NULL
);

-- Whose a shard is, alive or not; null when it was released. No index: there are as many rows as shards.
ALTER TABLE shard ADD COLUMN owner uuid;
