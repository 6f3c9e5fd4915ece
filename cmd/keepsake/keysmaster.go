package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/seal"
)

func keysRotateMasterCommand(st *stage) *cobra.Command {
	var (
		newKeyFile string
		asJSON     bool
	)
	cmd := &cobra.Command{
		Use: "rotate-master", Short: "Seal the instance's secrets with a new master key", Args: cobra.NoArgs,
		Long: "Seals the instance's secrets with a new master key, also while a server runs. API keys, tokens and cursors stay as they\n" +
			"are. It works on the machine itself, on a data folder, and whenever it is cut off, the folder still starts.\n\n" +
			"Where the key lies in the data folder, a new one takes its place and the old one is kept beside it: backups made\n" +
			"before need it. Where a setting gives the key, name a file with the new one (it is made if it is not there) and\n" +
			"change the setting before the next start.",
	}
	t := localFlags(st, cmd)
	cmd.Flags().StringVar(&newKeyFile, "new-key-file", "", "`FILE` of the new key, 32 bytes in base64; made if it is not there")
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

// newMasterKey is the text of the key in a file, which is made where it is not there; empty where no file is named.
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
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}

func (st *stage) tellRotatedMaster(done *client.RotatedMasterKey, newKeyFile string) {
	fmt.Fprintf(st.out, "%d secrets are sealed with the new master key.\n", done.Secrets)
	if done.KeyFile == "" {
		fmt.Fprintf(st.out, "Before the next start, let the setting masterKey give the key in %s. Keep the old one for backups made before.\n", newKeyFile)
		return
	}
	fmt.Fprintf(st.out, "It lies in %s; no backup holds it, so keep a copy elsewhere.\n", done.KeyFile)
	if done.OldKeyFile != "" {
		fmt.Fprintf(st.out, "Backups made before need the old one, which is in %s: take it away from here, and destroy it with the last of them.\n", done.OldKeyFile)
	}
}
