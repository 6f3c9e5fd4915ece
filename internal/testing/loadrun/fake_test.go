package loadrun_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fake is a deployment that keeps names alone. It answers in the bubble of a test, whose clock is fake.
type fake struct {
	took   time.Duration                        // that each measured request takes
	refuse func(n int, at time.Time) (int, int) // status and Retry-After of the n-th measured request; 0: none

	mu        sync.Mutex
	documents map[string]bool
	subjects  map[string]bool
	measured  []time.Time // when requests of a mix came
	most      int         // how many were under way at once
	running   int
}

func newFake() *fake { return &fake{documents: map[string]bool{}, subjects: map[string]bool{}} }

// left is what is stored now.
func (f *fake) left() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.documents {
		names = append(names, "document "+name)
	}
	for name := range f.subjects {
		names = append(names, "subject "+name)
	}
	return names
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	name := path.Base(r.URL.Path)
	what := r.Method + " " + strings.TrimPrefix(path.Dir(r.URL.Path), "/api/v1")
	switch {
	case r.URL.Path == "/api/v1/documents/import":
		for line := range bytes.Lines(body) {
			f.put(f.documents, field(line, "id"))
		}
		return answer(http.StatusOK, 0, `{}`), nil
	case r.URL.Path == "/api/v1/memories/batch":
		var in struct{ Items []json.RawMessage }
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		for _, item := range in.Items {
			f.put(f.subjects, field(item, "subjectId"))
		}
		return answer(http.StatusOK, 0, `{"results":[]}`), nil
	case what == "DELETE /documents":
		return f.remove(f.documents, name), nil
	case what == "DELETE /memories/subjects":
		return f.remove(f.subjects, name), nil
	}
	if status, after := f.begin(); status != 0 {
		return answer(status, after, `{"error":"refused","message":"No."}`), nil
	}
	defer f.end()
	timer := time.NewTimer(f.took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	switch {
	case what == "PUT /documents":
		f.put(f.documents, name)
	case r.Method == http.MethodPost && r.URL.Path == "/api/v1/memories":
		f.put(f.subjects, field(body, "subjectId"))
	}
	return answer(http.StatusOK, 0, `{}`), nil
}

func (f *fake) begin() (status, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.measured = append(f.measured, time.Now())
	if f.refuse != nil {
		if status, after = f.refuse(len(f.measured)-1, time.Now()); status != 0 {
			return status, after
		}
	}
	f.running++
	f.most = max(f.most, f.running)
	return 0, 0
}

func (f *fake) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
}

func (f *fake) put(in map[string]bool, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in[name] = true
}

func (f *fake) remove(from map[string]bool, name string) *http.Response {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !from[name] {
		return answer(http.StatusNotFound, 0, `{"error":"not_found","message":"No."}`)
	}
	delete(from, name)
	return answer(http.StatusOK, 0, `{}`)
}

func field(text []byte, name string) string {
	var members map[string]any
	_ = json.Unmarshal(text, &members) // a fake stores what it is given
	value, _ := members[name].(string)
	return value
}

func answer(status, after int, body string) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	if after > 0 {
		header.Set("Retry-After", strconv.Itoa(after))
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: io.NopCloser(strings.NewReader(body))}
}
