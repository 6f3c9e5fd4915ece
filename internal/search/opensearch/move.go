package opensearch

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Engine is where the index of a workspace is.
type Engine string

// The engines.
const (
	Local      Engine = "local"      // in each process
	OpenSearch Engine = "opensearch" // in a cluster
)

// Placed is a workspace with the engine that it is to have, and the one that its searches read. They differ during a move.
type Placed struct {
	ID              string
	Wanted, Serving Engine
}

// LocalIndexes are the indexes of this process.
type LocalIndexes interface {
	// Reached reports whether an index has all changes up to a number, and how many it has. It is built if it is not there.
	Reached(workspaceID string, change int64) (position int64, reached bool)
}

// MoverOptions is what a Mover needs.
type MoverOptions struct {
	Client     *Client
	Prefix     string
	Follower   *Follower
	Source     Source
	Workspaces func() []Placed                             // as this process knows them
	Stored     func(ctx context.Context) ([]Placed, error) // as they are in the database
	Local      LocalIndexes
	// Serve lets searches of a workspace read another engine, in all processes.
	Serve func(ctx context.Context, workspaceID string, engine Engine) error
	Alone bool // there are no other processes
	Log   *slog.Logger
	Now   func() time.Time
	Every time.Duration // between two looks; 0: 500 ms
}

// Mover moves workspaces from one engine to another. The old one answers until the new one has all changes. How far a move is follows
// from the position of the new index, so a process that is killed goes on where it was.
type Mover struct {
	o        MoverOptions
	building map[string]buildTime // moves back, by workspace
	sweep    time.Time            // when to look for indexes that are left
}

// buildTime is when this process began to build an index, and when it had all changes.
type buildTime struct{ began, ready time.Time }

const (
	moveEvery  = 500 * time.Millisecond
	sweepEvery = 10 * time.Minute
	sweepAgain = 10 * time.Second // after a failure
	leastGrace = 5 * time.Second
)

// NewMover returns a Mover, which moves nothing before Run.
func NewMover(o MoverOptions) *Mover {
	if o.Every == 0 {
		o.Every = moveEvery
	}
	return &Mover{o: o, building: map[string]buildTime{}}
}

