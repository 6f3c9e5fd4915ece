package backup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/apikey"
	"keepsake/internal/auth"
	"keepsake/internal/backup"
	"keepsake/internal/problem"
)

func now() time.Time { return madeAt }

func journal(t *testing.T, path string) *backup.Journal {
	t.Helper()
	j, err := backup.OpenJournal(path, "I", now)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func entryOf(id string) backup.Entry {
	return backup.UserEntry(&account.User{ID: id, Revision: 1}, true)
}

func idsOf(entries []backup.Entry) string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.User.ID)
	}
	return strings.Join(ids, " ")
}

func TestAJournalGoesOnAfterALineThatWasCutOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.ndjson")
	if err := journal(t, path).Append(entryOf("a")); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"instance":"I","us`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if list, err := backup.ReadJournal(path, "I"); err != nil || idsOf(list) != "a" {
		t.Fatalf("read %v, %v", list, err)
	}
	next := journal(t, path) // of the next process
	for _, id := range []string{"b", "c"} {
		if err := next.Append(entryOf(id)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := backup.ReadJournal(path, "I"); err != nil || idsOf(list) != "a b c" {
		t.Errorf("read %v, %v", list, err)
	}
	copied := filepath.Join(t.TempDir(), "journal.ndjson")
	entries, err := backup.ReadJournals([]string{path}, "I")
	if err == nil {
		err = backup.WriteJournal(copied, entries)
	}
	if err != nil {
		t.Fatal(err)
	}
	if list, err := backup.ReadJournal(copied, "I"); err != nil || idsOf(list) != "a b c" {
		t.Errorf("the copy reads %v, %v", list, err)
	}
}

func TestEveryoneWritesWholeLinesToAJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.ndjson")
	j := journal(t, path)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := j.Append(entryOf("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := backup.ReadJournal(path, "I"); err != nil || len(list) != 50 {
		t.Errorf("read %d, %v", len(list), err)
	}
}

func TestAJournalThatIsDamagedOrOfAnotherInstanceIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"of another instance": `{"instance":"OTHER","at":"2026-11-21T20:00:00Z","user":{"id":"a","revision":1}}`,
		"no JSON":             `garbage`,
		"of nothing":          `{"instance":"I","at":"2026-11-21T20:00:00Z"}`,
	} {
		path := filepath.Join(t.TempDir(), "journal.ndjson")
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := backup.ReadJournal(path, "I"); err == nil {
			t.Errorf("%s: read %v", name, list)
		}
	}
	if _, err := backup.ReadJournal(filepath.Join(t.TempDir(), "none"), "I"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a journal that is not there: %v", err)
	}
}

func TestAJournalThatCannotBeWrittenFailsTheChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.ndjson")
	j := journal(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if p, ok := problem.As(j.Append(entryOf("a"))); !ok || p.Kind != problem.Unavailable {
		t.Errorf("got %v", p)
	}
}

