package app

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/search/document"
)

// demo contains sample documents and demoMemories sample memories, one per line, in the format of an import.
var (
	//go:embed demo.ndjson
	demo string
	//go:embed demomemory.ndjson
	demoMemories string
)

// loadDemo stores the samples in a workspace.
func (s *services) loadDemo(ctx context.Context, workspaceID string) error {
	if err := s.loadDemoDocuments(ctx, workspaceID); err != nil {
		return err
	}
	return s.loadDemoMemories(ctx, workspaceID)
}

func (s *services) loadDemoDocuments(ctx context.Context, workspaceID string) error {
	outcome, err := s.search.documents.Import(ctx, workspaceID, demoLines(), document.ImportOptions{})
	if err == nil && outcome.Failed > 0 {
		err = fmt.Errorf("line %d: %s", outcome.Errors[0].Line, outcome.Errors[0].Message)
	}
	if err != nil {
		return fmt.Errorf("load the sample documents: %w", err)
	}
	return nil
}

func (s *services) loadDemoMemories(ctx context.Context, workspaceID string) error {
	operator := &auth.Principal{Kind: auth.Local, WorkspaceID: workspaceID, Operator: true, Scopes: auth.All}
	outcome, err := s.memory.service.Importer.Import(ctx, operator, demoMemoryLines(), false)
	if err == nil && outcome.Failed > 0 {
		err = fmt.Errorf("line %d: %s", outcome.Errors[0].Line, outcome.Errors[0].Message)
	}
	if err != nil {
		return fmt.Errorf("load the sample memories: %w", err)
	}
	return nil
}

func demoMemoryLines() memory.Lines {
	lines := strings.Split(strings.TrimSpace(demoMemories), "\n")
	next := 0
	return func() (memory.ImportLine, bool, error) {
		if next == len(lines) {
			return memory.ImportLine{}, false, nil
		}
		next++
		m := &memory.Memory{}
		if err := json.Unmarshal([]byte(lines[next-1]), m); err != nil {
			return memory.ImportLine{}, false, fmt.Errorf("line %d: %w", next, err)
		}
		return memory.ImportLine{Number: next, Portable: memory.Portable{Memory: m}}, true, nil
	}
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
