package upgradetest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Two instances of a release serve under load; one of the next release comes, changes the schema and joins them; the two are
// replaced. Both releases find what the other has made, hear what it has changed, and count together.
func TestAReleaseIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, b, c := f.add("a"), f.add("b"), f.add("c")
	a.init(previous)
	a.start(previous)
	b.start(previous)
	l := f.begin(4)
	l.await(50)
	old := a.makeKey(`{"name":"made by the old one","scopes":["read","write"]}`)
	a.want(http.StatusCreated, f.key, "POST", "/api/v1/documents", `{"id":"of-old","title":"quince"}`)

	c.start(next)
	if v := f.version(); v != 9001 {
		t.Fatalf("the schema has version %d", v)
	}
	l.await(50)

	fresh := c.makeKey(`{"name":"made by the new one","scopes":["read","write"]}`)
	c.want(http.StatusCreated, fresh.Key, "POST", "/api/v1/documents", `{"id":"of-new","title":"medlar"}`)
	for _, m := range []*member{a, b, c} {
		for _, made := range []struct{ key, id, word string }{{old.Key, "of-old", "quince"}, {fresh.Key, "of-new", "medlar"}} {
			m.want(http.StatusOK, made.key, "GET", "/api/v1/documents/"+made.id, "")
			if found := m.want(http.StatusOK, made.key, "GET", "/api/v1/search?q="+made.word, ""); !strings.Contains(found, made.id) {
				t.Errorf("%s (%s) does not find %s: %s", m.name, m.release, made.id, found)
			}
		}
	}
	f.revoked(c, a, old)
	f.revoked(a, c, fresh)
	f.tellsOfSomethingNew()
	f.revoked(c, a, a.makeKey(`{"name":"after news of an unknown kind","scopes":["read"]}`))
	f.countTogether(a, c)
	f.doctorTells(a, c)

	a.stop()
	l.await(50)
	a.start(next)
	l.await(50)
	b.stop()
	b.start(previous) // an old one that is started again, as after a crash
	l.await(50)
	b.stop()
	b.start(next)
	l.await(50)
	l.end()

	for _, failure := range l.failures {
		t.Errorf("a request failed: %s", failure)
	}
	for i, id := range l.stored {
		m := f.members[i%len(f.members)]
		m.want(http.StatusOK, f.key, "GET", "/api/v1/documents/"+id, "")
	}
	t.Logf("two instances replaced, one of them twice: %d requests answered, %v, %d failed, the longest took %s; %d documents, all there",
		l.answered.Load(), l.of, len(l.failures), l.longest.Round(time.Millisecond), len(l.stored))
}

