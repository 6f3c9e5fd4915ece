package postgres

import "time"

// SetTimeout changes how long a request waits for the database. Call it before Run.
func (c *Claims) SetTimeout(d time.Duration) { c.timeout = d }
