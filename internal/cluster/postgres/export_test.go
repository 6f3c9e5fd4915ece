package postgres

import "time"

// SetPatience changes how long anybody waits for the database. Call it before Run.
func (c *Claims) SetPatience(d time.Duration) { c.patience = d }
