package client

import (
	"context"
	"net/http"
	"time"
)

// RotatedMasterKey is a change of the master key.
type RotatedMasterKey struct {
	RotatedAt  time.Time `json:"rotatedAt"`
	Secrets    int       `json:"secrets"`    // how many are sealed with the new key
	KeyFile    string    `json:"keyFile"`    // where the new key lies; empty where the setting masterKey gives it from now on
	OldKeyFile string    `json:"oldKeyFile"` // where the old key was kept, for backups made before; may be empty
}

// RotateMasterKey seals a running instance's secrets with a new master key: 32 bytes in base64, or a random one where
// newKey is empty. Only a client made by OverSocket can; elsewhere nothing is there.
func (c *Client) RotateMasterKey(ctx context.Context, newKey string) (*RotatedMasterKey, error) {
	body := struct {
		MasterKey string `json:"masterKey,omitempty"`
	}{newKey}
	r := request{method: http.MethodPost, path: "/local/master-key/rotate"}
	return result[RotatedMasterKey](func(out any) error { return c.send(ctx, r, body, out) })
}
