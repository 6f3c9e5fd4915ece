package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"keepsake/internal/base/folder"
)

// Checkpoint says which row a chain ended with at a time. It is signed: write access to the database and to the file is not
// enough to forge one.
type Checkpoint struct {
	Chain     string    `json:"chain"`
	Sequence  int64     `json:"sequence"`
	Hash      Hash      `json:"hash"`
	At        time.Time `json:"at"`
	Signature []byte    `json:"signature"`
}

// message is what the signature is of.
func (c *Checkpoint) message() []byte {
	var b bytes.Buffer
	part(&b, "keepsake audit checkpoint 1")
	part(&b, c.Chain)
	number(&b, c.Sequence)
	b.Write(c.Hash[:])
	number(&b, c.At.UnixMicro())
	return b.Bytes()
}

func (l *Log) signed(head Head, at time.Time) *Checkpoint {
	c := &Checkpoint{Chain: head.Chain, Sequence: head.Sequence, Hash: head.Hash, At: at.UTC().Truncate(time.Millisecond)}
	c.Signature = ed25519.Sign(l.signer, c.message())
	return c
}

// genuine reports whether this instance has signed c.
func (l *Log) genuine(c *Checkpoint) bool {
	return ed25519.Verify(l.signer.Public().(ed25519.PublicKey), c.message(), c.Signature)
}

// Checkpoint appends a checkpoint of each chain that has grown to the file. Processes that share a database sign for each
// other's chains, so that a chain is covered even if the folder of its process is lost. The checkpoint of this process's
// own chain also goes to the program's log: if logs are collected elsewhere, that copy is out of reach of an attacker here.
// The record of the own chain is saved after the file, so that the file always contains what the record says.
func (l *Log) Checkpoint(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	heads, err := l.Store.AuditHeads(ctx)
	if err != nil {
		return err
	}
	heads = slices.DeleteFunc(heads, func(h Head) bool { return h.Sequence == l.noted[h.Chain] || h.Sequence == 0 })
	if len(heads) == 0 {
		return nil
	}
	now := l.Now()
	list := make([]*Checkpoint, 0, len(heads))
	for _, head := range heads {
		list = append(list, l.signed(head, now))
	}
	lost, err := l.lost()
	if err != nil {
		return err
	}
	if err := appendCheckpoints(l.Checkpoints, list, !l.disputed && lost == nil); err != nil {
		return fmt.Errorf("write a checkpoint of the audit log: %w", err)
	}
	for _, c := range list {
		if c.Chain == l.Chain && l.record != nil {
			r := *l.record
			r.Last, r.Lost = c, lost
			if err := l.take(ctx, &r); err != nil {
				return fmt.Errorf("keep the record of the audit log: %w", err)
			}
		}
		l.noted[c.Chain] = c.Sequence
		if c.Chain == l.Chain {
			l.Log.LogAttrs(ctx, slog.LevelInfo, "audit checkpoint", slog.String("chain", c.Chain), slog.Int64("sequence", c.Sequence),
				slog.String("hash", c.Hash.String()))
		}
	}
	return nil
}

// lost finds a checkpoint that the file should have and lacks, and reports the first one.
func (l *Log) lost() (*Checkpoint, error) {
	file, err := os.ReadFile(l.Checkpoints)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lost, err := l.record.lacks(file)
	if err != nil || lost == nil {
		return nil, err
	}
	if l.record.Lost == nil {
		l.Log.Error("audit.checkpoints lacks its last checkpoint: put a copy back and run keepsake audit verify", "chain", lost.Chain, "sequence", lost.Sequence)
	}
	return lost, nil
}

// compare checks that the log still holds what the last checkpoints say. If not, the log continues, since stopping it would
// serve an attacker, but from then on all checkpoints are kept.
func (l *Log) compare(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := readCheckpoints(l.Checkpoints)
	if errors.Is(err, errUnreadable) {
		l.disputed = true
		l.Log.Error("the checkpoints of the audit log are damaged", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	last := map[string]*Checkpoint{}
	for _, c := range all {
		last[c.Chain] = c
	}
	for _, chain := range slices.Sorted(maps.Keys(last)) {
		c := last[chain]
		l.noted[chain] = c.Sequence
		held, err := l.holds(ctx, c)
		if err != nil {
			return err
		}
		if !held {
			l.disputed = true
			if chain == l.Chain {
				l.record = nil // it stays as it is, too
			}
			l.Log.Error("the audit log does not hold what its last checkpoint says: run keepsake audit verify", "chain", chain, "sequence", c.Sequence)
		}
	}
	return nil
}

const (
	// A file of checkpoints larger than maxFileBytes is reduced to its newest keptCheckpoints and the last one of each chain. A
	// checkpoint covers all rows before its own; older ones only locate a break more exactly.
	maxFileBytes    = 1 << 20
	keptCheckpoints = 1000
)

// errUnreadable says that a file of checkpoints has a line that is not a checkpoint.
var errUnreadable = errors.New("a line is not a checkpoint")

// readCheckpoints reads a file of checkpoints, which can be missing. It ignores a last line without a newline: the program or
// the machine stopped while it was written.
func readCheckpoints(path string) ([]*Checkpoint, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read checkpoints: %w", err)
	}
	return parseCheckpoints(path, data)
}

func parseCheckpoints(path string, data []byte) ([]*Checkpoint, error) {
	var list []*Checkpoint
	for number := 1; ; number++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return list, nil
		}
		c := new(Checkpoint)
		if err := json.Unmarshal(line, c); err != nil {
			return nil, fmt.Errorf("read checkpoints: %s:%d: %w", path, number, errUnreadable)
		}
		list, data = append(list, c), rest
	}
}

// appendCheckpoints adds checkpoints to the file and waits until they are on stable storage. shorten says whether a large
// file is reduced.
func appendCheckpoints(path string, list []*Checkpoint, shorten bool) error {
	var lines []byte
	for _, c := range list {
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	end := bytes.LastIndexByte(old, '\n') + 1 // an incomplete line
	if shorten && end > maxFileBytes {
		kept, err := newest(path, old[:end])
		if err != nil {
			return err
		}
		return replace(path, append(kept, lines...))
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(lines, int64(end)); err != nil {
		return err
	}
	if err := f.Truncate(int64(end + len(lines))); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if len(old) > 0 {
		return nil
	}
	return folder.Sync(filepath.Dir(path))
}

// newest returns the last lines of a file, preceded by the last line of each chain that would be missing.
func newest(path string, data []byte) ([]byte, error) {
	all, err := parseCheckpoints(path, data)
	if err != nil {
		return nil, err
	}
	last := map[string]int{}
	for i, c := range all {
		last[c.Chain] = i
	}
	var kept []byte
	i := 0
	for line := range bytes.Lines(data) {
		if i >= len(all)-keptCheckpoints || last[all[i].Chain] == i {
			kept = append(kept, line...)
		}
		i++
	}
	return kept, nil
}

// replace replaces the file atomically.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(path))
}
