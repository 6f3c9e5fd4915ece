package recall_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"keepsake/internal/memory/recall"
)

// embedded are vectors of the memories m1, m2, …; zero vectors stand for memories without one.
func embedded(list ...[]int8) *recall.Embeddings {
	e := recall.NewEmbeddings()
	for i, v := range list {
		e.Put(fmt.Sprintf("m%d", i+1), v)
	}
	return e
}

func near(t *testing.T, x *recall.Index, q recall.Query) []recall.Hit {
	t.Helper()
	q.Now, q.Explain = now, true
	if q.Limit == 0 {
		q.Limit = 10
	}
	hits, err := x.Search(nil, q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func idsOf(hits []recall.Hit) (list []string) {
	for _, h := range hits {
		list = append(list, h.ID)
	}
	return list
}

func partsOf(w *recall.Why) float64 {
	return w.Words + w.Related + w.Together + w.Neighbours + w.Session + w.Speaker + w.Date + w.Answer + w.Meaning + w.Worth
}

// axes are n vectors of n dimensions that have nothing in common.
func axes(n int) [][]int8 {
	list := make([][]int8, n)
	for i := range list {
		list[i] = make([]int8, n)
		list[i][i] = 127
	}
	return list
}

func strangers(n int) *recall.Index {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("Wort%d Satz%d", i, i)
	}
	return facts(texts...)
}

func TestANearVectorFindsWithoutAWord(t *testing.T) {
	t.Parallel()
	x, list := strangers(20), axes(20)
	vector := slices.Clone(list[4])
	vector[7] = 40
	hits := near(t, x, recall.Query{Text: "Frage", Embedding: vector, Embeddings: embedded(list...)})
	if len(hits) != 1 || hits[0].ID != "m5" || hits[0].Why.Meaning <= 0 || math.Abs(partsOf(hits[0].Why)-hits[0].Score) > 1e-5 {
		t.Fatalf("got %+v", hits)
	}
	for name, q := range map[string]recall.Query{
		"without vectors": {Text: "Frage"}, "another length": {Text: "Frage", Embedding: vector[:19], Embeddings: embedded(list...)},
		"no direction": {Text: "Frage", Embedding: make([]int8, 20), Embeddings: embedded(list...)},
		"none stored":  {Text: "Frage", Embedding: vector, Embeddings: recall.NewEmbeddings()},
	} {
		if hits := near(t, x, q); len(hits) != 0 {
			t.Errorf("%s: %v is found", name, idsOf(hits))
		}
	}
	all := make([]int8, 20)
	for i := range all {
		all[i] = 127
	}
	if hits := near(t, x, recall.Query{Text: "Frage", Embedding: all, Embeddings: embedded(list...)}); len(hits) != 0 {
		t.Errorf("%v is found, although all are equally near", idsOf(hits))
	}
}

// A model says what is near: for one, unrelated texts have a cosine of about .1, for another one of about .7.
func TestWhatIsNearDependsOnTheModel(t *testing.T) {
	t.Parallel()
	// withCosine has such a cosine with the first axis, and nothing else in common with others of its kind.
	withCosine := func(c float64, axis, n int) []int8 {
		v := make([]int8, n)
		v[0], v[axis] = int8(math.Round(127*c)), int8(math.Round(127*math.Sqrt(1-c*c)))
		return v
	}
	for _, model := range []recall.Baseline{{Mean: .1, Deviation: .06}, {Mean: .7, Deviation: .03}, {Mean: .45, Deviation: .05}} {
		for _, n := range []int{1, 2, 3, 5, 9, 10, 17, 60} {
			for _, close := range []int{0, 1, 2} {
				size := n + 2
				question, vectors, want := make([]int8, size), make([][]int8, n), []string(nil)
				question[0] = 127
				for i := range vectors {
					c := model.Mean + model.Deviation*[]float64{-1, .4, 1.2, -.3, .8, 0, -.7}[i%7]
					if i < close {
						c = model.Mean + 5*model.Deviation
						want = append(want, fmt.Sprintf("m%d", i+1))
					}
					vectors[i] = withCosine(c, i+1, size)
				}
				hits := idsOf(near(t, strangers(n), recall.Query{Text: "Frage", Embedding: question, Embeddings: embedded(vectors...), Baseline: &model}))
				slices.Sort(hits)
				want = want[:min(len(want), n)]
				if !slices.Equal(hits, want) {
					t.Errorf("%+v, %d memories of which %d are near: %v", model, n, close, hits)
				}
			}
		}
	}
	// Without a baseline, those are found that are clearly nearer than the others.
	vectors := [][]int8{withCosine(.9, 1, 20), withCosine(.1, 2, 20), withCosine(.15, 3, 20), withCosine(.05, 4, 20)}
	question := make([]int8, 20)
	question[0] = 127
	if hits := near(t, strangers(4), recall.Query{Text: "Frage", Embedding: question, Embeddings: embedded(vectors...)}); len(hits) != 1 || hits[0].ID != "m1" {
		t.Errorf("got %v", idsOf(hits))
	}
	if hits := near(t, strangers(3), recall.Query{Text: "Frage", Embedding: question, Embeddings: embedded(vectors[1:]...)}); len(hits) != 0 {
		t.Errorf("got %v", idsOf(hits))
	}
}

func TestVectorsOfExcludedMemoriesChangeNoScore(t *testing.T) {
	t.Parallel()
	list := axes(30)
	item := func(i int, agent string) recall.Item {
		return recall.Item{Text: fmt.Sprintf("Wort%d Satz%d", i, i), AgentID: agent}
	}
	var some, more []recall.Item
	for i := range 15 {
		some = append(some, item(i, "a"))
	}
	for i := range 15 {
		more = append(more, item(15+i, "b"))
	}
	q := recall.Query{Text: "Wort3", AgentID: "a", Embedding: list[4], Embeddings: embedded(list...)}
	want, got := near(t, index(some...), q), near(t, index(append(some, more...)...), q)
	if len(want) != 2 || len(got) != 2 || want[0].Score != got[0].Score || want[1].Score != got[1].Score {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAMemoryWithoutAVectorKeepsItsWords(t *testing.T) {
	t.Parallel()
	x := facts("She drinks tea every morning", "The car is red", "A letter from the bank", "He plays chess on Sundays")
	plain := near(t, x, recall.Query{Text: "What beverage does she like?"})
	e := recall.NewEmbeddings()
	e.Put("m2", []int8{1, 2})
	e.Put("m3", []int8{2, -1})
	got := near(t, x, recall.Query{Text: "What beverage does she like?", Embedding: []int8{0, 1}, Embeddings: e})
	if len(plain) == 0 || len(got) == 0 || plain[0].ID != "m1" || got[0].ID != "m1" || plain[0].Why.Meaning != got[0].Why.Meaning {
		t.Errorf("got %+v, want %+v", got, plain)
	}
}

// Any order of changes leaves each memory with its last vector.
func TestEmbeddingsFollowChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const n = 20
	x := strangers(n)
	for range 10 {
		e, want := recall.NewEmbeddings(), map[string]int{}
		for range 200 {
			id := fmt.Sprintf("m%d", 1+random.IntN(n))
			if random.IntN(5) == 0 {
				e.Remove(id)
				delete(want, id)
				continue
			}
			axis := random.IntN(n)
			e.Put(id, axes(n)[axis])
			want[id] = axis
		}
		if e.Len() != len(want) || e.Bytes() < int64(n*len(want)) {
			t.Fatalf("%d vectors of %d bytes, want %d", e.Len(), e.Bytes(), len(want))
		}
		for axis, v := range axes(n) {
			var wanted, found []string
			for id, a := range want {
				if a == axis {
					wanted = append(wanted, id)
				}
			}
			for i := range n { // a word finds each, and its vector decides the part of meaning
				hits := near(t, x, recall.Query{Text: fmt.Sprintf("Wort%d", i), Embedding: v, Embeddings: e})
				for _, h := range hits {
					if h.ID == fmt.Sprintf("m%d", i+1) && h.Why.Meaning > 0 {
						found = append(found, h.ID)
					}
				}
			}
			slices.Sort(wanted)
			slices.Sort(found)
			if len(wanted) > 0 && len(wanted) < 6 && len(want) >= 10 && !slices.Equal(wanted, found) {
				t.Fatalf("want %v, found %v", wanted, found)
			}
		}
	}
}

func BenchmarkEmbeddings(b *testing.B) {
	const n = 10_000
	random := rand.New(rand.NewPCG(1, 2))
	vector := func() []int8 {
		v := make([]int8, 256)
		for i := range v {
			v[i] = int8(random.IntN(255) - 127)
		}
		return v
	}
	x, e := strangers(n), recall.NewEmbeddings()
	for i := range n {
		e.Put(fmt.Sprintf("m%d", i+1), vector())
	}
	for _, with := range []bool{false, true} {
		q := recall.Query{Text: "Wort17", Limit: 10, Now: now}
		if with {
			q.Embedding, q.Embeddings = vector(), e
		}
		b.Run(fmt.Sprint("with=", with), func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Search(nil, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
