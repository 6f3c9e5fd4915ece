package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"keepsake/internal/app/config"
	"keepsake/internal/base/folder"
	"keepsake/internal/govern/backup"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// ErrNotEmpty is the error of Restore if the target is not empty. Nothing was changed.
var ErrNotEmpty = errors.New("is not empty: a backup can only be restored into an empty folder or database")

// RestoreRequest says what Restore restores.
type RestoreRequest struct {
	Data, Keys string // the two files of a backup
	Identities []age.Identity
	OlderKeys  bool     // accept a keys file that is older than the data
	Journals   []string // of each process that wrote
	// MasterKeyFile is copied into the folder. If it is empty, the setting must provide the key, also at every start.
	MasterKeyFile string
	Progress      func(bytes int)      // called with the bytes read of the two files; can be nil
	Rows          func(step move.Step) // called with the rows copied into a database; can be nil
}

// RestoreResult is what Restore and Replay did.
type RestoreResult struct {
	Instance      string           `json:"instance"`
	MadeAt        time.Time        `json:"madeAt,omitzero"` // the time of the backup
	KeysMadeAt    time.Time        `json:"keysMadeAt,omitzero"`
	SessionsEnded int64            `json:"sessionsEnded"`
	Journal       *backup.Replayed `json:"journal"` // null without a journal
	// Erased again, according to the journal and the destroyed data keys.
	SubjectsErased int    `json:"subjectsErased"`
	MemoriesErased int    `json:"memoriesErased"`
	MasterKeyFile  string `json:"masterKeyFile,omitempty"`
}

// Restore creates an instance from a backup, or leaves the target as it was. It checks the databases and opens them with
// the master key in a staging folder before it moves anything into place. The last step makes the target an instance:
// renaming main.db, or marking the database as complete. A target in which that was interrupted is refused at its start.
func Restore(ctx context.Context, cfg config.Config, opt Options, r RestoreRequest) (result *RestoreResult, err error) {
	opt.complete()
	master, err := r.masterKey(&cfg)
	if err != nil {
		return nil, err
	}
	if err := emptyDatabase(ctx, &cfg); err != nil {
		return nil, err
	}
	if err := sqlite.Examine(ctx, cfg.Data); err != nil {
		return nil, because{err, ErrNotEmpty}
	}
	made := !exists(cfg.Data)
	if err := emptyFolder(cfg.Data, r.keyInPlace(&cfg)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && made {
			_ = os.Remove(cfg.Data) // if it is empty
		}
	}()
	staging, err := os.MkdirTemp(cfg.Data, stagingPrefix+"*") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	defer os.RemoveAll(staging)
	if result, err = r.stage(ctx, staging, master, &opt); err != nil {
		return nil, err
	}
	if cfg.DatabaseURL != "" {
		err = r.moveIntoDatabase(ctx, staging, &cfg, &opt, result.Instance)
	} else {
		err = moveIntoFolder(staging, cfg.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if r.MasterKeyFile != "" || r.keyInPlace(&cfg) {
		result.MasterKeyFile = MasterKeyPath(cfg.Data)
	}
	return result, nil
}

const stagingPrefix = ".restoring-"

// keyInPlace reports whether the master key is the one that the target folder already contains.
func (r *RestoreRequest) keyInPlace(cfg *config.Config) bool {
	return r.MasterKeyFile == "" && cfg.MasterKey == "" && exists(MasterKeyPath(cfg.Data))
}

func (r *RestoreRequest) masterKey(cfg *config.Config) (seal.MasterKey, error) {
	switch {
	case r.MasterKeyFile != "":
		return seal.LoadMasterKey(r.MasterKeyFile)
	case cfg.MasterKey != "":
		return parseMasterKey(cfg)
	case r.keyInPlace(cfg):
		return seal.LoadMasterKey(MasterKeyPath(cfg.Data))
	default:
		return seal.MasterKey{}, &config.Error{
			Setting: "masterKey", Reason: "no backup holds it; name its file with --master-key-file, or give the setting",
		}
	}
}

// emptyFolder creates a folder if necessary, and refuses one that is not empty. It removes what an interrupted Restore left.
// With keepKey, the folder contains its master key, which stays.
func emptyFolder(path string, keepKey bool) error {
	if err := folder.Make(path); err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	if keepKey {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(MasterKeyPath("")) })
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

// partlyRestored refuses a folder into which a restore is running or was interrupted. Opening it would create a new
// instance, which looks like the old one with all data lost.
func partlyRestored(path string) error {
	if exists(filepath.Join(path, "main.db")) {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // opening the folder reports it
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagingPrefix) {
			return fmt.Errorf("a restore into %s is running or was interrupted: wait for it, or empty the folder and restore again", path)
		}
	}
	return nil
}

// stage extracts the backup into dir and brings it up to date.
func (r *RestoreRequest) stage(ctx context.Context, dir string, master seal.MasterKey, opt *Options) (*RestoreResult, error) {
	data, err := r.extract(ctx, r.Data, backup.Data, dir)
	if err != nil {
		return nil, err
	}
	keys, err := r.extract(ctx, r.Keys, backup.Keys, dir)
	if err != nil {
		return nil, err
	}
	if err := backup.Together(data, keys, r.OlderKeys); err != nil {
		return nil, err
	}
	if r.MasterKeyFile != "" {
		if err := copyFile(r.MasterKeyFile, MasterKeyPath(dir)); err != nil {
			return nil, fmt.Errorf("copy the master key: %w", err)
		}
	}
	engine, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Log: opt.Log})
	if err != nil {
		return nil, err
	}
	result := &RestoreResult{Instance: data.Instance, MadeAt: data.MadeAt, KeysMadeAt: keys.MadeAt}
	err = r.update(ctx, engine, dir, master, opt, result)
	return result, errors.Join(err, engine.Close())
}

