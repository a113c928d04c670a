-- What people look up. Neither index is written on the way of an execution that completes, or of a timer without a schedule.

-- Read by letters::GROUP and letters::NEXT: groups of dead letters, with their first and last death, from the
-- index alone. Partial: only dead letters.
CREATE INDEX action_dead_group ON action (fingerprint, died_at, id, status) WHERE status = 5;

-- Read by timers::SCHEDULES. Partial: only schedules.
CREATE INDEX timer_schedule ON timer (due_at, execution, visit, timer_index) WHERE schedule IS NOT NULL;
