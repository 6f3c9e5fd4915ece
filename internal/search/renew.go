package search

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// If the settings of a collection change how its documents are indexed, they are indexed again, page by page, between the turns of
// other workspaces. Searches go on and find each document as it is indexed. The label of the index says for each collection how its
// documents are indexed, so that this continues after a start.

// renewal is the work that is left for the index of a workspace.
type renewal struct {
	known       *settings    // for which collections was determined
	of          *index.Index // and in which index
	collections []string     // whose documents are to be indexed again
	after       string       // ID of the last document of the first collection that is done
	left        int64        // documents, an estimate
}

// atOnceRenewed is how many documents are indexed again before the next search, in the turn that reads the change of the settings.
const atOnceRenewed = 1_000

// renewalPage is how many documents are read at once to be indexed again.
const renewalPage = 256

// loadSettings returns the settings of f's workspace.
func (x *Indexer) loadSettings(ctx context.Context, f *folder) (*settings, error) {
	if x.o.Settings == nil {
		return noSettings, nil
	}
	if s := f.settings.Load(); s != nil {
		return s, nil
	}
	f.mu.Lock()
	reads := f.settingsChanges
	f.mu.Unlock()
	list, err := x.o.Settings.CollectionSettings(ctx, f.workspaceID)
	if err != nil {
		return nil, fmt.Errorf("read settings of collections: %w", err)
	}
	s := settingsOf(x.analyzer, list)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.settingsChanges == reads { // otherwise they can be older than the last change
		f.settings.Store(s)
	}
	return s, nil
}

// noteSettings drops the settings of f's workspace if they are among the changes.
func (f *folder) noteSettings(changes []document.Change) (changed bool) {
	for i := range changes {
		if changes[i].Collection != "" {
			f.mu.Lock()
			f.settingsChanges++
			f.settings.Store(nil)
			f.mu.Unlock()
			return true
		}
	}
	return false
}

// planRenewal determines the collections whose documents are to be indexed again, if the settings were read again. The label of the
// index then contains them as outdated.
func (x *Indexer) planRenewal(f *folder, open *index.Index, s *settings) error {
	if f.renewal.known == s && f.renewal.of == open {
		return nil
	}
	snapshot := open.Snapshot()
	defer snapshot.Release()
	digests, err := digestsOf(snapshot.Label())
	if err != nil {
		return err
	}
	next := renewal{known: s, of: open}
	names := slices.Collect(maps.Keys(digests))
	for name := range s.digests {
		if _, ok := digests[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if digests[name] == s.digests[name] {
			continue
		}
		docs, err := snapshot.Documents(index.Collection(name))
		if err != nil {
			return err
		}
		if docs == 0 { // those that follow are indexed with these settings
			setDigest(digests, name, s.digests[name])
			continue
		}
		digests[name] = outdated
		next.collections = append(next.collections, name)
		next.left += docs
	}
	if label := labelOf(digests); label != snapshot.Label() {
		if err := open.SetLabel(label); err != nil {
			return err
		}
	}
	f.setRenewal(next)
	return nil
}

func setDigest(digests map[string]string, name, digest string) {
	if digest == "" {
		delete(digests, name)
	} else {
		digests[name] = digest
	}
}

// renew indexes the next page of documents again. more means that there are others.
func (x *Indexer) renew(ctx context.Context, f *folder, open *index.Index) (more bool, err error) {
	next := f.renewal
	if len(next.collections) == 0 {
		return false, nil
	}
	name := next.collections[0]
	filter := document.Filter{Collection: name, Sort: document.ByID, Limit: renewalPage}
	if next.after != "" {
		filter.After = &document.Position{ID: next.after}
	}
	now, err := f.confirm(ctx, x.o.Source)
	if err != nil {
		return false, fmt.Errorf("read the state of the documents: %w", err)
	}
	page, err := x.o.Settings.ListDocuments(ctx, f.workspaceID, filter)
	if err != nil {
		return false, fmt.Errorf("read documents to index again: %w", err)
	}
	if len(page) > 0 {
		// Their changes that are not in the index yet follow. Those up to now have no effect then.
		changes := make([]document.Change, 0, len(page))
		number := changeOf(open)
		for i := range page {
			if page[i].Change <= now.Change {
				changes = append(changes, document.Change{Number: number, ID: page[i].ID, Document: &page[i]})
			}
		}
		f.seen.Store(&now)
		err := x.guard(f, func() error {
			_, err := x.apply(ctx, open, next.known, changes, now)
			return err
		})
		if err != nil {
			return false, err
		}
		next.after = page[len(page)-1].ID
		next.left = max(0, next.left-int64(len(page)))
		x.renewed.Add(int64(len(page)))
	}
	if len(page) < filter.Limit {
		if err := relabel(open, name, next.known.digests[name]); err != nil {
			return false, err
		}
		next.collections, next.after = next.collections[1:], ""
	}
	if len(next.collections) == 0 {
		next.left = 0
	}
	f.setRenewal(next)
	return len(next.collections) > 0, nil
}

// renewFew indexes documents again if they are few. So the next search, which waits for the change of the settings, finds everything as
// they say.
func (x *Indexer) renewFew(ctx context.Context, f *folder, open *index.Index) error {
	for more := f.renewal.left <= atOnceRenewed; more; {
		var err error
		if more, err = x.renew(ctx, f, open); err != nil {
			return err
		}
	}
	return nil
}

func changeOf(open *index.Index) int64 {
	snapshot := open.Snapshot()
	defer snapshot.Release()
	return snapshot.Change()
}

// relabel records that the documents of a collection are indexed as a digest says.
func relabel(open *index.Index, name, digest string) error {
	snapshot := open.Snapshot()
	defer snapshot.Release()
	digests, err := digestsOf(snapshot.Label())
	if err != nil {
		return err
	}
	setDigest(digests, name, digest)
	return open.SetLabel(labelOf(digests))
}

// setRenewal is called by the indexing goroutine only.
func (f *folder) setRenewal(r renewal) {
	f.renewal = r
	f.renewing.Store(r.left)
}
