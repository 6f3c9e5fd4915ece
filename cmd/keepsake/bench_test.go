package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/loadrun"
)

func TestAnInterruptedBenchLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	mix, err := loadrun.ParseMix(loadrun.DefaultMix)
	if err != nil {
		t.Fatal(err)
	}
	var out, drawn apptest.Buffer
	st := &stage{out: &out, err: &drawn, errTTY: true, now: time.Now}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan error, 1)
	go func() {
		ended <- st.bench(ctx, loadrun.Options{
			URL: p.URL, Key: p.Key, Mix: mix, Connections: 4, Duration: time.Hour, Documents: 10, Memories: 10,
		}, false)
	}()
	await.Until(t, "the run has replaced a document", func() bool {
		for d, err := range c.EachDocument(t.Context(), client.DocumentQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Revision > 1 {
				return true
			}
		}
		return false
	})
	interrupt()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("it ended with %v", err)
	}
	if !strings.Contains(out.String(), "\ntotal ") || !strings.Contains(drawn.String(), string(loadrun.Measuring)) {
		t.Errorf("printed %q, drawn %q", out.String(), drawn.String())
	}
	for d, err := range c.EachDocument(t.Context(), client.DocumentQuery{}) {
		t.Errorf("document %v is left behind (%v)", d.ID, err)
	}
	for s, err := range c.EachSubject(t.Context()) {
		t.Errorf("subject %v is left behind (%v)", s.SubjectID, err)
	}
}
