//! Database files: deleted, replaced, hard-linked, readable by others.
