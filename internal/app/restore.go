package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"keepsake/internal/audit"
	"keepsake/internal/backup"
	"keepsake/internal/config"
	"keepsake/internal/folder"
	"keepsake/internal/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// ErrNotEmpty is the error of Restore where there is something already; nothing was changed.
var ErrNotEmpty = errors.New("is not empty: a backup is restored into an empty place only")

// Restoring is what Restore works with besides the settings, of which it needs the data folder and perhaps the master key.
type Restoring struct {
	Data, Keys string // paths of the two files
	Identities []age.Identity
	OlderKeys  bool     // takes a keys file that is older than the data
	Journals   []string // paths of the journals that are replayed: one of each process that wrote
	// UnsignedJournals takes lines of these that an older release wrote without authentication.
	UnsignedJournals bool
	// MasterKeyFile is where the master key lies; it is copied into the folder. Empty: the setting gives it, now and later.
	MasterKeyFile string
	Progress      func(bytes int)      // hears of what was read of the two files; may be nil
	Rows          func(step move.Step) // hears of the rows on their way into a database; may be nil
}

// Restored is what Restore did.
type Restored struct {
	Instance      string           `json:"instance"`
	MadeAt        time.Time        `json:"madeAt,omitzero"` // when the backup was made
	KeysMadeAt    time.Time        `json:"keysMadeAt,omitzero"`
	SessionsEnded int64            `json:"sessionsEnded"`
	Journal       *backup.Replayed `json:"journal"` // null: none was given
	// What was erased once more, by the journal and by the keys.
	SubjectsErased int    `json:"subjectsErased"`
	MemoriesErased int    `json:"memoriesErased"`
	MasterKeyFile  string `json:"masterKeyFile,omitempty"`
}

// Restore makes an instance of a backup, or leaves the place as it was. The databases are looked through and opened with
// the master key before anything is put in its place; main.db comes last, so that a folder in which that was cut off is
// refused at its start and can be emptied. Where a setting names a database, the rows move into that, and the folder beside
// it gets the other files; a database in which that was cut off is refused likewise.
func Restore(ctx context.Context, cfg config.Config, deps Deps, r Restoring) (*Restored, error) {
	if err := deps.complete(&cfg); err != nil {
		return nil, err
	}
	master, err := r.masterKey(&cfg)
	if err != nil {
		return nil, err
	}
	if err := emptyFolder(cfg.Data); err != nil {
		return nil, err
	}
	if err := emptyDatabase(ctx, &cfg); err != nil {
		return nil, err
	}
	staging, err := os.MkdirTemp(cfg.Data, stagingPrefix+"*") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	defer os.RemoveAll(staging)
	done, err := r.into(ctx, staging, master, &deps)
	if err != nil {
		return nil, err
	}
	if cfg.DatabaseURL != "" {
		err = r.intoDatabase(ctx, staging, &cfg, &deps, done)
	} else {
		err = moveInto(staging, cfg.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if r.MasterKeyFile != "" {
		done.MasterKeyFile = MasterKeyPath(cfg.Data)
	}
	return done, nil
}

const stagingPrefix = ".restoring-"

func (r *Restoring) masterKey(cfg *config.Config) (seal.MasterKey, error) {
	switch {
	case r.MasterKeyFile != "":
		return seal.LoadMasterKey(r.MasterKeyFile)
	case cfg.MasterKey != "":
		return parseMasterKey(cfg)
	default:
		return seal.MasterKey{}, &config.Error{
			Setting: "masterKey", Reason: "no backup holds it; name its file with --master-key-file, or give the setting",
		}
	}
}

// emptyFolder makes a folder, or takes one in which there is nothing but what an earlier Restore left when it was killed.
func emptyFolder(path string) error {
	if err := folder.Make(path); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagingPrefix) {
			return fmt.Errorf("%s %w", path, ErrNotEmpty)
		}
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	return nil
}

// halfRestored refuses a place that somebody wants a backup in, and that has none yet: a new instance there would be taken
// for the old one that lost everything.
func halfRestored(path string) error {
	if exists(filepath.Join(path, "main.db")) {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // making the folder, or reading it, says what is wrong
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagingPrefix) {
			return fmt.Errorf("a restore into %s is under way or was cut off: let it end, or empty the folder and restore again", path)
		}
	}
	return nil
}

