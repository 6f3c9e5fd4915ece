package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	keepsake "keepsake/client"
)

// tenancy is a workspace with a key, whose requests go through the proxy.
type tenancy struct {
	name, id, key string
	url           string
	http          *http.Client
	queries       []string
}

// perImport is how many documents a request of an import has.
const perImport = 5_000

// tenancy creates a workspace.
func (f *fleet) tenancy(name string, queries []string) *tenancy {
	ctx := context.Background()
	w, err := f.operator.CreateWorkspace(ctx, keepsake.NewWorkspace{Name: name, Tier: "unlimited"})
	f.must(err)
	key, err := f.operator.CreateAPIKey(ctx, keepsake.NewAPIKey{Name: name, Scopes: []string{"read", "write"}, WorkspaceID: w.ID})
	f.must(err)
	return &tenancy{
		name: name, id: w.ID, key: key.Key, url: f.url, queries: queries,
		http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 32}},
	}
}

// fill imports the documents of a corpus, and reports how many are stored.
func (t *tenancy) fill(c *corpus, progress func(stored int)) error {
	type part struct {
		lines     []byte
		documents int
	}
	parts := make(chan part, 1)
	failed := make(chan error, 1)
	go func() { // while this one is sent, the next one is made
		var err error
		stored := 0
		for p := range parts {
			if err == nil {
				if err = t.importLines(p.lines, p.documents); err == nil {
					stored += p.documents
					progress(stored)
				}
			}
		}
		failed <- err
	}()
	var lines bytes.Buffer
	n := 0
	send := func() {
		parts <- part{bytes.Clone(lines.Bytes()), n}
		lines.Reset()
		n = 0
	}
	err := c.each(func(i int, title, text string) error {
		lines.Write(lineOf(fmt.Sprint("d", i), "books", title, text))
		if n++; n == perImport {
			send()
		}
		return nil
	})
	if n > 0 {
		send()
	}
	close(parts)
	return errors.Join(err, <-failed)
}

// lineOf is a document as a line of an import.
func lineOf(id, collection, title, text string) []byte {
	line, err := json.Marshal(map[string]string{"id": id, "collection": collection, "title": title, "text": text})
	if err != nil {
		panic(err) // these are texts
	}
	return append(line, '\n')
}

func (t *tenancy) importLines(lines []byte, n int) error {
	status, answer, err := t.do(http.MethodPost, "/api/v1/documents/import", lines)
	if err != nil {
		return fmt.Errorf("import %d documents: %w", n, err)
	}
	var done keepsake.DocumentImport
	if err := json.Unmarshal(answer, &done); status != http.StatusOK || err != nil || done.Failed > 0 || done.Created+done.Replaced != int64(n) {
		return fmt.Errorf("import %d documents: %d %.300s", n, status, answer)
	}
	return nil
}

// do sends a request once. The status is 0 if there is an error.
func (t *tenancy) do(method, path string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequest(method, t.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.GetBody = nil // so that the transport sends it once
	r.Header.Set("X-API-Key", t.key)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
		if strings.HasSuffix(path, "/import") {
			r.Header.Set("Content-Type", "application/x-ndjson")
		}
	}
	response, err := t.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	return response.StatusCode, answer, nil
}

// search searches two words of the corpus, which are others for each n.
func (t *tenancy) search(n int) (status int, answer []byte, err error) {
	return t.do(http.MethodGet, "/api/v1/search?q="+url.QueryEscape(t.queries[n%len(t.queries)]), nil)
}

// total returns how many documents a search of one word finds, misspelled ones excepted.
func (t *tenancy) total(word string) (total int64, status int, err error) {
	status, answer, err := t.do(http.MethodGet, "/api/v1/search?fuzzy=off&prefix=false&limit=1&q="+url.QueryEscape(word), nil)
	if err != nil {
		return 0, status, err
	}
	if status != http.StatusOK {
		return 0, status, fmt.Errorf("search: %d %.200s", status, answer)
	}
	var found keepsake.Found
	err = json.Unmarshal(answer, &found)
	return found.Total, status, err
}

// untilFound searches until a search finds all that was written before, and returns how long that took.
func (t *tenancy) untilFound(longest time.Duration) (time.Duration, error) {
	began := time.Now()
	for {
		_, _, err := t.total("*")
		if took := time.Since(began); err == nil || took > longest {
			return took, err
		}
		time.Sleep(max(100*time.Millisecond, time.Since(began)/20)) // a search that waits costs something, too
	}
}

// client returns a client that repeats what fails.
func (t *tenancy) client() (*keepsake.Client, error) {
	return keepsake.New(t.url, t.key, keepsake.Retries(10))
}
