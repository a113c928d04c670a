-- Answers to requests with an Idempotency-Key, kept until they expire.
--
-- The rows keep their rowid: an answer may be large. Requests without a key never come near this table.

CREATE TABLE idempotency (
    scope      BLOB    NOT NULL PRIMARY KEY,
    digest     BLOB    NOT NULL,
    answer     BLOB    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- Read by idempotency::first_to_expire, which needs nothing but the index. Grows at its end only.
CREATE INDEX idempotency_expiry ON idempotency (expires_at, scope);
