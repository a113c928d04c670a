-- Facts of the control shard: switches, overrides of limits, marks of the engine's own work.
--
-- Few rows, read whole when a lane begins and by key otherwise. The kinds are the numbers of records::FactKind.

-- Read by facts::OF and facts::GET.
CREATE TABLE fact (
    kind smallint NOT NULL,
    key  text COLLATE "C" NOT NULL,
    body bytea    NOT NULL,
    PRIMARY KEY (kind, key)
);
