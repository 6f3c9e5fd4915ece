package v1

import (
	"context"
	"time"

	"keepsake/internal/apikey"
	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
)

// AddAPIKeyRotation declares how a key gets a new secret.
func AddAPIKeyRotation(r *endpoint.Registry, keys *apikey.Service) {
	rotate := apiKeyOperation("rotateAPIKey", "POST", "/api-keys/{id}/rotate", "Give an API key a new secret",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeRotationInProgress, problem.CodeRevisionMismatch)
	rotate.Description = "The new key is in this answer only. Id, budgets and scopes stay; the secret used until now works for " +
		"graceSeconds more, and tells so in X-API-Key-Rotate-By. The key's scopes must be a subset of the caller's, and a key rotates " +
		"no key with wider bounds than its own. A key that is disabled, expired or revoked is 409; one that is being rotated is 409 " +
		"unless force ends its older secret first."
	rotate.Idempotent = true
	endpoint.Add(r, rotate, func(ctx context.Context, in *rotateAPIKey) (*rotatedAPIKey, error) {
		k, err := keys.Rotate(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions(), in.rotation())
		if err != nil {
			return nil, err
		}
		sealIfBound(ctx, k.Record)
		return &rotatedAPIKey{
			ETag: endpoint.ETag(k.Revision),
			Body: createdAPIKeyView{apiKeyView: viewOfAPIKey(k.Record), Key: &k.Text},
		}, nil
	})

	complete := apiKeyOperation("completeAPIKeyRotation", "POST", "/api-keys/{id}/complete-rotation", "End the older secret of an API key now",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeRevisionMismatch)
	complete.Description = "From this answer on only the newest secret works. Where there is no older one any more, nothing changes."
	complete.Idempotent = true
	endpoint.Add(r, complete, func(ctx context.Context, in *completeRotation) (*oneAPIKey, error) {
		k, err := keys.CompleteRotation(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions())
		sealIfBound(ctx, k)
		return answerAPIKey(k, err)
	})
}

type rotateAPIKey struct {
	ID      string           `path:"id"`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    *struct {
		GraceSeconds *int64 `json:"graceSeconds" minimum:"0" maximum:"2592000" doc:"For how long the secret used until now still works; a day when absent." example:"86400"`
		Force        *bool  `json:"force" doc:"Rotate also while a rotation is under way; its older secret ends at once."`
	}
}

func (in *rotateAPIKey) rotation() apikey.Rotation {
	r := apikey.Rotation{Grace: apikey.DefaultGrace}
	if in.Body == nil {
		return r
	}
	if in.Body.GraceSeconds != nil {
		r.Grace = time.Duration(*in.Body.GraceSeconds) * time.Second
	}
	r.Force = in.Body.Force != nil && *in.Body.Force
	return r
}

type rotatedAPIKey struct {
	ETag string `header:"ETag"`
	Body createdAPIKeyView
}

type completeRotation struct {
	ID      string           `path:"id"`
	IfMatch endpoint.IfMatch `header:"If-Match"`
}
