package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/secretfile"
)

func restoreCommand(st *stage) *cobra.Command {
	var (
		r              instance.RestoreRequest
		identities     []string
		passphraseFile string
		asJSON         bool
	)
	cmd := &cobra.Command{
		Use: "restore", Short: "Restore an instance from a backup", Args: onlyCommands, SuggestionsMinimumDistance: 2,
		Long: "Restores the two files of `keepsake backup` into an empty data folder, or with databaseUrl into an empty PostgreSQL\n" +
			"database, whichever engine the backup came from. A target that is not empty is refused (exit code 3). The files are checked\n" +
			"completely before anything is put in place.\n\n" +
			"The master key from the time of the backup is required: --master-key-file, which is copied into the folder; or the setting\n" +
			"masterKey, which must then provide it at every start; or a file master.key that is already in the folder.\n\n" +
			"A restore ends all sessions. With --journal, keys and users return to their last state; without it, credentials\n" +
			"that were revoked after the backup are valid again.",
		Example: "  keepsake restore --in data-2026-11-30.db --keys-in keepsake-keys.db --master-key-file master.key \\\n" +
			"    --journal journal.ndjson --data ./restored",
	}
	s := settingFlags(st, cmd, "data", "databaseUrl", "keysUrl") // --master-key-file means more here
	flags := cmd.Flags()
	flags.StringVar(&r.Data, "in", "", "data `FILE` of the backup")
	flags.StringVar(&r.Keys, "keys-in", "", "keys `FILE` of the same backup or a later one")
	flags.StringArrayVar(&r.Journals, "journal", nil, "journal.ndjson `FILE` of the lost instance; can be repeated")
	flags.StringVar(&r.MasterKeyFile, "master-key-file", "", "`FILE` with the master key")
	flags.StringArrayVar(&identities, "identity", nil, "`FILE` of age identities that decrypt the backup; can be repeated")
	flags.StringVar(&passphraseFile, "passphrase-file", "", "`FILE` with the passphrase that decrypts the backup")
	flags.BoolVar(&r.OlderKeys, "older-keys", false, "accept a keys file that is older than the data")
	cmd.MarkFlagsMutuallyExclusive("identity", "passphrase-file")
	for _, name := range []string{"in", "keys-in", "data"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a flag of this command
		}
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		if r.Identities, err = readers(identities, passphraseFile); err != nil {
			return err
		}
		bar := st.bar(!asJSON && st.errTTY)("restoring", fileSize(r.Data)+fileSize(r.Keys))
		defer bar.Finish()
		r.Progress = func(n int) { _ = bar.Add(n) } // errors of drawing are ignored
		rows := st.rowBars(!asJSON && st.errTTY)
		defer rows.end()
		r.Rows = rows.show
		log := slog.New(slog.NewTextHandler(st.err, &slog.HandlerOptions{Level: slog.LevelError}))
		done, err := instance.Restore(cmd.Context(), cfg, instance.Options{Log: log}, r)
		if err != nil {
			return err
		}
		if asJSON {
			return st.printJSON(done)
		}
		_ = bar.Finish()
		rows.end()
		st.printRestored(done, cfg)
		return nil
	}
	cmd.AddCommand(restoreJournalCommand(st))
	return cmd
}

func restoreJournalCommand(st *stage) *cobra.Command {
	var (
		journals []string
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use: "journal", Short: "Apply journals to an instance that was restored by other tools", Args: noArguments,
		Long: "After a database was restored by PostgreSQL's own tools (pg_restore, point-in-time recovery), or a data folder from a disk\n" +
			"snapshot, credentials that were revoked since are valid again. This command brings keys and users to their last state\n" +
			"according to the journals of all processes that wrote, and ends every session. Stop all servers of the instance first.\n" +
			"Running it a second time changes nothing.",
		Example: "  keepsake restore journal --journal journal-a.ndjson --journal journal-b.ndjson \\\n    --database-url postgres://keepsake@db/keepsake",
	}
	s := settingFlags(st, cmd, placeSettings...)
	cmd.Flags().StringArrayVar(&journals, "journal", nil, "journal.ndjson `FILE` of each process that wrote; can be repeated")
	if err := cmd.MarkFlagRequired("journal"); err != nil {
		panic(err) // a flag of this command
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(st.err, &slog.HandlerOptions{Level: slog.LevelError}))
		done, err := instance.Replay(cmd.Context(), cfg, instance.Options{Log: log}, journals)
		if err != nil {
			return err
		}
		if asJSON {
			return st.printJSON(done)
		}
		st.printReplayed(done)
		return nil
	}
	return cmd
}

// readers returns the identities that decrypt a backup.
func readers(files []string, passphraseFile string) ([]age.Identity, error) {
	if passphraseFile != "" {
		text, err := passphrase(passphraseFile)
		if err != nil {
			return nil, err
		}
		i, err := age.NewScryptIdentity(text)
		return []age.Identity{i}, err
	}
	var list []age.Identity
	for _, path := range files {
		text, err := secretfile.Read(path)
		if err != nil {
			return nil, fmt.Errorf("read identities: %w", err)
		}
		more, err := age.ParseIdentities(strings.NewReader(text))
		if err != nil {
			// The error of ParseIdentities could show a part of an identity.
			return nil, usageError("--identity must be a file with one age identity (AGE-SECRET-KEY-1…) per line")
		}
		list = append(list, more...)
	}
	return list, nil
}

// fileSize returns 0 for a file that does not exist; reading it reports the error.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (st *stage) printRestored(done *instance.RestoreResult, cfg config.Config) {
	where := cfg.Data
	if cfg.DatabaseURL != "" {
		where = "the database of databaseUrl and the folder " + cfg.Data
	}
	fmt.Fprintf(st.out, "Restored the backup of %[2]s into %[1]s.\n", where, done.MadeAt.UTC().Format(time.RFC3339))
	st.printReplayed(done)
	if done.MasterKeyFile == "" {
		fmt.Fprintln(st.out, "The setting masterKey must provide the master key at every start.")
	}
}

func (st *stage) printReplayed(done *instance.RestoreResult) {
	fmt.Fprintf(st.out, "Ended %d sessions.\n", done.SessionsEnded)
	if done.SubjectsErased+done.MemoriesErased > 0 {
		fmt.Fprintf(st.out, "Erased %d subjects and %d memories again that were erased after the backup.\n", done.SubjectsErased, done.MemoriesErased)
	}
	if j := done.Journal; j != nil {
		fmt.Fprintf(st.out, "Applied the journal: %d API keys, %d users and %d workspaces are in their last state; %d created after the backup are lost.\n",
			j.Keys, j.Users, j.Workspaces, j.Newer)
	} else {
		fmt.Fprintln(st.out, "No journal was given: API keys and users that were revoked after the backup are valid again, and memories erased since are back.")
	}
}
