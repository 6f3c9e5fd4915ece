package sqlite

import (
	"context"
	"fmt"
)

// checkInBackground checks the files of an instance that was not shut down cleanly. SQLite needs no repair after that, but a
// disk that loses acknowledged writes does: better to learn of it before the last good backup expires.
func (e *Engine) checkInBackground() {
	ctx, cancel := context.WithCancel(context.Background())
	e.stopCheck = cancel
	e.check.Go(func() {
		for _, d := range e.files() {
			if err := d.quickCheck(ctx); ctx.Err() != nil {
				return
			} else if err != nil {
				e.log.Error("found damage after an unclean stop", "database", d.file, "error", err)
				e.damage.Store(&err)
				return
			}
		}
		e.checked.Store(true)
		e.log.Info("checked files after an unclean stop", "dir", e.dir)
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
