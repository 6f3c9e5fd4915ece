package index

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Flush writes everything in memory to files. An index without files is not flushed while it is small, because it is filled
// again from its source faster than a file is read.
func (x *Index) Flush() error {
	if x.o.files == nil {
		return nil
	}
	x.manifests.Lock()
	defer x.manifests.Unlock()
	s := x.beginFlush()
	if s == nil {
		return nil
	}
	defer s.Release()
	flushed, err := x.writeFlush(s)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		next := x.current.clone()
		next.flushing = 0
		x.publish(next)
		return fmt.Errorf("flush: %w", err)
	}
	x.flushes.Add(1)
	x.stored = s.about
	next := x.current.withFlush(s, flushed)
	x.publish(next)
	x.o.Maintenance.flushed(x, next.memory(0))
	x.o.Maintenance.merge(x, x.mergeAt(next))
	x.o.Resized()
	return nil
}

// beginFlush returns the snapshot to flush, or nil if there is nothing to flush. Until the flush ends, what the snapshot has
// in memory stays in the index.
func (x *Index) beginFlush() *Snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.current
	unchanged := s.change == x.stored.change && s.label == x.stored.label && s.memory(0) == 0
	if x.closed || unchanged || s.files == 0 && x.stored.change == 0 && s.memory(0) <= x.o.SmallBytes {
		x.o.Maintenance.flushed(x, 0)
		return nil
	}
	next := s.clone()
	next.flushing = len(next.parts) - next.files
	x.publish(next)
	return x.Snapshot()
}

// writeFlush writes a file with what s has in memory, and the manifest of s. It returns nil if there are no live documents.
func (x *Index) writeFlush(s *Snapshot) (flushed *segment, err error) {
	defer recoverCorrupt(&err)
	flushed, err = x.writeSegment(s.parts[s.files:], func(p *part) bitmap { return p.live })
	if err != nil {
		return nil, err
	}
	saved := make([]part, 0, s.files+1)
	for _, p := range s.parts[:s.files] {
		p.saved = p.live
		saved = append(saved, p)
	}
	if flushed != nil {
		saved = append(saved, part{segment: flushed})
	}
	if err := x.writeManifest(&s.about, saved); err != nil {
		x.discard(flushed, err)
		return nil, err
	}
	return flushed, nil
}

// withFlush returns a copy of s after the flush of an earlier snapshot. flushed, if it is not nil, replaces what that has in
// memory.
func (s *Snapshot) withFlush(from *Snapshot, flushed *segment) *Snapshot {
	next := s.clone()
	next.flushing = 0
	for i := range from.files {
		next.parts[i].saved = from.parts[i].live
	}
	memory := next.parts[from.files:len(from.parts)]
	carried := make([]carry, len(memory))
	for i := range memory {
		carried[i] = carry{docs: memory[i].docs, before: from.parts[from.files+i].live, now: &memory[i]}
	}
	var file []part
	if flushed != nil {
		file = []part{carryDeaths(flushed, carried)}
		next.files++
	}
	next.parts = slices.Replace(next.parts, from.files, len(from.parts), file...)
	return next
}

// writeSegment writes a file with the documents of parts that are live according to live. It returns nil if there are none.
func (x *Index) writeSegment(parts []part, live func(*part) bitmap) (*segment, error) {
	sources := sourcesOf(parts, live)
	docs := 0
	for _, s := range sources {
		docs += s.liveDocs()
	}
	if docs == 0 {
		return nil, nil
	}
	name := fmt.Sprintf("%08d.seg", x.nextNumber())
	f, err := x.o.files.create(name)
	if err != nil {
		return nil, fmt.Errorf("create a segment: %w", err)
	}
	out := bufio.NewWriterSize(f, 64<<10)
	err = merge(out, x.seed, sources, &x.closing)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	var s *segment
	if err == nil {
		s, err = x.openSegment(name)
	}
	if err != nil {
		_ = x.o.files.remove(name) // what remains is removed at the next start
		return nil, fmt.Errorf("write a segment: %w", err)
	}
	x.rewritten.Add(int64(s.docs))
	return s, nil
}

func (x *Index) nextNumber() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.next++
	return x.next - 1
}

// mergeInMemory returns a segment in memory with the live documents of parts, of which there is at least one.
func (x *Index) mergeInMemory(parts []part) (part, error) {
	var out bytes.Buffer
	if err := merge(&out, x.seed, sourcesOf(parts, func(p *part) bitmap { return p.live }), nil); err != nil {
		return part{}, err
	}
	s, err := readSegment(out.Bytes())
	if err == nil {
		x.rewritten.Add(int64(s.docs))
	}
	return part{segment: s}, err
}

func sourcesOf(parts []part, live func(*part) bitmap) []*source {
	sources := make([]*source, len(parts))
	for i := range parts {
		sources[i] = &source{segment: parts[i].segment, live: live(&parts[i])}
	}
	return sources
}

// discard closes a segment because of an error, and removes its file if no manifest names it.
func (x *Index) discard(s *segment, because error) {
	if s == nil {
		return
	}
	_ = s.unmap()
	if !errors.Is(because, errUnsure) {
		_ = x.o.files.remove(s.name)
	}
}

// carry describes documents that were copied to a new segment: those that were live before. now tells which of them are still
// live.
type carry struct {
	docs   uint32
	before bitmap
	now    *part
	saved  bool // compare with now.saved, not now.live
}

// carryDeaths returns a part with the segment, in which the documents are dead that died while it was written.
func carryDeaths(s *segment, all []carry) part {
	p := part{segment: s}
	p.live, p.dead, p.since = deaths(s, all)
	return p
}

func deaths(s *segment, all []carry) (live bitmap, dead int, since time.Time) {
	doc := uint32(0)
	for _, c := range all {
		now := c.now.live
		if c.saved {
			now = c.now.saved
		}
		if sameBitmap(now, c.before) {
			doc += countLive(c.before, c.docs)
			continue
		}
		for old := range c.docs {
			if c.before != nil && !c.before.has(old) {
				continue
			}
			if !now.has(old) {
				if live == nil {
					live = full(s.docs)
				}
				live.remove(doc)
				dead++
				if since.IsZero() || c.now.since.Before(since) {
					since = c.now.since
				}
			}
			doc++
		}
	}
	return live, dead, since
}

func countLive(live bitmap, docs uint32) uint32 {
	if live == nil {
		return docs
	}
	return uint32(live.count())
}

// sameBitmap reports whether two bitmaps are one. Bitmaps are copied before they are changed.
func sameBitmap(a, b bitmap) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
