package app

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"keepsake/internal/document"
)

// demo is a small sample to try search on, one document a line as an import takes it.
//
//go:embed demo.ndjson
var demo string

// loadDemo stores the sample in a workspace.
func (p *parts) loadDemo(ctx context.Context, workspaceID string) error {
	outcome, err := p.documents.Import(ctx, workspaceID, demoLines(), document.ImportOptions{})
	if err == nil && outcome.Failed > 0 {
		err = fmt.Errorf("line %d: %s", outcome.Errors[0].Line, outcome.Errors[0].Message)
	}
	if err != nil {
		return fmt.Errorf("load the sample documents: %w", err)
	}
	return nil
}

func demoLines() document.Lines {
	lines := strings.Split(strings.TrimSpace(demo), "\n")
	next := 0
	return func() (document.Line, bool, error) {
		if next == len(lines) {
			return document.Line{}, false, nil
		}
		next++
		var d struct {
			ID, Collection, Title, Text string
			Tags                        []string
			Metadata                    map[string]any
		}
		if err := json.Unmarshal([]byte(lines[next-1]), &d); err != nil {
			return document.Line{}, false, fmt.Errorf("line %d: %w", next, err)
		}
		return document.Line{Number: next, ID: d.ID, Fields: document.Fields{
			Collection: d.Collection, Title: d.Title, Text: d.Text, Tags: d.Tags, Metadata: d.Metadata,
		}}, true, nil
	}
}
