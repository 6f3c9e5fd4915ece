package durabletest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/usage"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// commit is the message of a COMMIT. READ COMMITTED has a different end.
const commit = "COMMIT\x00"

// A flush whose connection is lost during the commit is sent again and counted once, whatever its outcome was.
func TestFlushOfUnknownOutcomeIsCountedOnce(t *testing.T) {
	t.Parallel()
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{TCP: true})
	proxy := enginetest.StartProxy(t, server.Address())
	database := server.NewDatabase(t)
	s, end := onPostgres(server.TCPURL(proxy.Address(), database))(t)
	defer end()
	direct, endDirect := onPostgres(server.URL(database))(t)
	defer endDirect()

	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p, err := newParty(t.Context(), s.Counters, now)
	if err != nil {
		t.Fatal(err)
	}
	reported := counted{}
	p.recorder.OnFlushed(func(quotas []usage.Quota) {
		for _, q := range quotas {
			used := reported[q.OwnerID]
			if q.Period == "2026-11" {
				used[1] = q.Charged
			} else {
				used[0] = q.Charged
			}
			reported[q.OwnerID] = used
		}
	})
	random := rand.New(rand.NewPCG(1, 1))
	for round := range testtier.Rounds(6, 30) {
		for range 20 {
			p.call(now, random.IntN(len(keys)), random.Int64N(3)+1, 200)
		}
		var cut <-chan struct{}
		switch round % 3 {
		case 0:
			cut = proxy.CutAfter(commit)
		case 1:
			cut = proxy.CutBefore(commit)
		}
		err := p.recorder.Flush(t.Context())
		if (err != nil) != (cut != nil) || p.recorder.Degraded() != (cut != nil) {
			t.Errorf("round %d: the flush came to %v, degraded is %t; its connection is lost: %t", round, err, p.recorder.Degraded(), cut != nil)
		}
		if cut != nil {
			await.Receive(t, "the connection is lost around its commit", cut)
		}
		if err == nil {
			want := p.inMemory(now)
			if diff := cmp.Diff(want, inQuotas(t.Context(), t, direct.Counters, now)); diff != "" {
				t.Fatalf("round %d (-counters +quotas):\n%s", round, diff)
			}
			if diff := cmp.Diff(want, inCells(t.Context(), t, direct.Counters, now)); diff != "" {
				t.Fatalf("round %d (-counters +cells):\n%s", round, diff)
			}
			if diff := cmp.Diff(want, reported); diff != "" {
				t.Fatalf("round %d (-counters +reported):\n%s", round, diff)
			}
		}
	}
}

// Several recorders flush and tidy concurrently in one database. Each receives the sums of all.
func TestConcurrentRecordersCountEverything(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	s, end := onPostgres(url)(t)
	defer end()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const recorders, calls = 4, 40
	flushes := testtier.Rounds(3, 10)
	var all sync.WaitGroup
	last := make([]int64, recorders)
	for i := range recorders {
		all.Go(func() {
			mine, end := onPostgres(url)(t)
			defer end()
			r := usage.NewRecorder(mine.Counters, func() time.Time { return now }, slog.New(slog.DiscardHandler))
			r.OnFlushed(func(quotas []usage.Quota) {
				for _, q := range quotas {
					if q.OwnerID == workspace && q.Period == "2026-11" {
						if q.Added != calls || q.Charged < last[i]+calls {
							t.Errorf("recorder %d heard of %+v after %d", i, q, last[i])
						}
						last[i] = q.Charged
					}
				}
			})
			owners := make([]usage.Owner, calls)
			for k := range owners {
				owners[k] = r.Owner(workspace, "key_"+string(rune('a'+k)))
			}
			for range flushes {
				for k := range owners {
					r.Record(usage.Event{Owner: owners[k], Status: 200, At: now.Add(-time.Duration(rand.IntN(3)) * time.Hour), Charged: 1})
				}
				if err := r.Flush(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
				if err := mine.Counters.RollUpUsage(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	quotas, err := s.Counters.OwnerQuotas(t.Context(), []string{workspace}, []string{"2026-11"})
	if err != nil {
		t.Fatal(err)
	}
	want := int64(recorders * flushes * calls)
	if len(quotas) != 1 || quotas[0].Charged != want {
		t.Errorf("quotas are %+v, want %d", quotas, want)
	}
	if heard := max(last[0], last[1], last[2], last[3]); heard != want {
		t.Errorf("the last to flush heard of %d, want %d", heard, want)
	}
}

// While the server is down, nothing is lost. Afterwards, the pending counts are stored in one transaction.
func TestFlushesContinueAfterAnOutage(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "stops a server three times and starts it again")
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	url := server.Database(t)
	engine, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	s, end := opened(t, engine, err)
	defer end()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p, err := newParty(t.Context(), s.Counters, now)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		server.StopImmediately(t)
		for range 3 {
			p.call(now, rand.IntN(len(keys)), 1, 200)
			if err := p.recorder.Flush(t.Context()); err == nil || !p.recorder.Degraded() {
				t.Fatalf("round %d: a flush without a server: %v", round, err)
			}
		}
		server.Start(t)
		await.Until(t, "a flush succeeds", func() bool { return p.recorder.Flush(t.Context()) == nil })
		if diff := cmp.Diff(p.inMemory(now), inQuotas(t.Context(), t, s.Counters, now)); diff != "" || p.recorder.Degraded() {
			t.Fatalf("round %d: degraded %v (-counters +quotas):\n%s", round, p.recorder.Degraded(), diff)
		}
	}
}
