package instance_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/backup"
	"keepsake/internal/testing/enginetest"
)

// unreleasedFolder makes a file of a stopped instance's folder one of an unreleased build.
func unreleasedFolder(t *testing.T, dir, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE schema_migration SET hash = 'of an unreleased build' WHERE version_id = 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func unreleasedDatabase(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "ALTER TABLE keepsake.schema_migration RENAME TO schema_version"); err != nil {
		t.Fatal(err)
	}
}

// wantUnreleased wants one sentence about a place, and another kind of refusal as well if also is not nil.
func wantUnreleased(t *testing.T, err, also error, about string) {
	t.Helper()
	switch {
	case !errors.Is(err, instance.ErrUnreleased), also != nil && !errors.Is(err, also):
		t.Errorf("got %v", err)
	case !strings.HasPrefix(err.Error(), about), strings.Count(err.Error(), " was created by an unreleased build of Keepsake") != 1,
		!strings.HasSuffix(err.Error(), "create API keys and users again"), strings.Contains(err.Error(), "\n"):
		t.Errorf("%s: got %v", about, err)
	}
}

// stopped is the folder of an instance that was started once.
func stopped(t *testing.T, p instance.Place) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	t.Run("start", func(t *testing.T) { apptest.Start(t, at(dir, p)) })
	return dir
}

func TestUnreleasedBackupIsRefused(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "a backup has the same files, whichever engine it is from")
	released := stopped(t, instance.Place{})
	key := instance.MasterKeyPath(released)
	write := func(t *testing.T, dir string, kind backup.Kind) string {
		t.Helper()
		w, err := backup.Write(backup.Archive{
			Path: filepath.Join(t.TempDir(), string(kind)), Dir: dir,
			Header: backup.Header{Kind: kind, Instance: "it", Snapshot: "one", MadeAt: time.Now()},
		})
		if err != nil {
			t.Fatal(err)
		}
		return w.Path
	}
	for _, file := range []string{"main.db", "usage.db", "keys.db"} {
		for _, toDatabase := range []bool{false, true} {
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "d")
				if err := os.CopyFS(dir, os.DirFS(released)); err != nil {
					t.Fatal(err)
				}
				unreleasedFolder(t, dir, file)
				data, keys := write(t, dir, backup.Data), write(t, dir, backup.Keys)
				about := "the backup " + data
				if file == "keys.db" {
					about = "the backup " + keys
				}
				cfg := apptest.Local(t, filepath.Join(t.TempDir(), "restored"))
				if toDatabase {
					cfg.DatabaseURL = enginetest.Postgres(t)
				}
				_, err := instance.Restore(t.Context(), cfg, apptest.InstanceOptions(), instance.RestoreRequest{Data: data, Keys: keys, MasterKeyFile: key})
				wantUnreleased(t, err, nil, about)
				if _, err := os.Stat(cfg.Data); !os.IsNotExist(err) {
					t.Errorf("the folder is there: %v", err)
				}
			})
		}
	}
}

func TestUnreleasedTargetIsLeftAlone(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "it names the databases itself")
	released, old := stopped(t, instance.Place{}), stopped(t, instance.Place{})
	unreleasedFolder(t, old, "main.db")
	url := enginetest.Postgres(t)
	stopped(t, instance.Place{DatabaseURL: url})
	unreleasedDatabase(t, url)
	about := func(cfg config.Config) string {
		if cfg.DatabaseURL == "" {
			return "the data folder " + old
		}
		return "the schema keepsake of PostgreSQL at "
	}
	for _, target := range []config.Config{apptest.Local(t, old), inDatabase(apptest.Local(t, filepath.Join(t.TempDir(), "new")), url)} {
		_, err := instance.Restore(t.Context(), target, apptest.InstanceOptions(), instance.RestoreRequest{
			Data: "not read", Keys: "not read", MasterKeyFile: instance.MasterKeyPath(released),
		})
		wantUnreleased(t, err, instance.ErrNotEmpty, about(target))
		for mode, also := range map[instance.Mode]error{
			instance.OpenOrCreate: nil, instance.OpenExisting: nil, instance.CreateNew: instance.ErrInitialised,
		} {
			opt := apptest.InstanceOptions()
			opt.Mode = mode
			_, err := instance.Open(t.Context(), &target, opt)
			wantUnreleased(t, err, also, about(target))
		}
		place := instance.Place{Folder: target.Data}
		if target.DatabaseURL != "" {
			if _, err := os.Stat(target.Data); !os.IsNotExist(err) {
				t.Errorf("the folder beside the database is there: %v", err)
			}
			place = instance.Place{DatabaseURL: target.DatabaseURL}
		}
		_, err = moved(t, t.Context(), instance.Place{Folder: released}, place, nil)
		wantUnreleased(t, err, instance.ErrOccupied, about(target))
		empty := filepath.Join(t.TempDir(), "empty")
		_, err = moved(t, t.Context(), place, instance.Place{Folder: empty}, nil)
		wantUnreleased(t, err, nil, about(target))
		if _, err := os.Stat(empty); !os.IsNotExist(err) {
			t.Errorf("the target is there: %v", err)
		}
		_, err = instance.VerifyAudit(t.Context(), target, "")
		wantUnreleased(t, err, nil, about(target))
	}
}

func inDatabase(cfg config.Config, url string) config.Config {
	cfg.DatabaseURL = url
	return cfg
}
