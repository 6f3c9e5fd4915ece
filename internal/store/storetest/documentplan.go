package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

// DocumentPlans checks that a list of documents is read by an index that has its order, of which only documents of the same time
// are sorted. The parameters are those of AuditPlans.
func DocumentPlans(t *testing.T, engine store.Engine, explain string, columns int, prepare string) {
	t.Helper()
	h := &heard{Engine: engine}
	s := store.New(h)
	var writes []document.Write
	for i := range 1_000 {
		d := newDocument(fmt.Sprintf("d%03d", i))
		d.Collection = []string{document.DefaultCollection, "a"}[i%2]
		d.UpdatedAt = documentTime(time.Duration(i/10) * time.Second)
		writes = append(writes, document.Write{Document: d})
	}
	_, err := s.Documents.PutDocuments(t.Context(), "wsp_a", writes)
	noError(t, err)
	noError(t, engine.Main().Run(t.Context(), func(ctx context.Context) error {
		_, err := engine.Main().In(ctx).Exec(ctx, prepare)
		return err
	}))
	primaryKey := "sqlite_autoindex_document_1"
	if engine.Shared() {
		primaryKey = "document_pkey"
	}
	place := &document.Position{ID: "d500", UpdatedAt: documentTime(50 * time.Second)}
	for _, c := range []struct {
		filter document.Filter
		want   string // the index
	}{
		{document.Filter{}, primaryKey},
		{document.Filter{After: place}, primaryKey},
		{document.Filter{Sort: document.Newest}, "document_updated"},
		{document.Filter{Sort: document.Newest, After: place}, "document_updated"},
		{document.Filter{Sort: document.Oldest, Brief: true}, "document_updated"},
		{document.Filter{Sort: document.Oldest, After: place}, "document_updated"},
		{document.Filter{Collection: document.DefaultCollection}, "document_collection"},
		{document.Filter{Collection: "a", After: place}, "document_collection"},
	} {
		c.filter.Limit = 11
		_, err := s.Documents.ListDocuments(t.Context(), "wsp_a", c.filter)
		noError(t, err)
		q := h.last()
		rows, err := engine.Main().In(t.Context()).Query(t.Context(), explain+" "+q.text, q.args...)
		noError(t, err)
		plan := readPlan(t, rows, columns)
		if !strings.Contains(plan, c.want) || strings.Contains(plan, "->  Sort") || strings.Contains(plan, "FOR ORDER BY") {
			t.Errorf("%+v is not read in the order of %s:\n%s", c.filter, c.want, plan)
		}
	}
}
