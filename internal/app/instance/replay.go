package instance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/backup"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
)

// Replay applies journals to an instance that was restored by other tools, and ends every session. It refuses an instance
// that is being served.
func Replay(ctx context.Context, cfg config.Config, opt Options, journals []string) (result *RestoreResult, err error) {
	opt.Mode = OpenExisting
	i, err := Open(ctx, &cfg, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	if e, ok := i.Engine.(*postgres.Engine); ok {
		if err := checkNotServed(ctx, e, location(&cfg)); err != nil {
			return nil, err
		}
	}
	if err := i.check(ctx); err != nil {
		return nil, err
	}
	if err := i.Unseal(ctx); err != nil {
		return nil, err
	}
	result = &RestoreResult{Instance: i.Store.Journal.Instance()}
	entries, err := readJournals(journals, result.Instance, i.Secrets)
	if err != nil {
		return nil, err
	}
	if err := i.Store.Journal.Carry(entries); err != nil {
		return nil, err
	}
	return result, result.replay(ctx, replay{
		store: i.Store.rows, credentials: backup.Credentials{APIKeys: i.Store.APIKeys, Accounts: i.Store.Accounts}, entries: entries, secrets: i.Secrets, now: i.opt.Now,
		log: auditLog(i.Store.rows, i.Chain, cfg.Data, i.Secrets, &i.opt),
	})
}

// checkNotServed refuses a database that processes serve.
func checkNotServed(ctx context.Context, e *postgres.Engine, location string) error {
	members, err := e.Serving(ctx)
	if err == nil && len(members) > 0 {
		err = fmt.Errorf("%s %w by %s: stop it, or wait 10 s if it was killed", location, ErrServed, strings.Join(members, ", "))
	}
	return err
}

// readJournals reads journals that the instance wrote.
func readJournals(paths []string, instance string, secrets *seal.Secrets) ([]backup.Entry, error) {
	r := backup.Reading{Instance: instance, Signer: journalSigner(secrets)}
	return r.Journals(paths)
}

// replay is what a replay works with.
type replay struct {
	store       *store.Store
	credentials backup.Credentials
	entries     []backup.Entry // nil without a journal
	secrets     *seal.Secrets
	log         *audit.Log
	now         func() time.Time
}

// replay repeats what happened after the backup, ends all sessions, and records the restore in the audit log.
func (result *RestoreResult) replay(ctx context.Context, r replay) error {
	if err := r.log.Accept(ctx); err != nil {
		return err
	}
	last, err := r.lastEvent(ctx)
	if err != nil {
		return err
	}
	if err := result.eraseAgain(ctx, r, last); err != nil {
		return err
	}
	err = r.store.Run(ctx, func(ctx context.Context) (err error) {
		if r.entries != nil {
			if result.Journal, err = backup.Replay(ctx, r.credentials, r.entries, last); err != nil {
				return err
			}
		}
		if result.SessionsEnded, err = r.store.Sessions.EndAllSessions(ctx, r.now()); err != nil {
			return err
		}
		e := audit.Entry{Action: audit.InstanceRestored, Actor: "local"}
		if !result.MadeAt.IsZero() { // zero in Replay
			e.Details = map[string]string{"madeAt": result.MadeAt.UTC().Format(time.RFC3339)}
		}
		return r.log.Record(ctx, e)
	})
	if err != nil {
		return err
	}
	return r.log.Close(ctx)
}

// lastEvent returns the time of the newest entry in the restored audit log.
func (r *replay) lastEvent(ctx context.Context) (time.Time, error) {
	rows, err := r.store.Audit.ListAuditRows(ctx, audit.Filter{Limit: 1})
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	return rows[0].At, nil
}

// eraseAgain repeats the erasures after the backup. The journal lists them; so do destroyed data keys, because the keys
// file can be newer than the data.
func (result *RestoreResult) eraseAgain(ctx context.Context, r replay, last time.Time) (err error) {
	st := r.store
	if result.SubjectsErased, result.MemoriesErased, err = backup.ReplayErasures(ctx, st.Restore, r.entries, last); err != nil {
		return err
	}
	if err := st.Restore.FinishErasures(ctx, r.now()); err != nil {
		return err
	}
	lookup, found := r.secrets.Find(seal.LookupSecret)
	err = st.SubjectKeys.EachDestroyedKey(ctx, func(k *seal.SubjectKey) error {
		again, err := st.Restore.EraseAgain(ctx, k.WorkspaceID, k.Subject, k.Generation, false, k.CreatedAt)
		if again {
			result.SubjectsErased++
		}
		if err != nil || !found {
			return err
		}
		return st.APIKeys.ForgetBoundSubject(ctx, k.WorkspaceID, func(name string) bool {
			return seal.NewLookup(lookup).Subject(k.WorkspaceID, name) == k.Subject
		})
	})
	if err != nil {
		return err
	}
	return st.Restore.FinishErasures(ctx, r.now())
}
