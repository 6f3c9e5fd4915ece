package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/await"
	"keepsake/internal/limit"
	"keepsake/internal/testtier"
)

// Run wants a ledger to answer as the Model does. member gives the empty ledger as one of its members sees it. settle is
// how long that ledger takes to settle: each round waits for that once.
func Run(t *testing.T, settle time.Duration, member func(t *testing.T) (open func() limit.Ledger)) {
	t.Helper()
	for seed := range uint64(testtier.Rounds(3, 6)) {
		t.Run(fmt.Sprint("AnswersAsTheModelDoes", seed), func(t *testing.T) {
			t.Parallel()
			agree(t, member(t), rand.New(rand.NewPCG(seed, 1)), settle)
		})
	}
}

// agree makes the same contacts with both, half of them after what came first has settled. The clock of the model is the
// one of the ledger's replies, to the millisecond.
func agree(t *testing.T, open func() limit.Ledger, random *rand.Rand, settle time.Duration) {
	var clock atomic.Int64
	model := NewModel(func() time.Time { return time.UnixMilli(clock.Load()) })
	model.settle = settle
	type pair struct{ real, model limit.Ledger }
	members := make([]pair, 1+random.IntN(4))
	for i := range members {
		members[i] = pair{open(), model.Member(fmt.Sprint(i), nil)}
	}
	window := uint32(random.IntN(1000))
	const times = 300
	for n := range times {
		if n == times/2 {
			passes(t, members[0].real, settle)
		}
		p := members[random.IntN(len(members))]
		contacts := make([]limit.Contact, 1+random.IntN(3))
		for i := range contacts {
			contacts[i] = contact(random, uint64(n*10+i+1), window)
		}
		if random.IntN(20) == 0 {
			contacts[0].Number = uint64(1 + random.IntN(n*10+1)) // one that was held up
		}
		real := p.real.Exchange(t.Context(), contacts)
		for i := range contacts {
			if !real[i].At.IsZero() {
				clock.Store(real[i].At.UnixMilli())
			}
			want := p.model.Exchange(t.Context(), contacts[i:i+1])[0]
			got := real[i]
			want.At, got.At = time.Time{}, time.Time{}
			if len(want.Granted) == 0 && len(got.Granted) == 0 {
				want.Granted, got.Granted = nil, nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("contact %d\n%+v\ngot  %+v\nwant %+v", n, contacts[i], got, want)
			}
		}
	}
}

// passes waits until what is in the ledger has settled by its own clock.
func passes(t *testing.T, l limit.Ledger, settle time.Duration) {
	t.Helper()
	now := func() time.Time {
		_, at, err := l.Life(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	end := now().Add(settle + time.Millisecond)
	await.Until(t, "the ledger settles", func() bool { return now().After(end) })
}

// contact draws one. Two of them often meet in a budget.
func contact(random *rand.Rand, number uint64, window uint32) limit.Contact {
	tag := fmt.Sprint("wsp_", random.IntN(2))
	c := limit.Contact{Tag: tag, Number: number}
	for _, subject := range []string{tag, "key_1"}[:1+random.IntN(2)] {
		for _, kind := range []limit.Kind{limit.Minute, limit.Day, limit.Month}[:1+random.IntN(3)] {
			own := random.Int64N(40)
			e := limit.Entry{
				Subject: subject, Kind: kind, Window: window + uint32(random.IntN(2)), Ends: time.Now().Add(time.Hour),
				Limit: 1 + random.Int64N(200), Own: own, Known: own + random.Int64N(3)*random.Int64N(60),
			}
			if kind != limit.Minute {
				e.Durable = random.Int64N(2) * random.Int64N(100)
			}
			if e.Unsure = random.IntN(10) == 0; e.Unsure {
				e.Own = 0
			}
			c.Budget = append(c.Budget, e)
		}
	}
	for range random.IntN(3) {
		w := limit.Want{Cost: 1 + random.Int64N(4), Callers: 1 + random.Int64N(5)}
		for i := range c.Budget {
			if random.IntN(2) == 0 || i == 0 {
				w.Of = append(w.Of, i)
			}
		}
		c.Wants = append(c.Wants, w)
	}
	return c
}
