-- Facts of the control shard: switches, overrides of limits, marks of the engine's own work.
--
-- Few rows, read whole when a lane begins and by key otherwise. The kinds are the numbers of records::FactKind.

-- Read by facts::of and facts::get.
CREATE TABLE fact (
    kind INTEGER NOT NULL,
    key  TEXT    NOT NULL,
    body BLOB    NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT;
