package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/store/postgres"
	schemas "keepsake/internal/store/schema"
)

// The numbers of migrations are used again, so a database of an unreleased build must never be taken for one of a release.
func TestUnreleasedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for how, statement := range map[string]string{
		"another version table":           "ALTER TABLE keepsake.schema_migration RENAME TO schema_version",
		"another version table of keys":   "ALTER TABLE keepsake_keys.schema_migration RENAME TO schema_version",
		"another migration":               "UPDATE keepsake.schema_migration SET hash = 'of an unreleased build' WHERE version_id = 1",
		"another migration of the usage":  "UPDATE keepsake_usage.schema_migration SET hash = 'of an unreleased build' WHERE version_id = 1",
		"a version table and no instance": "ALTER TABLE keepsake.schema_migration RENAME TO schema_version; DELETE FROM keepsake.instance",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			opt := patient(postgres.Options{URL: migrated(t)})
			open(t, opt).Close()
			exec(t, opt.URL, strings.Split(statement, ";")...)
			before := schema(t, opt.URL)
			for name, use := range map[string]func(ctx context.Context) error{
				"Open":     func(ctx context.Context) error { _, err := postgres.Open(ctx, opt); return err },
				"OpenView": func(ctx context.Context) error { _, err := postgres.OpenView(ctx, opt); return err },
				"Migrate":  func(ctx context.Context) error { return postgres.Migrate(ctx, opt) },
				"Exists":   func(ctx context.Context) error { _, err := postgres.Exists(ctx, opt); return err },
				"Holder":   func(ctx context.Context) error { _, err := postgres.Holder(ctx, opt); return err },
				"Examine":  func(ctx context.Context) error { _, err := postgres.Examine(ctx, opt, time.Now); return err },
			} {
				err := use(t.Context())
				if !errors.Is(err, schemas.ErrUnreleased) || !strings.Contains(err.Error(), " of PostgreSQL at ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %v", name, err)
				}
			}
			if diff := cmp.Diff(before, schema(t, opt.URL)); diff != "" {
				t.Errorf("a refusal changed it:\n%s", diff)
			}
		})
	}
}
