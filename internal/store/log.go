package store

// Logging is implemented by engines whose databases are files of this process, each with a write-ahead log next to it.
type Logging interface {
	// Logs returns the state of every write-ahead log.
	Logs() []Log
}

// Log is a write-ahead log: what was written and is not in the file yet.
type Log struct {
	Database string // main, keys or usage
	Bytes    int64
	Max      int64 // from which it is too large
}

// LargeLog is the size from which a write-ahead log is too large. It stays far below while no reader prevents copying it into
// the file.
const LargeLog = 64 << 20
