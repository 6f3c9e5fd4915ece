package app_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// storedVectors reads the encrypted vectors of an instance that is not served.
func storedVectors(t *testing.T, c config.Config) (list [][]byte) {
	t.Helper()
	var engine store.Engine
	var err error
	log := slog.New(slog.DiscardHandler)
	if c.DatabaseURL != "" {
		e, opened := postgres.Open(t.Context(), postgres.Options{URL: c.DatabaseURL, KeysURL: c.KeysURL, Log: log})
		if err = opened; err == nil {
			defer e.Close()
		}
		engine = e
	} else {
		e, opened := sqlite.Open(t.Context(), sqlite.Options{Dir: c.Data, Log: log})
		if err = opened; err == nil {
			defer e.Close()
		}
		engine = e
	}
	if err != nil {
		t.Fatal(err)
	}
	rows, err := engine.Main().In(t.Context()).Query(t.Context(), `SELECT sealed FROM memory_vector`)
	if err != nil {
		t.Fatal(err)
	}
	err = store.ForEach(rows, func(row store.Row) error {
		var sealed []byte
		err := row.Scan(&sealed)
		list = append(list, sealed)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// wantSealed checks that there are n vectors, none of which is readable: that of a short text is nearly all zeros.
func wantSealed(t *testing.T, list [][]byte, n int) {
	t.Helper()
	if len(list) != n {
		t.Errorf("%d vectors are stored, want %d", len(list), n)
	}
	for i, v := range list {
		if len(v) < 256 || bytes.Contains(v, make([]byte, 16)) {
			t.Errorf("a vector of %d bytes is not encrypted", len(v))
		}
		for _, other := range list[:i] {
			if bytes.Equal(v, other) {
				t.Error("two vectors are equal")
			}
		}
	}
}

// keptVectors is an instance with an endpoint, whose folder and database are stored or moved elsewhere.
type keptVectors struct {
	server   *vectorServer
	key      string // of the operator
	tenant   string // API key of a workspace that uses the endpoint
	memories int    // with vectors
}

func (k *keptVectors) client(t *testing.T, p *apptest.Running, key string) *client.Client {
	t.Helper()
	c, err := client.New(p.URL, key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fill begins to use the endpoint.
func (k *keptVectors) fill(t *testing.T, p *apptest.Running) {
	t.Helper()
	alpha, c := embeddingTenant(t, p, "alpha", aboutAda...)
	if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ben", Text: aboutAda[0]}); err != nil {
		t.Fatal(err)
	}
	useEmbeddings(t, p, alpha.workspace)
	// The memories about ada, the one about ben, and three that every tenant has. The sentences that calibrate the endpoint are not stored.
	k.key, k.tenant, k.memories = p.Key, alpha.key, len(aboutAda)+1+3
	k.finds(t, p)
}

// finds checks that vectors of memories are compared, for which no memory is sent again, and that new memories get one.
func (k *keptVectors) finds(t *testing.T, p *apptest.Running) {
	t.Helper()
	operator, c := k.client(t, p, k.key), k.client(t, p, k.tenant)
	awaitVectors(t, operator)
	_, before := k.server.got()
	if first, degraded := recallFirst(t, c, "Heißgetränk?"); first != aboutAda[0] || len(degraded) > 0 {
		t.Errorf("%q is found, degraded %v", first, degraded)
	}
	for i, text := range aboutAda {
		want := 1
		if i == 0 {
			want = 2 // it is a memory of two subjects
		}
		if n := count(before, text); n != want {
			t.Errorf("%q was sent %d times, want %d", text, n, want)
		}
	}
}

func count(texts []string, text string) (n int) {
	for _, one := range texts {
		if one == text {
			n++
		}
	}
	return n
}

// erase adds a memory, which gets a vector, and erases its subject.
func (k *keptVectors) erase(t *testing.T, p *apptest.Running) {
	t.Helper()
	operator, c := k.client(t, p, k.key), k.client(t, p, k.tenant)
	if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Text: "Sammelt alte Landkarten"}); err != nil {
		t.Fatal(err)
	}
	awaitVectors(t, operator)
	if _, texts := k.server.got(); !slices.Contains(texts, "Sammelt alte Landkarten") {
		t.Error("a new memory was not sent")
	}
	if _, err := c.EraseSubject(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if first, _ := recallFirst(t, c, "Heißgetränk?"); first != "" {
		t.Errorf("%q is found after an erasure", first)
	}
}

func TestVectorsAreInBackups(t *testing.T) {
	t.Parallel()
	k := &keptVectors{server: serveVectors(t)}
	var restored config.Config
	t.Run("before", func(t *testing.T) {
		p := apptest.Start(t, apptest.With(k.server.set))
		k.fill(t, p)
		data, keys := backUp(t, p.Config.Data)
		restored = apptest.Local(t, restore(t, p, data, keys, instance.JournalPath(p.Config.Data)))
		t.Run("restored", func(t *testing.T) {
			again := apptest.Start(t, apptest.With(func(c *config.Config) {
				c.Data, c.DatabaseURL = restored.Data, restored.DatabaseURL
				k.server.set(c)
			}))
			k.finds(t, again)
		})
		wantSealed(t, storedVectors(t, restored), k.memories)
		t.Run("erased", func(t *testing.T) {
			again := apptest.Start(t, apptest.With(func(c *config.Config) {
				c.Data, c.DatabaseURL = restored.Data, restored.DatabaseURL
				k.server.set(c)
			}))
			k.erase(t, again)
		})
		wantSealed(t, storedVectors(t, restored), k.memories-len(aboutAda))
	})
}

// carryFiles copies the files outside the databases, as an operator does after a move.
func carryFiles(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		instance.MasterKeyPath(from), instance.JournalPath(from), filepath.Join(from, "audit.checkpoints"), filepath.Join(from, "backend-secret"),
	} {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(path)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestVectorsMoveToADatabaseAndBack(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "it begins in a folder, and goes through a database by itself")
	testtier.Long(t, "starts the program three times and moves its data twice")
	k := &keptVectors{server: serveVectors(t)}
	at := func(c *config.Config, folder string, p instance.Place) {
		c.Data, c.DatabaseURL, c.KeysURL = folder, p.DatabaseURL, p.KeysURL
		k.server.set(c)
	}
	old := t.TempDir()
	t.Run("before", func(t *testing.T) {
		k.fill(t, apptest.Start(t, apptest.With(func(c *config.Config) { at(c, old, instance.Place{}) })))
	})
	move := func(from, to instance.Place) {
		t.Helper()
		if _, err := instance.Move(t.Context(), apptest.InstanceOptions(), instance.MoveRequest{From: from, To: to}); err != nil {
			t.Fatal(err)
		}
	}
	database := instance.Place{DatabaseURL: enginetest.Postgres(t), KeysURL: enginetest.Postgres(t)}
	move(instance.Place{Folder: old}, database)
	served := filepath.Join(t.TempDir(), "served")
	carryFiles(t, old, served)
	t.Run("on the database", func(t *testing.T) {
		k.finds(t, apptest.Start(t, apptest.With(func(c *config.Config) { at(c, served, database) })))
	})
	wantSealed(t, storedVectors(t, config.Config{DatabaseURL: database.DatabaseURL, KeysURL: database.KeysURL}), k.memories)
	back := filepath.Join(t.TempDir(), "back")
	move(database, instance.Place{Folder: back})
	carryFiles(t, served, back)
	t.Run("in a folder again", func(t *testing.T) {
		p := apptest.Start(t, apptest.With(func(c *config.Config) { at(c, back, instance.Place{}) }))
		k.finds(t, p)
		k.erase(t, p)
	})
	wantSealed(t, storedVectors(t, config.Config{Data: back}), k.memories-len(aboutAda))
}
