package sqlite

import (
	"strings"

	"keepsake/internal/store"
)

var _ store.Logging = (*Engine)(nil)

// Logs implements store.Logging.
func (e *Engine) Logs() []store.Log {
	var list []store.Log
	for _, d := range e.files() {
		list = append(list, store.Log{Database: strings.TrimSuffix(d.file, ".db"), Bytes: d.writer.logSize(), Max: d.writer.opt.LargeLog})
	}
	return list
}
