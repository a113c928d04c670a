//! Backups and restores: damaged downloads, planted triggers, foreign tables.
