package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"time"
)

// The manifest names the files of an index, and the documents in them that are dead. It is JSON, and a line with its
// checksum. It is replaced at once, after its files were synced, so it always describes the index after a change.

const manifestName = "manifest"

type manifest struct {
	Layout   int               `json:"layout"`
	Change   int64             `json:"change"`
	Label    string            `json:"label,omitempty"`
	Seen     Seen              `json:"seen"`
	Seed     uint64            `json:"seed"`
	Next     uint64            `json:"next"`
	Segments []manifestSegment `json:"segments"`
}

type manifestSegment struct {
	Name  string     `json:"name"`
	Size  int        `json:"size"`
	Dead  []byte     `json:"dead,omitempty"` // bitmap; nil: none
	Since *time.Time `json:"since,omitempty"`
}

// errUnsure says that a manifest was perhaps replaced, so that the files of neither can be removed.
var errUnsure = errors.New("it is unknown which manifest is stored")

// writeManifest writes the manifest of an index with these files. The caller holds x.manifests.
func (x *Index) writeManifest(a *about, parts []part) error {
	m := manifest{Layout: layout, Change: a.change, Label: a.label, Seen: a.seen, Seed: x.seed, Next: x.nextNumber()}
	for i := range parts {
		p := &parts[i]
		entry := manifestSegment{Name: p.name, Size: len(p.data)}
		if p.saved != nil {
			since := p.since
			entry.Dead, entry.Since = deadBytes(p), &since
		}
		m.Segments = append(m.Segments, entry)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	data = fmt.Appendf(data, "\n%08x\n", crc32.Checksum(data, castagnoli))
	if err := x.replaceFile(manifestName, data); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// replaceFile replaces a file, at once and durably.
func (x *Index) replaceFile(name string, data []byte) error {
	f, err := x.o.files.create(name + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err = x.o.files.rename(name+".new", name); err == nil {
		err = x.o.files.sync()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsure, err)
	}
	return nil
}

// load reads the manifest and opens its files. Files that it does not name are removed.
func (x *Index) load(s *Snapshot) error {
	m, err := x.readManifest()
	if errors.Is(err, fs.ErrNotExist) {
		m, err = &manifest{Layout: layout, Label: s.label, Seed: x.seed, Next: 1}, nil
	}
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	x.seed, x.next, s.about = m.Seed, m.Next, about{m.Change, m.Label, m.Seen}
	named := map[string]bool{manifestName: true}
	for i := range m.Segments {
		p, err := x.loadPart(&m.Segments[i])
		if err != nil {
			for _, p := range s.parts {
				_ = p.unmap()
			}
			return fmt.Errorf("open segment %q: %w", m.Segments[i].Name, err)
		}
		s.add(p)
		s.files++
		s.subtractDead(&p)
		named[p.name] = true
	}
	return x.removeOthers(named)
}

func (x *Index) readManifest() (*manifest, error) {
	data, release, err := x.o.files.read(manifestName)
	if err != nil {
		return nil, err
	}
	defer func() { _ = release() }()
	body, sum, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(sum) != fmt.Sprintf("%08x\n", crc32.Checksum(body, castagnoli)) {
		return nil, errors.New("it does not match its checksum")
	}
	m := &manifest{}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, err
	}
	if m.Layout != layout {
		return nil, errLayout
	}
	return m, nil
}

func (x *Index) loadPart(m *manifestSegment) (part, error) {
	s, err := x.openSegment(m.Name)
	if err != nil {
		return part{}, err
	}
	p := part{segment: s}
	if len(s.data) != m.Size || s.seed != x.seed || m.Dead != nil && len(m.Dead) != 8*len(newBitmap(s.docs)) {
		_ = s.unmap()
		return part{}, errors.New("it is not the file that the manifest describes")
	}
	if m.Dead != nil {
		p.live = full(s.docs)
		for i := range p.live {
			p.live[i] &^= binary.LittleEndian.Uint64(m.Dead[8*i:])
		}
		p.saved, p.dead = p.live, int(s.docs)-p.live.count()
	}
	if m.Since != nil {
		p.since = *m.Since
	}
	return p, nil
}

// openSegment maps the file of a segment.
func (x *Index) openSegment(name string) (*segment, error) {
	data, unmap, err := x.o.files.read(name)
	if err != nil {
		return nil, err
	}
	s, err := readSegment(data)
	if err != nil {
		_ = unmap()
		return nil, err
	}
	s.name, s.unmap = name, unmap
	return s, nil
}

// removeOthers removes files that a crash left.
func (x *Index) removeOthers(named map[string]bool) error {
	names, err := x.o.files.list()
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	for _, name := range names {
		if !named[name] {
			if err := x.o.files.remove(name); err != nil {
				return fmt.Errorf("remove a file that is not used: %w", err)
			}
		}
	}
	return nil
}

// subtractDead takes the dead documents of a part out of the statistics.
func (s *Snapshot) subtractDead(p *part) {
	if p.live == nil {
		return
	}
	dead := full(p.docs)
	dead.without(p.live)
	dead.each(func(doc uint32) { s.subtract(p, doc) })
}

// deadBytes returns the bitmap of the documents that are dead according to p.saved.
func deadBytes(p *part) []byte {
	out := make([]byte, 0, 8*len(p.saved))
	for i, word := range full(p.docs) {
		out = binary.LittleEndian.AppendUint64(out, word&^p.saved[i])
	}
	return out
}

// Verify compares all files with their checksums.
func (x *Index) Verify() error {
	s := x.Snapshot()
	defer s.Release()
	for i := range s.files {
		if err := s.parts[i].verify(); err != nil {
			return err
		}
	}
	return nil
}
