package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"keepsake/internal/app"
	"keepsake/internal/config"
)

func restoreCommand(st *stage) *cobra.Command {
	var (
		r              app.Restoring
		identities     []string
		passphraseFile string
		asJSON         bool
	)
	cmd := &cobra.Command{
		Use: "restore", Short: "Make an instance of a backup", Args: cobra.NoArgs,
		Long: "Makes a data folder of the two files of `keepsake backup`, into an empty place only; the exit code is 3 otherwise.\n" +
			"With the setting databaseUrl the rows go into that database, which must be empty as well, whichever engine they are of.\n" +
			"Everything is checked before anything is in its place. The master key of the time of the backup is needed: from\n" +
			"--master-key-file, which is copied into the folder, or from the setting masterKey, which must then give it at each start, too.\n\n" +
			"Sign-ins are over after it. With --journal, keys and users are what they last were by journal.ndjson of the folder\n" +
			"that was lost; without it, what was revoked after the backup is valid again.",
	}
	s := settingFlags(st, cmd, placeSettings...)
	flags := cmd.Flags()
	flags.StringVar(&r.Data, "in", "", "`FILE` of the data")
	flags.StringVar(&r.Keys, "keys-in", "", "`FILE` of the wrapped secrets, of the same backup or a later one")
	flags.StringArrayVar(&r.Journals, "journal", nil, "`FILE` that tells what became of keys and users after the backup: journal.ndjson; may be repeated")
	unsignedFlag(cmd, &r.UnsignedJournals)
	flags.StringVar(&r.MasterKeyFile, "master-key-file", "", "`FILE` of the master key")
	flags.StringArrayVar(&identities, "identity", nil, "`FILE` of age identities that open the files; may be repeated")
	flags.StringVar(&passphraseFile, "passphrase-file", "", "`FILE` of the passphrase that opens them")
	flags.BoolVar(&r.OlderKeys, "older-keys", false, "take a keys file that is older than the data")
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
		r.Progress = func(n int) { _ = bar.Add(n) } // a bar that cannot be drawn stops nothing
		rows := st.rowBars(!asJSON && st.errTTY)
		defer rows.end()
		r.Rows = rows.show
		log := slog.New(slog.NewTextHandler(st.err, &slog.HandlerOptions{Level: slog.LevelError}))
		done, err := app.Restore(cmd.Context(), cfg, app.Deps{Log: log}, r)
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
		unsigned bool
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use: "journal", Short: "Bring credentials up to date after databases came back by other tools", Args: cobra.NoArgs,
		Long: "After a database was brought back by the tools of its server (pg_restore, a point in time), or a data folder by those of\n" +
			"its disk, what was revoked since is valid again. This makes keys and users what they last were by the journals of all\n" +
			"processes that wrote, and ends every session. Nobody may serve the instance meanwhile. A second time changes nothing more.",
	}
	s := settingFlags(st, cmd, placeSettings...)
	cmd.Flags().StringArrayVar(&journals, "journal", nil, "`FILE` that tells what became of keys and users: journal.ndjson; may be repeated")
	if err := cmd.MarkFlagRequired("journal"); err != nil {
		panic(err) // a flag of this command
	}
	unsignedFlag(cmd, &unsigned)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(st.err, &slog.HandlerOptions{Level: slog.LevelError}))
		done, err := app.Replay(cmd.Context(), cfg, app.Deps{Log: log}, journals, unsigned)
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

func unsignedFlag(cmd *cobra.Command, unsigned *bool) {
	cmd.Flags().BoolVar(unsigned, "unsigned-journal", false, "take lines of the journal that an older release wrote without authentication: only if no other user could write the file")
}

// readers are who opens a backup that is encrypted.
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
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read identities: %w", err)
		}
		more, err := age.ParseIdentities(strings.NewReader(string(text)))
		if err != nil {
			return nil, usageError("--identity must be a file of age identities (AGE-SECRET-KEY-1…), one a line") // its own error could show a part of one
		}
		list = append(list, more...)
	}
	return list, nil
}

// fileSize is 0 for a file that is not there: reading it says so.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (st *stage) printRestored(done *app.Restored, cfg config.Config) {
	where := cfg.Data
	if cfg.DatabaseURL != "" {
		where = "The database of databaseUrl, with " + cfg.Data + " beside it,"
	}
	fmt.Fprintf(st.out, "%s holds the backup of %s.\n", where, done.MadeAt.UTC().Format(time.RFC3339))
	st.printReplayed(done)
	if done.MasterKeyFile == "" {
		fmt.Fprintln(st.out, "The setting masterKey must give the master key at each start.")
	}
}

func (st *stage) printReplayed(done *app.Restored) {
	fmt.Fprintf(st.out, "%d sign-ins were ended.\n", done.SessionsEnded)
	if done.SubjectsErased+done.MemoriesErased > 0 {
		fmt.Fprintf(st.out, "%d subjects and %d memories that were erased after the backup were erased again.\n", done.SubjectsErased, done.MemoriesErased)
	}
	if j := done.Journal; j != nil {
		fmt.Fprintf(st.out, "By the journal %d API keys, %d users and %d workspaces became what they last were; %d were made after the backup and are gone.\n",
			j.Keys, j.Users, j.Workspaces, j.Newer)
	} else {
		fmt.Fprintln(st.out, "No journal was given: API keys and users are what they were then, also those revoked since, and single memories that were erased since are back.")
	}
}
