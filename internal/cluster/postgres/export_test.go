package postgres

import "time"

// SetPatience changes how long a request waits for the database. Call it before Run.
func (c *Claims) SetPatience(d time.Duration) { c.patience = d }
