package apikey_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
)

func TestKeyCannotCreateAWiderKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	operator := operatorOf(b)
	rapid.Check(t, func(t *rapid.T) {
		own := auth.Scopes(rapid.Uint8Range(0, uint8(auth.All)).Draw(t, "own"))
		wanted := auth.Scopes(rapid.Uint8Range(1, uint8(auth.All)).Draw(t, "wanted"))
		p := &auth.Principal{Kind: auth.Local, WorkspaceID: operator, Scopes: own}
		k, err := b.Create(context.Background(), p, apikey.Draft{Name: "a key", Scopes: wanted})
		mayHave := own&auth.Admin != 0 || wanted&^own == 0
		if mayHave != (err == nil) {
			t.Fatalf("%q created a key with %q: %v", own, wanted, err)
		}
		if err != nil {
			p, _ := problem.As(err)
			missing, ok := auth.ParseScope(p.Details.RequiredScope)
			if p.Code != problem.CodeInsufficientScope || !ok || own.Allows(missing) || !wanted.Allows(missing) {
				t.Fatalf("%q is refused %q for %q with %v", own, wanted, p.Details.RequiredScope, err)
			}
			return
		}
		// The scopes after a change are checked, whatever the change is.
		editor := &auth.Principal{Kind: auth.Local, WorkspaceID: operator, Scopes: auth.Scopes(rapid.Uint8Range(0, uint8(auth.All)).Draw(t, "editor"))}
		name := "another name"
		_, err = b.Change(context.Background(), editor, k.ID, nil, apikey.Change{Name: &name})
		if editor.Scopes.Allows(wanted) != (err == nil) {
			t.Fatalf("%q changed a key with %q: %v", editor.Scopes, wanted, err)
		}
	})
}

func TestInvisibleKeyIsMissing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := "x"
	person := func(subject, agent string) *auth.Principal {
		p := b.manager(auth.All)
		p.SubjectID, p.AgentID = subject, agent
		return p
	}
	other := b.manager(auth.All)
	other.WorkspaceID = operatorOf(b)
	free, bound := b.newKey(t, apikey.Draft{}), b.newKey(t, apikey.Draft{SubjectID: "s1", AgentID: "a1"})
	for what, c := range map[string]struct {
		p   *auth.Principal
		key string
		see bool
	}{
		"an unbound manager and a bound key":  {b.manager(auth.All), bound.ID, true},
		"another workspace's admin":           {other, bound.ID, false},
		"the same subject":                    {person("s1", ""), bound.ID, true},
		"the same agent":                      {person("", "a1"), bound.ID, true},
		"the same subject with another agent": {person("s1", "a2"), bound.ID, false},
		"another subject":                     {person("s2", ""), bound.ID, false},
		"a bound manager and an unbound key":  {person("s1", ""), free.ID, false},
		"a key that does not exist":           {b.manager(auth.All), id.New(id.APIKey), false},
		"a malformed ID":                      {b.manager(auth.All), "nonsense", false},
		"the id of something else":            {b.manager(auth.All), id.New(id.Document), false},
	} {
		t.Run(what, func(t *testing.T) {
			want := problem.CodeNotFound
			if c.see {
				want = ""
			}
			_, read := b.APIKey(t.Context(), c.p, c.key)
			_, limits := b.Limits(t.Context(), c.p, c.key)
			_, series := b.Usage(t.Context(), c.p, c.key, time.Hour, time.Minute)
			_, change := b.Change(t.Context(), c.p, c.key, nil, apikey.Change{Name: &name})
			for i, err := range []error{read, limits, series, change} {
				if got := code(t, err); got != want {
					t.Errorf("call %d answers %q, want %q", i, got, want)
				}
			}
			if !c.see {
				if _, err := b.Revoke(t.Context(), c.p, c.key, nil, ""); code(t, err) != problem.CodeNotFound {
					t.Errorf("revoking answers %v", err)
				}
			}
		})
	}
	for _, k := range []*apikey.Created{free, bound} {
		if got := b.codeWith(t, k.Text); got != "" {
			t.Errorf("after all this key %s is refused with %q", k.ID, got)
		}
	}
	if keys, err := b.List(t.Context(), person("s1", ""), apikey.Filter{Limit: 10}); err != nil || len(keys) != 1 || keys[0].ID != bound.ID {
		t.Errorf("a bound manager lists %v, %v", keys, err)
	}
	if k, err := b.Create(t.Context(), person("s1", ""), apikey.Draft{Name: "a", Scopes: auth.Read}); err != nil || k.SubjectID != "s1" || k.AgentID != "" {
		t.Errorf("a bound manager created %+v, %v", k, err)
	}
	if _, err := b.Create(t.Context(), person("s1", ""), apikey.Draft{Name: "a", Scopes: auth.Read, SubjectID: "s2"}); code(t, err) != problem.CodeNotFound {
		t.Errorf("a bound manager creating a key for another subject: %v", err)
	}
}

func TestListIsNewestFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.manager(auth.All)
	p.WorkspaceID = operatorOf(b) // no limit on keys
	var want []string
	for i := range 7 {
		k, err := b.Create(t.Context(), p, apikey.Draft{Name: "a key", Scopes: auth.Read})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, k.ID)
		if i%2 == 0 { // others share their millisecond
			b.pass(time.Millisecond)
		}
	}
	var got []string
	f := apikey.Filter{Limit: 2}
	for {
		page, err := b.List(t.Context(), p, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range page {
			got = append(got, k.ID)
		}
		if len(page) < f.Limit {
			break
		}
		last := page[len(page)-1]
		f.Before = &apikey.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	sorted := slices.Clone(want)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	slices.Sort(want)
	all := slices.Clone(got)
	slices.Sort(all)
	if !slices.Equal(all, want) {
		t.Errorf("the pages hold %v, want %v", got, want)
	}
	if !slices.Equal(got, sorted) {
		t.Errorf("the order is %v, want %v", got, sorted)
	}
}
