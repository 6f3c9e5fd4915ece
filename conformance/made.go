package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
)

const (
	keysPath = "/api/v1/developer/api-keys"
	docsPath = "/api/v1/documents"
	setsPath = "/api/v1/collections"
)

// counter numbers what a process creates, in addition to the run's random mark.
var counter atomic.Int64

// name returns a unique name: a document's ID, an idempotency key, a rare word.
func (s *suite) name() string { return fmt.Sprintf("conformance-%s-%d", s.mark, counter.Add(1)) }

// word returns a word that occurs in no other document. It consists of letters, so that no analysis splits it.
func (s *suite) word() string {
	text := []byte("zq")
	for _, b := range fmt.Appendf(nil, "%s%d", s.mark, counter.Add(1)) {
		switch {
		case b >= 'a' && b <= 'f':
			text = append(text, "bdfgkm"[b-'a'])
		default:
			text = append(text, "cghlnprtvx"[b-'0'])
		}
	}
	return string(append(text, 'q'))
}

// fields are the fields of a JSON object.
type fields = map[string]any

// key is an API key that the suite created.
type key struct {
	id, text string
	made     *answer
}

// path returns the path of the key's record.
func (k key) path() string { return keysPath + "/" + k.id }

// newKey creates a key that is revoked when the check ends. The given fields replace the suite's.
func (c *check) newKey(members fields, scopes ...string) key {
	return c.newKeyAs(c.suite.target.Key, members, scopes...)
}

// newKeyAs is newKey with another key as the caller.
func (c *check) newKeyAs(by string, members fields, scopes ...string) key {
	body := fields{"name": "conformance " + c.suite.mark, "scopes": scopes}
	for name, v := range members {
		body[name] = v
	}
	a := c.post(keysPath).as(by).json(body).send().is(http.StatusCreated)
	k := key{id: a.text("id"), text: a.text("key"), made: a}
	if k.id == "" || k.text == "" {
		c.stop("want id and key of a new API key\n  %s", a.describe())
	}
	c.removeKey(k.id)
	return k
}

// removeKey revokes a key at the end of the check, and again at the end of the run if that did not work.
func (c *check) removeKey(id string) {
	c.remove(keysPath + "/" + id)
}

// document puts a document that is deleted when the check ends.
func (c *check) document(id string, members fields) *answer {
	a := c.put(docsPath + "/" + url.PathEscape(id)).json(members).send()
	c.removeDocument(id)
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		c.stop("want 201 or 200 for a document\n  %s", a.describe())
	}
	return a
}

// collection sets the settings of a collection, which are removed when the check ends.
func (c *check) collection(name string, settings fields) *answer {
	a := c.put(setsPath + "/" + url.PathEscape(name)).json(settings).send()
	c.remove(setsPath + "/" + url.PathEscape(name))
	if a.status != http.StatusOK {
		c.stop("want 200 for the settings of a collection\n  %s", a.describe())
	}
	return a
}

func (c *check) removeDocument(id string) { c.remove(docsPath + "/" + url.PathEscape(id)) }

// remove deletes a path at the end of the check, and tries again at the end of the run if that did not work.
func (c *check) remove(path string) {
	m := &made{path: path}
	c.suite.made.Lock()
	c.suite.made.list = append(c.suite.made.list, m)
	c.suite.made.Unlock()
	c.finally(func() { c.suite.unmake(c.ctx, c.door, m) })
}

// removeNow deletes at once what remove would delete later.
func (c *check) removeNow(path string) {
	c.suite.made.Lock()
	list := slices.Clone(c.suite.made.list)
	c.suite.made.Unlock()
	for _, m := range list {
		if m.path == path {
			c.suite.unmake(c.ctx, c.door, m)
		}
	}
}

// unmake deletes what was created. It waits if a limit asks for it, and ignores what is deleted already.
func (s *suite) unmake(ctx context.Context, through *door, m *made) {
	if !m.gone {
		r := s.try(&check{ctx: ctx, suite: s, door: through}, "", promise{name: "clean up", try: func(c *check) { c.delete(m.path).send() }})
		m.gone = r.Outcome == Passed
	}
}

// search searches, and ends the check if that fails.
func (c *check) search(query url.Values) *answer {
	return c.get("/api/v1/search?" + query.Encode()).send().is(http.StatusOK).shape(answerShape)
}

// backend returns a request to the backend service.
func (c *check) backend(method, path string) *call {
	base, err := url.Parse(c.suite.target.BackendURL)
	if err != nil {
		c.stop("the address of the backend service is not a URL")
	}
	q := newCall(c, method, base, path)
	q.backend = true
	return q
}
