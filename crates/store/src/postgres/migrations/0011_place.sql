-- Where a node is, such that no other process can be there while it is: whoever joins there has taken its place. An address that nodes
-- are told to use says no such thing. Read by nodes::OUST; null where it cannot be said.
ALTER TABLE node ADD COLUMN place text;