func TestReplayBringsCredentialsToWhatTheyLastWere(t *testing.T) {
	t.Parallel()
	was := madeAt.Add(-time.Hour)
	key := apikey.APIKey{
		ID: "key_1", WorkspaceID: "wsp_1", Revision: 3, Scopes: auth.Read | auth.Write,
		Secrets: []apikey.Secret{{Hash: [32]byte{1}, Hint: "kpsk_aaaa", CreatedAt: was}},
	}
	user := account.User{ID: "usr_1", Revision: 2, Role: account.RoleAdmin, PasswordHash: "old"}
	deleted := account.User{ID: "usr_2", Revision: 1}

	narrowed := key
	narrowed.Revision, narrowed.Scopes = 4, auth.Read
	rotated := narrowed
	rotated.Revision = 5
	rotated.Secrets = []apikey.Secret{
		{Hash: [32]byte{2}, Hint: "kpsk_bbbb", CreatedAt: madeAt},
		{Hash: [32]byte{1}, Hint: "kpsk_aaaa", CreatedAt: was, ValidUntil: &madeAt},
	}
	demoted := user
	demoted.Revision, demoted.Role, demoted.PasswordHash = 3, account.RoleViewer, "new"
	newer := apikey.APIKey{ID: "key_9", WorkspaceID: "wsp_1", Revision: 7}
	workspace := account.Workspace{ID: "wsp_1", Revision: 1}
	suspended := workspace
	suspended.Revision, suspended.Suspended = 2, true
	entries := []backup.Entry{
		backup.WorkspaceEntry(&suspended), backup.KeyEntry(&narrowed), backup.UserEntry(&demoted, false), backup.KeyEntry(&newer), backup.UserEntry(&deleted, true),
		backup.KeyEntry(&rotated),
	}
	st := &credentials{
		keys: map[string]apikey.APIKey{"key_1": key}, users: map[string]account.User{"usr_1": user, "usr_2": deleted},
		workspaces: map[string]account.Workspace{"wsp_1": workspace},
	}
	done, err := backup.Replay(t.Context(), st, entries)
	if err != nil {
		t.Fatal(err)
	}
	if *done != (backup.Replayed{Keys: 1, Users: 2, Workspaces: 1, Newer: 1}) {
		t.Errorf("replayed %+v", *done)
	}
	got := st.keys["key_1"]
	if got.Scopes != auth.Read || len(got.Secrets) != 2 || got.Secrets[0].Hash != [32]byte{2} || got.Secrets[1].ValidUntil == nil {
		t.Errorf("the key became %+v", got)
	}
	if u := st.users["usr_1"]; u.Role != account.RoleViewer || u.PasswordHash != "new" {
		t.Errorf("the user became %+v", u)
	}
	if !st.workspaces["wsp_1"].Suspended {
		t.Error("the suspended workspace is not suspended")
	}
	if _, there := st.users["usr_2"]; there {
		t.Error("the deleted user is back")
	}

	// Again, into what is newer than the journal by now: nothing changes.
	got.Revision, got.Scopes = 9, auth.Write
	u := st.users["usr_1"]
	u.Revision, u.Role = 9, account.RoleMember
	st.keys["key_1"], st.users["usr_1"] = got, u
	if done, err = backup.Replay(t.Context(), st, entries); err != nil || done.Keys+done.Users != 0 {
		t.Errorf("into what is newer: %+v, %v", done, err)
	}
	if st.keys["key_1"].Scopes != auth.Write || st.users["usr_1"].Role != account.RoleMember {
		t.Error("what was newer became older")
	}
}

