package faulttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/base64"
	order "encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
)

// randomWord has no vowel, so that no stemming finds an ending in it.
func randomWord(n int) string {
	const letters = "bcdfghjkmpqvwxz23456789"
	word := make([]byte, n)
	for i := range word {
		word[i] = letters[rand.IntN(len(letters))]
	}
	return string(word)
}

// canaries are words that occur nowhere else. All have the same beginning, so that one search finds them all.
type canaries struct {
	mark  string
	words map[string]string // by word, where it was sent
}

func newCanaries() *canaries {
	return &canaries{mark: "q" + randomWord(13), words: map[string]string{}}
}

func (c *canaries) word(what string) string {
	w := c.mark + randomWord(6)
	c.words[w] = what
	return w
}

// forms are the bytes by which a word is found as it is and as it may have been written differently.
func forms(word string) map[string][]byte {
	upper := strings.ToUpper(word)
	wide := utf16.Encode([]rune(word))
	little, big := new(bytes.Buffer), new(bytes.Buffer)
	_ = order.Write(little, order.LittleEndian, wide) // a buffer takes all
	_ = order.Write(big, order.BigEndian, wide)
	f := map[string][]byte{
		"plain": []byte(word), "in capitals": []byte(upper),
		"hex": []byte(hex.EncodeToString([]byte(word))), "hex in capitals": []byte(strings.ToUpper(hex.EncodeToString([]byte(word)))),
		"UTF-16LE": little.Bytes(), "UTF-16BE": big.Bytes(),
	}
	for before := range 3 { // how many bytes of something else begin the first group
		text := base64.StdEncoding.EncodeToString(append(make([]byte, before), word...))
		whole := text[(before*8+5)/6 : (before+len(word))*8/6] // the characters that the word alone decides
		f[fmt.Sprint("base64 ", before)] = []byte(whole)
		f[fmt.Sprint("base64url ", before)] = []byte(strings.NewReplacer("+", "-", "/", "_").Replace(whole))
	}
	return f
}

// hits searches files and gives where the mark is found: which form in which file.
func (c *canaries) hits(t *testing.T, roots ...string) (found []string, files int) {
	t.Helper()
	look := forms(c.mark)
	search := func(name string, data []byte) {
		files++
		for form, text := range look {
			at := bytes.Index(data, text)
			if at < 0 {
				continue
			}
			what := "?"
			for word, of := range c.words {
				if bytes.Contains(data, forms(word)[form]) {
					what = of
				}
			}
			found = append(found, fmt.Sprintf("%s, %s, in %s", what, form, name))
		}
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil // a server that runs removes files
			}
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(filepath.Dir(root), path)
			search(name, data)
			if packed, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
				unpack(t, name, packed, search)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found, files
}

// unpack searches what is in an archive.
func unpack(t *testing.T, name string, packed io.Reader, search func(name string, data []byte)) {
	t.Helper()
	whole, err := io.ReadAll(packed)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	search(name+" unpacked", whole)
	members := tar.NewReader(bytes.NewReader(whole))
	for {
		h, err := members.Next()
		if err != nil {
			return // the end, or no archive: all of it was searched
		}
		data, err := io.ReadAll(members)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		search(name+"/"+h.Name, data)
	}
}

