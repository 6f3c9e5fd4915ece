package client

import (
	"context"
	"net/http"
	"time"
)

// RotatedMasterKey is the result of a change of the master key.
type RotatedMasterKey struct {
	RotatedAt  time.Time `json:"rotatedAt"`
	Secrets    int       `json:"secrets"`    // how many the new key wraps
	KeyFile    string    `json:"keyFile"`    // of the new key; empty if the setting masterKey must contain it from now on
	OldKeyFile string    `json:"oldKeyFile"` // of the old key, for older backups; can be empty
}

// RotateMasterKey wraps the secrets of a running instance with a new master key: 32 bytes in base64, or a random key if
// newKey is empty. It only works with a client from OverSocket.
func (c *Client) RotateMasterKey(ctx context.Context, newKey string) (*RotatedMasterKey, error) {
	body := struct {
		MasterKey string `json:"masterKey,omitempty"`
	}{newKey}
	r := request{method: http.MethodPost, path: "/local/master-key/rotate"}
	return result[RotatedMasterKey](func(out any) error { return c.send(ctx, r, body, out) })
}
