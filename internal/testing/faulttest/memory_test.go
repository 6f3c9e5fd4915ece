package faulttest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const memories = "/api/v1/memories"

// remember stores a text about a subject, with whatever else the memory says, and gives its id.
func (s *server) remember(subject, text string, more map[string]any) string {
	s.t.Helper()
	m := map[string]any{"subjectId": subject, "text": text}
	for name, value := range more {
		m[name] = value
	}
	id, _ := s.Must(http.StatusCreated, http.MethodPost, memories, m)["id"].(string)
	return id
}

// recalled are the texts that a query finds of a subject.
func (s *server) recalled(subject, query string) []string {
	s.t.Helper()
	answer := s.Must(http.StatusOK, http.MethodPost, memories+"/recall", map[string]any{"subjectId": subject, "query": query, "limit": 200})
	var texts []string
	for _, result := range answer["results"].([]any) {
		texts = append(texts, result.(map[string]any)["memory"].(map[string]any)["text"].(string))
	}
	return texts
}

// memoriesOf reads all memories of a subject, by id.
func (s *server) memoriesOf(subject string) map[string]string {
	s.t.Helper()
	found := map[string]string{}
	for cursor := ""; ; {
		path := memories + "?limit=200&subjectId=" + url.QueryEscape(subject) + cursor
		page := s.Must(http.StatusOK, http.MethodGet, path, nil)
		for _, item := range page["items"].([]any) {
			m := item.(map[string]any)
			id := m["id"].(string)
			if _, twice := found[id]; twice {
				s.t.Errorf("memory %s is listed twice", id)
			}
			found[id] = m["text"].(string)
		}
		next, _ := page["nextCursor"].(string)
		if next == "" {
			return found
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}

// erase erases a subject and gives the receipt.
func (s *server) erase(subject string) map[string]any {
	s.t.Helper()
	return s.Must(http.StatusOK, http.MethodDelete, memories+"/subjects/"+url.PathEscape(subject), nil)
}

// isGone wants nothing of a subject to be found in any way.
func (s *server) isGone(subject, word string, ids ...string) {
	s.t.Helper()
	if n := len(s.memoriesOf(subject)); n != 0 {
		s.t.Errorf("%d memories of an erased subject are listed", n)
	}
	if texts := s.recalled(subject, word); len(texts) != 0 {
		s.t.Errorf("%d memories of an erased subject are recalled", len(texts))
	}
	context := s.Must(http.StatusOK, http.MethodPost, memories+"/context", map[string]any{"subjectId": subject, "query": word, "maxCharacters": 4000})
	if context["text"] != "" {
		s.t.Error("an erased subject has a context")
	}
	s.Must(http.StatusNotFound, http.MethodGet, memories+"/subjects/"+url.PathEscape(subject), nil)
	for _, id := range ids {
		s.Must(http.StatusNotFound, http.MethodGet, memories+"/"+id, nil)
		s.Must(http.StatusNotFound, http.MethodGet, memories+"/"+id+"/history", nil)
	}
	if lines := s.exported(subject, http.StatusNotFound); len(lines) != 0 {
		s.t.Errorf("%d memories of an erased subject are exported", len(lines))
	}
}

// exported are the lines of an export, which has to have a status.
func (s *server) exported(subject string, status int) []string {
	s.t.Helper()
	got, text, err := s.Do(context.Background(), http.MethodGet, memories+"/subjects/"+url.PathEscape(subject)+"/export", nil)
	if err != nil || got != status {
		s.t.Fatalf("export: %d %s %v, want %d", got, text, err, status)
	}
	if status != http.StatusOK {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// imported sends lines and gives the counts.
func (s *server) imported(lines ...string) (counts struct{ Received, Created, Replaced, Unchanged, Failed int }) {
	s.t.Helper()
	status, text, err := s.Send(context.Background(), s.Key, http.MethodPost, memories+"/import", "application/x-ndjson",
		[]byte(strings.Join(lines, "\n")+"\n"))
	if err == nil {
		err = json.Unmarshal(text, &counts)
	}
	if err != nil || status != http.StatusOK {
		s.t.Fatalf("import: %d %s %v", status, text, err)
	}
	return counts
}

// accesses are the actions in a subject's access log, the newest first.
func (s *server) accesses(subject string) (actions []string) {
	s.t.Helper()
	answer := s.Must(http.StatusOK, http.MethodGet, memories+"/subjects/"+url.PathEscape(subject)+"/access-log?limit=200", nil)
	for _, item := range answer["items"].([]any) {
		actions = append(actions, fmt.Sprint(item.(map[string]any)["action"]))
	}
	return actions
}
