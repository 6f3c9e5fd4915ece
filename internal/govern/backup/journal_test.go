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

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/backup"
)

func now() time.Time { return madeAt }

func journal(t *testing.T, path string) *backup.Journal {
	t.Helper()
	j, err := backup.OpenJournal(path, "I", now)
	if err == nil {
		err = j.Authenticate(signer)
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

var (
	signer  = backup.NewSigner([]byte("the secret of the log"))
	reading = backup.Reading{Instance: "I", Signer: signer}
)

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

func TestJournalContinuesAfterATruncatedLine(t *testing.T) {
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
	if list, err := reading.Journal(path); err != nil || idsOf(list) != "a" {
		t.Fatalf("read %v, %v", list, err)
	}
	next := journal(t, path) // of the next process
	for _, id := range []string{"b", "c"} {
		if err := next.Append(entryOf(id)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := reading.Journal(path); err != nil || idsOf(list) != "a b c" {
		t.Errorf("read %v, %v", list, err)
	}
	copied := filepath.Join(t.TempDir(), "journal.ndjson")
	entries, err := reading.Journals([]string{path})
	if err == nil {
		err = backup.WriteJournal(copied, entries, signer)
	}
	if err != nil {
		t.Fatal(err)
	}
	if list, err := reading.Journal(copied); err != nil || idsOf(list) != "a b c" {
		t.Errorf("the copy reads %v, %v", list, err)
	}
}

func TestConcurrentJournalLinesAreWhole(t *testing.T) {
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
	if list, err := reading.Journal(path); err != nil || len(list) != 50 {
		t.Errorf("read %d, %v", len(list), err)
	}
}

func TestDamagedOrForeignJournalIsRefused(t *testing.T) {
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
		if list, err := reading.Journal(path); err == nil {
			t.Errorf("%s: read %v", name, list)
		}
	}
	if _, err := reading.Journal(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a journal that is not there: %v", err)
	}
}

func TestUnwritableJournalFailsTheChange(t *testing.T) {
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

func TestReplacedJournalIsNotContinued(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.ndjson")
	j := journal(t, path)
	var copies []string // after each entry
	for _, id := range []string{"a", "b"} {
		if err := j.Append(entryOf(id)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, string(text))
	}
	replace := func(text string) {
		t.Helper()
		if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"an empty file": "", "an older copy": copies[0], "a copy without its last byte": strings.TrimSuffix(copies[1], "\n"),
		"as many other bytes": strings.Repeat("x", len(copies[1])-1) + "\n",
	} {
		replace(text)
		for range 2 {
			err := j.Append(entryOf("c"))
			if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || !strings.Contains(fmt.Sprint(p.Unwrap()), "was replaced") {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != text {
			t.Errorf("%s became %q, %v", name, left, err)
		}
	}

	replace(copies[0])
	if err := journal(t, path).Append(entryOf("c")); err != nil {
		t.Errorf("the next process cannot write to an older copy: %v", err)
	}
	if list, err := reading.Journal(path); err != nil || idsOf(list) != "a c" {
		t.Errorf("the older copy reads %v, %v", list, err)
	}

	replace(copies[1])
	if err := j.Append(entryOf("c")); err != nil {
		t.Errorf("the newest copy is refused: %v", err)
	}
	if list, err := reading.Journal(path); err != nil || idsOf(list) != "a b c" {
		t.Errorf("the newest copy reads %v, %v", list, err)
	}
}

func TestReplayRestoresTheLastStateOfCredentials(t *testing.T) {
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
	asOf := time.Time{} // nothing was logged
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
	done, err := backup.Replay(t.Context(), st.all(), entries, asOf)
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
	if done, err = backup.Replay(t.Context(), st.all(), entries, madeAt); err != nil || done.Keys+done.Users != 0 {
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
		if err == nil {
			err = j.Authenticate(signer)
		}
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
		entries, err := reading.Journals(order)
		if err != nil {
			t.Fatal(err)
		}
		st := &credentials{users: map[string]account.User{"usr_1": {ID: "usr_1", Revision: 1}, "usr_2": gone}}
		if _, err := backup.Replay(t.Context(), st.all(), entries, madeAt); err != nil {
			t.Fatal(err)
		}
		if got := st.users["usr_1"].Role; got != account.RoleViewer {
			t.Errorf("the user became a %s", got)
		}
		if _, there := st.users["usr_2"]; there {
			t.Error("the deleted user is back")
		}
		both := filepath.Join(t.TempDir(), "both")
		if err := backup.WriteJournal(both, entries, signer); err != nil {
			t.Fatal(err)
		}
		if again, err := reading.Journal(both); err != nil || len(again) != 2 {
			t.Errorf("what was written of both holds %d entries, %v", len(again), err)
		}
	}

	// A restore of an old backup sets revisions back; what is changed after it counts all the same.
	clock = clock.Add(time.Hour)
	write(one, at(3, account.RoleAdmin))
	for _, order := range [][]string{{one, two}, {two, one}, {one}} {
		entries, err := reading.Journals(order)
		if err != nil || entries[0].User.Role != string(account.RoleAdmin) {
			t.Errorf("after a restore: %+v, %v", entries[0].User, err)
		}
	}
}

// erasures notes what is to be erased once more.
type erasures struct{ done []string }

func (e *erasures) EraseAgain(_ context.Context, workspaceID string, subject [16]byte, generation int64, all bool, at time.Time) (bool, error) {
	e.done = append(e.done, fmt.Sprint(workspaceID, " ", subject[0], " up to ", generation, " ", all, " ", at.Sub(madeAt)))
	return generation > 1, nil
}

func (e *erasures) ForgetAgain(_ context.Context, workspaceID string, subject [16]byte, ids []string, at time.Time) (int, error) {
	e.done = append(e.done, fmt.Sprint(workspaceID, " ", subject[0], " ", ids, " ", at.Sub(madeAt)))
	return len(ids), nil
}

func TestReplayRepeatsErasures(t *testing.T) {
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
	list, err := reading.Journals(paths)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(dir, "again") // what a restored place is given
	if err := backup.WriteJournal(again, list, signer); err != nil {
		t.Fatal(err)
	}
	if list, err = reading.Journal(again); err != nil {
		t.Fatal(err)
	}
	var done erasures
	subjects, memories, err := backup.ReplayErasures(t.Context(), &done, list, madeAt.Add(time.Hour))
	if err != nil || subjects != 1 || memories != 3 {
		t.Errorf("%d subjects and %d memories, %v", subjects, memories, err)
	}
	want := []string{
		"wsp_a 1 [mem_1 mem_2] 0s", "wsp_a 1 up to 3 true 24h0m0s", "wsp_b 1 up to 1 false 0s", "wsp_a 1 [mem_1] 0s",
	}
	if !slices.Equal(done.done, want) {
		t.Errorf("done is\n%s\nwant\n%s", strings.Join(done.done, "\n"), strings.Join(want, "\n"))
	}
	// Credentials are replayed by themselves.
	if replayed, err := backup.Replay(t.Context(), (&credentials{}).all(), list, madeAt); err != nil || replayed.Newer != 1 {
		t.Errorf("replayed %+v, %v", replayed, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil || !strings.Contains(string(text), `"subject":"01000000000000000000000000000000"`) {
		t.Errorf("the journal reads %s, %v", text, err)
	}
}

func TestForgedJournalLineIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.ndjson")
	j := journal(t, path)
	for _, entry := range []backup.Entry{
		backup.KeyEntry(&apikey.APIKey{ID: "key_1", WorkspaceID: "wsp_1", Revision: 2, Scopes: auth.Read}), entryOf("a"), entryOf("b"),
	} {
		if err := j.Append(entry); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	lines[2] += "\n"
	unsigned := `{"instance":"I","at":"2026-11-21T20:00:00Z","user":{"id":"a","revision":9,"role":"admin"}}` + "\n"
	elsewhere := filepath.Join(dir, "elsewhere")
	x := entryOf("x")
	x.Instance = "I"
	if err := backup.WriteJournal(elsewhere, []backup.Entry{x}, backup.NewSigner([]byte("another secret"))); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want error
		line string
	}{
		"as it was written":                {strings.Join(lines, ""), nil, ""},
		"a wider scope":                    {strings.Replace(string(text), `["read"]`, `["admin"]`, 1), backup.ErrForged, "line 1 "},
		"a line that was taken out":        {lines[0] + lines[2], backup.ErrForged, "line 2 "},
		"lines in another order":           {lines[0] + lines[2] + lines[1], backup.ErrForged, "line 2 "},
		"an old line at the end":           {string(text) + lines[0], backup.ErrForged, "line 4 "},
		"a line by another secret":         {string(foreign), backup.ErrForged, "line 1 "},
		"a line without authentication":    {string(text) + unsigned, backup.ErrForged, "line 4 "},
		"a line whose own was taken away":  {lines[0] + lines[1][:strings.Index(lines[1], `,"mac"`)] + "}\n", backup.ErrForged, "line 2 "},
		"a journal without authentication": {unsigned, backup.ErrForged, "line 1 "},
	} {
		forged := filepath.Join(t.TempDir(), "forged")
		if err := os.WriteFile(forged, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := reading.Journal(forged)
		if !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.line) {
			t.Errorf("%s: %v, want %v of %s", name, err, c.want, c.line)
		}
	}
	// Who writes on behind a forged line does not vouch for it.
	if err := os.WriteFile(path, []byte(string(text)+unsigned), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err = backup.OpenJournal(path, "I", now)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Authenticate(signer); !errors.Is(err, backup.ErrForged) {
		t.Errorf("the next start says %v", err)
	}
	if err := j.Append(entryOf("c")); err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Journal(path); !errors.Is(err, backup.ErrForged) {
		t.Errorf("after another line: %v", err)
	}
}

func TestJournalNeedsASigner(t *testing.T) {
	t.Parallel()
	j, err := backup.OpenJournal(filepath.Join(t.TempDir(), "journal.ndjson"), "I", now)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(entryOf("c")); err == nil {
		t.Error("a line was added before there was a signer")
	}
}

func TestCarriedEntriesAreAddedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.ndjson")
	j := journal(t, path)
	if err := j.Append(entryOf("a")); err != nil {
		t.Fatal(err)
	}
	own, err := reading.Journal(path)
	if err != nil {
		t.Fatal(err)
	}
	other := entryOf("b")
	other.Instance, other.At = "I", madeAt.Add(-time.Hour)
	for range 2 {
		if err := j.Carry(append(own, other)); err != nil {
			t.Fatal(err)
		}
		if list, err := reading.Journal(path); err != nil || idsOf(list) != "a b" || !list[1].At.Equal(other.At) {
			t.Errorf("read %+v, %v", list, err)
		}
	}
}

// A backup can be restored after another one, whose restore had set revisions back.
func TestRevocationsInTheJournalAreFinal(t *testing.T) {
	t.Parallel()
	earlier, later := madeAt.Add(-time.Hour), madeAt.Add(time.Hour)
	key := func(revision int64, change func(k *apikey.APIKey)) *apikey.APIKey {
		k := &apikey.APIKey{ID: "key_1", WorkspaceID: "wsp_1", Revision: revision, Scopes: auth.Write, Secrets: []apikey.Secret{{Hash: [32]byte{byte(revision)}}}}
		if change != nil {
			change(k)
		}
		return k
	}
	revoked := func(k *apikey.APIKey) { k.RevokedAt = &madeAt }
	disabled := func(k *apikey.APIKey) { k.DisabledAt = &madeAt }
	at := func(when time.Time, e backup.Entry) backup.Entry {
		e.Instance, e.At = "I", when
		return e
	}
	type outcome struct {
		revoked, disabled bool
		secret            byte // which of two there is
	}
	for name, c := range map[string]struct {
		held    *apikey.APIKey
		entries []backup.Entry
		want    outcome
	}{
		"revoked after a restore":   {key(9, nil), []backup.Entry{at(later, backup.KeyEntry(key(3, revoked)))}, outcome{true, false, 3}},
		"revoked, says an old copy": {key(9, nil), []backup.Entry{at(earlier, backup.KeyEntry(key(3, revoked)))}, outcome{true, false, 9}},
		"revoked, then brought back and changed": {
			key(9, nil), []backup.Entry{at(earlier, backup.KeyEntry(key(3, revoked))), at(later, backup.KeyEntry(key(4, nil)))}, outcome{true, false, 4},
		},
		"revoked in the backup alone":        {key(9, revoked), []backup.Entry{at(earlier, backup.KeyEntry(key(3, nil)))}, outcome{true, false, 9}},
		"disabled after a restore":           {key(9, nil), []backup.Entry{at(later, backup.KeyEntry(key(3, disabled)))}, outcome{false, true, 3}},
		"disabled, says an old copy":         {key(9, nil), []backup.Entry{at(earlier, backup.KeyEntry(key(3, disabled)))}, outcome{false, true, 9}},
		"enabled after the backup":           {key(9, disabled), []backup.Entry{at(later, backup.KeyEntry(key(3, nil)))}, outcome{false, false, 3}},
		"disabled since an old copy":         {key(9, disabled), []backup.Entry{at(earlier, backup.KeyEntry(key(3, nil)))}, outcome{false, true, 9}},
		"rotated after a restore":            {key(9, nil), []backup.Entry{at(later, backup.KeyEntry(key(3, nil)))}, outcome{false, false, 3}},
		"rotated since an old copy":          {key(9, nil), []backup.Entry{at(earlier, backup.KeyEntry(key(3, nil)))}, outcome{false, false, 9}},
		"changed after a clock was set back": {key(2, nil), []backup.Entry{at(earlier, backup.KeyEntry(key(3, nil)))}, outcome{false, false, 3}},
	} {
		st := &credentials{keys: map[string]apikey.APIKey{"key_1": *c.held}}
		for range 2 { // a second time nothing more happens
			if _, err := backup.Replay(t.Context(), st.all(), c.entries, madeAt); err != nil {
				t.Fatal(err)
			}
			k := st.keys["key_1"]
			if got := (outcome{k.RevokedAt != nil, k.DisabledAt != nil, k.Secrets[0].Hash[0]}); got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		}
		if got := st.keys["key_1"].Revision; got > c.held.Revision+1 {
			t.Errorf("%s: written %d times", name, got-c.held.Revision)
		}
	}

	user := func(revision int64, disabled bool, password string) *account.User {
		return &account.User{ID: "usr_1", Revision: revision, Disabled: disabled, Role: account.RoleMember, PasswordHash: password}
	}
	for name, c := range map[string]struct {
		entries []backup.Entry
		want    *account.User
	}{
		"disabled after a restore":     {[]backup.Entry{at(later, backup.UserEntry(user(3, true, "new"), false))}, user(10, true, "new")},
		"disabled, says an old copy":   {[]backup.Entry{at(earlier, backup.UserEntry(user(3, true, "new"), false))}, user(10, true, "old")},
		"a password of after it":       {[]backup.Entry{at(later, backup.UserEntry(user(3, false, "new"), false))}, user(10, false, "new")},
		"a password of before it":      {[]backup.Entry{at(earlier, backup.UserEntry(user(3, false, "older"), false))}, user(9, false, "old")},
		"deleted, then brought back":   {[]backup.Entry{at(earlier, backup.UserEntry(user(3, false, ""), true)), at(later, backup.UserEntry(user(4, false, "new"), false))}, nil},
		"deleted, says an old journal": {[]backup.Entry{at(earlier, backup.UserEntry(user(3, false, ""), true))}, nil},
	} {
		st := &credentials{users: map[string]account.User{"usr_1": *user(9, false, "old")}}
		if _, err := backup.Replay(t.Context(), st.all(), c.entries, madeAt); err != nil {
			t.Fatal(err)
		}
		got, there := st.users["usr_1"]
		if there != (c.want != nil) || there && (got.Disabled != c.want.Disabled || got.PasswordHash != c.want.PasswordHash || got.Revision != c.want.Revision) {
			t.Errorf("%s: %v %+v, want %+v", name, there, got, c.want)
		}
	}

	for name, c := range map[string]struct {
		held, journal, later, want bool
	}{
		"suspended after a restore":   {false, true, true, true},
		"suspended, says an old copy": {false, true, false, true},
		"taken up after the backup":   {true, false, true, false},
		"suspended since an old copy": {true, false, false, true},
	} {
		when := earlier
		if c.later {
			when = later
		}
		st := &credentials{workspaces: map[string]account.Workspace{"wsp_1": {ID: "wsp_1", Revision: 9, Suspended: c.held}}}
		entry := at(when, backup.WorkspaceEntry(&account.Workspace{ID: "wsp_1", Revision: 3, Suspended: c.journal}))
		if _, err := backup.Replay(t.Context(), st.all(), []backup.Entry{entry}, madeAt); err != nil {
			t.Fatal(err)
		}
		if got := st.workspaces["wsp_1"].Suspended; got != c.want {
			t.Errorf("%s: suspended is %v", name, got)
		}
	}

	for name, c := range map[string]struct {
		held, journal, later, want bool
	}{
		"embeddings off after the backup":  {true, false, true, false},
		"embeddings off, says an old copy": {true, false, false, true},
		"embeddings on after the backup":   {false, true, true, false}, // texts leave the machine only if an operator says so again
		"embeddings on since the backup":   {true, true, true, true},
	} {
		when := earlier
		if c.later {
			when = later
		}
		st := &credentials{workspaces: map[string]account.Workspace{"wsp_1": {ID: "wsp_1", Revision: 9, Embeddings: c.held}}}
		entry := at(when, backup.WorkspaceEntry(&account.Workspace{ID: "wsp_1", Revision: 3, Embeddings: c.journal}))
		if _, err := backup.Replay(t.Context(), st.all(), []backup.Entry{entry}, madeAt); err != nil {
			t.Fatal(err)
		}
		if got := st.workspaces["wsp_1"].Embeddings; got != c.want {
			t.Errorf("%s: embeddings are %v", name, got)
		}
	}
}
