-- Histories in the order of their key, without a rowid: entries are small, so most stand in one tree instead of two, and a
-- commit writes a page less. A rare large one (a message's payload) goes into pages of its own.

CREATE TABLE history_by_key (
    execution BLOB    NOT NULL,
    sequence  INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    PRIMARY KEY (execution, sequence)
) STRICT, WITHOUT ROWID;

INSERT INTO history_by_key SELECT execution, sequence, at, body FROM history ORDER BY execution, sequence;

DROP TABLE history;

ALTER TABLE history_by_key RENAME TO history;
