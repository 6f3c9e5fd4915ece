package loadrun

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"keepsake/client"
)

// material is what a run stores. Its names begin with "bench-" and a random mark. A run replaces documents and memories and
// adds none, so that the amount of data is constant.
type material struct {
	mark       string
	collection string
	documents  int
	memories   int
	subjects   int

	searched, recalled bool                               // the mix needs documents, memories
	stored             struct{ documents, memories bool } // possibly, some exist
}

// maxSubjects is the maximum number of subjects.
const maxSubjects = 8

func newMaterial(o *Options) *material {
	mark := strings.ToLower(crand.Text()[:12])
	return &material{
		mark: mark, collection: "bench-" + mark, documents: o.Documents, memories: o.Memories, subjects: min(maxSubjects, o.Memories),
		searched: o.Mix.has("search", "document"), recalled: o.Mix.has("recall", "memory"),
	}
}

func (m *material) documentID(n int) string { return fmt.Sprintf("bench-%s-%d", m.mark, n) }

func (m *material) document(n int, random *rand.Rand) client.NewDocument {
	return client.NewDocument{ID: m.documentID(n), Collection: m.collection, Title: phrase(random, 4), Text: phrase(random, 80)}
}

// subject returns the subject of memory n.
func (m *material) subject(n int) string { return fmt.Sprintf("bench-%s-%d", m.mark, n%m.subjects) }

func (m *material) memory(n int, random *rand.Rand) client.NewMemory {
	return client.NewMemory{SubjectID: m.subject(n), Key: fmt.Sprintf("slot-%d", n), Text: phrase(random, 25)}
}

// store stores the documents and memories that the mix needs.
func (m *material) store(ctx context.Context, c *client.Client) error {
	random := newRandom(m.mark, 1<<32)
	if m.searched {
		var lines bytes.Buffer
		encode := json.NewEncoder(&lines)
		for n := range m.documents {
			if err := encode.Encode(m.document(n, random)); err != nil {
				return fmt.Errorf("store documents: %w", err)
			}
		}
		outcome, err := c.ImportDocuments(ctx, &lines, nil)
		m.stored.documents = !isRefusal(err)
		if err == nil && outcome.Failed > 0 {
			err = errors.New(outcome.Errors[0].Message)
		}
		if err != nil {
			return fmt.Errorf("store documents: %w", err)
		}
	}
	if !m.recalled {
		return nil
	}
	const atOnce = 1000
	for first := 0; first < m.memories; first += atOnce {
		var items []client.NewMemory
		for n := first; n < min(first+atOnce, m.memories); n++ {
			items = append(items, m.memory(n, random))
		}
		results, err := c.CreateMemories(ctx, items, false)
		m.stored.memories = m.stored.memories || !isRefusal(err)
		for _, r := range results {
			if err == nil && r.Error != nil {
				err = errors.New(r.Error.Message)
			}
		}
		if err != nil {
			return fmt.Errorf("store memories: %w", err)
		}
	}
	return nil
}

// remove removes everything that store and the run can have stored. Its error says what can be left.
func (m *material) remove(ctx context.Context, c *client.Client) error {
	var left []error
	if m.stored.documents {
		if err := inParallel(m.documents, func(n int) error { return ignoreMissing(c.DeleteDocument(ctx, m.documentID(n), nil)) }); err != nil {
			left = append(left, fmt.Errorf("documents of the collection %s were not all removed: %w", m.collection, err))
		}
	}
	if m.stored.memories {
		err := inParallel(m.subjects, func(n int) error {
			_, err := c.EraseSubject(ctx, m.subject(n))
			return ignoreMissing(err)
		})
		if err != nil {
			left = append(left, fmt.Errorf("subjects bench-%s-… were not all erased: %w", m.mark, err))
		}
	}
	return errors.Join(left...)
}

// isRefusal reports whether an error means that nothing was stored.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status < http.StatusInternalServerError
}

func ignoreMissing(err error) error {
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// inParallel calls do for 0 to n-1, a few at a time, and returns the first error, after which no further call starts.
func inParallel(n int, do func(n int) error) error {
	var (
		mu    sync.Mutex
		next  int
		first error
		all   sync.WaitGroup
	)
	for range min(4, n) {
		all.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				over := i >= n || first != nil
				mu.Unlock()
				if over {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return first
}

// newRandom returns a random source for one connection.
func newRandom(mark string, stream uint64) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(mark))
	return rand.New(rand.NewPCG(h.Sum64(), stream))
}

// words are the words of texts and queries. They are common, so that a query finds many documents.
var words = strings.Fields(`
apple harbour winter kitchen letter garden bicycle doctor music river morning coffee train window paper mountain bridge
holiday market school summer island engine camera pocket silver orange yellow dinner breakfast sister brother neighbour
village castle forest weather storm ticket airport journey teacher student library museum painting theatre concert piano
guitar violin football tennis swimming running walking reading writing cooking baking bread butter cheese honey lemon tomato
potato carrot salad pepper sugar water bottle glass table chair mirror carpet curtain blanket pillow lamp candle clock watch
phone computer printer keyboard screen battery cable charger wallet umbrella jacket sweater trousers shoes boots gloves scarf
hat shirt dress button needle thread scissors hammer ladder bucket brush paint wood stone metal leather cotton wool silk
appointment insurance invoice contract meeting project deadline budget report schedule customer supplier delivery warehouse
prefers dislikes remembers bought sold moved visited called promised forgot planned finished started repaired cleaned borrowed`)

// phrase returns random words, the first ones of the list more often.
func phrase(random *rand.Rand, n int) string {
	drawn := make([]string, n)
	for i := range drawn {
		drawn[i] = words[min(random.IntN(len(words)), random.IntN(len(words)))]
	}
	return strings.Join(drawn, " ")
}
