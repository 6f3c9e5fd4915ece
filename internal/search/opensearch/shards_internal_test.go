package opensearch

import "testing"

func TestShardsAreForTwiceTheSize(t *testing.T) {
	t.Parallel()
	const giga = 1 << 30
	for size, want := range map[int64]int{0: 1, 1: 1, 10 * giga: 1, 10*giga + 1: 2, 20 * giga: 2, 20*giga + 1: 3, 200 * giga: 20} {
		if got := shardsFor(size, shardBytes); got != want {
			t.Errorf("%d bytes: %d shards, want %d", size, got, want)
		}
	}
	for shards := 1; shards < 40; shards++ {
		g := generation{meta: meta{Shards: shards}}
		size := int64(shards)*shardBytes + int64(shards)
		if g.outgrown(size-int64(shards), shardBytes) || !g.outgrown(size, shardBytes) {
			t.Errorf("%d shards are outgrown at another size", shards)
		}
		if more := shardsFor(size, shardBytes); more <= shards {
			t.Errorf("an index that has outgrown %d shards gets %d", shards, more)
		}
	}
}

func TestAnOutgrownIndexAnswersUntilALargerOneIsFilled(t *testing.T) {
	t.Parallel()
	of := func(number, shards int, serving bool) *generation {
		return &generation{
			number: number, documents: true, words: true, finished: true, intact: true, serving: serving, meta: meta{Layout: Layout, Shards: shards},
		}
	}
	yes, no := func(*generation) bool { return true }, func(*generation) bool { return false }
	serving, small, large := of(1, 2, true), of(2, 2, false), of(3, 5, false)
	if a := arrange([]*generation{serving}, "", yes); a.serving != serving || a.create != 2 || len(a.drop) > 0 {
		t.Errorf("outgrown: %+v", a)
	}
	if a := arrange([]*generation{serving, small, large}, "", yes); a.serving != serving || a.building != large || a.create != 0 || len(a.drop) != 1 {
		t.Errorf("while a larger one is filled: %+v", a)
	}
	if a := arrange([]*generation{serving, large}, "", no); a.serving != serving || a.building != large || len(a.drop) > 0 {
		t.Errorf("not outgrown any more, while a larger one is filled: %+v", a)
	}
}
