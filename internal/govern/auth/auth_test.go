package auth_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/auth"
)

// table is §5.3, in its order.
var table = []string{"read", "write", "developer:manage", "analytics:read", "memory:read", "memory:write", "admin"}

func TestScopesAreNamedInTheOrderOfTheSpecification(t *testing.T) {
	t.Parallel()
	if got := auth.All.Names(); !slices.Equal(got, table) {
		t.Errorf("all scopes are %v, want %v", got, table)
	}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.SampledFrom(table), rapid.ID[string]).Draw(t, "names")
		set := auth.None
		for _, name := range names {
			scope, ok := auth.ParseScope(name)
			if !ok {
				t.Fatalf("%q is no scope", name)
			}
			set |= scope
		}
		slices.SortFunc(names, func(a, b string) int { return slices.Index(table, a) - slices.Index(table, b) })
		if got := set.String(); got != strings.Join(names, " ") || string(set.Append([]byte("scopes: "))) != "scopes: "+got {
			t.Fatalf("%v are written %q and %q", names, got, set.Append(nil))
		}
	})
}

func TestOnlyTheSevenNamesAreScopes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Read", " read", "read ", "read write", "memory", "memory:*", "root"} {
		if scope, ok := auth.ParseScope(name); ok {
			t.Errorf("%q is the scope %s", name, scope)
		}
	}
}

func TestAdminImpliesEveryScopeAndNoOtherImpliesAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		has := auth.Scopes(rapid.Uint8Range(0, uint8(auth.All)).Draw(t, "has"))
		needs := auth.Scopes(rapid.Uint8Range(0, uint8(auth.All)).Draw(t, "needs"))
		want := slices.Contains(has.Names(), "admin")
		if !want {
			want = true
			for _, name := range needs.Names() {
				want = want && slices.Contains(has.Names(), name)
			}
		}
		if got := has.Allows(needs); got != want {
			t.Fatalf("%q allows %q: %v, want %v", has, needs, got, want)
		}
	})
}

func TestAPrincipalNamesItselfInRecords(t *testing.T) {
	t.Parallel()
	text := id.New(id.APIKey)
	key, _ := id.Parse(id.APIKey, text)
	for _, c := range []struct {
		auth.Principal
		keyID, actor string
	}{
		{auth.Principal{Kind: auth.APIKey, Key: key}, text, text},
		{auth.Principal{Kind: auth.User, UserID: "usr_1", SessionID: "ses_1"}, "", "usr_1"},
		{auth.Principal{Kind: auth.Local}, "", "local"},
		{auth.Principal{}, "", ""},
	} {
		if c.KeyID() != c.keyID || c.Actor() != c.actor {
			t.Errorf("a principal of kind %d has the key %q and the name %q", c.Kind, c.KeyID(), c.Actor())
		}
	}
}

func TestAnOperationThatAsksForNobodyIsADefect(t *testing.T) {
	t.Parallel()
	p := &auth.Principal{Kind: auth.Local}
	if got := auth.From(auth.With(t.Context(), p)); got != p {
		t.Errorf("the principal of a request is %+v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a request without a principal passed as somebody's")
		}
	}()
	auth.From(context.Background())
}
