package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/enginetest"
)

// pooled returns the URL of an empty database behind a PgBouncer, and that of the database itself.
func pooled(t *testing.T, settings map[string]string) (through, direct string) {
	t.Helper()
	s := enginetest.SharedPostgres(t)
	database := s.NewDatabase(t)
	return enginetest.PgBouncerURL(s.PgBouncer(t, settings), database), s.URL(database)
}

func TestPoolerInSessionModeWorksWithItsDefaults(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{
		"defaults":               nil,
		"search_path is ignored": {"ignore_startup_parameters": "search_path,statement_timeout,lock_timeout"},
		"sessions are not reset": {"server_reset_query": ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through, direct := pooled(t, settings)
			for range 3 { // later engines get the sessions of earlier ones
				e, err := postgres.Open(t.Context(), postgres.Options{URL: through})
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Ready(t.Context()); err != nil {
					t.Error(err)
				}
				var timeout, path, only string
				err = e.Main().In(t.Context()).QueryRow(t.Context(),
					"SELECT current_setting('statement_timeout'), current_setting('search_path'), current_setting('default_transaction_read_only')").Scan(&timeout, &path, &only)
				if err != nil || timeout != "30s" || path != "keepsake" || only != "on" {
					t.Errorf("a reading session has %s, %s, %s: %v", timeout, path, only, err)
				}
				err = e.Main().Run(t.Context(), func(ctx context.Context) error {
					return e.Main().In(ctx).QueryRow(ctx,
						"SELECT current_setting('statement_timeout'), current_setting('search_path'), current_setting('default_transaction_read_only')").Scan(&timeout, &path, &only)
				})
				if err != nil || timeout != "10s" || path != "keepsake" || only != "off" {
					t.Errorf("a writing session has %s, %s, %s: %v", timeout, path, only, err)
				}
				for range 2 {
					if err := e.Alone(t.Context(), "test", func(context.Context) error { return nil }); err != nil {
						t.Error(err)
					}
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
			if n := enginetest.Count(t, direct, "public", "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"); n != 0 {
				t.Errorf("%d relations are in the schema public", n)
			}
			facts, err := postgres.Examine(t.Context(), postgres.Options{URL: through}, time.Now)
			if err != nil || !facts.Pooled || facts.Instance == "" {
				t.Errorf("examine: %+v, %v", facts, err)
			}
		})
	}
}

func TestSettingsInTheURLAreSetAfterConnecting(t *testing.T) {
	t.Parallel()
	through, _ := pooled(t, nil)
	e, err := postgres.Open(t.Context(), postgres.Options{
		URL: through + `?statement_timeout=7s&options=-c%20work_mem%3D8MB%20--timezone%3DAsia/Tokyo%20-csearch_path%3Dpublic&application_name=mine`,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var got string
	err = e.Main().In(t.Context()).QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('work_mem'),
		current_setting('timezone'), current_setting('search_path'), current_setting('application_name'))`).Scan(&got)
	if want := "7s 8MB Asia/Tokyo keepsake mine"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	_, err = postgres.Open(t.Context(), postgres.Options{URL: through + "?options=-d"})
	if err == nil || !strings.Contains(err.Error(), "options can contain only settings") {
		t.Errorf("got %v", err)
	}
}

func TestPoolerThatSharesSessionsIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings map[string]string
		want     string
	}{
		"transaction":            {map[string]string{"pool_mode": "transaction"}, "behind a pooler in transaction mode"},
		"transaction, in turns":  {map[string]string{"pool_mode": "transaction", "server_round_robin": "1", "min_pool_size": "3"}, "behind a pooler in transaction mode"},
		"transaction, one":       {map[string]string{"pool_mode": "transaction", "default_pool_size": "1"}, "behind a pooler in transaction mode"},
		"transaction, parameter": {map[string]string{"pool_mode": "transaction", "ignore_startup_parameters": "search_path"}, "behind a pooler in transaction mode"},
		"statement":              {map[string]string{"pool_mode": "statement"}, "behind a pooler in statement mode"},
		"a pool of one":          {map[string]string{"default_pool_size": "1"}, "keeps a second connection waiting: increase default_pool_size"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through, direct := pooled(t, c.settings)
			opt := postgres.Options{URL: through, Connect: time.Second}
			check := func(what string, err error) {
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: got %v, want %q", what, err, c.want)
				}
			}
			e, err := postgres.Open(t.Context(), opt)
			check("open", err)
			if err == nil {
				e.Close()
			}
			check("migrate", postgres.Migrate(t.Context(), opt))
			_, err = postgres.Examine(t.Context(), opt, time.Now)
			check("examine", err)
			_, err = postgres.Open(t.Context(), postgres.Options{URL: direct, KeysURL: through, Connect: time.Second})
			check("open with keys behind it", err)
			if n := enginetest.Count(t, direct, "public", "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"); n != 0 {
				t.Errorf("%d relations are in the schema public", n)
			}
		})
	}
}
