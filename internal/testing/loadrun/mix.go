package loadrun

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"keepsake/client"
)

// operation is a kind of request.
type operation struct {
	name string
	help string
	send func(ctx context.Context, c *client.Client, m *material, random *rand.Rand) error
}

// operations lists the kinds, with their names in --mix and in the report.
var operations = []operation{
	{"health", "the cheapest governed request", func(ctx context.Context, c *client.Client, _ *material, _ *rand.Rand) error {
		_, err := c.Health(ctx)
		return err
	}},
	{"search", "search the run's documents", func(ctx context.Context, c *client.Client, m *material, random *rand.Rand) error {
		_, err := c.Search(ctx, client.Query{Q: phrase(random, 1+random.IntN(3)), Collection: m.collection})
		return err
	}},
	{"document", "replace a document", func(ctx context.Context, c *client.Client, m *material, random *rand.Rand) error {
		_, err := c.PutDocument(ctx, m.document(random.IntN(m.documents), random), nil)
		return err
	}},
	{"recall", "recall memories of a subject", func(ctx context.Context, c *client.Client, m *material, random *rand.Rand) error {
		_, err := c.Recall(ctx, client.RecallQuery{SubjectID: m.subject(random.IntN(m.memories)), Query: phrase(random, 2+random.IntN(4))})
		return err
	}},
	{"memory", "replace a memory", func(ctx context.Context, c *client.Client, m *material, random *rand.Rand) error {
		_, err := c.CreateMemory(ctx, m.memory(random.IntN(m.memories), random))
		return err
	}},
}

// Mix contains the weights of the kinds of requests, by name.
type Mix map[string]int

// DefaultMix is the mix of an application that mostly reads.
const DefaultMix = "search=4,recall=4,document=1,memory=1"

// MixHelp lists the kinds of requests for the help page.
func MixHelp() string {
	var list []string
	for _, o := range operations {
		list = append(list, o.name+" ("+o.help+")")
	}
	return strings.Join(list, ", ")
}

// ParseMix reads names and weights: search=4,recall=1. A name alone weighs 1.
func ParseMix(text string) (Mix, error) {
	mix := Mix{}
	for entry := range strings.SplitSeq(text, ",") {
		name, weight, weighed := strings.Cut(strings.TrimSpace(entry), "=")
		n := 1
		if weighed {
			var err error
			if n, err = strconv.Atoi(weight); err != nil || n < 0 || n > 1_000_000 {
				return nil, Error(fmt.Sprintf("the weight of %q in the mix must be a whole number from 0 to 1000000", name))
			}
		}
		if _, ok := mix[name]; ok {
			return nil, Error(fmt.Sprintf("the mix names %q twice", name))
		}
		mix[name] = n
	}
	return mix, mix.check()
}

func (m Mix) check() error {
	total := 0
	for name, weight := range m {
		if !slices.ContainsFunc(operations, func(o operation) bool { return o.name == name }) {
			return Error(fmt.Sprintf("the mix names %q, which is none of health, search, document, recall and memory", name))
		}
		total += weight
	}
	if total == 0 {
		return Error("the mix has no request in it")
	}
	return nil
}

// has reports whether the mix contains one of these kinds.
func (m Mix) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return m[name] > 0 })
}

// pick returns a random kind of request.
func (m Mix) pick(random *rand.Rand) operation {
	total := 0
	for _, weight := range m {
		total += weight
	}
	n := random.IntN(total)
	for _, o := range operations {
		if n -= m[o.name]; n < 0 {
			return o
		}
	}
	panic("loadrun: a mix without a request")
}
