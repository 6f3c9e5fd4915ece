package v1

import (
	"context"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddSigningKeys declares the rotation and the list of keys that sign access tokens and receipts, with which clients verify
// them.
func AddSigningKeys(r *endpoint.Registry, keys *auth.SigningKeys, receipts *auth.ReceiptKey, log audit.Recorder) {
	endpoint.Add(r, endpoint.Operation{
		ID: "getSigningKeys", Method: "GET", Path: "/.well-known/jwks.json", Tag: "login",
		Summary: "Get the public keys for tokens and receipts",
		Description: "The response is a JWK set (RFC 7517). A key that signs tokens stays in the set as long as one of its tokens can be " +
			"valid. The key that signs receipts is the last one and stays in the set forever.",
		Status: 200, Uncharged: true, Errors: []string{problem.CodeRateLimited},
	}, func(context.Context, *struct{}) (*jwksAnswer, error) {
		out := &jwksAnswer{CacheControl: "public, max-age=300"}
		for _, k := range append(keys.Public(), receipts.Public()) {
			out.Body.Keys = append(out.Body.Keys, jwkView{KeyType: "OKP", Curve: "Ed25519", X: k.X, ID: k.ID, Use: "sig", Algorithm: "EdDSA"})
		}
		return out, nil
	})

	endpoint.AddPrepared(r, endpoint.Operation{
		ID: "rotateSigningKey", Method: "POST", Path: "/admin/signing-keys/rotate", Since: 1, Tag: "admin",
		Summary:     "Rotate the signing key of access tokens",
		Description: "Tokens that were issued before stay valid until they expire.",
		Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Operator: true, Status: 200, Idempotent: true, Vital: true,
	}, func(ctx context.Context, in *rotateSigningKey) (err error) {
		in.id, err = keys.Rotate(ctx)
		return err
	}, func(ctx context.Context, in *rotateSigningKey) (*rotatedSigningKey, error) {
		err := log.Record(ctx, audit.Entry{Action: audit.SigningKeyRotated, Actor: auth.From(ctx).Actor(), Target: in.id})
		if err != nil {
			return nil, err
		}
		out := &rotatedSigningKey{}
		out.Body.ID = in.id
		return out, nil
	})
}

type rotateSigningKey struct {
	id string
}

type rotatedSigningKey struct {
	Body struct {
		ID string `json:"id" doc:"The ID of the new key, which is kid in tokens and in the JWK set."`
	}
}

type jwksAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Keys []jwkView `json:"keys" doc:"The keys that sign tokens, newest first, followed by the key that signs receipts."`
	}
}

type jwkView struct {
	KeyType   string `json:"kty" enum:"OKP" doc:"The family of the key, which is always OKP (RFC 8037)."`
	Curve     string `json:"crv" enum:"Ed25519" doc:"The curve of the key, which is always Ed25519."`
	X         string `json:"x" doc:"The public key in base64url."`
	ID        string `json:"kid" doc:"The ID of the key, which the header of a token or a receipt names."`
	Use       string `json:"use" enum:"sig" doc:"The use of the key, which is always to verify signatures."`
	Algorithm string `json:"alg" enum:"EdDSA" doc:"The algorithm of the signatures, which is always EdDSA."`
}
