package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"keepsake/internal/base/text"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/document"
)

// SettingsSource provides the settings of collections, and the documents to index again when they change.
type SettingsSource interface {
	CollectionSettings(ctx context.Context, workspaceID string) ([]collection.Collection, error)
	ListDocuments(ctx context.Context, workspaceID string, f document.Filter) ([]document.Document, error)
}

// settings are those of the collections of a workspace.
type settings struct {
	byCollection map[string]*tuning // only collections with settings
	// digests identify how documents of a collection are indexed, if that is not as by default.
	digests map[string]string
}

// noSettings are those of a workspace whose collections have the default ones.
var noSettings = &settings{}

// tuning is how the documents of a collection are indexed and searched. nil has the defaults.
type tuning struct {
	language    *text.Language // of documents without one; nil: their own words decide
	synonyms    *synonyms      // nil: none
	fields      bool           // the weights below were set
	title, text float64        // weights; 0: the field is not searched
	metadata    []fieldWeight  // searched entries, by name
}

type fieldWeight struct {
	name   string
	weight float64
}

func settingsOf(a *text.Analyzer, list []collection.Collection) *settings {
	if len(list) == 0 {
		return noSettings
	}
	s := &settings{byCollection: make(map[string]*tuning, len(list)), digests: map[string]string{}}
	for i := range list {
		t := tuningOf(a, list[i].Settings)
		s.byCollection[list[i].Name] = t
		if digest := t.digest(); digest != "" {
			s.digests[list[i].Name] = digest
		}
	}
	return s
}

func tuningOf(a *text.Analyzer, s *collection.Settings) *tuning {
	t := &tuning{}
	language := text.English
	if l, ok := text.LanguageOf(s.Language); ok {
		language, t.language = l, &l
	}
	t.synonyms = synonymsOf(a, s.Synonyms, language)
	if s.Fields == nil {
		return t
	}
	t.fields, t.title, t.text = true, s.Fields[collection.Title], s.Fields[collection.Text]
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if entry, ok := strings.CutPrefix(name, collection.Metadata); ok {
			t.metadata = append(t.metadata, fieldWeight{entry, s.Fields[name]})
		}
	}
	return t
}

// digest identifies how documents are indexed; it is empty for the defaults. Weights and synonyms are not in it, because they only
// concern searches.
func (t *tuning) digest() string {
	var parts []string
	if t.language != nil {
		parts = append(parts, "language "+t.language.Code())
	}
	if t.fields {
		if t.title == 0 {
			parts = append(parts, "no title")
		}
		if t.text == 0 {
			parts = append(parts, "no text")
		}
		for _, f := range t.metadata {
			parts = append(parts, fmt.Sprintf("metadata %q", f.name))
		}
	}
	if parts == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:8])
}

// of returns the tuning of a collection, or nil.
func (s *settings) of(name string) *tuning { return s.byCollection[name] }

// outdated is in the label of an index instead of the digest of a collection of which some documents are indexed with other settings.
const outdated = "outdated"

// labelOf returns the label of an index: how the documents of each collection are indexed.
func labelOf(digests map[string]string) string {
	if len(digests) == 0 {
		return ""
	}
	label, err := json.Marshal(digests) // with sorted names
	if err != nil {
		panic(err) // a map of strings has a form in JSON
	}
	return string(label)
}

func digestsOf(label string) (map[string]string, error) {
	digests := map[string]string{}
	if label == "" {
		return digests, nil
	}
	if err := json.Unmarshal([]byte(label), &digests); err != nil {
		return nil, fmt.Errorf("read the label of an index: %w", err)
	}
	return digests, nil
}
