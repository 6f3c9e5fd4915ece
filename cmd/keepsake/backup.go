package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/base/secretfile"
	"keepsake/internal/govern/backup"
)

func backupCommand(st *stage) *cobra.Command {
	var (
		b      backingUp
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "backup", Short: "Back up an instance", Args: noArguments,
		Long: "Writes an instance into two files, also while a server is running on it. Requests continue without waiting.\n\n" +
			"--out receives documents, memories, users and keys. Memories are ciphertext; the rest is in the clear unless\n" +
			"--encrypt-to or --passphrase-file is given. An existing file is not overwritten (exit code 3).\n" +
			"--keys-out receives the secrets, wrapped by the master key, and is replaced each time: the newest file fits all earlier\n" +
			"data files. It must be in another folder, preferably on another machine. Neither file contains the master key; keep a\n" +
			"copy of that in a third place.\n\n" +
			"Also keep a copy of journal.ndjson from the data folder: it tells `keepsake restore` what was revoked after the backup.",
		Example: "  keepsake backup --out /backup/data-$(date +%F).db --keys-out /mnt/keys/keepsake-keys.db",
	}
	t := localFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&b.out, "out", "", "`FILE` to write the data to")
	flags.StringVar(&b.keysOut, "keys-out", "", "`FILE` to write the wrapped secrets to, in another folder")
	flags.StringArrayVar(&b.encryptTo, "encrypt-to", nil, "encrypt both files for an age `RECIPIENT` (age1…) or a file of recipients; can be repeated")
	flags.StringVar(&b.passphraseFile, "passphrase-file", "", "encrypt both files with the passphrase in `FILE`")
	cmd.MarkFlagsMutuallyExclusive("encrypt-to", "passphrase-file")
	for _, name := range []string{"out", "keys-out"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a flag of this command
		}
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b.bar = st.bar(!asJSON && st.errTTY)
		cfg, err := t.settings.load()
		if err != nil {
			return err
		}
		if err := b.check(cfg.Data, st.scryptWork); err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			done, err := b.run(cmd.Context(), c)
			if err != nil {
				return err
			}
			if asJSON {
				return st.printJSON(done)
			}
			st.printBackup(done, b.recipients != nil)
			return nil
		})
	}
	return cmd
}

// backingUp is one run of the command.
type backingUp struct {
	out, keysOut   string
	encryptTo      []string
	passphraseFile string

	recipients []age.Recipient
	bar        func(what string, total int64) *progressbar.ProgressBar
}

// backedUp describes the files that it wrote.
type backedUp struct {
	Instance  string      `json:"instance"`
	MadeAt    time.Time   `json:"madeAt"`
	Encrypted bool        `json:"encrypted"`
	Data      writtenFile `json:"data"`
	Keys      writtenFile `json:"keys"`
}

type writtenFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// check checks the flags before any work is done.
func (b *backingUp) check(data string, scryptWork int) (err error) {
	if _, err := os.Lstat(b.out); err == nil {
		return fmt.Errorf("%s %w", b.out, errWouldOverwrite)
	}
	outDir, keysDir := realDir(b.out), realDir(b.keysOut)
	if outDir == keysDir {
		return usageError("--out and --keys-out must be in different folders, so that a stolen folder does not contain both")
	}
	inside := realDir(filepath.Join(data, "x"))
	for _, dir := range []string{outDir, keysDir} {
		if !exists(dir) {
			return usageError("the folder " + dir + " does not exist; create it first")
		}
		if dir == inside || strings.HasPrefix(dir, inside+string(filepath.Separator)) {
			return usageError("--out and --keys-out must be outside the data folder, because a backup inside it would be lost with it")
		}
	}
	b.recipients, err = recipients(b.encryptTo, b.passphraseFile, scryptWork)
	return err
}

// realDir returns the folder of a path, with symbolic links resolved.
func realDir(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return filepath.Dir(path)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (b *backingUp) run(ctx context.Context, c *client.Client) (done *backedUp, err error) {
	snapshot, err := c.StartSnapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin a snapshot: %w", err)
	}
	defer func() {
		// Also after an interrupt, because the copy takes space.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if gone := c.DiscardSnapshot(clean, snapshot.ID); err == nil && gone != nil {
			err = fmt.Errorf("remove the snapshot: %w", gone)
		}
	}()
	if snapshot, err = b.await(ctx, c, snapshot); err != nil {
		return nil, err
	}
	return b.pack(ctx, c, snapshot)
}

