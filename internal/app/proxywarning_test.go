package app_test

import (
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
)

func TestProgramWarnsOfAnUnnamedProxy(t *testing.T) {
	t.Parallel()
	var log apptest.Buffer
	p := apptest.Start(t, apptest.Log(&log))
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/api/versions", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", "198.51.100.9")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if text := log.String(); strings.Count(text, "ignored X-Forwarded-For") != 1 || !strings.Contains(text, `"peer":"127.0.0.1"`) {
		t.Errorf("the log says %s", text)
	}
}
