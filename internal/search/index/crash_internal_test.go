package index

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"keepsake/internal/testing/testtier"
)

// disk is files in memory that can fail and lose power. Content that was not synced is lost from some byte on, and changes of
// the folder that were not synced are lost from some change on.
type disk struct {
	r       *rand.Rand
	names   map[string]*inode // as a reader sees them
	durable map[string]*inode
	changes []func(map[string]*inode) // of the folder since the last sync
	left    int                       // effects until one fails; negative: none does
	dead    bool                      // nothing works after the failure
	lose    bool                      // the failure is a loss of power
}

type inode struct {
	data   []byte
	synced int
}

var errDisk = errors.New("the disk is full")

func newDisk(r *rand.Rand) *disk {
	return &disk{r: r, names: map[string]*inode{}, durable: map[string]*inode{}, left: -1}
}

// effect counts an effect, and fails if it is its turn.
func (d *disk) effect() error {
	if d.dead {
		return errDisk
	}
	if d.left--; d.left == -1 {
		d.dead = d.lose
		return errDisk
	}
	d.left = max(d.left, -2)
	return nil
}

func (d *disk) change(do func(map[string]*inode)) {
	do(d.names)
	d.changes = append(d.changes, do)
}

// restart returns the disk after a loss of power.
func (d *disk) restart() *disk {
	for _, do := range d.changes[:d.r.IntN(len(d.changes)+1)] {
		do(d.durable)
	}
	after := newDisk(d.r)
	for name, c := range d.durable {
		size := c.synced + d.r.IntN(len(c.data)-c.synced+1)
		kept := &inode{slices.Clone(c.data[:size]), size}
		after.names[name], after.durable[name] = kept, kept
	}
	return after
}

func (d *disk) read(name string) ([]byte, func() error, error) {
	c := d.names[name]
	if c == nil {
		return nil, nil, fs.ErrNotExist
	}
	return slices.Clone(c.data), func() error { return nil }, nil
}

func (d *disk) create(name string) (file, error) {
	if err := d.effect(); err != nil {
		return nil, err
	}
	c := &inode{}
	d.change(func(names map[string]*inode) { names[name] = c })
	return &diskFile{d, c}, nil
}

func (d *disk) rename(from, to string) error {
	if err := d.effect(); err != nil {
		return err
	}
	d.change(func(names map[string]*inode) { names[to] = names[from]; delete(names, from) })
	return nil
}

func (d *disk) remove(name string) error {
	if err := d.effect(); err != nil {
		return err
	}
	d.change(func(names map[string]*inode) { delete(names, name) })
	return nil
}

func (d *disk) list() ([]string, error) { return slices.Collect(maps.Keys(d.names)), nil }

func (d *disk) sync() error {
	if err := d.effect(); err != nil {
		return err
	}
	d.durable, d.changes = maps.Clone(d.names), nil
	return nil
}

type diskFile struct {
	d *disk
	c *inode
}

func (f *diskFile) Write(data []byte) (int, error) {
	if err := f.d.effect(); err != nil {
		n := f.d.r.IntN(len(data) + 1)
		f.c.data = append(f.c.data, data[:n]...)
		return n, err
	}
	f.c.data = append(f.c.data, data...)
	return len(data), nil
}

func (f *diskFile) Sync() error {
	if err := f.d.effect(); err != nil {
		return err
	}
	f.c.synced = len(f.c.data)
	return nil
}

func (f *diskFile) Close() error { return nil }

// After a loss of power at any moment, the index is as it was after one of its changes, and not before the last flush.
func TestIndexSurvivesALossOfPower(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(40, 1000) {
		r := rand.New(rand.NewPCG(8, uint64(round)))
		d := newDisk(r)
		m := &model{documents: map[string]*Document{}}
		history := map[int64]*model{0: m.clone()}
		for range 3 { // losses
			d.left, d.lose = r.IntN(120), true
			flushed := m.change
			x, err := Open("", tiny(l, d))
			for range 60 {
				if err != nil {
					break
				}
				switch r.IntN(6) {
				case 0, 1:
					if err = x.Flush(); err == nil {
						flushed = m.change
					}
				case 2:
					_, err = x.Merge()
				default:
					changes := m.drawChanges(r, 30)
					m.apply(changes)
					history[m.change] = m.clone()
					err = x.Apply(changes)
				}
			}
			d = d.restart()
			x, err = Open("", tiny(l, d))
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			change := x.current.change
			if history[change] == nil || change < flushed {
				t.Fatalf("round %d: the index is at change %d, the last flush was at %d", round, change, flushed)
			}
			history[change].check(t, x)
			m = history[change].clone()
			noError(t, x.Verify())
			noError(t, x.Close())
		}
	}
}

// After an effect fails, the index contains everything, and the next flush succeeds.
func TestIndexSurvivesAFullDisk(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(40, 1000) {
		r := rand.New(rand.NewPCG(9, uint64(round)))
		d := newDisk(r)
		x, err := Open("", tiny(l, d))
		noError(t, err)
		m := &model{documents: map[string]*Document{}}
		for range 30 {
			changes := m.drawChanges(r, 30)
			m.apply(changes)
			noError(t, x.Apply(changes))
			d.left = r.IntN(15)
			if r.IntN(2) == 0 {
				_ = x.Flush()
			} else {
				_, _ = x.Merge()
			}
			d.left = -1
		}
		m.check(t, x)
		noError(t, x.Flush())
		noError(t, x.Close())
		x, err = Open("", tiny(l, d.restart()))
		noError(t, err)
		m.check(t, x)
	}
}
