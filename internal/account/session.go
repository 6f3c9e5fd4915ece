package account

import "context"

// Sessions is told when what a user's sessions may do has changed. Both methods join the unit of work of that change and
// take effect, also for tokens that were checked before, when it commits.
type Sessions interface {
	// EndUser ends every session of a user: it was disabled or deleted, or its password was set by somebody else.
	EndUser(ctx context.Context, userID string) error
	// UserChanged makes the tokens of a user follow its role of now. Its sessions go on.
	UserChanged(ctx context.Context, userID string)
}
