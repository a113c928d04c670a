-- Read by search: actions by what their machine calls them. The only index on all actions beside that of their execution:
-- people ask for it most, and within a name its entries arrive in the order of time.
CREATE INDEX action_name ON action (action_id, id);
