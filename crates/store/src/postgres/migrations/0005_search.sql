-- Searches among very many closed executions.
--
-- Nothing here is written on the way of an execution that completes and of an action that succeeds.

-- Read by search: executions that were cancelled. Partial: those that are open or completed stay out.
CREATE INDEX execution_cancelled ON execution (id) WHERE status = 4;

-- Read by search: actions that were cancelled, skipped or archived. Partial: those that succeeded stay out.
CREATE INDEX action_over ON action (status, id) WHERE status >= 6;
