package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
)

// batchOf is a body of many memories, of about so many bytes.
func batchOf(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"items":[`)
	text := strings.Repeat("word ", 1600)
	for n := 0; b.Len() < size-len(text); n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"subjectId":"person-%d","allowDuplicate":true,"text":"%s"}`, n%7, text)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

const batchPath = "/api/v1/memories/batch"

// TestLargeBodiesAreRefusedWhenMemoryIsShort holds T41: the process can use 64 MiB, which is room for large bodies of 4 MiB.
// While one of 3 MiB arrives, another is refused at once, and small requests are not. Afterwards it is taken.
func TestLargeBodiesAreRefusedWhenMemoryIsShort(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "", programtest.Env("GOMEMLIMIT=64MiB"))
	s.Must(http.StatusCreated, http.MethodPost, "/api/v1/documents", map[string]string{"title": "a lighthouse"})
	first, second := batchOf(3<<20), batchOf(2<<20)

	in, body := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+batchPath, in)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(first))
	for name, value := range map[string]string{"X-API-Key": s.Key, "Content-Type": "application/json", "Expect": "100-continue"} {
		req.Header.Set(name, value)
	}
	answered := make(chan error, 1)
	patient := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}
	defer patient.CloseIdleConnections()
	go func() {
		res, err := patient.Do(req)
		if err == nil {
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				err = errors.New(res.Status)
			}
		}
		in.Close()
		answered <- err
	}()
	if _, err := body.Write(first[:1000]); err != nil { // the server has asked for the body, so it has made room
		t.Fatal(err)
	}
	if status, retryAfter, err := s.post(batchPath, "application/json", second); status != http.StatusServiceUnavailable || retryAfter < 1 {
		t.Errorf("a second body: %d, Retry-After %d, %v", status, retryAfter, err)
	}
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=lighthouse", nil)
	s.Must(http.StatusOK, http.MethodPost, "/api/v1/memories/recall", map[string]string{"subjectId": "person-1", "query": "word"})
	s.Must(http.StatusCreated, http.MethodPost, "/api/v1/documents", map[string]string{"title": "another lighthouse"})
	if _, err := body.Write(first[1000:]); err != nil {
		t.Fatal(err)
	}
	body.Close()
	if err := <-answered; err != nil {
		t.Errorf("the first body: %v", err)
	}
	await.Until(t, "the second body is taken", func() bool { // the room is given back just after the answer
		status, _, _ := s.post(batchPath, "application/json", second)
		return status == http.StatusOK
	})
	s.MustLive()
}

// post sends a body once, and gives the status and Retry-After of its answer.
func (s *server) post(path, media string, body []byte) (status, retryAfter int, err error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("X-API-Key", s.Key)
	req.Header.Set("Content-Type", media)
	res, err := programtest.Client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0, 0, err
	}
	retryAfter, _ = strconv.Atoi(res.Header.Get("Retry-After"))
	return res.StatusCode, retryAfter, nil
}

// crowd sends a body n times at once and counts the answers by status. A refusal can come while the client still writes,
// who then finds the connection closed: that counts as 0.
func (s *server) crowd(t *testing.T, n int, path, media string, body []byte) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	for range n {
		all.Go(func() {
			status, retryAfter, err := s.post(path, media, body)
			mu.Lock()
			defer mu.Unlock()
			got[status]++
			if status == http.StatusServiceUnavailable && retryAfter < 1 {
				t.Errorf("%s: 503 without Retry-After", path)
			}
			if err != nil && s.Ended() {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
	all.Wait()
	t.Logf("%d × %s of %d bytes: %v", n, path, len(body), got)
	return got
}
