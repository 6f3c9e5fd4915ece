// Package collection keeps the settings of collections of documents: their language, their synonyms, and the fields that are
// searched.
//
// Read collection.go (types and the store), validate.go and service.go.
package collection

import (
	"context"
	"time"
)

// Collection is a collection of documents. It exists while it has documents or settings.
type Collection struct {
	Name      string
	Documents int64
	Settings  *Settings  // nil: it has none
	Revision  int64      // of the settings, which also grows when they are removed; 0: there were never any
	UpdatedAt *time.Time // of the settings, in whole milliseconds; nil: there are none
}

// Settings are what an owner sets for a collection. The zero value of a field is its default.
type Settings struct {
	// Language is that of documents without one, as a code of text.LanguageOf; empty: each document's own words decide.
	Language string `json:"language,omitempty"`
	// Synonyms are applied to queries, in their order.
	Synonyms []Synonym `json:"synonyms,omitempty"`
	// Fields are the searched fields with their weights: title, text, and names of metadata entries after "metadata.". nil:
	// DefaultFields.
	Fields map[string]float64 `json:"fields,omitempty"`
}

// Synonym is a row of synonyms. It is a group, a rule with one direction, or a list of the program.
type Synonym struct {
	Words []string `json:"words,omitempty"` // each of them also finds the others
	From  string   `json:"from,omitempty"`  // also finds To, which does not find From
	To    []string `json:"to,omitempty"`
	List  string   `json:"list,omitempty"` // English
}

// English is the name of the program's list of related English words.
const English = "english"

// The names of fields in Settings.
const (
	Title    = "title"
	Text     = "text"
	Metadata = "metadata." // followed by the name of an entry
)

// DefaultFields are the searched fields of a collection without others.
func DefaultFields() map[string]float64 { return map[string]float64{Title: 2.5, Text: 1} }

// Store stores collections. A collection of another workspace does not exist.
type Store interface {
	// Collection reads a collection. It returns problem.Missing if it has neither documents nor settings.
	Collection(ctx context.Context, workspaceID, name string) (*Collection, error)
	// ListCollections reads at most limit collections whose names are after a name, in the order of the bytes of their names.
	ListCollections(ctx context.Context, workspaceID, after string, limit int) ([]Collection, error)
	// HoldCollection reads a collection, which can be empty, and lets no other transaction change it or its documents before the
	// transaction of ctx ends.
	HoldCollection(ctx context.Context, workspaceID, name string) (*Collection, error)
	// SaveSettings writes the settings of a collection that is held, in the same transaction. It returns the number of the change
	// among those of the workspace's documents. maxBytes is how many bytes the workspace can store; nil is no limit.
	SaveSettings(ctx context.Context, workspaceID string, c *Collection, maxBytes *int64) (change int64, err error)
	// SynonymRows returns how many rows of synonyms the collections of a workspace have together, without one of them.
	SynonymRows(ctx context.Context, workspaceID, without string) (int64, error)
	// CollectionSettings reads all collections of a workspace that have settings.
	CollectionSettings(ctx context.Context, workspaceID string) ([]Collection, error)
}