// Run lets the Follower follow the workspaces that have an index in OpenSearch, and moves workspaces, until ctx ends.
func (m *Mover) Run(ctx context.Context) error {
	ticker := time.NewTicker(m.o.Every)
	defer ticker.Stop()
	for failing := false; ; {
		err := m.look(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			m.o.Log.Warn("moving search indexes failed; retrying", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look does what can be done now.
func (m *Mover) look(ctx context.Context) error {
	var follow []string
	var first error
	all := m.o.Workspaces()
	for _, w := range all {
		if w.Wanted == OpenSearch || w.Serving == OpenSearch {
			follow = append(follow, w.ID)
		}
	}
	m.o.Follower.Follow(follow)
	progress := m.o.Follower.Progress()
	for _, w := range all {
		var err error
		switch {
		case w.Wanted == w.Serving:
			delete(m.building, w.ID)
		case w.Wanted == OpenSearch:
			err = m.there(ctx, w, progress[w.ID])
		default:
			err = m.back(ctx, w, progress[w.ID])
		}
		if err != nil && first == nil {
			first = err
		}
	}
	if now := m.o.Now(); !now.Before(m.sweep) {
		if err := m.removeLeft(ctx); err != nil {
			m.sweep = now.Add(sweepAgain)
			return err
		}
		m.sweep = now.Add(sweepEvery)
	}
	return first
}

// there ends a move to OpenSearch if the index is complete.
func (m *Mover) there(ctx context.Context, w Placed, p Progress) error {
	if !p.Here || !p.Serving || p.State != Healthy || p.Position < p.Last {
		return nil
	}
	if err := m.o.Serve(ctx, w.ID, OpenSearch); err != nil {
		return fmt.Errorf("move a workspace to OpenSearch: %w", err)
	}
	m.o.Log.Info("searches of a workspace read OpenSearch", "workspace", w.ID)
	return nil
}

// back builds the index of this process again. The process that follows the workspace ends the move some time after its own index is
// complete, so that those of the others are, too.
func (m *Mover) back(ctx context.Context, w Placed, p Progress) error {
	state, err := m.o.Source.State(ctx, w.ID)
	if err != nil {
		return fmt.Errorf("read the state of the documents: %w", err)
	}
	now := m.o.Now()
	b, known := m.building[w.ID]
	if !known {
		b.began = now
	}
	_, reached := m.o.Local.Reached(w.ID, state.Change)
	if reached && b.ready.IsZero() {
		b.ready = now
	}
	m.building[w.ID] = b
	if !reached || !p.Here || !m.o.Alone && now.Sub(b.ready) < max(leastGrace, b.ready.Sub(b.began)) {
		return nil
	}
	if err := m.o.Serve(ctx, w.ID, Local); err != nil {
		return fmt.Errorf("move a workspace from OpenSearch: %w", err)
	}
	delete(m.building, w.ID)
	m.sweep = now.Add(leastGrace) // when all processes know
	m.o.Log.Info("searches of a workspace read the index of each process", "workspace", w.ID)
	return nil
}

// removeLeft removes the indexes of workspaces that have moved back, and of those that the database does not have, as after a restore.
func (m *Mover) removeLeft(ctx context.Context) error {
	owners, err := m.o.Client.marks(ctx, m.o.Prefix+"*")
	if err != nil {
		return fmt.Errorf("list indexes: %w", err)
	}
	if len(owners) == 0 {
		return nil
	}
	all, err := m.o.Stored(ctx) // after the indexes, so the workspace of each of them is among these
	if err != nil {
		return fmt.Errorf("list workspaces: %w", err)
	}
	for _, name := range leftOver(owners, m.o.Prefix, m.o.Follower.o.Owner, all) {
		if _, err := m.o.Client.Do(ctx, http.MethodDelete, "/"+name, nil); err != nil && StateOf(err) != Missing {
			return fmt.Errorf("delete an index: %w", err)
		}
		m.o.Log.Info("deleted an index in OpenSearch that no workspace has any more", "index", name)
	}
	return nil
}

// ofWorkspace is the name of an index of a workspace, without the prefix.
var ofWorkspace = regexp.MustCompile(`^(wsp_[0-9a-z]+)-[1-9][0-9]*(` + regexp.QuoteMeta(wordsEnd) + `)?$`)

// leftOver returns the indexes of an installation that none of its workspaces has. owners says whose the indexes are. If there are no
// workspaces, that is a mistake.
func leftOver(owners map[string]string, prefix, owner string, all []Placed) (names []string) {
	if len(all) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, w := range all {
		used[namesOf(prefix, w.ID).base] = w.Wanted == OpenSearch || w.Serving == OpenSearch
	}
	for name, of := range owners {
		rest, ok := strings.CutPrefix(name, prefix)
		if found := ofWorkspace.FindStringSubmatch(rest); ok && of == owner && found != nil && !used[prefix+found[1]] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Percent returns how far the move of a workspace is, and whether this process knows it.
func (m *Mover) Percent(ctx context.Context, w Placed) (percent int, ok bool) {
	if w.Wanted == OpenSearch {
		if p := m.o.Follower.Progress()[w.ID]; p.Here {
			return PercentOf(max(p.Position, p.Filling), p.Last), true
		}
		return m.percentElsewhere(ctx, w.ID)
	}
	state, err := m.o.Source.State(ctx, w.ID)
	if err != nil {
		return 0, false
	}
	position, _ := m.o.Local.Reached(w.ID, state.Change)
	return PercentOf(position, state.Change), true
}

// percentPatience is how long a request waits for the progress of a move that another process does.
const percentPatience = time.Second

// percentElsewhere asks the cluster how far an index is that another process fills.
func (m *Mover) percentElsewhere(ctx context.Context, workspaceID string) (percent int, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, percentPatience)
	defer cancel()
	has, err := newestHas(ctx, m.o.Client, namesOf(m.o.Prefix, workspaceID), m.o.Follower.o.Owner)
	if err != nil {
		return 0, false
	}
	state, err := m.o.Source.State(ctx, workspaceID)
	if err != nil {
		return 0, false
	}
	return PercentOf(has.Change, state.Change), true
}

// PercentOf returns how far an index is that has a change of so many. Only the end of the move is all of it.
func PercentOf(position, last int64) int {
	if last == 0 {
		return 0
	}
	return int(min(99, max(position, 0)*100/last))
}
