package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func memoriesVerifyReceiptCommand(st *stage) *cobra.Command {
	var (
		in, jwks string
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use: "verify-receipt", Short: "Verify the receipt of an erasure", Args: noArguments,
		Long: "Verifies the signature of a receipt, as the erasure returned it, against the server's public keys or a copy of them. No API\n" +
			"key is required. The exit code is 1 if the receipt was changed or another server signed it.",
		Example: "  keepsake memories verify-receipt --in receipt.json --url https://keepsake.example.com",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&in, "in", "", "`FILE` with the receipt; - for standard input")
	cmd.Flags().StringVar(&jwks, "jwks", "", "`FILE` with a copy of the server's /.well-known/jwks.json, instead of asking the server")
	if err := cmd.MarkFlagRequired("in"); err != nil {
		panic(err) // it is defined above
	}
	for _, place := range []string{"url", "key", "data", "database-url", "keys-url"} {
		cmd.MarkFlagsMutuallyExclusive("jwks", place)
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var r client.Receipt
		if err := st.readObject(in, &r, json.RejectUnknownMembers(true)); err != nil {
			return fmt.Errorf("read the receipt: %w", err)
		}
		keys, err := t.signingKeys(cmd.Context(), jwks)
		if err != nil {
			return fmt.Errorf("read the server's keys: %w", err)
		}
		by, broken := r.Verify(keys)
		if err := st.printReceipt(&r, by, broken, asJSON); err != nil {
			return err
		}
		if broken != nil {
			return fmt.Errorf("the receipt is not valid: %w", broken)
		}
		return nil
	}
	return cmd
}

// maxObject is the maximum number of bytes read of a receipt or a set of keys, which have a few hundred bytes.
const maxObject = 1 << 20

// readObject reads one JSON object from a file. Its error does not quote the content, which can be confidential.
func (st *stage) readObject(name string, v any, options ...json.Options) error {
	file, _, err := st.openInput(name)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxObject))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v, options...); err != nil {
		return fmt.Errorf("%s is not one", name)
	}
	return nil
}

// signingKeys reads the keys from a file, or from the target if path is empty.
func (t *target) signingKeys(ctx context.Context, path string) (keys []client.SigningKey, err error) {
	if path != "" {
		var set struct {
			Keys []client.SigningKey `json:"keys"`
		}
		err = t.st.readObject(path, &set)
		return set.Keys, err
	}
	err = t.with(ctx, func(c *client.Client) (err error) {
		keys, err = c.SigningKeys(ctx)
		return err
	})
	return keys, err
}

// verifiedReceipt is the result of verifying a receipt, as JSON.
type verifiedReceipt struct {
	OK          bool   `json:"ok"`
	Reason      string `json:"reason,omitempty"` // why it is invalid
	ReceiptID   string `json:"receiptId"`
	KeyID       string `json:"keyId,omitempty"`
	WorkspaceID string `json:"workspaceId,omitempty"`
}

func (st *stage) printReceipt(r *client.Receipt, by *client.ReceiptSigner, broken error, asJSON bool) error {
	switch {
	case asJSON && broken != nil:
		return st.printJSON(verifiedReceipt{Reason: broken.Error(), ReceiptID: r.ReceiptID})
	case asJSON:
		return st.printJSON(verifiedReceipt{OK: true, ReceiptID: r.ReceiptID, KeyID: by.KeyID, WorkspaceID: by.WorkspaceID})
	case broken == nil:
		fmt.Fprintf(st.out, "The receipt %s is valid, signed with the key %s.\n", plain(r.ReceiptID), plain(by.KeyID))
		fmt.Fprintf(st.out, "A subject of the workspace %s was erased on %s, with %d memories.\n", plain(by.WorkspaceID), exactly(r.ErasedAt), r.Memories)
		fmt.Fprintf(st.out, "Keys files of backups from before %s can still decrypt data files of that time.\n", exactly(r.KeyBackupsBefore))
	}
	return nil
}

func exactly(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }
