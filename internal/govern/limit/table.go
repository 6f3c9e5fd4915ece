package limit

import "sync/atomic"

// Table is the tiers in force. Their names are fixed for as long as the program runs; their numbers may change while
// requests are served. It is safe for concurrent use, and reading takes no lock.
type Table struct {
	names  []string
	byName map[string]*InForce
}

// InForce is the tier as it is now.
type InForce struct{ tier atomic.Pointer[Tier] }

// Tier gives the numbers of now. They are shared: read them only.
func (f *InForce) Tier() *Tier { return f.tier.Load() }

// NewTable makes a table of these tiers.
func NewTable(tiers []Tier) *Table {
	t := &Table{byName: make(map[string]*InForce, len(tiers))}
	for _, tier := range tiers {
		f := new(InForce)
		f.tier.Store(&tier)
		t.names = append(t.names, tier.Name)
		t.byName[tier.Name] = f
	}
	return t
}

// Lookup finds a tier by its name, nil where there is none.
func (t *Table) Lookup(name string) *InForce { return t.byName[name] }

// All lists the tiers in the order they were given.
func (t *Table) All() []Tier {
	list := make([]Tier, len(t.names))
	for i, name := range t.names {
		list[i] = *t.byName[name].Tier()
	}
	return list
}

// Set gives the tier of this name other numbers, from the next request on; what was used of them stays used. It reports
// whether there is such a tier.
func (t *Table) Set(tier Tier) bool {
	f := t.byName[tier.Name]
	if f != nil {
		f.tier.Store(&tier)
	}
	return f != nil
}
