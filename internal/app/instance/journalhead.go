package instance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/backup"
	"keepsake/internal/memory/seal"
)

// A journal that lost its last lines, or all of them, looks like one with fewer changes: a restore with it would bring back
// credentials that were revoked. So what authenticates the last line is stored with the keys, shortly after the line was
// written. The journal can be ahead of it, but never behind.

// JournalLost describes a journal that lacks lines.
const JournalLost = "journal.ndjson lacked lines that this process had written before; put the newest copy back while no server runs, " +
	"or a restore revives what they revoked. What the database knows was written again: revoked and disabled keys, disabled users, " +
	"suspended workspaces and erased subjects. Deleted users and single erased memories are missing"

func (i *Instance) headPrefix() string { return seal.JournalHead + i.Chain + "/" }

// checkJournal notices lost lines, and writes again what the database knows of them. Then it keeps the stored head up to date
// until the instance is closed.
func (i *Instance) checkJournal(ctx context.Context) error {
	if names := i.Secrets.Names(i.headPrefix()); len(names) > 0 {
		holds, err := i.Store.Journal.Holds(i.Secrets.Get(names[len(names)-1]))
		if err != nil {
			return err
		}
		if !holds {
			i.JournalLost = true
			i.opt.Log.Error("journal lacks lines", "problem", JournalLost)
			if err := i.journalAgain(ctx); err != nil {
				return err
			}
		}
	}
	if err := i.sealHead(ctx); err != nil {
		i.opt.Log.Warn("storing the head of the journal failed", "error", err)
	}
	i.followJournal()
	return nil
}

// followJournal stores the head after each entry.
func (i *Instance) followJournal() {
	wake, quit, ended := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	i.Store.Journal.OnAdd(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	i.stopJournal = func() {
		close(quit)
		<-ended
	}
	go func() {
		defer close(ended)
		for stopping := false; !stopping; {
			select {
			case <-wake:
			case <-quit:
				stopping = true
			}
			if err := i.sealHead(context.Background()); err != nil {
				i.opt.Log.Warn("storing the head of the journal failed", "error", err)
			}
		}
	}()
}

// sealHead stores the head of the journal under the next number, and then removes the one before.
func (i *Instance) sealHead(ctx context.Context) error {
	head, err := i.Store.Journal.Head()
	if errors.Is(err, fs.ErrNotExist) || head == nil {
		return nil // a removed file is noticed by the next start
	}
	if err != nil {
		return err
	}
	names, next := i.Secrets.Names(i.headPrefix()), 1
	if len(names) > 0 {
		last := names[len(names)-1]
		if bytes.Equal(i.Secrets.Get(last), head) {
			return nil
		}
		if holds, err := i.Store.Journal.Holds(i.Secrets.Get(last)); err != nil || !holds && !i.JournalLost {
			return err // the file was replaced under the running process
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(last, i.headPrefix()))
		next = n + 1
	}
	if err := i.Secrets.Add(ctx, fmt.Sprintf("%s%012d", i.headPrefix(), next), head); err != nil {
		return err
	}
	for _, name := range names {
		if err := i.Secrets.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// journalAgain appends what the database knows of lost entries.
func (i *Instance) journalAgain(ctx context.Context) error {
	j, st := i.Store.Journal, i.Store.rows
	err := st.APIKeys.EachEndedAPIKey(ctx, func(k *apikey.APIKey) error { return j.Append(backup.KeyEntry(k)) })
	if err != nil {
		return err
	}
	const atOnce = 200
	for before := ""; ; {
		users, err := st.Accounts.ListUsers(ctx, account.AllWorkspaces, account.UserFilter{Before: before, Limit: atOnce})
		if err != nil {
			return err
		}
		for n := range users {
			if users[n].Disabled {
				if err := j.Append(backup.UserEntry(&users[n], false)); err != nil {
					return err
				}
			}
		}
		if len(users) < atOnce {
			break
		}
		before = users[len(users)-1].ID
	}
	workspaces, err := st.Accounts.Workspaces(ctx)
	if err != nil {
		return err
	}
	for n := range workspaces {
		if workspaces[n].Suspended {
			if err := j.Append(backup.WorkspaceEntry(&workspaces[n])); err != nil {
				return err
			}
		}
	}
	return st.SubjectKeys.EachDestroyedKey(ctx, func(k *seal.SubjectKey) error {
		return j.Append(backup.SubjectEntry(k.WorkspaceID, k.Subject, k.Generation, k.CreatedAt))
	})
}
