package app_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
)

func TestAnEndpointHelpsStoresOfAnySize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		texts []string
		near  []string
	}{
		"one memory":     {aboutAda[:1], aboutAda[:1]},
		"three memories": {aboutAda[:3], aboutAda[:1]},
		"two near ones of 17": {
			slices.Concat(aboutAda, []string{"Mag Kaffee", "Sammelt alte Uhren", "Wohnt im dritten Stock", "Hat Angst vor Spinnen", "Kocht selten"}),
			[]string{aboutAda[0], "Mag Kaffee"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveVectors(t)
			p := apptest.Start(t, apptest.With(server.set))
			alpha, api := embeddingTenant(t, p, "alpha", c.texts...)
			useEmbeddings(t, p, alpha.workspace)
			for query, want := range map[string][]string{"Heißgetränk?": c.near, "Quantenphysik?": nil} {
				found, err := api.Recall(t.Context(), client.RecallQuery{SubjectID: "ada", Query: query})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range found.Results {
					got = append(got, r.Memory.Text)
				}
				slices.Sort(got)
				want = slices.Sorted(slices.Values(want))
				if !slices.Equal(got, want) || len(found.Degraded) > 0 {
					t.Errorf("%q finds %q, want %q; degraded %v", query, got, want, found.Degraded)
				}
			}
		})
	}
}

func TestAWorkspaceLeavesOthersTheirShareOfTheEndpoint(t *testing.T) {
	t.Parallel()
	server := serveVectors(t)
	clock := apptest.NewClock(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)) // the day does not end
	p := apptest.Start(t, apptest.Clock(clock.Now), apptest.With(server.set),
		apptest.With(func(c *config.Config) { c.Embeddings.DailyTexts = 40 }))
	operator, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	large, alpha := embeddingTenant(t, p, "alpha")
	small, beta := embeddingTenant(t, p, "beta")
	for _, id := range []string{large.workspace, small.workspace} {
		if _, err := operator.ChangeWorkspace(t.Context(), id, client.WorkspaceChange{Embeddings: client.To(true)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 {
		if _, err := alpha.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Text: fmt.Sprintf("Nummer %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "the first workspace has used its share", func() bool {
		stats, err := operator.CacheStats(t.Context())
		return err == nil && stats.Embeddings.State == "limited"
	})
	for _, text := range aboutAda[:3] {
		if _, err := beta.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "the memories of the second workspace have vectors", func() bool {
		stats, err := operator.CacheStats(t.Context())
		return err == nil && stats.Embeddings.Progress != nil && stats.Embeddings.Progress.WaitingSubjects == 1
	})
	if first, degraded := recallFirst(t, beta, "Heißgetränk?"); first != aboutAda[0] || len(degraded) > 0 {
		t.Errorf("%q is found, degraded %v", first, degraded)
	}
	if first, degraded := recallFirst(t, alpha, "Nummer 5?"); first == "" || len(degraded) > 0 {
		t.Errorf("a query of the first workspace finds %q, degraded %v", first, degraded)
	}
}
