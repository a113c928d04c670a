-- The audit: what principals decided. One chain a shard, each entry with the hash of the one before it. Nothing is ever deleted here.

-- Its end is read by audit::heads, one chain by audit::chain.
CREATE TABLE audit (
    chain     INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    principal TEXT    NOT NULL,
    verb      TEXT    NOT NULL,
    target    TEXT    NOT NULL,
    reason    TEXT,
    address   TEXT,
    refused   TEXT,
    before    TEXT,
    after     TEXT,
    previous  BLOB    NOT NULL,
    hash      BLOB    NOT NULL,
    PRIMARY KEY (chain, sequence)
) STRICT;

-- Read by audit::list: all chains together, newest first.
CREATE INDEX audit_at ON audit (at, chain, sequence);