// await waits until a snapshot is ready.
func (b *backingUp) await(ctx context.Context, c *client.Client, s *client.Snapshot) (*client.Snapshot, error) {
	bar := b.bar("copying", s.Total)
	defer bar.Finish()
	for every := 20 * time.Millisecond; ; every = min(2*every, time.Second) {
		switch s.State {
		case "ready":
			return s, nil
		case "failed":
			return nil, fmt.Errorf("copy the databases: %s", s.Problem)
		}
		_ = bar.Set64(min(s.Bytes, s.Total)) // errors of drawing are ignored
		if err := pause(ctx, every); err != nil {
			return nil, err
		}
		var err error
		if s, err = c.Snapshot(ctx, s.ID); err != nil {
			return nil, fmt.Errorf("ask for the snapshot: %w", err)
		}
	}
}

// pack writes the two files, the keys first: a restore can lack secrets if the data is newer than the keys.
func (b *backingUp) pack(ctx context.Context, c *client.Client, s *client.Snapshot) (*backedUp, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go keep(ctx, c, s.ID, stop)

	bar := b.bar("packing", folderSize(s.Dir))
	defer bar.Finish()
	write := func(path string, kind backup.Kind) (writtenFile, error) {
		w, err := backup.Write(backup.Archive{
			Path: path, Replace: kind == backup.Keys, Dir: s.Dir, Recipients: b.recipients,
			Header: backup.Header{Kind: kind, Instance: s.Instance, Snapshot: s.ID, MadeAt: s.MadeAt, Build: thisBuild().Version},
			Progress: func(n int) error {
				_ = bar.Add(n)
				return context.Cause(ctx)
			},
		})
		if err != nil {
			return writtenFile{}, err
		}
		return writtenFile(*w), nil
	}
	done := &backedUp{Instance: s.Instance, MadeAt: s.MadeAt, Encrypted: b.recipients != nil}
	var err error
	if done.Keys, err = write(b.keysOut, backup.Keys); err != nil {
		return nil, err
	}
	if done.Data, err = write(b.out, backup.Data); err != nil {
		return nil, err
	}
	return done, nil
}

// keep renews the lease of a snapshot while it is read.
func keep(ctx context.Context, c *client.Client, id string, lost context.CancelCauseFunc) {
	for pause(ctx, 10*time.Second) == nil {
		if _, err := c.Snapshot(ctx, id); err != nil && ctx.Err() == nil {
			lost(fmt.Errorf("keep the snapshot: %w", err))
			return
		}
	}
}

func folderSize(dir string) (bytes int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

func (st *stage) printBackup(b *backedUp, encrypted bool) {
	for _, f := range []struct {
		what string
		writtenFile
	}{{"data", b.Data}, {"keys", b.Keys}} {
		fmt.Fprintf(st.out, "%s  %s  %d bytes\n      sha256 %s\n", f.what, f.Path, f.Bytes, f.SHA256)
	}
	if !encrypted {
		fmt.Fprintln(st.out, "\nThe data file contains documents in the clear; use --encrypt-to or --passphrase-file to encrypt it.")
	}
	fmt.Fprintln(st.out, "Neither file contains the master key. Keep a copy of it: without it, the backup cannot be restored.")
}

// bar returns a progress bar. It is only drawn on a terminal.
func (st *stage) bar(draw bool) func(what string, total int64) *progressbar.ProgressBar {
	return func(what string, total int64) *progressbar.ProgressBar {
		return progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(st.err), progressbar.OptionSetDescription(what), progressbar.OptionSetVisibility(draw),
			progressbar.OptionShowBytes(true), progressbar.OptionSetRenderBlankState(true), progressbar.OptionClearOnFinish())
	}
}

// errWouldOverwrite reports a file that a command does not replace.
var errWouldOverwrite = errors.New("already exists and is not overwritten")

// errPassphrase reports an empty passphrase file.
var errPassphrase = errors.New("the passphrase file is empty")

// recipients returns whom a backup is encrypted for. It returns none if the settings name no recipient and no passphrase.
func recipients(encryptTo []string, passphraseFile string, scryptWork int) ([]age.Recipient, error) {
	if passphraseFile != "" {
		text, err := passphrase(passphraseFile)
		if err != nil {
			return nil, err
		}
		r, err := age.NewScryptRecipient(text)
		if err == nil && scryptWork > 0 {
			r.SetWorkFactor(scryptWork)
		}
		return []age.Recipient{r}, err
	}
	var list []age.Recipient
	for _, one := range encryptTo {
		text := one
		if !strings.HasPrefix(one, "age1") {
			data, err := os.ReadFile(one)
			if err != nil {
				return nil, fmt.Errorf("read recipients: %w", err)
			}
			text = string(data)
		}
		more, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, usageError("--encrypt-to must be an age recipient (age1…) or a file with one recipient per line")
		}
		list = append(list, more...)
	}
	return list, nil
}

func passphrase(path string) (string, error) {
	text, err := secretfile.Read(path)
	if err != nil {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	if text == "" {
		return "", errPassphrase
	}
	return text, nil
}
