package app

import (
	"keepsake/internal/app/config"
	"keepsake/internal/base/vectors"
)

// newVectors returns what returns the table of vectors of words, as the setting recall.vectors says; nil for none. A file is read at
// once, so that a wrong one stops the start. Recall indexes exist only in memory, so they always fit the table of their process.
func newVectors(cfg *config.Config) (func() *vectors.Table, error) {
	switch cfg.Recall.Vectors {
	case config.On:
		return vectors.Builtin, nil
	case config.Off:
		return nil, nil
	}
	table, err := vectors.ReadFile(cfg.Recall.Vectors)
	if err != nil {
		return nil, &config.Error{Setting: "recall.vectors", Reason: cfg.Recall.Vectors + " " + err.Error()}
	}
	return func() *vectors.Table { return table }, nil
}
