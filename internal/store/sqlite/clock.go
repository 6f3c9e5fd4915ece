package sqlite

// Clock implements store.Clocked.
func (*Engine) Clock() string { return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)" }
