-- The audit: what principals decided. One chain a shard, each entry with the hash of the one before it. Nothing is ever deleted here.

-- Its end is read by audit::HEADS, one chain by audit::CHAIN.
CREATE TABLE audit (
    chain     bigint NOT NULL,
    sequence  bigint NOT NULL,
    at        bigint NOT NULL,
    principal text COLLATE "C" NOT NULL,
    verb      text COLLATE "C" NOT NULL,
    target    text COLLATE "C" NOT NULL,
    reason    text COLLATE "C",
    address   text COLLATE "C",
    refused   text COLLATE "C",
    before    text COLLATE "C",
    after     text COLLATE "C",
    previous  bytea  NOT NULL,
    hash      bytea  NOT NULL,
    PRIMARY KEY (chain, sequence)
);

-- Read by audit::LIST: all chains together, newest first.
CREATE INDEX audit_at ON audit (at, chain, sequence);
