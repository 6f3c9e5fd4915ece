-- +goose Up
-- keepsake: oldest 10, as before: the log has been one of administrators until now, and the index is made in a moment.

-- Rows about memories are by far the most, and nobody asks for one of their actions alone; what administrators did is
-- found among them by its action.
CREATE INDEX audit_log_action ON audit_log (action, id) WHERE action NOT LIKE 'memory.%';
