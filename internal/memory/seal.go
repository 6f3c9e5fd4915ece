package memory

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-json-experiment/json"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/memory/seal"
)

// content is a revision of a memory as it is encrypted, in JSON. It contains all fields except ID and Revision, which the row
// has in plaintext. Version tells later releases how to read it.
type content struct {
	Version    int            `json:"v"`
	SubjectID  string         `json:"subject"`
	AgentID    string         `json:"agent,omitzero"`
	SessionID  string         `json:"session,omitzero"`
	Kind       Kind           `json:"kind"`
	Text       string         `json:"text"`
	Speaker    string         `json:"speaker,omitzero"`
	Tags       []string       `json:"tags,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Importance *float64       `json:"importance,omitzero"`
	Pinned     bool           `json:"pinned,omitzero"`
	OccurredAt *int64         `json:"occurred,omitzero"` // Unix milliseconds, like all times here
	ValidFrom  *int64         `json:"from,omitzero"`
	ValidTo    *int64         `json:"to,omitzero"`
	ExpiresAt  *int64         `json:"expires,omitzero"`
	Key        string         `json:"key,omitzero"`
	Source     string         `json:"source,omitzero"`
	CreatedAt  int64          `json:"created"`
	UpdatedAt  int64          `json:"updated"`
	CreatedBy  string         `json:"createdBy,omitzero"`
	UpdatedBy  string         `json:"updatedBy,omitzero"`
	ImportedBy string         `json:"importedBy,omitzero"`
}

const contentVersion = 1

// ownKeySize is the number of bytes of the key that a memory has of its own.
const ownKeySize = 32

func millis(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

func timeOf(ms *int64) *time.Time {
	if ms == nil {
		return nil
	}
	t := time.UnixMilli(*ms).UTC()
	return &t
}

func contentOf(m *Memory) *content {
	return &content{
		Version: contentVersion, SubjectID: m.SubjectID, AgentID: m.AgentID, SessionID: m.SessionID, Kind: m.Kind, Text: m.Text,
		Speaker: m.Speaker, Tags: m.Tags, Metadata: m.Metadata, Importance: m.Importance, Pinned: m.Pinned,
		OccurredAt: millis(m.OccurredAt), ValidFrom: millis(m.ValidFrom), ValidTo: millis(m.ValidTo), ExpiresAt: millis(m.ExpiresAt),
		Key: m.Key, Source: m.Source, CreatedAt: m.CreatedAt.UnixMilli(), UpdatedAt: m.UpdatedAt.UnixMilli(),
		CreatedBy: m.CreatedBy, UpdatedBy: m.UpdatedBy, ImportedBy: m.ImportedBy,
	}
}

func (c *content) memory(id string, revision int64) *Memory {
	m := &Memory{
		ID: id, SubjectID: c.SubjectID, AgentID: c.AgentID, SessionID: c.SessionID, Kind: c.Kind, Text: c.Text, Speaker: c.Speaker,
		Tags: c.Tags, Metadata: c.Metadata, Importance: c.Importance, Pinned: c.Pinned, OccurredAt: timeOf(c.OccurredAt),
		ValidFrom: timeOf(c.ValidFrom), ValidTo: timeOf(c.ValidTo), ExpiresAt: timeOf(c.ExpiresAt), Key: c.Key, Source: c.Source,
		CreatedAt: *timeOf(&c.CreatedAt), UpdatedAt: *timeOf(&c.UpdatedAt), CreatedBy: c.CreatedBy, UpdatedBy: c.UpdatedBy,
		ImportedBy: c.ImportedBy, Revision: revision,
	}
	if m.Tags == nil {
		m.Tags = []string{}
	}
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	return m
}

// sealer encrypts memories of one generation of a subject.
type sealer struct {
	workspaceID string
	subject     Hash
	generation  int64
	key         *seal.DataKey
	lookup      Lookup
}

// sealMemory encrypts a revision. base is another revision of the same memory, whose own key it shares, or nil.
func (s *sealer) sealMemory(m *Memory, base *Row) (*Row, error) {
	r := &Row{
		ID: m.ID, Subject: s.subject, Generation: s.generation, Kind: m.Kind, At: m.At(), CreatedAt: m.CreatedAt,
		UpdatedAt: m.UpdatedAt, ExpiresAt: m.ExpiresAt, KeyHash: s.hashKey(m.Key), DedupHash: s.key.Hash("same", dedupKey(m)),
		Size: int64(len(m.Text)), Revision: m.Revision,
	}
	if m.AgentID != "" {
		r.Agent = s.lookup.Agent(s.workspaceID, m.AgentID)
	}
	if m.SessionID != "" {
		r.Session = s.lookup.Session(s.workspaceID, m.SessionID)
	}
	plain, err := json.Marshal(contentOf(m))
	if err != nil {
		return nil, fmt.Errorf("encode memory %s: %w", m.ID, err)
	}
	if base != nil {
		r.OwnKey, r.OwnKeySlot = base.OwnKey, base.OwnKeySlot
	} else {
		r.OwnKey = make([]byte, ownKeySize)
		rand.Read(r.OwnKey) // never fails
	}
	key, err := s.key.With(r.OwnKey)
	if err != nil {
		return nil, fmt.Errorf("derive the key of memory %s: %w", m.ID, err)
	}
	r.Sealed = key.Seal(plain, memoryData(s.workspaceID, r))
	return r, nil
}

// hashKey returns the hash by which a natural key is found.
func (s *sealer) hashKey(key string) Hash {
	if key == "" {
		return Hash{}
	}
	return s.key.Hash("key", key)
}

// sealName encrypts the ID of the subject.
func (s *sealer) sealName(id string) []byte {
	return s.key.Seal([]byte(id), nameData(s.workspaceID, s.subject, s.generation))
}

// memoryData is the associated data of a revision, so that it cannot be decrypted in the place of another one.
func memoryData(workspaceID string, r *Row) []byte {
	return appendMemoryData(make([]byte, 0, len(workspaceID)+len(r.ID)+64), workspaceID, r)
}

func appendMemoryData(b []byte, workspaceID string, r *Row) []byte {
	b = append(append(append(b, "keepsake memory\x00"...), workspaceID...), 0)
	b = append(append(append(b, r.Subject[:]...), r.ID...), 0)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Revision))
	return binary.BigEndian.AppendUint64(b, uint64(r.Generation))
}

// nameData is the associated data of a subject's ID.
func nameData(workspaceID string, subject Hash, generation int64) []byte {
	b := append(append([]byte("keepsake subject\x00"), workspaceID...), 0)
	return binary.BigEndian.AppendUint64(append(b, subject[:]...), uint64(generation))
}

// open decrypts a revision.
func open(workspaceID string, r *Row, key *seal.DataKey) (*Memory, error) {
	plain, err := openContent(r, key, memoryData(workspaceID, r))
	if err != nil {
		return nil, fmt.Errorf("decrypt memory %s, revision %d: %w", r.ID, r.Revision, err)
	}
	var c content
	if err := json.Unmarshal(plain, &c); err != nil {
		return nil, fmt.Errorf("decode memory %s, revision %d", r.ID, r.Revision) // the cause would quote the text
	}
	if c.Version != contentVersion {
		return nil, fmt.Errorf("memory %s has version %d, which this release does not know", r.ID, c.Version)
	}
	return c.memory(r.ID, r.Revision), nil
}

// openContent decrypts a revision by the memory's own key together with the data key.
func openContent(r *Row, key *seal.DataKey, data []byte) ([]byte, error) {
	own, err := key.With(r.OwnKey)
	if err != nil {
		return nil, err
	}
	return own.Open(r.Sealed, data)
}

// opener decrypts rows of several subjects.
type opener struct{ keys Keys }

// memories decrypts rows in their order. It leaves out rows whose data key was destroyed after they were read.
func (o *opener) memories(ctx context.Context, workspaceID string, rows []*Row) ([]*Memory, error) {
	type keyName struct {
		subject    Hash
		generation int64
	}
	keys := map[keyName]*seal.DataKey{}
	list := make([]*Memory, 0, len(rows))
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := keyName{r.Subject, r.Generation}
		key, found := keys[name]
		if !found {
			var err error
			if key, err = o.find(ctx, workspaceID, r.Subject, r.Generation); err != nil {
				return nil, err
			}
			keys[name] = key
		}
		if key == nil {
			continue
		}
		m, err := open(workspaceID, r, key)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// list decrypts all memories of a list one by one, page by page of f.Limit, as steps of a task.
func (o *opener) list(ctx context.Context, task *fairshare.Task, store rowStore, workspaceID string, f *RowFilter) iter.Seq2[*Memory, error] {
	return func(yield func(*Memory, error) bool) {
		for {
			task.Release()
			rows, err := store.ListMemories(ctx, workspaceID, f)
			if err != nil {
				yield(nil, err)
				return
			}
			memories, err := o.memories(ctx, workspaceID, rows)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range memories {
				if err := task.Step(len(m.Text)); err != nil {
					yield(nil, err)
					return
				}
				if !yield(m, nil) {
					return
				}
			}
			if len(rows) < f.Limit {
				return
			}
			last := rows[len(rows)-1]
			f.After = &Position{At: last.At, ID: last.ID}
		}
	}
}

// name decrypts the ID of a subject. It is empty if the data key was destroyed after the row was read.
func (o *opener) name(ctx context.Context, workspaceID string, row *SubjectRow) (string, error) {
	if len(row.SealedID) == 0 {
		return "", nil
	}
	key, err := o.find(ctx, workspaceID, row.Hash, row.Generation)
	if err != nil || key == nil {
		return "", err
	}
	plain, err := key.Open(row.SealedID, nameData(workspaceID, row.Hash, row.Generation))
	if err != nil {
		return "", fmt.Errorf("decrypt the ID of a subject: %w", err)
	}
	return string(plain), nil
}

// find returns a data key, or nil if it was destroyed.
func (o *opener) find(ctx context.Context, workspaceID string, subject Hash, generation int64) (*seal.DataKey, error) {
	key, err := o.keys.Find(ctx, workspaceID, subject, generation)
	if errors.Is(err, seal.ErrDestroyed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a data key: %w", err)
	}
	return key, nil
}
