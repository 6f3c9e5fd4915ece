package app_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/memory/seal"
)

// If the master key is changed at two members at once, one change succeeds. The new key file of that member opens the
// secrets; the other member reports that it needs the new key.
func TestConcurrentMasterKeyChangesHappenOnce(t *testing.T) {
	t.Parallel()
	p := startPair(t, apptest.Database(t), nil)
	var all sync.WaitGroup
	errs := make([]error, 2)
	for i, r := range []*apptest.Running{p.a, p.b} {
		all.Go(func() {
			_, errs[i] = client.OverSocket(instance.SocketPath(r.Config.Data)).RotateMasterKey(t.Context(), "")
		})
	}
	all.Wait()
	won := 0
	for i, r := range []*apptest.Running{p.a, p.b} {
		if errs[i] == nil {
			won++
			continue
		}
		var refused *client.Error
		if !errors.As(errs[i], &refused) || refused.Status != http.StatusConflict {
			t.Errorf("member %d: %v, want a conflict", i, errs[i])
		}
		if _, err := os.Stat(filepath.Join(r.Config.Data, "master.key.next")); err == nil {
			t.Errorf("member %d keeps a key that is nobody's", i)
		}
	}
	if won != 1 {
		t.Fatalf("%d changes of two succeeded: %v", won, errs)
	}
	keys := map[seal.MasterKey]bool{}
	for _, r := range []*apptest.Running{p.a, p.b} {
		key, err := seal.LoadMasterKey(filepath.Join(r.Config.Data, "master.key"))
		if err != nil {
			t.Fatal(err)
		}
		keys[key] = true
	}
	if len(keys) != 2 {
		t.Error("the keys are the same: nothing has changed")
	}
	// A process that starts with the winner's file finds everything.
	winner := p.a
	if errs[0] != nil {
		winner = p.b
	}
	key, err := os.ReadFile(filepath.Join(winner.Config.Data, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	third := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data, c.DatabaseURL = dir, p.url }))
	if status, _, body := operator(t, p.a).on(third).send("GET", "/api/v1/developer/whoami", "", false); status != http.StatusOK {
		t.Errorf("with the winner's key a third member answers %d %s", status, body)
	}
}
