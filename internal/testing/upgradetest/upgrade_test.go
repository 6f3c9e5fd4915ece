package upgradetest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// Two instances of a release serve under load; one of the next release comes, changes the schema and joins them; the two are
// replaced. Both releases find what the other has made, hear what it has changed, and count together.
func TestAReleaseIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "builds two releases, and three processes wait through their shutdown delay")
	f := newFleet(t, map[string]string{previous: program(t, previous), next: program(t, next)}, "a", "b", "c")
	a, b, c := f.members[0], f.members[1], f.members[2]
	a.start(previous)
	b.start(previous)
	l := f.load(2)
	l.Await(50)
	old := a.createKey(`{"name":"created by the old one","scopes":["read","write"]}`)
	a.want(http.StatusCreated, f.key, "POST", "/api/v1/documents", `{"id":"of-old","title":"quince"}`)

	item := `{"id":%q,"keyId":"` + old.ID + `","route":"GET /a","status":200,"count":7,"at":"` + time.Now().UTC().Format(time.RFC3339) + `"}`
	first, second := fmt.Sprintf(item, "first"), fmt.Sprintf(item, "second")
	a.report(1, `{"items":[`+first+`]}`)

	c.start(next)
	if v := f.version(); v != 9001 {
		t.Fatalf("the schema has version %d", v)
	}
	l.Await(50)

	fresh := c.createKey(`{"name":"created by the new one","scopes":["read","write"]}`)
	c.want(http.StatusCreated, fresh.Key, "POST", "/api/v1/documents", `{"id":"of-new","title":"medlar"}`)
	for _, m := range []*member{a, b, c} {
		for _, made := range []struct{ key, id, word string }{{old.Key, "of-old", "quince"}, {fresh.Key, "of-new", "medlar"}} {
			m.want(http.StatusOK, made.key, "GET", "/api/v1/documents/"+made.id, "")
			if found := m.want(http.StatusOK, made.key, "GET", "/api/v1/search?q="+made.word, ""); !strings.Contains(found, made.id) {
				t.Errorf("%s (%s) does not find %s: %s", m.name, m.release, made.id, found)
			}
		}
	}
	c.report(1, `{"items":[`+first+`,`+second+`]}`) // the first counts once, at whichever release it is repeated
	a.report(0, `{"items":[`+first+`,`+second+`]}`)
	f.revoked(c, a, old)
	f.revoked(a, c, fresh)
	f.tellsOfSomethingNew()
	f.revoked(c, a, a.createKey(`{"name":"after news of an unknown kind","scopes":["read"]}`))
	f.countTogether(a, c)
	f.doctorTells(a, c)

	a.stop()
	l.Await(50)
	a.start(next)
	l.Await(50)
	b.stop()
	b.start(previous) // an old one that is started again, as after a crash
	l.Await(50)
	b.stop()
	b.start(next)
	l.Await(50)
	l.End()
}

// A release that can no longer be worked beside stops those that run. They say so once, and write nothing.
func TestAReleaseThatIsTooOldStops(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]string{previous: programtest.Binary(t)}, "a", "b")
	a, b := f.members[0], f.members[1]
	a.start(previous)
	b.start(previous)
	for _, m := range f.members {
		m.want(http.StatusCreated, f.key, "POST", "/api/v1/documents", `{"title":"before"}`)
	}
	// What a step does that takes something away.
	f.exec("INSERT INTO keepsake.schema_migration (version_id, is_applied, hash, oldest) VALUES (9002, true, 'of a newer release', 9002)")
	f.exec(`SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND mode = 'ShareLock' AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	for _, m := range f.members {
		m.want(http.StatusServiceUnavailable, f.key, "POST", "/api/v1/documents", `{"title":"after"}`)
		await.Until(t, m.name+" is not ready", func() bool { return !m.process.Ready() })
		m.want(http.StatusServiceUnavailable, f.key, "POST", "/api/v1/documents", `{"title":"after"}`)
		const tooOld = "schema requires a newer release"
		await.Until(t, m.name+" says that it is too old", func() bool { return strings.Contains(m.process.Log.String(), tooOld) })
		if n := strings.Count(m.process.Log.String(), tooOld); n != 1 {
			t.Errorf("%s says %d times that it is too old, want once:\n%s", m.name, n, m.process.Log)
		}
	}
	late := programtest.Launch(t, t.TempDir(), f.options...)
	if line := late.Refusal(); !strings.Contains(line, "has version 9002") {
		t.Errorf("an old one that is started says %q", line)
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
	if err := conn.QueryRow(f.t.Context(), "SELECT max(version_id) FROM keepsake.schema_migration").Scan(&version); err != nil {
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

// revoked revokes a key at one member and waits until another one refuses it.
func (f *fleet) revoked(at, elsewhere *member, k apiKey) {
	f.t.Helper()
	elsewhere.want(http.StatusOK, k.Key, "GET", "/api/v1/documents", "")
	at.want(http.StatusOK, f.key, "POST", "/api/v1/developer/api-keys/"+k.ID+"/revoke", "{}")
	await.Until(f.t, elsewhere.name+" refuses a key that was revoked at "+at.name, func() bool {
		status, _, _ := elsewhere.ask(k.Key, "GET", "/api/v1/documents", "")
		return status == http.StatusUnauthorized
	})
}

// countTogether sends requests to two members in turn, until three times as many as a limit came within one minute of it.
// A minute begins at a second that the id of the key decides.
func (f *fleet) countTogether(one, other *member) {
	f.t.Helper()
	const limit = 60
	const most = limit + limit/10
	k := one.createKey(fmt.Sprintf(`{"name":"limited","scopes":["read"],"rateLimit":{"requestsPerMinute":%d}}`, limit))
	for _, m := range []*member{one, other} {
		await.Until(f.t, m.name+" shares limits", m.shares)
	}
	type minute struct {
		sent     int
		admitted map[*member]int
	}
	minutes := map[string]*minute{}
	for i := 0; ; i++ {
		m := []*member{one, other}[i%2]
		status, text, header := m.ask(k.Key, "GET", "/api/v1/documents?limit=1", "")
		if status != http.StatusOK && status != http.StatusTooManyRequests {
			f.t.Fatalf("%s (%s): %d %s", m.name, m.release, status, text)
		}
		now := minutes[header.Get("X-RateLimit-Reset")]
		if now == nil {
			now = &minute{admitted: map[*member]int{}}
			minutes[header.Get("X-RateLimit-Reset")] = now
		}
		now.sent++
		if status == http.StatusOK {
			now.admitted[m]++
		}
		sum := now.admitted[one] + now.admitted[other]
		if sum > most {
			f.t.Fatalf("of a limit of %d, %d were admitted, want at most %d", limit, sum, most)
		}
		if now.sent < 3*limit {
			continue
		}
		if sum < limit || now.admitted[one] == 0 || now.admitted[other] == 0 {
			f.t.Errorf("of a limit of %d, %d and %d were admitted", limit, now.admitted[one], now.admitted[other])
		}
		return
	}
}

// doctorTells asks both releases what they see.
func (f *fleet) doctorTells(members ...*member) {
	f.t.Helper()
	for _, m := range members {
		out, err := m.doctor().CombinedOutput()
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
