package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/backup"
	"keepsake/internal/config"
	"keepsake/internal/seal"
	"keepsake/internal/store/postgres"
)

// Replay brings the credentials of an instance, whose databases were brought back by other tools than Restore, from what
// they were then to what they last were by the journals, and ends every session. Nobody may serve it meanwhile. unsigned
// takes lines of the journals that an older release wrote without authentication.
func Replay(ctx context.Context, cfg config.Config, deps Deps, journals []string, unsigned bool) (done *Restored, err error) {
	deps.Local = true
	if err := deps.complete(&cfg); err != nil {
		return nil, err
	}
	d, err := openData(ctx, &cfg, &deps)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if e, ok := d.engine.(*postgres.Engine); ok {
		members, err := e.Serving(ctx)
		if err != nil {
			return nil, err
		}
		if len(members) > 0 {
			return nil, fmt.Errorf("%s %w by %s: stop it, or wait 10 s if it was killed", place(&cfg), ErrServed, strings.Join(members, ", "))
		}
	}
	if err := whole(ctx, d.engine, place(&cfg)); err != nil {
		return nil, err
	}
	if d.initialised, err = d.store.Initialised(ctx); err != nil {
		return nil, err
	}
	if !d.initialised {
		return nil, notInitialised(&cfg)
	}
	if err := d.unseal(ctx, &cfg); err != nil {
		return nil, err
	}
	done = &Restored{Instance: d.store.journal.Instance()}
	entries, err := readJournals(journals, done.Instance, d.secrets, unsigned)
	if err != nil {
		return nil, err
	}
	if err := d.store.journal.Carry(entries); err != nil {
		return nil, err
	}
	log := audit.NewLog(audit.Options{
		Store: d.store, Units: d.store, Chain: d.chain, Secret: d.secrets.Get(seal.Log), Keyed: d.secrets.Authenticates(),
		Checkpoints: CheckpointsPath(cfg.Data), Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	})
	if err := log.Accept(ctx); err != nil {
		return nil, err
	}
	if err := done.upToNow(ctx, d.store, entries, d.secrets, log, &deps); err != nil {
		return nil, err
	}
	return done, log.Close(ctx)
}

// instance is what a restore works on.
type instance interface {
	backup.Store
	backup.Erasures
	EachDestroyedKey(ctx context.Context, fn func(k *seal.SubjectKey) error) error
	FinishErasures(ctx context.Context, at time.Time) error
	ForgetBoundSubject(ctx context.Context, workspaceID string, is func(subjectID string) bool) error
	Run(ctx context.Context, fn func(ctx context.Context) error) error
	EndAllSessions(ctx context.Context, at time.Time) (int64, error)
	ListAuditRows(ctx context.Context, f audit.Filter) ([]*audit.Row, error)
}

// readJournals reads journals that the instance wrote.
func readJournals(paths []string, instance string, secrets *seal.Secrets, unsigned bool) ([]backup.Entry, error) {
	r := backup.Reading{Instance: instance, Signer: journalSigner(secrets), Unsigned: unsigned}
	return r.Journals(paths)
}

// asOf is the time of the last thing that happened to what was restored, as its log tells.
func asOf(ctx context.Context, st instance) (time.Time, error) {
	rows, err := st.ListAuditRows(ctx, audit.Filter{Limit: 1})
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	return rows[0].At, nil
}

// upToNow brings what was restored from when it was made to now. Without a journal, entries are nil.
func (done *Restored) upToNow(ctx context.Context, st instance, entries []backup.Entry, secrets *seal.Secrets, log *audit.Log, deps *Deps) error {
	last, err := asOf(ctx, st)
	if err != nil {
		return err
	}
	if err := done.eraseAgain(ctx, st, entries, last, secrets, deps); err != nil {
		return err
	}
	return st.Run(ctx, func(ctx context.Context) (err error) {
		if entries != nil {
			if done.Journal, err = backup.Replay(ctx, st, entries, last); err != nil {
				return err
			}
		}
		if done.SessionsEnded, err = st.EndAllSessions(ctx, deps.Now()); err != nil {
			return err
		}
		e := audit.Entry{Action: audit.InstanceRestored, Actor: "local"}
		if !done.MadeAt.IsZero() { // else nobody said
			e.Details = map[string]string{"madeAt": done.MadeAt.UTC().Format(time.RFC3339)}
		}
		return log.Record(ctx, e)
	})
}

// eraseAgain erases who and what was erased after the backup: by the journal, and by the keys, which tell of every person
// whose data key was destroyed and may be newer than the data.
func (done *Restored) eraseAgain(ctx context.Context, st instance, entries []backup.Entry, last time.Time, secrets *seal.Secrets, deps *Deps) (err error) {
	if done.SubjectsErased, done.MemoriesErased, err = backup.ReplayErasures(ctx, st, entries, last); err != nil {
		return err
	}
	if err := st.FinishErasures(ctx, deps.Now()); err != nil {
		return err
	}
	lookup, named := secrets.Find(seal.LookupSecret)
	err = st.EachDestroyedKey(ctx, func(k *seal.SubjectKey) error {
		again, err := st.EraseAgain(ctx, k.WorkspaceID, k.Subject, k.Generation, false, k.CreatedAt)
		if again {
			done.SubjectsErased++
		}
		if err != nil || !named {
			return err
		}
		return st.ForgetBoundSubject(ctx, k.WorkspaceID, func(name string) bool {
			return seal.NewLookup(lookup).Subject(k.WorkspaceID, name) == k.Subject
		})
	})
	if err != nil {
		return err
	}
	return st.FinishErasures(ctx, deps.Now())
}