// Processes that share a database each have a journal; whatever the order in which they are read, the latest counts.
func TestJournalsOfSeveralProcessesAreOne(t *testing.T) {
	t.Parallel()
	at := func(revision int64, role account.Role) backup.Entry {
		return backup.UserEntry(&account.User{ID: "usr_1", Revision: revision, Role: role}, false)
	}
	gone := account.User{ID: "usr_2", Revision: 2}
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	clock := madeAt
	write := func(path string, entries ...backup.Entry) {
		j, err := backup.OpenJournal(path, "I", func() time.Time { clock = clock.Add(time.Second); return clock })
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := j.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(one, at(2, account.RoleMember), at(5, account.RoleAdmin)) // whose commit failed
	write(two, at(3, account.RoleMember), at(4, account.RoleAdmin), backup.UserEntry(&gone, true))
	write(one, at(5, account.RoleViewer), backup.UserEntry(&gone, false)) // which failed as well
	for _, order := range [][]string{{one, two}, {two, one}} {
		entries, err := backup.ReadJournals(order, "I")
		if err != nil {
			t.Fatal(err)
		}
		st := &credentials{users: map[string]account.User{"usr_1": {ID: "usr_1", Revision: 1}, "usr_2": gone}}
		if _, err := backup.Replay(t.Context(), st, entries); err != nil {
			t.Fatal(err)
		}
		if got := st.users["usr_1"].Role; got != account.RoleViewer {
			t.Errorf("the user became a %s", got)
		}
		if _, there := st.users["usr_2"]; there {
			t.Error("the deleted user is back")
		}
		both := filepath.Join(t.TempDir(), "both")
		if err := backup.WriteJournal(both, entries); err != nil {
			t.Fatal(err)
		}
		if again, err := backup.ReadJournal(both, "I"); err != nil || len(again) != 2 {
			t.Errorf("what was written of both holds %d entries, %v", len(again), err)
		}
	}

	// A restore of an old backup sets revisions back; what is changed after it counts all the same.
	clock = clock.Add(time.Hour)
	write(one, at(3, account.RoleAdmin))
	for _, order := range [][]string{{one, two}, {two, one}, {one}} {
		entries, err := backup.ReadJournals(order, "I")
		if err != nil || entries[0].User.Role != string(account.RoleAdmin) {
			t.Errorf("after a restore: %+v, %v", entries[0].User, err)
		}
	}
}

// erasures notes what is to be erased once more.
type erasures struct{ done []string }

func (e *erasures) EraseAgain(_ context.Context, workspaceID string, subject [16]byte, generation int64, at time.Time) (bool, error) {
	e.done = append(e.done, fmt.Sprint(workspaceID, " ", subject[0], " up to ", generation, " ", at.Sub(madeAt)))
	return generation > 1, nil
}

func (e *erasures) ForgetAgain(_ context.Context, workspaceID string, subject [16]byte, ids []string, at time.Time) (int, error) {
	e.done = append(e.done, fmt.Sprint(workspaceID, " ", subject[0], " ", ids, " ", at.Sub(madeAt)))
	return len(ids), nil
}

func TestWhatWasErasedIsErasedOnceMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "one"), filepath.Join(dir, "other")}
	for i, entries := range [][]backup.Entry{
		{
			backup.MemoriesEntry("wsp_a", [16]byte{1}, []string{"mem_1", "mem_2"}, madeAt),
			backup.SubjectEntry("wsp_a", [16]byte{1}, 1, madeAt.Add(time.Second)),
			backup.SubjectEntry("wsp_a", [16]byte{1}, 3, madeAt.Add(time.Hour)),
			backup.SubjectEntry("wsp_b", [16]byte{1}, 1, madeAt),
			entryOf("usr_1"),
		},
		{
			backup.SubjectEntry("wsp_a", [16]byte{1}, 2, madeAt.Add(24*time.Hour)), // by a clock that is wrong
			backup.MemoriesEntry("wsp_a", [16]byte{1}, []string{"mem_1"}, madeAt),
		},
	} {
		j := journal(t, paths[i])
		for _, e := range entries {
			if err := j.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := backup.ReadJournals(paths, "I")
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(dir, "again") // what a restored place is given
	if err := backup.WriteJournal(again, list); err != nil {
		t.Fatal(err)
	}
	if list, err = backup.ReadJournal(again, "I"); err != nil {
		t.Fatal(err)
	}
	var done erasures
	subjects, memories, err := backup.ReplayErasures(t.Context(), &done, list)
	if err != nil || subjects != 1 || memories != 3 {
		t.Errorf("%d subjects and %d memories, %v", subjects, memories, err)
	}
	want := []string{
		"wsp_a 1 [mem_1 mem_2] 0s", "wsp_a 1 up to 3 1h0m0s", "wsp_b 1 up to 1 0s", "wsp_a 1 [mem_1] 0s",
	}
	if !slices.Equal(done.done, want) {
		t.Errorf("done is\n%s\nwant\n%s", strings.Join(done.done, "\n"), strings.Join(want, "\n"))
	}
	// Credentials are replayed by themselves.
	if replayed, err := backup.Replay(t.Context(), &credentials{}, list); err != nil || replayed.Newer != 1 {
		t.Errorf("replayed %+v, %v", replayed, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil || !strings.Contains(string(text), `"subject":"01000000000000000000000000000000"`) {
		t.Errorf("the journal reads %s, %v", text, err)
	}
}
