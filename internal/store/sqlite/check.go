package sqlite

import (
	"context"
	"fmt"
)

// checkInBackground looks through the files of an instance that was not stopped in order. SQLite needs no repair after
// that, but a disk that lied may: better to hear of it now than when the last good backup is gone.
func (e *Engine) checkInBackground() {
	ctx, cancel := context.WithCancel(context.Background())
	e.stopCheck = cancel
	e.check.Go(func() {
		for _, d := range e.files() {
			if err := d.quickCheck(ctx); ctx.Err() != nil {
				return
			} else if err != nil {
				e.log.Error("damage found after an unclean stop", "database", d.file, "error", err)
				e.damage.Store(&err)
				return
			}
		}
		e.checked.Store(true)
		e.log.Info("checked after an unclean stop", "dir", e.dir)
	})
}

// quickCheck reads the whole file.
func (d *database) quickCheck(ctx context.Context) error {
	var finding string
	if err := d.readers.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&finding); err != nil {
		return fmt.Errorf("check %s: %w", d.file, err)
	}
	if finding != "ok" {
		// The finding names pages and tables, never content.
		return fmt.Errorf("%s is damaged: restore it from a backup (%s)", d.file, finding)
	}
	return nil
}
