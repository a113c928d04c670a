-- What the supervisor remembers of its workers. One row for each part of a worker; the body is JSON.
CREATE TABLE document (
    worker     TEXT    NOT NULL,
    part       TEXT    NOT NULL,
    -- Distinguishes documents of one part; empty for parts that have one.
    name       TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (worker, part, name)
) STRICT, WITHOUT ROWID;

-- One row: how often the file was opened. A cursor of an earlier life is not continued.
CREATE TABLE life (
    only  INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    count INTEGER NOT NULL
) STRICT;
INSERT INTO life (only, count) VALUES (1, 0);
