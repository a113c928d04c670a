-- Room beside each execution for what follows. Most steps leave its status, and so every index, as it was: a page with room takes the
-- new row beside the old one, no index is written, and the old row's place is used again. Half a page is what five steps in a
-- row need; without room each of them wrote three index entries.
ALTER TABLE execution SET (fillfactor = 50);
