package memory

import (
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/memory/recall"
	"keepsake/internal/memory/seal"
)

// indexContent contains the fields of content that an index needs. Times that are not set are noTime.
type indexContent struct {
	Version    int      `json:"v"`
	AgentID    string   `json:"agent"`
	SessionID  string   `json:"session"`
	Kind       string   `json:"kind"`
	Text       string   `json:"text"`
	Speaker    string   `json:"speaker"`
	Tags       []string `json:"tags"`
	Importance float64  `json:"importance"`
	Pinned     bool     `json:"pinned"`
	OccurredAt int64    `json:"occurred"`
	ValidFrom  int64    `json:"from"`
	ValidTo    int64    `json:"to"`
	ExpiresAt  int64    `json:"expires"`
	CreatedAt  int64    `json:"created"`
	UpdatedAt  int64    `json:"updated"`
	Key        string   `json:"key"`
}

const (
	noTime       = math.MinInt64
	noImportance = -1
)

func optionalTime(ms int64) *time.Time {
	if ms == noTime {
		return nil
	}
	return timeOf(&ms)
}

// itemOpener decrypts many memories of one subject for its index. It reuses what it needs for each, so it is not safe for
// concurrent use.
type itemOpener struct {
	workspaceID string
	deriver     *seal.Deriver

	about, plain []byte
	content      indexContent // of the memory that was decrypted last
}

func newItemOpener(workspaceID string, key *seal.DataKey) *itemOpener {
	return &itemOpener{workspaceID: workspaceID, deriver: key.Deriver()}
}

// ownText says that we wrote what we decode, so duplicate names and invalid UTF-8 need not be looked for.
var ownText = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// open is the function open for an index.
func (o *itemOpener) open(r *Row) (recall.Item, error) {
	if err := o.decrypt(r); err != nil {
		return recall.Item{}, fmt.Errorf("decrypt memory %s, revision %d: %w", r.ID, r.Revision, err)
	}
	defer clear(o.plain)
	c := &o.content
	*c = indexContent{Importance: noImportance, OccurredAt: noTime, ValidFrom: noTime, ValidTo: noTime, ExpiresAt: noTime}
	if err := json.Unmarshal(o.plain, c, ownText); err != nil {
		return recall.Item{}, fmt.Errorf("decode memory %s, revision %d", r.ID, r.Revision) // the cause would quote the text
	}
	if c.Version != contentVersion {
		return recall.Item{}, fmt.Errorf("memory %s has version %d, which this release does not know", r.ID, c.Version)
	}
	it := recall.Item{
		ID: r.ID, Text: c.Text, Speaker: c.Speaker, Kind: c.Kind, AgentID: c.AgentID, SessionID: c.SessionID, Tags: c.Tags,
		Pinned: c.Pinned, OccurredAt: optionalTime(c.OccurredAt), CreatedAt: time.UnixMilli(c.CreatedAt),
		ValidFrom: optionalTime(c.ValidFrom), ValidTo: optionalTime(c.ValidTo), ExpiresAt: optionalTime(c.ExpiresAt), Revision: r.Revision,
		UpdatedAt: time.UnixMilli(c.UpdatedAt),
	}
	if importance := c.Importance; importance != noImportance {
		it.Importance = &importance
	}
	return it, nil
}

// decrypt is the function openContent, which sets plain.
func (o *itemOpener) decrypt(r *Row) error {
	o.about = appendMemoryData(o.about[:0], o.workspaceID, r)
	own, err := o.deriver.With(r.OwnKey)
	if err == nil {
		o.plain, err = own.AppendOpen(o.plain[:0], r.Sealed, o.about)
	}
	return err
}
