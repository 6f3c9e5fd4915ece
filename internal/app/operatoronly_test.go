package app_test

import (
	"net/http"
	"testing"

	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

func TestBoundKeysCannotAdminister(t *testing.T) {
	t.Parallel()
	p, h, list := everyOperation()
	guest := []credential{keyOf(p.Key(apitest.Guest, auth.All, nil)), tokenOf(p.Token(apitest.Guest, auth.All))}
	bound := p.Key(apitest.Operator, auth.All, func(k *apikey.APIKey) { k.SubjectID = "patient-7" })
	ofInstance := 0
	for _, op := range list {
		if op.Operator {
			ofInstance++
		}
		for _, c := range []struct {
			who     string
			sent    credential
			refused bool
		}{
			{"another workspace's key", guest[0], op.Operator},
			{"another workspace's admin", guest[1], op.Operator},
			{"a bound key", keyOf(bound), op.Scope&auth.Admin != 0},
		} {
			if op.Credentials != endpoint.NoCredential && op.Credentials&c.sent.kind == 0 {
				continue // it does not take that kind
			}
			resp := visit(h, op, "", c.sent)
			if refused := resp.StatusCode == http.StatusForbidden; refused != c.refused {
				t.Errorf("%s by %s: got %d, refused should be %v", op.ID, c.who, resp.StatusCode, c.refused)
			}
		}
	}
	if ofInstance < 5 {
		t.Errorf("only %d operations are the operator's alone", ofInstance)
	}
}
