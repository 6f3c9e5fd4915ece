package v1

import (
	"context"
	"net/netip"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddVerify declares the verification of a key for another service.
func AddVerify(r *endpoint.Registry, keys *apikey.Service) {
	verify := apiKeyOperation("verifyAPIKey", "POST", "/verify", "Verify an API key")
	verify.Description = "The status is 200 whenever the request itself is valid, and code is the result. Only keys of the caller's workspace " +
		"are known; other keys are INVALID. A request for an INVALID key costs the caller one request, and any other request " +
		"costs the caller nothing. If code is VALID and consume is not false, the verified key and its workspace are charged " +
		"cost once."
	verify.Uncharged = true
	endpoint.Add(r, verify, Verify(keys))
}

// Verify returns the function of the operation, which the backend listener has too.
func Verify(keys *apikey.Service) func(context.Context, *verifyAPIKey) (*verifiedAPIKey, error) {
	return func(ctx context.Context, in *verifyAPIKey) (*verifiedAPIKey, error) {
		inquiry, err := in.inquiry()
		if err != nil {
			return nil, err
		}
		v, err := keys.Verify(ctx, auth.From(ctx), endpoint.RequestOf(ctx), inquiry)
		if err != nil {
			return nil, err
		}
		return &verifiedAPIKey{Body: viewOfVerification(v)}, nil
	}
}

type verifyAPIKey struct {
	Body struct {
		Key            string   `json:"key" maxLength:"512" doc:"The key to verify." example:"kpsk_7Hq2…"`
		RequiredScopes []string `json:"requiredScopes" required:"false" maxItems:"7" enum:"read,write,developer:manage,analytics:read,memory:read,memory:write,admin" doc:"The scopes that the key must have."`
		Cost           *int64   `json:"cost" minimum:"1" maximum:"1000000" doc:"The number of requests to charge. The default is 1."`
		Consume        *bool    `json:"consume" doc:"Whether the verified key is charged. The default is true."`
		IP             *string  `json:"ip" maxLength:"64" doc:"The IP address that the key was used from. Without it, the code of a key with allowedIps is IP_NOT_ALLOWED." example:"203.0.113.7"`
	}
}

func (in *verifyAPIKey) inquiry() (apikey.VerifyRequest, error) {
	b := &in.Body
	q := apikey.VerifyRequest{Text: b.Key, Cost: 1, Consume: b.Consume == nil || *b.Consume}
	if b.Cost != nil {
		q.Cost = *b.Cost
	}
	for i, name := range b.RequiredScopes {
		scope, ok := auth.ParseScope(name)
		if !ok {
			return q, problem.Validation(item("requiredScopes", i), problem.NotAllowed, "There is no such scope.")
		}
		q.Scopes |= scope
	}
	if b.IP != nil {
		addr, err := netip.ParseAddr(*b.IP)
		if err != nil {
			return q, problem.Validation("ip", problem.Format, "An address must be written as 203.0.113.7 or 2001:db8::7.")
		}
		q.From = addr
	}
	return q, nil
}

type verifiedAPIKey struct {
	Body verificationView
}

type verificationView struct {
	Valid       bool           `json:"valid" doc:"Whether the key can be used for this request. It is true only if code is VALID."`
	Code        string         `json:"code" enum:"VALID,INVALID,EXPIRED,REVOKED,DISABLED,INSUFFICIENT_SCOPE,IP_NOT_ALLOWED,RATE_LIMITED,QUOTA_EXCEEDED" doc:"The result: VALID, or the reason why the key was refused."`
	KeyID       *string        `json:"keyId" doc:"The ID of the key. It is null if code is INVALID."`
	WorkspaceID *string        `json:"workspaceId" doc:"The ID of the key's workspace. It is null if code is INVALID."`
	Name        *string        `json:"name" doc:"The display name of the key. It is null if code is INVALID."`
	Scopes      []string       `json:"scopes" doc:"The scopes of the key. The list is empty if code is INVALID."`
	Metadata    *wire.Metadata `json:"metadata" doc:"The metadata of the key. It is null if code is INVALID."`
	RateLimit   *budgetView    `json:"rateLimit" doc:"The rate limit of the key or of the workspace, whichever has less left. It is null if the key cannot be used."`
	Quota       *budgetPair    `json:"quota" doc:"The quotas of the key or of the workspace, whichever have less left. It is null if the key cannot be used."`
}

func viewOfVerification(v *apikey.Verification) verificationView {
	view := verificationView{Valid: v.Code == apikey.Valid, Code: string(v.Code), Scopes: []string{}}
	if k := v.Key; k != nil {
		metadata := wire.Metadata(k.Metadata)
		if metadata == nil {
			metadata = wire.Metadata{}
		}
		view.KeyID, view.WorkspaceID, view.Name, view.Metadata = &k.ID, &k.WorkspaceID, &k.Name, &metadata
		view.Scopes = k.Scopes.Names()
	}
	if v.Remaining != nil {
		minute := viewOfBudget(v.Remaining.Minute)
		quota := viewOfBudgets(*v.Remaining)
		view.RateLimit, view.Quota = &minute, &quota
	}
	return view
}
