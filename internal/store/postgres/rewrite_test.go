package postgres_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/enginetest"
)

func TestResealedSecretLeavesTheTableFile(t *testing.T) {
	t.Parallel()
	// A server of its own, because sessions of other tests would keep deleted rows readable.
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	url := server.Database(t)
	if err := postgres.Migrate(t.Context(), postgres.Options{URL: url}); err != nil {
		t.Fatal(err)
	}
	st := store.New(open(t, postgres.Options{URL: url}))
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	old, fresh := []byte("sealed with the old key"), []byte("sealed with the new key")
	inFile := func(sealed []byte) bool {
		t.Helper()
		server.Exec(t, "CHECKPOINT")
		var path string
		if err := conn.QueryRow(t.Context(), "SELECT pg_relation_filepath('keepsake_keys.wrapped_secret')").Scan(&path); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(server.Files(), "data", path))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(data, sealed)
	}
	secret := seal.Wrapped{Name: "a", Sealed: old, CreatedAt: time.Unix(1, 0)}
	if err := st.Secrets.AddSecrets(t.Context(), []seal.Wrapped{secret}); err != nil {
		t.Fatal(err)
	}
	secret.Sealed = fresh
	if err := st.Secrets.ResealSecrets(t.Context(), []seal.Wrapped{secret}); err != nil {
		t.Fatal(err)
	}
	if !inFile(old) {
		t.Fatal("the old secret is not in the file before, so the test proves nothing")
	}
	if err := st.Secrets.ScrubSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if inFile(old) || !inFile(fresh) {
		t.Error("the file does not hold the new one alone")
	}
	if err := st.Secrets.RemoveSecret(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if inFile(fresh) {
		t.Error("a secret that was removed is still in the file")
	}
}
