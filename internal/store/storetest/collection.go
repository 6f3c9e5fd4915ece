package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

// saveSettings writes the next revision of the settings of a collection of wsp_a; nil removes them.
func saveSettings(t *testing.T, s *store.Store, name string, settings *collection.Settings) (change int64) {
	t.Helper()
	noError(t, s.Run(t.Context(), func(ctx context.Context) error {
		c, err := s.Documents.HoldCollection(ctx, "wsp_a", name)
		if err != nil {
			return err
		}
		at := documentTime(0)
		if c.Revision++; settings == nil {
			c.Settings, c.UpdatedAt = nil, nil
		} else {
			c.Settings, c.UpdatedAt = settings, &at
		}
		change, err = s.Documents.SaveSettings(ctx, "wsp_a", c, nil)
		return err
	}))
	return change
}

// collectionsOf lists the collections of a workspace with the numbers of their documents.
func collectionsOf(t *testing.T, s *store.Store, workspaceID string) string {
	t.Helper()
	list, err := s.Documents.ListCollections(t.Context(), workspaceID, "", 100)
	noError(t, err)
	var all []string
	for _, c := range list {
		all = append(all, fmt.Sprintf("%s %d", c.Name, c.Documents))
	}
	return strings.Join(all, ", ")
}

func testCollection(t *testing.T, setup setup) {
	settings := &collection.Settings{
		Language: "de", Fields: map[string]float64{"title": 2, "metadata.by": 0.5},
		Synonyms: []collection.Synonym{{Words: []string{"Öl", "petroleum"}}, {From: "tv", To: []string{"television"}}, {List: collection.English}},
	}

	t.Run("DocumentsAreCountedByCollection", func(t *testing.T) {
		s := setup(t)
		in := func(id, name string) *document.Document {
			d := newDocument(id)
			d.Collection = name
			return d
		}
		for _, d := range []*document.Document{in("1", "b"), in("2", "b"), in("3", "a"), in("1", "b"), in("2", "c")} {
			_, err := s.Documents.PutDocument(t.Context(), "wsp_a", d, put())
			noError(t, err)
		}
		if got, want := collectionsOf(t, s, "wsp_a"), "a 1, b 1, c 1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		_, err := s.Documents.PutDocuments(t.Context(), "wsp_a", []document.Write{{Document: in("4", "b")}, {Document: in("5", "d")}, {Document: in("4", "a")}})
		noError(t, err)
		noError(t, s.Documents.DeleteDocument(t.Context(), "wsp_a", "2", nil))
		if got, want := collectionsOf(t, s, "wsp_a"), "a 2, b 1, d 1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		_, err = s.Documents.DeleteDocuments(t.Context(), "wsp_a", []string{"1", "3", "4", "5", "none"})
		noError(t, err)
		if got := collectionsOf(t, s, "wsp_a"); got != "" {
			t.Errorf("without documents there are %s", got)
		}
		_, err = s.Documents.PutDocument(t.Context(), "wsp_b", in("1", "b"), document.Put{Max: new(int64(1))})
		noError(t, err)
		_, err = s.Documents.PutDocument(t.Context(), "wsp_b", in("2", "c"), document.Put{Max: new(int64(1))})
		wantProblem(t, err, problem.Conflict, problem.CodeLimitReached)
		if got := collectionsOf(t, s, "wsp_a") + collectionsOf(t, s, "wsp_b"); got != "b 1" {
			t.Errorf("the other workspace has %s", got)
		}
	})

	t.Run("SettingsComeBackAndAreChanges", func(t *testing.T) {
		s := setup(t)
		_, err := s.Documents.Collection(t.Context(), "wsp_a", "notes")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		if change := saveSettings(t, s, "notes", settings); change != 1 {
			t.Errorf("the change is %d", change)
		}
		at := documentTime(0)
		want := &collection.Collection{Name: "notes", Settings: settings, Revision: 1, UpdatedAt: &at}
		got, err := s.Documents.Collection(t.Context(), "wsp_a", "notes")
		noError(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		all, err := s.Documents.CollectionSettings(t.Context(), "wsp_a")
		noError(t, err)
		if diff := cmp.Diff([]collection.Collection{*want}, all); diff != "" {
			t.Error(diff)
		}
		d := newDocument("d")
		d.Collection = "notes"
		_, err = s.Documents.PutDocument(t.Context(), "wsp_a", d, put())
		noError(t, err)
		noError(t, s.Documents.DeleteDocument(t.Context(), "wsp_a", "d", nil))
		if got := collectionsOf(t, s, "wsp_a"); got != "notes 0" {
			t.Errorf("a collection with settings but no documents: %q", got)
		}
		changes, _, err := s.Documents.FollowDocuments(t.Context(), "wsp_a", document.Following{Limit: 10})
		noError(t, err)
		if diff := cmp.Diff([]document.Change{{Number: 1, Collection: "notes"}, {Number: 3, ID: "d"}}, changes, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		for _, workspaceID := range []string{"wsp_b"} {
			_, err = s.Documents.Collection(t.Context(), workspaceID, "notes")
			wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
			all, err = s.Documents.CollectionSettings(t.Context(), workspaceID)
			if noError(t, err); len(all) != 0 || collectionsOf(t, s, workspaceID) != "" {
				t.Errorf("%s has settings of another workspace", workspaceID)
			}
		}
	})

	t.Run("RemovedSettingsLeaveTheirChangeAndTheirRevision", func(t *testing.T) {
		s := setup(t)
		saveSettings(t, s, "notes", settings)
		if change := saveSettings(t, s, "notes", nil); change != 2 {
			t.Errorf("the change is %d", change)
		}
		_, err := s.Documents.Collection(t.Context(), "wsp_a", "notes")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		changes, _, err := s.Documents.FollowDocuments(t.Context(), "wsp_a", document.Following{After: 1, Limit: 10})
		noError(t, err)
		if diff := cmp.Diff([]document.Change{{Number: 2, Collection: "notes"}}, changes); diff != "" || collectionsOf(t, s, "wsp_a") != "" {
			t.Error(diff)
		}
		saveSettings(t, s, "notes", &collection.Settings{})
		got, err := s.Documents.Collection(t.Context(), "wsp_a", "notes")
		if noError(t, err); got.Revision != 3 || got.Settings == nil {
			t.Errorf("written again: %+v", got)
		}
	})

	t.Run("SynonymsAreCounted", func(t *testing.T) {
		s := setup(t)
		saveSettings(t, s, "a", settings)
		saveSettings(t, s, "b", settings)
		for without, want := range map[string]int64{"": 6, "a": 3, "c": 6} {
			n, err := s.Documents.SynonymRows(t.Context(), "wsp_a", without)
			if noError(t, err); n != want {
				t.Errorf("without %q: %d rows, want %d", without, n, want)
			}
		}
	})

	t.Run("SettingsCountAsStorage", func(t *testing.T) {
		s := setup(t)
		saveSettings(t, s, "a", settings)
		full := stored(t, s, "wsp_a")
		if full < 100 {
			t.Errorf("settings count as %d bytes", full)
		}
		saveSettings(t, s, "a", &collection.Settings{Language: "de"})
		wantStored(t, s, "wsp_a", int64(len(`{"language":"de"}`)))
		err := s.Run(t.Context(), func(ctx context.Context) error {
			c, err := s.Documents.HoldCollection(ctx, "wsp_a", "a")
			if err != nil {
				return err
			}
			c.Settings = settings
			_, err = s.Documents.SaveSettings(ctx, "wsp_a", c, new(full-1))
			return err
		})
		wantProblem(t, err, problem.Conflict, problem.CodeLimitReached)
		saveSettings(t, s, "a", nil)
		wantStored(t, s, "wsp_a", 0)
	})
}
