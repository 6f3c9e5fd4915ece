package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/apikey"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
)

// testBinding tests the names that keys are bound to. A store that cannot decrypt them shows what the database contains.
func testBinding(t *testing.T, open func(t *testing.T) store.Engine) {
	setup := func(t *testing.T) (s, stored *store.Store) {
		t.Helper()
		t.Parallel()
		engine := open(t)
		s, stored = store.New(engine), store.New(engine)
		binding, err := seal.NewBinding([]byte(strings.Repeat("b", 32)))
		noError(t, err)
		s.APIKeys.SealBindings(binding)
		newWorkspace(t, s, "wsp_a")
		newWorkspace(t, s, "wsp_b")
		return s, stored
	}
	bound := func(t *testing.T, s *store.Store, id, workspaceID, subject, agent string, n byte) *apikey.APIKey {
		t.Helper()
		k := newKey(id, workspaceID, n)
		k.SubjectID, k.AgentID = subject, agent
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), k, nil))
		return k
	}
	list := func(t *testing.T, s *store.Store, f apikey.Filter) (ids []string) {
		t.Helper()
		f.Now, f.Limit = epoch, 50
		keys, err := s.APIKeys.ListAPIKeys(t.Context(), "wsp_a", f)
		noError(t, err)
		for _, k := range keys {
			ids = append(ids, k.ID)
		}
		slices.Sort(ids)
		return ids
	}
	wantIDs := func(t *testing.T, what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	t.Run("WhatAKeyIsBoundToLiesSealed", func(t *testing.T) {
		s, stored := setup(t)
		k := bound(t, s, "key_1", "wsp_a", "ann@example.com", "agent-7", 1)
		bound(t, s, "key_2", "wsp_a", "ann@example.com", "", 2)
		bound(t, s, "key_3", "wsp_a", "", "", 3)
		bound(t, s, "key_4", "wsp_b", "ann@example.com", "", 4)
		got, err := s.APIKeys.APIKey(t.Context(), "wsp_a", "key_1")
		noError(t, err)
		wantKey(t, got, k)
		wantIDs(t, "the subject's", list(t, s, apikey.Filter{SubjectID: "ann@example.com"}), "key_1", "key_2")
		wantIDs(t, "the agent's", list(t, s, apikey.Filter{AgentID: "agent-7"}), "key_1")
		wantIDs(t, "another subject's", list(t, s, apikey.Filter{SubjectID: "bob@example.com"}))

		seen := map[string]string{}
		noError(t, stored.APIKeys.EachAPIKey(t.Context(), func(k *apikey.APIKey) error {
			if strings.Contains(k.SubjectID+k.AgentID, "ann") || strings.Contains(k.SubjectID+k.AgentID, "agent") {
				t.Errorf("%s lies there with %q, %q", k.ID, k.SubjectID, k.AgentID)
			}
			seen[k.ID] = k.SubjectID
			return nil
		}))
		if seen["key_1"] != seen["key_2"] || seen["key_3"] != "" || seen["key_4"] == seen["key_1"] {
			t.Errorf("what is bound alike differs: %v", seen)
		}
	})

	t.Run("RevokedKeyDropsItsSubject", func(t *testing.T) {
		s, _ := setup(t)
		for i, k := range []*apikey.APIKey{
			bound(t, s, "key_1", "wsp_a", "ann", "agent", 1), bound(t, s, "key_2", "wsp_a", "ann", "", 2),
			bound(t, s, "key_3", "wsp_a", "bob", "", 3), bound(t, s, "key_4", "wsp_b", "ann", "", 4), bound(t, s, "key_5", "wsp_a", "ann", "", 5),
		} {
			if i == 4 {
				break // key_5 stays valid
			}
			k.RevokedAt, k.Revision = pointer(after(time.Second)), 2
			noError(t, s.APIKeys.UpdateAPIKey(t.Context(), k))
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			return s.APIKeys.ForgetBoundSubject(ctx, "wsp_a", func(id string) bool { return id == "ann" })
		}))
		for id, want := range map[string][3]string{
			"key_1": {"wsp_a", "", "agent"}, "key_2": {"wsp_a", "", ""}, "key_3": {"wsp_a", "bob", ""}, "key_4": {"wsp_b", "ann", ""}, "key_5": {"wsp_a", "ann", ""},
		} {
			k, err := s.APIKeys.APIKey(t.Context(), want[0], id)
			noError(t, err)
			if k.SubjectID != want[1] || k.AgentID != want[2] {
				t.Errorf("%s is bound to %q, %q", id, k.SubjectID, k.AgentID)
			}
		}
	})
}
