-- Answers to requests with an Idempotency-Key, kept until they expire. Requests without a key never come near this table.

CREATE TABLE idempotency (
    scope      bytea    NOT NULL PRIMARY KEY,
    shard      smallint NOT NULL,
    digest     bytea    NOT NULL,
    answer     bytea    NOT NULL,
    expires_at bigint   NOT NULL
);

-- Read by idempotency::FIRST_TO_EXPIRE, which needs nothing but the index.
CREATE INDEX idempotency_expiry ON idempotency (shard, expires_at, scope);