// extract extracts one file of the backup into dir.
func (r *RestoreRequest) extract(ctx context.Context, path string, kind backup.Kind, dir string) (*backup.Header, error) {
	h, err := backup.Extract(backup.Source{Path: path, Kind: kind, Identities: r.Identities, Progress: r.Progress}, dir)
	if err != nil {
		return nil, err
	}
	if err := sqlite.Examine(ctx, dir); err != nil {
		return nil, fmt.Errorf("the backup %s %w", path, ErrUnreleased)
	}
	return h, nil
}

// update checks the databases and replays what happened after the backup.
func (r *RestoreRequest) update(ctx context.Context, engine *sqlite.Engine, dir string, master seal.MasterKey, opt *Options, result *RestoreResult) error {
	if err := engine.Check(ctx); err != nil {
		return err
	}
	st := store.New(engine)
	instance, err := st.Secrets.InstanceID(ctx)
	if err != nil {
		return err
	}
	if instance != result.Instance {
		return fmt.Errorf("%s %w: its databases belong to another instance than its header says", r.Data, backup.ErrDamaged)
	}
	secrets, err := seal.Open(ctx, st.Secrets, master, false)
	if err != nil {
		return err
	}
	var entries []backup.Entry
	if len(r.Journals) > 0 {
		if entries, err = readJournals(r.Journals, instance, secrets); err != nil {
			return err
		}
		if err := backup.WriteJournal(JournalPath(dir), entries, journalSigner(secrets)); err != nil {
			return err
		}
	}
	for _, name := range secrets.Names(seal.JournalHead) { // of the journals before the restore
		if err := secrets.Remove(ctx, name); err != nil {
			return err
		}
	}
	if err := openBindings(st, secrets); err != nil {
		return err
	}
	return result.replay(ctx, replay{
		store: st, credentials: backup.Credentials{APIKeys: st.APIKeys, Accounts: st.Accounts}, entries: entries, secrets: secrets,
		log: auditLog(st, embeddedChain, dir, secrets, opt), now: opt.Now,
	})
}

// emptyDatabase refuses a database that is not empty.
func emptyDatabase(ctx context.Context, cfg *config.Config) error {
	if cfg.DatabaseURL == "" {
		return nil
	}
	holder, err := postgres.Holder(ctx, postgres.Options{URL: cfg.DatabaseURL, KeysURL: cfg.KeysURL})
	if errors.Is(err, ErrUnreleased) {
		return because{err, ErrNotEmpty}
	}
	if err == nil && holder != "" {
		err = fmt.Errorf("%s %w; if it contains an interrupted restore, drop and recreate it", location(cfg), ErrNotEmpty)
	}
	return err
}

// moveIntoDatabase copies the rows of the staging folder into the database, and moves its other files into the data folder.
func (r *RestoreRequest) moveIntoDatabase(ctx context.Context, staging string, cfg *config.Config, opt *Options, instance string) (err error) {
	source, err := sqlite.OpenSource(ctx, staging)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := postgres.Open(ctx, withInstance(opt.postgres(cfg.DatabaseURL, cfg.KeysURL), instance))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	o := move.Options{From: source, To: target, Source: filepath.Base(staging), Progress: r.Rows}
	return transfer(ctx, o, &MoveResult{}, func() error {
		// The databases stay, with their write-ahead logs (main.db-wal), which the source has open.
		return moveFiles(staging, cfg.Data, func(name string) bool { return !strings.Contains(name, ".db") })
	})
}

func withInstance(o postgres.Options, instance string) postgres.Options {
	o.Instance = instance
	return o
}

// moveIntoFolder moves the files of the staging folder into the data folder, main.db last.
func moveIntoFolder(staging, dir string) error {
	const last = "main.db"
	if err := moveFiles(staging, dir, func(name string) bool { return name != last }); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(staging, last), filepath.Join(dir, last)); err != nil {
		return err
	}
	return folder.Sync(dir)
}

// moveFiles moves the files of a folder that wanted selects, without its lock.
func moveFiles(from, to string, wanted func(name string) bool) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); wanted(name) && name != folder.LockFile {
			if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	return folder.Sync(to)
}

// copyFile copies a small file to a path that must not exist.
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
