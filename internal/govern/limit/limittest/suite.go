package limittest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// TestStore tests that a counter store answers like Store does. open gives a client of a store that is empty at first.
// settling is how long that store takes to settle: each round waits for that once.
func TestStore(t *testing.T, settling time.Duration, open func(t *testing.T) limit.CounterStore) {
	t.Helper()
	for seed := range uint64(testtier.Rounds(3, 6)) {
		t.Run(fmt.Sprint("AnswersLikeTheModel", seed), func(t *testing.T) {
			t.Parallel()
			agree(t, open(t), rand.New(rand.NewPCG(seed, 1)), settling)
		})
	}
}

// agree sends the same requests to both, half of them after what came first has settled. The clock of the model is that of
// the store's responses, to the millisecond.
func agree(t *testing.T, store limit.CounterStore, random *rand.Rand, settling time.Duration) {
	var clock time.Time
	model := NewStore(func() time.Time { return clock })
	model.settling = settling
	client := model.Client(nil)
	reporters := 1 + random.IntN(4)
	first := random.Int32N(1000)
	const times = 300
	for n := range times {
		if n == times/2 {
			settle(t, store, settling)
		}
		r := request(random, uint64(n+1), first, fmt.Sprint("r", random.IntN(reporters)))
		if random.IntN(20) == 0 {
			r.Number = uint64(1 + random.IntN(n+1)) // one that was held up
		}
		got, err := store.Sync(t.Context(), r)
		if err == nil {
			clock = time.UnixMilli(got.At.UnixMilli())
		} else if !errors.Is(err, limit.ErrOutdated) {
			t.Fatal(err)
		}
		want, wantErr := client.Sync(t.Context(), r)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("request %d\n%+v\ngot error %v, want %v", n, r, err, wantErr)
		}
		if err != nil {
			continue
		}
		if !reflect.DeepEqual(got.Sums, want.Sums) || len(got.Granted) != len(want.Granted) || fmt.Sprint(got.Granted) != fmt.Sprint(want.Granted) {
			t.Fatalf("request %d\n%+v\ngot  %+v\nwant %+v", n, r, got, want)
		}
	}
}

// settle waits until what is in the store has settled by its own clock.
func settle(t *testing.T, store limit.CounterStore, settling time.Duration) {
	t.Helper()
	now := func() time.Time {
		_, at, err := store.Ping(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	end := now().Add(settling + time.Millisecond)
	await.Until(t, "the store settles", func() bool { return now().After(end) })
}

// request draws one. Two of them often meet in a budget.
func request(random *rand.Rand, number uint64, first int32, reporter string) *limit.SyncRequest {
	group := fmt.Sprint("wsp_", random.IntN(2))
	r := &limit.SyncRequest{Group: group, Number: number}
	for _, subject := range []string{group, "key_1"}[:1+random.IntN(2)] {
		for _, kind := range []limit.Kind{limit.Minute, limit.Day, limit.Month}[:1+random.IntN(3)] {
			own := random.Int64N(40) * random.Int64N(2)
			e := limit.SyncEntry{
				Subject: subject, Kind: kind, Window: first + random.Int32N(2), End: time.Now().Add(time.Hour),
				Limit: 1 + random.Int64N(200), Reporter: reporter, Own: own, Known: own + random.Int64N(3)*random.Int64N(60),
			}
			if kind != limit.Minute {
				e.Stored = random.Int64N(2) * random.Int64N(100)
			}
			r.Entries = append(r.Entries, e)
		}
	}
	for range random.IntN(3) {
		w := limit.Want{Cost: 1 + random.Int64N(4)}
		for i := range r.Entries {
			if random.IntN(2) == 0 || i == 0 {
				w.Of = append(w.Of, i)
			}
		}
		r.Wants = append(r.Wants, w)
	}
	return r
}
