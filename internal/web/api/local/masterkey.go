package local

import (
	"context"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory/seal"
	"keepsake/internal/web/endpoint"
)

// AddMasterKey declares the change of the master key. It needs no Idempotency-Key: a repeated request changes the key again,
// or reports that the given key is in use.
func AddMasterKey(r *endpoint.Registry, keeper *seal.Keeper) {
	rotate := operation("rotateMasterKey", "POST", "/master-key/rotate", "Seal the instance's secrets with a new master key", problem.CodeConflict)
	endpoint.Add(r, rotate, func(ctx context.Context, in *rotateMasterKey) (*rotatedMasterKey, error) {
		text := ""
		if in.Body != nil && in.Body.MasterKey != nil {
			text = *in.Body.MasterKey
		}
		done, err := keeper.Rotate(ctx, auth.From(ctx).Actor(), text)
		if err != nil {
			return nil, err
		}
		out := &rotatedMasterKey{}
		out.Body.RotatedAt, out.Body.Secrets = wire.At(done.At), done.Secrets
		out.Body.KeyFile, out.Body.OldKeyFile = done.File, done.OldFile
		return out, nil
	})
}

type rotateMasterKey struct {
	Body *struct {
		MasterKey *string `json:"masterKey" maxLength:"128" doc:"The new key, 32 bytes in base64; a random one when absent."`
	}
}

type rotatedMasterKey struct {
	Body struct {
		RotatedAt  wire.Time `json:"rotatedAt"`
		Secrets    int       `json:"secrets" doc:"How many are sealed with the new key."`
		KeyFile    string    `json:"keyFile" doc:"Where the new key lies; empty where the setting masterKey has to give it from now on."`
		OldKeyFile string    `json:"oldKeyFile" doc:"Where the old key was kept, for backups made before; empty where the server never had it in a file."`
	}
}
