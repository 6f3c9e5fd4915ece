package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/base/secretfile"
	"keepsake/internal/memory/seal"
)

func keysRotateMasterCommand(st *stage) *cobra.Command {
	var (
		newKeyFile string
		asJSON     bool
	)
	cmd := &cobra.Command{
		Use: "rotate-master", Short: "Rotate the master key", Args: noArguments,
		Long: "Seals the instance's secrets with a new master key, also while a server is running. API keys, tokens and cursors stay\n" +
			"valid. The command works on a data folder of this machine. If it is interrupted, the instance still starts.\n\n" +
			"If the master key is in the data folder, the new key replaces it and the old key is kept beside it, because earlier\n" +
			"backups need it. If a setting provides the key, pass a file for the new key and change the setting before the next start.",
		Example: "  keepsake keys rotate-master",
	}
	t := localFlags(st, cmd)
	cmd.Flags().StringVar(&newKeyFile, "new-key-file", "", "`FILE` of the new key, 32 bytes in base64; created if it does not exist")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			newKey, err := newMasterKey(newKeyFile)
			if err != nil {
				return err
			}
			done, err := c.RotateMasterKey(cmd.Context(), newKey)
			if err != nil {
				return fmt.Errorf("rotate the master key: %w", err)
			}
			if asJSON {
				return st.printJSON(done)
			}
			st.tellRotatedMaster(done, newKeyFile)
			return nil
		})
	}
	return cmd
}

// newMasterKey returns the text of the key in a file, which it creates if it does not exist. Without a path it returns "".
func newMasterKey(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	if _, err := seal.CreateMasterKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if _, err := seal.LoadMasterKey(path); err != nil {
		return "", err
	}
	return secretfile.ReadToken(path)
}

func (st *stage) tellRotatedMaster(done *client.RotatedMasterKey, newKeyFile string) {
	fmt.Fprintf(st.out, "Sealed %d secrets with the new master key.\n", done.Secrets)
	if done.KeyFile == "" {
		fmt.Fprintf(st.out, "Before the next start, set masterKey to the key in %s. Keep the old key: earlier backups need it.\n", newKeyFile)
		return
	}
	fmt.Fprintf(st.out, "The new key is in %s. No backup contains it, so keep a copy elsewhere.\n", done.KeyFile)
	if done.OldKeyFile != "" {
		fmt.Fprintf(st.out, "Earlier backups need the old key, which is in %s. Move it to a safe place, and delete it with the last of those backups.\n", done.OldKeyFile)
	}
}
