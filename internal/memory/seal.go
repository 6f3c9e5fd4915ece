package memory

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"keepsake/internal/seal"
)

// content is what lies sealed in a row, as JSON. Version tells later releases how to read it. It is all of a memory but its
// id, so that an older revision needs nothing else.
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
	OccurredAt *int64         `json:"occurred,omitzero"` // milliseconds, as all times here
	ValidFrom  *int64         `json:"from,omitzero"`
	ValidTo    *int64         `json:"to,omitzero"`
	ExpiresAt  *int64         `json:"expires,omitzero"`
	Key        string         `json:"key,omitzero"`
	Source     string         `json:"source,omitzero"`
	CreatedAt  int64          `json:"created"`
	UpdatedAt  int64          `json:"updated"`
	CreatedBy  string         `json:"createdBy,omitzero"`
	UpdatedBy  string         `json:"updatedBy,omitzero"`
}

const contentVersion = 1

// ownKeySize is the size of a memory's own key.
const ownKeySize = 32

func millis(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

func moment(ms *int64) *time.Time {
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
		CreatedBy: m.CreatedBy, UpdatedBy: m.UpdatedBy,
	}
}

func (c *content) memory(id string, revision int64) *Memory {
	m := &Memory{
		ID: id, SubjectID: c.SubjectID, AgentID: c.AgentID, SessionID: c.SessionID, Kind: c.Kind, Text: c.Text, Speaker: c.Speaker,
		Tags: c.Tags, Metadata: c.Metadata, Importance: c.Importance, Pinned: c.Pinned, OccurredAt: moment(c.OccurredAt),
		ValidFrom: moment(c.ValidFrom), ValidTo: moment(c.ValidTo), ExpiresAt: moment(c.ExpiresAt), Key: c.Key, Source: c.Source,
		CreatedAt: *moment(&c.CreatedAt), UpdatedAt: *moment(&c.UpdatedAt), CreatedBy: c.CreatedBy, UpdatedBy: c.UpdatedBy,
		Revision: revision,
	}
	if m.Tags == nil {
		m.Tags = []string{}
	}
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	return m
}

// sealer seals what is written of one subject.
type sealer struct {
	workspaceID string
	subject     Hash
	generation  int64
	key         *seal.DataKey
	lookup      Lookup
}

// about is the associated data of a sealed revision: it opens nowhere else.
func about(workspaceID string, r *Row) []byte {
	b := make([]byte, 0, len(workspaceID)+len(r.ID)+64)
	b = append(append(append(b, "keepsake memory\x00"...), workspaceID...), 0)
	b = append(append(append(b, r.Subject[:]...), r.ID...), 0)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Revision))
	return binary.BigEndian.AppendUint64(b, uint64(r.Generation))
}

func aboutName(workspaceID string, subject Hash, generation int64) []byte {
	b := append(append([]byte("keepsake subject\x00"), workspaceID...), 0)
	return binary.BigEndian.AppendUint64(append(b, subject[:]...), uint64(generation))
}

// row seals a revision of a memory, of which base is another one, nil for a new memory.
func (s *sealer) row(m *Memory, base *Row) (*Row, error) {
	r := &Row{
		ID: m.ID, Subject: s.subject, Generation: s.generation, Kind: m.Kind, At: m.At(), CreatedAt: m.CreatedAt,
		UpdatedAt: m.UpdatedAt, ExpiresAt: m.ExpiresAt, Key: s.naturalKey(m.Key), Same: s.same(m), Size: int64(len(m.Text)),
		Revision: m.Revision,
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
	if base != nil && len(base.Own) > 0 {
		r.Own, r.OwnSlot = base.Own, base.OwnSlot
	} else {
		r.Own = make([]byte, ownKeySize)
		rand.Read(r.Own) // never fails
	}
	key, err := s.key.With(r.Own)
	if err != nil {
		return nil, fmt.Errorf("make the key of memory %s: %w", m.ID, err)
	}
	r.Sealed = key.Seal(plain, about(s.workspaceID, r))
	return r, nil
}

func (s *sealer) naturalKey(key string) Hash {
	if key == "" {
		return Hash{}
	}
	return s.key.Hash("key", key)
}

func (s *sealer) same(m *Memory) Hash { return s.key.Hash("same", sameness(m)) }

func (s *sealer) name(id string) []byte {
	return s.key.Seal([]byte(id), aboutName(s.workspaceID, s.subject, s.generation))
}

// open opens a revision.
func open(workspaceID string, r *Row, key *seal.DataKey) (*Memory, error) {
	plain, err := openRow(r, key, about(workspaceID, r))
	if err != nil {
		return nil, fmt.Errorf("open memory %s, revision %d: %w", r.ID, r.Revision, err)
	}
	var c content
	if err := json.Unmarshal(plain, &c); err != nil {
		return nil, fmt.Errorf("decode memory %s, revision %d", r.ID, r.Revision) // the cause would quote the text
	}
	if c.Version != contentVersion {
		return nil, fmt.Errorf("memory %s is of version %d, which this release does not know", r.ID, c.Version)
	}
	return c.memory(r.ID, r.Revision), nil
}

// openRow opens what is sealed in a row. Older revisions of a memory that has a key of its own may be from before it had one.
func openRow(r *Row, key *seal.DataKey, about []byte) ([]byte, error) {
	if len(r.Own) > 0 {
		own, err := key.With(r.Own)
		if err != nil {
			return nil, err
		}
		if plain, err := own.Open(r.Sealed, about); err == nil {
			return plain, nil
		}
	}
	return key.Open(r.Sealed, about)
}

// open opens rows in their order. Those whose data key was destroyed since they were read are gone.
func (s *Service) open(ctx context.Context, workspaceID string, rows []*Row) ([]*Memory, error) {
	type name struct {
		subject    Hash
		generation int64
	}
	keys := map[name]*seal.DataKey{}
	list := make([]*Memory, 0, len(rows))
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		of := name{r.Subject, r.Generation}
		key, known := keys[of]
		if !known {
			var err error
			key, err = s.o.Keys.Find(ctx, workspaceID, r.Subject, r.Generation)
			if err != nil && !errors.Is(err, seal.ErrDestroyed) {
				return nil, fmt.Errorf("find a data key: %w", err)
			}
			keys[of] = key
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

// openName opens the readable id of a subject; empty where its key was destroyed since the row was read.
func (s *Service) openName(ctx context.Context, workspaceID string, row *Subject) (string, error) {
	if len(row.SealedID) == 0 {
		return "", nil
	}
	key, err := s.o.Keys.Find(ctx, workspaceID, row.Hash, row.Generation)
	if errors.Is(err, seal.ErrDestroyed) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find a data key: %w", err)
	}
	plain, err := key.Open(row.SealedID, aboutName(workspaceID, row.Hash, row.Generation))
	if err != nil {
		return "", fmt.Errorf("open the name of a subject: %w", err)
	}
	return string(plain), nil
}