// A release that can no longer be worked beside stops those that run. They say so once, and write nothing.
func TestAReleaseThatIsTooOldStops(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, b := f.add("a"), f.add("b")
	a.init(previous)
	a.start(previous)
	b.start(previous)
	for _, m := range f.members {
		m.want(http.StatusCreated, f.key, "POST", "/api/v1/documents", `{"title":"before"}`)
	}
	// What a step does that takes something away.
	f.exec("UPDATE keepsake.schema_compat SET oldest = 9002 WHERE part = 'main'")
	f.exec("INSERT INTO keepsake.schema_version (version_id, is_applied) VALUES (9002, true)")
	f.exec(`SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND mode = 'ShareLock' AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	for _, m := range f.members {
		m.want(http.StatusServiceUnavailable, f.key, "POST", "/api/v1/documents", `{"title":"after"}`)
		for deadline := time.Now().Add(time.Minute); m.ready(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is still ready", m.name)
			}
		}
		m.want(http.StatusServiceUnavailable, f.key, "POST", "/api/v1/documents", `{"title":"after"}`)
		const tooOld = "must not work on it any more"
		for deadline := time.Now().Add(time.Minute); !strings.Contains(m.said.String(), tooOld) && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond) // what it prints comes through a pipe
		}
		if n := strings.Count(m.said.String(), tooOld); n != 1 {
			t.Errorf("%s says %d times that it is too old, want once:\n%s", m.name, n, m.said.String())
		}
	}
	out, err := a.command(previous, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--backend-listen", "127.0.0.1:0", "--log-level", "error").CombinedOutput()
	if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "has version 9002") {
		t.Errorf("an old one that is started says %v %s, want one line", err, out)
	}
}

func (f *fleet) exec(statement string) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.database)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(f.t.Context()))
	if _, err := conn.Exec(f.t.Context(), statement); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) version() (version int64) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.database)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(f.t.Context()))
	if err := conn.QueryRow(f.t.Context(), "SELECT max(version_id) FROM keepsake.schema_version").Scan(&version); err != nil {
		f.t.Fatal(err)
	}
	return version
}

// tellsOfSomethingNew has a newer release tell news of a kind that the older does not know.
func (f *fleet) tellsOfSomethingNew() {
	f.t.Helper()
	f.exec(`WITH head AS (
			INSERT INTO keepsake.cluster_head (name, number) VALUES ('news', 1)
			ON CONFLICT (name) DO UPDATE SET number = cluster_head.number + 1 RETURNING number)
		INSERT INTO keepsake.news (number, kind, subject, author) SELECT number, 'bookmark', 'bmk_1', 'somebody' FROM head`)
}

// revoked revokes a key at one member and wants that in force at another one within a second. A machine that is full of other
// programs is late by chance, so that two further keys may show it; a member that does not hear is late each time.
func (f *fleet) revoked(at, elsewhere *member, k apiKey) {
	f.t.Helper()
	var late []time.Duration
	for {
		elsewhere.want(http.StatusOK, k.Key, "GET", "/api/v1/documents", "")
		at.want(http.StatusOK, f.key, "POST", "/api/v1/developer/api-keys/"+k.ID+"/revoke", "{}")
		took := f.inForce(elsewhere, k)
		if took <= time.Second {
			f.t.Logf("revoked at %s (%s), in force at %s (%s) after %s", at.name, at.release, elsewhere.name, elsewhere.release, took.Round(time.Millisecond))
			return
		}
		if late = append(late, took); len(late) == 3 {
			f.t.Errorf("revoked at %s (%s), in force at %s (%s) after %v, each of three", at.name, at.release, elsewhere.name, elsewhere.release, late)
			return
		}
		k = at.makeKey(`{"name":"another one","scopes":["read"]}`)
	}
}

// inForce waits until a key is refused, and says how long that took.
func (f *fleet) inForce(at *member, k apiKey) time.Duration {
	f.t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		status, text := at.do(k.Key, "GET", "/api/v1/documents", "")
		took := time.Since(began)
		if status == http.StatusUnauthorized {
			return took
		}
		if took > time.Minute {
			f.t.Fatalf("%s after it was revoked %s (%s) says %d %s", took, at.name, at.release, status, text)
		}
	}
}

// countTogether uses up a limit at two members in turn.
func (f *fleet) countTogether(one, other *member) {
	f.t.Helper()
	for range 10 {
		if f.countedTogether(one, other) {
			return
		}
	}
	f.t.Log("the machine was too slow to count within a minute and with Redis at hand")
}

// countedTogether uses up a limit, and says whether that shows anything: the minutes of a key turn at a second that its id
// decides, so that one may have ended meanwhile, and without Redis each member admits its share.
func (f *fleet) countedTogether(one, other *member) bool {
	f.t.Helper()
	const limit = 60
	k := one.makeKey(fmt.Sprintf(`{"name":"limited","scopes":["read"],"rateLimit":{"requestsPerMinute":%d}}`, limit))
	for deadline := time.Now().Add(10 * time.Second); !one.shares() || !other.shares(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	outages := one.outages() + other.outages()
	admitted, minutes := map[string]int{}, map[string]bool{}
	for i := range 3 * limit {
		m := []*member{one, other}[i%2]
		switch status, text, header := m.ask(k.Key, "GET", "/api/v1/documents?limit=1", ""); status {
		case http.StatusOK:
			admitted[m.release]++
			minutes[header.Get("X-RateLimit-Reset")] = true
		case http.StatusTooManyRequests:
		default:
			f.t.Errorf("%s (%s): %d %s", m.name, m.release, status, text)
		}
	}
	if len(minutes) > 1 || one.outages()+other.outages() > outages {
		return false
	}
	sum := admitted[one.release] + admitted[other.release]
	if most := limit + limit/10; sum < limit || sum > most || admitted[one.release] == 0 || admitted[other.release] == 0 {
		f.t.Errorf("of a limit of %d %v were admitted, want %d to %d at both together", limit, admitted, limit, most)
	}
	f.t.Logf("of a limit of %d, %v were admitted", limit, admitted)
	return true
}

// doctorTells asks both releases what they see.
func (f *fleet) doctorTells(members ...*member) {
	f.t.Helper()
	for _, m := range members {
		out, err := m.command(m.release, "doctor").CombinedOutput()
		if err != nil {
			f.t.Errorf("doctor of %s: %v\n%s", m.release, err, out)
		}
		for _, want := range []string{"(" + previous + ")", "(" + next + ")", "different releases", "keepsake 9001"} {
			if !strings.Contains(string(out), want) {
				f.t.Errorf("doctor of %s does not say %q:\n%s", m.release, want, out)
			}
		}
	}
}