// into makes a whole data folder of dir.
func (r *Restoring) into(ctx context.Context, dir string, master seal.MasterKey, deps *Deps) (done *Restored, err error) {
	data, err := backup.Extract(backup.Source{Path: r.Data, Kind: backup.Data, Identities: r.Identities, Progress: r.Progress}, dir)
	if err != nil {
		return nil, err
	}
	keys, err := backup.Extract(backup.Source{Path: r.Keys, Kind: backup.Keys, Identities: r.Identities, Progress: r.Progress}, dir)
	if err != nil {
		return nil, err
	}
	if err := backup.Together(data, keys, r.OlderKeys); err != nil {
		return nil, err
	}
	done = &Restored{Instance: data.Instance, MadeAt: data.MadeAt, KeysMadeAt: keys.MadeAt}
	if r.MasterKeyFile != "" {
		if err := copyFile(r.MasterKeyFile, MasterKeyPath(dir)); err != nil {
			return nil, fmt.Errorf("copy the master key: %w", err)
		}
	}
	engine, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Log: deps.Log})
	if err != nil {
		return nil, err
	}
	err = r.complete(ctx, engine, dir, master, deps, done)
	return done, errors.Join(err, engine.Close())
}

// complete checks the databases and brings them from when the backup was made to now.
func (r *Restoring) complete(ctx context.Context, engine *sqlite.Engine, dir string, master seal.MasterKey, deps *Deps, done *Restored) error {
	if err := engine.Check(ctx); err != nil {
		return err
	}
	st := store.New(engine)
	instance, err := st.InstanceID(ctx)
	if err != nil {
		return err
	}
	if instance != done.Instance {
		return fmt.Errorf("%s %w: its databases are of another instance than it says", r.Data, backup.ErrDamaged)
	}
	secrets, err := seal.Open(ctx, st, master, false)
	if err != nil {
		return err
	}
	journal, err := r.journal(dir, done.Instance, secrets)
	if err != nil {
		return err
	}
	if err := openBindings(st, secrets); err != nil {
		return err
	}
	log := audit.NewLog(audit.Options{
		Store: st, Units: st, Chain: embeddedChain, Secret: secrets.Get(seal.Log), Keyed: secrets.Authenticates(),
		Checkpoints: CheckpointsPath(dir), Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	})
	if err := log.Accept(ctx); err != nil {
		return err
	}
	if err := done.upToNow(ctx, st, journal, secrets, log, deps); err != nil {
		return err
	}
	return log.Close(ctx)
}

// journal reads the journals, if there are any, and makes one of them in the folder.
func (r *Restoring) journal(dir, instance string, secrets *seal.Secrets) ([]backup.Entry, error) {
	if len(r.Journals) == 0 {
		return nil, nil
	}
	entries, err := readJournals(r.Journals, instance, secrets, r.UnsignedJournals)
	if err != nil {
		return nil, err
	}
	return entries, backup.WriteJournal(JournalPath(dir), entries, journalSigner(secrets))
}

// emptyDatabase refuses a database that holds something.
func emptyDatabase(ctx context.Context, cfg *config.Config) error {
	if cfg.DatabaseURL == "" {
		return nil
	}
	holder, err := postgres.Holder(ctx, postgres.Options{URL: cfg.DatabaseURL, KeysURL: cfg.KeysURL})
	if err == nil && holder != "" {
		err = fmt.Errorf("%s %w; where it holds what a restore left that was cut off, drop it and make it anew", place(cfg), ErrNotEmpty)
	}
	return err
}

// intoDatabase moves the rows of a whole data folder into a database, and its other files into the folder beside that.
func (r *Restoring) intoDatabase(ctx context.Context, staging string, cfg *config.Config, deps *Deps, done *Restored) (err error) {
	source, err := sqlite.OpenSource(ctx, staging)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	opt := deps.postgres(cfg.DatabaseURL, cfg.KeysURL)
	opt.Instance = done.Instance
	target, err := postgres.Open(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	o := move.Options{From: source, To: target, Source: filepath.Base(staging), Progress: r.Rows}
	// The databases stay, and so do the logs beside them (main.db-wal), which the source has open.
	return transfer(ctx, o, &Moved{}, func() error {
		return moveFiles(staging, cfg.Data, func(name string) bool { return !strings.Contains(name, ".db") })
	})
}

// moveInto puts the files of a folder in their places, main.db last: the one that makes a folder an instance.
func moveInto(staging, dir string) error {
	const last = "main.db"
	if err := moveFiles(staging, dir, func(name string) bool { return name != last }); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(staging, last), filepath.Join(dir, last)); err != nil {
		return err
	}
	return folder.Sync(dir)
}

// moveFiles puts those files of a folder in their places that are wanted, and not its lock.
func moveFiles(staging, dir string, wanted func(name string) bool) error {
	entries, err := os.ReadDir(staging)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); wanted(name) && name != folder.LockFile {
			if err := os.Rename(filepath.Join(staging, name), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return folder.Sync(dir)
}

// copyFile copies a small file to one that must not be there, mode 0600, on stable storage when it returns.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if exists(to) {
		return fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	return writeFile(to, data)
}
