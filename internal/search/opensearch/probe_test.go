package opensearch_test

import (
	"testing"

	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/enginetest"
)

func TestAClusterIsTriedBeforeAMove(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	if err := s.client.Probe(t.Context(), s.prefix); err != nil {
		t.Error(err)
	}
	other := clientOf(t, answer(200, `{"version":{"number":"8.1.0","build_flavor":"default"}}`))
	if err := other.Probe(t.Context(), "x-"); opensearch.StateOf(err) != opensearch.Unsupported {
		t.Errorf("another product: %v", err)
	}
}

func TestAClusterWithoutScriptsIsRefused(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"script.allowed_types=none", "script.allowed_contexts=ingest"} {
		s := newSite(t, enginetest.StartOpenSearch(t, setting).URL)
		if err := s.client.Probe(t.Context(), s.prefix); opensearch.StateOf(err) != opensearch.NoScripts {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
