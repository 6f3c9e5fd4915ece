package programtest

import "keepsake/internal/testing/testtier"

// As runs the program as another user. The test is skipped if it cannot.
func As(uint32) Option {
	return func(l *launch) {
		l.t.Helper()
		testtier.Missing(l.t, "users that have a number, to run the program as another user")
	}
}
