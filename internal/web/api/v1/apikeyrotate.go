package v1

import (
	"context"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddAPIKeyRotation declares the rotation of keys.
func AddAPIKeyRotation(r *endpoint.Registry, keys *apikey.Service) {
	rotate := apiKeyOperation("rotateAPIKey", "POST", "/api-keys/{id}/rotate", "Rotate an API key",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeRotationInProgress, problem.CodeRevisionMismatch)
	rotate.Description = "The response is the only one that contains the new key. The ID, limits and scopes do not change. The previous secret " +
		"works for graceSeconds more, and responses to it have the header X-API-Key-Rotate-By. The key's scopes must be a " +
		"subset of the caller's, and a key cannot rotate a key with wider limits than its own. A key that is disabled, expired " +
		"or revoked is refused with 409. So is a key that is being rotated, unless force is true."
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

	complete := apiKeyOperation("completeAPIKeyRotation", "POST", "/api-keys/{id}/complete-rotation", "Complete the rotation of an API key",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeRevisionMismatch)
	complete.Description = "After this response only the newest secret works. If there is no older secret, nothing changes."
	complete.Idempotent = true
	endpoint.Add(r, complete, func(ctx context.Context, in *completeRotation) (*oneAPIKey, error) {
		k, err := keys.CompleteRotation(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions())
		sealIfBound(ctx, k)
		return answerAPIKey(k, err)
	})
}

type rotateAPIKey struct {
	ID      string           `path:"id" doc:"The ID of the API key."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    *struct {
		GraceSeconds *int64 `json:"graceSeconds" minimum:"0" maximum:"2592000" doc:"The number of seconds for which the previous secret still works. The default is one day." example:"86400"`
		Force        *bool  `json:"force" doc:"Rotate even if a rotation is in progress. The older secret then stops working at once."`
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
	ID      string           `path:"id" doc:"The ID of the API key."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
}
