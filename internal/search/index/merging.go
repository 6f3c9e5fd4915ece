package index

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	tierOfFiles  = 8               // files of about the same size that are merged to one
	tierAtRest   = 3               // the same once an index rests, because each file has a dictionary of its own
	restDelay    = 5 * time.Second // from the last change on
	deadShare    = 5               // a file is rewritten when one of so many documents is dead
	smallFile    = 64 << 20        // bytes up to which a file is rewritten sooner
	smallFileAge = time.Hour       // after the death of a document
)

// Merge merges files once if that is due, and returns whether it was.
func (x *Index) Merge() (merged bool, err error) {
	defer recoverCorrupt(&err)
	x.merging.Lock()
	defer x.merging.Unlock()
	s := x.Snapshot()
	defer s.Release()
	chosen := x.mergeable(s, x.o.Now())
	if chosen == nil {
		return false, nil
	}
	parts := make([]part, len(chosen))
	for i, at := range chosen {
		parts[i] = s.parts[at]
	}
	// The new file contains what is live according to the manifest, so that the manifest stays exact: a document that died
	// since then is alive again after a crash, until its change is read from the source again.
	written, err := x.writeSegment(parts, func(p *part) bitmap { return p.saved })
	if err != nil {
		return false, fmt.Errorf("merge: %w", err)
	}
	if err := x.replace(parts, written); err != nil {
		x.discard(written, err)
		return false, fmt.Errorf("merge: %w", err)
	}
	x.merges.Add(1)
	return true, nil
}

// replace replaces files by one that contains their documents, or by none if written is nil.
func (x *Index) replace(parts []part, written *segment) error {
	x.manifests.Lock()
	defer x.manifests.Unlock()
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return errClosed
	}
	manifest := x.withReplacement(parts, written)
	x.mu.Unlock()
	if err := x.writeManifest(&x.stored, manifest.parts[:manifest.files]); err != nil {
		return err
	}
	x.publishReplacement(parts, written)
	x.o.Resized()
	for i := range parts {
		_ = x.o.files.remove(parts[i].name) // what remains is removed at the next start
	}
	return nil
}

func (x *Index) publishReplacement(parts []part, written *segment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	next := x.withReplacement(parts, written) // more documents can have died since the manifest was made
	x.publish(next)
	x.o.Maintenance.merge(x, x.mergeAt(next))
}

// withReplacement returns a copy of the current snapshot in which written replaces parts. The caller holds x.mu.
func (x *Index) withReplacement(parts []part, written *segment) *Snapshot {
	next := x.current.clone()
	var live, saved []carry
	for i := range parts {
		at := slices.IndexFunc(next.parts, func(p part) bool { return p.segment == parts[i].segment })
		now := next.parts[at]
		live = append(live, carry{docs: now.docs, before: parts[i].saved, now: &now})
		saved = append(saved, carry{docs: now.docs, before: parts[i].saved, now: &now, saved: true})
		next.parts = slices.Delete(next.parts, at, at+1)
		next.files--
	}
	if written != nil {
		p := carryDeaths(written, live)
		p.saved, _, _ = deaths(written, saved)
		next.parts = slices.Insert(next.parts, next.files, p)
		next.files++
	}
	return next
}

// mergeable returns the files of s that must be merged to one at a time, or nil.
func (x *Index) mergeable(s *Snapshot, now time.Time) []int {
	files := tierOfFiles
	if !now.Before(s.restAt()) {
		files = tierAtRest
	}
	tiers := map[int][]int{}
	for i := range s.files {
		p := &s.parts[i]
		if x.mustRewrite(p, now) {
			return []int{i}
		}
		if int64(len(p.data)) <= x.o.MaxSegment/2 {
			tiers[tier(p.liveDocs(), tierOfFiles)] = append(tiers[tier(p.liveDocs(), tierOfFiles)], i)
		}
	}
	for t := range 64 {
		if len(tiers[t]) >= files {
			if chosen := x.upToMax(s, tiers[t]); len(chosen) > 1 {
				return chosen
			}
		}
	}
	return nil
}

// restAt returns from when on the index rests unless it is changed.
func (s *Snapshot) restAt() time.Time { return s.changedAt.Add(restDelay) }

// upToMax returns the smallest of the files that are together not larger than the maximum.
func (x *Index) upToMax(s *Snapshot, files []int) []int {
	size := func(i int) int { return len(s.parts[i].data) }
	slices.SortStableFunc(files, func(a, b int) int { return cmp.Compare(size(a), size(b)) })
	sum := int64(0)
	for n, i := range files {
		if sum += int64(size(i)); sum > x.o.MaxSegment {
			files = files[:n]
			break
		}
	}
	slices.Sort(files)
	return files
}

// mustRewrite reports whether too many documents of a file are dead, or for too long.
func (x *Index) mustRewrite(p *part, now time.Time) bool {
	return p.savedDead()*deadShare >= int(p.docs) || p.savedDead() > 0 && !now.Before(x.rewriteAt(p))
}

// rewriteAt returns when a file with dead documents must be rewritten.
func (x *Index) rewriteAt(p *part) time.Time {
	age := x.o.DeadAge
	if len(p.data) <= smallFile {
		age = min(age, smallFileAge)
	}
	return p.since.Add(age)
}

// savedDead returns how many documents are dead according to the manifest. A merge removes these.
func (p *part) savedDead() int {
	if p.saved == nil {
		return 0
	}
	return int(p.docs) - p.saved.count()
}

// MergeAt returns when a merge is due, or a zero time.
func (x *Index) MergeAt() time.Time {
	s := x.Snapshot()
	defer s.Release()
	return x.mergeAt(s)
}

// mergeAt returns when a merge is due, or a zero time.
func (x *Index) mergeAt(s *Snapshot) time.Time {
	now := x.o.Now()
	if x.mergeable(s, now) != nil {
		return now
	}
	var first time.Time
	if rest := s.restAt(); x.mergeable(s, rest) != nil {
		first = rest
	}
	for i := range s.files {
		if p := &s.parts[i]; p.savedDead() > 0 {
			if at := x.rewriteAt(p); first.IsZero() || at.Before(first) {
				first = at
			}
		}
	}
	return first
}
