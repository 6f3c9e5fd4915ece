package search_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/testing/await"
)

// pausedSource stops reads from the first change on once it is armed: those of a rebuild.
type pausedSource struct {
	search.Source
	armed   chan struct{}
	reached chan struct{}
	goOn    chan struct{}
}

func (s *pausedSource) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	select {
	case <-s.armed:
		if f.After == 0 && f.Limit > 0 {
			s.reached <- struct{}{}
			<-s.goOn
		}
	default:
	}
	return s.Source.FollowDocuments(ctx, workspaceID, f)
}

func TestSearchesContinueDuringARebuild(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*search.IndexerOptions){"WithFiles": withFiles, "InMemory": func(*search.IndexerOptions) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paused := &pausedSource{armed: make(chan struct{}), reached: make(chan struct{}), goOn: make(chan struct{})}
			b := open(t, t.TempDir(), func(o *search.IndexerOptions) {
				change(o)
				paused.Source, o.Source = o.Source, paused
			})
			b.many(200, func(int) string { return "stone" })
			b.find(search.Request{Query: "stone"})
			close(paused.armed)
			if _, err := b.indexer.StartRebuild(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			<-paused.reached
			if got := b.find(search.Request{Query: "stone"}).Total; got != 200 {
				t.Errorf("during the rebuild %d documents are found, want 200", got)
			}
			b.text("d00001", "sand") // the old index gets it, and the new one later
			if got := b.find(search.Request{Query: "stone"}).Total; got != 199 {
				t.Errorf("after a write during the rebuild %d documents are found, want 199", got)
			}
			_, err := b.indexer.StartRebuild(t.Context(), "")
			if p, ok := problem.As(err); !ok || p.Kind != problem.Conflict {
				t.Errorf("a second rebuild: %v, want a conflict", err)
			}
			close(paused.goOn)
			b.rebuilt(1)
			if got := b.find(search.Request{Query: "stone"}).Total; got != 199 {
				t.Errorf("after the rebuild %d documents are found, want 199", got)
			}
			b.text("d00002", "sand")
			if got := b.find(search.Request{Query: "sand"}).Total; got != 2 {
				t.Errorf("the new index finds %d documents, want 2", got)
			}
			b.stop()
			if left, _ := filepath.Glob(b.dir + "/*.new"); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// rebuilt waits for the end of a rebuild of so many workspaces.
func (b *bundle) rebuilt(workspaces int) {
	b.t.Helper()
	await.Until(b.t, "the rebuild ends", func() bool { return !b.indexer.Rebuilding().Running })
	if r := b.indexer.Rebuilding(); r.Problem != nil || r.Done != workspaces || r.Changes == 0 {
		b.t.Errorf("the rebuild ended as %+v", r)
	}
}

func TestRebuildReplacesFilesThatDiffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir, withFiles)
	b.many(100, func(int) string { return "stone" })
	b.find(search.Request{Query: "stone"})
	b.stop()
	must(t, os.MkdirAll(b.dir+"/wsp_old.new", 0o700)) // of a rebuild that was interrupted
	b = open(t, dir, withFiles)
	b.find(search.Request{Query: "stone"})
	before := filesOf(t, filepath.Join(b.dir, workspace))
	if _, err := b.indexer.StartRebuild(t.Context(), workspace); err != nil {
		t.Fatal(err)
	}
	b.rebuilt(1)
	if got := b.find(search.Request{Query: "stone"}).Total; got != 100 {
		t.Errorf("found %d documents, want 100", got)
	}
	b.stop()
	if after := filesOf(t, filepath.Join(b.dir, workspace)); after["manifest"] == before["manifest"] {
		t.Error("the manifest is the same, so the index was not rebuilt")
	}
	if left, _ := filepath.Glob(b.dir + "/*.new"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestRebuildOfAnUnknownWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text("a", "stone")
	_, err := b.indexer.StartRebuild(t.Context(), "wsp_unknown")
	if p, ok := problem.As(err); !ok || p.Kind != problem.NotFound {
		t.Errorf("got %v, want not found", err)
	}
}

func TestRebuildThatCannotReadKeepsTheOldIndex(t *testing.T) {
	t.Parallel()
	failing := &failingSource{}
	b := open(t, t.TempDir(), func(o *search.IndexerOptions) { failing.Source, o.Source = o.Source, failing })
	b.text("a", "stone")
	b.find(search.Request{Query: "stone"})
	failing.on = true
	if _, err := b.indexer.StartRebuild(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the rebuild ends", func() bool { return !b.indexer.Rebuilding().Running })
	if r := b.indexer.Rebuilding(); !errors.Is(r.Problem, errRead) || r.Done != 0 {
		t.Errorf("the rebuild ended as %+v", r)
	}
	if got := b.ids("stone"); len(got) != 1 {
		t.Errorf("found %v, want the document", got)
	}
}

var errRead = errors.New("reading fails")

type failingSource struct {
	search.Source
	on bool
}

func (s *failingSource) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	if s.on {
		return nil, document.State{}, errRead
	}
	return s.Source.FollowDocuments(ctx, workspaceID, f)
}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	content := map[string]string{}
	each(t, dir, func(path string) {
		text, err := os.ReadFile(path)
		must(t, err)
		content[filepath.Base(path)] = string(text)
	})
	return content
}
