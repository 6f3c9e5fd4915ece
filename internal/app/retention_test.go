package app_test

import (
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/testing/await"
)

// Old reads go at a start, changes stay, and the log verifies: served, after the master key was changed, and after a restore
// of a backup from before, whose old reads go again.
func TestOldReadsGoAndTheLogVerifies(t *testing.T) {
	t.Parallel()
	whole := t // whose folders outlive those of the parts
	dir := t.TempDir()
	apptest.DatabaseURL(t, dir)
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var data, keys, restored, key string

	serve := func(name, dir string, at time.Time, test func(t *testing.T, p *apptest.Running, n *tenant)) {
		t.Run(name, func(t *testing.T) {
			p := apptest.Start(t, apptest.Clock(apptest.NewClock(at).Now), apptest.With(func(c *config.Config) {
				c.Data, c.Audit.ReadRetentionDays = dir, 30
			}))
			if key == "" {
				key = p.Key
			}
			test(t, p, &tenant{t: t, base: p.URL, key: key})
		})
	}
	recall := func(n *tenant) {
		n.make("POST", "/api/v1/memories/recall", `{"subjectId":"person-1","query":"tea"}`)
	}
	expect := func(t *testing.T, p *apptest.Running, key string, recalls, created, removals int) {
		t.Helper()
		var got map[string]int
		await.Until(t, "the old reads to be removed", func() bool {
			got = map[string]int{}
			for _, e := range export(t, p, key) {
				got[e.Action]++
			}
			return got["memory.recalled"] == recalls
		})
		if got["memory.created"] != created || got["audit.reads_removed"] != removals {
			t.Errorf("the log has %v, want %d created and %d removals", got, created, removals)
		}
		c, err := client.New(p.URL, key)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := c.VerifyAuditLog(t.Context()); err != nil || !v.OK {
			t.Errorf("the log: %+v, %v", v, err)
		}
	}

	serve("first", dir, began, func(t *testing.T, p *apptest.Running, n *tenant) {
		n.remember("person-1", "She likes tea.")
		for range 3 {
			recall(n)
		}
		n.remember("person-1", "He likes tea, too.")
		expect(t, p, n.key, 3, 2, 0)
		data, keys = backUp(whole, dir)
	})
	serve("later", dir, began.AddDate(0, 0, 40), func(t *testing.T, p *apptest.Running, n *tenant) {
		expect(t, p, n.key, 0, 2, 1)
		recall(n)
		expect(t, p, n.key, 1, 2, 1)
		restored = restore(whole, p, data, keys, instance.JournalPath(dir))
		if _, err := client.OverSocket(instance.SocketPath(dir)).RotateMasterKey(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		expect(t, p, n.key, 1, 2, 1)
	})
	serve("again", dir, began.AddDate(0, 0, 41), func(t *testing.T, p *apptest.Running, n *tenant) {
		expect(t, p, n.key, 1, 2, 1)
	})
	serve("restored", restored, began.AddDate(0, 0, 42), func(t *testing.T, p *apptest.Running, n *tenant) {
		expect(t, p, n.key, 0, 2, 1)
		recall(n)
		expect(t, p, n.key, 1, 2, 1)
	})
	for _, dir := range []string{dir, restored} {
		v, err := instance.VerifyAudit(t.Context(), config.Config{Data: dir, DatabaseURL: apptest.DatabaseURL(t, dir)}, "")
		if err != nil || v.Break() != nil {
			t.Errorf("without the server: %v, %v", v, err)
		}
	}
}
