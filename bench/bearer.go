package main

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// measureBearer compares the same request with an access token that was verified before and with an API key.
func measureBearer(run contest) error {
	p := place()
	key := p.Fill(liveKeys)
	signing, err := auth.OpenSigningKeys(context.Background(), vault{}, time.Now)
	if err != nil {
		return err
	}
	tokens := auth.NewTokens(signing, "keepsake", time.Now)
	token, err := tokens.Issue("usr_bench", "ses_bench", auth.All, auth.AccessLifetime)
	if err != nil {
		return err
	}
	r := endpoint.NewRegistry()
	type answer struct {
		Body struct {
			Actor string `json:"actor"`
		}
	}
	endpoint.Add(r, endpoint.Operation{
		ID: "ping", Method: "GET", Path: "/ping", Since: 1, Tag: "bench", Summary: "Answer", Credentials: endpoint.Key | endpoint.Bearer,
		Scope: auth.Read, Status: 200,
	}, func(ctx context.Context, _ *struct{}) (*answer, error) {
		out := &answer{}
		out.Body.Actor = auth.From(ctx).Actor()
		return out, nil
	})
	o := p.Options(r)
	o.Bearers = account.NewBearers(sessions{}, p.Accounts, tokens)
	h := apitest.Surface(o)
	fmt.Println("\nThe ratio is to be 0.9 at least.")
	return run.run("a verified access token against an API key",
		side{name: "token", handler: h, request: request("GET", "/api/v1/ping", "", "Authorization: Bearer "+token)},
		side{name: "key", handler: h, request: request("GET", "/api/v1/ping", "", "X-API-Key: "+key)})
}

// sessions has one session, which never ends.
type sessions struct{ account.SessionStore }

func (sessions) Standing(context.Context, string) (*account.Standing, error) {
	return &account.Standing{UserID: "usr_bench", WorkspaceID: apitest.Operator, Role: account.RoleAdmin}, nil
}

// vault keeps signing keys in a map.
type vault map[string][]byte

func (v vault) Names(string) []string { return nil }

func (v vault) Find(name string) ([]byte, bool) { secret, ok := v[name]; return secret, ok }

func (v vault) Add(_ context.Context, name string, secret []byte) error { v[name] = secret; return nil }

func (v vault) Remove(_ context.Context, name string) error { delete(v, name); return nil }
