package api

import (
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

func TestOperationsGoTheWayOfTheirKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op   endpoint.Operation
		want kind
	}{
		{endpoint.Operation{Credentials: endpoint.Key, Scope: auth.Read}, guarded},
		{endpoint.Operation{Credentials: endpoint.Key | endpoint.Bearer, Uncharged: true}, guarded},
		{endpoint.Operation{}, open},
		{endpoint.Operation{Uncharged: true}, unmetered},
		{endpoint.Operation{SignIn: true}, signingIn},
		{endpoint.Operation{Judging: true, Uncharged: true}, judging},
	} {
		if got := kindOf(&c.op); got != c.want {
			t.Errorf("%+v: got kind %d, want %d", c.op, got, c.want)
		}
	}
	for k := noOperation + 1; int(k) < len(steps); k++ {
		if s := steps[k]; s.identify == nil || s.charge == nil || s.refuse == nil {
			t.Errorf("kind %d lacks a step", k)
		}
	}
	if len(steps) != int(judging)+1 {
		t.Errorf("there are steps of %d kinds, want %d", len(steps), judging+1)
	}
}
