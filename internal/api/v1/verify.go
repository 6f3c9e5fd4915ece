package v1

import (
	"context"
	"net/netip"

	"keepsake/internal/apikey"
	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
	"keepsake/internal/wire"
)

// AddVerify declares the judgement of a key for somebody else's service.
func AddVerify(r *endpoint.Registry, keys *apikey.Service) {
	verify := apiKeyOperation("verifyAPIKey", "POST", "/verify", "Judge an API key that was sent to a service of one's own")
	verify.Description = "Always 200 if the call itself was right; code says what about the key. Only keys of the caller's workspace " +
		"are known, others are INVALID, which costs the caller one request; any other call costs it nothing. If the code is VALID and " +
		"consume is not false, the judged key and its workspace pay cost once."
	verify.Uncharged = true
	endpoint.Add(r, verify, func(ctx context.Context, in *verifyAPIKey) (*verifiedAPIKey, error) {
		inquiry, err := in.inquiry()
		if err != nil {
			return nil, err
		}
		v, err := keys.Verify(ctx, auth.From(ctx), endpoint.RequestOf(ctx), inquiry)
		if err != nil {
			return nil, err
		}
		return &verifiedAPIKey{Body: viewOfVerification(v)}, nil
	})
}

type verifyAPIKey struct {
	Body struct {
		Key            string   `json:"key" maxLength:"512" doc:"The key as it was sent." example:"kpsk_7Hq2…"`
		RequiredScopes []string `json:"requiredScopes" required:"false" maxItems:"7" enum:"read,write,developer:manage,analytics:read,memory:read,memory:write,admin" doc:"The scopes it must have."`
		Cost           *int64   `json:"cost" minimum:"1" maximum:"1000000" doc:"What the use costs; 1 when absent."`
		Consume        *bool    `json:"consume" doc:"false: only ask, the judged key pays nothing."`
		IP             *string  `json:"ip" maxLength:"64" doc:"The address the key came from. A key with allowedIps is IP_NOT_ALLOWED without it." example:"203.0.113.7"`
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
	Valid       bool           `json:"valid"`
	Code        string         `json:"code" enum:"VALID,INVALID,EXPIRED,REVOKED,DISABLED,INSUFFICIENT_SCOPE,IP_NOT_ALLOWED,RATE_LIMITED,QUOTA_EXCEEDED"`
	KeyID       *string        `json:"keyId"`
	WorkspaceID *string        `json:"workspaceId"`
	Name        *string        `json:"name"`
	Scopes      []string       `json:"scopes"`
	Metadata    *wire.Metadata `json:"metadata"`
	RateLimit   *budgetView    `json:"rateLimit" doc:"Of the minute budgets of key and workspace the one with less left; null for a key that may not be used."`
	Quota       *budgetPair    `json:"quota" doc:"Of the quotas of key and workspace those with less left; null for a key that may not be used."`
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
		quota := viewOfBudgets(apikey.Budgets{Daily: &v.Remaining.Daily, Monthly: &v.Remaining.Monthly})
		view.RateLimit, view.Quota = &minute, &quota
	}
	return view
}
