-- Histories are in the order of their key in SQLite's file from this step on. Here a table has no order, so this step does
-- what serves histories here: their rows never change, so pages are filled to the brim (they are by default), and only
-- inserts ever call for a vacuum, which may come late.
ALTER TABLE history SET (autovacuum_vacuum_insert_scale_factor = 0.5);