// TestNothingOfAMemoryIsAtRestInTheClear sends canaries in every part of memories and through every door, before and after
// an erasure reads every byte that is at rest anywhere, and finds only what lies in a document.
func TestNothingOfAMemoryIsAtRestInTheClear(t *testing.T) {
	t.Parallel()
	dir, temp, place := t.TempDir(), t.TempDir(), t.TempDir()
	roots := []string{dir, temp, place}
	settings := []string{"TMPDIR=" + temp, "KEEPSAKE_LOG_LEVEL=debug", "KEEPSAKE_LOG_REQUESTS=true", "KEEPSAKE_TIERS_ANONYMOUS_REQUESTS_PER_MINUTE=1000000"}
	settle := func() {}
	if apptest.OnPostgres(t) {
		// A server that tells everything: each statement with its parameters.
		told, err := os.Create(filepath.Join(place, "told"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { told.Close() })
		pg := enginetest.StartPostgres(t, enginetest.PostgresOptions{Log: told, Settings: map[string]string{
			"log_statement": "'all'", "log_parameter_max_length": "-1", "autovacuum": "off",
		}})
		redis := enginetest.StartRedis(t, enginetest.RedisOptions{Settings: []string{"--appendonly", "yes"}}) // a dump only on SAVE
		apptest.Use(dir, pg.Database(t))
		settings = append(settings, "KEEPSAKE_REDIS_URL="+redis.URL())
		roots = append(roots, pg.Files(), redis.Files())
		settle = func() {
			pg.Exec(t, "CHECKPOINT")
			redis.Do(t, "SAVE")
		}
	}
	s := start(t, dir, "", programtest.Env(settings...))
	c, control := newCanaries(), newCanaries()
	s.Must(http.StatusCreated, http.MethodPost, "/api/v1/documents", map[string]any{"text": control.word("a document")})

	subject, agent, session := c.word("a subject")+"@example.com", c.word("an agent")+"@example.com", c.word("a session")+"@example.com"
	said := c.word("a text")
	whole := func(text string) map[string]any {
		return map[string]any{
			"agentId": agent, "sessionId": session, "kind": "turn", "text": text, "speaker": c.word("a speaker"), "tags": []string{c.word("a tag")},
			"metadata": map[string]any{c.word("a name of metadata"): c.word("a value of metadata")}, "source": c.word("a source"),
		}
	}
	first := whole("She said " + said + " and meant it.")
	first["key"] = c.word("a key")
	id := s.remember(subject, first["text"].(string), first)
	if texts := s.recalled(subject, said); len(texts) != 1 || !strings.Contains(texts[0], said) {
		t.Fatalf("the canary is not recalled: %v", texts)
	}

	send := func(status int, method, path string, body any, headers ...string) []byte {
		t.Helper()
		var text []byte
		if body != nil {
			var err error
			if text, err = json.Marshal(body); err != nil {
				t.Fatal(err)
			}
		}
		got, answer, err := s.Send(context.Background(), s.Key, method, path, "application/json", text, headers...)
		if err != nil || got != status {
			t.Fatalf("%s %s: %d %s %v, want %d", method, path, got, answer, err, status)
		}
		return answer
	}
	of := func(more map[string]any) map[string]any {
		maps.Copy(more, map[string]any{"subjectId": subject})
		return more
	}
	send(200, "GET", memories+"/"+id, nil)
	send(200, "PATCH", memories+"/"+id, map[string]any{"text": "Later " + c.word("a changed text"), "speaker": c.word("a changed speaker")})
	send(200, "GET", memories+"/"+id+"/history", nil)
	send(200, "POST", memories+"/context", of(map[string]any{"query": c.word("a query for a context"), "maxTokens": 500}))
	send(200, "POST", memories+"/recall", of(map[string]any{"query": c.word("a query"), "explain": true, "agentId": agent, "sessionId": session, "tags": []string{c.word("a tag that is asked for")}}))
	send(200, "GET", memories+"?subjectId="+subject+"&agentId="+agent+"&sessionId="+session+"&tag="+c.word("a tag of a list"), nil)
	send(200, "POST", memories+"/batch", map[string]any{"items": []any{of(whole("In a batch " + c.word("a text of a batch"))), of(map[string]any{"text": ""})}},
		"Idempotency-Key", c.word("an idempotency key"))
	again := of(whole("Once " + c.word("a text that is sent twice")))
	for _, repeat := range []string{"one", "two"} { // a turn may be said twice
		send(201, "POST", memories, again, "Idempotency-Key", "sent-twice-"+repeat)
	}
	kept := of(map[string]any{"text": "Kept " + c.word("an answer that is repeated"), "allowDuplicate": true})
	for range 2 {
		send(201, "POST", memories, kept, "Idempotency-Key", "the-same-twice")
	}
	send(200, "POST", memories+"/forget", of(map[string]any{"query": c.word("a query of a plan")}))
	send(200, "POST", memories+"/forget", of(map[string]any{"filter": map[string]any{"sessionId": session, "tags": []string{c.word("a tag of a plan")}}}))
	lines := s.exported(subject, http.StatusOK)
	s.imported(lines...)
	s.imported(`{"subjectId":"` + subject + `","text":"` + c.word("an imported text") + `","speaker":"` + c.word("an imported speaker") + `"}`)
	send(200, "GET", memories+"/subjects", nil)
	send(200, "GET", memories+"/subjects/"+subject, nil)
	send(200, "GET", memories+"/subjects/"+subject+"/access-log", nil)
	// A refusal does not contain the text that was sent.
	send(400, "POST", memories, of(map[string]any{"text": strings.Repeat(c.word("a text that is too long")+" ", 4000)}))
	send(400, "POST", memories, of(map[string]any{"text": "x", c.word("an unknown member"): 1}))
	send(400, "POST", memories, map[string]any{"text": "x", "subjectId": c.word("a subject that is none") + " Doe"})
	send(400, "POST", memories+"/recall", of(map[string]any{"query": strings.Repeat(c.word("a query that is too long")+" ", 4000)}))
	send(404, "GET", memories+"/subjects/"+c.word("a subject that is not there"), nil)
	send(400, "GET", memories+"?subjectId="+subject+"&cursor="+c.word("a cursor that is none"), nil)
	if status, answer, err := s.Send(context.Background(), s.Key, "POST", memories, "application/json", []byte(`{"text":"`+c.word("a body that is none"))); err != nil || status != 400 {
		t.Fatalf("half a body: %d %s %v", status, answer, err)
	}
	// A key that is bound to the person, and one to the agent.
	for _, bound := range []map[string]any{{"subjectId": subject}, {"agentId": agent}} {
		maps.Copy(bound, map[string]any{"name": "bound", "scopes": []string{"memory:read", "memory:write"}})
		var made struct{ Key string }
		if err := json.Unmarshal(send(201, "POST", "/api/v1/developer/api-keys", bound), &made); err != nil {
			t.Fatal(err)
		}
		if status, answer, err := s.Send(context.Background(), made.Key, "GET", memories, "", nil); err != nil || status != 200 {
			t.Fatalf("a bound key lists: %d %s %v", status, answer, err)
		}
	}
	if actions := s.accesses(subject); len(actions) < 10 {
		t.Errorf("the access log has %d rows: %v", len(actions), actions)
	}

	// The test can find: the document's word is there. The memory's words are nowhere.
	nothing := func(when string) {
		t.Helper()
		settle()
		if err := os.WriteFile(filepath.Join(place, "printed"), []byte(s.Log.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		found, files := c.hits(t, roots...)
		for _, hit := range found {
			t.Errorf("%s: %s", when, hit)
		}
		seen, _ := control.hits(t, roots...)
		if where := strings.Join(seen, "\n"); len(seen) == 0 || apptest.OnPostgres(t) && !strings.Contains(where, "/told") {
			t.Errorf("%s: a document's text was found in %d files only at %q: a memory's would not be", when, files, where)
		}
		t.Logf("%s: %d files and members of archives", when, files)
	}
	nothing("while it serves")
	p := newBackupPlace(t, dir)
	p.data, p.keys = filepath.Join(place, "data"), filepath.Join(place, "keys", "keys")
	for _, sub := range []string{p.data, filepath.Dir(p.keys)} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if code, out := programtest.Run(t, p.backup(dir, "before")...); code != 0 {
		t.Fatalf("backup: %d %s", code, out)
	}
	nothing("in a backup")

	keys := wrappedKeys(t, dir)
	s.erase(subject)
	s.isGone(subject, said, id)
	nothing("after the erasure")
	if code, out := programtest.Run(t, p.backup(dir, "after")...); code != 0 {
		t.Fatalf("backup: %d %s", code, out)
	}
	s.Stop()
	nothing("after the end")
	everyLineIsJSON(t, s.Log.String())
	for _, key := range keys {
		for _, name := range []string{"keys.db", "keys.db-wal"} {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil && bytes.Contains(data, key) {
				t.Errorf("the destroyed key is still in %s", name)
			}
		}
	}
}

// wrappedKeys are the data keys as they lie in keys.db. On PostgreSQL they lie where the server puts them until a VACUUM.
func wrappedKeys(t *testing.T, dir string) (keys [][]byte) {
	t.Helper()
	if apptest.OnPostgres(t) {
		return nil
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "keys.db")+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT wrapped FROM subject_key")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key []byte
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if err := rows.Err(); err != nil || len(keys) == 0 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	return keys
}

// TestFormsAreFound shows that a search finds a word in every encoding that it looks for.
func TestFormsAreFound(t *testing.T) {
	t.Parallel()
	c := newCanaries()
	word := c.word("here")
	for name, data := range map[string][]byte{
		"plain": []byte("a " + word + "."), "base64": []byte(base64.StdEncoding.EncodeToString([]byte("to be " + word + " or not"))),
		"base64url":           []byte(base64.RawURLEncoding.EncodeToString([]byte("to bee " + word + " or not"))),
		"base64, one further": []byte(base64.StdEncoding.EncodeToString([]byte("to  bee " + word))), "hex": []byte(hex.EncodeToString([]byte("x" + word))),
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		packed := new(bytes.Buffer)
		w := gzip.NewWriter(packed)
		if _, err := w.Write(data); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "packed"), packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, files := c.hits(t, dir); len(found) < 2 || files != 3 {
			t.Errorf("%s: found %v in %d files", name, found, files)
		}
	}
}
